"""The files of MAI-UI's evaluation with a server, one for each table.

Source: Tongyi-MAI/MAI-UI @ 4dd07b9 `evaluation/grounding/output_server/`. Its files of a local
model are ScreenSpot-Pro JSON.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from utils.exchange.answers import Answer
from utils.exchange.files import Row, RowFile
from utils.exchange.formats.reading import (
    box_of,
    ids_of,
    point_of,
    reply_of,
    size_of,
    text_of,
    verdict_of,
)

NAME = "mai_ui"
TITLE = "MAI-UI JSON lines"
NEEDS = ("img_filename", "instruction", "raw_response", "pred")
HAS_PARTS = False


def recognise(first_rows: Sequence[Row]) -> bool:
    """Whether rows are of this format."""
    return all(row.keys() >= {*NEEDS} for row in first_rows)


def rows(file: RowFile) -> Iterator[Answer]:
    """Yield an answer for each row."""
    for line, row in file.rows():
        yield Answer(
            line=line,
            ids=ids_of(row.get("id")),
            image=text_of(row.get("img_filename")),
            instruction=text_of(row.get("instruction")),
            box=box_of(row.get("bbox")),
            image_wh=size_of(row.get("img_size")),
            reply=reply_of(row.get("raw_response")),
            point=point_of(row.get("pred")),
            verdict=verdict_of(row.get("correctness")),
        )
