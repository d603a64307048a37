"""The office as a suite: its tasks, and worlds to do them in."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.worlds.browser.browser import browser_problems
from benchmarks.worlds.office.server import PAGES
from benchmarks.worlds.office.tasks import names
from benchmarks.worlds.office.tasks import tasks as tasks_with_solutions
from benchmarks.worlds.office.world import APPS, OfficeWorld

__all__ = ["applications", "names", "open_world", "problems", "tasks", "world_data"]

problems = browser_problems
SOLUTIONS = ("oracle", "ways")
"""What a task says of how it can be done: no world gets it, no stored episode depends on it."""


def tasks(
    level: str, seeds: Sequence[int], names: Sequence[str] | None = None
) -> list[dict[str, Any]]:
    """Return the named tasks of a level, or all, each in a variant for every seed.

    Raises:
        UserError: a seed does not make one of them.
    """
    return [
        {key: value for key, value in task.items() if key not in SOLUTIONS}
        for task in tasks_with_solutions(level, seeds, names)
    ]


def applications(level: str) -> list[str]:  # noqa: ARG001 - the same for all
    """Return the names that `open_app` takes."""
    return list(APPS.values())


def world_data() -> dict[str, str]:
    """The pages, the store's tables and the words of the week: text by the name of its file."""
    folder = Path(__file__).parent
    files = [*sorted(PAGES.iterdir()), folder / "schema.sql", folder / "week.json"]
    return {file.name: file.read_text(encoding="utf-8") for file in files}


def open_world(shots: Path) -> OfficeWorld:
    """A new world, which saves its screenshots in the folder `shots`."""
    return OfficeWorld(shots)
