"""The forms in which others publish AndroidControl, as episodes of its official file.

    official     MobileAgent: an episode a line
    infigui_r1   InfiGUI-R1: an episode an object, with lists of its actions
    gui_r1       GUI-R1 and AndroidControl-Curated: a step an object, without ids; texts are cut to
                 their first word and points are whole per mille
    uground      UGround: 500 sampled steps, with their accessibility trees

A form is recognised by its columns. Rows without ids are found in the official file by instruction,
earlier instructions where the row has them, and action.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.steps.files import check_columns, read_rows_of
from utils.errors import UserError
from utils.text import listed

OFFICIAL, INFIGUI_R1, GUI_R1, UGROUND = "official", "infigui_r1", "gui_r1", "uground"
COLUMNS: Mapping[str, tuple[str, ...]] = {
    OFFICIAL: ("episode_id", "goal", "steps"),
    INFIGUI_R1: ("episode", "step_pams", "step_check_pams", "width", "height"),
    GUI_R1: ("image", "instruction", "gt_action", "gt_bbox", "gt_input_text"),
    UGROUND: ("episode_id", "step", "goal", "step_instruction", "action"),
}
FORMS = tuple(COLUMNS)
ANY = "any"
FILE = "android_control_test.jsonl"
SUFFIXES = (".json", ".jsonl", ".parquet")
MOST_PX_OFF = 4  # to the left and up: what whole per mille take off a point of 3,120 pixels
GUI_R1_KINDS = {"type": "type", "open_app": "open", "scroll": "swipe", "wait": "wait"}
GUI_R1_BUTTONS = {"press_back": "Back", "press_home": "Home"}
UGROUND_STATUS = {"successful": "success", "infeasible": "failure"}

Rows = Sequence[tuple[str, dict[str, Any]]]
"""Objects of a file, each with its place for messages."""


@dataclass(frozen=True)
class StepFile:
    """The file that rows come from."""

    path: Path
    form: str
    rows: Rows


def find_source(folder: Path, form: str, level: str) -> StepFile:
    """The file of a form in a folder; of several forms the official one.

    Args:
        form: one of `FORMS`, or `ANY`.
        level: "high" or "low", which names of files tell apart.

    Raises:
        UserError: there is none, there are several, or it has other columns.
    """
    official = folder / FILE
    if form in (ANY, OFFICIAL) and (official.is_file() or form == OFFICIAL):
        return _source(official, OFFICIAL)
    paths = [path for path in sorted(folder.glob("*")) if _is_table(path)]
    if not paths:
        return _source(official, OFFICIAL)  # says that it is missing
    problems: list[str] = []
    sources = []
    for path in _of_level(paths, level):
        try:
            sources.append(_source(path, form))
        except UserError as error:
            problems += error.problems
    if not sources:
        raise UserError(problems[:1])
    if len(sources) > 1:
        names = listed([source.path.name for source in sources])
        raise UserError(
            f'{folder}: several files fit ({names}). Set "form" to one of '
            f"{', '.join(FORMS)}; or keep one file of each form and level"
        )
    return sources[0]


def _is_table(path: Path) -> bool:
    is_named = path.suffix in SUFFIXES and not path.name.startswith(".") and path.name != FILE
    return is_named and path.is_file() and "subsplits" not in path.name


def _of_level(paths: Sequence[Path], level: str) -> list[Path]:
    """The files whose names do not tell of the other level."""
    other = "low" if level == "high" else "high"
    return [path for path in paths if other not in path.name.split("_")] or list(paths)


def _source(path: Path, form: str) -> StepFile:
    rows = read_rows_of(path)
    if not rows:
        raise UserError(f"{path}: is empty")
    position, row = rows[0]
    fitting = [name for name, columns in COLUMNS.items() if set(columns) <= set(row)]
    if form != ANY and form not in fitting:
        check_columns(position, row, COLUMNS[form], f"the form {form}")
    if not fitting:
        expected = "; or ".join(f"{', '.join(COLUMNS[name])} ({name})" for name in FORMS)
        raise UserError(
            f"{position}: has the columns {', '.join(row)}, and no known form of AndroidControl "
            f"has these; expected {expected}"
        )
    return StepFile(path, fitting[0] if form == ANY else form, rows)


# -- InfiGUI-R1 -----------------------------------------------------------------------------------


def infigui_r1_episodes(rows: Rows) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the episodes of InfiGUI-R1's file in the official form.

    Raises:
        UserError: an episode has not one instruction and one screenshot for each action.
    """
    for position, row in rows:
        check_columns(position, row, COLUMNS[INFIGUI_R1], f"the form {INFIGUI_R1}")
        episode = row["episode"]
        paths = episode.get("screenshot_paths") or []
        instructions = episode.get("step_instructions") or []
        options = [_from_text(pams) for pams in row["step_check_pams"]]
        if not len(options) == len(instructions) <= len(paths):
            raise UserError(
                f"{position}: episode {episode.get('episode_id')} has {len(options)} actions, "
                f"{len(instructions)} instructions and {len(paths)} screenshots; expected one "
                "instruction and one screenshot for each action"
            )
        steps = [
            {"check_options": option, "step_instruction": instruction, "screenshot": path}
            for option, instruction, path in zip(options, instructions, paths, strict=False)
        ]
        yield (
            position,
            {"episode_id": episode.get("episode_id"), "goal": episode.get("goal"), "steps": steps},
        )


def _from_text(value: Any) -> Any:
    return json.loads(value) if isinstance(value, str) else value


# -- GUI-R1 and Curated ---------------------------------------------------------------------------

StepId = tuple[int, int]  # episode and step


@dataclass(frozen=True)
class Found:
    """Rows without ids, found in the official file."""

    recorded: Mapping[StepId, Mapping[str, Any]]  # the action as the row has it
    images: Mapping[StepId, str]  # as the row names it
    left_out: Sequence[str]  # places of rows that fit no step, or several


def find_steps(rows: Rows, episodes: Sequence[Mapping[str, Any]], level: str) -> Found:
    """Find the step of each row.

    Several rows that fit the same steps are taken in their order if they are as many as these
    steps: then the questions are the same, whichever row is which step.

    Args:
        episodes: of the official file.
        level: "high": the instruction of a row is the goal; "low": that of the step.
    """
    by_text: dict[str, list[tuple[StepId, Mapping[str, Any], str]]] = {}
    for episode in episodes:
        instructions = [step["step_instruction"] or "" for step in episode["steps"]]
        for number, step in enumerate(episode["steps"]):
            text = episode["goal"] if level == "high" else instructions[number]
            entry = ((episode["episode_id"], number), step, _history(instructions[:number]))
            by_text.setdefault(_collapsed(text), []).append(entry)
    fitting = [_fitting(row, by_text.get(_collapsed(row["instruction"]), ())) for _, row in rows]
    counts = Counter(fitting)
    recorded, images, left_out = {}, {}, []
    taken: Counter[tuple[StepId, ...]] = Counter()
    steps = {step_id: step for entries in by_text.values() for step_id, step, _ in entries}
    for (position, row), step_ids in zip(rows, fitting, strict=True):
        if not step_ids or counts[step_ids] != len(step_ids):
            fits = "several steps" if step_ids else "no step"
            left_out.append(f"{position.rpartition(', ')[2]} ({fits})")
            continue
        step_id = step_ids[taken[step_ids]]
        taken[step_ids] += 1
        boxes = steps[step_id]["check_options"].get("candidate_bbox")
        recorded[step_id] = {**_options_of(row), **({"candidate_bbox": boxes} if boxes else {})}
        images[step_id] = str(row["image"])
    return Found(recorded, images, left_out)


def _history(instructions: Sequence[str]) -> str:
    steps = [f"Step {number}: {text}" for number, text in enumerate(instructions, 1)]
    return _collapsed(" ".join(steps) or "None")


def _collapsed(text: Any) -> str:
    return " ".join(str(text or "").split())


def _fitting(
    row: Mapping[str, Any], entries: Sequence[tuple[StepId, Mapping[str, Any], str]]
) -> tuple[StepId, ...]:
    options = _options_of(row)
    history = row.get("history")
    return tuple(
        step_id
        for step_id, step, earlier in entries
        if (history is None or _collapsed(history) == earlier)
        and _is_published_form(options, step["check_options"])
    )


def _options_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """The action of a row in the official form."""
    name, text = row["gt_action"], str(row["gt_input_text"])
    if name in ("click", "long_press"):
        return {"action": name, "coordinate": list(row["gt_bbox"])[:2]}
    if name in GUI_R1_BUTTONS:
        return {"action": "system_button", "button": GUI_R1_BUTTONS[name]}
    kind = GUI_R1_KINDS.get(name, name)
    if kind == "swipe":
        return {"action": kind, "direction": text.lower()}
    return {"action": kind, "text": text} if kind in ("type", "open") else {"action": kind}


def _is_published_form(published: Mapping[str, Any], options: Mapping[str, Any]) -> bool:
    """Whether an action is what the form makes of an official one, for any size of the image."""
    if published["action"] != options["action"]:
        return False
    if "coordinate" in published:
        pairs = zip(options["coordinate"], published["coordinate"], strict=True)
        return all(-1 <= true - value <= MOST_PX_OFF for true, value in pairs)
    if "text" in published:
        return bool(published["text"].split(" ")[0] == options["text"].split(" ")[0])
    return published.get("direction") == options.get("direction")


# -- UGround --------------------------------------------------------------------------------------


def uground_options(position: str, row: Mapping[str, Any]) -> dict[str, Any]:
    """The action of a row of UGround in the official form, with the nodes of its tree.

    Raises:
        UserError: there is no such action.
    """
    action = row["action"]
    name = action.get("action_type")
    point = {"coordinate": [action["x"], action["y"]]} if "x" in action else {}
    options: Mapping[str, dict[str, Any]] = {
        "click": {"action": "click"},
        "long_press": {"action": "long_press"},
        "type_text": {"action": "type", "text": action.get("text")},
        "open_app": {"action": "open", "text": action.get("app_name")},
        "scroll": {"action": "swipe", "direction": action.get("direction")},
        "navigate_back": {"action": "system_button", "button": "Back"},
        "navigate_home": {"action": "system_button", "button": "Home"},
        "wait": {"action": "wait"},
        "status": {
            "action": "terminate",
            "status": UGROUND_STATUS.get(action.get("goal_status"), "failure"),
        },
    }
    if name not in options:
        raise UserError(f"{position}: action_type {name!r} is none of {', '.join(options)}")
    return {**options[name], **point, "nodes": _nodes(row.get("accessibility_tree") or ())}


def _nodes(tree: Sequence[Any]) -> list[list[Any]]:
    """The nodes of a tree as x1, y1, x2, y2, text, description."""
    nodes = []
    for node in tree:
        if isinstance(node, list):
            nodes += _nodes(node)
            continue
        box = node["bbox_pixels"]
        corners = [box["x_min"], box["y_min"], box["x_max"], box["y_max"]]
        nodes.append([*corners, node.get("text"), node.get("content_description")])
    return nodes
