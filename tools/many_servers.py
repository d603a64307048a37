"""Several servers of one model: throughput beside what the servers can do, and memory.

python -m tools.many_servers [--servers 1 2 4 8] [--samples 200] [--latency 0.4] [--in-flight 8]
python -m tools.many_servers --failing [--samples 1600] [--latency 0.4] [--in-flight 8]
python -m tools.many_servers --large [--servers 8] [--samples 80] [--latency 20] [--in-flight 64]

Each server is a mock in a process of its own that takes `--latency` seconds a request, so that its
limit is in-flight / latency; there are `--samples` for each. Prints for each number of servers the
throughput of the inference part beside that limit, CPU a sample and peak memory. With `--large`
every sample has an image of 3840x2160 pixels and about 5 MB.

With `--failing` there are eight servers, `--samples` in all. One has another model. When half of
the samples are answered two are killed, one hangs, one is taken out of the folder of addresses and
one joins.
Prints the wall time beside the ideal one: what those alive could have answered at their limit.
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
import urllib.request
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tools.api_engine import DATASET, PROJECT, server, started
from tools.scale import make_data

LARGE_WH = (3840, 2160)
NOISY_ROWS = 440  # of a large image: they make it 5 MB
ASKED_FIRST, ASKED_LATER = 7, 4  # servers of `--failing` that answer at first, and later on


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


def run(
    entry: dict[str, Any], data: Path, folder: Path, in_flight: int, *options: str
) -> dict[str, float]:
    """One run of `evaluate.py --mode infer` of a model entry."""
    config = folder / "config.json"
    config.write_text(json.dumps({"model": {"m": entry}, "data": {DATASET: {"mode": "all"}}}))
    work_dir = tempfile.mkdtemp(dir=folder)
    command = [sys.executable, "evaluate.py", "--config", str(config), "--work-dir", work_dir]
    command += ["--api-nproc", str(in_flight), "--mode", "infer", *options]
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
    *records, end = map(json.loads, log.read_text().splitlines())
    answers = [record for record in records if "status" in record]
    assert {answer["status"] for answer in answers} == {"ok"}
    assert len({answer["key"] for answer in answers}) == len(answers)
    return {
        "wall_s": end["wall_s"],
        "cpu_s": usage.ru_utime + usage.ru_stime,
        "peak_mb": usage.ru_maxrss / 1024,
    }


def entry_of(urls: list[str]) -> dict[str, Any]:
    """The entry of a model that these servers serve."""
    paths = [f"{url}?api_key=none&model=mock" for url in urls]
    return {"model_path": paths, "generate_cfg": {"max_tokens": 16}}


def run_failing(folder: Path, samples: int, latency_s: float, in_flight: int) -> None:
    """Measures and prints the run of which most servers are lost."""
    data = make_data(folder / "data", samples)
    addresses = folder / "addresses"
    addresses.mkdir()
    healthy_s = samples / (2 * ASKED_FIRST) / (in_flight / latency_s)  # half of all are answered
    with ExitStack() as stack:

        def add(name: str, *options: str) -> subprocess.Popen[str]:
            process = stack.enter_context(started(latency_s, *options))
            assert process.stdout is not None
            (addresses / name).write_text(f"http://127.0.0.1:{int(process.stdout.readline())}/v1")
            return process

        add("0other", "--other-model")
        first = add("1well")
        add("2well")
        add("3well")
        killed = [add("4killed"), add("5killed")]
        hanging = add("6hangs")
        add("7drains")

        def fail() -> None:
            port = (addresses / "1well").read_text().partition("127.0.0.1:")[2].partition("/")[0]
            while not requests_of(port):
                time.sleep(0.05)
            time.sleep(healthy_s)
            for process in killed:
                process.kill()
            hanging.send_signal(signal.SIGSTOP)
            (addresses / "7drains").unlink()
            add("8late")

        events = threading.Thread(target=fail)
        events.start()
        base = "http://127.0.0.1:1/v1?api_key=none&model=mock"
        entry = {
            "model_path": base,
            "servers": str(addresses),
            "generate_cfg": {"max_tokens": 16},
            "kwargs": {"timeout_s": 5 * latency_s},
        }
        measured = run(entry, data, folder, in_flight)
        events.join()
        assert first.poll() is None
        hanging.send_signal(signal.SIGCONT)
    ideal_s = healthy_s + samples / 2 / ASKED_LATER / (in_flight / latency_s)
    print(
        f"8 servers of which 4 are lost and 1 joins: wall {measured['wall_s']:.1f} s, "
        f"{measured['wall_s'] / ideal_s:.2f} of the ideal {ideal_s:.1f} s"
    )


def requests_of(port: str) -> int:
    """The number of requests that a mock server has received."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/stats") as response:
        return int(json.load(response)["requests"])


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--servers", type=int, nargs="+")
    parser.add_argument("--samples", type=int, help="for each server")
    parser.add_argument("--latency", type=float)
    parser.add_argument("--in-flight", type=int, help="at each server")
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--failing", action="store_true")
    options = parser.parse_args()
    if options.failing:
        with tempfile.TemporaryDirectory() as name:
            run_failing(
                Path(name), options.samples or 1600, options.latency or 0.4, options.in_flight or 8
            )
        return
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
                measured = run(entry_of(urls), data, folder, in_flight)
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
