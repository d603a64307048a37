"""The JSON of OSWorld's action space `computer_13`.

    {"action_type": "CLICK", "parameters": {"x": 735, "y": 512}}

Its kinds do what functions of pyautogui do. Source: OSWorld (arXiv 2404.07972, appendix A).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.actions.action import NoAction
from benchmarks.actions.values import POINT_NAMES, Actions, ToPoint, coordinates_of
from utils.pyautogui_code import CodeError, actions_of_call, with_held_input
from utils.tool_calls import json_objects

FUNCTIONS = {
    "MOVE_TO": "moveTo",
    "CLICK": "click",
    "MOUSE_DOWN": "mouseDown",
    "MOUSE_UP": "mouseUp",
    "RIGHT_CLICK": "rightClick",
    "DOUBLE_CLICK": "doubleClick",
    "DRAG_TO": "dragTo",
    "SCROLL": "scroll",
    "TYPING": "write",
    "PRESS": "press",
    "KEY_DOWN": "keyDown",
    "KEY_UP": "keyUp",
    "HOTKEY": "hotkey",
}
"""Kinds of actions by the functions of pyautogui that do the same."""
PARAMETERS = {"key": "keys", "num_clicks": "clicks"}
"""Names of parameters by those that pyautogui has."""
BESIDE_PARAMETERS = ("action_type", "parameters")
"""Keys beside the parameters of a call, where these are not in an object of their own."""
ENDS = {"WAIT": "wait", "DONE": "done", "FAIL": "fail"}


def read_computer_13(reply: str, to_point: ToPoint) -> Actions:
    """Return the actions of a reply: each object with an "action_type"."""
    actions: list[dict[str, Any]] = []
    try:
        for written in json_objects(reply):
            if "action_type" in written:
                actions += _actions_of(written, to_point)
        return with_held_input(actions) or None
    except CodeError as error:
        raise NoAction(str(error)) from None


def _actions_of(written: Mapping[str, Any], to_point: ToPoint) -> list[dict[str, Any]]:
    kind = str(written["action_type"]).upper()
    if kind in ENDS:
        return [{"kind": ENDS[kind]}]
    if kind not in FUNCTIONS:
        known = ", ".join([*FUNCTIONS, *ENDS])
        raise NoAction(f"unknown action_type {kind!r:.60}; known are {known}")
    given: Any = written.get("parameters")
    if not isinstance(given, Mapping):
        given = {key: value for key, value in written.items() if key not in BESIDE_PARAMETERS}
    values = {PARAMETERS.get(key, key): value for key, value in given.items() if value is not None}
    for key in POINT_NAMES:
        if key in values and "x" in values:
            raise NoAction(f"{kind} has two values called 'x'")
        if key in values:
            values["x"], values["y"] = coordinates_of(values.pop(key))
    name = FUNCTIONS[kind]
    if name == "scroll":
        across, down = values.pop("dx", 0), values.pop("dy", 0)
        name, values["clicks"] = ("scroll", down) if down else ("hscroll", across)
    return actions_of_call(name, values, to_point)
