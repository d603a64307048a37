"""Tables of the scores of several runs, with published figures; a row for each run.

One board for each data set, of the official figures; and one for each row of the score table (a
difficulty, a grounding type, the average), with the table's own columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from utils.comparing.runs import ComparedRun, ScoredSet
from utils.datasets.published import PROTOCOLS, REMARKS, Published, sources_of
from utils.protocol import AVERAGE, GROUNDING_TYPES, PLATFORM_ORDER, official_order, title_of
from utils.store.run_facts import compares_with_published

OVERALL = "Overall"  # the last column of a score table
PUBLISHED_MARK, PARTIAL_MARK = "†", "‡"
OTHER_MARK = "¶"  # published, of another protocol
REMARK_MARK = "‖"  # published, and there is something to know
MEANS = (AVERAGE, "accuracy")  # last rows of score tables
NOT_COMPARABLE = "not comparable"
BY_RULE = "by every rule"


class Row(NamedTuple):
    """One run or published model."""

    name: str
    cells: Mapping[str, Mapping[str, Any]]  # by column; each as in an analysis: value, low, high
    mark: str  # "", "‡", "† published", or that, a remark, the protocol and "not comparable"
    is_published: bool = False

    def score(self, column: str) -> float | None:
        """Return the score in a column; None where there is none."""
        value: float | None = (self.cells.get(column) or {}).get("value")
        return value


class Board(NamedTuple):
    """One table."""

    dataset: str
    split: str  # the row of the score table that it shows; "" where it shows the official figures
    title: str
    columns: Sequence[str]  # as named in the score table
    rows: Sequence[Row]
    rule: str = ""  # of the first run's score, where the columns are rules

    @property
    def main(self) -> str:
        """The column that runs are sorted by: the last success rate, else the last one, a mean."""
        return self.rule or main_figure(self.columns)

    @property
    def others(self) -> list[str]:
        """The other columns."""
        return [name for name in self.columns if name != self.main]

    def sorted_by_score(self) -> Board:
        """Return it with the best run first; published models follow the runs."""

        def order(row: Row) -> tuple[bool, bool, float]:
            score = row.score(self.main)
            return row.is_published, score is None, -(score or 0.0)

        return self._replace(rows=sorted(self.rows, key=order))


def boards_of(runs: Sequence[ComparedRun], published: Published | None = None) -> list[Board]:
    """Return the boards of every data set that some run was scored on, in order of level.

    Of each the official figures come first, then the rows of the score tables, each as a board.
    """
    boards: list[Board] = []
    levels = {name: scored.level for run in runs for name, scored in run.sets.items()}
    for dataset, level in sorted(levels.items(), key=lambda item: item[1]):
        boards += _boards_of_set(dataset, level, runs, published or {})
    return boards


def _boards_of_set(
    dataset: str,
    level: str,
    runs: Sequence[ComparedRun],
    published: Published,
) -> list[Board]:
    """Return the boards of one data set.

    Args:
        dataset: that they are of.
        level: of the data set.
        runs: those that were scored on it have a row each.
        published: results of others, of all data sets; empty: none.
    """
    rows_of_others = published.get(dataset, {})
    protocols, remarks = (published.get(key, {}).get(dataset, {}) for key in (PROTOCOLS, REMARKS))
    scored_runs = [run for run in runs if dataset in run.sets]
    are_whole = all(_is_whole(run, dataset) for run in scored_runs)
    tables = [
        {"": run.sets[dataset].figures, **_cells_by_row(run.sets[dataset])} for run in scored_runs
    ]
    published_rows = {"": _published_figures(rows_of_others), **rows_of_others}
    splits = in_order(split for table in (*tables, published_rows) for split in table)
    table_columns = [
        column for run in scored_runs for column in run.sets[dataset].table.get("columns", ())
    ]
    boards: list[Board] = []
    for split in ["", *(name for name in splits if name)]:
        rows = [
            Row(
                run.label,
                table.get(split, {}),
                PARTIAL_MARK if run.sets[dataset].is_partial else "",
            )
            for run, table in zip(scored_runs, tables, strict=True)
        ]
        for model, figures in published_rows.get(split, {}).items():
            cells = {column: {"value": percent} for column, percent in figures.items()}
            mark = f"{PUBLISHED_MARK} published"
            if model in remarks:
                mark = f"{REMARK_MARK} published, {remarks[model]}"
            if model in protocols:
                mark = f"{OTHER_MARK} published, {protocols[model]}, {NOT_COMPARABLE}"
            elif not are_whole:
                mark += f", {NOT_COMPARABLE}"
            rows.append(Row(model, cells, mark, is_published=True))
        names = [name for row in rows for name in row.cells]
        of_table = [name for name in table_columns if name in names]
        columns = _with_mean_last([*of_table, *names]) if split else in_order(names)
        title = title_of(level, dataset)
        if split:
            title += f" · {split}"
        boards.append(Board(dataset, split, title, columns, rows))
    return [*boards, *_boards_by_rule(dataset, title_of(level, dataset), scored_runs)]


def _boards_by_rule(dataset: str, title: str, runs: Sequence[ComparedRun]) -> list[Board]:
    """Return a board for each figure that the runs have by every rule, a rule in each column."""
    sets = {run.label: run.sets[dataset] for run in runs if run.sets[dataset].rules}
    if not sets:
        return []
    boards: list[Board] = []
    first = next(iter(sets.values())).rules
    for figure in first["figures"]:
        rows = [
            Row(
                label,
                {
                    rule: {"value": value}
                    for rule, value in scored.rules["figures"].get(figure, {}).items()
                    if value is not None
                },
                PARTIAL_MARK if scored.is_partial else "",
            )
            for label, scored in sets.items()
        ]
        columns = [*dict.fromkeys(rule for row in rows for rule in row.cells)]
        if columns:
            split = f"{figure} {BY_RULE}"
            boards.append(
                Board(dataset, split, f"{title} · {split}", columns, rows, first["score"])
            )
    return boards


def _published_figures(
    published: Mapping[str, Mapping[str, Mapping[str, float]]],
) -> dict[str, dict[str, float]]:
    """Return the official figures of published models: the last column of each row."""
    figures: dict[str, dict[str, float]] = {}
    for split, models in published.items():
        for model, cells in models.items():
            of_model = figures.setdefault(model, {})
            if OVERALL in cells:
                of_model[split] = cells[OVERALL]
    return figures


def notes_of(runs: Sequence[ComparedRun], published: Published | None = None) -> list[str]:
    """Return notes on published scores: their source, and runs that they do not compare with."""
    if published is None:
        return []
    datasets = list(dict.fromkeys(name for run in runs for name in run.sets))
    notes: list[str] = []
    for dataset in datasets:
        rows_of_others = {name for cells in published.get(dataset, {}).values() for name in cells}
        notes += [
            f"{PUBLISHED_MARK} {dataset}: published figures, from: {source}"
            for source in sources_of(published, dataset, sorted(rows_of_others))
        ]
    for dataset in datasets:
        others = [run.label for run in runs if dataset in run.sets and not _is_whole(run, dataset)]
        if others:
            notes.append(
                f"{PUBLISHED_MARK} {dataset}: NOT COMPARABLE with {', '.join(others)}. The "
                "published figures are for the whole published data set with one answer to each "
                "sample"
            )
        remarks = published.get(REMARKS, {}).get(dataset, {})
        for remark in dict.fromkeys(remarks.values()):
            models = ", ".join(name for name, text in remarks.items() if text == remark)
            notes.append(f"{REMARK_MARK} {dataset}: {remark}: {models}")
        protocols = published.get(PROTOCOLS, {}).get(dataset, {})
        for protocol in dict.fromkeys(protocols.values()):
            models = ", ".join(name for name, text in protocols.items() if text == protocol)
            notes.append(
                f"{OTHER_MARK} {dataset}: published, but not comparable ({protocol}): {models}"
            )
    return notes


def _is_whole(run: ComparedRun, dataset: str) -> bool:
    entry = run.entry(dataset)
    return compares_with_published(entry, is_partial=run.sets[dataset].is_partial)


def _cells_by_row(scored: ScoredSet) -> dict[str, dict[str, Any]]:
    """Return the cells of a score table that have a value, by row and column."""
    columns = scored.table.get("columns", ())
    table: dict[str, dict[str, Any]] = {}
    for row in scored.table.get("rows", ()):
        cells = zip(columns, row["cells"], strict=True)
        table[row["name"]] = {column: cell for column, cell in cells if cell}
    is_of_level = "official" not in scored.table
    if is_of_level and not all(table.get(split) for split in GROUNDING_TYPES):
        table.pop(AVERAGE, None)  # of one split alone, it is nothing to set beside averages of both
    return {name: cells for name, cells in table.items() if cells}


def main_figure(names: Sequence[str]) -> str:
    """Return the last success rate among figures in order, else the last one; "" of none."""
    rates = [name for name in names if name.startswith("SR ")]
    return (rates or [*names] or [""])[-1]


def in_order(names: Iterable[str]) -> list[str]:
    """Return names of figures in the official order, others as they come, and means at the end."""
    return sorted(dict.fromkeys(names), key=lambda name: (name in MEANS, *official_order(name)[:2]))


def _with_mean_last(names: Iterable[str]) -> list[str]:
    """Return platforms in their order, other columns as they come, and the one of a mean."""
    unique = dict.fromkeys(names)
    others = [name for name in unique if name not in (*PLATFORM_ORDER, OVERALL)]
    return [name for name in (*PLATFORM_ORDER, *others, OVERALL) if name in unique]
