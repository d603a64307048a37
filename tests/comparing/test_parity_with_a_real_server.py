"""A server that nobody here wrote, `transformers serve`, beside the same checkpoint in this process."""

import csv
import os
import random
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager

from tests.support import tiny_checkpoint
from tests.support.mock_server import MockServer
from tests.support.needs import needs
from tests.support.stage import L1, L2, Stage

pytestmark = needs("torch", "qwen_vl_utils", "fastapi")  # the last one of transformers[serving]

SECONDS_TO_START = 300
PORTS = range(20_000, 30_000)  # none that others get by asking for any
LIMITS = {"min_pixels": 3136, "max_pixels": 1003520}  # what the checkpoint's processor has


@contextmanager
def transformers_server(checkpoint, cache):
    """The base URL of a server for one checkpoint."""
    port = next(filter(is_free, random.sample(PORTS, 100)))
    cache.mkdir()
    command = [
        sys.executable,
        "-m",
        "transformers.cli.transformers",
        "serve",
        str(checkpoint),
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
        "--device",
        "cpu",
        "--dtype",
        "float32",
    ]
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


def is_free(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


def wait_until_it_answers(process, port, log):
    for _ in range(SECONDS_TO_START * 5):
        assert process.poll() is None, log.read_text()
        try:
            return urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5).close()
        except OSError:
            time.sleep(0.2)
    raise AssertionError(log.read_text())


def test_both_ways_to_one_checkpoint_are_equal_or_the_cause_of_what_differs_is_named(tmp_path):
    checkpoint = tiny_checkpoint.build("qwen2_5_vl", tmp_path / "tiny", dtype="float32")
    data = {L1: {"mode": "all"}, L2: {"mode": "all"}}
    pictures = [("os_web", (420, 310)), ("os_ios", (196, 392))]
    with MockServer() as unused, transformers_server(checkpoint, tmp_path / "cache") as url:
        stage = Stage.make(tmp_path / "stage", unused, pictures)
        served = {
            "model_path": f"{url}?api_key=none&model={checkpoint}",
            "generate_cfg": {"max_tokens": 6, "temperature": 0},
        }
        served_config = stage.config({"model": {"served": served}, "data": data}, "served.json")

        def parity(name, limits):
            local = {
                "model_path": str(checkpoint),
                "imp_type": "transformers",
                "kwargs": limits,
                "generate_cfg": {"max_new_tokens": 6},
            }
            local_config = stage.config({"model": {name: local}, "data": data}, f"{name}.json")
            return stage.run(
                "--config",
                local_config,
                "--parity",
                served_config,
                "--work-dir",
                stage.work_dir,
                env={"OMP_NUM_THREADS": "1"},
            )

        equal, differing = parity("equal", LIMITS), parity("differing", {"max_pixels": 50176})

    for dataset, samples in ((L1, 6), (L2, 4)):
        answers = stage.answers(dataset, "served")
        assert [a["status"] for a in answers] == ["ok"] * samples
        assert all(a["usage"]["completion_tokens"] for a in answers)
        assert f"reply               equal in {samples} of {samples}" in equal.output, equal.output
    assert (equal.output.count("nothing differs"), equal.code) == (2, 0)

    assert f"{L2}: queried 0, reused 4" in differing.stdout  # the served ones, of the first
    for line in (
        "4 x prompt tokens: ",
        "other pixel limits, another chat template",
        "setting             kwargs.max_pixels: 50176 (in differing), unset (in served)",
    ):
        assert line in differing.output, differing.output
    assert "image sent" not in differing.output and " x messages" not in differing.output
    path = stage.work_dir / "parity" / f"differing_served_{L2}.csv"
    rows = list(csv.DictReader(path.open(encoding="utf-8", newline="")))
    assert len(rows) == 4
    assert all("x" in row["baseline_seen"] and row["run_seen"] == "unknown" for row in rows)
