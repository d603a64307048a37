"""evalscope's `predictions/` and `reviews/`: a file for each subset of a table.

Source: modelscope/evalscope @ fde259d `api/evaluator/cache.py`. Its scorer guesses the frame of
each point by its size, so the reply is read, never what was extracted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from utils.exchange.answers import Answer
from utils.exchange.files import Row, RowFile
from utils.exchange.formats.reading import (
    box_of,
    ids_of,
    reply_of,
    size_of,
    token_usage,
    user_texts,
    verdict_in,
)

NAME = "evalscope"
TITLE = "evalscope predictions or reviews"
NEEDS = ("index", "messages", "model_output or sample_score")
HAS_PARTS = True


def recognise(first_rows: Sequence[Row]) -> bool:
    """Whether rows are of this format."""
    return all(
        row.keys() >= {"index", "messages"} and row.keys() & {"model_output", "sample_score"}
        for row in first_rows
    )


def rows(file: RowFile) -> Iterator[Answer]:
    """Yield an answer for each row."""
    for line, row in file.rows():
        score = _object(row.get("sample_score"))
        metadata = _object(score.get("sample_metadata") or row.get("metadata"))
        judged = _object(score.get("score"))
        output = _object(row.get("model_output"))
        choice = _first(output.get("choices"))
        reply = _object(choice.get("message")).get("content") or judged.get("prediction")
        finish_reason = choice.get("stop_reason")
        yield Answer(
            line=line,
            ids=ids_of(metadata.get("id")),
            prompt="\n".join(user_texts(row.get("messages"))),
            box=box_of(metadata.get("bbox_norm")),
            image_wh=size_of(metadata.get("sent_size")),
            reply=_text(reply),
            verdict=verdict_in(_object(judged.get("value")), str(judged.get("main_score_name"))),
            usage=token_usage(output.get("usage")),
            finish_reason=finish_reason if isinstance(finish_reason, str) else None,
        )


def _text(content: Any) -> str | None:
    """The text of a reply, which may be a list of parts."""
    if isinstance(content, list) and content and isinstance(content[0], Mapping):
        return "".join(str(part.get("text") or "") for part in content if isinstance(part, Mapping))
    return reply_of(content)


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _first(values: Any) -> Mapping[str, Any]:
    return _object(values[0]) if isinstance(values, list) and values else {}
