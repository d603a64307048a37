"""GUI-Agent-Harness: `results.jsonl`, points in whole pixels without the replies.

Source: GUI-Agent-Harness @ 23e75e0 `run_screenspot_pro.py`. Its files mix runs and hold rows whose
request failed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from utils.coordinates import Frame
from utils.exchange.answers import Answer
from utils.exchange.files import Row, RowFile
from utils.exchange.formats.reading import box_of, error_text, ids_of, point_of, text_of, verdict_of

NAME = "gui_agent_harness"
TITLE = "GUI-Agent-Harness results"
NEEDS = ("sample_id", "instruction", "prediction_px")
HAS_PARTS = False
L2_ID = re.compile(r"mmbench_gui_l2_\w*?_(\d+)")
DECLINED = (-1.0, -1.0)  # the point that says: not there


def recognise(first_rows: Sequence[Row]) -> bool:
    """Whether rows are of this format."""
    return all(row.keys() >= {*NEEDS} for row in first_rows)


def rows(file: RowFile) -> Iterator[Answer]:
    """Yield an answer for each row; of other tables than L2 its numbers are places of its own."""
    for line, row in file.rows():
        name = text_of(row.get("sample_id")) or ""
        index = L2_ID.fullmatch(name)
        point, frame = point_of(row.get("prediction_px")), Frame.PIXELS
        if point is None:
            point, frame = point_of(row.get("prediction_norm")), Frame.FRACTIONS
        if row.get("refused") is True:
            point, frame = DECLINED, Frame.PIXELS
        yield Answer(
            line=line,
            ids=ids_of(name, str(int(index[1])) if index else None),
            instruction=text_of(row.get("instruction")),
            box=box_of(row.get("gt_bbox")),
            point=point,
            frame=frame,
            verdict=verdict_of(row.get("correctness")),
            error=error_text(row.get("error")),
        )
