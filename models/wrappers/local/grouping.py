"""How many requests go to a model together, which ones, and how many are prepared ahead of it."""

from __future__ import annotations

import os
from collections.abc import Sequence

LARGEST_AUTO = 64
LARGEST_AUTO_ON_CPU = 8  # there, memory that runs out ends the process instead of raising
READY_BYTES = 4 * 1024**3  # of prepared inputs; pictures of 12 million pixels take 0.3 GB each


def largest(size: int | str, *, on_cpu: bool) -> int:
    """How many requests a batch may come to hold."""
    if isinstance(size, int):
        return size
    return LARGEST_AUTO_ON_CPU if on_cpu else LARGEST_AUTO


def encoder_count() -> int:
    """Threads that prepare inputs at once; one core is left for what feeds the model."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return max(1, min(4, (cores or 2) - 1))


def most_ahead(size: int) -> int:
    """Requests that are ready or being prepared while a batch of `size` is generated.

    A batch is chosen among them: from twice as many come batches whose members are alike. One at a
    time there is nothing to choose, and more would only take up memory.
    """
    return max(2, encoder_count()) if size == 1 else 2 * size + encoder_count()


def nearest_in_length(lengths: Sequence[int], count: int) -> list[int]:
    """Places of the first and of those that are nearest to it in length: padding is wasted work."""
    by_length = sorted(range(len(lengths)), key=lengths.__getitem__)
    first = by_length.index(0)
    starts = range(max(0, first - count + 1), min(first, len(lengths) - count) + 1)

    def spread(start: int) -> int:
        return lengths[by_length[start + count - 1]] - lengths[by_length[start]]

    start = min(starts, key=spread)
    return by_length[start : start + count]
