"""The score table, averages and groups, each figure with its interval.

Every figure is a mean of hits with fixed weights, so one rule serves all: a figure has parts, each
part is the (weighted) mean of some samples, and parts are averaged in fixed shares. The table has
the values of the score file; a test compares them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from benchmarks.matrics import in_order
from utils.analysis.columns import Row, SampleColumns
from utils.analysis.intervals import interval
from utils.protocol import DIFFICULTIES, ELEMENT_KINDS, GROUNDING_TYPES, PLATFORMS

if TYPE_CHECKING:
    from utils.analysis.columns import Floats, Mask

SIZE_CLASSES = ((0.015, "under 1.5 %"), (0.03, "1.5 to 3 %"), (0.06, "3 to 6 %"))
LARGEST_SIZES = "6 % and more"
ORDERS = {
    "platform": PLATFORMS,
    "split": (*DIFFICULTIES, *GROUNDING_TYPES),
    "kind": ELEMENT_KINDS,
    "target size": (*(label for _, label in SIZE_CLASSES), LARGEST_SIZES),
}
Sections = dict[str, dict[str, Any]]


def option_sections(columns: SampleColumns, title: str, *, weighted: bool) -> Sections:
    """The sections of multiple choice.

    Args:
        weighted: a question with n options weighs (n-1)/n within a platform, as in the score.
    """
    import numpy as np

    options = np.array([len(each or ()) for each in columns["options"]], dtype=np.float64)
    figures = _Figures(columns, (options - 1) / np.maximum(options, 1) if weighted else None)
    platforms, splits = figures.labels("platform"), figures.labels("split")

    def level(split: str) -> Row | None:
        """parity: it weighs platforms by their number of samples, whatever questions weigh."""
        if not weighted:
            return figures.mean([figures.where(split)])
        masks = [figures.where(split, platform) for platform in platforms]
        return figures.mean(masks, [float(mask.sum()) for mask in masks])

    rows = [
        {
            "name": split,
            "cells": [*(figures.mean([figures.where(split, p)]) for p in platforms), level(split)],
        }
        for split in splits
    ]
    averages = figures.micro_and_macro("platform")
    averages["macro by difficulty"] = figures.mean([figures.where(split) for split in splits])
    for split in splits:
        averages[split] = level(split)
        each = [figures.where(split, platform) for platform in platforms]
        averages[f"{split}, macro by platform"] = figures.mean(each)
    return {
        "table": {"title": title, "columns": [*platforms, "Overall"], "rows": rows},
        "averages": averages,
        "groups": {name: figures.group(name) for name in ("platform", "split")},
    }


def grounding_sections(columns: SampleColumns, title: str) -> Sections:
    """The sections of grounding."""
    figures = _Figures(columns)
    platforms = figures.labels("platform")
    splits = [split for split in GROUNDING_TYPES if split in figures.labels("split")]
    rows = []
    for split in splits:
        masks = [*(figures.where(split, platform) for platform in platforms), figures.where(split)]
        rows.append({"name": split, "cells": [figures.mean([mask]) for mask in masks]})
    means = [figures.mean([figures.where(split, p) for split in splits]) for p in platforms]
    overall = figures.mean([figures.where(split) for split in splits])
    rows.append({"name": "average", "cells": [*means, overall]})
    averages = {**figures.micro_and_macro("platform"), "Average accuracy": overall}
    for split in GROUNDING_TYPES:
        averages[f"{split.capitalize()} accuracy"] = figures.mean([figures.where(split)])
    return {
        "table": {"title": title, "columns": [*platforms, "Overall"], "rows": rows},
        "averages": averages,
        "groups": {name: figures.group(name) for name in ORDERS},
    }


def size_class(box_frac: Sequence[float] | None) -> str | None:
    """How large a target is: the side of a square of its area, against that of the image's.

    At 1920x1080, 1.5 % are 22 pixels, 3 % 43 and 6 % 86.
    """
    if box_frac is None:
        return None
    x1, y1, x2, y2 = box_frac
    side = math.sqrt(max(x2 - x1, 0.0) * max(y2 - y1, 0.0))
    return next((label for limit, label in SIZE_CLASSES if side < limit), LARGEST_SIZES)


class _Figures:
    """Means of the hits of some samples, and averages of such means.

    Args:
        weights: of each sample within its part, shape (samples,); None: all equal.
    """

    def __init__(self, columns: SampleColumns, weights: Floats | None = None) -> None:
        import numpy as np

        self._hits, self._pictures = columns.hits(), columns.pictures()
        self._weights = np.ones(len(columns)) if weights is None else weights
        sizes = [size_class(box) for box in columns["box_frac"]]
        self._masks: dict[str, dict[str, Mask]] = {}
        for grouping, order in ORDERS.items():
            column = sizes if grouping == "target size" else columns[grouping]
            labels = np.array(["none" if each is None else str(each) for each in column], dtype=str)
            names = in_order(set(labels.tolist()), order)
            self._masks[grouping] = {name: labels == name for name in names}

    def labels(self, grouping: str) -> list[str]:
        """In their usual order."""
        return list(self._masks[grouping])

    def where(self, split: str, platform: str | None = None) -> Mask:
        """The samples of a split, on a platform or on all."""
        import numpy as np

        none = np.zeros(len(self._hits), dtype=np.bool_)
        mask = self._masks["split"].get(split, none)
        return mask if platform is None else mask & self._masks["platform"][platform]

    def group(self, grouping: str) -> dict[str, Row | None]:
        """Each label's own figure."""
        return {label: self.mean([mask]) for label, mask in self._masks[grouping].items()}

    def micro_and_macro(self, grouping: str) -> dict[str, Row | None]:
        """Of all samples, and of the means of a grouping."""
        masks = list(self._masks[grouping].values())
        everything = [sum(masks[1:], masks[0])] if masks else []
        return {"micro": self.mean(everything), f"macro by {grouping}": self.mean(masks)}

    def mean(self, masks: Iterable[Mask], shares: Iterable[float] | None = None) -> Row | None:
        """The average of the means of those parts that are not empty, in percent.

        Args:
            shares: of the parts in the average; None: all equal.

        Returns:
            value, low, high, samples, pictures (those that have a weight); low and high None under
            10 images; None where all parts are empty or without weight.
        """
        import numpy as np

        masks = list(masks)
        parts = [
            (np.flatnonzero(mask), part)
            for mask, part in zip(masks, shares or [1.0] * len(masks), strict=True)
        ]
        counted = [(places, part) for places, part in parts if self._weights[places].sum() > 0]
        if not counted:
            return None
        total = sum(part for _, part in counted)
        where = np.concatenate([places for places, _ in counted])
        own = [self._weights[places] for places, _ in counted]
        weights = [part / total * w / w.sum() for w, (_, part) in zip(own, counted, strict=True)]
        means = [float(self._hits[p] @ w) / w.sum() for w, (p, _) in zip(own, counted, strict=True)]
        numbers = np.repeat(np.arange(len(own)), [len(each) for each in own])
        weight, pictures = np.concatenate(weights), self._pictures[where]
        bounds = interval(self._hits[where], weight, pictures, numbers if len(own) > 1 else None)
        shared = zip(means, counted, strict=True)
        return {
            "value": 100 * float(sum(part / total * mean for mean, (_, part) in shared)),
            "low": None if bounds is None else round(100 * bounds.low, 2),
            "high": None if bounds is None else round(100 * bounds.high, 2),
            "samples": len(where),
            "pictures": len(np.unique(pictures[weight > 0])),
        }
