"""examples/slurm on a Slurm of this machine, with servers that answer without a model.

    tools/slurm_cluster.sh .venv/bin/python -m tools.slurm_cases [CASE ...]

Prints of each case what became of it: states of the job, answers by server, and whether each
sample was answered once. Cases: one_job, requeue, nodes, nodes_killed, preempted, two_kinds,
checkpoints.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tools.scale import make_data

PROJECT = Path(__file__).resolve().parents[1]
EXAMPLES = PROJECT / "examples" / "slurm"
DATASET = "GUIElementGrounding"
SMALL = ("--nodes=2", "--ntasks-per-node=2", "--gpus-per-node=2", "--cpus-per-task=1")
ON_NODES = ("--nodes=2", "--gpus-per-node=2", "--cpus-per-task=1")
LATENCY_S = 0.3
PATIENCE_S = 420


def serve(arguments: list[str]) -> None:
    """Serve a model that needs no GPU: what SERVE of replica.sh starts."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--host")
    parser.add_argument("--port", type=int)
    parser.add_argument("--dies-after", type=int, default=1 << 30)
    parser.add_argument(
        "--places", type=int, default=4, help="requests that are answered at a time"
    )
    options, _ = parser.parse_known_args(arguments)  # where it stands in for vLLM there are others
    places = threading.Semaphore(options.places)
    answered = Counter[str]()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            """The log of the job is for what matters."""

        def do_GET(self) -> None:
            listing = {"data": [{"id": "my-model", "root": "/checkpoints/my-model"}]}
            self._reply(listing if self.path == "/v1/models" else {"version": "0.11.0"})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            if body.get("max_tokens") != 1:  # else it is a look at the server
                with places:
                    time.sleep(LATENCY_S)
                answered["all"] += 1
                if answered["all"] > options.dies_after:
                    os._exit(1)
            message = {"role": "assistant", "content": "(0.5, 0.5)"}
            usage = {"prompt_tokens": 1000, "completion_tokens": 8}
            choice = {"index": 0, "finish_reason": "stop", "message": message}
            self._reply({"id": "x", "choices": [choice], "usage": usage})

        def _reply(self, content: Any) -> None:
            data = json.dumps(content).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    ThreadingHTTPServer((options.host, options.port), Handler).serve_forever()


def _processes(word: str) -> list[int]:
    """The process ids of all whose command line has a word."""
    pids = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if word.encode() in (folder / "cmdline").read_bytes():
                pids.append(int(folder.name))
    return pids


class Cluster:
    """Jobs of one case, in a folder of its own.

    Args:
        folder: of the case.
        samples: that are asked.
    """

    def __init__(self, folder: Path, samples: int) -> None:
        self.folder = folder
        self.samples = samples
        self.data = make_data(folder / "data", samples)
        self.environment = {
            **os.environ,
            "LMUData": str(self.data),
            "EXAMPLES": str(EXAMPLES),
            "PYTHONPATH": str(PROJECT),
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "DRAIN_S": "2",
        }
        self.set_server()
        config = (
            f"{sys.executable} {PROJECT}/evaluate.py --config {EXAMPLES}/config.json "
            f"--data {DATASET} --no-report --work-dir {folder}/outputs --api-nproc 4"
        )
        self.environment["CLIENT"] = config

    def set_server(self, *options: str) -> None:
        """Set what each server does besides serving."""
        words = [sys.executable, "-m", "tools.slurm_cases", "serve", *options]
        self.environment["SERVE"] = " ".join(words)

    def stand_in_for_vllm(self) -> None:
        """Have the run start these servers where it would start vLLM's, as its tasks."""
        python = self.folder / "vllm_python"
        lines = [
            "#!/bin/bash",
            '[ "$1" = -c ] && exec echo "{}"',
            f"export PYTHONPATH={PROJECT}",
            f'exec {sys.executable} -m tools.slurm_cases serve "$@"',
        ]
        python.write_text("\n".join([*lines, ""]))
        python.chmod(0o755)
        self.environment["VLLM_PYTHON"] = str(python)
        self.environment["CLIENT"] = self.environment["CLIENT"].replace("config.json", "nodes.json")

    def checkpoint(self) -> Path:
        """A checkpoint without weights."""
        folder = self.folder / "checkpoint"
        folder.mkdir()
        (folder / "config.json").write_text("{}")
        (folder / "model.safetensors").write_bytes((2).to_bytes(8, "little") + b"{}")
        return folder

    def servers(self) -> list[int]:
        """The process ids of servers that a run has started for this case."""
        return _processes(f"--model={self.folder}")

    def task(self, number: int) -> int:
        """The process id of a task of srun."""
        variable = f"SLURM_PROCID={number}".encode()
        [pid] = [
            pid
            for pid in _processes(f"{self.folder}/outputs")
            if variable in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
            and Path(f"/proc/{pid}/comm").read_text().startswith("python")
        ]
        return pid

    def submit(self, script: str, *options: str, **variables: str) -> str:
        """Submit a script of the examples; return the number of the job."""
        command = ["sbatch", "--parsable", f"--chdir={self.folder}", *options, EXAMPLES / script]
        environment = {**self.environment, **variables}
        output = subprocess.run(
            command, env=environment, check=True, capture_output=True, text=True
        )
        return output.stdout.strip()

    def states(self, job: str) -> list[str]:
        """The states of a job's parts, as Slurm has them now."""
        output = subprocess.run(
            ["squeue", "-h", "-j", job, "-t", "all", "-o", "%T"],
            check=False,
            capture_output=True,
            text=True,
        )
        return output.stdout.split()

    def wait(self, job: str, is_over: Callable[[list[str]], bool] | None = None) -> list[str]:
        """Wait until a job is over; return the states that its parts were in, each once."""
        ended = {"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL"}
        seen: dict[str, None] = {}
        for _ in range(PATIENCE_S):
            states = self.states(job)
            seen.update(dict.fromkeys(states))
            if is_over is not None and is_over(states):
                break
            if is_over is None and set(states) <= ended:
                break
            time.sleep(1)
        return [*seen]

    def answers(self) -> list[dict[str, Any]]:
        """The records of answers in all logs."""
        logs = self.folder.glob(f"outputs/*/T*/*_{DATASET}.jsonl")
        records = [json.loads(line) for log in logs for line in log.read_text().splitlines()]
        return [record for record in records if record["kind"] == "answer"]

    def report(self, what: str) -> None:
        """Print what the logs hold."""
        answers = self.answers()
        keys = Counter(record["key"] for record in answers)
        statuses = Counter(record["status"] for record in answers)
        by_server = Counter(record.get("server", "-") for record in answers)
        twice = sum(count > 1 for count in keys.values())
        print(
            f"{what}: {len(keys)} of {self.samples} samples answered, {twice} twice, "
            f"{dict(statuses)}; by server {sorted(by_server.values(), reverse=True)}",
            flush=True,
        )


def one_job(folder: Path) -> None:
    """Two nodes with two servers each."""
    cluster = Cluster(folder, 400)
    states = cluster.wait(cluster.submit("one_job.sbatch", *SMALL))
    cluster.report(f"one_job ({', '.join(states)})")


def requeue(folder: Path) -> None:
    """Servers die at their 80th request; the time is up before all is answered."""
    cluster = Cluster(folder, 500)
    cluster.set_server("--places", "2", "--dies-after", "80")
    job = cluster.submit("one_job.sbatch", *SMALL, "--time=00:02:00", "--signal=B:TERM@75")
    states = cluster.wait(job, lambda now: "PENDING" in now and bool(cluster.answers()))
    cluster.report(f"requeue, first try ({', '.join(states)})")
    states = cluster.wait(job)
    cluster.report(f"requeue, second try ({', '.join(states)})")


def nodes(folder: Path) -> None:
    """Two nodes on each of which the run itself starts two servers."""
    cluster = Cluster(folder, 400)
    cluster.stand_in_for_vllm()
    job = cluster.submit("nodes.sbatch", *ON_NODES, MODEL=str(cluster.checkpoint()))
    states = cluster.wait(job)
    cluster.report(f"nodes ({', '.join(states)})")
    print(f"  processes that are left: {len(cluster.servers())}", flush=True)


def nodes_killed(folder: Path) -> None:
    """The same, and one task is killed: the client's first, then that of the other node."""
    for number in (0, 1):
        cluster = Cluster(folder / str(number), 2000)
        cluster.stand_in_for_vllm()
        job = cluster.submit("nodes.sbatch", *ON_NODES, MODEL=str(cluster.checkpoint()))
        cluster.wait(job, lambda _, cluster=cluster: len(cluster.answers()) > 100)
        os.kill(cluster.task(number), signal.SIGKILL)
        began_s = time.monotonic()
        states = cluster.wait(job)
        cluster.report(f"nodes, task {number} killed ({', '.join(states)})")
        left = len(cluster.servers())
        print(f"  over after {time.monotonic() - began_s:.0f} s; servers left: {left}", flush=True)


def preempted(folder: Path) -> None:
    """Servers in an array of their own, one of which is preempted in the middle and comes back."""
    cluster = Cluster(folder, 700)
    addresses = str(folder / "addresses")
    small = ("--array=0-3%3", "--cpus-per-task=1")
    replicas = cluster.submit("replicas.sbatch", *small, ADDRESSES=addresses)
    client = cluster.submit(
        "client.sbatch", "--cpus-per-task=1", ADDRESSES=addresses, REPLICAS=replicas
    )
    cluster.wait(client, lambda _: len(cluster.answers()) > 150)
    subprocess.run(["scontrol", "requeue", f"{replicas}_1"], check=True)
    states = cluster.wait(client)
    cluster.report(f"preempted, client ({', '.join(states)})")
    print(f"  servers afterwards: {', '.join(cluster.wait(replicas))}", flush=True)


def two_kinds(folder: Path) -> None:
    """A heterogeneous job: client and servers on nodes of two kinds."""
    cluster = Cluster(folder, 300)
    text = (EXAMPLES / "two_kinds.sbatch").read_text()
    for option in SMALL:  # options of the command line are for the first group alone
        name = option.partition("=")[0]
        text = "\n".join(
            f"#SBATCH {option}" if line.startswith(f"#SBATCH {name}=") else line
            for line in text.split("\n")
        )
    script = folder / "two_kinds.sbatch"
    script.write_text(text)
    states = cluster.wait(cluster.submit(str(script)))
    cluster.report(f"two_kinds ({', '.join(states)})")


def checkpoints(folder: Path) -> None:
    """An element of an array for each checkpoint, in the order of the steps."""
    cluster = Cluster(folder, 10)
    for step in (900, 50, 1000):
        (folder / f"run7/step-{step}").mkdir(parents=True)
    cluster.environment["CLIENT"] = "echo evaluate.py"
    pattern = f"{folder}/run7/step-*"
    job = cluster.submit(
        "checkpoints.sbatch", "--array=0-3%2", "--cpus-per-task=1", CHECKPOINTS=pattern
    )
    states = cluster.wait(job)
    print(f"checkpoints ({', '.join(states)}):", flush=True)
    for log in sorted(folder.glob("gui-checkpoints-*.log")):
        print(f"  {log.name.rpartition('_')[2]}: {log.read_text().strip()}", flush=True)


CASES = {
    case.__name__: case
    for case in (one_job, requeue, nodes, nodes_killed, preempted, two_kinds, checkpoints)
}


def main() -> None:
    """Run the cases that are named, or all."""
    if sys.argv[1:2] == ["serve"]:
        serve(sys.argv[2:])
        return
    for name in sys.argv[1:] or CASES:
        with tempfile.TemporaryDirectory() as folder:
            began_s = time.monotonic()
            CASES[name](Path(folder))
            print(f"  {time.monotonic() - began_s:.0f} s", flush=True)


if __name__ == "__main__":
    main()
