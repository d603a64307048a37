"""Cost and memory by number of samples.

python -m tools.scale [--samples 1000 16000 50000] [--rounds 3] [--servers 1]

Tiny pictures, no latency: what is left is this program's own work (prompts, requests, log,
scores, spreadsheets). Prints seconds a sample and peak memory for each number.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from tools.api_engine import DATASET, PROJECT, server

PICTURES = 500


def make_data(root: Path, samples: int) -> Path:
    """`samples` instructions on a few hundred small pictures."""
    from PIL import Image

    home = root / "MMBench-GUI"
    folder = home / "offline_images" / "os_web"
    folder.mkdir(parents=True)
    rows = []
    for number in range(samples):
        name = f"pic{number % PICTURES:05}.png"
        if number < PICTURES:
            Image.new("RGB", (32, 32), (number % 256, number // 256, 7)).save(folder / name)
        rows.append(
            {
                "index": number,
                "image_path": name,
                "platform": "os_web",
                "app_name": "speed",
                "instruction": f"Click on element {number}.",
                "bbox": [0.4, 0.4, 0.6, 0.6],
                "image_size": [32, 32],
                "data_type": "icon",
                "grounding_type": "basic",
            }
        )
    (home / "L2_annotations.json").write_text(json.dumps(rows))
    return root


def run(url: str | list[str], data: Path, folder: Path, dataset: str = DATASET) -> dict[str, float]:
    """One whole run of `evaluate.py`, scores and files included, of one server or several."""
    config = folder / "config.json"
    urls = [url] if isinstance(url, str) else url
    paths = [f"{url}?api_key=none&model=mock" for url in urls]
    entry = {
        "model_path": paths[0] if isinstance(url, str) else paths,
        "generate_cfg": {"max_tokens": 16},
    }
    config.write_text(json.dumps({"model": {"m": entry}, "data": {dataset: {"mode": "all"}}}))
    work_dir = tempfile.mkdtemp(dir=folder)
    command = [
        sys.executable,
        "evaluate.py",
        "--config",
        str(config),
        "--work-dir",
        work_dir,
        "--api-nproc",
        str(32 // len(urls)),
    ]
    began_s = time.monotonic()
    with subprocess.Popen(
        command,
        cwd=PROJECT,
        env={**os.environ, "LMUData": str(data)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        _, status, usage = os.wait4(process.pid, 0)
    assert status == 0, status
    return {
        "wall_s": time.monotonic() - began_s,
        "cpu_s": usage.ru_utime + usage.ru_stime,
        "peak_mb": usage.ru_maxrss / 1024,
    }


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--samples", type=int, nargs="+", default=[1000, 16000, 50000])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--servers", type=int, default=1, help="which share 32 requests in flight")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = {n: make_data(folder / str(n), n) for n in options.samples}
        for samples in options.samples:
            runs = []
            for _ in range(options.rounds):
                with ExitStack() as stack:
                    urls = [stack.enter_context(server(0)) for _ in range(options.servers)]
                    url = urls[0] if len(urls) == 1 else urls
                    runs.append(run(url, data[samples], folder))
            middle = {key: statistics.median(r[key] for r in runs) for key in runs[0]}
            print(
                f"{samples:6} samples: wall {1000 * middle['wall_s'] / samples:.3f} ms, CPU "
                f"{1000 * middle['cpu_s'] / samples:.3f} ms a sample, peak "
                f"{middle['peak_mb']:.0f} MB",
                flush=True,
            )
            print(json.dumps(runs))


if __name__ == "__main__":
    main()
