"""The API engine against the yardsticks, in turn, in one run.

python -m tools.api_engine [--samples 400] [--per-picture 1] [--threads 64] [--rounds 5]
python -m tools.api_engine --latency 1 --samples 640     wall against samples x latency / threads
python -m tools.api_engine --page     whole processes: with scores and page, beside the plain loop

Prints medians, ratios and the raw numbers.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
DIFFERENT_PICTURES = 16  # drawn; the others are copies with a private chunk, so equal to no other
DATASET = "GUIElementGrounding"


def make_data(root: Path, pictures: int, per_picture: int) -> Path:
    """1920x1080 screens of 0.3 to 1 MB, with `per_picture` instructions on each."""
    from PIL import Image

    home = root / "MMBench-GUI"
    folder = home / "offline_images" / "os_web"
    folder.mkdir(parents=True)
    drawn = []
    for number in range(min(pictures, DIFFERENT_PICTURES)):
        screen = Image.new("RGB", (1920, 1080), (250, 250, 240))
        noisy = Image.effect_noise((400, 250 + 50 * number), 60).convert("RGB")
        screen.paste(noisy, (100, 50))
        path = folder / f"drawn{number}.png"
        screen.save(path)
        drawn.append(path.read_bytes())
        path.unlink()
    rows = []
    for number in range(pictures):
        name = f"pic{number:05}.png"
        (folder / name).write_bytes(_with_chunk(drawn[number % len(drawn)], number))
        for sample_index in range(per_picture):
            rows.append(
                {
                    "index": len(rows),
                    "image_path": name,
                    "platform": "os_web",
                    "app_name": "speed",
                    "instruction": f"Click on element {sample_index} of screen {number}.",
                    "bbox": [0.4, 0.4, 0.6, 0.6],
                    "image_size": [1920, 1080],
                    "data_type": "icon",
                    "grounding_type": "basic" if sample_index % 2 else "advanced",
                }
            )
    (home / "L2_annotations.json").write_text(json.dumps(rows))
    return root


def _with_chunk(png: bytes, number: int) -> bytes:
    """The picture with a text chunk before its end, so that every file has other bytes."""
    data = b"tEXtnumber\x00" + str(number).encode()
    chunk = (len(data) - 4).to_bytes(4, "big") + data + zlib.crc32(data).to_bytes(4, "big")
    return png[:-12] + chunk + png[-12:]


@contextmanager
def started(latency_s: float, *options: str) -> Iterator[subprocess.Popen[str]]:
    """The process of a mock server, which prints its port."""
    command = [sys.executable, "-m", "tools.mock_server", "--latency", str(latency_s), *options]
    process = subprocess.Popen(command, cwd=PROJECT, stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@contextmanager
def server(latency_s: float, *options: str) -> Iterator[str]:
    """The mock server's base URL."""
    with started(latency_s, *options) as process:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"


def run_yardstick(kind: str, url: str, jobs: Path, threads: int) -> dict[str, float]:
    """One yardstick in a process of its own."""
    command = [sys.executable, "-m", "tools.yardsticks", kind, url, str(jobs), str(threads)]
    result = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=True)
    measured: dict[str, float] = json.loads(result.stdout)
    return measured


def run_ours(
    url: str, data: Path, threads: int | str, folder: Path, mode: str = "infer"
) -> dict[str, float]:
    """`evaluate.py` as a user runs it; its log's end record has the inference part's cost."""
    config = folder / "config.json"
    entry = {
        "model_path": f"{url}?api_key=none&model=mock",
        "generate_cfg": {"max_tokens": 16, "temperature": 0},
    }
    config.write_text(json.dumps({"model": {"m": entry}, "data": {DATASET: {"mode": "all"}}}))
    work_dir = tempfile.mkdtemp(dir=folder)
    command = [
        sys.executable,
        "evaluate.py",
        "--config",
        str(config),
        "--work-dir",
        work_dir,
        "--api-nproc",
        str(threads),
        "--mode",
        mode,
    ]
    subprocess.run(
        command,
        cwd=PROJECT,
        env={**os.environ, "LMUData": str(data)},
        check=True,
        capture_output=True,
    )
    [log] = Path(work_dir).glob(f"m/T*/m_{DATASET}.jsonl")
    end = json.loads(log.read_text().splitlines()[-1])
    return {"wall_s": end["wall_s"], "cpu_s": end["cpu_s"]}


def _whole_process(run: Callable[[], object]) -> dict[str, float]:
    before, began_s = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    run()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"wall_s": time.monotonic() - began_s, "cpu_s": cpu_s}


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--samples", type=int, default=400)
    parser.add_argument("--per-picture", type=int, default=1)
    parser.add_argument("--threads", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--latency", type=float, default=0.0)
    parser.add_argument("--page", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = make_data(
            folder / "data", options.samples // options.per_picture, options.per_picture
        )
        rows = json.loads((data / "MMBench-GUI" / "L2_annotations.json").read_text())
        jobs = folder / "jobs.json"
        images = data / "MMBench-GUI" / "offline_images" / "os_web"
        jobs.write_text(
            json.dumps(
                [
                    {"image": str(images / row["image_path"]), "text": row["instruction"]}
                    for row in rows
                ]
            )
        )
        kinds = ["ours"] if options.latency else ["ours", "plain", "text", "bare"]
        if options.page:
            kinds = ["ours", "plain"]
        runs_by_kind: dict[str, list[dict[str, float]]] = {kind: [] for kind in kinds}
        for _ in range(options.rounds):
            for kind in kinds:
                with server(options.latency) as url:
                    if kind != "ours":
                        run = partial(run_yardstick, kind, url, jobs, options.threads)
                    else:
                        mode = "all" if options.page else "infer"
                        run = partial(run_ours, url, data, options.threads, folder, mode)
                    runs_by_kind[kind].append(_whole_process(run) if options.page else run())
        report(runs_by_kind, options)


def report(runs_by_kind: dict[str, list[dict[str, float]]], options: argparse.Namespace) -> None:
    """Medians, ratios, raw numbers."""
    print(
        f"{options.samples} samples, {options.per_picture} per image, {options.threads} in flight, "
        f"{options.rounds} rounds, medians"
    )
    median = {
        kind: {key: statistics.median(run[key] for run in runs) for key in ("wall_s", "cpu_s")}
        for kind, runs in runs_by_kind.items()
    }
    for kind, values in median.items():
        print(f"{kind:6} wall {values['wall_s']:.3f} s   CPU {values['cpu_s']:.3f} s")
    if options.latency:
        ideal = options.samples * options.latency / options.threads
        print(f"wall / (samples x latency / threads) = {median['ours']['wall_s'] / ideal:.3f}")
    else:
        for key in ("cpu_s", "wall_s"):
            ratio = statistics.median(
                own_run[key] / plain[key]
                for own_run, plain in zip(runs_by_kind["ours"], runs_by_kind["plain"], strict=True)
            )
            print(f"{key}: ours / plain = {ratio:.3f} (pair by pair)")
            if "text" in median:
                floor = median["text"][key] + median["bare"][key]
                print(f"{key}: ours / (text + bare) = {median['ours'][key] / floor:.3f}")
    print(json.dumps(runs_by_kind))


if __name__ == "__main__":
    main()
