"""Whether every scripted solution of the office solves its task: the first ones and all other ways.

    python -m tools.office_solutions --store [--seeds 0-4]
    python -m tools.office_solutions [--seeds 0-2] [--processes 2] [--tasks "mail_*"] [--ways other]

With `--store` they are played on the store, else with mouse and keyboard in a browser. What is
unsolved is named as it turns up: task, seed, number of the way (0: the first), and why. The summary
counts solutions by way; the exit status says whether all were solved.
"""

from __future__ import annotations

import argparse
import fnmatch
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.worlds.office.suite import open_world
from benchmarks.worlds.office.tasks import tasks
from tests.support.office_oracle import Oracle
from tests.support.office_store import StoreHand

PIECE = 12  # solutions that a process plays in one browser


class Result(NamedTuple):
    """One solution of one task, played."""

    task_id: str
    seed: int
    way: int  # 0: the first solution
    problems: list[str]  # what the check says, or what went wrong; none: solved

    def __str__(self) -> str:
        problems = " ".join("; ".join(self.problems).split())
        return f"{self.task_id}, seed {self.seed}, way {self.way}: {problems}"


def chosen(seeds: Sequence[int], pattern: str, ways: str) -> list[tuple[Any, int]]:
    """Tasks with the numbers of their solutions; `ways`: "first", "other" or "all"."""
    return [
        (task, way)
        for seed in seeds
        for level in ("L3", "L4")
        for task in tasks(level, [seed])
        if fnmatch.fnmatch(task["id"], pattern)
        for way in numbers(task, ways)
    ]


def numbers(task: Any, ways: str) -> range:
    """The numbers of the solutions of a task that are asked for."""
    if ways == "first":
        return range(1)
    first_number = 1 if ways == "other" else 0
    return range(first_number, 1 + len(task["ways"]))


def play_on_store(solutions: Sequence[tuple[Any, int]]) -> list[Result]:
    """Plays solutions as the applications' verbs would."""
    return [
        _result(task, way, lambda steps, task=task: StoreHand(task).play(steps))
        for task, way in solutions
    ]


def play_in_browser(solutions: Sequence[tuple[Any, int]]) -> list[Result]:
    """Plays solutions one after the other in one browser."""
    with tempfile.TemporaryDirectory() as shots:
        world = open_world(Path(shots))

        def play(task: Any, steps: Any) -> Any:
            world.reset(task)
            Oracle(world).play(steps)
            return world.evaluate()

        played = []
        try:
            for task, way in solutions:
                result = _result(task, way, lambda steps, task=task: play(task, steps))
                played.append(result)
                if result.problems:
                    world.close()  # its browser may have been killed
                    world = open_world(Path(shots))
            return played
        finally:
            world.close()


def _result(task: Any, way: int, play: Any) -> Result:
    steps = [task["oracle"], *task["ways"]][way]
    try:
        problems = [text for fits, text in play(steps).lines if not fits]
    except Exception as error:  # noqa: BLE001 - whatever stops a solution leaves it unsolved
        problems = [f"{type(error).__name__}: {error}"]
    return Result(task["id"], task["seed"], way, problems)


def results(solutions: Sequence[tuple[Any, int]], processes: int) -> Iterator[Result]:
    """Plays solutions in browsers of several processes; yields them as they are done."""
    pieces = [solutions[start : start + PIECE] for start in range(0, len(solutions), PIECE)]
    with ProcessPoolExecutor(processes) as pool:
        for played in as_completed([pool.submit(play_in_browser, piece) for piece in pieces]):
            yield from played.result()


def seed_range(text: str) -> range:
    """ "0-2" or "3" as seeds."""
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.office_solutions",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seeds", type=seed_range, default=range(1), help="one, or first-last")
    parser.add_argument("--tasks", default="*", help="their names, * for any text")
    parser.add_argument("--ways", choices=("first", "other", "all"), default="all")
    parser.add_argument("--store", action="store_true", help="on the store, not in a browser")
    parser.add_argument("--processes", type=int, default=2, help="browsers side by side")
    arguments = parser.parse_args()
    solutions = chosen(arguments.seeds, arguments.tasks, arguments.ways)
    begun = time.monotonic()
    if arguments.store:
        played: Iterator[Result] = iter(play_on_store(solutions))
    else:
        played = results(solutions, arguments.processes)
    solved: Counter[int] = Counter()
    unsolved: Counter[int] = Counter()
    for result in played:
        if result.problems:
            print(f"unsolved: {result}", flush=True)
            unsolved[result.way] += 1
        else:
            solved[result.way] += 1
    for way in sorted(solved | unsolved):
        name = "first solutions" if way == 0 else f"other way {way}"
        print(f"{name}: {solved[way]} solved, {unsolved[way]} unsolved")
    took_s = time.monotonic() - begun
    print(f"{solved.total()} of {len(solutions)} solved in {took_s:.0f} s")
    return int(unsolved.total() > 0)


if __name__ == "__main__":
    sys.exit(main())
