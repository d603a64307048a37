"""Targets and answers of grounding: an element on the screen; a point, or "there is no element".

Coordinates are pixels or fractions of the image, never a mix.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from utils.contracts import WH, Point

Bounds = tuple[float, float, float, float]
FEWEST_CORNERS = 3


class Declined:
    """The answer that there is no such element; `DECLINED` is the only one."""

    def __repr__(self) -> str:
        return "DECLINED"


DECLINED: Final = Declined()
Answer = Point | Declined | None
"""The result of a parse function; None: it can read nothing in the reply."""


def means_declined(point: Sequence[float]) -> bool:
    """Whether a point means "not there": both coordinates are negative."""
    x, y = point
    return x < 0 and y < 0


@dataclass(frozen=True, slots=True)
class Target:
    """The places that are right to click; none: the element is not on the screen."""

    boxes: tuple[Bounds, ...] = ()  # x1, y1, x2, y2; the bounds belong to the box
    polygons: tuple[tuple[Point, ...], ...] = ()

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Target:
        """Return the target of `as_json`."""
        boxes = [(x1, y1, x2, y2) for x1, y1, x2, y2 in plain.get("boxes", ())]
        polygons = [tuple((x, y) for x, y in corners) for corners in plain.get("polygons", ())]
        return cls(tuple(boxes), tuple(polygons))

    def as_json(self) -> dict[str, Any]:
        """Return lists of numbers; without a key where there are none of a kind."""
        plain: dict[str, Any] = {}
        if self.boxes:
            plain["boxes"] = [list(box) for box in self.boxes]
        if self.polygons:
            plain["polygons"] = [[list(corner) for corner in corners] for corners in self.polygons]
        return plain

    @property
    def is_absent(self) -> bool:
        """Whether there is nothing to click."""
        return not self.boxes and not self.polygons

    @property
    def bounds(self) -> Bounds | None:
        """The smallest box around all places."""
        corners = [corner for polygon in self.polygons for corner in polygon]
        for x1, y1, x2, y2 in self.boxes:
            corners += [(x1, y1), (x2, y2)]
        if not corners:
            return None
        xs, ys = [x for x, _ in corners], [y for _, y in corners]
        return min(xs), min(ys), max(xs), max(ys)

    def contains(self, point: Point) -> bool:
        """Whether a point lies in one of the boxes or polygons."""
        x, y = point
        if any(x1 <= x <= x2 and y1 <= y <= y2 for x1, y1, x2, y2 in self.boxes):
            return True
        return any(is_in_polygon(point, corners) for corners in self.polygons)

    def as_fractions(self, file_wh: WH) -> Target:
        """Return a target given in pixels of an image as fractions of it."""
        width, height = file_wh
        boxes = [
            (x1 / width, y1 / height, x2 / width, y2 / height) for x1, y1, x2, y2 in self.boxes
        ]
        polygons = [tuple((x / width, y / height) for x, y in corners) for corners in self.polygons]
        return Target(tuple(boxes), tuple(polygons))


def are_numbers(values: Any, count: int) -> bool:
    """Whether a value is a list or tuple of exactly `count` finite numbers."""
    if not isinstance(values, (list, tuple)) or len(values) != count:
        return False
    try:
        return all(type(value) in (int, float) and math.isfinite(value) for value in values)
    except OverflowError:  # a whole number of hundreds of digits
        return False


def target_problem(plain: Any) -> str | None:
    """The problem of a target that should look like `Target.as_json()`, if there is one."""
    if not isinstance(plain, Mapping) or {*plain} - {"boxes", "polygons"}:
        return (
            'the target must be {"boxes": [[x1, y1, x2, y2], ...]}, {"polygons": [[[x, y], ...], '
            f"...]}} or {{}} for an element that is not there, not {plain!r:.100}"
        )
    for box in plain.get("boxes", ()):
        if not are_numbers(box, 4):
            return f"a box of the target must be four numbers, not {box!r:.100}"
    for corners in plain.get("polygons", ()):
        is_list = isinstance(corners, (list, tuple)) and len(corners) >= FEWEST_CORNERS
        if not is_list or not all(are_numbers(corner, 2) for corner in corners):
            return f"a polygon must be a list of three corners [x, y] or more, not {corners!r:.100}"
    return None


def reversed_box_problem(plain: Mapping[str, Any]) -> str | None:
    """Return a problem if a target's box has its corners in the wrong order and holds no point."""
    for x1, y1, x2, y2 in plain.get("boxes", ()):
        if x2 < x1 or y2 < y1:
            expected = "expected x1, y1, x2, y2 with x1 <= x2 and y1 <= y2"
            hint = 'x, y, width, height need box_target(..., "xywh")'
            return f"nothing lies in the box {[x1, y1, x2, y2]}: {expected} ({hint})"
    return None


def is_in_polygon(point: Point, corners: Sequence[Point]) -> bool:
    """Whether a ray from the point to the right crosses the outline an odd number of times.

    By its authors' rule an edge counts from its upper corner on, without its lower one; points on
    the outline may count as inside or not.
    """
    x, y = point
    is_inside = False
    x_before, y_before = corners[-1]
    for x_corner, y_corner in corners:
        crosses_height = (y_corner > y) != (y_before > y)
        if crosses_height:
            x_crossing = (x_before - x_corner) * (y - y_corner) / (y_before - y_corner) + x_corner
            if x < x_crossing:
                is_inside = not is_inside
        x_before, y_before = x_corner, y_corner
    return is_inside
