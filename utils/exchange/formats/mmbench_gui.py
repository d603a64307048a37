"""The reference project's predictions of L1 and L2: all columns of the data set in a spreadsheet.

Source: MMBench-GUI @ 896ddf1 `evaluate.py`, `utils/inference_tools.py`. The index of L1 counts
questions in mode "all" and images in others, so a question is known by its text and options.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from utils.exchange.answers import Answer
from utils.exchange.files import Row, RowFile
from utils.exchange.formats.reading import box_of, damage_of, ids_of, literal, size_of, text_of

NAME = "mmbench_gui"
TITLE = "predictions of the MMBench-GUI reference project"
NEEDS = ("image_path", "prediction", "question and options, or instruction and grounding_type")
HAS_PARTS = False
QUESTION = {"image_path", "prediction", "question", "options"}
INSTRUCTION = {"image_path", "prediction", "instruction", "grounding_type"}


def recognise(first_rows: Sequence[Row]) -> bool:
    """Whether rows are of this format."""
    return all(row.keys() >= QUESTION or row.keys() >= INSTRUCTION for row in first_rows)


def rows(file: RowFile) -> Iterator[Answer]:
    """Yield an answer for each row; an empty cell is an empty reply."""
    for line, row in file.rows():
        options = literal(row.get("options"))
        is_question = "question" in row
        yield Answer(
            line=line,
            ids=() if is_question else ids_of(row.get("index")),
            image=text_of(row.get("image_path")),
            instruction=text_of(row.get("question" if is_question else "instruction")),
            options=options if isinstance(options, Mapping) else None,
            box=box_of(row.get("bbox")),
            image_wh=size_of(row.get("image_size")),
            reply=text_of(row.get("prediction")) or "",
            damage=damage_of(row.get("prediction")) if file.kind == "sheet" else "",
        )
