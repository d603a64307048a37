"""A comparison as CSV: one row per figure, one row per flipped sample."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from utils.comparing.comparison import Comparison, read_as_text, reply_text, truth_text
from utils.comparing.pairing import Difference, Flip, PairOfRuns
from utils.scoring.sheets import safe_cell

FIGURE_COLUMNS = (
    "kind", "dataset", "run", "baseline", "split", "platform", "group", "value", "low", "high",
    "samples", "pictures", "run_accuracy", "baseline_accuracy", "p_sign_flip", "p_holm",
    "p_mcnemar_ignoring_pictures", "only_run_right", "only_baseline_right", "published", "mark",
)  # fmt: skip
FLIP_COLUMNS = (
    "dataset", "run", "baseline", "right", "key", "index", "image", "platform", "split", "text",
    "truth", "run_reply", "run_read_as", "baseline_reply", "baseline_read_as",
)  # fmt: skip


def figures_csv(comparison: Comparison) -> str:
    """Accuracies (percent) and differences (percentage points), `kind` tells which."""
    rows: list[Mapping[str, Any]] = []
    for board in comparison.boards:
        for row in board.rows:
            for column, cell in zip(board.columns, row.cells, strict=True):
                if cell is not None:
                    rows.append({
                        "kind": "accuracy", "dataset": board.dataset, "run": row.name,
                        "split": board.split or column.split, "platform": column.key,
                        "value": cell.value, "low": cell.low, "high": cell.high,
                        "samples": cell.samples, "published": int(row.is_published),
                        "mark": row.mark,
                    })  # fmt: skip
    for pair in comparison.pairs:
        rows += [_difference(pair, each) for each in pair.differences]
    return _csv(FIGURE_COLUMNS, rows)


def flips_csv(comparison: Comparison) -> str:
    """Every flipped sample of every pair, both replies whole."""
    rows = (_flip(pair, each) for pair in comparison.pairs for each in pair.flips)
    return _csv(FLIP_COLUMNS, rows)


def _difference(pair: PairOfRuns, each: Difference) -> dict[str, Any]:
    return {
        "kind": "difference", "dataset": pair.dataset, "run": pair.run, "baseline": pair.baseline,
        "group": each.group, "value": each.points, "low": each.low, "high": each.high,
        "samples": each.samples, "pictures": each.pictures, "run_accuracy": each.run_pct,
        "baseline_accuracy": each.baseline_pct, "p_sign_flip": each.p_value,
        "p_holm": each.p_holm, "p_mcnemar_ignoring_pictures": each.p_mcnemar,
        "only_run_right": each.only_run, "only_baseline_right": each.only_baseline,
    }  # fmt: skip


def _flip(pair: PairOfRuns, flip: Flip) -> dict[str, Any]:
    facts, other = flip.run_facts, flip.baseline_facts
    return {
        "dataset": pair.dataset, "run": pair.run, "baseline": pair.baseline,
        "right": pair.run if flip.run_is_right else pair.baseline, "key": flip.key,
        **{name: facts.get(name) for name in ("index", "image", "platform", "split", "text")},
        "truth": truth_text(facts), "run_reply": reply_text(facts),
        "run_read_as": read_as_text(facts), "baseline_reply": reply_text(other),
        "baseline_read_as": read_as_text(other),
    }  # fmt: skip


def _csv(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    file = io.StringIO()
    writer = csv.writer(file, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([safe_cell(row.get(column)) for column in columns])
    return file.getvalue()
