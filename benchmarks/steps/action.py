"""The one form of an action of a recorded step, whatever format a model or a data set has."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from utils.contracts import WH, Point

Corners = tuple[float, float, float, float]  # x1, y1, x2, y2: pixels or fractions, as a name says
Convention = Literal["content", "finger"]

KINDS = ("click", "long_press", "swipe", "type", "open_app", "press", "wait", "finish")
POINTING = ("click", "long_press")
OPPOSITES = {"up": "down", "down": "up", "left": "right", "right": "left", "": ""}


@dataclass(frozen=True, slots=True)
class StepAction:
    """One gesture; which fields count depends on the kind.

    Points are fractions of the image and never rounded. A click without a point is one whose kind
    was read and whose point was not.
    """

    kind: str
    point: Point | None = None  # of a click; of other kinds only where a grounding model gave one
    box_frac: Corners | None = None  # where the format answers with a box instead of a point
    direction: str = ""  # of a swipe: where the content goes; "": only the drag is known
    start: Point | None = None  # of a drag: what the finger does
    end: Point | None = None
    text: str = ""  # to type, the name of an app, or the text of an answer
    button: str = ""  # back, home, recent, enter, menu
    status: str = ""  # of the end: success or failure
    # To wait, where that is known: for people alone, as no rule looks at it and no prompt has it.
    seconds: float | None = field(default=None, compare=False)

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> StepAction:
        """An action from its JSON form, in which a swipe names the convention of its direction.

        Raises:
            ValueError: the kind, a direction or a convention is unknown, or a point is none.
        """
        kind = fields.get("kind")
        if kind not in KINDS:
            raise ValueError(f"kind {kind!r} is none of {', '.join(KINDS)}")
        return cls(
            kind=kind,
            point=_point(fields.get("point")),
            box_frac=_corners(fields.get("box")),
            direction=_content_direction(fields),
            start=_point(fields.get("start")),
            end=_point(fields.get("end")),
            text=_text(fields.get("text")),
            button=_text(fields.get("button")),
            status=_text(fields.get("status")),
            seconds=duration_of(fields.get("seconds")),
        )

    def as_json(self) -> dict[str, Any]:
        """The JSON form, with the fields of the action's kind and those that have a value."""
        record: dict[str, Any] = {"kind": self.kind}
        if self.point is not None:
            record["point"] = list(self.point)
        elif self.kind in POINTING:
            record["point"] = None
        if self.box_frac is not None:
            record["box"] = list(self.box_frac)
        if self.direction:
            record |= {"direction": self.direction, "convention": "content"}
        if self.start is not None and self.end is not None:
            record |= {"start": list(self.start), "end": list(self.end)}
        if self.text or self.kind in ("type", "open_app"):
            record["text"] = self.text
        if self.button:
            record["button"] = self.button
        if self.status:
            record["status"] = self.status
        return record


def opposite(direction: str) -> str:
    """The direction the other way; "" stays unknown."""
    return OPPOSITES[direction]


def finger_direction(action: StepAction, frame_wh: WH, *, when_still: str = "") -> str:
    """The direction in which the finger of a swipe moves.

    A drag moves along the axis on which it is longer in `frame_wh`, and vertically if both are
    equal. Without a drag, the finger moves opposite to the content.

    Args:
        frame_wh: width and height in the pixels of the rule; (1, 1) compares fractions.
        when_still: the direction of a drag that ends where it began; rules differ.
    """
    if action.start is None or action.end is None:
        return opposite(action.direction)
    width, height = frame_wh
    dx = (action.end[0] - action.start[0]) * width
    dy = (action.end[1] - action.start[1]) * height
    if abs(dx) > abs(dy):
        return "right" if dx > 0 else "left"
    if dy == 0:
        return when_still
    return "down" if dy > 0 else "up"


def content_direction(action: StepAction, frame_wh: WH, *, when_still: str = "") -> str:
    """The direction in which a swipe moves the content; `when_still` is a finger direction."""
    return opposite(finger_direction(action, frame_wh, when_still=when_still))


def duration_of(value: Any) -> float | None:
    """A number of seconds of a file or a reply; None where it is none."""
    if type(value) not in (int, float):
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def _content_direction(fields: Mapping[str, Any]) -> str:
    direction = _text(fields.get("direction"))
    convention = fields.get("convention", "content")
    if direction not in OPPOSITES:
        raise ValueError(f"direction {direction!r} is none of up, down, left, right")
    if convention not in ("content", "finger"):
        raise ValueError(f'convention {convention!r} is neither "content" nor "finger"')
    return opposite(direction) if convention == "finger" else direction


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def _point(value: Any) -> Point | None:
    if value is None:
        return None
    numbers = _finite_numbers(value)
    if len(numbers) != 2:
        raise ValueError(f"{value!r:.60} is no point")
    return numbers[0], numbers[1]


def _corners(value: Any) -> Corners | None:
    if value is None:
        return None
    numbers = _finite_numbers(value)
    if len(numbers) != 4:
        raise ValueError(f"{value!r:.60} is no box")
    return numbers[0], numbers[1], numbers[2], numbers[3]


def _finite_numbers(value: Any) -> list[float]:
    """The numbers of a list; none if one of them is no finite number."""
    if isinstance(value, (str, bytes)):
        return []
    try:
        numbers = [float(number) for number in value]
    except (TypeError, ValueError, OverflowError):
        return []
    return numbers if all(map(math.isfinite, numbers)) else []
