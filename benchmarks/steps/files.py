"""Files of recorded episodes: JSON, JSON lines, and tables in Parquet."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from utils.data_files import POINTER, is_pointer, read_json
from utils.errors import UserError


def read_json_lines(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each object of a file of JSON lines, with its place for messages.

    Raises:
        UserError: the file is missing, or a line is no object.
    """
    try:
        with path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    yield f"{path}, line {number}", _object(path, number, line)
    except FileNotFoundError:
        raise UserError(
            f"{path}: no such file. Set LMUData to the folder that holds {path.parent.name}/; "
            "docs/steps.md says where the file is published"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot be read: {error}") from None


def read_step_json(path: Path) -> Any:
    """The value in a JSON file.

    Raises:
        UserError: the file is missing, or no JSON.
    """
    try:
        return read_json(path)
    except FileNotFoundError:
        raise UserError(
            f"{path}: no such file; docs/steps.md says where the data set is published"
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{path}: cannot be read: {error}. Is it complete?") from None


def read_rows_of(path: Path) -> list[tuple[str, dict[str, Any]]]:
    """The objects of a file of JSON lines, a JSON list or a Parquet table, with their places.

    Raises:
        UserError: the file cannot be read, or is none of these.
    """
    if path.suffix == ".jsonl":
        return list(read_json_lines(path))
    if path.suffix == ".parquet":
        return _parquet_rows(path)
    rows = read_step_json(path)
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise UserError(f"{path}: expected a list of objects [{{...}}, ...]")
    return [(f"{path}, row {number}", row) for number, row in enumerate(rows)]


def _parquet_rows(path: Path) -> list[tuple[str, dict[str, Any]]]:
    import pandas

    try:
        rows = json.loads(pandas.read_parquet(path).drop(columns="image").to_json(orient="records"))
    except ImportError:
        raise UserError(
            f"{path}: reading Parquet needs pyarrow, which this program does not come with: "
            "pip install pyarrow, or write its rows as JSON lines beside it, without the images"
        ) from None
    except (OSError, ValueError, KeyError) as error:
        raise UserError(f"{path}: cannot be read: {error}") from None
    return [(f"{path}, row {number}", row) for number, row in enumerate(rows)]


def check_columns(position: str, row: Iterable[str], expected: Iterable[str], of_what: str) -> None:
    """Check that an object has the columns that it must have.

    Raises:
        UserError: it is of another kind of file.
    """
    columns = list(row)
    missing = [column for column in expected if column not in columns]
    if missing:
        raise UserError(
            f"{position}: has the columns {', '.join(columns) or '(none)'}, which are not those of "
            f"{of_what}; expected {', '.join(expected)}"
        )


def _object(path: Path, number: int, line: str) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        why = POINTER if number == 1 and is_pointer(path) else f"is no JSON ({error})"
        raise UserError(f"{path}, line {number}: {why}") from None
    if not isinstance(value, dict):
        raise UserError(f"{path}, line {number}: expected an object {{ }}, not {line[:60]!r}")
    return value
