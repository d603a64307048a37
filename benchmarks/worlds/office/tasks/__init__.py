"""Tasks in the office: in one application (L3) and in several (L4)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from benchmarks.worlds.office.server import LOOKS
from benchmarks.worlds.office.store import Row
from benchmarks.worlds.office.tasks.variants import variant, written


def names(level: str) -> list[str]:
    """Return the ids of the tasks of a level, without making them."""
    return [task["id"] for task in written(level)]


def tasks(level: str, seeds: Sequence[int], names: Sequence[str] | None = None) -> list[Row]:
    """Return the named tasks of a level, or all, each in a variant for every seed; solutions too.

    Raises:
        UserError: a seed does not make one of them.
    """
    chosen = [task for task in written(level) if names is None or task["id"] in names]
    variants = []
    for seed in seeds:
        for task in chosen:
            look = look_of(task["id"], seed)
            appearance = {"look": look, "platform": LOOKS[look].platform}
            variants.append({**variant(task, seed), **appearance})
    return variants


def look_of(task_id: str, seed: int) -> str:
    """Return the look of a task under a seed: four seeds in a row show it in all four.

    It depends on nothing else, so that a new task changes the look of no other one.
    """
    looks = list(LOOKS)
    first = int(hashlib.sha256(task_id.encode()).hexdigest(), 16)
    return looks[(first + seed) % len(looks)]
