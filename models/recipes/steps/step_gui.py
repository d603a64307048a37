"""StepGUI at recorded steps: fields that tabs divide, points per mille, the history as a summary.

It has no words for the back button, so rows that ask for it cannot be right.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from models.recipes.agents import text
from models.recipes.agents.step_gui import AFTER_IMAGE, BEFORE_IMAGE, NO_HISTORY, TASK, fields_of
from models.recipes.reading import NOT_READ
from models.recipes.steps import (
    DRAGS,
    StepFields,
    as_parsed,
    drag,
    filled,
    finish,
    of_scale,
    point_of,
    screen,
    task_of,
    told_steps,
    whole,
)
from utils.contracts import Line, Message, Point

FULL_SCALE = (1000, 1000)
DEFINITION = f"{TASK}\n"
FORMAT = f"{AFTER_IMAGE}\n"


def build_step_prompt(line: Line, dataset: str, **settings: Any) -> list[Message]:
    """Return the action space, the task with what was done, the screen, and what to answer."""
    slots = {"{task}": task_of(line), "{history_display}": _history(line, settings) or NO_HISTORY}
    return [text(DEFINITION), text(filled(BEFORE_IMAGE, slots)), screen(line), text(FORMAT)]


def _history(line: Line, settings: Mapping[str, Any]) -> str:
    """The last summary of the model's own, else a line for each step before."""
    if line["history_kind"] != "own":
        told = told_steps(line, written, str, settings)
        return "\n".join(f"{number}. {words}" for number, words in enumerate(told, 1))
    summary = ""
    for step in line["history"]:
        summary = fields_of(step.get("reply") or "").get("summary") or summary
    return summary


def written(action: StepFields) -> str:
    """A recorded action in the words of StepGUI."""
    kind = action["kind"]
    if kind in ("click", "long_press"):
        name = "CLICK" if kind == "click" else "LONGPRESS"
        return f"action:{name}\tpoint:{_pair(action['point'])}"
    if kind == "swipe":
        start, end = DRAGS[action["direction"]]
        return f"action:SLIDE\tpoint1:{_pair(start)}\tpoint2:{_pair(end)}"
    if kind in ("type", "open_app"):
        return f"action:{'TYPE' if kind == 'type' else 'AWAKE'}\tvalue:{action['text']}"
    if kind == "press":
        return f"action:{action['button'].upper()}"
    return "action:WAIT\tvalue:1"


def _pair(point: Sequence[float]) -> str:
    x, y = whole(point, FULL_SCALE)
    return f"{x},{y}"


def parse_step(response: str, meta: Mapping[str, Any]) -> StepFields | None:
    """Return the action of the fields behind the thoughts."""
    try:
        fields = fields_of(response)
        return as_parsed(_action(fields["action"], fields), meta)
    except NOT_READ:
        return None


def _action(name: str, fields: Mapping[str, str]) -> StepFields | None:
    if name in ("CLICK", "LONGPRESS"):
        kind = "click" if name == "CLICK" else "long_press"
        return {"kind": kind, "point": _point(fields["point"])}
    if name == "TYPE":
        typed: StepFields = {"kind": "type", "text": fields["value"]}
        if "point" in fields:
            typed["point"] = _point(fields["point"])
        return typed
    if name == "SLIDE":
        return drag(_point(fields["point1"]), _point(fields["point2"]))
    if name == "AWAKE":
        return {"kind": "open_app", "text": fields["value"]}
    if name == "WAIT":
        return {"kind": "wait"}
    if name == "COMPLETE":
        return finish(is_success=True, words=fields.get("return"))
    if name in ("ABORT", "INFO"):  # INFO asks the user, without whom it cannot go on
        return finish(is_success=False, words=fields.get("value"))
    return None


def _point(written: str) -> Point:
    """The first two numbers of `x,y` or `x y`."""
    x, y = written.replace(",", " ").split()[:2]
    return point_of([int(x), int(y)], of_scale(FULL_SCALE[0]))
