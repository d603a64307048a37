"""Tasks in the office: in one application (L3) and in several (L4)."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.worlds.office.server import LOOKS
from benchmarks.worlds.office.store import Row
from benchmarks.worlds.office.tasks.variants import look_of, variant, written


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
            look = look_of(task, seed, list(LOOKS))
            appearance = {"look": look, "platform": LOOKS[look].platform}
            variants.append({**variant(task, seed), **appearance})
    return variants
