"""Whether spoiled solutions of the office are refused when they are played in a browser.

    python -m tools.office_mutants --store [--seeds 0-4] [--every 1] [--tasks "mail_*"]
    python -m tools.office_mutants [--seeds 0-2] [--every 8] [--processes 2] [--tasks "mail_*"]

Of the mutants of all tasks (`tests.support.mutants`) every nth is played with mouse and keyboard.
It counts by tier those that the check refused, those that could not be played to their end (the
application refuses the step, or what it names is not there), and names those that passed. With
`--store` they are played on the store. The exit status says whether any passed whose solution was
not spoiled in free text alone.
"""

from __future__ import annotations

import argparse
import fnmatch
import itertools
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.worlds.office.suite import open_world
from benchmarks.worlds.office.tasks import tasks
from tests.support.mutants import Steps, mutants_of
from tests.support.office_oracle import Oracle
from tests.support.office_store import StoreHand
from tools.office_solutions import PIECE, seed_range

FREE_TEXT = "mail.send: body"


class Mutant(NamedTuple):
    """A spoiled solution of a task."""

    task: Any
    spoiled: str
    steps: Steps

    def __str__(self) -> str:
        return f"{self.task['id']}, seed {self.task['seed']}: {self.spoiled}"


def chosen(seeds: Sequence[int], pattern: str, every: int) -> list[Mutant]:
    """Return every nth mutant of the tasks of that name."""
    all_mutants = (
        Mutant(task, spoiled, steps)
        for seed in seeds
        for level in ("L3", "L4")
        for task in tasks(level, [seed])
        if fnmatch.fnmatch(task["id"], pattern)
        for spoiled, steps in mutants_of(task, StoreHand(task).before)
    )
    return list(itertools.islice(all_mutants, 0, None, every))


class Result(NamedTuple):
    """A mutant, played."""

    name: str
    tier: str
    outcome: str  # "passed", "refused" or "not played: <why>"


def play_on_store(spoiled_solutions: Sequence[Mutant]) -> list[Result]:
    """Play mutants as the applications' verbs would."""

    def is_solved(mutant: Mutant) -> bool:
        return StoreHand(mutant.task).play(mutant.steps).success

    return [_result(mutant, is_solved) for mutant in spoiled_solutions]


def play_in_browser(spoiled_solutions: Sequence[Mutant]) -> list[Result]:
    """Play mutants one after the other in one browser."""
    with tempfile.TemporaryDirectory() as shots:
        world = open_world(Path(shots))

        def is_solved(mutant: Mutant) -> bool:
            world.reset(mutant.task)
            Oracle(world).play(mutant.steps)
            return world.evaluate().success

        try:
            return [_result(mutant, is_solved) for mutant in spoiled_solutions]
        finally:
            world.close()


def _result(mutant: Mutant, is_solved: Callable[[Mutant], bool]) -> Result:
    try:
        outcome = "passed" if is_solved(mutant) else "refused"
    except Exception as error:  # noqa: BLE001 - whatever stops it, the task is not solved by it
        outcome = f"not played: {type(error).__name__}"
    return Result(str(mutant), mutant.task["tier"], outcome)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.office_mutants",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seeds", type=seed_range, default=range(1), help="one, or first-last")
    parser.add_argument("--tasks", default="*", help="their names, * for any text")
    parser.add_argument("--every", type=int, default=8, help="only every nth mutant")
    parser.add_argument("--store", action="store_true", help="on the store, not in a browser")
    parser.add_argument("--processes", type=int, default=2, help="so many side by side")
    arguments = parser.parse_args()
    spoiled_solutions = chosen(arguments.seeds, arguments.tasks, arguments.every)
    pieces = [
        spoiled_solutions[start : start + PIECE]
        for start in range(0, len(spoiled_solutions), PIECE)
    ]
    begun_s = time.monotonic()
    play = play_on_store if arguments.store else play_in_browser
    counts: Counter[tuple[str, str]] = Counter()
    serious = 0
    with ProcessPoolExecutor(arguments.processes) as pool:
        for played in as_completed([pool.submit(play, piece) for piece in pieces]):
            for result in played.result():
                counts[result.tier, result.outcome] += 1
                if result.outcome == "passed":
                    serious += FREE_TEXT not in result.name
                    print(f"passed: {result.name}", flush=True)
    for (tier, outcome), count in sorted(counts.items()):
        print(f"{tier}, {outcome}: {count}")
    print(f"{len(spoiled_solutions)} mutants in {time.monotonic() - begun_s:.0f} s")
    return int(serious > 0)


if __name__ == "__main__":
    sys.exit(main())
