"""The program's own bundle: an archive, or its folder, with answers, manifest and scores.

`manifest.json` names a file of answers for each data set; their rows are plain ones.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from utils.errors import UserError
from utils.exchange.answers import Answer
from utils.exchange.files import MOST_ROW_BYTES, UNREADABLE, Row, RowFile, check_archive, row_of
from utils.exchange.formats import plain
from utils.exchange.formats.reading import size_of

NAME = "bundle"
TITLE = "a bundle of this program"
NEEDS = ("manifest.json", "<data set>_answers.jsonl")
HAS_PARTS = False
MANIFEST, ENDING = "manifest.json", "_answers.jsonl"
LONGEST_NAME = 200  # of a model
FORM = "mmbench-gui-bundle"
VERDICTS = {"hit": True, "miss": False, "unparsed": False}
NOT_ANSWERED = ("failed", "refused", "missing")  # a status
BROKEN = (KeyError, ValueError, TypeError, AttributeError, RuntimeError)  # of a manifest


def recognise(first_rows: Sequence[Row]) -> bool:
    """Whether rows are the answers of a bundle."""
    return all(row.keys() >= {"reply", "verdict", "status"} for row in first_rows)


def recognise_archive(names: Sequence[str]) -> bool:
    """Whether the parts of an archive are those of a bundle."""
    return MANIFEST in names and any(name.endswith(ENDING) for name in names)


@dataclass(frozen=True)
class BundleManifest:
    """The manifest of an archive, as far as an import needs it.

    Attributes:
        model: its name; "" if it can be no name.
        answer_files: names of files in the archive, by data set.
        readers: parse functions that the answers were scored with, by data set; without those
            that are the default of their data set.
        limits: of the run, by data set; without those that had none.
    """

    model: str
    answer_files: Mapping[str, str]
    readers: Mapping[str, str]
    limits: Mapping[str, int]


def read_manifest(file: RowFile) -> BundleManifest:
    """Read the manifest of an archive.

    Raises:
        UserError: the archive is not safe to read, or the manifest is broken.
    """
    try:
        check_archive(file.path, file.name)
        with zipfile.ZipFile(file.path) as archive:
            manifest = json.loads(archive.read(MANIFEST))
        model, data = manifest.get("model"), manifest["data"]
        readers = {str(name): entry.get("reader") for name, entry in data.items()}
        limits = {str(name): entry.get("limit") for name, entry in data.items()}
        answer_files = {str(name): str(entry["answers"]) for name, entry in data.items()}
    except (*BROKEN, *UNREADABLE) as error:
        raise UserError(f"{file.name}: {MANIFEST} is broken: {error!r}") from None
    is_name = isinstance(model, str) and model.isprintable() and len(model) <= LONGEST_NAME
    return BundleManifest(
        model=model.strip() if is_name else "",
        answer_files=answer_files,
        readers={name: reader for name, reader in readers.items() if isinstance(reader, str)},
        limits={name: n for name, n in limits.items() if type(n) is int and n > 0},
    )


def rows(file: RowFile) -> Iterator[Answer]:
    """Yield an answer for each row of a file of answers; of those without one nothing."""
    for line, row in file.rows():
        yield from _answers(line, row)


def archived_rows(file: RowFile, part: str) -> Iterator[Answer]:
    """Yield the answers in one file of an archive.

    Raises:
        UserError: the archive is damaged, or does not have the file.
    """
    file.torn.clear()
    try:
        with zipfile.ZipFile(file.path) as archive:
            if part not in archive.namelist():
                raise UserError(f"{file.name}: has no {part}, which its {MANIFEST} names")
            with io.TextIOWrapper(archive.open(part), "utf-8", "surrogateescape") as lines:
                yield from _answers_in(lines, file)
    except RecursionError:
        raise UserError(f"{file.name}: {part}: its JSON is nested too deeply") from None
    except (*UNREADABLE, NotImplementedError, RuntimeError) as error:  # packed or locked otherwise
        raise UserError(f"{file.name}: {part} cannot be read: {error}") from None


def _answers_in(lines: io.TextIOWrapper, file: RowFile) -> Iterator[Answer]:
    """Yield the answers in lines; others are counted in `torn`."""
    number = 0
    while line := lines.readline(MOST_ROW_BYTES):
        number += 1
        row = row_of(line)
        if row is None:
            file.torn.append(number)
        else:
            yield from _answers(number, row)


def _answers(line: int, row: Row) -> Iterator[Answer]:
    status: Any = row.get("status")
    if status == "missing":
        return
    is_answered = status not in NOT_ANSWERED
    answer_fields: Mapping[str, Any] = {
        "correct": VERDICTS.get(str(row.get("verdict"))),
        "error": row.get("error") or ("" if is_answered else status),
    }
    repeat = row.get("repeat")
    yield replace(
        plain.answer_of(line, {**row, **answer_fields}),
        repeat=repeat if isinstance(repeat, int) and repeat > 0 else 1,
        sent_wh=size_of(row.get("sent_wh")),
        seen_wh=size_of(row.get("seen_wh")),
    )
