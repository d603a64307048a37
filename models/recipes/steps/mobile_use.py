"""Calls of `mobile_use`, the tool of Qwen's phones: read, and written for a history.

`{"name": "mobile_use", "arguments": {"action": "click", "coordinate": [540, 1200]}}`. Qwen2.5-VL,
Qwen3-VL, GUI-Owl, InfiGUI-R1 and UI-S1 share it; a swipe is a drag of the finger.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from models.recipes.reading import NOT_READ
from models.recipes.steps import (
    DRAGS,
    StepFields,
    ToPoint,
    drag,
    finish,
    point_of,
    press,
    texts,
    whole,
)
from utils.contracts import WH

OPENING, CLOSING = "<tool_call>", "</tool_call>"
BARE = '{"name": "mobile_use", "arguments":'
DECODER = json.JSONDecoder(strict=False)  # models write line feeds into texts as they are
STATUSES = ("success", "failure")
MEANT = {"menu": "recent"}  # "opening the application background menu"
WRITTEN = {"recent": "Menu"}


def arguments_of(reply: str) -> dict[str, Any]:
    """The arguments of the first call behind the thinking.

    The call stands behind `<tool_call>`, or by itself.

    Raises:
        ValueError, LookupError, TypeError: there is none.
    """
    answer = reply.rpartition("</think>")[2]
    written = answer.partition(OPENING)[2].partition(CLOSING)[0]
    if OPENING not in answer:
        written = answer[answer.index(BARE) :]
    call, _ = DECODER.raw_decode(written.lstrip())
    arguments = call["arguments"]
    if not isinstance(arguments, dict):
        raise TypeError("the arguments are no object")
    return arguments


def parse_call(reply: str, to_point: ToPoint) -> StepFields | None:
    """The action of the first call of a reply; None: there is none that can be read."""
    try:
        return action_of(arguments_of(reply), to_point)
    except NOT_READ:
        return None


def action_of(arguments: Mapping[str, Any], to_point: ToPoint) -> StepFields | None:
    """The action that arguments name; None: no recorded step has such an action.

    Raises:
        ValueError, LookupError, AttributeError: something is missing or of another form.
    """
    name = arguments["action"]
    if name in ("click", "long_press"):
        return {"kind": name, "point": point_of(arguments["coordinate"], to_point)}
    if name == "swipe":
        start, end = arguments["coordinate"], arguments["coordinate2"]
        return drag(point_of(start, to_point), point_of(end, to_point))
    if name in ("type", "open"):
        return texts("type" if name == "type" else "open_app", arguments["text"])
    if name == "system_button":
        return press(arguments["button"], MEANT)
    if name == "wait":
        return {"kind": "wait"}
    if name == "terminate" and arguments["status"] in STATUSES:
        return finish(is_success=arguments["status"] == "success")
    if name == "answer":
        return finish(is_success=True, words=arguments["text"])
    if name == "interact":  # the user is asked to go on
        return finish(is_success=False, words=arguments.get("text"))
    return None


def arguments_for(action: StepFields, full_scale: WH) -> dict[str, Any]:
    """The arguments of a call that does an action, `full_scale` being the far edges."""
    kind = action["kind"]
    if kind in ("click", "long_press"):
        return {"action": kind, "coordinate": [*whole(action["point"], full_scale)]}
    if kind == "swipe":
        start, end = (whole(point, full_scale) for point in DRAGS[action["direction"]])
        return {"action": "swipe", "coordinate": [*start], "coordinate2": [*end]}
    if kind in ("type", "open_app"):
        return {"action": "type" if kind == "type" else "open", "text": action["text"]}
    if kind == "press":
        button = action["button"]
        return {"action": "system_button", "button": WRITTEN.get(button, button.capitalize())}
    return {"action": kind, "time": 1}


def written_call(action: StepFields, full_scale: WH) -> str:
    """A whole call that does an action."""
    call = {"name": "mobile_use", "arguments": arguments_for(action, full_scale)}
    return f"{OPENING}\n{json.dumps(call, ensure_ascii=False)}\n{CLOSING}"
