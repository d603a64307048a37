"""Files of recorded episodes: JSON, JSON lines, and tables in Parquet."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from utils.data_files import POINTER, is_pointer, read_json
from utils.errors import UserError

IMAGE = "image"
IMAGES_AT_ONCE = 16  # of a table whose images would not all fit into memory


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
    """The rows of a Parquet table; an image in it is the name that `take_out_images` gives it."""
    try:
        table = _parquet_file(path)
        names = [str(name) for name in table.schema_arrow.names]
        has_images = IMAGE in names and not _is_text(table.schema_arrow.field(IMAGE).type)
        columns = [name for name in names if not (has_images and name == IMAGE)]
        rows = [row for batch in table.iter_batches(columns=columns) for row in batch.to_pylist()]
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: cannot be read: {error}") from None
    if has_images:
        rows = [{**row, IMAGE: _name_of_image(path, number)} for number, row in enumerate(rows)]
    return [(f"{path}, row {number}", row) for number, row in enumerate(rows)]


def take_out_images(path: Path, rows: Iterable[Mapping[str, Any]], folder: Path) -> None:
    """Write the images of a Parquet table into a folder of images, where they are not there yet.

    Args:
        path: of the table.
        rows: its rows, of `read_rows_of`.
        folder: of the images; their folder in it is named for the table.

    Raises:
        UserError: the folder cannot be written, or a row has no image.
    """
    names = [str(row[IMAGE]) for row in rows]
    if names != [_name_of_image(path, number) for number in range(len(names))]:
        return  # of other files, which name their images
    if all((folder / name).is_file() for name in names):
        return
    number = 0
    try:
        (folder / path.stem).mkdir(parents=True, exist_ok=True)
        for batch in _parquet_file(path).iter_batches(columns=[IMAGE], batch_size=IMAGES_AT_ONCE):
            for row in batch.to_pylist():
                content = row[IMAGE]
                content = content.get("bytes") if isinstance(content, dict) else content
                if not content:
                    raise ValueError(f"row {number} has no image")
                _write_whole(folder / names[number], content)
                number += 1
    except (OSError, ValueError) as error:
        raise UserError(
            f"{path}: its images cannot be taken out into {folder / path.stem}: {error}"
        ) from None


def _write_whole(path: Path, content: bytes) -> None:
    """Write a file that is whole when it has its name, whatever ends the program."""
    part = path.with_suffix(".part")
    part.write_bytes(content)
    part.replace(path)


def _parquet_file(path: Path) -> Any:
    try:
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise UserError(
            f"{path}: reading Parquet needs pyarrow, which this program does not come with: "
            "pip install pyarrow, or write its rows as JSON lines beside it, without the images"
        ) from None
    return ParquetFile(path)


def _is_text(arrow_type: Any) -> bool:
    return str(arrow_type) in ("string", "large_string")


def _name_of_image(path: Path, number: int) -> str:
    """The path of a row's image below the folder of images."""
    return f"{path.stem}/{number}.png"


def check_columns(position: str, row: Iterable[str], expected: Iterable[str], of_what: str) -> None:
    """Check that an object has the columns that it must have.

    Raises:
        UserError: it is of another kind of file.
    """
    columns = list(row)
    missing = [column for column in expected if column not in columns]
    if missing:
        raise UserError(
            f"{position}: has the columns {', '.join(columns) or '(none)'}, which do not fit "
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
