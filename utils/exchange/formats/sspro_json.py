"""ScreenSpot-Pro's result file, that of its parallel script, and UI-Venus's in the same form.

Source: likaixin2000/ScreenSpot-Pro-GUI-Grounding @ bd8bbbb `eval_screenspot_pro.py`,
`eval_screenspot_pro_parallel.py`; inclusionAI/UI-Venus @ c3a1442
`examples/grounding_result_format.json`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from utils.exchange.answers import Answer
from utils.exchange.files import Row, RowFile
from utils.exchange.formats.reading import (
    box_of,
    error_text,
    ids_of,
    point_of,
    reply_of,
    text_of,
    verdict_of,
)

NAME = "sspro_json"
TITLE = "ScreenSpot-Pro JSON, also of its parallel script and of UI-Venus"
NEEDS = ("img_path", "prompt_to_evaluate", "pred", "correctness")
HAS_PARTS = False


def recognise(first_rows: Sequence[Row]) -> bool:
    """Whether rows are of this format."""
    return all(row.keys() >= {*NEEDS} for row in first_rows)


def rows(file: RowFile) -> Iterator[Answer]:
    """Yield an answer for each row; a reply that is an object is none of a model's own text."""
    for line, row in file.rows():
        yield Answer(
            line=line,
            ids=ids_of(row.get("id")),
            image=text_of(row.get("img_path")),
            instruction=text_of(row.get("prompt_to_evaluate")),
            box=box_of(row.get("bbox")),
            reply=reply_of(row.get("raw_response")),
            point=point_of(row.get("pred")),
            verdict=verdict_of(row.get("correctness")),
            error=error_text(row.get("error")),
        )
