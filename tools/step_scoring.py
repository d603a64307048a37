"""Measure the cost of scoring recorded steps by one rule and by all ten, compared with L2.

python -m tools.step_scoring FILE [--rounds 3]

FILE is `android_control_test.jsonl` as MobileAgent publishes it, also with `.gz` behind it. All
8,444 rows are answered once by a class that clicks in the middle, and as many tiny questions of L2;
images are blank. Then `evaluate.py --mode eval --no-report` runs in turn. Prints CPU seconds and
peak memory of each process, and the ratios of the medians to L2.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.support.step_layout import USUAL_SIZE, Blanks
from tools.api_engine import DATASET, PROJECT
from tools.scale import make_data

SAMPLES = 8444
MODEL = """
class Middle:
    def generate(self, message, *, dataset_name, **settings):
        return "(0.5, 0.5)" if dataset_name.startswith("GUI") else "Action: click(0.5, 0.5)"
"""
STEPS = {"benchmark": "AndroidControl", "rows": "official", "level": "low"}
CONFIGS = {
    "L2": {DATASET: {"mode": "all"}},
    "one rule": {"Steps": {**STEPS, "rules": "headline"}},
    "all rules": {"Steps": {**STEPS, "rules": "all"}},
}


def lay_steps(file: Path, root: Path) -> None:
    """The published file and a blank screenshot for each of its steps."""
    content = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    folder = root / "AndroidControl"
    folder.mkdir(parents=True)
    (folder / "android_control_test.jsonl").write_bytes(content)
    blanks = Blanks()
    for line in content.splitlines():
        episode = json.loads(line)
        for number in range(len(episode["steps"])):
            blanks.lay(folder / "images" / f"{episode['episode_id']}_{number}.png", USUAL_SIZE)


def cpu_and_memory(name: str, home: Path, *options: str) -> tuple[float, float]:
    """CPU seconds and peak memory in MB of one process of `evaluate.py`."""
    config = home / f"{name}.json"
    model = {"m": {"imp_type": "custom", "model_path": "middle.Middle"}}
    config.write_text(json.dumps({"model": model, "data": CONFIGS[name]}))
    work_dir = home / ("L2" if name == "L2" else "steps")
    arguments = ["--config", str(config), "--work-dir", str(work_dir), "--no-report", *options]
    with subprocess.Popen(
        [sys.executable, "evaluate.py", *arguments],
        cwd=PROJECT,
        env={**os.environ, "LMUData": str(home / "data"), "PYTHONPATH": str(home)},
        stdout=subprocess.DEVNULL,
    ) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = status
    if status:
        raise SystemExit(f"evaluate.py --config {config} ended with {status}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1000


def main() -> None:
    """Lay out the data, answer it once, and measure its scoring."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        lay_steps(arguments.file, home / "data")
        make_data(home / "data", SAMPLES)
        (home / "middle.py").write_text(MODEL)
        for name in ("L2", "all rules"):
            cpu_and_memory(name, home)
        seconds: dict[str, list[float]] = {name: [] for name in CONFIGS}
        for _ in range(arguments.rounds):
            for name, measured in seconds.items():
                cpu_s, memory_mb = cpu_and_memory(name, home, "--mode", "eval")
                measured.append(cpu_s)
                print(f"{name:10} {cpu_s:6.2f} s CPU {memory_mb:6.0f} MB", flush=True)
    medians = {name: statistics.median(measured) for name, measured in seconds.items()}
    for name, median in medians.items():
        print(f"{name:10} {median / medians['L2']:.2f} of L2")


if __name__ == "__main__":
    main()
