"""Folders of this machine, replaced in texts by marks that mean the same on another one."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

HOME = "~"
# A folder stands in a text as a whole path or the beginning of one: "x/jo" is no part of "x/john",
# "x/jo.old" or "y/x/jo", but it ends at the full stop of a sentence. The letter of an escape in
# JSON text (of a line break, of a character that is not ASCII) is no part of a word before it.
_BEFORE = r"(?:(?<![\w.~-])|(?<=\\[bfnrt])|(?<=\\u[0-9a-f]{4}))"
_AFTER = r"(?![\w-]|\.\w)"


def folder_replacer(
    places: Iterable[tuple[Path, str]], *, in_json: bool = False
) -> Callable[[str], str]:
    """A function that puts marks in the place of folders, the longest path first.

    Args:
        places: folder and mark, the later one where two are the same folder. Each is found as it
            is written and with its links resolved, for a home folder is often a link. The root of
            a file system is left alone.
        in_json: the texts are JSON in ASCII, as `json.dumps` makes it, so that one search covers
            keys and values alike.
    """
    marks = {}
    for folder, mark in places:
        for form in {folder.absolute(), folder.resolve()}:
            if form.parts[1:]:
                marks[_written(str(form), in_json)] = _written(mark, in_json)
    if not marks:
        return lambda text: text
    longest_first = sorted(marks, key=len, reverse=True)
    either = "|".join(map(re.escape, longest_first))
    wanted = re.compile(f"{_BEFORE}({either}){_AFTER}", re.ASCII)  # as in JSON's ASCII text

    def replace(text: str) -> str:
        if not any(folder in text for folder in marks):  # so in nearly all texts; much quicker
            return text
        return wanted.sub(lambda found: marks[found[1]], text)

    return replace


def _written(text: str, in_json: bool) -> str:
    return json.dumps(text)[1:-1] if in_json else text


def portable(places: Mapping[str, Path]) -> Callable[[Any], Any]:
    """A function that rewrites paths in plain data so that they hold on another machine.

    Args:
        places: what to write instead of a folder, e.g. "$LMUData". The home folder becomes `~`.
    """
    replace = folder_replacer([(Path.home(), HOME), *((at, mark) for mark, at in places.items())])

    def rewrite(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {rewrite(key): rewrite(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [rewrite(item) for item in value]
        return replace(str(value)) if isinstance(value, (str, Path)) else value

    return rewrite
