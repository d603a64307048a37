"""What is printed may go to a reader that leaves, or to a terminal of few characters."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.mock_server import MockServer
from tests.support.runs import PICTURES, PROJECT, environment, run_folder, start
from tests.support.stage import L1, L2, Stage, right_answers


@pytest.fixture
def stage(tmp_path):
    with MockServer(right_answers) as server:
        yield Stage.make(tmp_path, server, PICTURES[:1])


@pytest.fixture
def arguments(stage):
    """Of a run of both data sets."""
    config = stage.config({"model": stage.model, "data": stage.data})
    return ["--config", config, "--work-dir", stage.work_dir]


@pytest.mark.parametrize(("left", "more"), [
    ("stdout", []), ("stderr", []), ("stdout", ["--check"]),
], ids=["stdout", "stderr", "check"])  # fmt: skip
def test_a_run_whose_reader_has_left_is_finished_and_scored(left, more, stage, arguments):
    run = start(*arguments, *more, cwd=stage.home, env={"LMUData": str(stage.home / "data")})
    getattr(run, left).close()
    other = (run.stderr if left == "stdout" else run.stdout).read()
    assert run.wait(timeout=60) == 0, other
    assert "Traceback" not in other and "BrokenPipe" not in other
    if more:
        assert other == ""
    else:
        assert stage.scores(L1) and stage.scores(L2)


def test_a_comparison_whose_reader_has_left_ends_without_a_traceback(stage, arguments):
    assert stage.run(*arguments).code == 0
    folder = run_folder(stage.work_dir, "m")
    compare = f'"$0" "{PROJECT / "compare.py"}" "{folder}" --published'
    script = f"{compare} | true; echo ${{PIPESTATUS[0]}}"
    ran = subprocess.run(
        ["bash", "-c", script, sys.executable], cwd=stage.home, env=environment(),
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert (ran.stdout, ran.stderr) == ("0\n", "")


@pytest.mark.parametrize("encoding", ["ascii", "ascii:strict"])
def test_signs_that_a_terminal_cannot_show_are_spelt_out(encoding, stage, arguments):
    ran = stage.run(*arguments, env={"PYTHONIOENCODING": encoding})
    assert ran.code == 0, ran.output
    assert r'model "m" \u2192 ' in ran.stdout


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_disk_behind_the_output_does_not_end_a_run(stage, arguments):
    with Path("/dev/full").open("w") as full:
        ran = subprocess.run(
            [sys.executable, str(PROJECT / "evaluate.py"), *map(str, arguments)], cwd=stage.home,
            env=environment(LMUData=str(stage.home / "data")), stdout=full,
            stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert stage.scores(L1) and "Traceback" not in ran.stderr
