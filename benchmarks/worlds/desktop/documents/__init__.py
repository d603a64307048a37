"""Documents of tasks: made from plain data, and read into plain data that can be compared."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from benchmarks.worlds.desktop.documents.pdf import read_pdf, write_pdf
from benchmarks.worlds.desktop.documents.pictures import read_picture, write_picture
from benchmarks.worlds.desktop.documents.sheets import read_ods, write_ods
from benchmarks.worlds.desktop.documents.slides import read_odp, write_odp
from benchmarks.worlds.desktop.documents.texts import read_odt, write_odt

PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".webp", ".tif")
TEXTS = (".txt", ".md", ".csv", ".ini", ".log", ".html", ".json")


def written_files(files: Mapping[str, Any]) -> dict[str, bytes]:
    """Return the files of a task as bytes.

    Args:
        files: by path; a text, or what `write_ods` and the others take. A folder has a slash at its
            end.
    """
    return {path: _written(path, content) for path, content in files.items()}


def _written(path: str, content: Any) -> bytes:
    match content:
        case str():
            return content.encode()
        case {"sheets": _}:
            return write_ods(**content)
        case {"slides": slides}:
            return write_odp(slides)
        case {"blocks": blocks}:
            return write_odt(blocks)
        case {"pages": pages}:
            return write_pdf(pages)
        case {"picture": picture}:
            return write_picture(picture, path)
    raise ValueError(f"{path}: no content of a file: {content!r:.80}")


def read_file(path: str, content: bytes) -> Any:
    """Return the content of a file as plain data; a hash if the file cannot be read."""
    try:
        return _read(path.lower(), content)
    except Exception:  # noqa: BLE001 - a file from a world may have anything in it
        return {"unreadable": _hash(content)}


def _read(path: str, content: bytes) -> Any:
    if path.endswith(".ods"):
        return read_ods(content)
    if path.endswith(".odt"):
        return read_odt(content)
    if path.endswith(".odp"):
        return read_odp(content)
    if path.endswith(PICTURES):
        return read_picture(content)
    if path.endswith(".pdf"):
        return read_pdf(content)
    if path.endswith(TEXTS):
        return _lines(content.decode())
    return {"bytes": _hash(content)}


def _hash(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=8).hexdigest()


def _lines(text: str) -> list[str]:
    """Return the lines of a text without white space at their ends and empty ones at its end."""
    return "\n".join(line.rstrip() for line in text.splitlines()).rstrip("\n").split("\n")
