"""Paths of this machine, kept out of a page that is passed on."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

_ABSOLUTE = re.compile(
    r"(?<![\w.:/\\~%>…-])(?:/|[A-Za-z]:[\\/])(?:[^\s/\\\"'<>|:,;]+[\\/])+([^\s/\\\"'<>|:,;]*)"
)


def path_hider(roots: Iterable[Path | None]) -> Callable[[str], str]:
    """A function that replaces folders in JSON text: the home by `~`, the others by `…`.

    It works on text that `json.dumps` made in ASCII, so one search covers keys and values alike.

    Args:
        roots: folders that tell something about this machine; file system roots are left alone.
    """
    marks = {_in_json(root): "\\u2026" for root in roots if root is not None and root.parts[2:]}
    marks |= {_in_json(root.resolve()): "\\u2026" for root in roots if root and root.parts[2:]}
    home = Path.home()
    if home.parts[1:]:
        marks[_in_json(home)] = "~"
    if not marks:
        return lambda text: text
    longest_first = sorted(marks, key=len, reverse=True)
    # A path may follow the escape of a line break, whose letter is no part of a word.
    before = r"(?:(?<![\w.~-])|(?<=\\[nrt]))"
    wanted = re.compile(f"{before}({'|'.join(map(re.escape, longest_first))})(?![\\w-]|\\.\\w)")
    return lambda text: wanted.sub(lambda found: marks[found[1]], text)


def _in_json(path: Path) -> str:
    return json.dumps(str(path))[1:-1]


def without_absolute_paths(value: Any) -> Any:
    """A copy in which an absolute path keeps its last name only: `…/config.json`."""
    if isinstance(value, str):
        return _ABSOLUTE.sub(r"…/\1", value)
    if isinstance(value, dict):
        return {str(key): without_absolute_paths(each) for key, each in value.items()}
    if isinstance(value, list):
        return [without_absolute_paths(each) for each in value]
    return value


def shown_name(image: str) -> str:
    """A picture's path as the page may show it: with its platform's folder, never from the root."""
    path = Path(image)
    return "/".join(path.parts[-2:]) if path.is_absolute() else path.as_posix()
