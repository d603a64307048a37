"""Rows of grounding tables: boxes as their authors write them, and what is wrong with a row."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.base import is_size
from benchmarks.grounding.figures import Layout
from utils.errors import UserError
from utils.geometry.targets import Target, are_numbers
from utils.program import DOWNLOAD
from utils.text import listed

CONVENTIONS = {
    "xywh": "x, y, width, height in pixels",
    "xyxy": "two corners in pixels",
}
FRAMES = {100: "per cent", 1000: "per mille"}
FULLEST = 0.8  # of a frame: some box of many lies near the right or lower edge
MOST_SURPRISE = 20.0  # the logarithm of 1 to 500 million
FEWEST_BOXES = 5  # fewer say nothing of how a file is written
FEWEST_CORNERS = 20  # so many are two corners if none can be anything else


def expect_choice(value: Any, known_values: Sequence[str], column: str) -> str | None:
    """The problem of a value that must be one of a few."""
    if value in known_values:
        return None
    return f"unknown {column} {value!r}; known are {listed(known_values)}"


def box_target(box: Any, convention: str, *, swaps: bool = False) -> tuple[Any, str | None]:
    """Return a box as a target, and what is wrong with it.

    Args:
        convention: "xywh" or "xyxy".
        swaps: corners in the wrong order are swapped; else nothing lies between them.
    """
    if not is_four_numbers(box):
        return {}, f"the box must be four numbers, not {box!r:.100}"
    x1, y1, x2, y2 = box
    if convention == "xywh":
        x2, y2 = x1 + x2, y1 + y2
    if swaps:
        x1, x2 = sorted((x1, x2))
        y1, y2 = sorted((y1, y2))
    return Target(boxes=((x1, y1, x2, y2),)).as_json(), None


def is_four_numbers(box: Any) -> bool:
    """Whether a value is a list of four finite numbers."""
    return isinstance(box, list) and are_numbers(box, 4)


def check_convention(path: Path, boxes: Iterable[Any], convention: str) -> None:
    """Look at all boxes of a file: are they written as the published ones are?

    A few rows may stick out or have their corners swapped; most rows of a file in another
    convention cannot be read as the published one.

    Raises:
        UserError: they are fractions in place of pixels, or x, y, width, height in place of two
            corners, or the other way round.
    """
    numeric_boxes = [box for box in boxes if is_four_numbers(box) and any(box)]
    if len(numeric_boxes) < FEWEST_BOXES:
        return
    if all(0 <= value <= 1 for box in numeric_boxes for value in box):
        written = "fractions of the image"
    else:
        inverted = sum(box[2] < box[0] or box[3] < box[1] for box in numeric_boxes)
        is_xywh = 2 * inverted > len(numeric_boxes)
        if is_xywh == (convention == "xywh"):
            return
        if convention == "xywh" and (inverted or len(numeric_boxes) < FEWEST_CORNERS):
            return  # small boxes near the corner prove nothing
        written = CONVENTIONS["xywh" if is_xywh else "xyxy"]
    raise UserError(
        f"{path}: its boxes are {written}, the published file has {CONVENTIONS[convention]}. It "
        f"seems to come from a mirror; fetch the authors' files: {DOWNLOAD} --list"
    )


def check_l2_boxes(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Look at all boxes of L2: are they two corners, in fractions or pixels?

    Numbers per mille read as pixels lie in the image, too, if it is large. That no box of many
    reaches beyond 1000 on such images is no chance.

    Raises:
        UserError: they are per mille or per cent, or x, y, width, height.
    """
    boxes = [row["bbox"] for row in rows if is_four_numbers(row.get("bbox")) and any(row["bbox"])]
    if len(boxes) < FEWEST_CORNERS:
        return
    written = None
    inverted = sum(box[2] < box[0] or box[3] < box[1] for box in boxes)
    if 2 * inverted > len(boxes):
        written = "x, y, width, height"
    for frame, name in FRAMES.items():
        if _is_in_frame(rows, frame):
            written = f"{name} of the image (no value is above {frame}, however large the image)"
    if written is not None:
        raise UserError(
            f"{path}: its boxes seem to be {written}; the published file has two corners, in "
            "fractions or in pixels. Convert them, or fetch the published "
            f"file: {DOWNLOAD}"
        )


def _is_in_frame(rows: Sequence[Mapping[str, Any]], frame: int) -> bool:
    """Whether boxes are numbers of a frame rather than pixels.

    Whether a box in pixels stays within the frame is a matter of chance, the less likely the larger
    the image. The chances of all boxes together are multiplied, as logarithms.
    """
    greatest = 0.0
    surprise = 0.0
    count = 0
    for row in rows:
        box: Any = row.get("bbox")
        size: Any = row.get("image_size")
        if not is_four_numbers(box) or not is_size(size) or max(box) <= 1:
            continue
        count += 1
        greatest = max(greatest, *box)
        surprise += math.fsum(math.log(max(side / frame, 1)) for side in size)
    is_full = FULLEST * frame < greatest <= frame
    return is_full and 2 * count > len(rows) and surprise > MOST_SURPRISE


def layout_problems(layout: Layout) -> list[str]:
    """Return a message for each grouping that a layout names but does not have."""
    grouping_uses = [("columns", layout.columns), *(("averages", name) for name in layout.averages)]
    if layout.rows not in (None, "kind"):
        grouping_uses.append(("rows", str(layout.rows)))
    return [
        f"layout.{field}: {grouping!r} is no grouping; there are {listed([*layout.groupings])}"
        for field, grouping in grouping_uses
        if grouping not in layout.groupings
    ]


def label_problem(layout: Layout, labels: Mapping[str, Any]) -> str | None:
    """The label that a row lacks: one of each grouping, and of the table those that it shows.

    Args:
        labels: of the row by grouping, one or several; and its kind.
    """
    for grouping in layout.groupings:
        if labels.get(grouping) in (None, "None"):
            return f"{grouping} is missing: a row needs a label of each grouping"
    known_labels = {**layout.groupings, "kind": layout.kinds}
    for name in (layout.columns, layout.rows):
        if name is None or not known_labels.get(name):
            continue
        value = labels[name]
        for label in value if isinstance(value, (list, tuple)) else [value]:
            problem = expect_choice(label, known_labels[name], name)
            if problem is not None:
                return problem
    return None
