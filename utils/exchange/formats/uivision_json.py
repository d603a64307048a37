"""UI-Vision's result file: one for each of its splits.

Source: ServiceNow/ui-vision @ 2b79355, `eval_uivision.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from utils.exchange.answers import Answer
from utils.exchange.files import Row, RowFile
from utils.exchange.formats.reading import box_of, point_of, reply_of, text_of, verdict_of

NAME = "uivision_json"
TITLE = "UI-Vision JSON"
NEEDS = ("image_path", "prompt_to_evaluate", "pred", "correctness")
HAS_PARTS = True


def recognise(first_rows: Sequence[Row]) -> bool:
    """Whether rows are of this format."""
    return all(row.keys() >= {*NEEDS} for row in first_rows)


def rows(file: RowFile) -> Iterator[Answer]:
    """Yield an answer for each row."""
    for line, row in file.rows():
        yield Answer(
            line=line,
            image=text_of(row.get("image_path")),
            instruction=text_of(row.get("prompt_to_evaluate")),
            box=box_of(row.get("bbox")),
            reply=reply_of(row.get("raw_response")),
            point=point_of(row.get("pred")),
            verdict=verdict_of(row.get("correctness")),
        )
