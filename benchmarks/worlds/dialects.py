"""Parse functions for the ways in which models name actions, to be named in a config.

    parse_actions         the default prompt's: `Action: click(0.412, 0.090)`
    parse_uitars          UI-TARS: `Action: click(point='<point>735 512</point>')`
    parse_computer_use    JSON or XML: Qwen's `computer_use` calls, the computer tools of OpenAI
                          and Claude, written in the reply or as native tool calls
    parse_tool_calls      native tool calls; a reply without one ends the task, and is the answer

Each reads points in the frame that is usual for it (the first one takes fractions, or pixels of the
screenshot where a coordinate is above 1). The functions at the end of this file read them in the
other frames of `utils.coordinates`. Pure: nothing of a reply is ever executed. They return actions
as mappings of their fields, None where a reply names no action, and raise `NoAction` where it names
one that does not exist.
"""

from __future__ import annotations

import ast
import re
import threading
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from benchmarks.worlds.actions import (
    AT_POINTER,
    CALLS,
    CLICKS,
    KEYS,
    NOTCHES,
    POINTING,
    NoAction,
    read_actions,
    read_keys,
)
from utils.contracts import ParseFunction, Point, ToolCall
from utils.coordinates import Frame, in_frame
from utils.folding import fold_outside_quotes
from utils.reply_numbers import numbers_of_reply
from utils.text import did_you_mean
from utils.thinking import after_thinking
from utils.tool_calls import json_objects, written_calls

ToPoint = Callable[[Any, Any], Point]
"""x and y as a model gives them → the point as `read_actions` takes it."""
PIXELS_PER_NOTCH = 100  # where a model scrolls by pixels
MOST_QWEN_NOTCHES = 30  # up to which its "pixels" are notches: it was trained on pyautogui's wheel
LONGEST_READ = 100_000  # characters, from the end: what bounds the time that a reply takes
DEEPEST_CALL = 5  # of objects within "arguments" within ...
INFEASIBLE = "INFEASIBLE"  # how an agent without an action for it says that it gives up
ActionFields = dict[str, Any]
Actions = list[ActionFields] | None  # None: the reply names none


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise NoAction(f"{value!r:.60} is no number") from None


def _point(frame: Frame | None, meta: Mapping[str, Any], x: Any, y: Any) -> Point:
    point = _number(x), _number(y)
    return point if frame is None else in_frame(frame, point, meta)


# -- the default prompt's -------------------------------------------------------------------------

_DEFAULT_KINDS = {**{kind: kind for kind in CALLS}, **{name: kind for kind, name in CALLS.items()}}
_LABEL = r"action\s*+\d*+[^\w:]*+:\W*+"  # possessive: nothing here is worth a second try
_BEGIN = re.compile(
    rf"^[^\w\n]*+(?P<label>{_LABEL})?(?=(?P<name>\w++)\s*+\()", re.IGNORECASE | re.MULTILINE
)
_NEXT = re.compile(r"[ ,;]*(?=(?P<name>\w+)\s*\()")
_REST_OF_LINE = re.compile(r"[ \t`*.;,]*(?:(?:#|//).*)?$", re.MULTILINE)
_BETWEEN = re.compile(rf"\W*+(?:{_LABEL})*+", re.IGNORECASE)  # two lines of actions
_SIGN = re.compile(r"[\\'\"()\n]")
_WARNINGS_LOCK = threading.Lock()  # two threads that put filters back would leave wrong ones
_ARGUMENTS: Mapping[str, tuple[str, ...]] = {
    "scroll": ("x", "y", "direction", "amount"),
    "drag": ("x1", "y1", "x2", "y2"),
    "type": ("text",),
    "answer": ("text",),
    "fail": ("text",),
    "key": ("keys",),
    "wait": ("seconds",),
    "open_app": ("app",),
    "done": (),
    "back": (),
    "home": (),
}
_COORDINATES = (("point", "x", "y"), ("point", "x1", "y1"), ("to_point", "x2", "y2"))
_SYNONYMS = {("fail", "reason"): "text", ("open_app", "name"): "app", ("key", "key"): "keys"}


def _read_default(reply: str, to_point: ToPoint) -> Actions:
    """Return the calls on lines of their own, or behind "Action:"; the last such lines count.

    Lines that follow each other are one list of actions.
    """
    calls: list[str] = []
    end = 0
    while begin := _BEGIN.search(reply, end):
        new_calls, new_end = _calls_of_line(reply, begin)
        if not new_calls:
            end = max(begin.end(), end + 1)
            continue
        if not _BETWEEN.fullmatch(reply, end, begin.end()):
            calls = []  # other text in between
        calls += new_calls
        end = new_end
    return [_action_of_call(call, to_point) for call in calls] or None


def _calls_of_line(reply: str, begin: re.Match[str]) -> tuple[list[str], int]:
    """Return the calls of a line that begins with `begin`, and where they end; or none."""
    if not begin["label"] and begin["name"].lower() not in _DEFAULT_KINDS:
        return [], begin.end()
    calls, end = _calls_from(reply, begin.end())
    if begin["label"] or _REST_OF_LINE.match(reply, end):
        return calls, end
    return [], end


def _calls_from(text: str, position: int) -> tuple[list[str], int]:
    """Return the calls that begin at `position`, one after the other, and where they end."""
    calls: list[str] = []
    while match := _NEXT.match(text, position):
        opened = text.index("(", match.end())
        end = _end_of_call(text, opened + 1)
        if end is None:
            break
        calls.append(text[match.end() : end])
        position = end
    return calls, position


def _end_of_call(text: str, start: int) -> int | None:
    """Return where the bracket closes that was opened before `start`; None: not on its line.

    Texts in quotes may go on over lines, and brackets in them do not count.
    """
    depth = 1
    quote = ""
    position = start
    while sign := _SIGN.search(text, position):
        position = sign.end()
        match sign[0]:
            case "\\" if quote:
                position += 1
            case "'" | '"' as mark if quote in ("", mark):
                quote = "" if quote else mark
            case "\n" if not quote:
                return None
            case "(" if not quote:
                depth += 1
            case ")" if not quote:
                depth -= 1
                if depth == 0:
                    return position
    return None


def _action_of_call(text: str, to_point: ToPoint) -> ActionFields:
    name = text.partition("(")[0].strip().lower()
    if name not in _DEFAULT_KINDS:
        raise NoAction(f"unknown action {name!r:.60}{did_you_mean(name, _DEFAULT_KINDS)}")
    kind = _DEFAULT_KINDS[name]
    names = _ARGUMENTS.get(kind, ("x", "y"))
    values, keywords = _literals(name, text)
    if kind == "scroll" and values and isinstance(values[0], str):
        names = ("direction", "amount")
    if len(values) > len(names):
        raise NoAction(f"{name} takes {len(names)} values, not {len(values)}")
    fields = dict(zip(names, values, strict=False)) | keywords
    fields = {_SYNONYMS.get((kind, key), key): value for key, value in fields.items()}
    allowed = (*names, "modifiers") if kind in POINTING else names
    unknown = sorted(set(fields) - set(allowed))
    if unknown:
        raise NoAction(f"{name} has no value called {unknown[0]!r:.60}")
    for target, x, y in _COORDINATES:
        if x in fields and y in fields:
            fields[target] = to_point(fields.pop(x), fields.pop(y))
    if any(x in fields or y in fields for _, x, y in _COORDINATES):  # half of a pair
        raise NoAction(f"{name} takes {', '.join(names)}")
    return {"kind": kind, **fields}


def _literals(name: str, text: str) -> tuple[list[Any], dict[str, Any]]:
    """Return the values of a call by position and by name; nothing of it is run."""
    try:
        with _WARNINGS_LOCK, warnings.catch_warnings(action="ignore"):  # "\d" in a text
            call = ast.parse(text.replace("\n", "\\n"), mode="eval").body
        if not isinstance(call, ast.Call):
            raise TypeError("not a call")
        values = [ast.literal_eval(value) for value in call.args]
        keywords = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        raise NoAction(f"{name}: its values must be numbers and texts in quotes") from None
    return values, keywords


# -- UI-TARS --------------------------------------------------------------------------------------

_TARS_KINDS = {
    "click": "click",
    "left_single": "click",
    "left_double": "double",
    "right_single": "right",
    "long_press": "long",
    "hover": "move",
    "drag": "drag",
    "select": "drag",
    "scroll": "scroll",
    "type": "type",
    "hotkey": "key",
    "press": "key",
    "wait": "wait",
    "finished": "done",
    "call_user": "fail",
    "press_home": "home",
    "press_back": "back",
    "open_app": "open_app",
}
_TARS_LABEL = re.compile(r"Action\**\s*+[:：]")
_TARS_CALL = re.compile(r"[\s*`]*+(\w++)\(")
_TARS_VALUE = re.compile(r"""\b(\w++)\s*+=\s*('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")""", re.DOTALL)
_TARS_TEXT = re.compile(r"""\(\s*+(?:content|text|value)\s*+=\s*+(?=(?P<quote>['"]))""")
_TARS_TEXT_END = re.compile(r"""\\.|(?P<quote>['"])\s*+\)""", re.DOTALL)
_TARS_NEXT = re.compile(r"[\s;]*+(?:\Z|(?P<name>\w++)\()")
_TARS_POINTS = ("point", "start_point", "start_box", "coordinate"), ("end_point", "end_box")
_TARS_TEXTS = ("content", "text", "value")
_TARS_KEYS = ("key", "hotkey", "keys")
_TARS_APPS = ("app_name", "app", "name")
TARS_WAIT_S = 5.0  # what its prompt says of `wait()`


def _read_uitars(reply: str, to_point: ToPoint) -> Actions:
    """Return the calls after the last "Action:", each on a line of its own."""
    labels = [label.end() for label in _TARS_LABEL.finditer(reply)]
    text = reply[labels[-1] :] if labels else ""
    actions: list[ActionFields] = []
    while match := _TARS_CALL.match(text):
        content = _tars_text(text, match.end() - 1)
        if content is not None:
            values = {"content": _unquoted(content[0])}
            end: int | None = content[1]
        else:
            end = _end_of_call(text, match.end())
            if end is None:
                break
            values = {name: _unquoted(value) for name, value in _TARS_VALUE.findall(text[:end])}
        actions.append(_action_of_uitars(match[1], values, to_point))
        text = text[end:].lstrip(" ;")
    return actions or None


def _tars_text(text: str, opened: int) -> tuple[str, int] | None:
    """Return the quoted `content` of a call whose bracket opens at `opened`, and the call's end.

    Models do not escape quotes in it (`type(content='it's ok')`), so it goes on to the first
    quote and bracket that nothing but the end or another call follows. None: it has no content.
    """
    begin = _TARS_TEXT.match(text, opened)
    if begin is None:
        return None
    start = begin.end()
    first = None
    for closing in _TARS_TEXT_END.finditer(text, start + 1):
        if closing["quote"] != begin["quote"]:
            continue
        content = text[start : closing.start() + 1], closing.end()
        following = _TARS_NEXT.match(text, closing.end())
        if following and (following["name"] is None or following["name"] in _TARS_KINDS):
            return content
        first = first or content
    return first


def _action_of_uitars(name: str, values: Mapping[str, str], to_point: ToPoint) -> ActionFields:
    if name not in _TARS_KINDS:
        raise NoAction(f"unknown action {name!r:.60}{did_you_mean(name, _TARS_KINDS)}")
    kind = _TARS_KINDS[name]
    content = _first(values, _TARS_TEXTS)
    points: dict[str, Any] = {}
    for target, names in zip(("point", "to_point"), _TARS_POINTS, strict=True):
        text = _first(values, names)
        if text is not None:
            points[target] = _point_of_text(text, to_point)
    if kind == "done" and content:
        return {"kind": "answer", "text": content}
    fields_by_kind: dict[str, dict[str, Any]] = {
        "scroll": {"direction": values.get("direction", "down")},
        "type": {"text": content},
        "key": {"keys": _first(values, _TARS_KEYS)},
        "wait": {"seconds": TARS_WAIT_S},
        "open_app": {"app": _first(values, _TARS_APPS)},
    }
    return {"kind": kind, **points, **fields_by_kind.get(kind, {})}


def _first(values: Mapping[str, Any], names: Sequence[str]) -> Any:
    """Return the value of the first of these names that has one; None: none has."""
    return next((values[name] for name in names if values.get(name) is not None), None)


def _point_of_text(text: str, to_point: ToPoint) -> Point:
    """Read `<point>735 512</point>`, `(735,512)`; of a box with four numbers return the centre."""
    numbers = numbers_of_reply(text)
    if numbers is None:
        raise NoAction(f"{text!r:.60} is no point")
    x, y = ((a + b) / 2 for a, b in zip(numbers[:2], numbers[-2:], strict=True))
    return to_point(x, y)


_ESCAPES = {"n": "\n", "t": "\t"}


def _unquoted(text: str) -> str:
    return re.sub(
        r"\\(.)", lambda match: _ESCAPES.get(match[1], match[1]), text[1:-1], flags=re.DOTALL
    )


# -- JSON and XML: Qwen, OpenAI, Claude -----------------------------------------------------------

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
_BUTTONS = {  # of OpenAI's click
    "left": "click",
    "right": "right",
    "wheel": "middle",
    "middle": "middle",
    "back": "back",
}


# Names of arguments beside the usual one, which comes first.
_POINT_NAMES = (
    "coordinate",
    "coordinates",
    "point",
    "position",
    "location",
    "start_box",
    "point_2d",
    "bbox",
    "bbox_2d",
)
_TO_NAMES = ("coordinate2", "end_coordinate", "end_point", "end_box")
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


def _read_json(reply: str, to_point: ToPoint) -> Actions:
    """Return the calls of a reply: objects with "action", or with a "type" that is one."""
    calls = [call for written in written_calls(reply) for call in _calls_of(written)]
    return [_action_of_json(call, to_point) for call in calls] or None


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


def _read_tool_calls(tool_calls: Sequence[ToolCall], to_point: ToPoint) -> list[ActionFields]:
    """Return the actions of native tool calls."""
    actions: list[ActionFields] = []
    for tool_call in tool_calls:
        name, arguments = tool_call["name"], tool_call["arguments"]
        if not isinstance(arguments, Mapping):
            raise NoAction(f"the arguments of {name} are no JSON object: {arguments!r:.80}")
        for call in _calls_of({"name": name, "arguments": arguments}):
            actions.append(_action_of_json(call, to_point))
    return actions


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
    if name == "terminate" and call.get("status") not in (None, "success"):
        return {"kind": "fail"}
    return fields | _other_fields(name, kind, call)


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
            return {"app": _first({"app": _said(call, _APP_NAMES), **call}, ("app", "name"))}
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
    """Return what a button of a phone does."""
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
    point = _said(call, _POINT_NAMES)
    if point is None and "x" in call:
        point = (call["x"], call["y"]) if "y" in call else call["x"]
    to = _said(call, _TO_NAMES)
    path = call.get("path")
    if isinstance(path, Sequence) and not isinstance(path, str) and len(path) > 1:
        point, to = path[0], path[-1]
    elif call.get("start_coordinate") is not None:
        point, to = call["start_coordinate"], point if to is None else to
    points = {}
    if point is not None:
        points["point"] = _point_of_value(point, to_point)
    if kind == "drag" and to is not None:
        points["to_point"] = _point_of_value(to, to_point)
    return points


def _point_of_value(value: Any, to_point: ToPoint) -> Point:
    """Return the point of a pair, of a mapping, or of a text; of a box the centre."""
    if isinstance(value, Mapping):
        value = (value.get("x"), value.get("y"))
    if isinstance(value, str):
        return _point_of_text(value, to_point)
    if not isinstance(value, Sequence) or len(value) not in (2, 4):
        raise NoAction(f"{value!r:.60} is no point")
    numbers = [_number(number) for number in value]
    x, y = ((a + b) / 2 for a, b in zip(numbers[:2], numbers[-2:], strict=True))
    return to_point(x, y)


def _scroll_fields(name: str, call: Mapping[str, Any]) -> dict[str, Any]:
    """Return which way and how far: Claude in notches, OpenAI in pixels, Qwen in either."""
    direction = _said(call, ("scroll_direction", "direction"))
    if direction is not None:
        amount = _said(call, ("scroll_amount", "amount"))
        return {
            "direction": str(direction).strip(),
            "amount": NOTCHES if amount is None else _number(amount),
        }
    unit_px = PIXELS_PER_NOTCH
    if "pixels" in call:  # Qwen: positive is up, and to the right for hscroll
        pixels = _number(call["pixels"])
        across_px, down_px = (pixels, 0.0) if name == "hscroll" else (0.0, -pixels)
        if abs(pixels) <= MOST_QWEN_NOTCHES:
            unit_px = 1
    elif "scroll_x" in call or "scroll_y" in call:
        across_px = _number(call.get("scroll_x") or 0)
        down_px = _number(call.get("scroll_y") or 0)
    else:
        raise NoAction(f"{name} without direction")
    way = "down" if down_px > 0 else "up"
    if abs(across_px) > abs(down_px):
        way = "right" if across_px > 0 else "left"
    return {"direction": way, "amount": max(abs(across_px), abs(down_px)) / unit_px}


# -- the parse functions --------------------------------------------------------------------------

_DIALECTS: Mapping[str, tuple[Callable[[str, ToPoint], Actions], Frame | None]] = {
    "actions": (_read_default, None),
    "uitars": (_read_uitars, Frame.GRID_PIXELS),
    "computer_use": (_read_json, Frame.PIXELS_SENT),
}
"""How each is read, and the frame of its points where none is named."""


def parser(dialect: str, frame: Frame | None = None) -> ParseFunction:
    """Return the parse function of "actions", "uitars" or "computer_use" for points in `frame`."""
    read, usual_frame = _DIALECTS[dialect]
    point_frame = usual_frame if frame is None else frame

    def parse(response: str, meta: Mapping[str, Any]) -> Actions:
        if dialect == "computer_use" and meta.get("tool_calls"):
            return _read_tool_calls(meta["tool_calls"], partial(_point, point_frame, meta))
        reply = after_thinking(response)[-LONGEST_READ:]
        return _read_as_it_stands(read, reply, partial(_point, point_frame, meta))

    name = f"parse_{dialect}" if frame is None else f"parse_{dialect}_{frame}"
    parse.__name__ = parse.__qualname__ = name
    return parse


def _read_as_it_stands(
    read: Callable[[str, ToPoint], Actions], reply: str, to_point: ToPoint
) -> Actions:
    """Return the actions of a reply; where it has none, of the reply with its signs folded.

    Only in this order are texts to be typed left as they are.
    """
    folded = fold_outside_quotes(reply)
    if folded == reply:
        return read(reply, to_point)
    try:
        return read(reply, to_point) or read(folded, to_point)
    except NoAction:
        with suppress(NoAction):
            return read(folded, to_point)
        raise


def better_parser(replies: Sequence[str]) -> str:
    """Return the parse function that reads actions in most of these replies; "" if none does."""
    screen_wh = (1000, 1000)  # any: only whether there are actions counts
    meta = {"image_size": list(screen_wh)}
    counts: Counter[str] = Counter()
    for dialect in _DIALECTS:
        parse = parser(dialect)
        for reply in replies:
            with suppress(NoAction, ValueError):
                if read_actions(parse(reply, meta), screen_wh):
                    counts[f"{__name__}.{parse.__name__}"] += 1
    return max(counts, key=counts.__getitem__, default="")


def tool_call_parser(frame: Frame | None = None) -> ParseFunction:
    """Return the parse function of agents that end a task by a reply without a tool call.

    Its text is the answer or, behind the word INFEASIBLE, why the task cannot be done.
    """
    read_calls = parser("computer_use", frame)

    def parse(response: str, meta: Mapping[str, Any]) -> Any:
        if meta.get("tool_calls"):
            return read_calls(response, meta)
        text = after_thinking(response).strip()
        if not text:
            return None
        if text.upper().startswith(INFEASIBLE):
            return [{"kind": "fail", "text": text[len(INFEASIBLE) :].lstrip(" :")}]
        return [{"kind": "answer", "text": text}]

    name = "parse_tool_calls" if frame is None else f"parse_tool_calls_{frame}"
    parse.__name__ = parse.__qualname__ = name
    return parse


parse_actions = parser("actions")
parse_actions_fractions = parser("actions", Frame.FRACTIONS)
parse_actions_pixels = parser("actions", Frame.PIXELS)
parse_actions_pixels_sent = parser("actions", Frame.PIXELS_SENT)
parse_actions_grid_pixels = parser("actions", Frame.GRID_PIXELS)
parse_actions_million_pixels = parser("actions", Frame.MILLION_PIXELS)
parse_actions_per_mille = parser("actions", Frame.PER_MILLE)
parse_actions_per_cent = parser("actions", Frame.PER_CENT)
parse_actions_width_1000 = parser("actions", Frame.WIDTH_1000)
parse_actions_longest_1024 = parser("actions", Frame.LONGEST_1024)
parse_actions_letterboxed = parser("actions", Frame.LETTERBOXED)

parse_uitars = parser("uitars")
parse_uitars_fractions = parser("uitars", Frame.FRACTIONS)
parse_uitars_pixels = parser("uitars", Frame.PIXELS)
parse_uitars_pixels_sent = parser("uitars", Frame.PIXELS_SENT)
parse_uitars_grid_pixels = parser("uitars", Frame.GRID_PIXELS)
parse_uitars_million_pixels = parser("uitars", Frame.MILLION_PIXELS)
parse_uitars_per_mille = parser("uitars", Frame.PER_MILLE)
parse_uitars_per_cent = parser("uitars", Frame.PER_CENT)
parse_uitars_width_1000 = parser("uitars", Frame.WIDTH_1000)
parse_uitars_longest_1024 = parser("uitars", Frame.LONGEST_1024)
parse_uitars_letterboxed = parser("uitars", Frame.LETTERBOXED)

parse_computer_use = parser("computer_use")
parse_computer_use_fractions = parser("computer_use", Frame.FRACTIONS)
parse_computer_use_pixels = parser("computer_use", Frame.PIXELS)
parse_computer_use_pixels_sent = parser("computer_use", Frame.PIXELS_SENT)
parse_computer_use_grid_pixels = parser("computer_use", Frame.GRID_PIXELS)
parse_computer_use_million_pixels = parser("computer_use", Frame.MILLION_PIXELS)
parse_computer_use_per_mille = parser("computer_use", Frame.PER_MILLE)
parse_computer_use_per_cent = parser("computer_use", Frame.PER_CENT)
parse_computer_use_width_1000 = parser("computer_use", Frame.WIDTH_1000)
parse_computer_use_longest_1024 = parser("computer_use", Frame.LONGEST_1024)
parse_computer_use_letterboxed = parser("computer_use", Frame.LETTERBOXED)

parse_tool_calls = tool_call_parser()
parse_tool_calls_fractions = tool_call_parser(Frame.FRACTIONS)
parse_tool_calls_per_mille = tool_call_parser(Frame.PER_MILLE)
