"""Files of recorded episodes: JSON lines, each an object."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from utils.data_files import POINTER, is_pointer
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


def _object(path: Path, number: int, line: str) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        why = POINTER if number == 1 and is_pointer(path) else f"is no JSON ({error})"
        raise UserError(f"{path}, line {number}: {why}") from None
    if not isinstance(value, dict):
        raise UserError(f"{path}, line {number}: expected an object {{ }}, not {line[:60]!r}")
    return value
