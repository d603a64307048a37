"""Several servers of one model: throughput beside what the servers can do, and memory.

python -m tools.many_servers [--servers 1 2 4 8] [--samples 200] [--latency 0.4] [--in-flight 8]
python -m tools.many_servers --large [--servers 8] [--samples 80] [--latency 20] [--in-flight 64]

Each server is a mock in a process of its own that takes `--latency` seconds a request, so that its
limit is in-flight / latency; there are `--samples` for each. Prints for each number of servers the
throughput of the inference part beside that limit, CPU a sample and peak memory. With `--large`
every sample has an image of 3840x2160 pixels and about 5 MB.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from tools.api_engine import DATASET, PROJECT, server
from tools.scale import make_data

LARGE_WH = (3840, 2160)
NOISY_ROWS = 440  # of a large image: they make it 5 MB


def make_large_data(root: Path, samples: int) -> Path:
    """A large image for each sample: one file under many names, which share no cache."""
    from PIL import Image

    home = root / "MMBench-GUI"
    folder = home / "offline_images" / "os_web"
    folder.mkdir(parents=True)
    image = Image.new("RGB", LARGE_WH, "white")
    noise = Image.frombytes(
        "RGB", (LARGE_WH[0], NOISY_ROWS), os.urandom(3 * LARGE_WH[0] * NOISY_ROWS)
    )
    image.paste(noise)
    image.save(root / "large.png", compress_level=1)
    rows = []
    for number in range(samples):
        name = f"pic{number:05}.png"
        (folder / name).hardlink_to(root / "large.png")
        rows.append(
            {
                "index": number,
                "image_path": name,
                "platform": "os_web",
                "app_name": "memory",
                "instruction": f"Click on element {number}.",
                "bbox": [0.4, 0.4, 0.6, 0.6],
                "image_size": list(LARGE_WH),
                "data_type": "icon",
                "grounding_type": "basic",
            }
        )
    (home / "L2_annotations.json").write_text(json.dumps(rows))
    return root


def run(urls: list[str], data: Path, folder: Path, in_flight: int) -> dict[str, float]:
    """One run of `evaluate.py --mode infer` against servers."""
    config = folder / "config.json"
    paths = [f"{url}?api_key=none&model=mock" for url in urls]
    entry = {"model_path": paths, "generate_cfg": {"max_tokens": 16}}
    config.write_text(json.dumps({"model": {"m": entry}, "data": {DATASET: {"mode": "all"}}}))
    work_dir = tempfile.mkdtemp(dir=folder)
    command = [sys.executable, "evaluate.py", "--config", str(config), "--work-dir", work_dir]
    command += ["--api-nproc", str(in_flight), "--mode", "infer"]
    with subprocess.Popen(
        command,
        cwd=PROJECT,
        env={**os.environ, "LMUData": str(data)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        _, status, usage = os.wait4(process.pid, 0)
    assert status == 0, status
    [log] = Path(work_dir).glob(f"m/T*/m_{DATASET}.jsonl")
    end = json.loads(log.read_text().splitlines()[-1])
    return {
        "wall_s": end["wall_s"],
        "cpu_s": usage.ru_utime + usage.ru_stime,
        "peak_mb": usage.ru_maxrss / 1024,
    }


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--servers", type=int, nargs="+")
    parser.add_argument("--samples", type=int, help="for each server")
    parser.add_argument("--latency", type=float)
    parser.add_argument("--in-flight", type=int, help="at each server")
    parser.add_argument("--large", action="store_true")
    options = parser.parse_args()
    usual = ([8], 80, 20.0, 64) if options.large else ([1, 2, 4, 8], 200, 0.4, 8)
    counts = options.servers or usual[0]
    samples = options.samples or usual[1]
    latency_s = options.latency or usual[2]
    in_flight = options.in_flight or usual[3]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for count in counts:
            make = make_large_data if options.large else make_data
            data = make(folder / f"data{count}", samples * count)
            with ExitStack() as stack:
                urls = [stack.enter_context(server(latency_s)) for _ in range(count)]
                began_s = time.monotonic()
                measured = run(urls, data, folder, in_flight)
                whole_s = time.monotonic() - began_s
            rate = samples * count / measured["wall_s"]
            limit = count * in_flight / latency_s
            print(
                f"{count} servers, {count * in_flight} in flight: {rate:.1f}/s, {rate / limit:.2f} "
                f"of their limit; CPU {1000 * measured['cpu_s'] / (samples * count):.2f} ms a "
                f"sample, peak {measured['peak_mb']:.0f} MB, whole process {whole_s:.1f} s",
                flush=True,
            )


if __name__ == "__main__":
    main()
