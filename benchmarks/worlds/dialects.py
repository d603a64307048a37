"""Parse functions for the ways in which models name actions, to be named in a config.

    parse_actions         the default prompt's: `Action: click(0.412, 0.090)`
    parse_uitars          UI-TARS: `Action: click(point='<point>735 512</point>')`
    parse_computer_use    JSON: Qwen's `computer_use` calls, the computer tools of OpenAI and Claude

Each reads points in the frame that is usual for it (the first one takes fractions, or pixels of the
screenshot where a coordinate is above 1), and has a sister for every other frame of
`utils.coordinates`: `parse_actions_per_mille`, `parse_uitars_grid_pixels`, ... Pure: nothing of a
reply is ever executed. They return None where a reply names no action, and raise `NoAction` where
it names one that does not exist.
"""

from __future__ import annotations

import ast
import json
import re
import threading
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from benchmarks.worlds.actions import (
    CALLS,
    CLICKS,
    KEYS,
    NOTCHES,
    POINTING,
    Action,
    NoAction,
    read_actions,
    read_keys,
)
from utils.contracts import ParseFunction, Point
from utils.coordinates import Frame, in_frame
from utils.text import did_you_mean
from utils.thinking import after_thinking

ToPoint = Callable[[Any, Any], Point]
"""x and y as a model gives them → the point as `read_actions` takes it."""
PIXELS_PER_NOTCH = 100  # where a model scrolls by pixels
MOST_QWEN_NOTCHES = 30  # up to which its "pixels" are notches: it was trained on pyautogui's wheel
LONGEST_READ = 100_000  # characters, from the end: what bounds the time that a reply takes
MOST_BRACES = 200  # of which a JSON object is tried to be read
Found = list[Action] | None


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise NoAction(f"{value!r:.60} is no number") from None


def _point(frame: Frame | None, meta: Mapping[str, Any], x: Any, y: Any) -> Point:
    point = _number(x), _number(y)
    return point if frame is None else in_frame(frame, point, meta)


# -- the default prompt's -------------------------------------------------------------------------

_KIND_OF = {**{kind: kind for kind in CALLS}, **{name: kind for kind, name in CALLS.items()}}
_LABEL = r"action\s*+\d*+[^\w:]*+:\W*+"  # possessive: nothing here is worth a second try
_BEGIN = re.compile(
    rf"^[^\w\n]*+(?P<label>{_LABEL})?(?=(?P<name>\w++)\s*+\()", re.IGNORECASE | re.MULTILINE
)
_NEXT = re.compile(r"[ ,;]*(?=(?P<name>\w+)\s*\()")
_REST_OF_LINE = re.compile(r"[ \t`*.;,]*(?:(?:#|//).*)?$", re.MULTILINE)
_BETWEEN = re.compile(rf"\W*+(?:{_LABEL})*+", re.IGNORECASE)  # two lines of actions
_SIGN = re.compile(r"[\\'\"()\n]")
_QUIET = threading.Lock()  # two threads that put filters of warnings back would leave wrong ones
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
_SYNONYMS = {("fail", "reason"): "text", ("open_app", "name"): "app", ("key", "key"): "keys"}


def _own(reply: str, to_point: ToPoint) -> Found:
    """The calls that stand on lines of their own, or behind "Action:"; the last such lines count.

    Lines that follow each other are one list of actions.
    """
    calls: list[str] = []
    end = 0
    while begin := _BEGIN.search(reply, end):
        if begin["label"] or begin["name"].lower() in _KIND_OF:
            found, stop = _calls_from(reply, begin.end())
            if found and (begin["label"] or _REST_OF_LINE.match(reply, stop)):
                follows = calls and _BETWEEN.fullmatch(reply, end, begin.end())
                calls, end = [*(calls if follows else ()), *found], stop
                continue
        end = max(begin.end(), end + 1)
    return [_of_call(call, to_point) for call in calls] or None


def _calls_from(text: str, place: int) -> tuple[list[str], int]:
    """The calls that begin here, one after the other, and where they end."""
    found: list[str] = []
    while match := _NEXT.match(text, place):
        opened = text.index("(", match.end())
        end = _end_of_call(text, opened + 1)
        if end is None:
            break
        found.append(text[match.end() : end])
        place = end
    return found, place


def _end_of_call(text: str, start: int) -> int | None:
    """Where the bracket closes that was opened before `start`; None: not on its line.

    Texts in quotes may go on over lines, and brackets in them do not count.
    """
    depth, quote, place = 1, "", start
    while sign := _SIGN.search(text, place):
        place = sign.end()
        match sign[0]:
            case "\\":
                place += 1 if quote else 0
            case "'" | '"' as mark if quote in ("", mark):
                quote = "" if quote else mark
            case "\n" if not quote:
                return None
            case "(" | ")" as bracket if not quote:
                depth += 1 if bracket == "(" else -1
                if depth == 0:
                    return place
    return None


def _of_call(text: str, to_point: ToPoint) -> Action:
    name = text.partition("(")[0].strip().lower()
    if name not in _KIND_OF:
        raise NoAction(f"unknown action {name!r:.60}{did_you_mean(name, _KIND_OF)}")
    kind = _KIND_OF[name]
    names = _ARGUMENTS.get(kind, ("x", "y"))
    try:  # literals only: nothing of a reply is run
        with _QUIET, warnings.catch_warnings(action="ignore"):  # "\d" in a text
            call = ast.parse(text.replace("\n", "\\n"), mode="eval").body
        assert isinstance(call, ast.Call)
        given = [ast.literal_eval(value) for value in call.args]
        if kind == "scroll" and isinstance(next(iter(given), 0), str):
            names = ("direction", "amount")
        fields = dict(zip(names, given, strict=False))
        fields |= {str(each.arg): ast.literal_eval(each.value) for each in call.keywords}
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError, AssertionError):
        raise NoAction(f"{name}: its values must be numbers and texts in quotes") from None
    if len(given) > len(names):
        raise NoAction(f"{name} takes {len(names)} values, not {len(given)}")
    fields = {_SYNONYMS.get((kind, key), key): value for key, value in fields.items()}
    allowed = (*names, "modifiers") if kind in POINTING else names
    if unknown := sorted(set(fields) - set(allowed)):
        raise NoAction(f"{name} has no value called {unknown[0]!r:.60}")
    for target, (x, y) in (
        ("point", ("x", "y")),
        ("point", ("x1", "y1")),
        ("to_point", ("x2", "y2")),
    ):
        if x in fields and y in fields:
            fields[target] = to_point(fields.pop(x), fields.pop(y))
    if names[:1] in (("x",), ("x1",)) and set(fields) & set(names[:4]) - {"direction", "amount"}:
        raise NoAction(f"{name} takes {', '.join(names)}")
    return Action(kind, **fields)


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
_TARS_CALL = re.compile(r"\s*(\w+)\(")
_TARS_VALUE = re.compile(r"""\b(\w++)\s*+=\s*('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")""", re.DOTALL)
_TARS_TEXT = re.compile(r"""\(\s*+content\s*+=\s*+(?=(?P<quote>['"]))""")
_TARS_TEXT_END = re.compile(r"""\\.|(?P<quote>['"])\s*+\)""", re.DOTALL)
_TARS_NEXT = re.compile(r"[\s;]*+(?:\Z|(?P<name>\w++)\()")
_TARS_POINTS = ("point", "start_point", "start_box"), ("end_point", "end_box")
TARS_WAIT_S = 5.0  # what its prompt says of `wait()`


def _uitars(reply: str, to_point: ToPoint) -> Found:
    """The calls after the last "Action:", each on a line of its own."""
    _, lead, text = reply.rpartition("Action:")
    found: list[Action] = []
    while lead and (match := _TARS_CALL.match(text)):
        content = _tars_text(text, match.end() - 1)
        if content is not None:
            values, end = {"content": _unquoted(content[0])}, content[1]
        else:
            closed = _end_of_call(text, match.end())
            if closed is None:
                break
            end = closed
            values = {name: _unquoted(value) for name, value in _TARS_VALUE.findall(text[:end])}
        found.append(_of_uitars(match[1], values, to_point))
        text = text[end:].lstrip(" ;")
    return found or None


def _tars_text(text: str, opened: int) -> tuple[str, int] | None:
    """Return the quoted `content` of a call whose bracket opens at `opened`, and the call's end.

    Models do not escape quotes in it (`type(content='it's ok')`), so it goes on to the first
    quote and bracket that nothing but the end or another call follows. None: it has no content.
    """
    begin = _TARS_TEXT.match(text, opened)
    if begin is None:
        return None
    start, first = begin.end(), None
    for closing in _TARS_TEXT_END.finditer(text, start + 1):
        if closing["quote"] != begin["quote"]:
            continue
        content = text[start : closing.start() + 1], closing.end()
        following = _TARS_NEXT.match(text, closing.end())
        if following and (following["name"] is None or following["name"] in _TARS_KINDS):
            return content
        first = first or content
    return first


def _of_uitars(name: str, values: Mapping[str, str], to_point: ToPoint) -> Action:
    if name not in _TARS_KINDS:
        raise NoAction(f"unknown action {name!r:.60}{did_you_mean(name, _TARS_KINDS)}")
    kind, content = _TARS_KINDS[name], values.get("content", "")
    fields: dict[str, Any] = {}
    for target, names in zip(("point", "to_point"), _TARS_POINTS, strict=True):
        said = next((values[each] for each in names if each in values), None)
        if said is not None:
            fields[target] = _point_of_text(said, to_point)
    if kind == "scroll":
        fields["direction"] = values.get("direction", "down")
    elif kind == "type":
        fields["text"] = content
    elif kind == "key":
        fields["keys"] = values.get("key", values.get("hotkey", ""))
    elif kind == "wait":
        fields["seconds"] = TARS_WAIT_S
    elif kind == "open_app":
        fields["app"] = values.get("app_name", "")
    elif kind == "done" and content:
        kind, fields = "answer", {"text": content}
    return Action(kind, **fields)


def _point_of_text(text: str, to_point: ToPoint) -> Point:
    """`<point>735 512</point>`, `(735,512)`; of a box with four numbers its centre."""
    numbers = [float(each) for each in re.findall(r"-?\d+(?:\.\d+)?", text)]
    if len(numbers) not in (2, 4):
        raise NoAction(f"{text!r:.60} is no point")
    x, y = ((a + b) / 2 for a, b in zip(numbers[:2], numbers[-2:], strict=True))
    return to_point(x, y)


_ESCAPES = {"n": "\n", "t": "\t"}


def _unquoted(text: str) -> str:
    return re.sub(
        r"\\(.)", lambda match: _ESCAPES.get(match[1], match[1]), text[1:-1], flags=re.DOTALL
    )


# -- JSON: Qwen, OpenAI, Claude -------------------------------------------------------------------

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


def _computer_use(reply: str, to_point: ToPoint) -> Found:
    """The calls of a reply: JSON objects with "action", or with a "type" that is one."""
    calls = [call for written in _objects(reply) for call in _calls_of(written)]
    return [_of_json(call, to_point) for call in calls] or None


def _objects(reply: str) -> Iterator[Mapping[str, Any]]:
    """The JSON objects of a text, outermost first, in order."""
    decoder = json.JSONDecoder(strict=False)  # models write line feeds into texts as they are
    place = reply.find("{")
    for _ in range(MOST_BRACES):
        if place < 0:
            return
        try:
            found, end = decoder.raw_decode(reply, place)
        except (ValueError, RecursionError):
            end = place + 1
        else:
            if isinstance(found, dict):
                yield found
        place = reply.find("{", end)


def _calls_of(written: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the parts of a tool call that say what to do; none if it is something else."""
    batch = written.get("actions")  # OpenAI's `computer_call` of several
    if isinstance(batch, list):
        if not all(isinstance(action, Mapping) for action in batch):
            raise NoAction(f"{batch!r:.60} are no actions")
        return [call for action in batch for call in _calls_of(action)]
    for name in ("arguments", "input", "action"):  # Qwen; Claude; OpenAI's `computer_call` of one
        inner = written.get(name)
        if isinstance(inner, str) and name == "arguments":
            inner = next(_objects(inner), None)
        if isinstance(inner, Mapping):
            return _calls_of(inner) or [inner]
    has_name = isinstance(written.get("action", written.get("type")), str)
    return [written] if has_name else []


def _of_json(call: Mapping[str, Any], to_point: ToPoint) -> Action:
    name = str(call.get("action", call.get("type")))
    if name not in _JSON_KINDS:
        raise NoAction(f"unknown action {name!r:.60}{did_you_mean(name, _JSON_KINDS)}")
    if name == "system_button":
        return _system_button(call.get("button"))
    kind, text = _kind_of_button(name, call), call.get("text", "")
    if kind == "back":  # a button of the mouse
        return Action(kind)
    fields = _places(kind, call, to_point)
    if kind in POINTING:
        fields["modifiers"] = _held_keys(call)
    if kind == "scroll":
        fields |= _wheel(name, call)
    elif kind in ("type", "answer"):
        fields["text"] = text
    elif kind == "key":
        fields["keys"] = call.get("keys", text)
    elif kind == "wait":
        seconds = call.get("time", call.get("duration", 1))
        fields["seconds"] = 0.0 if name == "screenshot" else seconds
    elif kind == "open_app":
        fields["app"] = call.get("app", call.get("name", text))
    elif name == "terminate" and call.get("status") not in (None, "success"):
        kind = "fail"
    elif kind == "fail":
        fields["text"] = call.get("reason", text)
    return Action(kind, **fields)


def _kind_of_button(name: str, call: Mapping[str, Any]) -> str:
    """Return the kind of an action by its name and, of OpenAI's `click`, its button."""
    kind, button = _JSON_KINDS[name], call.get("button")
    if kind not in CLICKS or button is None:
        return kind
    does = _BUTTONS.get(button) if isinstance(button, str) else None
    if name == "click" and does is not None:
        return does
    is_of_left = does == "click" and kind not in ("right", "middle")
    if does == kind or is_of_left:
        return kind
    raise NoAction(f"{name} with the button {button!r:.60} cannot be done here")


def _system_button(button: Any) -> Action:
    """Return what a button of a phone does."""
    match str(button).lower():
        case "back" | "home" as kind:
            return Action(kind)
        case "enter":
            return Action("key", keys=("enter",))
    raise NoAction(f"there is no system button {button!r:.60} here; known are Back, Home, Enter")


def _held_keys(call: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the keys held while the mouse acts: OpenAI's `keys`, Claude's `text`."""
    keys = call.get("keys")
    if keys:
        return read_keys(keys)
    text = call.get("text")
    if not text or not isinstance(text, str):
        return ()
    try:
        names = read_keys(text)
    except NoAction:
        return ()  # a label, as some models add it
    return names if set(names) <= set(KEYS) else ()


def _places(kind: str, call: Mapping[str, Any], to_point: ToPoint) -> dict[str, Any]:
    """Where a call points to: Qwen's and Claude's `coordinate`, OpenAI's `x` and `y` or `path`."""
    start, end = call.get("start_coordinate"), call.get("coordinate2", call.get("end_coordinate"))
    at = call.get("coordinate")
    if at is None and "x" in call and "y" in call:
        at = (call["x"], call["y"])
    path = call.get("path")
    if isinstance(path, Sequence) and not isinstance(path, str) and len(path) > 1:
        at, end = path[0], path[-1]
    elif start is not None:
        at, end = start, at
    found = {"point": at, "to_point": end if kind == "drag" else None}
    return {name: _of_pair(value, to_point) for name, value in found.items() if value is not None}


def _of_pair(value: Any, to_point: ToPoint) -> Point:
    if isinstance(value, Mapping):
        value = (value.get("x"), value.get("y"))
    if isinstance(value, str) or not isinstance(value, Sequence) or len(value) != 2:
        raise NoAction(f"{value!r:.60} is no point")
    return to_point(value[0], value[1])


def _wheel(name: str, call: Mapping[str, Any]) -> dict[str, Any]:
    """Return which way and how far: Claude in notches, OpenAI in pixels, Qwen in either."""
    if "scroll_direction" in call:
        amount = call.get("scroll_amount", NOTCHES)
        return {"direction": str(call["scroll_direction"]), "amount": _number(amount)}
    across_px, down_px, unit_px = 0.0, 0.0, PIXELS_PER_NOTCH
    if "pixels" in call:  # Qwen: positive is up, and to the right for hscroll
        pixels = _number(call["pixels"])
        if name == "hscroll":
            across_px = pixels
        else:
            down_px = -pixels
        if abs(pixels) <= MOST_QWEN_NOTCHES:
            unit_px = 1
    else:
        across_px = _number(call.get("scroll_x") or 0)
        down_px = _number(call.get("scroll_y") or 0)
    if abs(across_px) > abs(down_px):
        direction = "right" if across_px > 0 else "left"
        return {"direction": direction, "amount": abs(across_px) / unit_px}
    direction = "down" if down_px > 0 else "up"
    return {"direction": direction, "amount": abs(down_px) / unit_px}


# -- the parse functions --------------------------------------------------------------------------

_DIALECTS: Mapping[str, tuple[Callable[[str, ToPoint], Found], Frame | None, str]] = {
    "actions": (_own, None, "of the default prompt"),
    "uitars": (_uitars, Frame.GRID_PIXELS, "in UI-TARS's words"),
    "computer_use": (_computer_use, Frame.PIXELS_SENT, "as JSON of a computer tool"),
}


def parser(dialect: str, frame: Frame | None = None) -> ParseFunction:
    """A parse function: "actions", "uitars" or "computer_use", its points in `frame`."""
    read, usual, words = _DIALECTS[dialect]
    counted = usual if frame is None else frame

    def parse(response: str, meta: Mapping[str, Any]) -> Found:
        reply = response[-LONGEST_READ:]
        reply = after_thinking(reply) if "think" in reply.casefold() else reply
        return read(reply, partial(_point, counted, meta))

    name = f"parse_{dialect}" + (f"_{frame}" if frame else "")
    parse.__name__ = parse.__qualname__ = name
    parse.__doc__ = f"The actions of a reply {words}, points in {counted or 'fractions or pixels'}."
    return parse


def better_parser(replies: Sequence[str]) -> str:
    """Return the parse function that reads actions in most of these replies; "" if none does."""
    screen_wh = (1000, 1000)  # any: what is looked for are words that have a meaning
    meta = {"image_size": list(screen_wh)}
    counts: Counter[str] = Counter()
    for dialect in _DIALECTS:
        parse = parser(dialect)
        for reply in replies:
            with suppress(NoAction, ValueError):
                if read_actions(parse(reply, meta), screen_wh):
                    counts[f"{__name__}.{parse.__name__}"] += 1
    return max(counts, key=counts.__getitem__, default="")


parse_actions = parser("actions")
parse_uitars = parser("uitars")
parse_computer_use = parser("computer_use")
for _dialect in _DIALECTS:
    for _frame in Frame:
        globals()[f"parse_{_dialect}_{_frame}"] = parser(_dialect, _frame)
