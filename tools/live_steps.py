"""Measure the cost of a step in a world: its parts, CPU of all processes, memory.

    python -m tools.live_steps [--suite office|jupyterlab|desktop] [--rest] [--steps 60]
        [--worlds 1]
    python -m tools.live_steps --latency 1 [--episodes 8] [--worlds 1 2 4]

The agent is a script at latency 0: it opens applications in turn, scrolls, clicks and types; on the
desktop and in JupyterLab it works in one document. With `--rest` worlds make the next episode ready
between steps, as they do while a model is queried. With `--latency` the agent is a server with
this many seconds of latency. `evaluate.py` asks it in episodes of five steps in the office;
`--episodes` is their number in each world. An episode is timed from its first request to the first
request of the next episode in its world. The first episode of each world, which starts a browser,
is left out.
"""

from __future__ import annotations

import argparse
import itertools
import re
import statistics
import tempfile
import threading
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import psutil

from benchmarks.worlds.actions import Action
from benchmarks.worlds.desktop import suite as desktop_suite
from benchmarks.worlds.desktop.processes import cpu_seconds
from benchmarks.worlds.desktop.world import DesktopWorld
from benchmarks.worlds.jupyterlab import suite as lab_suite
from benchmarks.worlds.office import suite as office_suite
from tests.support.mock_server import MockServer, Reply, Request
from tests.support.runs import api_model
from tests.support.stage import Stage, end_of

OFFICE_SCRIPT = [
    *(Action("open_app", app=app) for app in ("mail", "files", "shop", "calendar")),
    Action("scroll", (0.5, 0.6)),
    Action("click", (0.4, 0.4)),
    Action("type", text="budget"),
    Action("key", keys=("escape",)),
    Action("back"),
]
DOCUMENT_SCRIPT = [
    Action("click", (0.4, 0.5)),
    Action("type", text="12\n"),
    Action("scroll", (0.5, 0.6)),
    Action("click", (0.3, 0.4)),
    Action("key", keys=("ctrl", "b")),
    Action("key", keys=("escape",)),
]


class Measured(NamedTuple):
    """A suite, the level whose first task is played, and what is done in it."""

    suite: Any
    level: str
    script: Sequence[Action]


SUITES = {
    "office": Measured(office_suite, "L4", OFFICE_SCRIPT),
    "jupyterlab": Measured(lab_suite, "L3", DOCUMENT_SCRIPT),
    "desktop": Measured(desktop_suite, "L3", DOCUMENT_SCRIPT),
}
REPLIES = [
    f"Action: {action}"
    for action in (
        'open_app("mail")',
        "click(0.4, 0.4)",
        'scroll(0.5, 0.6, "down", 3)',
        'open_app("files")',
        "done()",
    )
]


def play(
    measured: Measured, shots: Path, steps: int, took: dict[str, list[float]], *, rests: bool
) -> None:
    """Episodes of 15 steps, in a world of this thread."""
    world = measured.suite.open_world(shots)
    task, actions = measured.suite.tasks(measured.level, [0])[0], itertools.cycle(measured.script)
    for number in range(steps):
        begun = time.perf_counter()
        if number % 15 == 0:
            took["lost CPU"].append(_sandbox_cpu_s(world) if number else 0.0)
            begun = time.perf_counter()
            world.reset(task)
            took["reset"].append(time.perf_counter() - begun)
        begun = time.perf_counter()
        world.step(next(actions))
        took["step"].append(time.perf_counter() - begun)
        if rests:
            world.rest()
    took["memory"].append(sum(map(_memory, psutil.Process().children(recursive=True))))
    took["lost CPU"].append(_sandbox_cpu_s(world))
    world.close()


def _sandbox_cpu_s(world: Any) -> float:
    """Of a desktop that is about to be killed, which adds nothing to the times of its parent."""
    return cpu_seconds(world.session.pids()) if isinstance(world, DesktopWorld) else 0.0


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


def ask(latency_s: float, worlds: int, episodes: int) -> tuple[float, float]:
    """Seconds that an episode takes, and a whole run with so many of them in each world."""
    begun: list[float] = []

    def answer(request: Request) -> Reply:
        now_s = time.monotonic()
        step = 1 + len(re.findall(r"^Action: \w+\(", request.text, re.MULTILINE))
        if step == 1:
            begun.append(now_s)
        time.sleep(max(0.0, now_s + latency_s - time.monotonic()))
        return Reply(REPLIES[step - 1])

    data: dict[str, Any] = {"GUITaskCollaboration": {"tasks": ["office/*"], "max_steps": 5}}
    with MockServer(answer) as server, tempfile.TemporaryDirectory() as folder:
        stage = Stage(Path(folder), server, {"m": api_model(server.url)}, data)
        count = str(episodes * worlds)
        run_began = time.monotonic()
        code, output = end_of(stage.start("--limit", count, "--worlds", str(worlds)), 600)
        assert code == 0, output
    begun.sort()
    return (begun[-1] - begun[worlds - 1]) / (episodes - 1), time.monotonic() - run_began


def measure_engine(latency_s: float, worlds: list[int], episodes: int) -> None:
    """Prints a line for each number of worlds."""
    ideal_s, first = len(REPLIES) * latency_s, 0.0
    for count in worlds:
        each_s, run_s = ask(latency_s, count, episodes)
        a_minute = 60 * count / each_s
        first = first or a_minute
        print(f"{count} worlds: an episode {each_s:.2f} s, {each_s / ideal_s:.3f} of {ideal_s:g} s")
        print(f"  {a_minute:.1f} a minute, {a_minute / first:.2f} of the first line's")
        with_start = 60 * count * episodes / run_s
        print(f"  the whole run {run_s:.1f} s, {with_start:.1f} a minute", flush=True)


def main() -> None:
    """Measures what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--suite", choices=SUITES, default="office")
    parser.add_argument("--rest", action="store_true", help="make the next episode ready meanwhile")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--worlds", type=int, nargs="+")
    parser.add_argument("--latency", type=float, default=0.0)
    parser.add_argument("--episodes", type=int, default=8)
    options = parser.parse_args()
    if options.latency:
        measure_engine(options.latency, options.worlds or [1, 2, 4], options.episodes)
        return
    for count in options.worlds or [1]:
        measure_steps(SUITES[options.suite], options.steps, count, rests=options.rest)


def measure_steps(measured: Measured, count: int, worlds: int, *, rests: bool) -> None:
    """Prints one line for each thing that was measured."""
    took: dict[str, list[float]] = {"reset": [], "step": [], "memory": [], "lost CPU": []}
    before, begun = _cpu_s(), time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        one_world = partial(play, measured, Path(folder), count, took, rests=rests)
        threads = [threading.Thread(target=one_world) for _ in range(worlds)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    wall_s, steps = time.perf_counter() - begun, len(took["step"])
    for name in ("reset", "step"):
        times_ms = sorted(1000 * one for one in took[name])
        print(f"{name}: median {statistics.median(times_ms):.0f} ms, fastest {times_ms[0]:.0f} ms")
    cpu_s = _cpu_s() - before + sum(took["lost CPU"])
    print(f"CPU: {1000 * cpu_s / steps:.0f} ms a step, with starts and resets")
    print(f"memory: {max(took['memory']) / 2**20:.0f} MiB in {worlds} worlds")
    print(f"{60 * steps / 15 / wall_s:.1f} episodes of 15 steps a minute, with the start")


if __name__ == "__main__":
    main()
