"""Annotation files: a list of objects, read one after the other."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from utils.errors import UserError


def read_annotations(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of an annotation file, one after the other; they are never all in memory.

    Raises:
        UserError: missing, not JSON (with line and column), or of another shape.
    """
    path = path.absolute()  # messages: a relative LMUData counts from where one happens to be
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise UserError(f"{path}: no such annotation file. {_where_else(path)}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot be read: {error}") from None
    try:
        position = -1
        for position, item in enumerate(_items_of_list(text)):
            if not isinstance(item, dict):
                raise UserError(f"{path}: entry {position} is no object")
            yield item
    except json.JSONDecodeError as error:
        raise UserError(
            f"{path}: broken JSON at line {error.lineno}, column {error.colno}: {error.msg}. "
            "Fetch it again: python utils/download.py"
        ) from None
    if position < 0:
        raise UserError(f"{path}: expected a list of annotations, and at least one")


def _where_else(path: Path) -> str:
    """What to do about an annotation file that is not where `LMUData` says."""
    root = path.parent.parent
    if root.name == path.parent.name:  # .../MMBench-GUI/MMBench-GUI/...
        return f"LMUData is one folder too deep: set it to {root.parent}, which holds {root.name}/"
    return (
        f"Set LMUData to the folder that holds {path.parent.name}/, or fetch the data set: "
        "LMUData=<folder> python utils/download.py"
    )


def _items_of_list(text: str) -> Iterator[Any]:
    """The items of a JSON list, decoded one by one; errors tell the place in the whole text."""
    decoder, blank = json.JSONDecoder(), re.compile(r"[ \t\n\r]*")

    def after_blank(place: int) -> int:
        found = blank.match(text, place)
        return found.end() if found else place

    place = after_blank(0)
    if text[place : place + 1] != "[":
        decoder.decode(text)  # broken, or sound and no list
        return
    place = after_blank(place + 1)
    is_open = text[place : place + 1] != "]"
    while is_open:
        item, place = decoder.raw_decode(text, place)
        yield item
        place = after_blank(place)
        is_open = text[place : place + 1] == ","
        if is_open:
            place = after_blank(place + 1)
        elif text[place : place + 1] != "]":
            raise json.JSONDecodeError("Expecting ',' delimiter", text, place)
    place = after_blank(place + 1)
    if place != len(text):
        raise json.JSONDecodeError("Extra data", text, place)
