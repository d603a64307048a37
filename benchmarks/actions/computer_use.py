"""Actions in JSON or XML: Qwen's `computer_use` calls, the computer tools of OpenAI and Claude."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from benchmarks.actions.action import (
    AT_POINTER,
    CLICKS,
    KEYS,
    MODIFIERS,
    NOTCHES,
    POINTING,
    NoAction,
)
from benchmarks.actions.reading import read_keys
from benchmarks.actions.values import (
    POINT_NAMES,
    TO_NAMES,
    ActionFields,
    Actions,
    ToPoint,
    coordinates_of,
    first_value,
    read_number,
)
from utils.contracts import ToolCall
from utils.text import did_you_mean
from utils.tool_calls import json_objects, written_calls

PIXELS_PER_NOTCH = 100  # where a model scrolls by pixels
MOST_QWEN_NOTCHES = 30  # up to which its "pixels" are notches: it was trained on pyautogui's wheel
DEEPEST_CALL = 5  # of objects within "arguments" within ...

_JSON_KINDS = {
    "click": "click",
    "left_click": "click",
    "tap": "click",
    "double_click": "double",
    "triple_click": "triple",
    "right_click": "right",
    "middle_click": "middle",
    "long_press": "long",
    "mouse_move": "move",
    "move": "move",
    "hover": "move",
    "left_click_drag": "drag",
    "drag": "drag",
    "swipe": "drag",
    "scroll": "scroll",
    "hscroll": "scroll",
    "type": "type",
    "key": "key",
    "keypress": "key",
    "hotkey": "key",
    "wait": "wait",
    "screenshot": "wait",
    "answer": "answer",
    "open": "open_app",
    "open_app": "open_app",
    "system_button": "back",
    "terminate": "done",
    "done": "done",
    "fail": "fail",
}
_ENDS = {
    "success": "done",
    "failure": "fail",
    "fail": "fail",
    "failed": "fail",
    "infeasible": "fail",
}  # by the status of a `terminate`
_PLUS = re.compile(r"(?<=\S)\s*\+\s*(?=\S)")
_BUTTONS = {  # of OpenAI's click
    "left": "click",
    "right": "right",
    "wheel": "middle",
    "middle": "middle",
    "back": "back",
}


# Names of arguments beside the usual one, which comes first.
_TEXT_NAMES = ("text", "content", "value")
_KEY_NAMES = ("keys", "key", *_TEXT_NAMES)
_APP_NAMES = ("app", "app_name", *_TEXT_NAMES)
_SECONDS_NAMES = ("time", "duration", "seconds")
_CLICKS_AT_POINTER = (  # of Claude's and Qwen's tools, whose point may be left out
    "left_click",
    "right_click",
    "middle_click",
    "double_click",
    "triple_click",
)


def read_json(reply: str, to_point: ToPoint) -> Actions:
    """Return the calls of a reply: objects with "action", or with a "type" that is one."""
    calls = [call for written in written_calls(reply) for call in _calls_of(written)]
    return [action for call in calls for action in _actions_of_json(call, to_point)] or None


def _calls_of(written: Mapping[str, Any], depth: int = 0) -> list[Mapping[str, Any]]:
    """Return the parts of a tool call that say what to do; none if it is something else."""
    batch = written.get("actions")  # OpenAI's `computer_call` of several
    if depth == DEEPEST_CALL:
        raise NoAction(f"a call within {depth} others")
    if isinstance(batch, list):
        if not all(isinstance(action, Mapping) for action in batch):
            raise NoAction(f"{batch!r:.60} are no actions")
        return [call for action in batch for call in _calls_of(action, depth + 1)]
    for name in ("arguments", "input", "action"):  # Qwen; Claude; OpenAI's `computer_call` of one
        inner = written.get(name)
        if isinstance(inner, str) and name == "arguments":
            inner = next(json_objects(inner), None)
        if isinstance(inner, Mapping):
            # A tool without "action" is named by it.
            return _calls_of(inner, depth + 1) or [{**inner, "action": written.get("name")}]
    has_name = isinstance(written.get("action", written.get("type")), str)
    return [written] if has_name else []


def read_tool_calls(tool_calls: Sequence[ToolCall], to_point: ToPoint) -> list[ActionFields]:
    """Return the actions of native tool calls."""
    actions: list[ActionFields] = []
    for tool_call in tool_calls:
        name, arguments = tool_call["name"], tool_call["arguments"]
        if not isinstance(arguments, Mapping):
            raise NoAction(f"the arguments of {name} are no JSON object: {arguments!r:.80}")
        for call in _calls_of({"name": name, "arguments": arguments}):
            actions += _actions_of_json(call, to_point)
    return actions


def _actions_of_json(call: Mapping[str, Any], to_point: ToPoint) -> list[ActionFields]:
    """Return the action of a call; of a text with several keys one for each press."""
    fields = _action_of_json(call, to_point)
    keys = fields.get("keys")
    is_chord = call.get("action") == "hotkey" or not isinstance(keys, str)
    return [fields] if is_chord else [{**fields, "keys": press} for press in _presses(str(keys))]


def _presses(text: str) -> list[str]:
    """Return the keys of each press: in `ctrl+a Delete`, as Claude writes it, these are two.

    A key that is only held, such as Ctrl, belongs to the key behind it: `ctrl a` is one press.

    Raises:
        NoAction: it could be either.
    """
    parts = _PLUS.sub("+", text).split()
    if len(parts) < 2:
        return [text]
    are_held = [set(read_keys(part)) <= set(MODIFIERS) for part in parts]
    if all(are_held[:-1]):
        return ["+".join(parts)]
    if any(are_held):
        raise NoAction(f"{text!r:.60}: which keys are held together? Write them as ctrl+a")
    return parts


def _action_of_json(call: Mapping[str, Any], to_point: ToPoint) -> ActionFields:
    name = str(call.get("action", call.get("type"))).strip()
    if name not in _JSON_KINDS:
        raise NoAction(f"unknown action {name!r:.60}{did_you_mean(name, _JSON_KINDS)}")
    if name == "system_button":
        return _system_button(call.get("button"))
    kind = _kind_of_button(name, call)
    if kind == "back":  # a button of the mouse
        return {"kind": kind}
    fields: ActionFields = {"kind": kind, **_points_of(kind, call, to_point)}
    if name in _CLICKS_AT_POINTER:
        fields.setdefault("point", AT_POINTER)
    elif name == "left_click_drag" and "to_point" not in fields and "point" in fields:
        fields |= {"point": AT_POINTER, "to_point": fields["point"]}
    if kind in POINTING:
        fields["modifiers"] = _held_keys(call)
    if kind == "scroll":
        fields |= _scroll_fields(name, call)
        fields.setdefault("point", AT_POINTER)
    if name == "terminate" and call.get("status") is not None:
        return {"kind": _kind_of_end(call["status"])}
    return fields | _other_fields(name, kind, call)


def _kind_of_end(status: Any) -> str:
    """Return the kind of a `terminate` with a status."""
    kind = _ENDS.get(status.strip().lower()) if isinstance(status, str) else None
    if kind is None:
        raise NoAction(f"terminate with the status {status!r:.60}; known are success and failure")
    return kind


def _other_fields(name: str, kind: str, call: Mapping[str, Any]) -> ActionFields:
    """Return the fields of an action that is done at no point; one without a value is None."""
    match kind:
        case "type":
            return {"text": _said(call, _TEXT_NAMES)}
        case "answer":
            return {"text": _said(call, (*_TEXT_NAMES, "answer"))}
        case "fail":
            return {"text": _said(call, ("reason", *_TEXT_NAMES))}
        case "key":
            return {"keys": _list_of_keys(_said(call, _KEY_NAMES))}
        case "open_app":
            return {"app": first_value({"app": _said(call, _APP_NAMES), **call}, ("app", "name"))}
        case "wait":
            return {"seconds": 0.0 if name == "screenshot" else _said(call, _SECONDS_NAMES)}
    return {}


def _said(call: Mapping[str, Any], names: Sequence[str]) -> Any:
    """Return the value that a call gives by the usual name, else by the others; None: by none.

    Raises:
        NoAction: without the usual one, others say different things.
    """
    values = [call[name] for name in names if call.get(name) is not None]
    filled = [value for value in values if value not in ("", [])]
    if not filled:
        return values[0] if values else None
    is_usual = filled[0] == call.get(names[0])
    if not is_usual and any(value != filled[0] for value in filled):
        raise NoAction(f"{filled[0]!r:.60} and {filled[-1]!r:.60}: which of them is meant?")
    return filled[0]


def _list_of_keys(keys: Any) -> Any:
    """Return the keys of a text that is a list, as arguments in XML are; others as they are."""
    if isinstance(keys, str) and keys.startswith("["):
        with suppress(ValueError, SyntaxError):
            return ast.literal_eval(keys)
    return keys


def _kind_of_button(name: str, call: Mapping[str, Any]) -> str:
    """Return the kind of an action by its name and, of OpenAI's `click`, its button."""
    kind = _JSON_KINDS[name]
    button = call.get("button")
    if kind not in CLICKS or button is None:
        return kind
    button_kind = _BUTTONS.get(button) if isinstance(button, str) else None
    if name == "click" and button_kind is not None:
        return button_kind
    is_of_left = button_kind == "click" and kind not in ("right", "middle")
    if button_kind == kind or is_of_left:
        return kind
    raise NoAction(f"{name} with the button {button!r:.60} cannot be done here")


def _system_button(button: Any) -> ActionFields:
    """The action of a button of a phone."""
    match str(button).lower():
        case "back" | "home" as kind:
            return {"kind": kind}
        case "enter":
            return {"kind": "key", "keys": ("enter",)}
    raise NoAction(f"there is no system button {button!r:.60} here; known are Back, Home, Enter")


def _held_keys(call: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the keys held while the mouse acts: OpenAI's `keys`, Claude's `text`."""
    keys = call.get("keys")
    if keys:
        return read_keys(_list_of_keys(keys))
    text = call.get("text")
    if not text or not isinstance(text, str):
        return ()
    try:
        names = read_keys(text)
    except NoAction:
        return ()  # a label, as some models add it
    return names if set(names) <= set(KEYS) else ()


def _points_of(kind: str, call: Mapping[str, Any], to_point: ToPoint) -> ActionFields:
    """Return the points of Qwen's and Claude's `coordinate`, of OpenAI's `x` and `y` or `path`."""
    point = _said(call, POINT_NAMES)
    if point is None and "x" in call:
        point = (call["x"], call["y"]) if "y" in call else call["x"]
    to = _said(call, TO_NAMES)
    path = call.get("path")
    if isinstance(path, Sequence) and not isinstance(path, str) and len(path) > 1:
        point, to = path[0], path[-1]
    elif call.get("start_coordinate") is not None:
        point, to = call["start_coordinate"], point if to is None else to
    points = {}
    if point is not None:
        points["point"] = to_point(*coordinates_of(point))
    if kind == "drag" and to is not None:
        points["to_point"] = to_point(*coordinates_of(to))
    return points


def _scroll_fields(name: str, call: Mapping[str, Any]) -> dict[str, Any]:
    """Return direction and notches. Claude sends notches, OpenAI pixels, Qwen either."""
    direction = _said(call, ("scroll_direction", "direction"))
    if direction is not None:
        amount = _said(call, ("scroll_amount", "amount"))
        return {
            "direction": str(direction).strip(),
            "amount": NOTCHES if amount is None else read_number(amount),
        }
    unit_px = PIXELS_PER_NOTCH
    if "pixels" in call:  # Qwen: positive is up, and to the right for hscroll
        pixels = read_number(call["pixels"])
        across_px, down_px = (pixels, 0.0) if name == "hscroll" else (0.0, -pixels)
        if abs(pixels) <= MOST_QWEN_NOTCHES:
            unit_px = 1
    elif "scroll_x" in call or "scroll_y" in call:
        across_px = read_number(call.get("scroll_x") or 0)
        down_px = read_number(call.get("scroll_y") or 0)
    else:
        raise NoAction(f"{name} without direction")
    way = "down" if down_px > 0 else "up"
    if abs(across_px) > abs(down_px):
        way = "right" if across_px > 0 else "left"
    return {"direction": way, "amount": max(abs(across_px), abs(down_px)) / unit_px}
