"""Time from process start to the first request, beside the import of the client alone.

python -m tools.first_request [--samples 1000] [--rounds 7] [--beside CHECKOUT]

`--beside`: beside another checkout instead. Compiled modules are kept, as they usually are.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tools.api_engine import DATASET, PROJECT
from tools.scale import make_data

ENVIRONMENT = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
Seconds = tuple[float, float]  # on the clock, of CPU


def until_first_request(data: Path, folder: Path, project: Path = PROJECT) -> Seconds:
    """From starting `evaluate.py` until bytes of a request arrive."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
        config = folder / "config.json"
        entry = {"model_path": f"{url}?api_key=none&model=mock", "generate_cfg": {"max_tokens": 16}}
        config.write_text(json.dumps({"model": {"m": entry}, "data": {DATASET: {"mode": "all"}}}))
        command = [
            sys.executable,
            "evaluate.py",
            "--config",
            str(config),
            "--work-dir",
            tempfile.mkdtemp(dir=folder),
        ]
        began_s = time.monotonic()
        with subprocess.Popen(
            command,
            cwd=project,
            env={**ENVIRONMENT, "LMUData": str(data)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as process:
            connection, _ = listening.accept()
            connection.recv(1)
            took_s = time.monotonic() - began_s
            # clock_getcpuclockid(3), which Python has for threads only
            cpu_s = time.clock_gettime(~process.pid << 3 | 2)
            process.kill()
            connection.close()
    return took_s, cpu_s


def import_alone() -> Seconds:
    """A process that imports the client and pydantic, and ends."""
    began_s, before = time.monotonic(), os.times()
    command = [sys.executable, "-c", "import openai, pydantic"]
    subprocess.run(command, check=True, env=ENVIRONMENT)
    after = os.times()
    cpu_s = sum(after[2:4]) - sum(before[2:4])
    return time.monotonic() - began_s, cpu_s


def main() -> None:
    """Measures in turn and prints the ratio pair by pair."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--samples", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--beside", type=Path, metavar="CHECKOUT")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = make_data(folder / "data", options.samples)

        def other() -> Seconds:
            beside = options.beside
            return until_first_request(data, folder, beside) if beside else import_alone()

        until_first_request(data, folder), other()  # to compile what is not compiled yet
        pairs = [(until_first_request(data, folder), other()) for _ in range(options.rounds)]
    for kind, what in enumerate(("clock", "CPU")):
        own_values, other_values = (
            [side[kind] for side in sides] for sides in zip(*pairs, strict=True)
        )
        ratio = statistics.median(a / b for a, b in zip(own_values, other_values, strict=True))
        print(
            f"{what}: first request after {statistics.median(own_values):.3f} s, "
            f"beside {statistics.median(other_values):.3f} s, ratio {ratio:.3f}"
        )
    print(json.dumps(pairs))


if __name__ == "__main__":
    main()
