"""Whether the same actions always come to the same, whatever else the machine does.

    python -m tools.live_races typed [--runs 20]
    python -m tools.live_races pictures [--suite office|desktop] [--seed 0] [--every 1]
        [--episodes 40] [--busy] [--shots FOLDER]

`typed` plays solutions that type several lines at once, each so many times while one core is kept
busy, and compares the stores in which they end: cells below each other, messages, to-dos and texts
of all tasks that write more than one. `pictures` plays the solutions of all tasks (or of every
nth) twice and compares the screenshots of all steps; of the desktop's, so many right ways, each
while the next desktop is made ready as in a run. `--busy` keeps one core busy; the screenshots stay
in the folder `--shots`.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import multiprocessing
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.worlds.actions import Action, Observation
from benchmarks.worlds.desktop import suite as desktop_suite
from benchmarks.worlds.desktop.tasks import tasks as desktop_tasks
from benchmarks.worlds.desktop.world import DesktopWorld
from benchmarks.worlds.office import suite
from benchmarks.worlds.office.tasks import tasks
from benchmarks.worlds.office.world import OfficeWorld
from tests.support.desktop_play import Player
from tests.support.office_oracle import Oracle

Step = Sequence[Any]
CELL = re.compile(r"([A-J])(\d+)")


# -- solutions that type several lines ------------------------------------------------------------


class LineTypist(Oracle):
    """Plays solutions, and knows steps that type several values with Enter between them."""

    def _sheets_lines(self, sheet: str, cell: str, values: list[str]) -> None:
        self._click("sheets.tab", sheet)
        self._search("sheets.jump", cell)
        self._type("".join(f"{value}\n" for value in values))

    def _chat_lines(self, channel: str, texts: list[str]) -> None:
        self._chat_read(channel)
        self._click("chat.text")
        self._type("".join(f"{text}\n" for text in texts))

    def _todo_lines(self, titles: list[str]) -> None:
        self._click("todo.list", "Personal")
        self._click("todo.quick")
        self._type("".join(f"{title}\n" for title in titles))


def _is_below(step: Step, before: Step) -> bool:
    """Whether a step writes into the cell below the one before."""
    if step[0] != before[0] or step[0] != "sheets.set" or step[1] != before[1]:
        return False
    match, match_before = CELL.fullmatch(step[2]), CELL.fullmatch(before[2])
    if match is None or match_before is None:
        return False
    return (match[1], int(match[2])) == (match_before[1], int(match_before[2]) + 1)


def joined_lines(steps: Sequence[Step]) -> list[list[Any]]:
    """Return steps in which runs of cells and of messages of one channel are typed at once."""
    joined: list[list[Any]] = []
    before: Step = ("", "", "")
    for step in steps:
        if _is_below(step, before):
            if joined[-1][0] == "sheets.set":
                joined[-1] = ["sheets.lines", *before[1:3], [before[3]]]
            joined[-1][3].append(step[3])
        elif step[0] == before[0] == "chat.post" and step[1] == before[1]:
            if joined[-1][0] == "chat.post":
                joined[-1] = ["chat.lines", before[1], [before[2]]]
            joined[-1][2].append(step[2])
        else:
            joined.append(list(step))
        before = step
    return joined


def _types_lines(step: Step) -> bool:
    return step[0] in TYPED_AT_ONCE or "\\n" in json.dumps(step)


TYPED_AT_ONCE = ("sheets.lines", "chat.lines", "todo.lines", "sheets.column")
MADE: dict[str, list[list[Any]]] = {
    "twelve cells": [["sheets.lines", "Expenses", "I1", [f"v{n}" for n in range(1, 13)]]],
    "numbers and a formula": [["sheets.lines", "Expenses", "I2", ["2380", "990", "=I2+I3"]]],
    "five messages": [["chat.lines", "#general", ["one", "two", "three", "four", "five"]]],
    "three to-dos": [["todo.lines", ["one", "two", "three"]]],
}
"""Before those of the tasks."""


def typed_solutions(seed: int) -> dict[str, tuple[dict[str, Any], list[list[Any]]]]:
    """Return task and steps, by name, of all solutions that press Enter within a text."""
    some_task = tasks("L4", [seed])[0]
    chosen = {name: (some_task, [*steps, ["done"]]) for name, steps in MADE.items()}
    for task in [*tasks("L3", [seed]), *tasks("L4", [seed])]:
        for way, solution in enumerate([task["oracle"], *task["ways"]]):
            steps = joined_lines(solution)
            if any(map(_types_lines, steps)):
                chosen[f"{task['id']}, way {way}"] = (task, steps)
    return chosen


# -- playing them ---------------------------------------------------------------------------------


def _burn() -> None:
    while True:
        pass


@contextlib.contextmanager
def busy_core() -> Iterator[None]:
    """Keeps one core busy."""
    process = multiprocessing.Process(target=_burn, daemon=True)
    process.start()
    try:
        yield
    finally:
        process.terminate()
        process.join()


def end_states(world: OfficeWorld, seed: int, runs: int, every: int) -> None:
    """Prints for each solution how many end states it has had."""
    differing = 0
    solutions = dict([*typed_solutions(seed).items()][::every])
    for name, (task, steps) in solutions.items():
        begun_s = time.monotonic()
        states, fails = set(), set()
        for _ in range(runs):
            world.reset(task)
            LineTypist(world).play(steps)
            states.add(json.dumps(world.dump(), sort_keys=True, default=str))
            fails.update(text for fits, text in world.evaluate().lines if not fits)
        differing += len(states) > 1
        is_task = name not in MADE
        note = f"  {len(fails)} checks failed" if is_task and fails else ""
        took_s = time.monotonic() - begun_s
        print(
            f"{name:34} {runs} runs, end states: {len(states)}  ({took_s:.0f} s){note}", flush=True
        )
    print(f"{len(solutions)} solutions, {runs} runs each: {differing} with more than one end state")


class _Watched(Oracle):
    """Notes what each step shows."""

    def __init__(self, world: OfficeWorld, pictures: list[tuple[str, str]]) -> None:
        super().__init__(world)
        self._pictures = pictures

    def _act(self, action: Action) -> None:
        self.actions.append(action)
        observation: Observation = self.world.step(action)
        self._pictures.append((str(action), observation.image.stem))


class _Resting(Player):
    """Has the next desktop be made ready before each action, as a run does."""

    def act(self, action: Action) -> None:
        self.world.rest()
        super().act(action)


Episode = tuple[str, Callable[[], list[tuple[str, str]]]]


def office_episodes(world: OfficeWorld, seed: int) -> list[Episode]:
    """Return the solutions of all tasks: a name, and what plays it once."""

    def play(task: dict[str, Any]) -> list[tuple[str, str]]:
        pictures = [("begin", world.reset(task).image.stem)]
        _Watched(world, pictures).play(task["oracle"])
        return pictures

    chosen = [*tasks("L3", [seed]), *tasks("L4", [seed])]
    return [(f"{task['id']} ({task['look']})", partial(play, task)) for task in chosen]


def desktop_episodes(world: DesktopWorld, seed: int) -> list[Episode]:
    """Return the right ways of all tasks: the first ones, then the others."""

    def play(task: dict[str, Any], steps: Sequence[Step]) -> list[tuple[str, str]]:
        pictures = [("begin", world.reset(task).image.stem)]
        player = _Resting(world)
        player.play(steps)
        return [*pictures, *zip(map(str, player.actions), player.images, strict=True)]

    chosen = [*desktop_tasks("L3", [seed]), *desktop_tasks("L4", [seed])]
    return [
        (f"{task['id']}, way {way}", partial(play, task, task["ways"][way]))
        for way in range(2)
        for task in chosen
    ]


def same_pictures(episodes: Sequence[Episode]) -> None:
    """Prints how many steps of two runs over the episodes show another picture."""
    steps, differing = 0, 0
    for number, (name, play) in enumerate(episodes, 1):
        first, second = play(), play()
        steps += len(first)
        for one, other in itertools.zip_longest(first, second):
            if one != other:
                differing += 1
                print(f"{name}: {one} and {other}")
        summary = f"{number} episodes, {steps} steps, twice: {differing} with another picture"
        print(summary, flush=True)


EPISODES = {"office": office_episodes, "desktop": desktop_episodes}
SUITES = {"office": suite, "desktop": desktop_suite}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["typed", "pictures"])
    parser.add_argument("--suite", choices=SUITES, default="office")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--every", type=int, default=1, help="only every nth task or solution")
    parser.add_argument("--episodes", type=int, help="only so many of them")
    parser.add_argument("--busy", action="store_true", help="keep one core busy")
    parser.add_argument("--shots", type=Path)
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        shots = options.shots or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        shots.mkdir(parents=True, exist_ok=True)
        world = SUITES[options.suite].open_world(shots)
        stack.callback(world.close)
        if options.busy or options.what == "typed":
            stack.enter_context(busy_core())
        if options.what == "typed":
            end_states(world, options.seed, options.runs, options.every)
        else:
            episodes = EPISODES[options.suite](world, options.seed)
            same_pictures(episodes[:: options.every][: options.episodes])


if __name__ == "__main__":
    main()
