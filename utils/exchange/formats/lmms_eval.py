"""lmms-eval's `<date>_samples_<task>.jsonl` (`--log_samples`).

Source: lmms-eval @ 75571cf `evaluator.py`, `loggers/evaluation_tracker.py`. A row has no image and
no id: `doc_id` is its place in the mirror of the table on the hub, `target` the instruction.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from utils.exchange.answers import Answer
from utils.exchange.files import Row, RowFile
from utils.exchange.formats.reading import reply_of, text_of, token_usage, verdict_of

NAME = "lmms_eval"
TITLE = "lmms-eval samples"
NEEDS = ("doc_id", "target", "filtered_resps")
HAS_PARTS = False


def recognise(first_rows: Sequence[Row]) -> bool:
    """Whether rows are of this format."""
    return all(row.keys() >= {*NEEDS} for row in first_rows)


def rows(file: RowFile) -> Iterator[Answer]:
    """Yield an answer for each row; `resps` is there where filters have changed the reply."""
    for line, row in file.rows():
        doc_id = row.get("doc_id")
        tokens = row.get("token_counts")
        yield Answer(
            line=line,
            place=doc_id if isinstance(doc_id, int) and doc_id >= 0 else None,
            instruction=text_of(row.get("target")),
            reply=reply_of(row.get("resps") or row.get("filtered_resps")),
            verdict=_verdict(row),
            usage=token_usage(tokens[0]) if isinstance(tokens, list) and tokens else {},
        )


def _verdict(row: Row) -> bool | None:
    for name, value in row.items():
        if name.endswith("action_acc") and isinstance(value, Mapping):
            return verdict_of(value.get("correct"))
    return None
