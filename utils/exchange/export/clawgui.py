"""ClawGUI's `predictions.jsonl`, which its judge takes.

Source: ClawGUI @ d990d3e `main.py`, README "Data Format". The reply stands in a column
that is named for the type of model there; here for the recipe, else for the model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from utils.contracts import Facts
from utils.exchange.export.rows import (
    box_px_of,
    error_of,
    id_of,
    is_answered,
    size_of,
    snapped,
)
from utils.exchange.export.run import ExportedRun, ExportedSet
from utils.exchange.formats.clawgui import REPLY
from utils.protocol import IMPORTED, L2_NAME
from utils.store.folder import safe_name
from utils.store.strict_json import to_json

NAME = "clawgui"
TITLE = "ClawGUI's predictions, which its judge takes"
IS_FIGURE = False
IS_OF_ONE = True
LEVEL_2 = "mmbench-gui"
TABLES = {
    L2_NAME: LEVEL_2,
    "ScreenSpot-Pro": "screenspot-pro",
    "ScreenSpot-v2": "screenspot-v2",
    "ui-vision": "ui-vision",
    "OSWorld-G": "osworld-g",
}
"""ClawGUI's names of tables, by the name of the annotations."""
REFUSAL = "refusal"
PLATFORM_PREFIX, MAC = "os_", {"mac": "macos"}  # "os_mac" is "macos" there


def takes(dataset: ExportedSet) -> bool:
    """Whether ClawGUI has the table, and each row has one reply that is readable alone."""
    is_single = dataset.entry.get("repeats", 1) == 1
    return dataset.table in TABLES and is_single and dataset.has_replies_alone


def file_name(run: ExportedRun) -> str:
    """The name of the file."""
    return f"{run.file_stem}_{TABLES[run.sets[0].table]}_predictions.jsonl"


def content(run: ExportedRun) -> bytes:
    """The file: a JSON object on each line."""
    dataset = run.sets[0]
    table = TABLES[dataset.table]
    lines = []
    for facts in dataset.samples:
        row = _row(facts, table)
        row[_model_type(run) + REPLY] = dataset.reply_of(facts) or ""
        if not is_answered(facts):
            row["error"] = error_of(facts)
        if run.imported is not None:
            row["origin"] = IMPORTED
        lines.append(to_json(row) + "\n")
    return "".join(lines).encode()


def next_steps(run: ExportedRun, path: str) -> Sequence[str]:
    """The user's next steps with the file."""
    folder = f"{TABLES[run.sets[0].table]}-{_model_type(run)}"
    return [f"ClawGUI's judge reads {path} as output/<experiment>/{folder}/predictions.jsonl"]


def _model_type(run: ExportedRun) -> str:
    """The name of the family there: `maiui` of the recipe `mai_ui`."""
    recipe = run.scoring_entry(run.sets[0]).get("recipe")
    return str(recipe).replace("_", "") if recipe else safe_name(run.model)


def _row(facts: Facts, table: str) -> dict[str, Any]:
    """The row of the data, without the reply."""
    identifier = id_of(facts)
    image = str(facts.get("image") or "")
    platform = str(facts.get("platform") or "").removeprefix(PLATFORM_PREFIX)
    row: dict[str, Any] = {
        "id": f"{table}_{identifier}" if table == LEVEL_2 else str(identifier),
        "question": facts.get("text"),
        "answer": box_px_of(facts),
        "image": f"image/{table}/{image if table == LEVEL_2 else image.rpartition('/')[2]}",
        "image_size": list(size_of(facts)),
        "platform": MAC.get(platform, platform),
        "ui_type": facts.get("kind"),
        "application": facts.get("app"),
        "system_prompt": _system_prompt(facts),
    }
    if table == LEVEL_2:
        row["grounding_type"] = facts.get("split")
    elif TABLES["OSWorld-G"] == table:
        row |= _shape(facts)
    return row


def _shape(facts: Facts) -> dict[str, Any]:
    """The kind of target, and its corners; of what is not there four zeros."""
    labels: Mapping[str, Sequence[str]] = facts.get("groups") or {}
    kind = str(next(iter(labels.get("box_type", ())), facts.get("split")))
    shape: dict[str, Any] = {"box_type": kind, "ui_type": [*labels.get("category", ())]}
    polygons = (facts.get("target") or {}).get("polygons")
    if kind == REFUSAL:
        shape["answer"] = [0, 0, 0, 0]
    elif polygons:
        width, height = size_of(facts)
        corners = [(snapped(x * width), snapped(y * height)) for x, y in polygons[0]]
        shape["answer"] = [value for corner in corners for value in corner]
    return shape


def _system_prompt(facts: Facts) -> list[str]:
    messages = facts.get("prompt") or ()
    return [str(message["value"]) for message in messages if message.get("role") == "system"]
