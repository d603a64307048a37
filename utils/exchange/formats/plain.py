"""Plain rows, for whom no other format fits: JSON lines, a JSON list, CSV, TSV or a spreadsheet.

A row has `id`, or `image` and `instruction`; and `reply`, or `x` and `y`. Other names that are
common for these columns are known as well. What a format of one's own yields are such rows, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from utils.contracts import Point
from utils.coordinates import Frame
from utils.exchange.answers import Answer
from utils.exchange.files import Row, RowFile
from utils.exchange.formats.reading import (
    box_of,
    damage_of,
    error_text,
    first_text,
    ids_of,
    literal,
    numbers_of,
    point_of,
    reply_of,
    size_of,
    token_usage,
    verdict_of,
)

NAME = "plain"
TITLE = "plain rows"
NEEDS = ("id, or image and instruction", "reply, or x and y")
HAS_PARTS = False
IMAGE = ("image", "image_path", "img_path", "img_filename", "img", "file_name")
INSTRUCTION = ("instruction", "question", "prompt_to_evaluate")
REPLY = ("reply", "response", "raw_response", "prediction", "raw")
BOX = ("bbox", "box", "bbox_xyxy")
SIZE = ("image_size", "img_size", "image_wh")
POINT_PX = "point_px"  # columns whose names say the frame
POINT_FRAC = "point_frac"
DECLINED = ("refused", "declined")  # true: the model said that the element is not there


def recognise(first_rows: Sequence[Row]) -> bool:
    """Whether rows have the columns of this format."""
    return all(_has_key(row) and _has_answer(row) for row in first_rows)


def has_verdicts_alone(first_rows: Sequence[Row]) -> bool:
    """Whether all rows have a verdict, and nothing that can be judged."""
    return all(answer_of(number, row).is_verdict_only for number, row in enumerate(first_rows, 1))


def rows(file: RowFile) -> Iterator[Answer]:
    """Yield an answer for each row."""
    for line, row in file.rows():
        yield answer_of(line, row, is_sheet=file.kind == "sheet")


def answer_of(line: int, row: Row, *, is_sheet: bool = False) -> Answer:
    """The answer of a plain row; an empty cell is an empty reply, and beside a point none."""
    reply_column = next((name for name in REPLY if name in row), None)
    value = row.get(reply_column) if reply_column else None
    point, frame = _point_of(row)
    reply = reply_of(value)
    error = error_text(row.get("error"))
    if reply is None and reply_column and point is None and not isinstance(value, Mapping):
        reply = ""
    elif reply == "" and point is not None:  # an empty cell beside a point
        reply = None
    options = literal(row.get("options"))
    verdict = row.get("correct", row.get("correctness"))
    return Answer(
        line=line,
        dataset=first_text(row, ("dataset",)) or "",
        ids=ids_of(row.get("id")),
        image=first_text(row, IMAGE),
        instruction=first_text(row, INSTRUCTION),
        options=options if isinstance(options, Mapping) else None,
        box=next((box for box in map(box_of, map(row.get, BOX)) if box is not None), None),
        image_wh=next((wh for wh in map(size_of, map(row.get, SIZE)) if wh is not None), None),
        reply=reply,
        point=point,
        frame=frame,
        verdict=verdict_of(verdict),
        error=error,
        usage=token_usage(row.get("usage")),
        finish_reason=first_text(row, ("finish_reason",)),
        damage=damage_of(value) if is_sheet else "",
    )


def _point_of(row: Row) -> tuple[Point | None, Frame | None]:
    """The point of a row and its frame; None where no column says it."""
    if any(str(row.get(name)) == "True" for name in DECLINED):
        return (-1.0, -1.0), Frame.PIXELS
    if (point := point_of(row.get(POINT_FRAC))) is not None:
        return point, Frame.FRACTIONS
    if (point := point_of(row.get(POINT_PX))) is not None:
        return point, Frame.PIXELS
    numbers = numbers_of([row.get("x"), row.get("y")], 2) if "x" in row and "y" in row else None
    return (None, None) if numbers is None else ((numbers[0], numbers[1]), None)


def _has_key(row: Row) -> bool:
    return row.get("id") is not None or (
        any(name in row for name in IMAGE)
        and (any(name in row for name in INSTRUCTION) or any(name in row for name in BOX))
    )


def _has_answer(row: Row) -> bool:
    points = (POINT_PX, POINT_FRAC)
    return any(name in row for name in (*REPLY, *points)) or row.keys() >= {"x", "y"}
