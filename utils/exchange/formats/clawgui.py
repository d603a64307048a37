"""ClawGUI: `predictions.jsonl`, and `predictions_judge.jsonl` with its verdicts.

Source: ClawGUI @ d990d3e `main.py`, README "Data Format". Its judge cuts points to whole pixels, so
replies are read again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from utils.exchange.answers import Answer
from utils.exchange.files import Row, RowFile
from utils.exchange.formats.reading import (
    box_of,
    error_text,
    ids_of,
    reply_of,
    size_of,
    text_of,
    verdict_of,
)

NAME = "clawgui"
TITLE = "ClawGUI predictions, judged or not"
NEEDS = ("id", "question", "image", "<model type>_infer")
HAS_PARTS = False
REPLY = "_infer"  # ends the name of the column


def recognise(first_rows: Sequence[Row]) -> bool:
    """Whether rows are of this format."""
    return all(
        row.keys() >= {"id", "question", "image"} and _reply_column(row) for row in first_rows
    )


def rows(file: RowFile) -> Iterator[Answer]:
    """Yield an answer for each row; L2's ids end in the index of the sample."""
    for line, row in file.rows():
        name = text_of(row.get("id")) or ""
        yield Answer(
            line=line,
            ids=ids_of(name, name.rpartition("_")[2] if name.startswith("mmbench") else None),
            image=text_of(row.get("image")),
            instruction=text_of(row.get("question")),
            box=box_of(row.get("answer")),
            image_wh=size_of(row.get("image_size")),
            reply=reply_of(row.get(_reply_column(row))),
            verdict=verdict_of(row.get("correct")),
            error=error_text(row.get("error")),
        )


def _reply_column(row: Row) -> str:
    return next((name for name in row if name.endswith(REPLY)), "")
