"""Files of two scorings are never mixed, whatever ends a scoring, whoever scores beside it."""

import json
from contextlib import closing

import pytest
from PIL import Image

from tests.support.forks import killed_before_change
from tests.support.mock_server import MockServer
from tests.support.stage import L2, Stage, some_right
from utils.comparing.runs import read_runs
from utils.errors import UserError
from utils.pages.all_runs import listed_runs
from utils.pages.data_files import value_of
from utils.store.load import load_run
from utils.store.log import RunLog

OTHERWISE = "def parse(response, meta):\n    return (0.2, 0.15)\n"
EVAL = ("--mode", "eval")


@pytest.fixture(scope="module")
def scored(tmp_path_factory):
    """A run on both data sets: half of the L2 replies hit."""
    with MockServer(some_right) as server:
        stage = Stage.make(tmp_path_factory.mktemp("scored"), server, pictures=2)
        stage.data = {L2: {"mode": "all"}}
        assert stage.run().code == 0
    return stage


@pytest.fixture
def stage(scored, tmp_path):
    copy = scored.copy_to(tmp_path / "stage")
    copy.module(OTHERWISE)
    return copy


def read_otherwise(stage):
    stage.data[L2]["parse_function"] = "mymodel.parse"
    return stage


def forget_image_digests(log):
    """Make a log look like one that was written before records had a digest of their image."""
    records = [json.loads(line) for line in log.read_text().splitlines()]
    assert any("image_digest" in record for record in records)
    log.unlink()
    with closing(RunLog(log)) as older:
        for record in records:
            older.append({k: v for k, v in record.items() if k not in ("crc", "image_digest")})


def all_that_is_told(folder):
    """L2's figures as each reader has them: load_run (three ways), compare.py."""
    run = load_run(folder)
    [compared] = read_runs([folder])
    samples = run.samples[run.samples.dataset == L2]
    return {
        run.figures["L2"]["average"],
        100 * samples.hit.mean(),
        compared.sets[L2].figures["average"]["value"],
        run.table(L2).loc[("average", "Overall"), "value"],
    }


def figure_of_page(folder):
    summary = folder / "report" / "data" / "summary_0.js"
    [data_set] = [
        entry for entry in value_of(summary.read_text("ascii"))["datasets"] if entry["name"] == L2
    ]
    return {cell["value"] for cell in data_set["figures"] if cell["name"] == "average"}


def test_a_scoring_that_is_killed_anywhere_leaves_no_mix_that_is_read(scored, tmp_path):
    before, after, refused = {50.0}, {100.0}, 0
    number = 0
    is_killed = True
    while is_killed:
        number += 1
        stage = scored.copy_to(tmp_path / str(number))
        stage.module(OTHERWISE)
        read_otherwise(stage)
        folder = stage.folder()
        is_killed = killed_before_change(number, lambda stage=stage: stage.run(*EVAL))
        [listed] = listed_runs(stage.work_dir)
        value = {listed.datasets[L2]["figures"]["average"]["value"]}
        try:
            reported = all_that_is_told(folder)
        except UserError as error:
            refused += 1
            reported, why = None, str(error)
        if reported is None:
            assert [part for part in ("--mode eval", L2) if part not in why] == []
            assert (value, listed.state) == (before, "stopped")
        else:
            assert (reported in (before, after), value, listed.state) == (True, reported, "whole")
        if listed.has_report:
            assert figure_of_page(folder) == value
        if is_killed and number % 5 == 0:
            again = stage.run(*EVAL)
            assert again.code == 0, again.output
            assert all_that_is_told(folder) == figure_of_page(folder) == after
    assert number > 10 and refused >= 3, (number, refused)
    assert reported == after


@pytest.mark.parametrize("has_digests", [True, False], ids=["log of today", "older log"])
def test_a_report_says_which_images_were_replaced_since_the_run(stage, has_digests):
    warning = "1 image of this data set was replaced since the model saw it"
    if not has_digests:
        warning = "images of this data set were replaced since the model saw them"
        forget_image_digests(stage.log(L2))
    assert "replaced since" not in stage.run(*EVAL).output
    Image.new("RGB", (40, 30), "red").save(stage.picture(1))
    assert warning in stage.run(*EVAL).output
    data = stage.folder() / "report" / "data"
    summary = value_of((data / "summary_0.js").read_text("ascii"))
    assert [line for line in summary["datasets"][0]["notices"] if warning in line]
    rows = value_of((data / "rows_0.js").read_text("ascii"))
    replaced = {
        summary["pictures"][number]["name"]
        for number, digest in zip(rows["picture"], rows["image_digest"], strict=True)
        if digest is not None and digest != summary["pictures"][number]["digest"]
    }
    names = {"/".join(stage.picture(1).parts[-2:])}
    assert replaced == (names if has_digests else set())
