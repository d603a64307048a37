"""Tasks of the office, or of JupyterLab, as tests take them: made once in a process."""

from __future__ import annotations

import functools
from typing import Any

from benchmarks.worlds.office import tasks as office
from benchmarks.worlds.office.store import Row

LEVELS = ("L3", "L4")


@functools.cache
def tasks_of(level: str, seed: int = 0, suite: Any = office) -> tuple[Row, ...]:
    """All tasks of a level under a seed, with their solutions; to be read, not changed."""
    return tuple(suite.tasks(level, [seed]))


def task_named(name: str, seed: int = 0) -> Row:
    """One task, whichever level it is of."""
    return next(task for level in LEVELS for task in tasks_of(level, seed) if task["id"] == name)
