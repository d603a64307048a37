"""Whether spoiled solutions of JupyterLab's tasks are refused when they are played in a browser.

    python -m tools.lab_mutants [--seeds 0] [--every 8] [--tasks "cell_*"]

Of the first solutions, spoiled in one place (what is typed, saving left out, another file or cell,
something else done besides, another end), every nth is played with mouse and keyboard. It counts
those that the check refused and those that could not be played to their end, and names those that
passed; the exit status says whether any did.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.worlds.jupyterlab.suite import open_world
from tests.support.lab_oracle import LabOracle
from tools.lab_solutions import chosen
from tools.office_solutions import seed_range

Steps = list[list[Any]]
EXTRA: Steps = [
    ["file.menu", "data", "Duplicate"],
    ["menu", "Settings", "Theme", "JupyterLab Dark High Contrast"],
    ["menu", "Settings", "Auto Close Brackets"],
]


def spoiled(steps: Steps) -> Iterator[tuple[str, Steps]]:
    """Yield what was spoiled, and the steps; all of them must fail."""
    for number, (verb, *arguments) in enumerate(steps):
        others = [
            (f"{verb} {arguments} is {other}", [[verb, *other]])
            for other in _others(verb, arguments)
        ]
        if _saves(verb, arguments):
            others.append(("not saved", []))
        for what, instead in others:
            yield what, [*steps[:number], *instead, *steps[number + 1 :]]
    for extra in EXTRA:
        yield f"and {extra}", [*steps[:-1], extra, steps[-1]]
    yield "another end", [*steps[:-1], ["done" if steps[-1][0] == "fail" else "fail"]]
    yield "nothing but the end", [["done"]]
    yield "no end", steps[:-1]


def _saves(verb: str, arguments: list[Any]) -> bool:
    return arguments[:1] == ["ctrl+s"] or (verb == "menu" and arguments[1].startswith("Save"))


def _others(verb: str, arguments: list[Any]) -> Iterator[list[Any]]:
    """Yield other arguments of a step."""
    match verb, *arguments:
        case (("type" | "answer"), text):
            letters = [position for position, letter in enumerate(text) if letter.isalnum()]
            position = letters[-1]
            other = "7" if text[position] != "7" else "3"
            yield [text[:position] + other + text[position + 1 :]]
        case "cell", number:
            yield [number - 1 if number > 1 else 2]
        case "keys", "d":
            yield ["x"]
        case "click.line", int(number):
            yield [number + 1]


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.lab_mutants",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seeds", type=seed_range, default=range(1), help="one, or first-last")
    parser.add_argument("--tasks", default="*", help="their names, * for any text")
    parser.add_argument("--every", type=int, default=8, help="only every nth mutant")
    arguments = parser.parse_args()
    every = (
        (task, what, steps)
        for task, _ in chosen(arguments.seeds, arguments.tasks, "first")
        for what, steps in spoiled(task["oracle"])
    )
    outcomes: Counter[str] = Counter()
    begun_s = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        world = open_world(Path(folder))
        try:
            for task, what, steps in itertools.islice(every, 0, None, arguments.every):
                outcome = _outcome(world, task, steps)
                outcomes[outcome] += 1
                if outcome == "passed":
                    print(f"passed: {task['id']}, seed {task['seed']}: {what}", flush=True)
        finally:
            world.close()
    for outcome, count in outcomes.most_common():
        print(f"{outcome}: {count}")
    print(f"{outcomes.total()} mutants in {time.monotonic() - begun_s:.0f} s")
    return int(outcomes["passed"] > 0)


def _outcome(world: Any, task: Any, steps: Steps) -> str:
    try:
        world.reset(task)
        LabOracle(world).play(steps)
    except LookupError as error:
        return f"not played: {type(error).__name__}"
    return "passed" if world.evaluate().success else "refused"


if __name__ == "__main__":
    sys.exit(main())
