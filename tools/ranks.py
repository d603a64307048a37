"""One rank beside two of the same machine: how much faster, and what the group costs.

python -m tools.ranks [--rounds 3] [--samples 100] [--tokens 48]

A tiny checkpoint on the CPU, one thread per rank. The time is that of asking, as the run itself
says it ("took ... s"): from the first prompt until the last rank's answers are in; starting Python
and torch is not in it.
"""

from __future__ import annotations

import argparse
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.support import tiny_checkpoint
from tests.support.runs import PROJECT, environment, make_data, write_config


def one_run(home: Path, work_dir: Path, ranks: int) -> tuple[float, float, int]:
    """(seconds of asking, seconds in all, samples that ranks other than 0 asked)."""
    several = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}"]
    began_s = time.monotonic()
    ran = subprocess.run(
        [
            sys.executable,
            *(several if ranks > 1 else []),
            str(PROJECT / "evaluate.py"),
            "--config",
            str(home / "config.json"),
            "--work-dir",
            str(work_dir),
        ],
        cwd=home,
        env=environment(LMUData=str(home / "data")),
        capture_output=True,
        text=True,
        check=False,
    )
    total_s = time.monotonic() - began_s
    took = re.search(r"took ([\d.]+) s", ran.stdout)
    if ran.returncode or took is None:
        raise SystemExit(ran.stdout + ran.stderr)
    others = re.search(r"(\d+) by other ranks", ran.stderr)
    return float(took[1]), total_s, int(others[1]) if others else 0


def main() -> int:
    """Measures and prints."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--samples", type=int, default=100)
    parser.add_argument("--tokens", type=int, default=48)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        checkpoint = tiny_checkpoint.build("qwen2_5_vl", home / "checkpoint")
        make_data(home / "data", [("os_web", (448, 336))] * -(-options.samples // 5))
        entry = {
            "model_path": str(checkpoint),
            "imp_type": "transformers",
            "generate_cfg": {"max_new_tokens": options.tokens},
        }
        write_config(home / "config.json", model={"m": entry})
        ratios = []
        print("round  ranks  asking s  in all s  by the other rank")
        for number in range(options.rounds):
            seconds = {}
            for ranks in (1, 2):
                asking_s, total_s, others = one_run(home, home / f"{number}-{ranks}", ranks)
                seconds[ranks] = asking_s
                print(f"{number:5}  {ranks:5}  {asking_s:8.1f}  {total_s:8.1f}  {others:17}")
            ratios.append(seconds[1] / seconds[2])
        print(f"speed-up of asking: {statistics.median(ratios):.2f} (median of {len(ratios)})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
