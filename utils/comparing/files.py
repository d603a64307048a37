"""Makes the tables of a comparison: CSV with one row a figure or a sample."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from utils.comparing import words
from utils.comparing.pairing import Comparison, SamplePair
from utils.scoring.sheets import safe_cell

FIGURE_COLUMNS = (
    "kind",
    "dataset",
    "run",
    "baseline",
    "split",
    "platform",
    "group",
    "value",
    "low",
    "high",
    "samples",
    "images",
    "run_accuracy",
    "baseline_accuracy",
    "p_value",
    "p_holm",
    "p_mcnemar_ignoring_images",
    "only_run_right",
    "only_baseline_right",
    "published",
    "mark",
)
SAMPLE_COLUMNS = (
    "key",
    "index",
    "image",
    "platform",
    "split",
    "text",
    "truth",
    *(f"{side}_{name}" for name in words.OF_A_SAMPLE for side in ("run", "baseline")),
)
FLIP_COLUMNS = ("dataset", "run", "baseline", "right", *SAMPLE_COLUMNS)


def figures_csv(comparison: Comparison) -> str:
    """Return accuracies (percent) and differences (percentage points); `kind` tells which."""
    rows: list[dict[str, Any]] = [
        {
            **cell,
            "kind": "accuracy",
            "dataset": board.dataset,
            "run": row.name,
            "mark": row.mark,
            "split": board.split,
            "platform": column,
            "published": int(row.is_published),
        }
        for board in comparison.boards
        if board.split
        for row in board.rows
        for column, cell in row.cells.items()
    ]
    for pair in comparison.pairs:
        for difference in pair.differences:
            paired = difference.paired
            points, low, high = difference.points
            rows.append(
                {
                    "kind": "difference",
                    "dataset": pair.dataset,
                    "run": pair.run,
                    "baseline": pair.baseline,
                    "group": difference.group,
                    "value": points,
                    "low": low,
                    "high": high,
                    "samples": difference.samples,
                    "images": paired.pictures,
                    "run_accuracy": difference.run_pct,
                    "baseline_accuracy": difference.baseline_pct,
                    "p_value": paired.p_value,
                    "p_holm": difference.p_holm,
                    "p_mcnemar_ignoring_images": paired.p_mcnemar,
                    "only_run_right": paired.only_first,
                    "only_baseline_right": paired.only_second,
                }
            )
    return as_csv(FIGURE_COLUMNS, rows)


def wide_csv(comparison: Comparison) -> str:
    """Return a row for each run, with a column for each score and its bounds.

    `<data set>/average` is an official figure, `<data set>/basic/os_web/low` the
    lower bound of a score of the table. Different marks of a run are joined.
    """
    rows: dict[tuple[str, bool], dict[str, Any]] = {}
    marks: dict[tuple[str, bool], dict[str, None]] = {}
    columns: dict[str, None] = {}
    for board in comparison.boards:
        prefix = "/".join(filter(None, [board.dataset, board.split]))
        for column in board.columns:
            names = [f"{prefix}/{column}{end}" for end in ("", "/low", "/high")]
            columns |= dict.fromkeys(names)
            for row in board.rows:
                run = row.name, row.is_published
                values = rows.setdefault(run, {"run": row.name})
                if row.mark:
                    marks.setdefault(run, {})[row.mark] = None
                cell = row.cells.get(column) or {}
                values |= zip(names, map(cell.get, ("value", "low", "high")), strict=True)
    for run, values in rows.items():
        values["mark"] = "; ".join(marks.get(run, ()))
    return as_csv(["run", "mark", *columns], rows.values())


def flips_csv(comparison: Comparison) -> str:
    """Return every flipped sample of every pair, with both replies in full."""
    rows = (
        {
            **sample_row(flip),
            "dataset": pair.dataset,
            "run": pair.run,
            "baseline": pair.baseline,
            "right": winner,
        }
        for pair in comparison.pairs
        for winner, _, flips in pair.flips_by_winner
        for flip in flips
    )
    return as_csv(FLIP_COLUMNS, rows)


def sample_row(pair: SamplePair) -> dict[str, Any]:
    """Return one sample with what became of it in both runs."""
    row = {**pair.run, "truth": words.truth_of(pair)}
    for name, text_of in words.OF_A_SAMPLE.items():
        row[f"run_{name}"] = text_of(pair.run)
        row[f"baseline_{name}"] = text_of(pair.baseline)
    return row


def as_csv(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    """Return a table as CSV in which no spreadsheet program finds a formula."""
    file = io.StringIO()
    writer = csv.writer(file, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([safe_cell(row.get(name)) for name in columns] for row in rows)
    return file.getvalue()
