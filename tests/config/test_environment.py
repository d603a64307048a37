"""Folders that a `.env` names, and where modules of the user's own are looked for."""

import os
import sys

import pytest

from tests.support.stage import L1, L2
from utils import PROJECT
from utils.config.environment import load_dotenv_files
from utils.errors import UserError
from utils.import_utils import resolve, search_beside

PARSE = """
def parse(response, meta):
    return (0.2, 0.15)
"""


@pytest.fixture
def search_path(monkeypatch):
    """The search path for modules, put back afterwards."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    loaded = {*sys.modules}
    yield sys.path
    for name in {*sys.modules} - loaded:
        del sys.modules[name]


def test_relative_folders_of_a_dotenv_count_from_it(tmp_path, monkeypatch):
    lines = ["LMUData=data", "EVAL_WORK_DIR=~/out", "IMAGE_ROOT_DIR=/images", "SKIP_ERR=1"]
    (tmp_path / ".env").write_text("\n".join(lines))
    monkeypatch.chdir(tmp_path)
    for name in ("LMUData", "EVAL_WORK_DIR", "IMAGE_ROOT_DIR", "SKIP_ERR"):
        monkeypatch.setenv(name, "x")  # so that it is put back
        monkeypatch.delenv(name)
    load_dotenv_files()
    monkeypatch.chdir("/")
    assert os.environ["LMUData"] == str(tmp_path / "data")  # noqa: SIM112
    assert os.environ["EVAL_WORK_DIR"] == os.path.expanduser("~/out")  # noqa: PTH111
    assert (os.environ["IMAGE_ROOT_DIR"], os.environ["SKIP_ERR"]) == ("/images", "1")


def test_a_folder_of_the_environment_stays_as_it_is(tmp_path, monkeypatch):
    (tmp_path / ".env").write_text("LMUData=data\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LMUData", "sample_data")
    load_dotenv_files()
    assert os.environ["LMUData"] == "sample_data"  # noqa: SIM112


def test_the_advice_to_try_sample_data_holds_in_every_folder(stage):
    ran = stage.run(env={"LMUData": "sample_data"})
    assert ran.code == 2
    assert f"set LMUData={PROJECT / 'sample_data'}" in ran.stderr


def test_a_module_beside_the_config_is_found_from_any_folder(stage):
    folder = stage.home / "elsewhere"
    folder.mkdir()
    (folder / "beside_config.py").write_text(PARSE)
    entry = {"mode": "all", "parse_function": "beside_config.parse"}
    config = stage.config({"model": stage.model, "data": {L2: entry}}, "elsewhere/c.json")
    ran = stage.run("--config", config, "--work-dir", stage.work_dir)
    assert (ran.code, "100.00" in ran.stdout) == (0, True), ran.output


def test_a_module_that_is_nowhere_is_reported_with_the_folders_that_were_searched(stage):
    stage.data[L1]["parse_function"] = "my_parsers.parse"
    ran = stage.run()
    assert ran.code == 2
    assert (
        f'no module "my_parsers" (looked for in {PROJECT}, {stage.home}, PYTHONPATH)' in ran.stderr
    )


def test_a_file_beside_a_config_hides_no_module_of_the_program(tmp_path, search_path):
    (tmp_path / "benchmarks.py").write_text(PARSE)
    search_beside(tmp_path / "c.json")
    with pytest.raises(UserError, match='benchmarks has no "parse"'):
        resolve("benchmarks.parse", role="x")


def test_two_configs_with_a_module_of_one_name_each_are_refused(tmp_path, search_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "namesake.py").write_text(PARSE)
    search_beside(tmp_path / "a" / "c.json")
    assert resolve("namesake.parse", role="x")("", {}) == (0.2, 0.15)
    search_beside(tmp_path / "b" / "c.json")
    with pytest.raises(UserError, match=r'two modules "namesake", .*a/name.*b/name.*; rename one'):
        resolve("namesake.parse", role="x")
