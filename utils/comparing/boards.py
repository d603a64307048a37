"""The scores of several runs, published figures beside them; a row for each run.

One board for each data set, of the official figures; and one for each row of the score table (a
difficulty, a grounding type, the average), with the table's own columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from utils.comparing.runs import ComparedRun, ScoredSet
from utils.protocol import AVERAGE, GROUNDING_TYPES, PLATFORMS, official_order
from utils.published import Published
from utils.report.run_facts import is_whole

OVERALL = "Overall"  # the last column of a score table
PUBLISHED_MARK, PARTIAL_MARK = "†", "‡"


class Row(NamedTuple):
    """One run or published model."""

    name: str
    cells: Mapping[str, Mapping[str, Any]]  # by column; each as in an analysis: value, low, high
    mark: str  # "", "‡", "† published" or that and "not comparable"
    is_published: bool = False


class Board(NamedTuple):
    """One table."""

    dataset: str
    split: str  # the row of the score table that it shows; "" where it shows the official figures
    title: str
    columns: Sequence[str]  # as named in the score table
    rows: Sequence[Row]


def boards_of(runs: Sequence[ComparedRun], published: Published | None = None) -> list[Board]:
    """Of every data set that some run was scored on, in order of level: the official figures, then
    the rows of the score tables, each as a table of its own."""
    boards = []
    levels = {name: scored.level for run in runs for name, scored in run.sets.items()}
    for dataset, level in sorted(levels.items(), key=lambda item: item[1]):
        having = [run for run in runs if dataset in run.sets]
        is_comparable = all(_is_whole(run, dataset) for run in having)
        mark = f"{PUBLISHED_MARK} published" + ("" if is_comparable else ", not comparable")
        found = [
            (run, {"": run.sets[dataset].figures, **_cells_by_row(run.sets[dataset])})
            for run in having
        ]
        known = (published or {}).get(dataset, {})
        official = {
            model: {
                split: of[model][OVERALL]
                for split, of in known.items()
                if OVERALL in of.get(model, ())
            }
            for models in known.values()
            for model in models
        }
        known = {"": official, **known}
        names = {name for _, table in found for name in table} | {*known}
        for split in ["", *sorted(names - {""}, key=official_order)]:
            rows = [
                Row(
                    run.label,
                    table.get(split, {}),
                    PARTIAL_MARK if run.sets[dataset].is_partial else "",
                )
                for run, table in found
            ]
            rows += [
                Row(model, {n: {"value": each} for n, each in figures.items()}, mark, True)
                for model, figures in known.get(split, {}).items()
            ]
            shown = {name for row in rows for name in row.cells}
            columns = _ordered(shown) if split else sorted(shown, key=official_order)
            title = f"{level} {dataset} · {split}" if split else f"{level} {dataset}"
            boards.append(Board(dataset, split, title, columns, rows))
    return boards


def notes_of(runs: Sequence[ComparedRun], published: Published | None = None) -> list[str]:
    """What a reader must know about published figures: their source, what cannot be compared."""
    if published is None:
        return []
    notes = [f"{PUBLISHED_MARK} published figure, from: {published['source']}"]
    for dataset in dict.fromkeys(name for run in runs for name in run.sets):
        other = [run.label for run in runs if dataset in run.sets and not _is_whole(run, dataset)]
        if other:
            notes.append(
                f"{PUBLISHED_MARK} {dataset}: NOT COMPARABLE with {', '.join(other)}: not known to "
                "be the whole published data set (see manifest.json)"
            )
    return notes


def _is_whole(run: ComparedRun, dataset: str) -> bool:
    return is_whole(run.entry(dataset), is_partial=run.sets[dataset].is_partial)


def _cells_by_row(scored: ScoredSet) -> dict[str, dict[str, Any]]:
    """The cells of a score table that have a value, by row and column."""
    columns, found = scored.table.get("columns", ()), {}
    for row in scored.table.get("rows", ()):
        cells = zip(columns, row["cells"], strict=True)
        found[row["name"]] = {column: cell for column, cell in cells if cell}
    if not all(found.get(split) for split in GROUNDING_TYPES):
        found.pop(AVERAGE, None)  # of one split alone, it is nothing to set beside averages of both
    return {name: cells for name, cells in found.items() if cells}


def _ordered(names: set[str]) -> list[str]:
    """Platforms in their order, others before the last column, which is that of a mean."""
    order = (*PLATFORMS, OVERALL)
    unknown = len(order) - 1.5
    return sorted(names, key=lambda name: (order.index(name) if name in order else unknown, name))
