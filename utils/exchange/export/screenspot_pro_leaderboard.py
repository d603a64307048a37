"""The row of a model in ScreenSpot-Pro's leaderboard, in fractions.

Source: likaixin2000/ScreenSpot-Pro-GUI-Grounding @ bd8bbbb `leaderboard_submission.ipynb`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from utils.exchange.export.run import ExportedRun, ExportedSet
from utils.exchange.export.screenspot_pro import (
    NAME as RESULT_FILE,
)
from utils.exchange.export.screenspot_pro import (
    REPOSITORY,
    TABLE,
    metrics_of,
    rows_of,
)

NAME = "screenspot_pro_leaderboard"
TITLE = "the row of ScreenSpot-Pro's leaderboard"
IS_FIGURE = True
IS_OF_ONE = True
GROUPS = ("Dev", "Creative", "CAD", "Scientific", "Office", "OS")
APPLICATIONS = (
    *("android_studio", "pycharm", "quartus", "vmware", "vscode"),
    *("blender", "davinci", "fruitloops", "illustrator", "photoshop", "premiere", "unreal_engine"),
    *("autocad", "inventor", "solidworks", "vivado"),
    *("eviews", "matlab", "origin", "stata"),
    *("excel", "powerpoint", "word"),
    *("linux_common", "macos_common", "windows_common"),
)


def takes(dataset: ExportedSet) -> bool:
    """Whether a data set is this table, in English."""
    return dataset.table == TABLE


def file_name(run: ExportedRun) -> str:
    """The name of the file."""
    return f"{run.file_stem}_leaderboard.json"


def content(run: ExportedRun) -> bytes:
    """The file: an object with the model's name as its key."""
    dataset = run.sets[0]
    metrics = metrics_of(rows_of(dataset))
    by_group, by_application = (
        metrics[f"leaderboard_{style}_style"] for style in ("simple", "detailed")
    )
    results = {
        "group": {name: _cells(by_group[f"group:{name}"]) for name in GROUPS},
        "application": {name: _cells(by_application[f"app:{name}"]) for name in APPLICATIONS},
        "overall": _cells(metrics["overall"]),
    }
    link = f"https://huggingface.co/{run.hub_id}" if run.hub_id else ""
    row = {"link": link, "description": run.notes(dataset), "results": results}
    return (json.dumps({run.model: row}, indent=4) + "\n").encode()


def next_steps(run: ExportedRun, path: str) -> Sequence[str]:
    """The user's next steps with the file."""
    steps = [
        f"To submit the row, send it by e-mail with the result file (--export {RESULT_FILE}) and "
        f"the code or a document: {REPOSITORY}"
    ]
    if not run.hub_id:
        steps.insert(0, f'Fill in "link" in {path}: the address of the model or its code')
    return steps


def _cells(block: Mapping[str, Any]) -> dict[str, float]:
    return {"icon": block["icon_acc"], "text": block["text_acc"], "avg": block["action_acc"]}
