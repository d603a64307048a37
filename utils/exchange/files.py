"""Opens files of answers: JSON in its forms, CSV, spreadsheets; plain or packed with gzip.

The kind of a file is told by its content. A file comes from somebody else, so nothing in it is
run, no path in it is opened, links are not followed, and each size has a limit. Rows of JSON with
bytes that are no text are no rows: where a program was killed, a file may end within a letter.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import stat
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import IO, Any

from utils.errors import UserError

MOST_BYTES = 4 << 30  # of a file, unpacked
MOST_ROW_BYTES = 16 << 20  # of a row: the longest replies are far below
MOST_SHEET_BYTES = 64 << 20  # of the parts of a spreadsheet, unpacked
MOST_COLUMNS = 200
MOST_ROWS = 300_000
CHUNK_BYTES = 1 << 16
FIRST_ROWS = 20  # by which a format is recognised
LISTS = ("details", "samples", "steps")  # keys of the rows in a file that is one object
GZIP, ZIP = b"\x1f\x8b", b"PK\x03\x04"
WORKBOOK = "xl/workbook.xml"
BOMS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
NO_TEXT = re.compile("[\udc80-\udcff]")  # bytes that are no UTF-8, as `text_of` reads them
UNREADABLE = (OSError, EOFError, zlib.error, zipfile.BadZipFile, UnicodeDecodeError)
"""Errors of files that are damaged behind their beginning."""

Row = dict[str, Any]
NumberedRow = tuple[int, Row]


@dataclass
class RowFile:
    """A file of rows.

    Attributes:
        kind: "lines" (JSON lines), "list" (a JSON list), one of `LISTS` (the key of the rows in a
            JSON object), "table" (CSV or TSV), "sheet" (xlsx), "zip" (any other archive).
        torn: the numbers of lines that are no JSON or no text; known once the rows were read.
        head: what stands before the rows of a JSON object.
    """

    path: Path
    name: str
    kind: str
    torn: list[int] = field(default_factory=list)
    head: Row = field(default_factory=dict)
    delimiter: str = ","

    def first_rows(self) -> list[Row]:
        """The first rows, by which the format is recognised."""
        if self.kind == "zip":
            return []
        return [row for _, row in islice(self.rows(), FIRST_ROWS)]

    def rows(self) -> Iterator[NumberedRow]:
        """Yield all rows with their numbers.

        Raises:
            UserError: a limit is reached, or the file is broken where nothing can be skipped.
        """
        self.torn.clear()
        read = {"lines": _json_lines, "table": _table_rows, "sheet": _sheet_rows}
        try:
            for count, row in enumerate(read.get(self.kind, _json_items)(self), 1):
                if count > MOST_ROWS:
                    raise UserError(f"{self.name}: has more than {MOST_ROWS:,} rows")
                yield row
        except RecursionError:
            raise UserError(f"{self.name}: its JSON is nested too deeply") from None
        except UNREADABLE as error:
            raise UserError(f"{self.name}: cannot be read: {error}") from None


def refuse_unusual(path: Path) -> None:
    """Raise a UserError unless a path is that of a file or folder: no link, device or pipe."""
    try:
        mode = path.lstat().st_mode
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror or error}") from None
    if stat.S_ISLNK(mode):
        raise UserError(
            f"{path}: is a symbolic link, which an import does not follow; name its target"
        )
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise UserError(f"{path}: is neither a file nor a folder")


def row_file(path: Path, name: str = "") -> RowFile:
    """Open a file and tell its kind by its content.

    Args:
        path: of the file.
        name: as messages have it.

    Raises:
        UserError: it is a link or a device, or cannot be read.
    """
    refuse_unusual(path)
    name = name or str(path)
    try:
        with _opened(path, name) as file:
            beginning = file.read(4)
            if beginning.startswith(ZIP):
                return RowFile(path, name, _kind_of_archive(path, name))
        with text_of(path, name) as lines:
            return _text_file(path, name, lines)
    except (OSError, EOFError, zlib.error) as error:
        raise UserError(f"{name}: cannot be read: {error}") from None
    except UnicodeDecodeError:
        raise UserError(f"{name}: is neither text nor a spreadsheet") from None


class _Limited(io.RawIOBase):
    """A stream that ends in an error after `MOST_BYTES`."""

    def __init__(self, file: IO[bytes], name: str) -> None:
        self._file, self._name, self._bytes = file, name, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        content = self._file.read(len(buffer))
        self._bytes += len(content)
        if self._bytes > MOST_BYTES:
            raise UserError(f"{self._name}: is larger than {MOST_BYTES >> 30} GiB, unpacked")
        buffer[: len(content)] = content
        return len(content)


@contextmanager
def _opened(path: Path, name: str) -> Iterator[io.BufferedReader]:
    """The content of a file, unpacked where it was packed with gzip."""
    with path.open("rb") as packed:
        is_packed = packed.read(2) == GZIP
        packed.seek(0)
        file: Any = gzip.GzipFile(fileobj=packed) if is_packed else packed
        yield io.BufferedReader(_Limited(file, name), CHUNK_BYTES)


@contextmanager
def text_of(path: Path, name: str) -> Iterator[_Lines]:
    """The text of a file, line by line; bytes that are no text are left in it for `NO_TEXT`."""
    with _opened(path, name) as file:
        encoding = BOMS.get(file.peek(2)[:2], "utf-8-sig")
        yield _Lines(io.TextIOWrapper(file, encoding, "surrogateescape", newline=""), name)


@dataclass
class _Lines:
    """Lines of a text, none of which is longer than a row may be."""

    text: io.TextIOWrapper
    name: str
    number: int = 0

    def __iter__(self) -> Iterator[str]:
        while line := self.next():
            yield line

    def next(self) -> str:
        """The next line with its end; "" behind the last one."""
        line = self.text.readline(MOST_ROW_BYTES)
        self.number += bool(line)
        if len(line) == MOST_ROW_BYTES:
            raise UserError(
                f"{self.name}: line {self.number} is longer than {MOST_ROW_BYTES >> 20} MiB; "
                "expected a row of a file of answers"
            )
        return line

    def chunk(self) -> str:
        """The next piece of the text, wherever lines end."""
        return self.text.read(CHUNK_BYTES)


def _text_file(path: Path, name: str, lines: _Lines) -> RowFile:
    beginning = lines.text.read(CHUNK_BYTES).lstrip()
    if beginning.startswith("["):
        return RowFile(path, name, "list")
    if not beginning.startswith("{"):
        head = beginning.partition("\n")[0]
        if NO_TEXT.search(head):
            raise UserError(f"{name}: is neither text nor a spreadsheet")
        if "\t" not in head and "," not in head:
            raise UserError(
                f"{name}: is not a file of answers; expected JSON, JSON lines, CSV, TSV or xlsx"
            )
        return RowFile(path, name, "table", delimiter="\t" if "\t" in head else ",")
    if _is_row(beginning.partition("\n")[0]):
        return RowFile(path, name, "lines")
    for key in LISTS:
        file = RowFile(path, name, key)
        try:
            if next(_json_items(file), None) is not None:
                return file
        except UserError:
            continue
    return RowFile(path, name, "lines")


def _is_row(line: str) -> bool:
    """Whether a line is a row: a whole JSON object without a list of rows in it."""
    try:
        row = row_of(line)
    except RecursionError:
        return False
    return row is not None and not any(isinstance(row.get(key), list) for key in LISTS)


def _kind_of_archive(path: Path, name: str) -> str:
    try:
        with zipfile.ZipFile(path) as archive:
            return "sheet" if WORKBOOK in archive.namelist() else "zip"
    except (OSError, zipfile.BadZipFile, NotImplementedError) as error:
        raise UserError(f"{name}: is a broken archive: {error}") from None


# -- JSON -----------------------------------------------------------------------------------------


def _json_lines(file: RowFile) -> Iterator[NumberedRow]:
    """Yield the objects of JSON lines; other lines are counted in `torn`."""
    with text_of(file.path, file.name) as lines:
        for line in lines:
            if not line.strip():
                continue
            row = row_of(line)
            if row is None:
                file.torn.append(lines.number)
            else:
                yield lines.number, row


def row_of(line: str) -> Row | None:
    """The JSON object of a line; None: it is none, or has bytes that are no text."""
    if NO_TEXT.search(line):
        return None
    try:
        row = json.loads(line)
    except ValueError:
        return None
    return row if isinstance(row, dict) else None


def _json_items(file: RowFile) -> Iterator[NumberedRow]:
    """Yield the objects in a JSON list, or in that of an object, one at a time."""
    with text_of(file.path, file.name) as lines:
        reader = _JsonReader(lines, file.name)
        if file.kind in LISTS:
            reader.expect("{")
            if not _seek_key(reader, file):
                return
        reader.expect("[")
        number = 0
        while reader.peek() != "]":
            number += 1
            item = reader.value()
            if isinstance(item, dict) and not reader.has_no_text:
                yield number, item
            else:
                file.torn.append(number)
            if reader.peek() == ",":
                reader.expect(",")


def _seek_key(reader: _JsonReader, file: RowFile) -> bool:
    """Read an object up to the list under its key; what stands before it goes into `head`."""
    while reader.peek() != "}":
        key = reader.value()
        reader.expect(":")
        if key == file.kind:
            return reader.peek() == "["
        file.head[str(key)] = reader.value()
        if reader.peek() == ",":
            reader.expect(",")
    return False


class _JsonReader:
    """Reads JSON value by value from a text that may be larger than memory."""

    def __init__(self, lines: _Lines, name: str) -> None:
        self._lines, self._name = lines, name
        self._text, self._at, self._is_whole = "", 0, False
        self.has_no_text = False  # the last value had bytes that are no text
        self._decoder = json.JSONDecoder()

    def peek(self) -> str:
        """The next character that is no white space."""
        while True:
            rest = self._text[self._at :].lstrip()
            if rest:
                self._at = len(self._text) - len(rest)
                return rest[0]
            if not self._read_more():
                raise self._broken("it ends too early")

    def expect(self, character: str) -> None:
        """Pass over a character."""
        if self.peek() != character:
            raise self._broken(f"expected {character!r}, found {self.peek()!r}")
        self._at += 1

    def value(self) -> Any:
        """The next value."""
        self.peek()
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._at)
                if end < len(self._text) or self._is_whole:  # a number may go on
                    self.has_no_text = bool(NO_TEXT.search(self._text, self._at, end))
                    self._at = end
                    return value
                problem = "it ends too early"
            except json.JSONDecodeError as error:
                problem = error.msg
            except RecursionError:
                raise self._broken("it is nested too deeply") from None
            if len(self._text) - self._at > MOST_ROW_BYTES:
                limit = f"a value is longer than {MOST_ROW_BYTES >> 20} MiB"
                raise self._broken(f"{limit}, or is no JSON ({problem})")
            if not self._read_more():
                raise self._broken(problem)

    def _read_more(self) -> bool:
        """Have at least twice as much text, so that long values are not read too often."""
        self._text, self._at = self._text[self._at :], 0
        target_length = max(CHUNK_BYTES, 2 * len(self._text))
        pieces = [self._text]
        length = len(self._text)
        while length < target_length and not self._is_whole:
            piece = self._lines.chunk()
            self._is_whole = not piece
            pieces.append(piece)
            length += len(piece)
        has_more = length > len(self._text)
        self._text = "".join(pieces)
        return has_more

    def _broken(self, problem: str) -> UserError:
        return UserError(f"{self._name}: is broken JSON: {problem}. Is the file complete?")


# -- tables and spreadsheets ----------------------------------------------------------------------


def _table_rows(file: RowFile) -> Iterator[NumberedRow]:
    csv.field_size_limit(MOST_ROW_BYTES)
    with text_of(file.path, file.name) as lines:
        try:
            for row in csv.DictReader(_as_text(lines), delimiter=file.delimiter):
                row.pop(None, None)  # type: ignore[call-overload]  # more cells than the head has
                yield lines.number, dict(row)
        except csv.Error as error:
            raise UserError(f"{file.name}: line {lines.number}: {error}") from None


def _as_text(lines: _Lines) -> Iterator[str]:
    """Yield lines.

    Raises:
        UserError: one has bytes that are no text.
    """
    for line in lines:
        if NO_TEXT.search(line):
            raise UserError(
                f"{lines.name}: line {lines.number} is no text in UTF-8; save the table as UTF-8"
            )
        yield line


def _sheet_rows(file: RowFile) -> Iterator[NumberedRow]:
    """Yield the rows of the first sheet; formulas stay text, empty cells are None."""
    from openpyxl import load_workbook
    from openpyxl.utils.exceptions import InvalidFileException

    check_archive(file.path, file.name)
    try:
        workbook = load_workbook(file.path, read_only=True, data_only=False, keep_links=False)
        sheet = workbook.worksheets[0]
        sheet.reset_dimensions()
        rows = sheet.iter_rows(max_col=MOST_COLUMNS, values_only=True)
        names = list(next(rows, ()))
        for number, cells in enumerate(rows, 2):
            if number > MOST_ROWS:
                raise UserError(f"{file.name}: has more than {MOST_ROWS:,} rows")
            if any(cell is not None for cell in cells):
                yield number, _row_of(names, cells)
        workbook.close()
    except (KeyError, ValueError, TypeError, InvalidFileException, SyntaxError) as error:
        raise UserError(f"{file.name}: is no spreadsheet that can be read: {error}") from None


def _row_of(names: Sequence[Any], cells: Sequence[Any]) -> Row:
    pairs = zip(names, cells, strict=False)
    return {str(name): cell for name, cell in pairs if name is not None}


def check_archive(path: Path, name: str) -> None:
    """Raise a UserError where an archive would fill the memory.

    Python's `zipfile` reads no more of a part than the archive says that it has.
    """
    with zipfile.ZipFile(path) as archive:
        unpacked = sum(part.file_size for part in archive.infolist())
        if unpacked > MOST_SHEET_BYTES:
            raise UserError(
                f"{name}: has {unpacked / 2**20:,.0f} MiB unpacked, expected at most "
                f"{MOST_SHEET_BYTES >> 20}; an import does not unpack it"
            )
        for part in archive.infolist():
            if part.filename.endswith((".xml", ".rels")):
                with archive.open(part) as content:
                    if b"<!DOCTYPE" in content.read(CHUNK_BYTES):
                        raise UserError(f"{name}: {part.filename} declares entities of XML")
