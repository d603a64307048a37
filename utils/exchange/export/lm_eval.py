"""`results.json` as lm-eval writes it, for dashboards and scripts that collect such files.

Source: EleutherAI/lm-evaluation-harness @ 4e7e0d4 `evaluator_utils.py`, `evaluation_tracker.py`.
Values are fractions. A standard error is that of the interval by image.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping, Sequence
from typing import Any

from utils.exchange.export.run import ExportedRun, ExportedSet
from utils.exchange.export.tables import TABLES
from utils.protocol import IMPORTED
from utils.store.folder import safe_name

NAME = "lm_eval"
TITLE = "results.json as lm-eval writes it"
IS_FIGURE = True
IS_OF_ONE = False
VERSION = 1.0
HALF_WIDTH = 1.959964  # of a 95 % interval, in standard errors
ACCURACY, MICRO = "acc", "micro"


def takes(dataset: ExportedSet) -> bool:
    """Whether a data set is a published table."""
    return dataset.table in TABLES


def file_name(run: ExportedRun) -> str:
    """The name of the file, in a folder for the model."""
    moment = _moment(run).strftime("%Y-%m-%dT%H-%M-%S.%f")
    return f"{run.file_stem}/results_{moment}.json"


def content(run: ExportedRun) -> bytes:
    """The file."""
    sets = {TABLES[dataset.table].task: dataset for dataset in run.sets}
    metrics = {task: _metrics(dataset) for task, dataset in sets.items()}
    asking = run.manifest.get("asking") or {}
    wall_s = float(asking.get("wall_s") or 0)
    kind = str(run.entry.get("imp_type") or "") if run.imported is None else IMPORTED
    report = {
        "results": {task: _result(task, cells) for task, cells in metrics.items()},
        "group_subtasks": {task: [] for task in sets},
        "configs": {task: _config(run, task, dataset) for task, dataset in sets.items()},
        "versions": dict.fromkeys(sets, VERSION),
        "n-shot": dict.fromkeys(sets, 0),
        "higher_is_better": {task: dict.fromkeys(cells, True) for task, cells in metrics.items()},
        "n-samples": {task: _samples(dataset) for task, dataset in sets.items()},
        "config": {
            "model": kind,
            "model_args": {"model": run.model},
            "limit": None,
            "gen_kwargs": dict(run.entry.get("generate_cfg") or {}),
        },
        "git_hash": run.commit[:8],
        "date": _moment(run).timestamp(),
        "task_hashes": {},
        "model_source": kind,
        "model_name": run.model,
        "model_name_sanitized": safe_name(run.model),
        "start_time": 0.0,
        "end_time": wall_s,
        "total_evaluation_time_seconds": str(wall_s),
    }
    return (json.dumps(report, indent=2) + "\n").encode()


def next_steps(_run: ExportedRun, _path: str) -> Sequence[str]:
    """The user's next steps with the file: none."""
    return ()


def _moment(run: ExportedRun) -> datetime.datetime:
    """When the answers were made."""
    if not run.made_at:
        return datetime.datetime.fromtimestamp(0, datetime.UTC)
    return datetime.datetime.fromisoformat(run.made_at).astimezone(datetime.UTC)


def _metrics(dataset: ExportedSet) -> dict[str, Mapping[str, Any]]:
    """The cells of the headlines by their short names: `acc`, or `average` and `micro`."""
    cells = [*dataset.headlines.items()]
    if len(cells) == 1:
        return {ACCURACY: cells[0][1]}
    return {title.partition(" ")[0]: cell for title, cell in cells}


def _result(task: str, cells: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    values: dict[str, Any] = {"alias": task}
    for name, cell in cells.items():
        values[f"{name},none"] = cell["value"] / 100
        values[f"{name}_stderr,none"] = _standard_error(cell)
    return values


def _standard_error(cell: Mapping[str, Any]) -> float | str:
    if cell.get("low") is None:
        return "N/A"
    width: float = cell["high"] - cell["low"]
    return width / 200 / HALF_WIDTH


def _config(run: ExportedRun, task: str, dataset: ExportedSet) -> dict[str, Any]:
    notes = run.notes(dataset)
    metadata = {"version": VERSION, "notes": notes, IMPORTED: run.imported is not None}
    return {"task": task, "dataset_path": TABLES[dataset.table].hub_id, "metadata": metadata}


def _samples(dataset: ExportedSet) -> dict[str, int]:
    return {"original": len(dataset.samples), "effective": len(dataset.samples)}
