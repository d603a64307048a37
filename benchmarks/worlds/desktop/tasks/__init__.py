"""Tasks on the desktop: in one application (L3), and in several (L4).

A task is a function with `@task(...)` in a module of this folder. It gets a generator of random
numbers that follows from the seed and returns

    goal        a text; or two phrasings of it, one of which the seed picks
    files       what lies in the home besides the usual files (`documents.written_files`)
    open        files, folders or names of applications that are open at the start, the last one in
                front; "gimp:Pictures/photo.png" names the application, too
    edits       what must have become of the home (`edits.EDITS`)
    answer      the right answer to a question
    ways        two lists of steps, each of which does it; a step is an action of the agent's
                (["key", "ctrl+s"], ["type", "text"], ["click", x, y] in pixels, ...) or one of
                `tests/support/desktop_play.py`
    wrong_ways  two lists of steps that miss it, or do more

A task with `twins` can be done under half of the seeds, and gets as second argument whether it can;
in the other half only `fail` is right.
"""

# Tasks of a benchmark, not to be trained on. Canary: 6f4f12ab-1b3f-45ea-bbe2-8e94ed0444e4

from __future__ import annotations

import importlib
import random
from collections.abc import Sequence
from typing import Any

from benchmarks.worlds.desktop.tasks.registry import TASKS, WrittenTask
from benchmarks.worlds.office.tasks.variants import phrasing_of

MODULES = (
    "calc",
    "calc_data",
    "calc_layout",
    "writer",
    "writer_layout",
    "impress",
    "impress_show",
    "gimp",
    "files",
    "files_many",
    "others",
    "settings",
    "several",
    "several_texts",
    "several_documents",
    "several_slides",
    "several_files",
)
Row = dict[str, Any]

for _name in MODULES:
    importlib.import_module(f"{__name__}.{_name}")


def written(level: str) -> list[WrittenTask]:
    """Return the tasks of a level as they are written down."""
    return [task for task in TASKS.values() if task.level == level]


def names(level: str) -> list[str]:
    """Return the ids of the tasks of a level, without making them."""
    return [task.id for task in written(level)]


def tasks(level: str, seeds: Sequence[int], names: Sequence[str] | None = None) -> list[Row]:
    """Return the named tasks of a level, or all, in a variant for every seed; solutions too."""
    chosen = [task for task in written(level) if names is None or task.id in names]
    return [_variant(task, seed) for seed in seeds for task in chosen]


def _variant(written: WrittenTask, seed: int) -> Row:
    rng = random.Random(f"desktop {written.id} {seed}")
    feasible = seed % 4 in written.can_under if written.can_under else True
    made = written.make(rng, feasible) if written.can_under else written.make(rng)
    goal = made["goal"]
    phrasings = [goal] if isinstance(goal, str) else goal
    task: Row = {
        "id": written.id,
        "apps": list(written.apps),
        "category": written.category,
        "tier": written.tier,
        "platform": "os_linux",
        "seed": seed,
        **made,
        "goal": phrasings[phrasing_of(written.id, seed) % len(phrasings)],
    }
    if written.can_under:
        task["feasible"] = feasible
    return task
