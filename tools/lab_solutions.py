"""Whether every scripted solution of JupyterLab's tasks solves its task, in a browser.

    python -m tools.lab_solutions [--seeds 0-2] [--tasks "file_*"] [--ways first]

What is unsolved is named as it turns up: task, seed, number of the way (0: the first), and why. The
exit status says whether all were solved.
"""

from __future__ import annotations

import argparse
import fnmatch
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.worlds.jupyterlab.suite import open_world
from benchmarks.worlds.jupyterlab.tasks import tasks
from tests.support.lab_oracle import LabOracle
from tools.office_solutions import numbers, seed_range


def problems_of(world: Any, task: Any, way: int) -> list[str]:
    """Play a solution; return the checks that fail, or the exception that ends it."""
    steps = [task["oracle"], *task["ways"]][way]
    try:
        world.reset(task)
        LabOracle(world).play(steps)
        return [text for fits, text in world.evaluate().lines if not fits]
    except Exception as error:  # noqa: BLE001 - whatever stops a solution leaves it unsolved
        return [f"{type(error).__name__}: {error}"]


def chosen(
    seeds: Sequence[int], pattern: str, ways: str, levels: Sequence[str] = ("L3", "L4")
) -> list[tuple[Any, int]]:
    """Return tasks with the numbers of their solutions."""
    return [
        (task, way)
        for seed in seeds
        for level in levels
        for task in tasks(level, [seed])
        if fnmatch.fnmatch(task["id"], pattern)
        for way in numbers(task, ways)
    ]


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.lab_solutions",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seeds", type=seed_range, default=range(1), help="one, or first-last")
    parser.add_argument("--tasks", default="*", help="their names, * for any text")
    parser.add_argument("--levels", nargs="+", default=["L3", "L4"])
    parser.add_argument("--ways", choices=("first", "other", "all"), default="all")
    parser.add_argument("--shots", help="a folder that keeps the screenshots")
    arguments = parser.parse_args()
    solutions = chosen(arguments.seeds, arguments.tasks, arguments.ways, arguments.levels)
    begun_s = time.monotonic()
    unsolved = 0
    with tempfile.TemporaryDirectory() as folder:
        world = open_world(Path(folder))
        try:
            for task, way in solutions:
                problems = problems_of(world, task, way)
                if problems:
                    unsolved += 1
                    name = f"{task['id']}, seed {task['seed']}, way {way}"
                    print(f"unsolved: {name}: {'; '.join(problems)}", flush=True)
                    if arguments.shots:
                        shot = Path(arguments.shots) / f"{task['id']}-{way}.png"
                        shot.write_bytes(world.tab.screenshot())
                    world.close()  # its browser may have been killed
                    world = open_world(Path(folder))
        finally:
            world.close()
    took_s = time.monotonic() - begun_s
    print(f"{len(solutions) - unsolved} of {len(solutions)} solved in {took_s:.0f} s")
    return int(unsolved > 0)


if __name__ == "__main__":
    sys.exit(main())
