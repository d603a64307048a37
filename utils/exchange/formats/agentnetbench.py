"""AgentNetBench's results: a file for each task, with the reply to each step.

Source: OpenCUA @ 1d70f20 `evaluation/agentnetbench/run.py`. Step n of a task is its n-th row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from utils.exchange.answers import Answer
from utils.exchange.files import Row, RowFile
from utils.exchange.formats.reading import reply_of

NAME = "agentnetbench"
TITLE = "AgentNetBench results"
NEEDS = ("step_num", "raw_response", "parsed_action")
HAS_PARTS = False


def recognise(first_rows: Sequence[Row]) -> bool:
    """Whether rows are of this format."""
    return all(row.keys() >= {*NEEDS} for row in first_rows)


def rows(file: RowFile) -> Iterator[Answer]:
    """Yield an answer for each step; the file is named by its task."""
    task = file.path.name.partition(".")[0]
    for line, row in file.rows():
        yield Answer(
            line=line,
            ids=(f"episode_{task}_screenshot_{line - 1}",),
            reply=reply_of(row.get("raw_response")),
        )
