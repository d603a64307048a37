"""ScreenSpot-Pro's result file, as its script writes it: a row for each sample, and five blocks.

Source: likaixin2000/ScreenSpot-Pro-GUI-Grounding @ bd8bbbb `eval_screenspot_pro.py`. A row without
an answer has an `error` besides, which the script does not know; it counts as wrong format there.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from utils.contracts import Facts, Verdict
from utils.exchange.export.rows import (
    box_px_of,
    error_of,
    id_of,
    is_answered,
    point_px_of,
)
from utils.exchange.export.run import ExportedRun, ExportedSet
from utils.protocol import MADE_ELSEWHERE

NAME = "screenspot_pro"
TITLE = "ScreenSpot-Pro's result file, with rows and metrics"
IS_FIGURE = False
IS_OF_ONE = True
TABLE = "ScreenSpot-Pro"
CHINESE = f"{TABLE}, language cn"
REPOSITORY = "https://github.com/likaixin2000/ScreenSpot-Pro-GUI-Grounding"
CORRECT, WRONG, WRONG_FORMAT = "correct", "wrong", "wrong_format"
Row = Mapping[str, Any]
Metrics = dict[str, Any]


def takes(dataset: ExportedSet) -> bool:
    """Whether a data set is this table, with one answer to each row."""
    is_single = dataset.entry.get("repeats", 1) == 1
    return is_single and dataset.table in (TABLE, CHINESE)


def file_name(run: ExportedRun) -> str:
    """The name of the file: that of the model, as the leaderboard reads it."""
    return f"{run.file_stem}.json"


def content(run: ExportedRun) -> bytes:
    """The file."""
    dataset = run.sets[0]
    details = rows_of(dataset)
    report: dict[str, Any] = {"details": details, "metrics": metrics_of(details)}
    notes: list[str] = []
    if run.imported is not None:
        notes.append(f"{MADE_ELSEWHERE}: {run.imported.get('file')}")
    if dataset.why_no_figure:
        notes.append(f"not for the leaderboard: {dataset.name} {dataset.why_no_figure}")
    if notes:
        report["notes"] = "; ".join(notes)
    return (json.dumps(report, indent=4) + "\n").encode()


def next_steps(run: ExportedRun, _path: str) -> Sequence[str]:
    """The user's next steps with the file."""
    dataset = run.sets[0]
    if dataset.why_no_figure:
        return [f"Not for the leaderboard: {dataset.name} {dataset.why_no_figure}"]
    return [
        "To submit to the leaderboard of ScreenSpot-Pro, send this file, its row (--export "
        f"{NAME}_leaderboard) and the code or a document by e-mail: {REPOSITORY}"
    ]


def rows_of(dataset: ExportedSet) -> list[dict[str, Any]]:
    """The rows, in the order of the table."""
    language = "cn" if dataset.table == CHINESE else "en"
    return [_row(facts, dataset, language) for facts in dataset.samples]


def _row(facts: Facts, dataset: ExportedSet, language: str) -> dict[str, Any]:
    row = {
        "id": id_of(facts),
        "img_path": facts.get("image"),
        "group": facts.get("split"),
        "platform": facts.get("platform"),
        "application": facts.get("app"),
        "lang": language,
        "instruction_style": "instruction",
        "prompt_to_evaluate": facts.get("text"),
        "gt_type": "positive",
        "ui_type": facts.get("kind"),
        "task_filename": f"{facts.get('app')}_{facts.get('platform')}",
        "pred": point_px_of(facts),
        "raw_response": _response(facts, dataset),
        "bbox": box_px_of(facts),
        "correctness": _correctness(facts),
    }
    if not is_answered(facts):
        row["error"] = error_of(facts)
    return row


def _response(facts: Facts, dataset: ExportedSet) -> Any:
    """The reply; of two looks an object with both, as neither says alone what was answered."""
    zoom = facts.get("zoom")
    if not zoom:
        return dataset.reply_of(facts)
    return {"first_look": zoom.get("first_reply"), "second_look": dataset.response_of(facts)}


def _correctness(facts: Facts) -> str:
    if facts["hit"]:
        return CORRECT
    return WRONG_FORMAT if facts.get("verdict") in (None, Verdict.UNPARSED) else WRONG


# -- metrics --------------------------------------------------------------------------------------


def metrics_of(details: Sequence[Row]) -> Metrics:
    """The five blocks of metrics; shares are fractions, 0 where there is nothing to count."""
    style = "inst_style:{instruction_style} gt_type:{gt_type}"
    return {
        "fine_grained": _by(details, ("plat:{platform} app:{application} " + style).format_map),
        "seeclick_style": _by(details, ("plat:{platform} " + style).format_map),
        "leaderboard_simple_style": _by(details, "group:{group}".format_map),
        "leaderboard_detailed_style": _by(details, "app:{application}".format_map),
        "overall": _block(details),
    }


def _by(details: Sequence[Row], label: Callable[[Row], str]) -> dict[str, Metrics]:
    groups: dict[str, list[Row]] = {}
    for row in details:
        groups.setdefault(label(row), []).append(row)
    return {name: _block(rows) for name, rows in groups.items()}


def _block(rows: Sequence[Row]) -> Metrics:
    formats = [row["correctness"] for row in rows]
    return {
        "num_correct_action": formats.count(CORRECT),
        "num_total": len(rows),
        "wrong_format_num": formats.count(WRONG_FORMAT),
        "action_acc": _share(rows),
        "text_acc": _share([row for row in rows if row["ui_type"] == "text"]),
        "icon_acc": _share([row for row in rows if row["ui_type"] == "icon"]),
    }


def _share(rows: Sequence[Row]) -> float:
    correct = sum(row["correctness"] == CORRECT for row in rows)
    return correct / len(rows) if rows else 0
