"""The office as a suite: its tasks, and worlds to do them in."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.worlds.office import tasks as office_tasks
from benchmarks.worlds.office.tasks.checks import check
from benchmarks.worlds.office.world import OfficeWorld
from benchmarks.worlds.pages.browser import browser_problems


def tasks(level: str, seeds: Sequence[int]) -> list[dict[str, Any]]:
    """The tasks of a level, each in a variant for every seed."""
    return office_tasks.tasks(level, seeds)


def open_world(shots: Path) -> OfficeWorld:
    """A new world, which saves its screenshots in the folder `shots`."""
    return OfficeWorld(shots, check)


def problems() -> list[str]:
    """What is missing on this machine, one line each with what to do."""
    return browser_problems()
