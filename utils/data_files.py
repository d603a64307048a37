"""Annotation files and images as people have them: JSON, CSV, Git LFS pointers, near folders."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

POINTER_BEGINS = b"version https://git-lfs.github.com/spec/"
POINTER = "a Git LFS pointer, not the file itself; run `git lfs pull` in its repository"
MOST_FOLDERS = 300  # that are looked into for a file that is missing
DEEPEST = 3  # folders between the data root and the one that is looked for


def is_pointer(path: Path) -> bool:
    """Whether a file is a Git LFS pointer: its content was not fetched."""
    try:
        with path.open("rb") as file:
            return file.read(len(POINTER_BEGINS)) == POINTER_BEGINS
    except OSError:
        return False


def read_json(path: Path, object_hook: Callable[[dict[str, Any]], Any] | None = None) -> Any:
    """The value in a JSON file, in UTF-8, UTF-16 or UTF-32, with a byte order mark or without.

    Raises:
        OSError: the file is missing or cannot be read.
        ValueError: it is no JSON; a Git LFS pointer is named.
        RecursionError: it is nested too deeply.
    """
    content = path.read_bytes()
    if content.startswith(POINTER_BEGINS):
        raise ValueError(POINTER)
    return json.loads(content, object_hook=object_hook)


def read_json_lines(
    path: Path, object_hook: Callable[[dict[str, Any]], Any] | None = None
) -> list[Any]:
    """The values in a file of JSON Lines, in UTF-8; blank lines are passed over.

    Raises:
        OSError: the file is missing or cannot be read.
        ValueError: a line is no JSON, it is named; or the file is a Git LFS pointer.
    """
    content = path.read_bytes()
    if content.startswith(POINTER_BEGINS):
        raise ValueError(POINTER)
    values = []
    for number, line in enumerate(content.decode("utf-8-sig").split("\n"), start=1):
        if line.strip():
            try:
                values.append(json.loads(line, object_hook=object_hook))
            except ValueError as error:
                raise ValueError(f"line {number}: {error}") from None
    return values


def read_csv(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file in UTF-8 as texts, by the names in its first line.

    Raises:
        OSError: the file is missing or cannot be read.
        ValueError: a row has more or fewer values than there are names, it is named by its line; or
            the file is no text, or a Git LFS pointer.
    """
    content = path.read_bytes()
    if content.startswith(POINTER_BEGINS):
        raise ValueError(POINTER)
    lines = csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""), strict=True)
    try:
        names = next(lines, [])
        rows = []
        for values in filter(None, lines):
            if len(values) != len(names):
                raise ValueError(f"{len(values)} values, but the first line has {len(names)} names")
            rows.append(dict(zip(names, values, strict=True)))
    except (ValueError, csv.Error) as error:
        raise ValueError(f"line {lines.line_num}: {error}") from None
    return rows


def nearly_right(root: Path, tail: str) -> Path | None:
    """The file that was probably meant: in a folder within another, or in other case.

    Args:
        root: the folder below which it must be.
        tail: the last parts of the path that is missing; `*` stands for any text.
    """
    parts = Path(tail).parts
    for folder in _folders(root):
        file = _in_any_case(folder, parts)
        if file is not None:
            return file
    return None


def _folders(root: Path) -> Iterator[Path]:
    """Yield a folder and those below it, the nearest first."""
    level = [root]
    count = 0
    for _ in range(DEEPEST + 1):
        below: list[Path] = []
        for folder in level:
            count += 1
            if count > MOST_FOLDERS:
                return
            yield folder
            below += sorted(entry for entry in _entries(folder) if entry.is_dir())
        level = below


def _entries(folder: Path) -> list[Path]:
    try:
        return [Path(entry.path) for entry in os.scandir(folder) if not entry.name.startswith(".")]
    except OSError:
        return []


def _in_any_case(folder: Path, parts: tuple[str, ...]) -> Path | None:
    if not parts:
        return folder if folder.is_file() else None
    pattern = parts[0].casefold()
    alike = [entry for entry in _entries(folder) if fnmatchcase(entry.name.casefold(), pattern)]
    files = (_in_any_case(entry, parts[1:]) for entry in sorted(alike))
    return next((file for file in files if file is not None), None)
