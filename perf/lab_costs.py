"""What JupyterLab costs beside the office, and whether two runs of it show the same.

    python -m perf.lab_costs [--every 6] [--seed 0] [--pictures]

Plays the first solution of every nth task of the office and of JupyterLab, alone (L3) and in the
office (L4), and prints the medians of resets and of steps, with what the machine did besides. With
`--pictures` those of JupyterLab are played twice, and steps whose screenshots differ are named.
"""

from __future__ import annotations

import argparse
import itertools
import os
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil

from benchmarks.worlds.actions import Action, Observation
from benchmarks.worlds.jupyterlab import suite as lab_suite
from benchmarks.worlds.jupyterlab.tasks import tasks as lab_tasks
from benchmarks.worlds.office import suite as office_suite
from benchmarks.worlds.office.tasks import tasks as office_tasks
from tests.support.lab_oracle import LabOracle
from tests.support.office_oracle import Oracle

KINDS: dict[str, tuple[Any, Any, str, Any]] = {
    "office, L3": (office_suite, office_tasks, "L3", Oracle),
    "office, L4": (office_suite, office_tasks, "L4", Oracle),
    "jupyterlab, L3": (lab_suite, lab_tasks, "L3", LabOracle),
    "jupyterlab, L4": (lab_suite, lab_tasks, "L4", LabOracle),
}


class Watched:
    """A world whose resets and steps are timed, and whose screenshots are kept by name."""

    def __init__(self, world: Any) -> None:
        self.world = world
        self.resets_s: list[float] = []
        self.steps_s: list[float] = []
        self.pictures: list[tuple[str, str]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.world, name)

    def reset(self, task: Any) -> Observation:
        begun_s = time.perf_counter()
        observation: Observation = self.world.reset(task)
        self.resets_s.append(time.perf_counter() - begun_s)
        self.pictures = [("reset", observation.image.stem)]
        return observation

    def step(self, action: Action) -> Observation:
        begun_s = time.perf_counter()
        observation: Observation = self.world.step(action)
        self.steps_s.append(time.perf_counter() - begun_s)
        self.pictures.append((str(action), observation.image.stem))
        return observation


def played(world: Watched, task: Any, oracle: Any) -> list[tuple[str, str]]:
    """Return actions and names of screenshots of a task's first solution."""
    world.reset(task)
    oracle(world).play(task["oracle"])
    assert world.evaluate().success, task["id"]
    return world.pictures


def differences(runs: list[list[tuple[str, str]]]) -> Iterator[str]:
    """Yield the actions after which two runs show another picture."""
    for one, other in itertools.zip_longest(*runs):
        if one != other:
            yield str((one or other)[0])


def _summary(times_s: list[float]) -> str:
    return f"median {statistics.median(times_s):.2f} s of {len(times_s)} for"


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m perf.lab_costs",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--every", type=int, default=6, help="only every nth task")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--pictures", action="store_true")
    arguments = parser.parse_args()
    for name, (suite, tasks, level, oracle) in KINDS.items():
        is_lab = suite is lab_suite
        if arguments.pictures and not is_lab:
            continue
        with tempfile.TemporaryDirectory() as folder:
            world = Watched(suite.open_world(Path(folder)))
            steps, differing = 0, 0
            try:
                for task in tasks(level, [arguments.seed])[:: arguments.every]:
                    runs = [played(world, task, oracle) for _ in range(1 + arguments.pictures)]
                    steps += len(runs[0])
                    if arguments.pictures:
                        for action in differences(runs):
                            differing += 1
                            print(f"{task['id']}: another picture after {action}", flush=True)
                memory = psutil.Process(world.lab.pid).memory_info().rss if is_lab else 0
            finally:
                world.close()
        print(
            f"{name}: {_summary(world.resets_s)} resets, {_summary(world.steps_s)} steps, "
            f"load {os.getloadavg()[0]:.0f}"
        )
        if is_lab:
            print(f"  the server takes {memory / 2**20:.0f} MiB")
        if arguments.pictures:
            print(f"  {steps} screenshots, twice: {differing} differ ({differing / steps:.1%})")


if __name__ == "__main__":
    main()
