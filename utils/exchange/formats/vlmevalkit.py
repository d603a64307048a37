"""VLMEvalKit's predictions: a spreadsheet, TSV or JSON for each part of a table.

Source: open-compass/VLMEvalKit @ e8e78f0 `smp/file.py`, `dataset/GUI/`. The index counts in each
part anew, so a row is known by image and question.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from utils.exchange.answers import Answer
from utils.exchange.files import Row, RowFile
from utils.exchange.formats.reading import box_of, damage_of, text_of

NAME = "vlmevalkit"
TITLE = "VLMEvalKit predictions"
NEEDS = ("index", "image_path", "question", "prediction", "bbox")
HAS_PARTS = True


def recognise(first_rows: Sequence[Row]) -> bool:
    """Whether rows are of this format."""
    return all(row.keys() >= {*NEEDS} for row in first_rows)


def rows(file: RowFile) -> Iterator[Answer]:
    """Yield an answer for each row; an empty cell is an empty reply."""
    for line, row in file.rows():
        box = box_of(row.get("bbox"))
        if box is not None and "data_source" in row:  # ScreenSpot-v2: x, y, width, height
            box = (box[0], box[1], box[0] + box[2], box[1] + box[3])
        yield Answer(
            line=line,
            image=text_of(row.get("image_path")),
            instruction=text_of(row.get("question")),
            box=box,
            reply=text_of(row.get("prediction")) or "",
            damage=damage_of(row.get("prediction")) if file.kind == "sheet" else "",
        )
