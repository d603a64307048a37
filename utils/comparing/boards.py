"""The scores of several runs, published figures beside them; a row for each run.

One board for each data set, of the official figures; and one for each row of the score table (a
difficulty, a grounding type, the average), with the table's own columns.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from utils.comparing.runs import ComparedRun, ScoredSet
from utils.protocol import AVERAGE, GROUNDING_TYPES, OFFICIAL, PLATFORMS, PUBLISHED_MD5

OVERALL = "Overall"  # the last column of a score table
PUBLISHED_MARK, PARTIAL_MARK = "†", "‡"

Published = Mapping[str, Any]
"""Data set → row of its table → model → column → percent; and "source"."""


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


def read_published() -> Published:
    """The results that were published with the benchmark."""
    file = Path(__file__).with_name("published_results.json")
    return json.loads(file.read_text("utf-8"))  # type: ignore[no-any-return]


def summary_of(runs: Sequence[ComparedRun], published: Published | None = None) -> list[Board]:
    """The official figures of every data set that some run was scored on, in order of level."""
    boards = []
    for dataset, level, having, mark in _data_sets(runs):
        rows = [_row(run, dataset, run.sets[dataset].figures) for run in having]
        known = (published or {}).get(dataset, {})
        for model in {model: None for figures in known.values() for model in figures}:
            of_model = {split: of[model][OVERALL] for split, of in known.items()
                        if OVERALL in of.get(model, ())}  # fmt: skip
            rows.append(_published_row(model, of_model, mark))
        columns = _ordered({name for row in rows for name in row.cells}, OFFICIAL)
        boards.append(Board(dataset, "", f"{level} {dataset}", columns, rows))
    return boards


def boards_of(runs: Sequence[ComparedRun], published: Published | None = None) -> list[Board]:
    """The rows of the score tables, each as a table of its own."""
    boards = []
    for dataset, level, having, mark in _data_sets(runs):
        known = (published or {}).get(dataset, {})
        found = [(run, _cells_by_row(run.sets[dataset])) for run in having]
        names = {name for _, table in found for name in table} | {*known}
        for split in _ordered(names, OFFICIAL):
            rows = [_row(run, dataset, table.get(split, {})) for run, table in found]
            rows += [_published_row(model, figures, mark)
                     for model, figures in known.get(split, {}).items()]  # fmt: skip
            columns = _ordered({name for row in rows for name in row.cells}, (*PLATFORMS, OVERALL))
            boards.append(Board(dataset, split, f"{level} {dataset} · {split}", columns, rows))
    return boards


def _data_sets(
    runs: Sequence[ComparedRun],
) -> Iterator[tuple[str, str, list[ComparedRun], str]]:
    """Name, level, the runs that were scored on it, and the mark of published figures beside."""
    levels = {name: scored.level for run in runs for name, scored in run.sets.items()}
    for dataset, level in sorted(levels.items(), key=lambda item: item[1]):
        having = [run for run in runs if dataset in run.sets]
        is_comparable = all(_is_whole(run, dataset) for run in having)
        mark = f"{PUBLISHED_MARK} published" + ("" if is_comparable else ", not comparable")
        yield dataset, level, having, mark


def _row(run: ComparedRun, dataset: str, cells: Mapping[str, Mapping[str, Any]]) -> Row:
    return Row(run.label, cells, PARTIAL_MARK if run.sets[dataset].is_partial else "")


def _published_row(model: str, figures: Mapping[str, float], mark: str) -> Row:
    return Row(model, {n: {"value": each} for n, each in figures.items()}, mark, is_published=True)


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
    """Whether a run covers the published data set, by the checksum in its manifest."""
    annotations = run.of_data(dataset, "annotations")
    md5 = PUBLISHED_MD5.get(annotations.get("file", ""))
    is_part = run.sets[dataset].is_partial or run.of_data(dataset, "left_out")
    return md5 is not None and md5 == annotations.get("md5") and not is_part


def _cells_by_row(scored: ScoredSet) -> dict[str, dict[str, Any]]:
    """The cells of a score table that have a value, by row and column."""
    columns, found = scored.table.get("columns", ()), {}
    for row in scored.table.get("rows", ()):
        cells = zip(columns, row["cells"], strict=True)
        found[row["name"]] = {column: cell for column, cell in cells if cell}
    if not all(found.get(split) for split in GROUNDING_TYPES):
        found.pop(AVERAGE, None)  # of one split alone, it is nothing to set beside averages of both
    return {name: cells for name, cells in found.items() if cells}


def _ordered(names: set[str], order: Sequence[str]) -> list[str]:
    """Known names in their order, others before the last one, which is that of a mean."""
    unknown = len(order) - 1.5
    return sorted(names, key=lambda name: (order.index(name) if name in order else unknown, name))
