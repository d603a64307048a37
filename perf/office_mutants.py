"""Whether spoiled solutions of the office are refused when they are played in a browser.

    python -m perf.office_mutants [--seeds 0-2] [--every 8] [--processes 2] [--tasks "mail_*"]

Of the mutants of all tasks (`tests.support.mutants`) every nth is played with mouse and keyboard.
It counts those that the check refused, those that could not be played to their end (the application
refuses the step, or what it names is not there), and names those that passed. The exit status says
whether any passed whose solution was not spoiled in free text alone.
"""

from __future__ import annotations

import argparse
import fnmatch
import itertools
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.worlds.office.suite import open_world
from benchmarks.worlds.office.tasks import tasks
from perf.office_solutions import PIECE, seed_range
from tests.support.mutants import Steps, mutants_of
from tests.support.office_oracle import Oracle
from tests.support.office_store import StoreHand

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


def play(spoiled_solutions: Sequence[Mutant]) -> list[tuple[str, str]]:
    """Return name and outcome of mutants: "passed", "refused", "not played: <why>"."""
    with tempfile.TemporaryDirectory() as shots:
        world = open_world(Path(shots))
        try:
            return [(str(mutant), _outcome(world, mutant)) for mutant in spoiled_solutions]
        finally:
            world.close()


def _outcome(world: Any, mutant: Mutant) -> str:
    world.reset(mutant.task)
    try:
        Oracle(world).play(mutant.steps)
    except Exception as error:  # noqa: BLE001 - whatever stops it, the task is not solved by it
        return f"not played: {type(error).__name__}"
    return "passed" if world.evaluate().success else "refused"


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m perf.office_mutants",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seeds", type=seed_range, default=range(1), help="one, or first-last")
    parser.add_argument("--tasks", default="*", help="their names, * for any text")
    parser.add_argument("--every", type=int, default=8, help="only every nth mutant")
    parser.add_argument("--processes", type=int, default=2, help="browsers side by side")
    arguments = parser.parse_args()
    spoiled_solutions = chosen(arguments.seeds, arguments.tasks, arguments.every)
    pieces = [
        spoiled_solutions[start : start + PIECE]
        for start in range(0, len(spoiled_solutions), PIECE)
    ]
    begun_s = time.monotonic()
    outcomes: Counter[str] = Counter()
    serious = 0
    with ProcessPoolExecutor(arguments.processes) as pool:
        for played in as_completed([pool.submit(play, piece) for piece in pieces]):
            for name, outcome in played.result():
                outcomes[outcome] += 1
                if outcome == "passed":
                    serious += FREE_TEXT not in name
                    print(f"passed: {name}", flush=True)
    for outcome, count in outcomes.most_common():
        print(f"{outcome}: {count}")
    print(f"{len(spoiled_solutions)} mutants in {time.monotonic() - begun_s:.0f} s")
    return int(serious > 0)


if __name__ == "__main__":
    sys.exit(main())
