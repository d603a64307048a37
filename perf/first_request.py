"""Time from process start to the first request, beside the import of the client alone.

python -m perf.first_request [--samples 1000] [--rounds 7]
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

from perf.api_engine import DATASET, PROJECT
from perf.scale import make_data


def until_first_request(data: Path, folder: Path) -> float:
    """Seconds from starting `evaluate.py` until bytes of a request arrive."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
        config = folder / "config.json"
        entry = {"model_path": f"{url}?api_key=none&model=mock", "generate_cfg": {"max_tokens": 16}}
        config.write_text(json.dumps({"model": {"m": entry}, "data": {DATASET: {"mode": "all"}}}))
        command = [sys.executable, "evaluate.py", "--config", str(config),
                   "--work-dir", tempfile.mkdtemp(dir=folder)]  # fmt: skip
        began_s = time.monotonic()
        with subprocess.Popen(
            command, cwd=PROJECT, env={**os.environ, "LMUData": str(data)},
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        ) as process:  # fmt: skip
            connection, _ = listening.accept()
            connection.recv(1)
            took_s = time.monotonic() - began_s
            process.kill()
            connection.close()
    return took_s


def import_alone() -> float:
    """Seconds of a process that imports the client and pydantic, and ends."""
    began_s = time.monotonic()
    subprocess.run([sys.executable, "-c", "import openai, pydantic"], check=True)
    return time.monotonic() - began_s


def main() -> None:
    """Measures in turn and prints the ratio pair by pair."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--samples", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=7)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        data = make_data(Path(name) / "data", given.samples)
        pairs = [
            (until_first_request(data, Path(name)), import_alone()) for _ in range(given.rounds)
        ]
    ours, alone = (statistics.median(side) for side in zip(*pairs, strict=True))
    ratio = statistics.median(a / b for a, b in pairs)
    print(f"first request after {ours:.3f} s, import alone {alone:.3f} s, ratio {ratio:.3f}")
    print(json.dumps(pairs))


if __name__ == "__main__":
    main()
