"""The printed table, averages and groups, each figure with its interval.

Every figure is a mean of hits with fixed weights, so one rule serves all: a figure has parts, each
part is the (weighted) mean of some samples, and parts are averaged in fixed shares. Tables have the
rows and columns of `Benchmark.table` and the same values; a test compares them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from benchmarks.columns import LARGEST_SIZES, SIZE_CLASSES, Answers, Columns
from benchmarks.matrics import in_order
from utils.contracts import Collector, Facts
from utils.protocol import DIFFICULTIES, GROUNDING_TYPES, PLATFORMS

if TYPE_CHECKING:
    from benchmarks.columns import Floats, Mask

    Part = tuple[float, Mask]
    """Share in the average, and which samples it is the mean of."""

Cell = dict[str, Any]
ORDERS: Mapping[str, Sequence[str]] = {
    "platform": PLATFORMS,
    "split": (*DIFFICULTIES, *GROUNDING_TYPES),
    "kind": ("icon", "text"),
    "target size": (*(label for _, label in SIZE_CLASSES), LARGEST_SIZES),
}


class Section:
    """A collector whose section is worked out from the columns of all samples.

    Args:
        columns: may be shared by several sections.
        fills: whether this one enters the samples; one of those that share them must.
    """

    def __init__(
        self, columns: Columns, work_out: Callable[[Answers], dict[str, Any]], *, fills: bool
    ) -> None:
        self._columns, self._work_out, self._fills = columns, work_out, fills

    def add(self, facts: Facts) -> None:
        """One more sample."""
        if self._fills:
            self._columns.add(facts)

    def result(self) -> dict[str, Any]:
        """The section."""
        return self._work_out(self._columns.answers())


def option_figures(title: str, *, weighted: bool) -> dict[str, Collector]:
    """The sections of multiple choice.

    Args:
        weighted: a question with n options weighs (n-1)/n within a platform, as in the score.
    """

    def table(answers: Answers) -> dict[str, Any]:
        figures, platforms = _option_means(answers, weighted), _labels(answers, "platform")
        rows = []
        for split in _labels(answers, "split"):
            cells = [figures.of([(1.0, figures.both(split, name))]) for name in platforms]
            overall = figures.of(_level_parts(figures, split, weighted))
            rows.append({"name": split, "cells": [*cells, overall]})
        return {"title": title, "columns": [*platforms, "Overall"], "rows": rows}

    def averages(answers: Answers) -> dict[str, Any]:
        figures, platforms = _option_means(answers, weighted), _labels(answers, "platform")
        found = _micro_and_macro(figures, "difficulty")
        for split in _labels(answers, "split"):
            found[split] = figures.of(_level_parts(figures, split, weighted))
            name = f"{split}, macro by platform"
            found[name] = figures.of([(1.0, figures.both(split, p)) for p in platforms])
        return found

    def groups(answers: Answers) -> dict[str, Any]:
        figures = _option_means(answers, weighted)
        return {name: _group(figures, name) for name in ("platform", "split")}

    return _sections(table=table, averages=averages, groups=groups)


def grounding_figures(title: str) -> dict[str, Collector]:
    """The sections of grounding."""

    def table(answers: Answers) -> dict[str, Any]:
        figures, platforms = _grounding_means(answers), _labels(answers, "platform")
        splits = [name for name in GROUNDING_TYPES if name in answers.groups["split"]]
        rows = []
        for split in splits:
            parts = [[(1.0, figures.both(split, name))] for name in platforms]
            parts.append([(1.0, figures.group("split", split))])
            rows.append({"name": split, "cells": [figures.of(part) for part in parts]})
        means = [[(1.0, figures.both(split, name)) for split in splits] for name in platforms]
        means.append([(1.0, figures.group("split", split)) for split in splits])
        rows.append({"name": "average", "cells": [figures.of(parts) for parts in means]})
        return {"title": title, "columns": [*platforms, "Overall"], "rows": rows}

    def averages(answers: Answers) -> dict[str, Any]:
        figures = _grounding_means(answers)
        splits = {name: figures.group("split", name) for name in GROUNDING_TYPES}
        found = _micro_and_macro(figures, None)
        found["Average accuracy"] = figures.of([(1.0, mask) for mask in splits.values()])
        for name, mask in splits.items():
            found[f"{name.capitalize()} accuracy"] = figures.of([(1.0, mask)])
        return found

    def groups(answers: Answers) -> dict[str, Any]:
        figures = _grounding_means(answers)
        found = {name: _group(figures, name) for name in ("platform", "split")}
        own = Means(answers, answers.hits, answers.all.astype(float))
        return found | {name: _group(own, name) for name in ("kind", "target size")}

    return _sections(table=table, averages=averages, groups=groups)


def _sections(**work_out: Callable[[Answers], dict[str, Any]]) -> dict[str, Collector]:
    """One section for each name, of the same samples."""
    columns, first = Columns(), next(iter(work_out))
    return {
        name: Section(columns, function, fills=name == first) for name, function in work_out.items()
    }


class Means:
    """Means of the hits of some samples, and averages of such means.

    Args:
        hits: as the score counts them, shape (samples,).
        weights: of each sample within its part, shape (samples,).
    """

    def __init__(self, answers: Answers, hits: Floats, weights: Floats) -> None:
        self.answers, self._hits, self._weights = answers, hits, weights

    def group(self, grouping: str, label: str) -> Mask:
        """The samples that carry a label; none if it does not occur."""
        found = self.answers.groups[grouping].get(label)
        return ~self.answers.all if found is None else found

    def both(self, split: str, platform: str) -> Mask:
        """The samples of a split on a platform."""
        return self.group("split", split) & self.group("platform", platform)

    def of(self, parts: Iterable[Part]) -> Cell | None:
        """The average of the means of the parts that are not empty, in percent.

        Returns:
            value, low, high, samples, pictures (those that have a weight); low and high None under
            10 pictures; None where all parts are empty or without weight.
        """
        import numpy as np

        from utils.analysis import interval

        counted = [(share, mask) for share, mask in parts if self._weights[mask].sum() > 0]
        if not counted:
            return None
        total = sum(share for share, _ in counted)
        rows, weights, numbers, value = [], [], [], 0.0
        for number, (share, mask) in enumerate(counted):
            places = np.flatnonzero(mask)
            own = self._weights[places] / self._weights[places].sum()
            value += share / total * float(self._hits[places] @ own)
            rows.append(places)
            weights.append(share / total * own)
            numbers.append(np.full(len(places), number))
        where, weight = np.concatenate(rows), np.concatenate(weights)
        pictures = self.answers.pictures[where]
        bounds = interval(
            self._hits[where],
            weight,
            pictures,
            np.concatenate(numbers) if len(counted) > 1 else None,
        )
        return {
            "value": 100 * value,
            "low": None if bounds is None else round(100 * bounds.low, 2),
            "high": None if bounds is None else round(100 * bounds.high, 2),
            "samples": len(where),
            "pictures": len(np.unique(pictures[weight > 0])),
        }


def _option_means(answers: Answers, weighted: bool) -> Means:
    import numpy as np

    weights = np.ones(len(answers.hits))
    if weighted:
        weights = (answers.options - 1) / np.maximum(answers.options, 1)
    return Means(answers, answers.hits, weights)


def _grounding_means(answers: Answers) -> Means:
    """parity: a kind other than icon and text counts in the divisor, never as a hit."""
    known = [answers.groups["kind"].get(kind) for kind in ("icon", "text")]
    hits = sum((answers.hits * mask for mask in known if mask is not None), 0 * answers.hits)
    return Means(answers, hits, answers.all.astype(float))


def _level_parts(figures: Means, split: str, weighted: bool) -> list[Part]:
    """A level's score weighs platforms by their number of samples, whatever questions weigh."""
    if not weighted:
        return [(1.0, figures.group("split", split))]
    masks = [figures.both(split, name) for name in figures.answers.groups["platform"]]
    return [(float(mask.sum()), mask) for mask in masks]


def _micro_and_macro(figures: Means, split_name: str | None) -> dict[str, Any]:
    answers = figures.answers
    found = {"micro": figures.of([(1.0, answers.all)])}
    for grouping, name in (("platform", "platform"), ("split", split_name)):
        if name is not None:
            masks = answers.groups[grouping].values()
            found[f"macro by {name}"] = figures.of([(1.0, mask) for mask in masks])
    return found


def _group(figures: Means, grouping: str) -> dict[str, Any]:
    labels = _labels(figures.answers, grouping)
    return {label: figures.of([(1.0, figures.group(grouping, label))]) for label in labels}


def _labels(answers: Answers, grouping: str) -> list[str]:
    return in_order(answers.groups[grouping], ORDERS[grouping])
