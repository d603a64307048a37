"""Tasks in the office: sixty and more in one application (L3), as many in several (L4)."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.worlds.office.server import LOOKS
from benchmarks.worlds.office.store import Row
from benchmarks.worlds.office.tasks.variants import variant, written


def tasks(level: str, seeds: Sequence[int]) -> list[Row]:
    """The tasks of a level, each in a variant for every seed, dealt out over the looks."""
    looks = list(LOOKS)
    dealt = []
    for seed in seeds:
        for number, task in enumerate(written(level)):
            look = looks[(number + seed) % len(looks)]
            made = variant(task, seed)
            dealt.append({**made, "look": look, "platform": LOOKS[look].platform})
    return dealt
