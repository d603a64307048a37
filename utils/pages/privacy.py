"""Keeps paths of this machine out of a page that is passed on."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from utils.config.secret_filter import with_texts
from utils.store.manifest import HOME, folder_replacer
from utils.store.strict_json import to_json

_ABSOLUTE = re.compile(
    r"(?<![\w.:/\\~%>…-])(?:/|[A-Za-z]:[\\/])(?:[^\s/\\\"'<>|:,;]+[\\/])+([^\s/\\\"'<>|:,;]*)"
)


def path_hider(roots: Iterable[Path | None]) -> Callable[[Any], str]:
    """Return a function that makes JSON of plain data: the home becomes `~`, the roots `…`."""
    # One right below a file system's root says nothing, and its name may be a word of a reply.
    marks = [(root, "…") for root in roots if root and root.absolute().parts[2:]]
    marks.append((Path.home(), HOME))
    replace = folder_replacer(marks)
    folder_texts = [
        to_json(str(path))[1:-1]
        for folder, _ in marks
        for path in (folder.absolute(), folder.resolve())
    ]

    def as_json(value: Any) -> str:
        text = to_json(value)
        if any(folder in text for folder in folder_texts):
            return to_json(with_texts(value, replace))
        return text

    return as_json


def without_absolute_paths(value: Any) -> Any:
    """Return a copy of plain data in which an absolute path keeps its last name: `…/x.json`."""
    return with_texts(value, lambda text: _ABSOLUTE.sub(r"…/\1", text))


def shown_name(image: str) -> str:
    """Return an image's path as the page may show it: its platform's folder and its name."""
    path = Path(image)
    return "/".join(path.parts[-2:]) if path.is_absolute() else path.as_posix()
