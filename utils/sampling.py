"""In which order `--limit` takes samples, so that few of them show as much as they can."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Sequence

Group = tuple[str, str]
"""Platform and split (difficulty or grounding type) of a sample."""


def limit_ranks(groups: Sequence[Group], images: Sequence[object]) -> list[int]:
    """Return the rank of each sample, from 0: `--limit N` takes those below N.

    Platforms take turns, and so do the splits of each. Each platform begins with another split, and
    each split with another image.

    Args:
        groups: of each sample, in file order.
        images: of each sample.
    """
    queues = _queues(groups, images)
    platforms = sorted({platform for platform, _ in queues})
    splits = sorted({split for _, split in queues})
    rounds = [
        queues.get((platform, splits[(number + start) % len(splits)]), [])
        for start in range(len(splits))
        for number, platform in enumerate(platforms)
    ]
    ranks = [0] * len(groups)
    next_rank = itertools.count()
    for indices in itertools.zip_longest(*rounds):
        for index in indices:
            if index is not None:
                ranks[index] = next(next_rank)
    return ranks


def _queues(groups: Sequence[Group], images: Sequence[object]) -> dict[Group, list[int]]:
    """Return the indices of each group's samples: first one sample of each image, then the second.

    The first of a split is another image than the first of other splits.
    """
    counts: Counter[tuple[Group, object]] = Counter()
    repeats_and_indices: dict[Group, list[tuple[int, int]]] = defaultdict(list)
    for index, (group, image) in enumerate(zip(groups, images, strict=True)):
        repeats_and_indices[group].append((counts[group, image], index))
        counts[group, image] += 1
    splits = sorted({split for _, split in groups})
    queues = {}
    for group, queue in repeats_and_indices.items():
        image_count = sum(repeats == 0 for repeats, _ in queue)
        start = splits.index(group[1]) * image_count // len(splits)
        indices = [index for _, index in sorted(queue)]
        queues[group] = indices[start:] + indices[:start]
    return queues
