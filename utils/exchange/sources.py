"""Sources of `--import`: a file, a folder of files, a bundle, or the results of a live world."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

from utils.errors import UserError
from utils.exchange.answers import Answer
from utils.exchange.files import (
    NO_TEXT,
    UNREADABLE,
    RowFile,
    refuse_unusual,
    row_file,
    text_of,
)
from utils.exchange.formats import WORLDS, Format, bundle, format_named, format_of
from utils.exchange.formats.own import rows_of
from utils.exchange.worlds import folders_of, world_of
from utils.text import listed

ENDINGS = (".json", ".jsonl", ".csv", ".tsv", ".xlsx", ".eval", ".zip")
FIRST_ANSWERS = 200  # by which a data set is told
MOST_FILES = 2000
MOST_REASONS = 5  # why files of a folder hold no answers
MOST_ORDER = 1_000_000  # ids in a file of `--import-order`


@dataclass
class AnswerFile:
    """A file of answers, opened.

    Attributes:
        name: below the folder that is imported.
        dataset: the data set that it is for, where the file says so.
    """

    path: Path
    name: str
    format_name: str
    read: Callable[[], Iterator[Answer]]
    has_parts: bool = False
    file: RowFile | None = None
    dataset: str = ""

    def answers(self) -> Iterator[Answer]:
        """Yield its answers, each with the name of the file where there are several."""
        return (replace(answer, file=self.name) for answer in self.read())

    def first_answers(self) -> list[Answer]:
        """The first answers, by which the data set is told."""
        return list(islice(self.answers(), FIRST_ANSWERS))

    @property
    def torn(self) -> Sequence[int]:
        """The numbers of the lines that are no rows; known once it was read."""
        return self.file.torn if self.file is not None else ()


@dataclass
class Import:
    """The files of an import.

    Attributes:
        world: the format of a live world's folder; "" of answers to tables.
        skipped: names of files of a folder that hold no answers.
        model: that a bundle names; "" of other files.
        readers: parse functions that a bundle names, by data set.
        limits: of a bundle whose run had `--limit`, by data set.
    """

    path: Path
    sources: list[AnswerFile] = field(default_factory=list)
    world: str = ""
    skipped: list[str] = field(default_factory=list)
    model: str = ""
    readers: Mapping[str, str] = field(default_factory=dict)
    limits: Mapping[str, int] = field(default_factory=dict)


def open_import(path: Path, format_name: str, function: Callable[..., Any] | None = None) -> Import:
    """Open a file or a folder of answers.

    Args:
        path: of the file or folder.
        format_name: of `--format`; "": the format is told by the content.
        function: of the user's, if the format is one of their own.

    Raises:
        UserError: there is no such file, its format is not known, or it is not safe to read.
    """
    if not path.exists() and not path.is_symlink():
        raise UserError(f"--import {path}: there is no such file or folder")
    refuse_unusual(path)
    if function is not None:
        read = lambda: rows_of(format_name, function, path)  # noqa: E731
        return Import(path, [AnswerFile(path, "", format_name, read)])
    if path.is_file():
        return _import_of_file(path, "", format_name)
    world = format_name if format_name in WORLDS else "" if format_name else world_of(path)
    if world:
        return Import(path, world=world)
    return _import_of_folder(path, format_name)


def _import_of_folder(folder: Path, format_name: str) -> Import:
    imported = Import(folder)
    names: list[tuple[Path, str]] = []
    reasons: list[str] = []
    for path, files in folders_of(folder):
        for name in files:
            if name.removesuffix(".gz").endswith(ENDINGS):
                names.append((path / name, str((path / name).relative_to(folder))))
    if len(names) > MOST_FILES:
        raise UserError(f"{folder}: holds {len(names):,} files; name one of them, or a part")
    for path, name in names:
        try:
            imported.sources += _import_of_file(path, name, format_name).sources
        except UserError as error:
            imported.skipped.append(name)
            reasons.append(error.summary)
    if not imported.sources:
        problem = f"{folder}: holds no file of answers in a known format"
        raise UserError([problem, *reasons[:MOST_REASONS]])
    formats = sorted({source.format_name for source in imported.sources})
    if len(formats) > 1:
        raise UserError(
            f"{folder}: holds answers in the formats {listed(formats)}; say which: --format NAME, "
            "or name a file"
        )
    return imported


def _import_of_file(path: Path, name: str, format_name: str) -> Import:
    file = row_file(path, str(path))
    file_format = format_of(file)
    if format_name and format_name != file_format.NAME:
        chosen = format_named(format_name)
        if file.kind == "zip" or not chosen.recognise(file.first_rows()):
            needs = ", ".join(chosen.NEEDS)
            raise UserError(
                f"{path}: is not in the format {format_name}: rows of this format have {needs}. "
                f"The file seems to be {file_format.NAME}"
            )
        file_format = chosen
    if file_format is bundle and file.kind == "zip":
        manifest = bundle.read_manifest(file)
        sources = [
            _source(path, name or part, file_format, replace(file, torn=[]), dataset, part)
            for dataset, part in manifest.answer_files.items()
        ]
        return Import(
            path,
            sources,
            model=manifest.model,
            readers=manifest.readers,
            limits=manifest.limits,
        )
    return Import(path, [_source(path, name, file_format, file)])


def _source(
    path: Path, name: str, file_format: Format, file: RowFile, dataset: str = "", part: str = ""
) -> AnswerFile:
    def read() -> Iterator[Answer]:
        return bundle.archived_rows(file, part) if part else file_format.rows(file)

    return AnswerFile(path, name, file_format.NAME, read, file_format.HAS_PARTS, file, dataset)


def checksum_of(paths: Sequence[Path]) -> str:
    """The SHA-256 of files, of several that of their checksums."""
    checksums = []
    for path in paths:
        with path.open("rb") as file:
            checksums.append(hashlib.file_digest(file, "sha256").hexdigest())
    if len(checksums) == 1:
        return checksums[0]
    return hashlib.sha256("\n".join(checksums).encode()).hexdigest()


def read_order(path: Path | None) -> list[str]:
    """The ids of `--import-order`: a JSON list, an object of such lists, or one id a line.

    Raises:
        UserError: it cannot be read.
    """
    if path is None:
        return []
    refuse_unusual(path)
    try:
        with text_of(path, str(path)) as lines:
            text = lines.text.read(64 * MOST_ORDER)
    except UNREADABLE as error:
        raise UserError(f"--import-order {path}: cannot be read: {error}") from None
    if NO_TEXT.search(text):
        raise UserError(f"--import-order {path}: is no text in UTF-8")
    if text.lstrip()[:1] not in ("[", "{"):
        return [line.strip() for line in text.splitlines() if line.strip()]
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UserError(f"--import-order {path}: is broken JSON: {error}") from None
    lists = [value] if isinstance(value, list) else [*value.values()]
    if not all(isinstance(ids, list) for ids in lists):
        raise UserError(
            f"--import-order {path}: expected a list of ids, or an object with lists of ids"
        )
    return [_id_of(item) for ids in lists for item in ids]


def _id_of(item: Any) -> str:
    return str(item.get("id", item.get("index", ""))) if isinstance(item, dict) else str(item)
