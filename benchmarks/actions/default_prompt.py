"""Actions in the words of the default prompt: `Action: click(0.412, 0.090)`."""

from __future__ import annotations

import ast
import re
import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchmarks.actions.action import CALLS, POINTING, NoAction
from benchmarks.actions.values import (
    POINT_NAMES,
    TO_NAMES,
    ActionFields,
    Actions,
    ToPoint,
    coordinates_of,
)
from utils.reply_numbers import numbers_of_reply
from utils.text import did_you_mean

_DEFAULT_KINDS = {**{kind: kind for kind in CALLS}, **{name: kind for kind, name in CALLS.items()}}
_LABEL = r"action\s*+\d*+[^\w:]*+:\W*+"  # possessive: nothing here is worth a second try
_BEGIN = re.compile(
    rf"^[^\w\n]*+(?P<label>{_LABEL})?(?=(?P<name>\w++)\s*+\()", re.IGNORECASE | re.MULTILINE
)
_NEXT = re.compile(r"[ ,;]*(?=(?P<name>\w+)\s*\()")
_REST_OF_LINE = re.compile(r"[ \t`*.;,]*(?:(?:#|//).*)?$", re.MULTILINE)
_BETWEEN = re.compile(rf"\W*+(?:{_LABEL})*+", re.IGNORECASE)  # two lines of actions
_SIGN = re.compile(r"[\\'\"()\n]")
_NUMBER = r"-?(?:0|[1-9][0-9]{0,14})(?:\.[0-9]+)?"
_ONLY_NUMBERS = re.compile(rf"\w+[ \t]*\([ \t]*({_NUMBER}(?:[ \t]*,[ \t]*{_NUMBER})*)[ \t]*\)")
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
_SYNONYMS = {
    ("type", "content"): "text",
    ("answer", "content"): "text",
    ("fail", "content"): "text",
    ("fail", "reason"): "text",
    ("open_app", "name"): "app",
    ("key", "key"): "keys",
}


def read_default(reply: str, to_point: ToPoint) -> Actions:
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
        end = end_of_call(text, opened + 1)
        if end is None:
            break
        calls.append(text[match.end() : end])
        position = end
    return calls, position


def end_of_call(text: str, start: int) -> int | None:
    """Return the position behind the closing bracket of a call; None: it is not on the same line.

    `start` is the position behind the opening bracket. Quoted texts may contain line breaks, and
    brackets in them do not count.
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
    if kind in POINTING:
        values = [part for value in values for part in _parts_of(value)]
    if kind == "scroll" and values and isinstance(values[0], str):
        names = ("direction", "amount")
    if len(values) > len(names):
        raise NoAction(f"{name} takes {len(names)} values, not {len(values)}")
    named = [*zip(names, values, strict=False), *_by_usual_names(kind, keywords)]
    fields = _without_repeats(name, named)
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


def _without_repeats(name: str, named: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for key, value in named:
        if key in fields:
            raise NoAction(f"{name} has two values called {key!r:.60}")
        fields[key] = value
    return fields


def _parts_of(value: Any) -> list[Any]:
    """Return x and y of a value that is a point; in a list, any other value as it is."""
    is_point = isinstance(value, (list, tuple, Mapping))
    if isinstance(value, str):
        is_point = numbers_of_reply(value) is not None
    return [*coordinates_of(value)] if is_point else [value]


def _by_usual_names(kind: str, keywords: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the values that a call names, by the names that `_ARGUMENTS` has; of points x and y."""
    x, y = ("x1", "y1") if kind == "drag" else ("x", "y")
    for key, value in keywords.items():
        if kind in POINTING and key in POINT_NAMES:
            yield from zip((x, y), coordinates_of(value), strict=True)
        elif kind == "drag" and key in TO_NAMES:
            yield from zip(("x2", "y2"), coordinates_of(value), strict=True)
        else:
            yield _SYNONYMS.get((kind, key), key), value


def _literals(name: str, text: str) -> tuple[list[Any], dict[str, Any]]:
    """Return the values of a call by position and by name; nothing of it is run."""
    if plain := _ONLY_NUMBERS.fullmatch(text):  # nearly all: it takes a tenth of the time
        return [float(value) if "." in value else int(value) for value in plain[1].split(",")], {}
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
