"""How long a run that must stop takes to do so.

python -m perf.stopping [--in-flight 64] [--rounds 3]

Seconds from the event (the 401, the second Ctrl-C) to the end of the process; for a wrong key from
the start of the process too.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import statistics
import subprocess
import tempfile
import threading
import time
from pathlib import Path

from perf.kill_everywhere import reply
from tests.support.mock_server import MockServer, Reply, Request
from tests.support.runs import api_model, make_data
from tests.support.stage import Stage

WRONG_KEY = Reply(status=401, body=b'{"error": {"message": "bad key"}}')


class Scene:
    """A server that answers in one of three ways, and when it did so first."""

    def __init__(self, name: str, in_flight: int) -> None:
        self.name, self.in_flight = name, in_flight
        self.happened_s = 0.0
        self.over = threading.Event()
        self._arrived = threading.Barrier(in_flight)

    def __call__(self, request: Request) -> Reply:
        if self.name == "401 from the start":
            self.happened_s = self.happened_s or time.monotonic()
            return WRONG_KEY
        first = self._arrived.wait(60) == 0
        if first and self.name == "401 while the others hang":
            self.happened_s = time.monotonic()
            return WRONG_KEY
        self.over.wait(60)
        return reply(request)

    def play(self, process: subprocess.Popen[str], server: MockServer) -> None:
        """What the user does."""
        if self.name != "Ctrl-C twice while all hang":
            return
        server.wait_for(self.in_flight)
        process.send_signal(signal.SIGINT)
        assert process.stdout is not None
        for line in process.stdout:
            if "Stopping after what is in flight" in line:
                break
        self.happened_s = time.monotonic()
        process.send_signal(signal.SIGINT)


def run(name: str, in_flight: int, home: Path) -> dict[str, float]:
    """One run that must stop."""
    scene = Scene(name, in_flight)
    with MockServer(scene) as server:
        stage = Stage(home, server, {"m": api_model(server.url)})
        began_s = time.monotonic()
        process = stage.start("--api-nproc", str(in_flight))
        scene.play(process, server)
        process.communicate(timeout=60)
        ended_s = time.monotonic()
        scene.over.set()
    return {
        "stop_s": ended_s - scene.happened_s,
        "total_s": ended_s - began_s,
        "requests": len(server.requests),
        "code": process.returncode,
    }


def main() -> None:
    """Measures and prints medians."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--in-flight", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        data = make_data(Path(folder) / "data", [("os_web", (40, 30))] * options.in_flight)
        for name in (
            "401 from the start",
            "401 while the others hang",
            "Ctrl-C twice while all hang",
        ):
            results = []
            for number in range(options.rounds):
                home = Path(folder) / f"{name}{number}"
                shutil.copytree(data, home / "data")
                results.append(run(name, options.in_flight, home))
            stop_s, total_s = (
                statistics.median(r[key] for r in results) for key in ("stop_s", "total_s")
            )
            print(
                f"{name}: exit {stop_s:.2f} s after it, {total_s:.2f} s after the start; "
                f"{max(r['requests'] for r in results)} requests, exit code "
                f"{sorted({r['code'] for r in results})}",
                flush=True,
            )


if __name__ == "__main__":
    main()
