"""The figures of a table of grounding: blocks of the score file, the paper's table, averages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from benchmarks.figures import Figures, Sections, areas
from benchmarks.matrics import Scores, in_order, mean
from utils.analysis.columns import Row, SampleColumns
from utils.contracts import Verdict

if TYPE_CHECKING:
    from utils.analysis.intervals import Mask

Labels = Mapping[str, Sequence[str]]


class GroundingResult(NamedTuple):
    """The facts about one sample that the score needs."""

    labels: tuple[tuple[str, str], ...]  # (grouping, label); several of one grouping are allowed
    kind: str
    verdict: Verdict | None
    is_declined: bool
    is_absent: bool


@dataclass(frozen=True)
class Layout:
    """The layout of a benchmark's figures, as in its paper.

    `groupings`: labels of each grouping in order; () for alphabetical. A row is `kind` (text, icon)
    or one of the groupings.
    """

    groupings: Labels
    columns: str  # the grouping across
    rows: str | None = "kind"  # "kind", a grouping, or None: one row
    kinds: Sequence[str] = ("text", "icon")
    headline: Literal["micro", "cells", "rows"] = "micro"
    # The grouping by which pages filter and comparisons test differences; None: neither.
    split: str | None = None
    averages: Sequence[str] = field(default_factory=tuple)  # groupings whose macro mean is shown

    def field_of(self, grouping: str | None) -> str | None:
        """Return the field of a sample by which pages filter a grouping; None: there is none."""
        if grouping in ("kind", "platform"):
            return grouping
        return "split" if grouping is not None and grouping == self.split else None

    @property
    def parts(self) -> list[str]:
        """The fields whose groups weigh the same in the official figure; none: samples do."""
        if self.headline == "micro":
            return []
        groupings = [self.rows] if self.headline == "rows" else [self.rows, self.columns]
        fields = [self.field_of(grouping) for grouping in groupings]
        return [field for field in fields if field is not None]

    @property
    def headline_name(self) -> str:
        """The official figure in words."""
        names = {
            "micro": "micro over all rows",
            "cells": f"mean of {self.rows} x {self.columns} cells",
            "rows": f"mean of {self.rows}s",
        }
        return names[self.headline]


# -- score file -----------------------------------------------------------------------------------


def grounding_scores(
    results: Sequence[GroundingResult], layout: Layout, published_rows: int | None = None
) -> Scores:
    """Return the score object: accuracies in percent, None where there is nothing to count.

    Args:
        published_rows: how many the authors' files have of what was evaluated; None: not known.

    Returns:
        `{accuracy, headline, averages, counts, overall, <grouping>: {label: block}}`, a block being
        `{num_correct, num_total, num_wrong_format, num_declined, accuracy, <kind>_accuracy}`.
    """
    has_kinds = any(result.kind in layout.kinds for result in results)
    kinds = layout.kinds if has_kinds else ()
    by_group: dict[str, dict[str, list[GroundingResult]]] = {name: {} for name in layout.groupings}
    for result in results:
        for grouping, label in result.labels:
            by_group[grouping].setdefault(label, []).append(result)
    blocks = {
        grouping: {
            label: _block(members[label], kinds)
            for label in in_order(members, layout.groupings[grouping])
        }
        for grouping, members in by_group.items()
    }
    averages = _averages(results, by_group, layout)
    return {
        "accuracy": averages[layout.headline_name],
        "headline": layout.headline_name,
        "averages": averages,
        "counts": {
            "expected": published_rows,
            "samples": len(results),
            "answered": sum(result.verdict is not None for result in results),
            "declined": sum(result.is_declined for result in results),
            "unparsed": sum(result.verdict is Verdict.UNPARSED for result in results),
            "failed": sum(result.verdict is None for result in results),
        },
        "overall": _block(results, kinds),
        **blocks,
    }


def _block(results: Sequence[GroundingResult], kinds: Sequence[str]) -> Scores:
    by_kind = {
        f"{kind}_accuracy": _accuracy([result for result in results if result.kind == kind])
        for kind in kinds
    }
    return {
        "num_correct": sum(result.verdict is Verdict.HIT for result in results),
        "num_total": len(results),
        "num_wrong_format": sum(result.verdict in (Verdict.UNPARSED, None) for result in results),
        "num_declined": sum(result.is_declined for result in results),
        "accuracy": _accuracy(results),
        **by_kind,
    }


def _accuracy(results: Sequence[GroundingResult]) -> float | None:
    if not results:
        return None
    return 100 * sum(result.verdict is Verdict.HIT for result in results) / len(results)


def _averages(
    results: Sequence[GroundingResult],
    by_group: Mapping[str, Mapping[str, Sequence[GroundingResult]]],
    layout: Layout,
) -> dict[str, float | None]:
    averages = {"micro over all rows": _accuracy(results)}
    columns = by_group[layout.columns].values()
    if layout.headline == "cells":
        cells = [
            _accuracy([result for result in column if result.kind == kind])
            for column in columns
            for kind in layout.kinds
        ]
        averages[layout.headline_name] = mean(cells)
    if layout.headline == "rows" and layout.rows:
        averages[layout.headline_name] = mean(map(_accuracy, by_group[layout.rows].values()))
    for grouping in layout.averages:
        averages[f"macro by {grouping}"] = mean(map(_accuracy, by_group[grouping].values()))
    if any(result.is_absent for result in results):
        averages["without refusals"] = _accuracy([r for r in results if not r.is_absent])
    return averages


# -- analysis -------------------------------------------------------------------------------------


def table_sections(columns: SampleColumns, title: str, layout: Layout) -> Sections:
    """Return the table as the paper has it, averages by name, groups and chance, with intervals."""
    figures = Figures(columns, groupings=layout.groupings)
    column_masks = figures.masks[layout.columns]
    everything = figures.weights >= 0
    row_names = _row_names(figures, layout)
    row_masks = {name: figures.masks[layout.rows][name] for name in row_names if layout.rows}
    rows: list[Row] = []
    for name, row_mask in row_masks.items():
        cells = [figures.mean([row_mask & mask]) for mask in column_masks.values()]
        rows.append({"name": name, "cells": [*cells, figures.mean([row_mask])]})
    cells_by_column = [
        [row & column for row in row_masks.values()] for column in column_masks.values()
    ]
    official_parts: dict[str, list[Mask]] = {  # what weighs the same in the official figure
        "micro": [everything],
        "rows": [*row_masks.values()],
        "cells": [cell for column in cells_by_column for cell in column],
    }
    parts = official_parts[layout.headline]
    if layout.headline == "rows":
        cells = [figures.mean(column) for column in cells_by_column]
    else:
        cells = [figures.mean([column]) for column in column_masks.values()]
    name = "average" if row_masks else "accuracy"
    rows.append({"name": name, "cells": [*cells, figures.mean(parts)]})
    averages = {"micro over all rows": figures.mean([everything])}
    averages[layout.headline_name] = rows[-1]["cells"][-1]
    for grouping in layout.averages:
        groups = list(figures.masks[grouping].values())
        averages[f"macro by {grouping}"] = figures.mean(groups)
    absent = _absent(columns)
    if absent.any():
        averages["without refusals"] = figures.mean([everything & ~absent])
    return {
        "chance": {
            "meaning": "a random click: the mean area of the targets",
            rows[-1]["name"]: figures.chance(areas(columns["box_frac"]), parts),
        },
        "table": {
            "title": title,
            "columns": [*column_masks, "Overall"],
            "rows": rows,
            "official": [row["name"] for row in rows],
            "headline": layout.headline_name,
            "column_field": layout.field_of(layout.columns),
            "split_name": layout.split,
            "row_field": layout.field_of(layout.rows),
            "parts": layout.parts,
        },
        "averages": averages,
        "groups": {
            name: figures.group(name)
            for name in dict.fromkeys((*layout.groupings, "platform", "kind", "target size"))
            if name in figures.masks and set(figures.masks[name]) != {"none"}
        },
    }


def _row_names(figures: Figures, layout: Layout) -> list[str]:
    if layout.rows is None:
        return []
    order = layout.kinds if layout.rows == "kind" else layout.groupings[layout.rows]
    return [name for name in in_order(figures.masks[layout.rows], order) if name != "none"]


def _absent(columns: SampleColumns) -> Any:
    import numpy as np

    return np.array([box is None for box in columns["box_frac"]], dtype=np.bool_)
