"""A work-dir that commit 41677fc has written goes on: nothing is queried again, nothing is lost.

`data/work_dir_of_41677fc` holds the data root and the work-dir of `evaluate.py --no-report` on L1 in
all rotations and L2, without spreadsheets, links and empty lock files.
"""

import json
import shutil

import pytest

from tests.support.mock_server import MockServer
from tests.support.runs import PROJECT, environment, run_process
from tests.support.stage import L1, L2, Stage, api_model, some_right
from utils.results.load import load_run

KEPT = PROJECT / "tests/runs/data/work_dir_of_41677fc"


@pytest.fixture(scope="module")
def server():
    with MockServer(some_right) as running:
        yield running


@pytest.fixture
def stage(server, tmp_path):
    shutil.copytree(KEPT, tmp_path, dirs_exist_ok=True)
    model = {"m": api_model(server.url, model_identity="mock weights")}
    stage = Stage(tmp_path, server, model)
    stage.data[L1]["circular"] = True
    return stage


def test_its_results_are_read(stage):
    results = load_run(stage.work_dir / "m")
    assert (results.datasets, results.partial) == ((L1, L2), ())
    assert results.figures["L2"]["average"] == 50.0
    samples = results.samples
    assert samples.groupby("dataset", observed=True)["hit"].sum().to_dict() == {L1: 3, L2: 3}
    assert results.table(L1)["value"].unstack().loc["easy", "os_ios"] == 100.0


@pytest.mark.parametrize("options", [(), ("--mode", "eval"), ("--limit", "2")])
def test_it_goes_on_without_a_query(stage, options):
    scores, folder = stage.both_scores(), stage.folder()
    ran = stage.run(*options)
    assert (ran.code, ran.asked) == (0, {L1: 0, L2: 0}), ran.output
    assert stage.both_scores(folder) == scores


def test_its_order_of_samples_decides_about_a_limit(stage):
    ran = stage.run("--mode", "eval", "--limit", "2")
    [log] = stage.folder().glob(f"*_{L2}.jsonl")
    record = json.loads(log.read_text().splitlines()[0])
    first = [key for key, rank in zip(record["samples"], record["turns"], strict=True) if rank < 2]
    [path] = stage.folder().glob(f"*_{L2}_samples_partial.jsonl")
    scored = [json.loads(line)["key"] for line in path.read_text().splitlines()[1:]]
    assert scored == first, ran.output


def test_it_compares_with_a_run_of_today(stage):
    stage.model["n"] = api_model(stage.server.url)
    assert stage.run("--model", "n").code == 0
    compared = run_process("compare.py", "out", "--why", cwd=stage.home, env=environment())
    assert (compared.code, compared.stderr) == (0, ""), compared.output
    assert "nothing differs" in compared.stdout
