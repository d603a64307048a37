"""MAI-UI at recorded steps: calls of its `mobile_use`, points of 999, swipes named by the finger.

The system text is the authors' with its list of apps, which are those of AndroidWorld.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from models.recipes.agents import OTHER_WAY, text
from models.recipes.agents.mai_ui import EARLIER_IMAGES, FULL_SCALE, SYSTEM
from models.recipes.reading import NOT_READ, braced_call
from models.recipes.steps import (
    StepFields,
    as_parsed,
    conversation,
    drag,
    finish,
    of_scale,
    point_of,
    press,
    swipe,
    task_of,
    texts,
    told_step,
    whole,
)
from utils.contracts import Line, Message, Point

BUTTONS = ("back", "home", "menu", "enter")
STATUSES = {"success": True, "fail": False}


def build_step_prompt(line: Line, dataset: str, **settings: Any) -> list[Message]:
    """Return the system text, the task, earlier steps as turns, and the screen.

    The last two steps before this one have their screenshots.
    """

    def words(step: Mapping[str, Any]) -> str:
        if line["history_kind"] == "instructions":
            return f"<thinking>\n{step['instruction']}\n</thinking>"
        return told_step(line, step, written, str, settings)

    first, *others = conversation(line, words, EARLIER_IMAGES)
    if first["role"] == "user":
        first["turn"] = "new"
    return [text(SYSTEM, "system"), text(task_of(line)), first, *others]


def written(action: StepFields) -> str:
    """A recorded action in the words of MAI-UI."""
    call = {"name": "mobile_use", "arguments": _arguments(action)}
    return f"<tool_call>\n{json.dumps(call, ensure_ascii=False)}\n</tool_call>"


def _arguments(action: StepFields) -> dict[str, Any]:
    kind = action["kind"]
    if kind in ("click", "long_press"):
        return {"action": kind, "coordinate": [*whole(action["point"], (FULL_SCALE, FULL_SCALE))]}
    if kind == "swipe":
        return {"action": "swipe", "direction": OTHER_WAY[action["direction"]]}
    if kind in ("type", "open_app"):
        return {"action": "type" if kind == "type" else "open", "text": action["text"]}
    if kind == "press":
        return {"action": "system_button", "button": action["button"]}
    return {"action": kind}


def parse_step(response: str, meta: Mapping[str, Any]) -> StepFields | None:
    """Return the action of the first call behind the thinking."""
    try:
        answer = response.partition("</thinking>")[2] or response
        return as_parsed(_action(json.loads(braced_call(answer, 0))["arguments"]), meta)
    except NOT_READ:
        return None


def _action(call: Mapping[str, Any]) -> StepFields | None:
    name = call["action"]
    if name in ("click", "long_press"):
        return {"kind": name, "point": _point(call["coordinate"])}
    if name == "drag":
        return drag(_point(call["start_coordinate"]), _point(call["end_coordinate"]))
    if name == "swipe":
        return swipe(call["direction"], "finger")
    if name in ("type", "open"):
        return texts("type" if name == "type" else "open_app", call["text"])
    if name == "system_button" and call["button"].lower() in BUTTONS:
        return press(call["button"])
    if name == "wait":
        return {"kind": "wait"}
    if name == "terminate":
        return finish(is_success=STATUSES[call["status"]])
    return finish(is_success=True, words=call["text"]) if name == "answer" else None


def _point(numbers: Any) -> Point:
    return point_of(numbers, of_scale(FULL_SCALE))
