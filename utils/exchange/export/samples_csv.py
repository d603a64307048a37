"""A table of all samples as CSV, for spreadsheets and scripts.

The import reads it as plain rows.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

from utils.contracts import Facts, repeat_of
from utils.exchange.export.rows import error_of, id_of
from utils.exchange.export.run import ExportedRun, ExportedSet
from utils.protocol import IMPORTED
from utils.store.strict_json import to_json

NAME = "csv"
TITLE = "a row for each sample, for spreadsheets and scripts"
IS_FIGURE = False
IS_OF_ONE = False
COLUMNS = (
    *("model", "dataset", "origin", "id", "repeat", "image", "platform", "app", "split", "kind"),
    *("instruction", "status", "verdict", "hit", "point_frac", "declined"),
    *("chosen", "answer", "options", "judge", "reply"),
    *("finish_reason", "prompt_tokens", "completion_tokens", "latency_s", "server", "error"),
)
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # what spreadsheets take for a formula at the start


def takes(dataset: ExportedSet) -> bool:
    """Whether a data set has samples; each has."""
    return bool(dataset.samples)


def file_name(run: ExportedRun) -> str:
    """The name of the file."""
    return f"{run.file_stem}_samples.csv"


def content(run: ExportedRun) -> bytes:
    """The table, with a byte order mark, by which spreadsheets know UTF-8."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for dataset in run.sets:
        for facts in dataset.samples:
            row = _row(facts, dataset) | {"model": run.model, "dataset": dataset.name}
            row["origin"] = "" if run.imported is None else IMPORTED
            writer.writerow({name: _cell(value) for name, value in row.items()})
    return text.getvalue().encode("utf-8-sig", "backslashreplace")


def next_steps(_run: ExportedRun, _path: str) -> Sequence[str]:
    """The user's next steps with the file: none."""
    return ()


def _row(facts: Facts, dataset: ExportedSet) -> dict[str, Any]:
    usage = facts.get("usage") or {}
    names = (
        *("image", "platform", "app", "split", "kind", "status", "verdict", "hit", "point_frac"),
        *("declined", "chosen", "answer", "options", "finish_reason", "latency_s", "server"),
    )
    return {
        **{name: facts.get(name) for name in names},
        "id": id_of(facts),
        "repeat": repeat_of(facts["key"]),
        "instruction": facts.get("text"),
        "reply": dataset.reply_of(facts),
        "prompt_tokens": usage.get("prompt_tokens"),
        "completion_tokens": usage.get("completion_tokens"),
        "judge": (facts.get("judge") or {}).get("choice"),
        "error": error_of(facts),
    }


def _cell(value: Any) -> Any:
    """A value as a cell: what would be run as a formula gets an apostrophe, lists are JSON."""
    if isinstance(value, str):
        return f"'{value}" if value.startswith(FORMULA) else value
    return value if value is None or isinstance(value, (int, float)) else to_json(value)
