"""Gemini's computer use: function calls, points per mille. `examples/gemini_agent.py` asks for them.

The tools of gemini-3.5-flash and later are read by `parse_actions`, those of
gemini-2.5-computer-use-preview, gemini-3-flash-preview and gemini-3.1-pro-preview by
`parse_actions_legacy`. A reply without a call ends the task: its text is the answer or, behind the
word INFEASIBLE, why the task cannot be done.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from models.recipes.agents.replies import from_file_px
from models.recipes.base import Agent
from models.recipes.reading import NOT_READ, file_wh
from utils.contracts import Point
from utils.pyautogui_code import AT_POINTER, with_held_input

FULL_SCALE = 1000
NOTCH_PX = 100
SCROLL_PER_MILLE = 800  # of the screen, where a call does not say how far
LEGACY_WAIT_S = 5.0
INFEASIBLE = "INFEASIBLE"
CLEARED = ({"kind": "key", "keys": ["ctrl", "a"]}, {"kind": "key", "keys": ["backspace"]})
POINTING = {
    "click": "click",
    "double_click": "double",
    "triple_click": "triple",
    "right_click": "right",
    "middle_click": "middle",
    "mouse_down": "mouse_down",
    "mouse_up": "mouse_up",
    "move": "move",
}
KEYS = {"press_key": "key", "key_down": "key_down", "key_up": "key_up"}
LEGACY_POINTING = {"click_at": "click", "hover_at": "move"}
Arguments = Mapping[str, Any]


def parse_actions(response: str, meta: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """Return the actions of the calls of gemini-3.5-flash and later models."""
    return _read(response, meta, _actions)


def parse_actions_legacy(response: str, meta: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """Return the actions of the calls of earlier models."""
    return _read(response, meta, _legacy_actions)


def _read(
    response: str,
    meta: Mapping[str, Any],
    actions_of: Callable[[str, Arguments, Mapping[str, Any]], list[dict[str, Any]]],
) -> list[dict[str, Any]] | None:
    try:
        calls = _calls(response, meta)
        if calls:
            actions = [action for name, args in calls for action in actions_of(name, args, meta)]
            return with_held_input(actions)
    except NOT_READ:
        return None
    return _end(response.strip())


def _calls(response: str, meta: Mapping[str, Any]) -> Sequence[tuple[str, Arguments]]:
    """Return name and arguments of each call: native ones, or one that is the whole reply."""
    if meta.get("tool_calls"):
        return [(call["name"], call["arguments"]) for call in meta["tool_calls"]]
    if not response.lstrip().startswith("{"):
        return []
    call = json.loads(response)
    return [(call["name"], call["args"])]


def _end(text: str) -> list[dict[str, Any]] | None:
    if text.upper().startswith(INFEASIBLE):
        return [{"kind": "fail", "text": text[len(INFEASIBLE) :].lstrip(" :")}]
    return [{"kind": "answer", "text": text}] if text else None


def _actions(name: str, args: Arguments, meta: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the actions of a call.

    Raises:
        ValueError: there is no such tool; one of `NOT_READ`: it lacks an argument.
    """
    if name in POINTING:
        return [{"kind": POINTING[name], "point": _point(args, meta)}]
    if name == "type":
        enter = "\n" if args.get("press_enter", False) else ""
        return [{"kind": "type", "text": f"{args.get('text', '')}{enter}"}]
    if name == "scroll":
        return [_scroll(args, meta)]
    if name == "hotkey":
        return [{"kind": "key", "keys": args.get("keys", [])}]
    if name in KEYS:
        return [{"kind": KEYS[name], "keys": [args.get("key", "")]}]
    if name == "wait":
        return [{"kind": "wait", "seconds": args.get("seconds", 1)}]
    if name == "take_screenshot":
        return [{"kind": "wait", "seconds": 0.0}]
    return _shared_actions(name, args, meta)


def _legacy_actions(name: str, args: Arguments, meta: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the actions of an earlier model's call; typing somewhere is a click and a text."""
    if name in LEGACY_POINTING:
        return [{"kind": LEGACY_POINTING[name], "point": _point(args, meta)}]
    if name == "type_text_at":
        enter = "\n" if args.get("press_enter", False) else ""
        cleared = CLEARED if args.get("clear_before_typing", True) else ()
        click = {"kind": "click", "point": _point(args, meta)}
        return [click, *cleared, {"kind": "type", "text": f"{args.get('text', '')}{enter}"}]
    if name in ("scroll_at", "scroll_document"):
        return [_scroll(args, meta)]
    if name == "key_combination":
        return [{"kind": "key", "keys": args.get("keys", [])}]
    if name == "wait_5_seconds":
        return [{"kind": "wait", "seconds": LEGACY_WAIT_S}]
    if name == "search":  # there is no web; the model is told so
        return [{"kind": name}]
    return _shared_actions(name, args, meta)


def _shared_actions(name: str, args: Arguments, meta: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the actions of a call whose name is in both sets of tools."""
    if name == "drag_and_drop":
        drag = {"kind": "drag", "point": _point(args, meta)}
        if "destination_x" in args:
            drag["to_point"] = _point(args, meta, "destination_")
        return [drag]
    if name == "navigate":
        return [{"kind": "open_app", "app": str(args.get("url", ""))}]
    if name == "go_back":
        return [{"kind": "back"}]
    if name == "open_web_browser":  # it is open
        return [{"kind": "wait", "seconds": 0.0}]
    if name == "go_forward":  # no world can
        return [{"kind": name}]
    raise ValueError(f"there is no tool {name!r}")


def _point(args: Arguments, meta: Mapping[str, Any], prefix: str = "") -> Point:
    """Return the whole pixel that the authors' code clicks."""
    width, height = file_wh(meta)
    x, y = args[f"{prefix}x"], args[f"{prefix}y"]
    return from_file_px((int(x / FULL_SCALE * width), int(y / FULL_SCALE * height)), meta)


def _scroll(args: Arguments, meta: Mapping[str, Any]) -> dict[str, Any]:
    """Return a scroll by thousandths of the screen, at a point where the call has one."""
    direction = args.get("direction", "down")
    side_px = file_wh(meta)[0 if direction in ("left", "right") else 1]
    point = _point(args, meta) if "x" in args else AT_POINTER
    amount = args.get("magnitude", SCROLL_PER_MILLE) / FULL_SCALE * side_px / NOTCH_PX
    return {"kind": "scroll", "point": point, "direction": direction, "amount": amount}


AGENT = Agent(
    prompt="examples.gemini_agent.build_agent_prompt",
    parse=f"{__name__}.parse_actions",
    source="google-gemini/computer-use-preview @ c93bb2d agent.py",
    parsers={
        "computer_use_new": f"{__name__}.parse_actions",
        "computer_use_legacy": f"{__name__}.parse_actions_legacy",
    },
    verified="points and names of the tools",
    note="needs a class (examples/gemini_agent.py), because it is another API than a chat server's; "
    "made for the web; what is done with arguments other than x and y is not proven",
)
