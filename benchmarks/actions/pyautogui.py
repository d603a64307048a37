"""Parse functions for agents of OSWorld: code of pyautogui, and the JSON of `computer_13`.

    parse_pyautogui      pyautogui.click(735, 512); time.sleep(1); WAIT, DONE, FAIL
    parse_computer_13    {"action_type": "CLICK", "parameters": {"x": 735, "y": 512}}

Points are pixels of the screenshot as it was sent; the functions at the end read other frames. Code
is parsed and never run: calls of known functions with constants are read, and names that a constant
was assigned to; all else is refused in words for the model. What both forms leave open is the same:
a click without a point is where the mouse is, keys and buttons that are held down count for what
follows, and a button that goes down in one place and up in another is a drag.

Source: the action space of OSWorld (arXiv 2404.07972, appendix A), pyautogui 0.9.54.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.actions.action import AT_POINTER, NoAction
from benchmarks.actions.values import ActionFields, Actions, read_number
from utils.contracts import ParseFunction, Point
from utils.coordinates import Frame, in_frame
from utils.thinking import after_thinking
from utils.tool_calls import json_objects

LONGEST_CODE = 20_000  # characters
MOST_CALLS = 50
MODULES = ("pyautogui", "time")
PARAMETERS = {
    "click": ("x", "y", "clicks", "interval", "button"),
    "leftClick": ("x", "y"),
    "rightClick": ("x", "y"),
    "middleClick": ("x", "y"),
    "doubleClick": ("x", "y", "interval", "button"),
    "tripleClick": ("x", "y", "interval", "button"),
    "moveTo": ("x", "y", "duration"),
    "dragTo": ("x", "y", "duration", "tween", "button"),
    "mouseDown": ("x", "y", "button"),
    "mouseUp": ("x", "y", "button"),
    "scroll": ("clicks", "x", "y"),
    "vscroll": ("clicks", "x", "y"),
    "hscroll": ("clicks", "x", "y"),
    "write": ("message", "interval"),
    "typewrite": ("message", "interval"),
    "press": ("keys", "presses", "interval"),
    "keyDown": ("key",),
    "keyUp": ("key",),
    "hotkey": (),
    "sleep": ("secs",),
}
"""Functions that are read, with the names of their parameters in order; `hotkey` takes keys."""
IGNORED = {"duration", "interval", "tween", "logScreenshot", "_pause", "pause"}
"""Parameters that say how fast something goes, which makes no difference."""
ENDS = {"WAIT": "wait", "DONE": "done", "FAIL": "fail"}
KINDS_BY_CLICKS = {1: "click", 2: "double", 3: "triple"}
COMPUTER_13 = {
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
"""Kinds of `computer_13` by the functions of pyautogui that do the same."""
Call = tuple[str, dict[str, Any]]  # a function or an end, and its arguments
ToPoint = Callable[[Any, Any], Point]


# -- code ------------------------------------------------------------------------------------------


def calls_of_code(code: str) -> list[Call]:
    """Return the calls that a text of Python makes, without running it.

    Raises:
        NoAction: it is no Python, or does anything else.
    """
    lines = code.strip().splitlines()
    end = lines.pop().strip() if lines and lines[-1].strip() in ENDS else ""
    try:
        tree = ast.parse("\n".join(lines)[:LONGEST_CODE])
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise NoAction(f"the code is no Python: {type(error).__name__}") from None
    calls: list[Call] = []
    names: dict[str, Any] = {}
    for statement in tree.body:
        match statement:
            case ast.Import(names=modules) if all(
                alias.name in MODULES and alias.asname is None for alias in modules
            ):
                pass
            case ast.Assign(targets=[target], value=value):
                _assign(target, _constant(value, names), names)
            case ast.Expr(value=ast.Call() as call):
                calls.append(_call(call, names))
            case _:
                raise NoAction(_refusal(statement))
    if len(calls) > MOST_CALLS:
        raise NoAction(f"{len(calls)} calls in one reply; at most {MOST_CALLS} are read")
    return [*calls, (end, {})] if end else calls


def _refusal(node: ast.AST) -> str:
    return (
        f"{ast.unparse(node)[:60]!r} is not read: only calls of pyautogui and time.sleep with "
        "constants are, one after the other"
    )


def _assign(target: ast.expr, value: Any, names: dict[str, Any]) -> None:
    if isinstance(target, ast.Name):
        names[target.id] = value
    elif (
        isinstance(target, ast.Tuple)
        and isinstance(value, list)
        and len(target.elts) == len(value)
        and all(isinstance(element, ast.Name) for element in target.elts)
    ):
        for element, item in zip(target.elts, value, strict=True):
            assert isinstance(element, ast.Name), "see above"
            names[element.id] = item
    else:
        raise NoAction(_refusal(target))


def _constant(node: ast.expr, names: Mapping[str, Any]) -> Any:
    match node:
        case ast.Constant(value=bool() | int() | float() | str() | None as value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return -value
        case ast.List(elts=items) | ast.Tuple(elts=items) if len(items) <= MOST_CALLS:
            return [_constant(item, names) for item in items]
        case ast.Name(id=name) if name in names:
            return names[name]
    raise NoAction(_refusal(node))


def _call(call: ast.Call, names: Mapping[str, Any]) -> Call:
    match call.func:
        case ast.Attribute(value=ast.Name(id=module), attr=name) if (
            module in MODULES and name in PARAMETERS and (module == "time") == (name == "sleep")
        ):
            pass
        case _:
            raise NoAction(_refusal(call))
    values = [_constant(argument, names) for argument in call.args]
    if any(keyword.arg is None for keyword in call.keywords):
        raise NoAction(_refusal(call))
    named = {str(keyword.arg): _constant(keyword.value, names) for keyword in call.keywords}
    if name == "hotkey":
        return name, {"keys": values}
    if len(values) > len(PARAMETERS[name]):
        raise NoAction(f"{name} takes at most {len(PARAMETERS[name])} arguments")
    arguments = dict(zip(PARAMETERS[name], values, strict=False)) | named
    unknown = sorted(set(arguments) - {*PARAMETERS[name], *IGNORED})
    if unknown:
        raise NoAction(f"{name} has no parameter {unknown[0]!r:.60}")
    return name, arguments


# -- actions ---------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Reader:
    """Makes actions of calls, one after the other."""

    to_point: ToPoint
    actions: list[ActionFields] = field(default_factory=list)
    held: list[str] = field(default_factory=list)  # keys that are down
    is_used: bool = False  # something was done while they were
    pressed_at: Any = None  # where a button went down; None: none is
    moved_to: Any = None  # where the mouse is since then

    def read(self, calls: Sequence[Call]) -> list[ActionFields]:
        for name, arguments in calls:
            self._read_one(name, arguments)
        return self.actions

    def _read_one(self, name: str, arguments: Mapping[str, Any]) -> None:
        match name:
            case "WAIT" | "DONE" | "FAIL":
                self.actions.append({"kind": ENDS[name]})
            case "sleep":
                self.actions.append({"kind": "wait", "seconds": arguments.get("secs", 1)})
            case "write" | "typewrite":
                self._write(arguments.get("message", ""))
            case "press" | "hotkey" | "keyDown" | "keyUp":
                self._use_keys(name, arguments)
            case _:
                self._use_mouse(name, arguments)

    def _write(self, message: Any) -> None:
        if isinstance(message, list):
            for key in message:
                self._press([key])
        else:
            self.actions.append({"kind": "type", "text": str(message)})

    # keys

    def _use_keys(self, name: str, arguments: Mapping[str, Any]) -> None:
        keys = arguments.get("keys", arguments.get("key"))
        names = [str(key) for key in (keys if isinstance(keys, list) else [keys])]
        match name:
            case "press":
                for _ in range(min(int(read_number(arguments.get("presses", 1))), MOST_CALLS)):
                    for key in names:
                        self._press([key])
            case "hotkey":
                is_list = len(keys) == 1 and isinstance(keys[0], list)
                self._press([str(key) for key in (keys[0] if is_list else keys)])
            case "keyDown":
                self.held += names
                self.is_used = False
            case "keyUp":
                if not self.is_used and names[0] in self.held:
                    self.actions.append({"kind": "key", "keys": [*self.held]})
                    self.is_used = True
                self.held = [key for key in self.held if key not in names]

    def _press(self, keys: Sequence[str]) -> None:
        self.actions.append({"kind": "key", "keys": [*self.held, *keys]})
        self.is_used = True

    # mouse

    def _use_mouse(self, name: str, arguments: Mapping[str, Any]) -> None:
        point = self._point(arguments)
        match name:
            case "mouseDown":
                self.pressed_at, self.moved_to = point, None
            case "mouseUp":
                self._release(point)
            case "moveTo" if self.pressed_at is not None:
                self.moved_to = point
            case "moveTo":
                self._add({"kind": "move", "point": point})
            case "dragTo":
                self._add({"kind": "drag", "point": AT_POINTER, "to_point": point})
            case "scroll" | "vscroll" | "hscroll":
                self._scroll(name, read_number(arguments.get("clicks", 0)), point)
            case _:
                self._add({"kind": _click_kind(name, arguments), "point": point})

    def _release(self, point: Any) -> None:
        end = self.moved_to if point == AT_POINTER and self.moved_to is not None else point
        start, self.pressed_at = self.pressed_at, None
        if start is None:
            raise NoAction("mouseUp without mouseDown before it")
        if end in (AT_POINTER, start):
            self._add({"kind": "click", "point": start})
        else:
            self._add({"kind": "drag", "point": start, "to_point": end})

    def _scroll(self, name: str, clicks: float, point: Any) -> None:
        directions = ("left", "right") if name == "hscroll" else ("down", "up")
        scroll = {"kind": "scroll", "direction": directions[clicks > 0], "amount": abs(clicks)}
        self._add(scroll if point == AT_POINTER else {**scroll, "point": point})

    def _add(self, action: ActionFields) -> None:
        if self.held:
            action["modifiers"] = [*self.held]
            self.is_used = True
        self.actions.append(action)

    def _point(self, arguments: Mapping[str, Any]) -> Any:
        x, y = arguments.get("x"), arguments.get("y")
        if isinstance(x, list) and len(x) == 2 and y is None:  # click((735, 512))
            x, y = x
        if x is None and y is None:
            return AT_POINTER
        return self.to_point(x, y)


def _click_kind(name: str, arguments: Mapping[str, Any]) -> str:
    button = str(arguments.get("button", "left")).lower().removeprefix("pyautogui.")
    kind = name.removesuffix("Click").lower()
    if kind in ("right", "middle", "double", "triple"):
        return kind
    if button in ("right", "middle"):
        return button
    clicks = int(read_number(arguments.get("clicks", arguments.get("num_clicks", 1))))
    if clicks not in KINDS_BY_CLICKS:
        raise NoAction(f"{clicks} clicks at once; 1 to 3 are read")
    return KINDS_BY_CLICKS[clicks]


# -- replies ---------------------------------------------------------------------------------------


def _code_of(reply: str) -> str:
    """Return the code of a reply: what stands in its fences, or all of it where it has none."""
    blocks = re.findall(r"```(?:python|py|code)?[ \t]*\n?(.*?)```", reply, re.DOTALL)
    code = "\n".join(blocks).strip() if blocks else reply.strip()
    tail = reply.rpartition("```")[2].strip()
    if blocks and tail in ENDS:
        code += f"\n{tail}"
    is_code = code.splitlines()[-1:] and (code.splitlines()[-1].strip() in ENDS)
    return code if is_code or "pyautogui." in code or "time.sleep" in code else ""


def _calls_of_json(reply: str) -> list[Call]:
    calls: list[Call] = []
    for written in json_objects(reply):
        kind = str(written.get("action_type", "")).upper()
        arguments = written.get("parameters")
        arguments = dict(arguments if isinstance(arguments, Mapping) else written)
        if kind in ENDS:
            calls.append((kind, {}))
        elif kind == "SCROLL":
            across, down = arguments.pop("dx", 0), arguments.pop("dy", 0)
            name, clicks = ("scroll", down) if down else ("hscroll", across)
            calls.append((name, {**arguments, "clicks": clicks}))
        elif kind in COMPUTER_13:
            if "text" in arguments:
                arguments["message"] = arguments.pop("text")
            calls.append((COMPUTER_13[kind], arguments))
        elif kind:
            known = ", ".join([*COMPUTER_13, *ENDS])
            raise NoAction(f"unknown action_type {kind!r:.60}; known are {known}")
    return calls


def parser(dialect: str, frame: Frame = Frame.PIXELS_SENT) -> ParseFunction:
    """Return the parse function of "pyautogui" or "computer_13" for points in `frame`."""

    def parse(response: str, meta: Mapping[str, Any]) -> Actions:
        def to_point(x: Any, y: Any) -> Point:
            return in_frame(frame, (read_number(x), read_number(y)), meta)

        reply = after_thinking(response)[-LONGEST_CODE:]
        if dialect == "computer_13":
            calls = _calls_of_json(reply)
        else:
            code = _code_of(reply)
            calls = calls_of_code(code) if code else []
        return _Reader(to_point).read(calls) or None

    suffix = "" if frame is Frame.PIXELS_SENT else f"_{frame}"
    parse.__name__ = parse.__qualname__ = f"parse_{dialect}{suffix}"
    return parse


parse_pyautogui = parser("pyautogui")
parse_pyautogui_fractions = parser("pyautogui", Frame.FRACTIONS)
parse_pyautogui_pixels = parser("pyautogui", Frame.PIXELS)
parse_pyautogui_per_mille = parser("pyautogui", Frame.PER_MILLE)

parse_computer_13 = parser("computer_13")
parse_computer_13_fractions = parser("computer_13", Frame.FRACTIONS)
parse_computer_13_pixels = parser("computer_13", Frame.PIXELS)
parse_computer_13_per_mille = parser("computer_13", Frame.PER_MILLE)
