"""Tasks in JupyterLab: alone (L3), and together with the office (L4).

A task is written as those of the office are (`office.tasks.variants`), and has besides

    files    files by path, added to the project (`folder.project`), or in place of its own; a list
             is a notebook's cells (`folder.notebook`)
    open     the file or folder that is open at the start
    edits    what must have become of files and settings (`checks.EDITS`)
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Sequence
from pathlib import Path

from benchmarks.worlds.jupyterlab.folder import notebook, project
from benchmarks.worlds.office.server import LOOKS
from benchmarks.worlds.office.store import Row
from benchmarks.worlds.office.tasks.variants import look_of, variant

OWN = ("files", "open", "edits")


@functools.cache
def written(level: str) -> tuple[Row, ...]:
    """Return the tasks of a level as they are written down, file by file."""
    tasks: list[Row] = []
    for file in sorted((Path(__file__).parent / level.lower()).glob("*.toml")):
        tasks += tomllib.loads(file.read_text(encoding="utf-8"))["task"]
    return tuple(tasks)


def names(level: str) -> list[str]:
    """Return the ids of the tasks of a level, without making them."""
    return [task["id"] for task in written(level)]


def tasks(level: str, seeds: Sequence[int], names: Sequence[str] | None = None) -> list[Row]:
    """Return the named tasks of a level, or all, each in a variant for every seed; solutions too.

    Raises:
        UserError: a seed does not make one of them.
    """
    chosen = [task for task in written(level) if names is None or task["id"] in names]
    return [_variant(task, seed) for seed in seeds for task in chosen]


def _variant(task: Row, seed: int) -> Row:
    result = variant({"apps": ["jupyterlab"], **task}, seed, OWN)
    files = project(seed)
    for path, content in result.get("files", {}).items():
        files[path] = content if isinstance(content, str) else notebook(content)
    looks = [name for name in LOOKS if name != "phone"]  # JupyterLab has none for a phone
    look = "web" if result["apps"] == ["jupyterlab"] else look_of(task, seed, looks)
    return {**result, "files": files, "look": look, "platform": LOOKS[look].platform}
