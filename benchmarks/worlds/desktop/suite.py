"""The desktop as a suite: its tasks, and worlds to do them in."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.worlds.desktop.apps import APPLICATIONS
from benchmarks.worlds.desktop.looks import look_of
from benchmarks.worlds.desktop.root import list_digest, problems, template_digest
from benchmarks.worlds.desktop.tasks import names
from benchmarks.worlds.desktop.tasks import tasks as tasks_with_solutions
from benchmarks.worlds.desktop.world import DesktopWorld

__all__ = ["applications", "names", "open_world", "problems", "tasks", "world_data"]

SOLUTIONS = ("ways", "wrong_ways")
"""What a task says of how it can be done: no world gets it, no stored episode depends on it."""


def tasks(
    level: str, seeds: Sequence[int], names: Sequence[str] | None = None
) -> list[dict[str, Any]]:
    """Return the named tasks of a level, or all, each in a variant for every seed."""
    return [
        {
            **{key: value for key, value in task.items() if key not in SOLUTIONS},
            "look": look_of(task["seed"]),
        }
        for task in tasks_with_solutions(level, seeds, names)
    ]


def applications(level: str) -> list[str]:  # noqa: ARG001 - the same for both
    """Return the names that `open_app` takes."""
    return [app.title for app in APPLICATIONS.values()]


def world_data() -> list[str]:
    """The digests of the packages and of the initial home; they decide besides the code."""
    return [list_digest(), template_digest()]


def open_world(shots: Path) -> DesktopWorld:
    """A new world, which saves its screenshots in the folder `shots`."""
    return DesktopWorld(shots)
