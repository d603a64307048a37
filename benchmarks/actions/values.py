"""Helpers of the readers of all dialects: numbers, points, and names of arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from benchmarks.actions.action import NoAction
from utils.contracts import Point
from utils.reply_numbers import numbers_of_reply

ToPoint = Callable[[Any, Any], Point]
"""x and y as a model gives them → the point as `read_actions` takes it."""
POINT_NAMES = (
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
TO_NAMES = ("coordinate2", "end_coordinate", "end_point", "end_box")
"""Names of arguments for a point, and for the end of a drag; the usual one comes first."""
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
    return to_point(*coordinates_of(text))


def coordinates_of(value: Any) -> tuple[float, float]:
    """Return x and y of a pair, of a mapping, or of a text; of a box those of its centre.

    Raises:
        NoAction: it is no point.
    """
    if isinstance(value, Mapping):
        value = (value.get("x"), value.get("y"))
    numbers = numbers_of_reply(value) if isinstance(value, str) else value
    if not isinstance(numbers, Sequence) or len(numbers) not in (2, 4):
        raise NoAction(f"{value!r:.60} is no point")
    numbers = [read_number(number) for number in numbers]
    x, y = ((a + b) / 2 for a, b in zip(numbers[:2], numbers[-2:], strict=True))
    return x, y
