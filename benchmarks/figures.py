"""The score table, averages and groups, each figure with its interval.

Every figure is an average, in fixed shares, of the (weighted) means of some samples. The table has
the values of the score file; a test compares them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from benchmarks.matrics import (
    TaskResult,
    efficiency_area,
    episode_groups,
    expected_areas,
    in_order,
)
from utils.analysis.columns import Row, SampleColumns, share, table
from utils.protocol import DIFFICULTIES, ELEMENT_KINDS, GROUNDING_TYPES, PLATFORMS

if TYPE_CHECKING:
    from utils.analysis.columns import Mask
    from utils.analysis.intervals import Floats

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

    Weighted: a question with n options weighs (n-1)/n within a platform, as in the score.
    """
    import numpy as np

    options = np.array([len(each or ()) for each in columns["options"]], dtype=np.float64)
    figures = _Figures(columns, (options - 1) / np.maximum(options, 1) if weighted else None)
    platforms, splits = list(figures.masks["platform"]), list(figures.masks["split"])
    averages = figures.of_all("overall")  # the score's own figure here, unlike in grounding
    rows = []
    averages["macro by difficulty"] = figures.mean([figures.where(split) for split in splits])
    for split in splits:
        parts = [figures.where(split, platform) for platform in platforms]
        level = figures.one(figures.where(split))
        if weighted:  # parity: platforms weigh by their number of samples, whatever questions weigh
            level = figures.mean(parts, [float(mask.sum()) for mask in parts])
        rows.append({"name": split, "cells": [*map(figures.one, parts), level]})
        averages |= {split: level, f"{split}, macro by platform": figures.mean(parts)}
    chance = 1 / np.maximum(options, 1)
    return {
        "chance": {
            "meaning": "a random letter",
            "overall": figures.chance(chance, [figures.weights > 0]),
            **{split: figures.chance(chance, [figures.where(split)]) for split in splits},
        },
        "table": {"title": title, "columns": [*platforms, "Overall"], "rows": rows},
        "averages": averages,
        "groups": {name: figures.group(name) for name in ("platform", "split")},
    }


def grounding_sections(columns: SampleColumns, title: str) -> Sections:
    """The sections of grounding."""
    figures = _Figures(columns)
    platforms = list(figures.masks["platform"])
    splits = [split for split in GROUNDING_TYPES if split in figures.masks["split"]]
    rows = []
    for split in splits:
        parts = [*(figures.where(split, platform) for platform in platforms), figures.where(split)]
        rows.append({"name": split, "cells": [*map(figures.one, parts)]})
    means = [figures.mean([figures.where(split, p) for split in splits]) for p in platforms]
    overall = figures.mean([figures.where(split) for split in splits])
    rows.append({"name": "average", "cells": [*means, overall]})
    averages = {**figures.of_all("micro"), "Average accuracy": overall}
    for split in GROUNDING_TYPES:
        averages[f"{split.capitalize()} accuracy"] = figures.one(figures.where(split))
    chance = _areas(columns["box_frac"])
    return {
        "chance": {
            "meaning": "a random click: the mean area of the targets",
            **{split: figures.chance(chance, [figures.where(split)]) for split in splits},
            "average": figures.chance(chance, [figures.where(split) for split in splits]),
        },
        "table": {"title": title, "columns": [*platforms, "Overall"], "rows": rows},
        "averages": averages,
        "groups": {name: figures.group(name) for name in ORDERS},
    }


def _size_classes(boxes: Sequence[Sequence[float] | None]) -> list[str | None]:
    """How large targets are: the side of a square of their area, against that of the image's.

    At 1920x1080, 1.5 % are 22 pixels, 3 % 43 and 6 % 86.
    """
    import numpy as np

    limits = [limit for limit, _ in SIZE_CLASSES]
    places = np.digitize(np.sqrt(_areas(boxes)), limits).tolist()
    names = ORDERS["target size"]
    return [names[place] if box else None for box, place in zip(boxes, places, strict=True)]


def _areas(boxes: Sequence[Sequence[float] | None]) -> Floats:
    """The part of the image that each target covers."""
    import numpy as np

    x1, y1, x2, y2 = table(boxes, 4).T
    areas: Floats = np.nan_to_num(np.maximum(x2 - x1, 0) * np.maximum(y2 - y1, 0))
    return areas


class _Figures:
    """Means of the hits of some samples, and averages of such means.

    `weights` are those of each sample within its part, None: all equal.
    """

    def __init__(self, columns: SampleColumns, weights: Floats | None = None) -> None:
        import numpy as np

        self._columns, self._hits, self._pictures = columns, columns.hits(), columns.pictures()
        self.weights = np.ones(len(columns)) if weights is None else weights
        # grouping → label, in the usual order → which samples carry it
        self.masks: dict[str, dict[str, Mask]] = {}
        for grouping, order in ORDERS.items():
            is_size = grouping == "target size"
            column = _size_classes(columns["box_frac"]) if is_size else columns[grouping]
            labels = np.array(["none" if each is None else str(each) for each in column], dtype=str)
            names = in_order(set(labels.tolist()), order)
            self.masks[grouping] = {name: labels == name for name in names}

    def where(self, split: str, platform: str | None = None) -> Mask:
        """The samples of a split, on a platform or on all."""
        import numpy as np

        mask = self.masks["split"].get(split, np.zeros(len(self._hits), dtype=np.bool_))
        return mask if platform is None else mask & self.masks["platform"][platform]

    def one(self, mask: Mask) -> Row | None:
        """The mean of these samples."""
        return self.mean([mask])

    def group(self, grouping: str) -> dict[str, Row | None]:
        """Each label's own figure."""
        cells = {label: self.one(mask) for label, mask in self.masks[grouping].items()}
        if grouping != "target size":
            return cells
        masks = self.masks[grouping]  # no field of a sample names these
        return {
            label: cell and {**cell, "at": self._columns.spans(masks[label])}
            for label, cell in cells.items()
        }

    def of_all(self, name: str) -> dict[str, Row | None]:
        """Of all samples under a name, and of the means of the platforms."""
        parts = list(self.masks["platform"].values())
        return {name: self.one(self.weights >= 0), "macro by platform": self.mean(parts)}

    def chance(self, values: Floats, parts: Sequence[Mask]) -> float | None:
        """What chance reaches, in percent: the average of the means of the parts."""
        import numpy as np

        means = [
            np.average(values[mask], weights=self.weights[mask])
            for mask in parts
            if self.weights[mask].sum() > 0
        ]
        return 100 * float(np.mean(means)) if means else None

    def mean(self, parts: Sequence[Mask], shares: Sequence[float] | None = None) -> Row | None:
        """The average, in shares (None: equal ones), of the means of the parts, in percent.

        Empty parts and those without weight do not count; None where there are no others. `low`
        and `high` are None under 10 images; `pictures` are those that have a weight.
        """
        import numpy as np

        shared = zip(parts, shares or [1.0] * len(parts), strict=True)
        counted = [(np.flatnonzero(m), each) for m, each in shared if self.weights[m].sum() > 0]
        if not counted:
            return None
        total, value, weights = sum(each for _, each in counted), 0.0, []
        for places, each in counted:
            own = self.weights[places]
            value += each / total * float(self._hits[places] @ own) / float(own.sum())
            weights.append(each / total * own / own.sum())
        where, weight = np.concatenate([p for p, _ in counted]), np.concatenate(weights)
        groups = np.repeat(np.arange(len(weights)), [len(each) for each in weights])
        cell = share(
            self._hits[where], self._pictures[where], weight, groups if len(weights) > 1 else None
        )
        return {**cell, "value": 100 * value}  # not rounded, as in the score file


# -- episodes (L3, L4) ----------------------------------------------------------------------------


def episode_sections(columns: SampleColumns, title: str, budgets: Sequence[int]) -> Sections:
    """The sections of episodes: under each budget success rate and area, by platform and in all.

    Intervals are clustered by task: variants of one share its difficulty. The area in file order
    has none.
    """
    import numpy as np

    from utils.analysis.intervals import numbered

    results = [
        TaskResult(bool(hit), int(steps), str(platform), str(split), tuple(apps or ()))
        for hit, steps, platform, split, apps in zip(
            *(columns[name] for name in ("hit", "steps", "platform", "split", "apps")), strict=True
        )
    ]
    tasks = numbered([str(task) for task in columns["task"]])

    def cell(name: str, budget: int, places: Sequence[int]) -> Row:
        cut = [results[place].within(budget) for place in places]
        if name == "EQA":
            area = efficiency_area(cut, budget) or 0.0
            return {
                **share(np.zeros(len(cut)), tasks[places]),
                "low": None,
                "high": None,
                "value": 100 * area,
            }
        is_rate = name == "SR"
        values = [float(each.success) for each in cut] if is_rate else expected_areas(cut, budget)
        return {**share(values, tasks[places]), "value": 100 * sum(values) / len(values)}

    def rates(group: Mapping[str, Sequence[int]]) -> dict[str, Row]:
        return {name: cell("SR", budgets[-1], places) for name, places in group.items()}

    every, groups = list(range(len(results))), episode_groups(results)
    parts = [*groups["platform"].values(), every]
    rows = [
        {"name": f"{name} {budget}", "cells": [cell(name, budget, places) for places in parts]}
        for budget in budgets
        for name in ("SR", "EQA", "EQA*")
    ]
    ended = [str(each) for each in columns["ended"]]
    return {
        "table": {
            "title": title,
            "columns": [*groups["platform"], "Overall"],
            "rows": rows,
            "unit": "SR and EQA in %, by step limit; EQA* in any order",
        },
        "averages": rates({f"overall SR at {budgets[-1]} steps": every}),
        "groups": {
            "platform": rates(groups["platform"]),
            "split": rates(groups["category"]),
            "app": rates(groups["app"]),
        },
        "episodes": {
            "title": "How episodes end",
            "rows": [
                _ending(
                    name,
                    [result for result, end in zip(results, ended, strict=True) if end == name],
                )
                for name in sorted(set(ended))
            ],
        },
    }


def _ending(name: str, results: Sequence[TaskResult]) -> Row:
    steps = sum(result.steps for result in results) / len(results)
    return {
        "name": name,
        "episodes": len(results),
        "succeeded": sum(result.success for result in results),
        "mean steps": round(steps, 1),
        "most steps": max(result.steps for result in results),
    }
