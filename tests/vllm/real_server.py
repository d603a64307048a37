"""`imp_type: "vllm"` with a real vLLM on the CPU; `make test-vllm` runs this, `make test` does not.

Random checkpoints say the same through vLLM as through transformers in this process, token for
token (greedy, float32). They are made to say ASCII alone: where a reply ends inside a character of
several bytes, the two libraries write the torn end differently. And they say at least one token: an
empty answer counts as one in this process, and as none where a server may have lost it.
"""

import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.support import runs, tiny_checkpoint
from tests.support.stage import L1, L2, SCORES, answer_records

LIMIT = 18  # of L1 easy: every picture of the sample data
GREEDY_TOKENS = 24
PATIENCE_S = 900  # two servers load on the cores of one
KWARGS = {"min_pixels": 3136, "max_pixels": 200704}
SERVE_ARGS = {"max-model-len": 8192, "max-num-seqs": 8, "enforce-eager": True, "dtype": "float32"}


def build(family, folder):
    """A random checkpoint whose answers depend on the prompt and are ASCII."""
    import torch
    import transformers

    tiny_checkpoint.build(family, folder, dtype="float32", spread=6.0)
    architecture = transformers.AutoConfig.from_pretrained(folder).architectures[0]
    model = getattr(transformers, architecture).from_pretrained(folder, dtype=torch.float32)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    pieces = [tokenizer.decode([number]) for number in range(len(tokenizer))]
    unwanted = [number for number, piece in enumerate(pieces) if not piece.isascii()]
    with torch.no_grad():
        model.get_output_embeddings().weight[unwanted] = 0.0  # logit 0: hardly ever the largest
    model.save_pretrained(folder)
    return folder


class Place:
    """Both ways to one checkpoint, in one config."""

    def __init__(self, home, family):
        self.home, self.checkpoint = home, build(family, home / "checkpoint")
        common = {"model_path": str(self.checkpoint), "kwargs": KWARGS}
        served = {
            **common,
            "imp_type": "vllm",
            "serve_args": SERVE_ARGS,
            "generate_cfg": {
                "max_tokens": GREEDY_TOKENS,
                "temperature": 0,
                "extra_body": {"min_tokens": 1},
            },
        }
        self.config = runs.write_config(
            home / "c.json",
            model={
                "local": {
                    **common,
                    "imp_type": "transformers",
                    "dtype": "float32",
                    "device_map": "cpu",
                    "generate_cfg": {
                        "max_new_tokens": GREEDY_TOKENS,
                        "do_sample": False,
                        "min_new_tokens": 1,
                    },
                },
                "vllm": served,
                "two": {**served, "replicas": 2},
                "each": {**served, "replicas": 1},
            },
            data={L1: {"mode": "easy"}, L2: {"mode": "all"}},
        )
        (home / "tmp").mkdir()
        limit = ["--limit", str(LIMIT)]
        self.arguments = ["--config", self.config, "--work-dir", home / "out", *limit]
        self.where = {
            "cwd": home,
            "env": {
                "LMUData": str(runs.PROJECT / "sample_data"),
                "TMPDIR": str(home / "tmp"),
                "HF_HUB_OFFLINE": "1",
                "VLLM_CPU_KVCACHE_SPACE": "1",
            },
        }

    def run(self, *more):
        return runs.evaluate(*self.arguments, *more, **self.where, process=True)

    def start_on_two_machines(self, *more):
        """The agents of torchrun on two machines, each of which starts one rank."""
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        command = [runs.PROJECT / "evaluate.py", *self.arguments, *more]
        rendezvous = ["--master-addr=127.0.0.1", f"--master-port={port}"]
        return [
            subprocess.Popen(
                [
                    *(sys.executable, "-m", "torch.distributed.run"),
                    *("--nnodes=2", f"--node-rank={number}", "--nproc-per-node=1"),
                    *rendezvous,
                    *map(str, command),
                ],
                cwd=self.where["cwd"],
                env=runs.environment(**self.where["env"]),
                text=True,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )
            for number in range(2)
        ]

    def scores(self, model):
        """The scores of a model's newest run, by data set."""
        folder = runs.run_folder(self.home / "out", model)
        stems = {name: f"{model}_{name}_{SCORES[name]}" for name in (L1, L2)}
        files = {name: folder / f"{stem}_partial.json" for name, stem in stems.items()}
        return {name: json.loads(file.read_bytes()) for name, file in files.items()}

    def answers(self, model):
        """By sample key."""
        logs = (self.home / "out" / model).glob("T*/*.jsonl")
        return {record["key"]: record for log in logs for record in answer_records(log)}


@pytest.fixture(scope="module", params=["qwen2_vl", "qwen2_5_vl", "qwen3_vl"])
def setup(request, tmp_path_factory):
    """After a comparison of both ways."""
    assert os.environ.get("VLLM_PYTHON"), "VLLM_PYTHON must name a Python with vLLM: make test-vllm"
    setup = Place(tmp_path_factory.mktemp(request.param), request.param)
    setup.compared = setup.run("--parity", setup.config, "--model", "local", "vllm")
    assert setup.compared.code == 0, setup.compared.output
    print(setup.compared.output)
    return setup


def test_the_parity_command_finds_no_difference(setup):
    for dataset in (L1, L2):
        parity = setup.compared.stdout.partition(f"\n{dataset}: local and vllm")[2].split("File:")[
            0
        ]
        assert f"reply               equal in {LIMIT} of {LIMIT}" in parity
        assert f"prompt tokens       equal in {LIMIT} of {LIMIT}" in parity
        assert "nothing differs" in parity


def test_both_ways_give_the_same_answers_to_images_of_the_same_size(setup):
    local, served = setup.answers("local"), setup.answers("vllm")
    assert local.keys() == served.keys() and len(local) == 2 * LIMIT

    def of(record):
        return record["raw"], record["usage"]["prompt_tokens"]

    distinct = len({record["raw"] for record in local.values()})
    print(f"{len(local)} answers, {distinct} distinct")
    assert {key for key in local if of(local[key]) != of(served[key])} == set()
    assert distinct >= 10


def test_nothing_of_the_server_is_left_and_a_second_run_starts_none(setup):
    assert list((setup.home / "tmp").glob("vllm_*.log")) == []
    assert of_session_with(str(setup.checkpoint)) == []
    again = setup.run("--model", "local", "vllm")
    assert (again.code, again.output.count("queried 0")) == (0, 4), again.output
    assert "starting a vLLM server" not in again.output


def test_a_killed_run_takes_all_processes_of_the_server_along(setup):
    process = runs.start(*setup.arguments, "--model", "vllm", "--fresh", **setup.where)
    for line in process.stderr:
        if "answers on port" in line:
            break
    pids = of_session_with(str(setup.checkpoint))
    assert len(pids) >= 3, pids  # keeper, API server, engine
    handles = [os.pidfd_open(pid) for pid in pids]
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert all(select.select([handle], [], [], 120)[0] for handle in handles)
    assert of_session_with(str(setup.checkpoint)) == []


@pytest.mark.parametrize("setup", ["qwen2_5_vl"], indirect=True)
def test_two_servers_give_the_scores_of_one_though_one_of_them_is_killed(setup):
    process = runs.start(
        *setup.arguments, "--model", "two", "--api-nproc", "1", "--retry", "0", **setup.where
    )
    stderr = []
    reading = threading.Thread(target=lambda: stderr.extend(process.stderr), daemon=True)
    reading.start()
    ends_s = time.monotonic() + PATIENCE_S
    while len(setup.answers("two")) < LIMIT // 2:
        assert process.poll() is None and time.monotonic() < ends_s, "".join(stderr)
        time.sleep(0.05)
    port = re.search(r"replica 0 answers on port (\d+)", "".join(stderr))[1]
    [server] = [pid for pid in of_session_with(f"--port={port}") if is_server(pid, port)]
    os.kill(server, signal.SIGKILL)
    stdout = process.stdout.read()
    reading.join()
    assert process.wait() == 0, stdout + "".join(stderr)
    print(stdout)
    assert f"127.0.0.1:{port} is down" in stdout
    one, two = setup.answers("vllm"), setup.answers("two")
    assert {key: record["raw"] for key, record in two.items()} == {
        key: record["raw"] for key, record in one.items()
    }
    by_server = Counter(record["server"] for record in two.values())
    assert len(by_server) >= 2 and by_server[f"127.0.0.1:{port}"] < LIMIT, by_server
    assert setup.scores("two") == setup.scores("vllm")
    assert of_session_with(str(setup.checkpoint)) == []


@pytest.mark.parametrize("setup", ["qwen2_5_vl"], indirect=True)
def test_a_server_on_each_of_two_machines_gives_the_scores_of_one(setup):
    name = "each"
    agents = setup.start_on_two_machines("--model", name, "--api-nproc", "1")
    outputs = [agent.communicate(timeout=PATIENCE_S)[0] for agent in agents]
    print(*outputs)
    assert [agent.returncode for agent in agents] == [0, 0], outputs
    one, both = setup.answers("vllm"), setup.answers(name)
    assert {key: record["raw"] for key, record in both.items()} == {
        key: record["raw"] for key, record in one.items()
    }
    assert len({record["server"] for record in both.values()}) == 2
    assert setup.scores(name) == setup.scores("vllm")
    assert of_session_with(str(setup.checkpoint)) == []


def is_server(pid, port):
    """Whether a process is a server itself, neither its keeper nor a part of it."""
    words = Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
    return f"--port={port}" in words and not any("keeper.py" in word for word in words)


def of_session_with(word):
    """Process ids of every session in which a command line has this word."""
    table = subprocess.run(
        ["ps", "-wweo", "pid=,sess=,stat=,args="], capture_output=True, text=True, check=True
    ).stdout
    rows = [line.split(None, 3) for line in table.splitlines()]
    session_id = str(os.getsid(0))
    sessions = {row[1] for row in rows if word in row[3] and row[1] != session_id}
    return [int(row[0]) for row in rows if row[1] in sessions and not row[2].startswith("Z")]
