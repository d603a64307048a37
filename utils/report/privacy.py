"""Paths of this machine, kept out of a page that is passed on."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from utils.runs.portable_paths import HOME, folder_replacer

_ABSOLUTE = re.compile(
    r"(?<![\w.:/\\~%>…-])(?:/|[A-Za-z]:[\\/])(?:[^\s/\\\"'<>|:,;]+[\\/])+([^\s/\\\"'<>|:,;]*)"
)


def path_hider(roots: Iterable[Path | None]) -> Callable[[str], str]:
    """A function that replaces folders in ASCII JSON text: the home by `~`, the others by `…`.

    Args:
        roots: folders that tell something about this machine; one right below a file system's root
            does not, and its name may be a word of a reply.
    """
    hidden = [(root, "…") for root in roots if root and root.absolute().parts[2:]]
    home = [(Path.home(), HOME)]
    return folder_replacer([*hidden, *home], in_json=True)


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
