"""JupyterLab as a suite: its tasks, and worlds to do them in."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks.worlds.browser.browser import browser_problems
from benchmarks.worlds.jupyterlab.lab import SERVER, SETTINGS, lab_problems
from benchmarks.worlds.jupyterlab.tasks import names
from benchmarks.worlds.jupyterlab.tasks import tasks as tasks_with_solutions
from benchmarks.worlds.jupyterlab.world import LabWorld
from benchmarks.worlds.office.suite import SOLUTIONS
from benchmarks.worlds.office.suite import world_data as office_data

__all__ = ["applications", "names", "open_world", "problems", "tasks", "world_data"]


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


def applications(level: str) -> list[str]:
    """Return the names that `open_app` takes: none where JupyterLab is alone."""
    return list(LabWorld.apps.values()) if level == "L4" else []


def world_data() -> list[str]:
    """The releases that are shown, the server's own code, its settings, and the office's data."""
    releases = []
    for package in ("jupyterlab", "jupyter_server"):
        try:
            releases.append(version(package))
        except PackageNotFoundError:
            return []
    files = [path.read_text(encoding="utf-8") for path in (SERVER, SETTINGS)]
    return [*releases, *files, *office_data().values()]


def problems() -> list[str]:
    """All that is missing on this machine, one line each."""
    return lab_problems() + browser_problems()


def open_world(shots: Path) -> LabWorld:
    """A new world, which saves its screenshots in the folder `shots`."""
    return LabWorld(shots)
