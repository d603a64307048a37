"""Files for people: spreadsheets and score files, derived from the log and never read back.

Each is written under a temporary name and renamed, so that a file is whole or not there.
"""

from __future__ import annotations

import errno
import io
import itertools
import json
import re
import tempfile
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from utils.errors import StopRun
from utils.store.log import cure_of

CELL_LIMIT = 32_767  # characters, fixed by the format
CUT_MARK = " [cut here: {length} characters in all, the log has the whole text]"
# What XML cannot carry, and halves of surrogate pairs, which UTF-8 cannot.
_UNWRITABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
# What spreadsheet programs take for the start of a formula, full-width forms included.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


class Together:
    """Files that replace those from before when all of them are whole, in the order of writing.

    Use as a context manager. A kill between two replacements is found by their checksums, see
    `utils.store.seals`; a full disk or a function that fails leaves all files from before.

    Raises:
        StopRun: a file cannot be written, or another one that it needs cannot be read.
    """

    def __init__(self) -> None:
        self._temporary: dict[Path, Path] = {}  # by the file that it will replace

    def __enter__(self) -> Together:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self._replace()
        finally:
            for temporary in self._temporary.values():
                temporary.unlink(missing_ok=True)

    def _replace(self) -> None:
        for path, temporary in self._temporary.items():
            try:
                temporary.replace(path)
            except OSError as error:
                raise _cannot_write(path, error) from error

    @contextmanager
    def file(self, path: Path) -> Iterator[Path]:
        """Yield the temporary path beside `path` to write to."""
        temporary = _temporary_of(path)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            yield temporary
        except OSError as error:
            temporary.unlink(missing_ok=True)
            raise _cannot_write(path, error) from error
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        self._temporary[path] = temporary


def _cannot_write(path: Path, error: OSError) -> StopRun:
    reason = error.strerror or error
    culprit = Path(str(error.filename or path))
    is_target = culprit in (path, _temporary_of(path), *path.parents)
    what = f"cannot write ({reason})" if is_target else f"not written: {culprit}: {reason}"
    return StopRun(f"{path}: {what}. The log is complete; {cure_of(error)}")


def _temporary_of(path: Path) -> Path:
    # No process id in the name: a lock allows one writer, and what a kill left behind is
    # overwritten by the next run.
    return path.with_name(f".{path.name}.tmp")


@contextmanager
def whole_file(path: Path, together: Together | None = None) -> Iterator[Path]:
    """Yield the temporary path of a file that appears with others, or as soon as it is whole."""
    if together is not None:
        with together.file(path) as temporary:
            yield temporary
        return
    with Together() as alone, alone.file(path) as temporary:
        yield temporary


def write_json(path: Path, value: Mapping[str, Any], together: Together | None = None) -> None:
    """Write an indented JSON file, None as null; a `ValueError` for NaN and infinity (`finite`)."""
    text = json.dumps(value, indent=4, ensure_ascii=False, allow_nan=False) + "\n"
    write_text(path, text, together)


def write_text(path: Path, text: str, together: Together | None = None) -> Path:
    """Write a text file; half of a surrogate pair, which UTF-8 lacks, as JSON's own escape."""
    with whole_file(path, together) as temporary:
        temporary.write_text(text, encoding="utf-8", errors="backslashreplace")
    return path


@contextmanager
def open_lines(path: Path, together: Together | None = None) -> Iterator[IO[str]]:
    """Open a text file that is written line by line."""
    with whole_file(path, together) as temporary, temporary.open("w", encoding="utf-8") as file:
        yield file


@contextmanager
def open_sheet(
    path: Path, columns: Sequence[str], together: Together | None = None
) -> Iterator[Callable[[Mapping[str, Any]], None]]:
    """Open a spreadsheet that is written row by row; yields the function that takes a row.

    Every text stays text (no formulas, no links); rows go to disk as they come.
    """
    import xlsxwriter

    with whole_file(path, together) as temporary:
        try:
            tempfile.gettempdir()  # where rows wait
        except FileNotFoundError as error:  # all are full: that is what it has tried
            raise OSError(errno.ENOSPC, error.strerror) from error
        # Packed in memory: on a full disk the library's own archive would print a traceback.
        packed = io.BytesIO()
        workbook = xlsxwriter.Workbook(packed, {"constant_memory": True})
        sheet = workbook.add_worksheet()
        bold = workbook.add_format({"bold": True})
        for position, column in enumerate(columns):
            sheet.write_string(0, position, column, bold)
        sheet.freeze_panes(1, 0)
        rows = itertools.count(1)

        def add(row: Mapping[str, Any]) -> None:
            number = next(rows)
            for position, column in enumerate(columns):
                value = row.get(column)
                if isinstance(value, (int, float)) and abs(value) < 2**53:  # no NaN, no infinity
                    sheet.write(number, position, value)
                elif value is not None:
                    if not isinstance(value, str):
                        value = json.dumps(value, ensure_ascii=False, default=str)
                    if len(value) > CELL_LIMIT or not value.isprintable():
                        value = cell_text(value)
                    sheet.write_string(number, position, value)

        try:
            yield add
        finally:
            try:
                workbook.close()
            except xlsxwriter.exceptions.FileCreateError as error:
                raise _why_no_archive(error) from None
        temporary.write_bytes(packed.getbuffer())


def _why_no_archive(error: Exception) -> OSError:
    """The error that kept the library from writing, as a new one that holds no archive.

    The half-written archive is freed at once: a later garbage collection would print a traceback.
    """
    cause = error.args[0] if error.args else error
    for failure in (error, cause):
        if isinstance(failure, BaseException):
            traceback.clear_frames(failure.__traceback__)
    if isinstance(cause, OSError):
        return OSError(cause.errno, cause.strerror)
    return OSError(str(error))


def cell_text(text: str) -> str:
    """Return a text as a cell can hold it: unwritable characters as escapes, cut with a mark."""
    text = _UNWRITABLE.sub(lambda match: f"\\u{ord(match.group()):04x}", text)
    if len(text) <= CELL_LIMIT:
        return text
    mark = CUT_MARK.format(length=len(text))
    return text[: CELL_LIMIT - len(mark)] + mark


def safe_cell(value: Any) -> Any:
    """Return numbers as they are, a text so that no spreadsheet program takes it for a formula.

    Those begin with a sign, maybe behind blanks; an apostrophe in front makes text of them, as
    typing one into a cell does. Characters that no cell can hold become escapes.
    """
    if value is None or isinstance(value, (int, float)):
        return "" if value is None else value
    text = str(value)
    if text.lstrip(" \u00a0").startswith(_FORMULA_STARTS):
        text = f"'{text}"
    return cell_text(text)
