"""Helpers of the readers of all dialects: numbers, points, and names of arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from benchmarks.actions.action import NoAction
from utils.contracts import Point
from utils.reply_numbers import numbers_of_reply

ToPoint = Callable[[Any, Any], Point]
"""x and y as a model gives them → the point as `read_actions` takes it."""
ActionFields = dict[str, Any]
Actions = list[ActionFields] | None  # None: the reply names none


def read_number(value: Any) -> float:
    """Return a number as a model writes it.

    Raises:
        NoAction: it is none.
    """
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise NoAction(f"{value!r:.60} is no number") from None


def first_value(values: Mapping[str, Any], names: Sequence[str]) -> Any:
    """Return the value of the first of these names that has one; None: none has."""
    return next((values[name] for name in names if values.get(name) is not None), None)


def point_of_text(text: str, to_point: ToPoint) -> Point:
    """Read `<point>735 512</point>`, `(735,512)`; of a box with four numbers return the centre."""
    numbers = numbers_of_reply(text)
    if numbers is None:
        raise NoAction(f"{text!r:.60} is no point")
    x, y = ((a + b) / 2 for a, b in zip(numbers[:2], numbers[-2:], strict=True))
    return to_point(x, y)
