"""What is printed may go to a reader that leaves, or to a terminal of few characters."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.runs import PROJECT, environment
from tests.support.stage import L1, L2


@pytest.fixture
def stage(staged):
    return staged(pictures=1)


@pytest.mark.parametrize(
    ("closed_stream", "more"),
    [("stdout", []), ("stderr", []), ("stdout", ["--check"])],
    ids=["stdout", "stderr", "check"],
)
def test_a_run_whose_reader_has_left_is_finished_and_scored(closed_stream, more, stage):
    run = stage.start(*more)
    getattr(run, closed_stream).close()
    other = (run.stderr if closed_stream == "stdout" else run.stdout).read()
    assert run.wait(timeout=60) == 0, other
    assert "Traceback" not in other and "BrokenPipe" not in other
    if more:
        assert other == "evaluate.py: starting\n"
    else:
        assert stage.scores(L1) and stage.scores(L2)


def test_a_comparison_whose_reader_has_left_ends_without_a_traceback(stage):
    assert stage.run().code == 0
    compare = f'"$0" "{PROJECT / "compare.py"}" "{stage.folder()}" --published'
    script = f"{compare} | true; echo ${{PIPESTATUS[0]}}"
    ran = subprocess.run(
        ["bash", "-c", script, sys.executable],
        cwd=stage.home,
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert (ran.stdout, ran.stderr) == ("0\n", "")


@pytest.mark.parametrize("encoding", ["ascii", "ascii:strict"])
def test_signs_that_a_terminal_cannot_show_are_spelt_out(encoding, stage):
    ran = stage.run(env={"PYTHONIOENCODING": encoding})
    assert ran.code == 0, ran.output
    assert r'model "m" \u2192 ' in ran.stdout


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_disk_behind_the_output_does_not_end_a_run(stage):
    config = stage.config({"model": stage.model, "data": stage.data})
    command = [sys.executable, PROJECT / "evaluate.py", "--config", config, "--work-dir", "out"]
    with Path("/dev/full").open("w") as full:
        ran = subprocess.run(
            command,
            cwd=stage.home,
            env=environment(LMUData=str(stage.root)),
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert ran.returncode == 0, ran.stderr
    assert stage.scores(L1) and "Traceback" not in ran.stderr
