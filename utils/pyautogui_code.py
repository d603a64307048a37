"""Code for pyautogui that a model has written: the actions that it asks for. Nothing of it is run.

    pyautogui.moveTo(0.2, 0.3)
    pyautogui.dragTo(0.6, 0.3)
    computer.terminate(status="success", answer="42")      OpenCUA, Kimi, EvoCUA

An action is a mapping of the fields that `benchmarks.actions.action.Action` has; `AT_POINTER`
stands for the point where the mouse is.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from utils.contracts import Point

AT_POINTER = "pointer"
WAIT_S = 20.0  # what the prompts of OpenCUA and its kin say of `computer.wait()`
MOST_REPEATS = 32  # of a key; a reply is allowed fewer actions than that
MODULES = ("pyautogui", "computer", "time", "")
POINTING = ("click", "double", "triple", "right", "middle", "move", "drag", "scroll")

_AT = ("x", "y")
_PARAMETERS: Mapping[str, Sequence[str]] = {
    "click": (*_AT, "clicks", "interval", "button", "duration"),
    **dict.fromkeys(
        ("doubleClick", "tripleClick", "triple_click"), (*_AT, "interval", "button", "duration")
    ),
    **dict.fromkeys(("rightClick", "middleClick", "moveTo"), (*_AT, "duration")),
    "dragTo": (*_AT, "duration", "button"),
    **dict.fromkeys(("mouseDown", "mouseUp"), (*_AT, "button")),
    **dict.fromkeys(("scroll", "vscroll", "hscroll"), ("clicks", *_AT)),
    **dict.fromkeys(("write", "typewrite"), ("message", "interval")),
    "press": ("keys", "presses", "interval"),
    "sleep": ("seconds",),
    "wait": ("seconds",),
    "terminate": ("status", "answer"),
}
_MESSAGES = ("message", "content", "text")
"""Names of the text to type; pyautogui has the first one."""
_KEYS = ("hotkey", "keyDown", "keyUp")
_WITHOUT_EFFECT = ("interval", "duration", "tween", "logScreenshot", "_pause")
"""Arguments that every function may have, and that do not change what it does."""
_POINTING_KINDS = {
    "click": "click",
    "doubleClick": "double",
    "tripleClick": "triple",
    "triple_click": "triple",
    "rightClick": "right",
    "middleClick": "middle",
    "moveTo": "move",
    "mouseDown": "mouse_down",
    "mouseUp": "mouse_up",
}
_CLICKS = {1: "click", 2: "double", 3: "triple"}  # of the left button
_BUTTONS = {
    "left": "left",
    "primary": "left",
    "middle": "middle",
    "right": "right",
    "secondary": "right",
}
_SHIFT = ("shift", "shiftleft", "shiftright")
_WORDS = {"WAIT": "wait", "DONE": "done", "FAIL": "fail"}  # of OSWorld, in place of code
_LANGUAGE = re.compile(r"(?:code|python3?|py(?=\s))?\s*", re.IGNORECASE)

ToPoint = Callable[[float, float], Point]


class CodeError(ValueError):
    """The code does something else than the calls that are known, or is no Python."""


def code_blocks(text: str) -> list[str]:
    """Return the texts between pairs of three backticks, without the name of a language."""
    parts = text.split("```")
    blocks = parts[1 : len(parts) - 1 : 2]
    return [block[_LANGUAGE.match(block).end() :].strip() for block in blocks]  # type: ignore[union-attr]


def actions_of_code(code: str, to_point: ToPoint) -> list[dict[str, Any]]:
    """Return the actions that code asks for, in its order.

    Args:
        code: statements in Python: calls whose values are written out, and imports.
        to_point: x and y as the code has them → the point in fractions of the screenshot.

    Raises:
        CodeError: it has anything else.
    """
    try:
        statements = ast.parse(code).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise CodeError(f"{code!r:.60} is no code in Python") from None
    actions = [action for statement in statements for action in _actions_of(statement, to_point)]
    return with_held_input(actions)


def _actions_of(statement: ast.stmt, to_point: ToPoint) -> list[dict[str, Any]]:
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return []
    value = statement.value if isinstance(statement, ast.Expr) else None
    if isinstance(value, ast.Name) and value.id in _WORDS:
        return [{"kind": _WORDS[value.id]}]
    if not isinstance(value, ast.Call):
        raise CodeError(f"line {statement.lineno} of the code is no call")
    name = _name_of(value.func)
    positional, named = _literals(name, value)
    if name in _KEYS:
        return [_with_keys_named(name, positional or list(named.values()))]
    parameters = _PARAMETERS[name]
    if len(positional) > len(parameters):
        raise CodeError(f"{name} takes {len(parameters)} values, not {len(positional)}")
    values = dict(zip(parameters, positional, strict=False)) | named
    return actions_of_call(name, values, to_point)


def _with_keys_named(name: str, keys: Sequence[Any]) -> dict[str, Any]:
    kinds = {"hotkey": "key", "keyDown": "key_down", "keyUp": "key_up"}
    return {"kind": kinds[name], "keys": _keys(keys)}


def _name_of(function: ast.expr) -> str:
    module = ""
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
        module, name = function.value.id, function.attr
    elif isinstance(function, ast.Name):
        name = function.id
    else:
        raise CodeError(f"line {function.lineno} of the code calls something unknown")
    if module not in MODULES or not (name in _PARAMETERS or name in _KEYS):
        raise CodeError(f"{module}.{name} cannot be called here")
    return name


def _literals(name: str, call: ast.Call) -> tuple[list[Any], dict[str, Any]]:
    try:
        positional = [ast.literal_eval(value) for value in call.args]
        named = {str(word.arg): ast.literal_eval(word.value) for word in call.keywords}
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        raise CodeError(f"{name}: its values must be numbers and texts in quotes") from None
    return positional, named


def actions_of_call(
    name: str, values: Mapping[str, Any], to_point: ToPoint
) -> list[dict[str, Any]]:
    """Return the actions of a call; most calls have one.

    Args:
        name: of a function of pyautogui.
        values: its arguments by name; `keys` of `hotkey`, `keyDown` and `keyUp`.
        to_point: as for `actions_of_code`.

    Raises:
        CodeError: an argument is missing, unknown or of the wrong type.
    """
    _refuse_unknown(name, values)
    if name in _KEYS:
        return [_with_keys_named(name, [values.get("keys")])]
    if name in ("write", "typewrite"):
        return [{"kind": "type", "text": _message(name, values)}]
    if name == "press":
        presses = min(int(_number(name, values.get("presses", 1))), MOST_REPEATS)
        return [{"kind": "key", "keys": [key]} for key in _keys([values.get("keys")])] * presses
    if name in ("sleep", "wait"):
        seconds = WAIT_S if name == "wait" else _number(name, values.get("seconds"))
        return [{"kind": "wait", "seconds": seconds}]
    if name == "terminate":
        return [end_of_task(values.get("status"), values.get("answer"))]
    return [_pointing_action(name, values, _point(name, values, to_point))]


def _pointing_action(name: str, values: Mapping[str, Any], point: Any) -> dict[str, Any]:
    if name.endswith("scroll"):
        return _scroll(name, values, point)
    button = _button(name, values.get("button", "left"))
    if name == "click":
        return {"kind": _click_kind(button, values.get("clicks", 1)), "point": point}
    if button != "left":
        raise CodeError(f"{name} with the button {button!r} cannot be done here")
    if name == "dragTo":
        if point == AT_POINTER:
            raise CodeError("dragTo without x and y")
        return {"kind": "drag", "point": AT_POINTER, "to_point": point}
    return {"kind": _POINTING_KINDS[name], "point": point}


def _refuse_unknown(name: str, values: Mapping[str, Any]) -> None:
    known = [*_WITHOUT_EFFECT, *(("keys",) if name in _KEYS else _PARAMETERS[name])]
    if name in ("write", "typewrite"):
        known += _MESSAGES
    unknown = [argument for argument in values if argument not in known]
    if unknown:
        raise CodeError(f"{name} has no argument called {unknown[0]!r:.60}")


def _button(name: str, button: Any) -> str:
    """Return the button of the mouse by its usual name."""
    known_button = _BUTTONS.get(button) if isinstance(button, str) else None
    if known_button is None:
        raise CodeError(f"{name} with the button {button!r:.60} cannot be done here")
    return known_button


def _click_kind(button: str, clicks: Any) -> str:
    """Return the kind of so many clicks of a button; "right" and "middle" are one click."""
    count = _number("click", clicks)
    if button == "left" and count in _CLICKS:
        return _CLICKS[int(count)]
    if button != "left" and count == 1:
        return button
    raise CodeError(f"{count:g} clicks of the {button} button cannot be done here")


def end_of_task(status: Any, answer: Any) -> dict[str, Any]:
    """Return the end of a task that `terminate` names.

    Raises:
        CodeError: there is no such status.
    """
    if status == "failure":
        return {"kind": "fail", "text": str(answer or "")}
    if status != "success":
        raise CodeError(f"terminate with the status {status!r:.60}")
    return {"kind": "answer", "text": str(answer)} if answer else {"kind": "done"}


def _point(name: str, values: Mapping[str, Any], to_point: ToPoint) -> Any:
    """Return the point of a call; without x and y the mouse stays where it is."""
    x, y = values.get("x"), values.get("y")
    if isinstance(x, (list, tuple)) and len(x) == 2 and y is None:
        x, y = x
    if x is None and y is None:
        return AT_POINTER
    return to_point(_number(name, x), _number(name, y))


def _scroll(name: str, values: Mapping[str, Any], point: Any) -> dict[str, Any]:
    """Return a scroll: positive is up, of `hscroll` right; in notches of the wheel."""
    clicks = _number(name, values.get("clicks"))
    ways = ("right", "left") if name == "hscroll" else ("up", "down")
    way = ways[0] if clicks > 0 else ways[1]
    return {"kind": "scroll", "point": point, "direction": way, "amount": abs(clicks)}


def _number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise CodeError(f"{name}: {value!r:.60} is no number")
    return value


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise CodeError(f"{name}: {value!r:.60} is no text")
    return value


def _message(name: str, values: Mapping[str, Any]) -> str:
    messages = [values[key] for key in _MESSAGES if key in values]
    if len(messages) > 1:
        raise CodeError(f"{name} has two values called 'message'")
    return _text(name, messages[0] if messages else None)


def _keys(values: Sequence[Any]) -> list[str]:
    """Return the names of keys, which may stand in a list of their own."""
    keys = values[0] if len(values) == 1 and isinstance(values[0], (list, tuple)) else values
    return [_text("keys", key) for key in keys]


def with_held_input(actions: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return actions in which keys and buttons are not pressed and released apart.

    A key that is held belongs to what is done meanwhile, and a button that is pressed, moved and
    released is a drag. What is still held at the end stays an action of its own ("key_down",
    "mouse_down"), which nothing here can do.

    Raises:
        CodeError: a text is typed while another key than Shift is held.
    """
    holding = _Holding()
    for action in actions:
        holding.add(dict(action))
    return holding.finished()


class _Holding:
    """The actions so far, the keys that are held, and the button that is."""

    def __init__(self) -> None:
        self._actions: list[dict[str, Any]] = []
        self._keys: list[str] = []
        self._is_used = False  # whether anything was done while the keys were held
        self._pressed: dict[str, Any] | None = None
        self._moved_to: Any = AT_POINTER
        self._is_released = False  # by a drag, so that the button's release does nothing

    def add(self, action: dict[str, Any]) -> None:
        match action["kind"]:
            case "key_down":
                self._keys += action["keys"]
                self._is_used = False
            case "key_up":
                self._release(action)
            case "mouse_down":
                self._pressed, self._moved_to = action, AT_POINTER
                self._is_released = False
            case "mouse_up" if self._pressed is not None:
                self._let_go(action)
            case "mouse_up" if self._is_released:
                self._is_released = False
            case "drag" if self._pressed is not None and action["point"] == AT_POINTER:
                self._let_go({"point": action["to_point"]})
                self._is_released = True
            case "move" if self._pressed is not None:
                self._moved_to = action["point"]
            case _:
                self._actions.append(self._with_keys(action))

    def finished(self) -> list[dict[str, Any]]:
        if self._pressed is not None:
            self._actions.append(self._pressed)
        if self._keys:
            self._actions.append({"kind": "key_down", "keys": self._keys})
        return self._actions

    def _release(self, action: dict[str, Any]) -> None:
        if not set(action["keys"]) & set(self._keys):
            self._actions.append(action)
            return
        if not self._is_used:
            self._actions.append({"kind": "key", "keys": [*self._keys]})
            self._is_used = True
        self._keys = [key for key in self._keys if key not in action["keys"]]

    def _let_go(self, action: dict[str, Any]) -> None:
        start = (self._pressed or {}).get("point", AT_POINTER)
        end = action.get("point", AT_POINTER)
        end = self._moved_to if end == AT_POINTER else end
        self._pressed = None
        is_click = end in (AT_POINTER, start)
        gesture = {"kind": "click"} if is_click else {"kind": "drag", "to_point": end}
        self._actions.append(self._with_keys({**gesture, "point": start}))

    def _with_keys(self, action: dict[str, Any]) -> dict[str, Any]:
        if not self._keys:
            return action
        self._is_used = True
        others = [key for key in self._keys if str(key).lower() not in _SHIFT]
        if action["kind"] == "type" and others:
            raise CodeError(f"a text cannot be typed with {others[0]} held; press the keys instead")
        if action["kind"] == "key":
            return {**action, "keys": [*self._keys, *action["keys"]]}
        return {**action, "modifiers": [*self._keys]} if action["kind"] in POINTING else action
