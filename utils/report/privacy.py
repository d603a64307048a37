"""Paths of this machine, kept out of a page that is passed on."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from utils.config.secret_filter import with_texts
from utils.runs.manifest import HOME, folder_replacer
from utils.scoring.sheets import to_json

_ABSOLUTE = re.compile(
    r"(?<![\w.:/\\~%>…-])(?:/|[A-Za-z]:[\\/])(?:[^\s/\\\"'<>|:,;]+[\\/])+([^\s/\\\"'<>|:,;]*)"
)


def path_hider(roots: Iterable[Path | None]) -> Callable[[Any], str]:
    """A function that makes JSON of plain data: the home becomes `~` in it, the roots `…`."""
    # One right below a file system's root says nothing, and its name may be a word of a reply.
    hidden = [(root, "…") for root in roots if root and root.absolute().parts[2:]]
    places = [*hidden, (Path.home(), HOME)]
    replace = folder_replacer(places)
    written = [
        to_json(str(form))[1:-1]
        for folder, _ in places
        for form in (folder.absolute(), folder.resolve())
    ]

    def as_json(value: Any) -> str:
        text = to_json(value)
        return to_json(with_texts(value, replace)) if any(map(text.__contains__, written)) else text

    return as_json


def without_absolute_paths(value: Any) -> Any:
    """A copy of plain data in which an absolute path keeps its last name only: `…/config.json`."""
    return with_texts(value, lambda text: _ABSOLUTE.sub(r"…/\1", text))


def shown_name(image: str) -> str:
    """An image's path as the page may show it: with its platform's folder, never from the root."""
    path = Path(image)
    return "/".join(path.parts[-2:]) if path.is_absolute() else path.as_posix()
