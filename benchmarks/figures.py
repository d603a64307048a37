"""The score table, averages and groups, each figure with its interval.

Every figure is an average, in fixed shares, of the (weighted) means of some samples. The table has
the values of the score file; a test compares them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from benchmarks.matrics import in_order
from utils.analysis.columns import Row, SampleColumns, share, table
from utils.protocol import DIFFICULTIES, ELEMENT_KINDS, GROUNDING_TYPES, PLATFORMS

if TYPE_CHECKING:
    from utils.analysis.intervals import Floats, Mask

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
    """Return the sections of multiple choice.

    Weighted: a question with n options weighs (n-1)/n within a platform, as in the score.
    """
    import numpy as np

    option_counts = np.array([len(options or ()) for options in columns["options"]], dtype=float)
    weights = (option_counts - 1) / np.maximum(option_counts, 1) if weighted else None
    figures = Figures(columns, weights)
    platforms = list(figures.masks["platform"])
    splits = list(figures.masks["split"])
    averages = figures.of_all("overall")  # the score's own figure here, unlike in grounding
    rows = []
    averages["macro by difficulty"] = figures.mean([figures.mask_of(split) for split in splits])
    for split in splits:
        parts = [figures.mask_of(split, platform) for platform in platforms]
        level = figures.mean([figures.mask_of(split)])
        if weighted:  # parity: platforms weigh by their number of samples, whatever questions weigh
            level = figures.mean(parts, [float(mask.sum()) for mask in parts])
        rows.append({"name": split, "cells": [*(figures.mean([part]) for part in parts), level]})
        averages |= {split: level, f"{split}, macro by platform": figures.mean(parts)}
    chance = 1 / np.maximum(option_counts, 1)
    return {
        "chance": {
            "meaning": "a random letter",
            "overall": figures.chance(chance, [figures.weights > 0]),
            **{split: figures.chance(chance, [figures.mask_of(split)]) for split in splits},
        },
        "table": {"title": title, "columns": [*platforms, "Overall"], "rows": rows},
        "averages": averages,
        "groups": {name: figures.group(name) for name in ("platform", "split")},
    }


def grounding_sections(columns: SampleColumns, title: str) -> Sections:
    """Return the sections of grounding."""
    figures = Figures(columns)
    platforms = list(figures.masks["platform"])
    splits = [split for split in GROUNDING_TYPES if split in figures.masks["split"]]
    rows: list[Row] = [
        {
            "name": split,
            "cells": [figures.mean([figures.mask_of(split, name)]) for name in (*platforms, None)],
        }
        for split in splits
    ]
    means = [figures.mean([figures.mask_of(split, p) for split in splits]) for p in platforms]
    overall = figures.mean([figures.mask_of(split) for split in splits])
    rows.append({"name": "average", "cells": [*means, overall]})
    averages = {**figures.of_all("micro"), "Average accuracy": overall} | {
        f"{split.capitalize()} accuracy": figures.mean([figures.mask_of(split)])
        for split in GROUNDING_TYPES
    }
    chance = areas(columns["box_frac"])
    return {
        "chance": {
            "meaning": "a random click: the mean area of the targets",
            **{split: figures.chance(chance, [figures.mask_of(split)]) for split in splits},
            "average": figures.chance(chance, [figures.mask_of(split) for split in splits]),
        },
        "table": {"title": title, "columns": [*platforms, "Overall"], "rows": rows},
        "averages": averages,
        "groups": {name: figures.group(name) for name in ORDERS},
    }


def _size_classes(boxes: Sequence[Sequence[float] | None]) -> list[str | None]:
    """The size classes of targets: the side of a square of their area, against the image's.

    At 1920x1080, 1.5 % are 22 pixels, 3 % 43 and 6 % 86.
    """
    import numpy as np

    limits = [limit for limit, _ in SIZE_CLASSES]
    classes = np.digitize(np.sqrt(areas(boxes)), limits).tolist()
    names = ORDERS["target size"]
    return [names[index] if box else None for box, index in zip(boxes, classes, strict=True)]


def areas(boxes: Sequence[Sequence[float] | None]) -> Floats:
    """Return the part of the image that each target covers."""
    import numpy as np

    x1, y1, x2, y2 = table(boxes, 4).T
    areas: Floats = np.nan_to_num(np.maximum(x2 - x1, 0) * np.maximum(y2 - y1, 0))
    return areas


class Figures:
    """Means of the hits of some samples, and averages of such means.

    `weights` are those of each sample within its part, None: all equal.
    """

    def __init__(
        self,
        columns: SampleColumns,
        weights: Floats | None = None,
        groupings: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        """Take weights within parts, and a benchmark's own groupings with their order."""
        import numpy as np

        self._columns = columns
        self._hits = columns.hits()
        self._pictures = columns.pictures()
        self.weights = np.ones(len(columns)) if weights is None else weights
        # grouping → label, in the usual order → which samples carry it
        self.masks: dict[str, dict[str, Mask]] = {}
        for grouping, order in ORDERS.items():
            is_size = grouping == "target size"
            column = _size_classes(columns["box_frac"]) if is_size else columns[grouping]
            texts = ["none" if value is None else str(value) for value in column]
            labels = np.array(texts, dtype=str)
            names = in_order(set(labels.tolist()), order)
            self.masks[grouping] = {name: labels == name for name in names}
        # A field of a sample names the labels of the others: pages filter samples by it.
        self._without_field = {"target size", *(groupings or ())} - {"platform", "kind"}
        for grouping, own_order in (groupings or {}).items():
            labels_by_sample = [(groups or {}).get(grouping, ()) for groups in columns["groups"]]
            names = in_order({label for labels in labels_by_sample for label in labels}, own_order)
            self.masks[grouping] = {
                name: np.array([name in labels for labels in labels_by_sample], dtype=np.bool_)
                for name in names
            }

    def mask_of(self, split: str, platform: str | None = None) -> Mask:
        """Return the mask of the samples of a split, on one platform or on all."""
        import numpy as np

        mask = self.masks["split"].get(split, np.zeros(len(self._hits), dtype=np.bool_))
        return mask if platform is None else mask & self.masks["platform"][platform]

    def group(self, grouping: str) -> dict[str, Row | None]:
        """Return the figure of each label."""
        cells = {label: self.mean([mask]) for label, mask in self.masks[grouping].items()}
        if grouping not in self._without_field:
            return cells
        masks = self.masks[grouping]
        return {
            label: cell and {**cell, "at": self._columns.spans(masks[label])}
            for label, cell in cells.items()
        }

    def of_all(self, name: str) -> dict[str, Row | None]:
        """Return the figure of all samples under a name, and that of the means of the platforms."""
        parts = list(self.masks["platform"].values())
        return {name: self.mean([self.weights >= 0]), "macro by platform": self.mean(parts)}

    def chance(self, values: Floats, parts: Sequence[Mask]) -> float | None:
        """The score of chance, in percent: the average of the means of the parts."""
        import numpy as np

        means = [
            np.average(values[mask], weights=self.weights[mask])
            for mask in parts
            if self.weights[mask].sum() > 0
        ]
        return 100 * float(np.mean(means)) if means else None

    def mean(self, parts: Sequence[Mask], shares: Sequence[float] | None = None) -> Row | None:
        """Return the average, in shares (None: equal ones), of the means of the parts, in percent.

        Empty parts and those without weight do not count; None where there are no others. `low`
        and `high` are None under 10 images; `pictures` are those that have a weight.
        """
        import numpy as np

        counted = [
            (np.flatnonzero(mask), part_share)
            for mask, part_share in zip(parts, shares or [1.0] * len(parts), strict=True)
            if self.weights[mask].sum() > 0
        ]
        if not counted:
            return None
        total_share = sum(part_share for _, part_share in counted)
        value = 0.0
        weights_by_part = []
        for indices, part_share in counted:
            weights = self.weights[indices]
            hits = float(self._hits[indices] @ weights)
            value += part_share / total_share * hits / float(weights.sum())
            weights_by_part.append(part_share / total_share * weights / weights.sum())
        indices = np.concatenate([part for part, _ in counted])
        sizes = [len(part) for part, _ in counted]
        groups = np.repeat(np.arange(len(sizes)), sizes) if len(sizes) > 1 else None
        cell = share(
            self._hits[indices], self._pictures[indices], np.concatenate(weights_by_part), groups
        )
        return {**cell, "value": 100 * value}  # not rounded, as in the score file
