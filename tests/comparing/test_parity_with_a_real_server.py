"""A server that nobody here wrote, `transformers serve`, beside the same checkpoint in this process."""

import csv
import os
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager

import pytest

pytest.importorskip("torch")
pytest.importorskip("qwen_vl_utils")
pytest.importorskip("fastapi")  # of transformers[serving]

from tests.support import tiny_checkpoint
from tests.support.mock_server import MockServer
from tests.support.stage import L1, L2, Stage

SECONDS_TO_START = 120
LIMITS = {"min_pixels": 3136, "max_pixels": 1003520}  # what the checkpoint's processor has


@contextmanager
def transformers_server(checkpoint, cache):
    """The base URL of a server for one checkpoint."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    cache.mkdir()
    command = [sys.executable, "-m", "transformers.cli.transformers", "serve", str(checkpoint),
               "--host", "127.0.0.1", "--port", str(port), "--device", "cpu", "--dtype", "float32"]  # fmt: skip
    env = {**os.environ, "HF_HUB_CACHE": str(cache), "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    log = (cache / "log.txt").open("w+")
    process = subprocess.Popen(command, env=env, stdout=log, stderr=subprocess.STDOUT)
    try:
        wait_until_it_answers(process, port, cache / "log.txt")
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.kill()
        process.wait()
        log.close()


def wait_until_it_answers(process, port, log):
    for _ in range(SECONDS_TO_START * 5):
        assert process.poll() is None, log.read_text()
        try:
            return urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5).close()
        except OSError:
            time.sleep(0.2)
    raise AssertionError(log.read_text())


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """The parity command once with equal and once with differing pixel limits."""
    home = tmp_path_factory.mktemp("parity")
    checkpoint = tiny_checkpoint.build("qwen2_5_vl", home / "tiny", dtype="float32")
    with MockServer() as unused, transformers_server(checkpoint, home / "cache") as url:
        stage = Stage.make(home / "stage", unused, [("os_web", (420, 310)), ("os_ios", (196, 392))])
        served = {
            "model_path": f"{url}?api_key=none&model={checkpoint}",
            "generate_cfg": {"max_tokens": 6, "temperature": 0},
        }
        local = {
            "model_path": str(checkpoint), "imp_type": "transformers",
            "generate_cfg": {"max_new_tokens": 6},
        }  # fmt: skip
        data = {L1: {"mode": "all"}, L2: {"mode": "all"}}
        server_config = stage.config({"model": {"served": served}, "data": data}, "served.json")
        found = {}
        for name, limits in (("equal", LIMITS), ("differing", {"max_pixels": 50176})):
            config = stage.config(
                {"model": {f"local-{name}": {**local, "kwargs": limits}}, "data": data},
                f"{name}.json",
            )
            found[name] = stage.run(
                "--config", config, "--parity", server_config, "--work-dir", stage.work_dir,
                env={"OMP_NUM_THREADS": "1"},
            )  # fmt: skip
        assert found["equal"].code in (0, 1), found["equal"].output
        yield stage, found


def test_both_levels_complete_through_a_server_nobody_here_wrote(ran):
    stage, _ = ran
    for dataset, samples in ((L1, 6), (L2, 4)):
        answers = stage.answers(dataset, "served")
        assert [a["status"] for a in answers] == ["ok"] * samples
        assert all(a["usage"]["completion_tokens"] for a in answers)


def test_with_equal_limits_the_answers_of_both_ways_are_equal(ran):
    _, found = ran
    output = found["equal"].output
    assert "reply               equal in 6 of 6" in output, output
    assert "reply               equal in 4 of 4" in output, output
    assert output.count("nothing differs") == 2
    assert found["equal"].code == 0


def test_with_differing_limits_they_are_named_as_the_cause(ran):
    _, found = ran
    output = found["differing"].output
    assert "4 x prompt tokens: " in output, output
    assert "other pixel limits, another chat template" in output
    assert (
        "setting             kwargs.max_pixels 50176 in local-differing, unset in served" in output
    )
    assert "image sent" not in output and " x messages" not in output


def test_every_sample_stands_in_a_file(ran):
    stage, _ = ran
    path = stage.work_dir / "parity" / f"local-differing_served_{L2}.csv"
    rows = list(csv.DictReader(path.open(encoding="utf-8", newline="")))
    assert len(rows) == 4
    assert all("x" in row["baseline_seen"] and row["run_seen"] == "unknown" for row in rows)


def test_a_second_comparison_queries_nothing_again(ran):
    _, found = ran
    assert f"{L2}: asked 0, reused 4" in found["differing"].stdout  # the served ones, of the first
