"""Measure the cost of a report: 7,000 samples on 1,200 pictures of 1920x1080.

python -m tools.report [--samples 7000] [--pictures 1200] [--rounds 3] [--keep FOLDER]

Prints the seconds of a first build (every view image is made), of a second one (all are in the
cache), from opening the page in headless Chromium to the moment one can work with it, and peak
memory with 1,000 and 50,000 samples on tiny pictures.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tests.support.report_runs import (
    L2,
    analysis_of_l2,
    make_pictures,
    many_samples,
    write_analysis,
    write_samples,
)
from tools.api_engine import PROJECT
from utils.pages.report import build_report

SCREENS = PROJECT / "sample_data" / "MMBench-GUI" / "offline_images"
FULL_HD = (1920, 1080)
PLATFORMS = ("os_windows", "os_mac", "os_linux", "os_web")


def make_screens(root: Path, count: int) -> list[str]:
    """Screenshots of 1920x1080, each with a content of its own; paths below `root`."""
    names = [f"{PLATFORMS[n % len(PLATFORMS)]}/screen{n:05}.png" for n in range(count)]
    with ProcessPoolExecutor() as pool:
        list(pool.map(_make_screen, [root] * count, names, range(count), chunksize=20))
    return names


def _make_screen(root: Path, name: str, number: int) -> None:
    from PIL import Image

    sources = sorted(p for p in SCREENS.rglob("*.png") if Image.open(p).size == FULL_HD)
    rng = random.Random(number)
    with Image.open(sources[number % len(sources)]) as opened:
        picture = opened.convert("RGB")
    with Image.open(sources[rng.randrange(len(sources))]) as other:  # a window of another screen
        x, top = rng.randrange(900), rng.randrange(500)
        window = other.convert("RGB").crop((x, top, x + 900, top + 500))
    picture.paste(window, (rng.randrange(1000), rng.randrange(560)))
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    picture.save(root / name, compress_level=1)


@contextlib.contextmanager
def open_browser() -> Iterator[object]:
    """Headless Chromium."""
    from playwright.sync_api import sync_playwright

    flags = ["--no-sandbox", "--disable-gpu", "--disable-quic"]
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path="/usr/bin/chromium", args=flags)
        yield browser
        browser.close()


def seconds_to_interactive(page_path: Path, browser: object) -> tuple[float, float]:
    """Until the overview stands, and until the gallery's first cards do, each in a new tab."""
    times = []
    for address, ready in (("#/overview", "h2"), ("#/samples", ".card")):
        context = browser.new_context(viewport={"width": 1280, "height": 900})  # type: ignore[attr-defined]
        page = context.new_page()
        began_s = time.monotonic()
        page.goto(page_path.as_uri() + address)
        page.wait_for_function("() => document.documentElement.dataset.ready")
        page.wait_for_selector(ready)
        times.append(time.monotonic() - began_s)
        context.close()
    return times[0], times[1]


def peak_mb(samples: int) -> float:
    """Peak memory of a process that builds a report of so many samples on tiny pictures."""
    command = [sys.executable, "-m", "tools.report", "--memory", str(samples)]
    process = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=True)
    return float(process.stdout)


def build_tiny(samples: int) -> None:
    """Builds a report of many samples on 500 tiny pictures and prints its process's peak in MB."""
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        images = [f"os_web/p{number}.png" for number in range(500)]
        make_pictures(home / "images", images, (32, 32))
        write_samples(home / "m" / "run", L2, many_samples(samples, images, wh=(32, 32)))
        build_report(home / "m" / "run", image_root=home / "images", cache=home / ".views")
    # Not ru_maxrss: a child inherits its parent's.
    status = Path("/proc/self/status").read_text()
    print(int(status.partition("VmHWM:")[2].split()[0]) / 1024)


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--samples", type=int, default=7000)
    parser.add_argument("--pictures", type=int, default=1200)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--keep", type=Path, help="build here and leave it, to look at")
    parser.add_argument("--memory", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.memory:
        build_tiny(options.memory)
        return
    home = options.keep or Path(tempfile.mkdtemp())
    try:
        images = make_screens(home / "images", options.pictures)
        run = home / "out" / "m" / "T20260101_Gperf"
        write_samples(run, L2, many_samples(options.samples, images, wh=FULL_HD))
        write_analysis(run, L2, analysis_of_l2())
        builds: dict[str, list[tuple[float, float]]] = {
            "first build": [],
            "build from the cache": [],
        }
        for _ in range(options.rounds):
            shutil.rmtree(home / "cache", ignore_errors=True)
            for name in builds:
                began_s, cpu_s = time.monotonic(), time.process_time()
                page = build_report(run, image_root=home / "images", cache=home / "cache")
                builds[name].append((time.monotonic() - began_s, time.process_time() - cpu_s))
        for name, times in builds.items():
            wall_s, cpu_s = (statistics.median(values) for values in zip(*times, strict=True))
            print(f"{name}: {wall_s:.1f} s, {cpu_s:.1f} s of CPU  {times}", flush=True)
        with open_browser() as browser:
            opened = [seconds_to_interactive(page, browser) for _ in range(options.rounds)]
        for name, times in zip(("overview", "samples"), zip(*opened, strict=True), strict=True):
            print(f"interactive, {name}: {statistics.median(times):.2f} s  {times}", flush=True)
    finally:
        if options.keep is None:
            shutil.rmtree(home)
    few, many = peak_mb(1000), peak_mb(50_000)
    print(f"peak memory: 1,000 samples {few:.0f} MB, 50,000 samples {many:.0f} MB")


if __name__ == "__main__":
    main()
