"""Logs of inspect_ai, `.json` and `.eval`; the latter needs the package, or Python 3.14.

Source: UKGovernmentBEIS/inspect_ai @ 499e615, log version 2. An `.eval` is an archive packed with
zstd, which Python's `zipfile` reads from 3.14 on.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from utils.errors import UserError
from utils.exchange.answers import Answer
from utils.exchange.files import MOST_ROW_BYTES, UNREADABLE, NumberedRow, Row, RowFile
from utils.exchange.formats.reading import (
    box_of,
    first_text,
    ids_of,
    reply_of,
    size_of,
    text_of,
    token_usage,
    user_texts,
)

NAME = "inspect"
TITLE = "inspect_ai logs (.json, or .eval with the package inspect_ai)"
NEEDS = ("id", "epoch", "input", "output", "scores")
HAS_PARTS = False
VERDICTS = {"C": True, "I": False}
SAMPLES = "samples/"


def recognise(first_rows: Sequence[Row]) -> bool:
    """Whether rows are of this format."""
    return all(row.keys() >= {"id", "epoch", "input", "output"} for row in first_rows)


def recognise_archive(names: Sequence[str]) -> bool:
    """Whether the parts of an archive are those of a log."""
    return any(name.startswith(SAMPLES) for name in names) and (
        "header.json" in names or "_journal/start.json" in names
    )


def rows(file: RowFile) -> Iterator[Answer]:
    """Yield an answer for each sample and epoch."""
    for line, row in _archived(file) if file.kind == "zip" else file.rows():
        metadata = _object(row.get("metadata"))
        output = _object(row.get("output"))
        choices = output.get("choices") or [{}]
        choice = _object(choices[0])
        messages = row.get("input")
        prompt = messages if isinstance(messages, str) else "\n".join(user_texts(messages))
        epoch = row.get("epoch")
        yield Answer(
            line=line,
            ids=ids_of(row.get("id"), metadata.get("id")),
            image=first_text(metadata, ("image_path", "image", "img_filename")),
            instruction=first_text(metadata, ("instruction", "question")),
            prompt=prompt,
            box=box_of(metadata.get("bbox")),
            image_wh=size_of(metadata.get("image_size")),
            reply=_text(_object(choice.get("message")).get("content")),
            verdict=_verdict(row.get("scores")),
            error=str(_object(row.get("error")).get("message") or "")[:500],
            repeat=epoch if isinstance(epoch, int) and epoch > 0 else 1,
            usage=token_usage(output.get("usage")),
            finish_reason=_finish_reason(choice.get("stop_reason")),
        )


def _archived(file: RowFile) -> Iterator[NumberedRow]:
    """Yield the samples of an `.eval`."""
    try:
        with zipfile.ZipFile(file.path) as archive:
            parts = [part for part in archive.infolist() if part.filename.startswith(SAMPLES)]
            for number, part in enumerate(parts, 1):
                if part.file_size > MOST_ROW_BYTES:
                    raise UserError(
                        f"{file.name}: {part.filename} is longer than {MOST_ROW_BYTES >> 20} MiB"
                    )
                yield number, json.loads(archive.read(part))
    except NotImplementedError:  # zstd
        yield from _by_package(file)
    except (*UNREADABLE, ValueError, RecursionError) as error:
        raise UserError(f"{file.name}: cannot be read: {error}") from None


def _by_package(file: RowFile) -> Iterator[NumberedRow]:
    """Yield the samples of an `.eval` as the package inspect_ai reads them."""
    try:
        from inspect_ai.log import read_eval_log  # type: ignore[import-not-found]
    except ImportError:
        folder = Path(file.name).parent
        raise UserError(
            f"{file.name}: is packed with zstd, which needs the package inspect_ai (pip install "
            f"inspect_ai) or Python 3.14. Or convert it where it was made: inspect log convert "
            f"{Path(file.name).name} --to json --output-dir {folder}"
        ) from None
    log = read_eval_log(str(file.path), resolve_attachments=False)
    for number, sample in enumerate(log.samples or (), 1):
        yield number, sample.model_dump(mode="json")


def _text(content: Any) -> str | None:
    if isinstance(content, list) and content and isinstance(content[0], Mapping):
        parts = [part for part in content if isinstance(part, Mapping)]
        return "".join(str(part.get("text") or "") for part in parts if part.get("type") == "text")
    return reply_of(content)


def _verdict(scores: Any) -> bool | None:
    """C is right, I is wrong; other values are no verdicts."""
    for score in _object(scores).values():
        value = VERDICTS.get(text_of(_object(score).get("value")) or "")
        if value is not None:
            return value
    return None


def _finish_reason(reason: Any) -> str | None:
    return {"max_tokens": "length", "model_length": "length"}.get(str(reason), text_of(reason))


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
