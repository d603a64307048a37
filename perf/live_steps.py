"""What a step in the office costs: its parts, CPU of all processes, memory.

    python -m perf.live_steps [--steps 60] [--worlds 1]

The agent is a script at latency 0: it opens applications in turn, scrolls, clicks and types.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import tempfile
import threading
import time
from pathlib import Path

import psutil

from benchmarks.worlds.actions import Action
from benchmarks.worlds.office import suite

SCRIPT = [
    *(Action("open_app", app=app) for app in ("mail", "files", "shop", "calendar")),
    Action("scroll", (0.5, 0.6)), Action("click", (0.4, 0.4)), Action("type", text="budget"),
    Action("key", keys=("escape",)), Action("back"),
]  # fmt: skip


def play(shots: Path, steps: int, took: dict[str, list[float]]) -> None:
    """Episodes of 15 steps, in a world of this thread."""
    world = suite.open_world(shots)
    task, actions = suite.tasks("L4", [0])[0], itertools.cycle(SCRIPT)
    for number in range(steps):
        begun = time.perf_counter()
        if number % 15 == 0:
            world.reset(task)
            took["reset"].append(time.perf_counter() - begun)
        begun = time.perf_counter()
        world.step(next(actions))
        took["step"].append(time.perf_counter() - begun)
    took["memory"].append(sum(map(_memory, psutil.Process().children(recursive=True))))
    world.close()


def _memory(process: psutil.Process) -> int:
    try:
        return int(process.memory_full_info().pss)
    except psutil.Error:
        return 0


def _cpu_s() -> float:
    """Of this process and its children; those that have ended are in their parents' times."""
    total = 0.0
    for process in [psutil.Process(), *psutil.Process().children(recursive=True)]:
        try:
            total += sum(process.cpu_times()[:4])
        except psutil.Error:
            continue
    return total


def main() -> None:
    """Prints one line for each thing that was measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--worlds", type=int, default=1)
    asked = parser.parse_args()
    took: dict[str, list[float]] = {"reset": [], "step": [], "memory": []}
    before, begun = _cpu_s(), time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        given = (Path(folder), asked.steps, took)
        threads = [threading.Thread(target=play, args=given) for _ in range(asked.worlds)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    wall_s, steps = time.perf_counter() - begun, len(took["step"])
    for name in ("reset", "step"):
        each = sorted(1000 * one for one in took[name])
        print(f"{name}: median {statistics.median(each):.0f} ms, fastest {each[0]:.0f} ms")
    print(f"CPU: {1000 * (_cpu_s() - before) / steps:.0f} ms a step, with starts and resets")
    print(f"memory: {max(took['memory']) / 2**20:.0f} MiB in {asked.worlds} worlds")
    print(f"{60 * steps / 15 / wall_s:.1f} episodes of 15 steps a minute, with the start")


if __name__ == "__main__":
    main()
