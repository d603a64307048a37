"""The office as a suite: its tasks, and worlds to do them in."""

from __future__ import annotations

from pathlib import Path

from benchmarks.worlds.office.tasks import tasks
from benchmarks.worlds.office.tasks.checks import check
from benchmarks.worlds.office.world import OfficeWorld
from benchmarks.worlds.pages.browser import browser_problems

__all__ = ["open_world", "problems", "tasks"]

problems = browser_problems


def open_world(shots: Path) -> OfficeWorld:
    """A new world, which saves its screenshots in the folder `shots`."""
    return OfficeWorld(shots, check)
