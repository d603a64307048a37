"""A person's answer on the page, as a reply in the form that models are asked for.

Every parser, score, report and audit reads it like any other reply. The functions are pure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from models.human.questions import ACTIONS, LETTER, Question
from utils.contracts import WH

NOT_THERE = "(-1, -1)"
MOST_ACTIONS = 8  # of one reply
LONGEST_TEXT = 5000
LONGEST_KEYS = 60
MOST_NOTCHES = 100
LONGEST_WAIT_S = 5
AT_A_POINT = (
    "click",
    "double_click",
    "triple_click",
    "right_click",
    "middle_click",
    "long_press",
    "move",
)
WITHOUT_VALUES = ("back", "home", "done")
DIRECTIONS = ("up", "down", "left", "right")
MODIFIERS = ("ctrl", "alt", "shift", "meta")


class BadAnswer(ValueError):
    """The page sent something that is no answer to its question."""


def reply_of(question: Question, answer: Mapping[str, Any]) -> str:
    """Return an answer of the page as a reply.

    Args:
        question: what was asked.
        answer: `{"letter": "B"}`; `{"point": [x, y]}`, in whole pixels of the image file, or
            `{"point": null}` where it is not there; or `{"actions": [{"kind": "click", "x": ...,
            "y": ...}, ...]}`.

    Raises:
        BadAnswer: it is none of these, or not one of this question.
    """
    if question.kind == LETTER:
        letters = [letter for letter, _ in question.options]
        return _one_of(letters, answer.get("letter"))
    wh = question.pictures[-1].wh
    if question.kind == ACTIONS:
        actions = answer.get("actions")
        if not isinstance(actions, list) or not 0 < len(actions) <= MOST_ACTIONS:
            raise BadAnswer(f"expected 1 to {MOST_ACTIONS} actions")
        return "\n".join(f"Action: {_call(action, wh)}" for action in actions)
    point = answer.get("point", "")
    if point is None:
        return NOT_THERE
    if not isinstance(point, list) or len(point) != 2:
        raise BadAnswer("expected a point or null")
    x, y = point
    return f"({_point(x, y, wh)})"


def _one_of(choices: list[str] | tuple[str, ...], value: Any) -> str:
    if not isinstance(value, str) or value not in choices:
        raise BadAnswer(f"expected one of {', '.join(choices)}")
    return value


def _point(x: Any, y: Any, wh: WH) -> str:
    """Return the coordinates of a pixel: whole ones, which any parser takes as pixels.

    Where both are 0 or 1 they would be taken as fractions, so they are written as such.
    """
    for value, size in ((x, wh[0]), (y, wh[1])):
        if type(value) is not int or not 0 <= value < size:
            raise BadAnswer(f"expected a pixel of the image, {wh[0]} by {wh[1]}")
    if max(x, y) > 1:
        return f"{x}, {y}"
    return f"{x / wh[0]:.6f}, {y / wh[1]:.6f}"


def _call(action: Any, wh: WH) -> str:
    """Return one action as a call in the words of the default prompt."""
    if not isinstance(action, Mapping):
        raise BadAnswer("expected an action")
    kind = str(action.get("kind"))
    if kind in WITHOUT_VALUES:
        return f"{kind}()"
    if kind in AT_A_POINT:
        values = [_point(action.get("x"), action.get("y"), wh), *_held(action)]
        return f"{kind}({', '.join(values)})"
    if kind not in _VALUES:
        raise BadAnswer("expected an action of a known kind")
    return f"{kind}({_VALUES[kind](action, wh)})"


def _held(action: Mapping[str, Any]) -> list[str]:
    """Return the keys that were held, as the value of a call; or nothing."""
    modifiers = action.get("modifiers") or []
    if not isinstance(modifiers, list):
        raise BadAnswer("expected a list of keys that were held")
    names = "+".join(_one_of(MODIFIERS, name) for name in modifiers)
    return [f'modifiers="{names}"'] if names else []


def _drag(action: Mapping[str, Any], wh: WH) -> str:
    start = _point(action.get("x1"), action.get("y1"), wh)
    end = _point(action.get("x2"), action.get("y2"), wh)
    return ", ".join([start, end, *_held(action)])


def _scroll(action: Mapping[str, Any], wh: WH) -> str:
    point = _point(action.get("x"), action.get("y"), wh)
    direction = _one_of(DIRECTIONS, action.get("direction"))
    amount = _whole(action.get("amount"), MOST_NOTCHES)
    return ", ".join([point, f'"{direction}"', str(amount), *_held(action)])


def _whole(value: Any, largest: int) -> int:
    if type(value) is not int or not 1 <= value <= largest:
        raise BadAnswer(f"expected a whole number from 1 to {largest}")
    return value


def _text(value: Any, longest: int = LONGEST_TEXT) -> str:
    """Return a text in quotes, as a literal of a call; control characters are left out."""
    if not isinstance(value, str) or not 0 < len(value) <= longest:
        raise BadAnswer(f"expected a text of at most {longest} characters")
    written = value.replace("\r\n", "\n").encode("utf-8", "replace").decode("utf-8")
    readable = "".join(sign for sign in written if sign >= " " or sign in "\n\t")
    escaped = readable.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + escaped.replace("\n", "\\n").replace("\t", "\\t") + '"'


_VALUES: Mapping[str, Callable[[Mapping[str, Any], WH], str]] = {
    "drag": _drag,
    "scroll": _scroll,
    "type": lambda action, wh: _text(action.get("text")),
    "press": lambda action, wh: _text(action.get("keys"), LONGEST_KEYS),
    "wait": lambda action, wh: str(_whole(action.get("seconds"), LONGEST_WAIT_S)),
    "open_app": lambda action, wh: _text(action.get("name")),
    "answer": lambda action, wh: _text(action.get("text")),
    "fail": lambda action, wh: _text(action.get("text")),
}
"""The text in the brackets of a call, by the name of the call."""
