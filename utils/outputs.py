"""Files for people: spreadsheets and score files, derived from the log and never read back.

Each is written under a temporary name and renamed, so that a file is whole or not there.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from utils.errors import StopRun

CELL_LIMIT = 32_767  # characters, fixed by the format
CUT_MARK = " [cut here: {length} characters in all, the log has the whole text]"
# What XML cannot carry, and halves of surrogate pairs, which UTF-8 cannot.
_UNWRITABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


@contextmanager
def whole_or_nothing(path: Path) -> Iterator[Path]:
    """Yields a temporary path beside `path` that replaces it when all went well.

    Raises:
        StopRun: the folder cannot be written (full disk, no rights).
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        yield temporary
        temporary.replace(path)
    except OSError as error:
        raise StopRun(
            f"{path}: cannot write ({error.strerror or error}). The log is whole; make room and "
            "start the same command again"
        ) from error
    finally:
        temporary.unlink(missing_ok=True)


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """A score file: indented, None as null, never NaN."""
    text = json.dumps(value, indent=4, ensure_ascii=False, allow_nan=False)
    with whole_or_nothing(path) as temporary:
        temporary.write_text(text + "\n", encoding="utf-8")


def write_sheet(path: Path, columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> None:
    """A spreadsheet with one row each; every text stays text (no formulas, no links)."""
    import xlsxwriter

    with whole_or_nothing(path) as temporary:
        options = {"constant_memory": True, "in_memory": False}
        workbook = xlsxwriter.Workbook(temporary, options)
        try:
            sheet = workbook.add_worksheet()
            bold = workbook.add_format({"bold": True})
            for position, column in enumerate(columns):
                sheet.write_string(0, position, column, bold)
            for number, row in enumerate(rows, start=1):
                for position, column in enumerate(columns):
                    _write_cell(sheet, number, position, row.get(column))
            sheet.freeze_panes(1, 0)
        finally:
            workbook.close()


def columns_of(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """The columns of all rows, in order of first appearance."""
    return list(dict.fromkeys(column for row in rows for column in row))


def _write_cell(sheet: Any, row: int, column: int, value: Any) -> None:
    if value is None:
        return
    if isinstance(value, bool):
        sheet.write_boolean(row, column, value)
    elif isinstance(value, (int, float)) and math.isfinite(value) and abs(value) < 2**53:
        sheet.write_number(row, column, value)
    else:
        text = (
            value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
        )
        sheet.write_string(row, column, cell_text(text))


def cell_text(text: str) -> str:
    """The text as a spreadsheet can hold it: unwritable characters as escapes, cut with a mark."""
    text = _UNWRITABLE.sub(lambda found: f"\\u{ord(found.group()):04x}", text)
    if len(text) <= CELL_LIMIT:
        return text
    mark = CUT_MARK.format(length=len(text))
    return text[: CELL_LIMIT - len(mark)] + mark
