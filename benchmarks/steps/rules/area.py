"""The area in which a rule accepts a click, as pages draw it: the rule's boxes and tolerance.

Every tolerance of the rules is an ellipse in fractions of the image: 0.04 of each axis, or a circle
in pixels of some frame. Borders belong to an area; rules that exclude them say so themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks.steps.action import Corners
from benchmarks.steps.rules.matching import is_inside
from utils.contracts import WH, Point

DIGITS = 4  # of what is drawn: a tenth of a pixel of a phone's screen

Ellipse = tuple[float, float, float, float]
"""x and y of its centre, half its width, half its height, in fractions of the image."""


@dataclass(frozen=True, slots=True)
class Area:
    """Boxes and ellipses in fractions of the image; a click in any of them is right."""

    boxes: tuple[Corners, ...] = ()
    ellipses: tuple[Ellipse, ...] = ()

    def holds(self, point: Point) -> bool:
        """Whether a point in fractions is in a box or an ellipse, or on its border."""
        return any(is_inside(box, point) for box in self.boxes) or any(
            ((point[0] - x) / half_width) ** 2 + ((point[1] - y) / half_height) ** 2 <= 1
            for x, y, half_width, half_height in self.ellipses
        )

    def as_json(self) -> dict[str, Any]:
        """The parts that there are, rounded to what can be drawn."""
        parts = {"boxes": self.boxes, "ellipses": self.ellipses}
        return {
            name: [[round(value, DIGITS) for value in shape] for shape in shapes]
            for name, shapes in parts.items()
            if shapes
        }


AreaFunction = Callable[[Any, WH], Area | None]
"""The truth of a row, the size of its image in pixels → where a click is right.

None: nowhere that can be drawn, or the recorded action has no place."""


def around(point: Point | None, radius: float) -> Area | None:
    """The area within a part of each axis around a point in fractions; None without a point."""
    return None if point is None else Area(ellipses=((*point, radius, radius),))


def around_px(point_px: Point | None, radius_px: float, frame_wh: WH) -> Area | None:
    """The area within a distance in pixels of a frame around a point in that frame."""
    if point_px is None:
        return None
    width, height = frame_wh
    centre = point_px[0] / width, point_px[1] / height
    return Area(ellipses=((*centre, radius_px / width, radius_px / height),))
