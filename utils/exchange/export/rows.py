"""Values of a sample as the rows of other programs have them."""

from __future__ import annotations

from typing import Any

from utils.contracts import WH, Facts, Status
from utils.errors import UserError
from utils.store.records import error_text

NEARLY_WHOLE_PX = 1e-6  # what pixels → fractions → pixels may have moved a whole number by


def is_answered(facts: Facts) -> bool:
    """Whether there is an answer."""
    return bool(facts["status"] == Status.OK)


def error_of(facts: Facts) -> str:
    """The reason for a missing answer; "" where there is an answer."""
    if is_answered(facts):
        return ""
    error = facts.get("error")
    return error_text(error) if error else str(facts["status"])


def id_of(facts: Facts) -> Any:
    """The id of a sample; of tables without ids the number of its row."""
    return facts.get("id", facts.get("index"))


def size_of(facts: Facts) -> WH:
    """Width and height of the image's file in pixels.

    Raises:
        UserError: the run does not know it.
    """
    size = facts.get("file_wh")
    if not size:
        raise UserError(
            f"{facts.get('image')}: the size of this image is not in the run, so boxes cannot be "
            "given in pixels; export the form bundle or csv"
        )
    return size[0], size[1]


def is_resized(facts: Facts) -> bool:
    """Whether the model saw the image in another size; its reply may be in those pixels."""
    sizes = (facts.get("sent_wh"), facts.get("seen_wh"))
    return any(size and size != facts.get("file_wh") for size in sizes)


def point_px_of(facts: Facts) -> list[float] | None:
    """The point in pixels of the file; None where there is none."""
    point = facts.get("point_frac")
    if point is None:
        return None
    width, height = size_of(facts)
    return [snapped(point[0] * width), snapped(point[1] * height)]


def box_px_of(facts: Facts) -> list[float] | None:
    """The corners x1, y1, x2, y2 in pixels; None where the target is not one box."""
    box = facts.get("box_frac")
    if box is None:
        return None
    width, height = size_of(facts)
    sides = (width, height, width, height)
    return [snapped(value * side) for value, side in zip(box, sides, strict=True)]


def snapped(value: float) -> float:
    """A number of pixels, whole where it differs from that by rounding alone."""
    nearest = round(value)
    return nearest if abs(value - nearest) < NEARLY_WHOLE_PX else value
