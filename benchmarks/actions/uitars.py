"""Actions in the words of UI-TARS: `Action: click(point='<point>735 512</point>')`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from benchmarks.actions.action import NoAction
from benchmarks.actions.default_prompt import end_of_call
from benchmarks.actions.values import ActionFields, Actions, ToPoint, first_value, point_of_text
from utils.text import did_you_mean

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


def read_uitars(reply: str, to_point: ToPoint) -> Actions:
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
            end = end_of_call(text, match.end())
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
    content = first_value(values, _TARS_TEXTS)
    points: dict[str, Any] = {}
    for target, names in zip(("point", "to_point"), _TARS_POINTS, strict=True):
        text = first_value(values, names)
        if text is not None:
            points[target] = point_of_text(text, to_point)
    if kind == "done" and content:
        return {"kind": "answer", "text": content}
    fields_by_kind: dict[str, dict[str, Any]] = {
        "scroll": {"direction": values.get("direction", "down")},
        "type": {"text": content},
        "key": {"keys": first_value(values, _TARS_KEYS)},
        "wait": {"seconds": TARS_WAIT_S},
        "open_app": {"app": first_value(values, _TARS_APPS)},
    }
    return {"kind": kind, **points, **fields_by_kind.get(kind, {})}


_ESCAPES = {"n": "\n", "t": "\t"}


def _unquoted(text: str) -> str:
    return re.sub(
        r"\\(.)", lambda match: _ESCAPES.get(match[1], match[1]), text[1:-1], flags=re.DOTALL
    )
