"""A run of a local model that is told to end in the middle of a long generation."""

from __future__ import annotations

import signal

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("qwen_vl_utils")

from tests.support import runs, tiny_checkpoint
from tests.support.mock_server import MockServer
from tests.support.ranks import wait_until
from tests.support.runs import PICTURES
from tests.support.stage import L2, Stage

ENDLESS = {"max_new_tokens": 100_000, "min_new_tokens": 100_000, "do_sample": False}
PREPROCESS = """
    from models.wrappers.local.defaults import default_preprocess_function

    def preprocess(message, model, processor, **kwargs):
        with open("prepared", "a") as file:
            file.write("x")
        return default_preprocess_function(message, model, processor, **kwargs)
"""


@pytest.fixture
def running(tmp_path):
    """A run whose first sample is being generated: the second one has been prepared meanwhile."""
    folder = tiny_checkpoint.build("qwen2_5_vl", tmp_path / "checkpoint", dtype="float32")
    with MockServer() as server:
        stage = Stage.make(tmp_path, server, PICTURES)
    stage.module(PREPROCESS)
    entry = {"model_path": str(folder), "imp_type": "transformers", "generate_cfg": ENDLESS,
             "preprocess_function": "mymodel.preprocess"}  # fmt: skip
    config = stage.config({"model": {"m": entry}, "data": {L2: {"mode": "all"}}})
    env = {"LMUData": str(tmp_path / "data"), "PYTHONPATH": str(tmp_path / "mine")}
    run = runs.start("--config", config, "--work-dir", stage.work_dir, cwd=tmp_path, env=env)
    prepared = tmp_path / "prepared"
    wait_until(lambda: prepared.exists() and prepared.stat().st_size >= 2, run)
    yield run
    run.kill()
    run.communicate()


@pytest.mark.parametrize("signals", [(signal.SIGINT, signal.SIGINT), (signal.SIGTERM,)])
def test_a_generation_that_goes_on_does_not_abort_the_process(signals, running):
    first, *more = signals
    running.send_signal(first)
    while "top" not in running.stdout.readline():  # "Stopping ...", "stopping within ..."
        assert running.poll() is None
    for number in more:
        running.send_signal(number)
    output, errors = running.communicate(timeout=60)

    assert "terminate called" not in errors and "Traceback" not in errors
    assert "Interrupted. Nothing that was answered is lost" in output
    assert running.returncode == 130
