"""How long the tasks of the office and of JupyterLab are, and how many dictate a text.

    python -m perf.office_lengths [--seed 0] [--each]

By level and tier: the gestures of the shortest scripted solutions (`tests.support.office_lengths`),
the applications, and how many goals name a literal to type: a text in quotation marks that the
first solution writes as it stands. `--each` lists the tasks.
"""

from __future__ import annotations

import argparse
import re
import statistics
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from benchmarks.worlds.jupyterlab import tasks as jupyterlab
from benchmarks.worlds.office import tasks as office
from tests.support.office_lengths import feasible_tasks, lengths
from utils.protocol import TIERS

QUOTED = re.compile(r"“([^”]+)”")


class Measured(NamedTuple):
    """What is counted of a task."""

    name: str
    level: str
    tier: str
    length: int  # gestures of the shortest solution
    app_count: int
    has_literal: bool


def measured(suite: Any, level: str, seed: int) -> Iterator[Measured]:
    """Yield the tasks of a level."""
    for task in feasible_tasks(suite, level, seed):
        literals = {text.rstrip(".,") for text in QUOTED.findall(task["goal"])}
        written = set(texts(task["oracle"]))
        yield Measured(
            task["id"],
            level,
            task["tier"],
            min(lengths(task)),
            len(task["apps"]),
            any(literal in written for literal in literals),
        )


def texts(value: Any) -> Iterator[str]:
    """Yield all texts of a solution, and the lines of those that have several."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from texts(item)
    else:
        yield str(value)
        yield from str(value).splitlines()


def summary(group: list[Measured]) -> str:
    """Return a line on some tasks."""
    counts = sorted(task.length for task in group)
    quarters = statistics.quantiles(counts, n=4) if len(counts) > 1 else counts * 3
    apps = Counter(task.app_count for task in group)
    spread = ", ".join(f"{count}: {apps[count]}" for count in sorted(apps))
    literal_count = sum(task.has_literal for task in group)
    return (
        f"{len(group)} tasks, gestures {counts[0]} to {counts[-1]}, quartiles "
        f"{', '.join(f'{quarter:g}' for quarter in quarters)}; applications {spread}; "
        f"{literal_count} name a literal to type"
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m perf.office_lengths",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--each", action="store_true", help="list the tasks")
    arguments = parser.parse_args()
    for name, suite in (("office", office), ("jupyterlab", jupyterlab)):
        for level in ("L3", "L4"):
            tasks = list(measured(suite, level, arguments.seed))
            for tier in TIERS:
                group = [task for task in tasks if task.tier == tier]
                if group:
                    print(f"{name} {level} {tier}: {summary(group)}", flush=True)
                for task in sorted(group, key=lambda task: task.length) if arguments.each else ():
                    literal = ", a literal" if task.has_literal else ""
                    print(f"    {task.length:3} {task.app_count} {task.name}{literal}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
