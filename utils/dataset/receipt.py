"""What the download has brought, written down so that the next run need not look into each file.

A note holds while size and modification time of its file are unchanged; otherwise the content is
read again. Lost or broken, the receipt costs time, never correctness.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self

from utils.dataset.unzip import crc_of

_CHUNK_BYTES = 2**20


@dataclass(frozen=True)
class FileNote:
    """One fetched file.

    Attributes:
        md5: its sum.
        etag: the hub's tag for this content; empty if the hub was not asked.
        revision: what the user had asked for.
    """

    md5: str
    etag: str
    revision: str
    size: int
    mtime_ns: int

    @classmethod
    def of(cls, path: Path, md5: str, etag: str, revision: str) -> Self:
        status = path.stat()
        return cls(md5, etag, revision, status.st_size, status.st_mtime_ns)

    def is_of(self, path: Path) -> bool:
        """Whether the file is the noted one, by size and time."""
        if not path.is_file():
            return False
        status = path.stat()
        return (status.st_size, status.st_mtime_ns) == (self.size, self.mtime_ns)


@dataclass(frozen=True)
class PictureNote:
    """One unpacked picture."""

    crc: int
    size: int
    mtime_ns: int

    @classmethod
    def of(cls, path: Path, crc: int) -> Self:
        status = path.stat()
        return cls(crc, status.st_size, status.st_mtime_ns)

    def is_of(self, path: Path) -> bool:
        """Whether the file is the noted one; a copied data root has other times and is read."""
        if not path.is_file():
            return False
        status = path.stat()
        return status.st_size == self.size and (
            status.st_mtime_ns == self.mtime_ns or crc_of(path) == self.crc
        )


@dataclass
class Receipt:
    """All notes of one data root."""

    FILE_NAME: ClassVar[str] = "receipt.json"

    files: dict[str, FileNote] = field(default_factory=dict)
    pictures: dict[str, PictureNote] = field(default_factory=dict)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read the receipt; an empty one if there is none or it makes no sense."""
        try:
            content: Any = json.loads((folder / cls.FILE_NAME).read_text(encoding="ascii"))
            return cls(
                files={name: FileNote(**note) for name, note in content["files"].items()},
                pictures={name: PictureNote(*note) for name, note in content["pictures"].items()},
            )
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return cls()

    def save(self, folder: Path) -> None:
        """Write the receipt in one step."""
        folder.mkdir(parents=True, exist_ok=True)
        content = {
            "files": {name: asdict(note) for name, note in self.files.items()},
            "pictures": {
                name: (note.crc, note.size, note.mtime_ns) for name, note in self.pictures.items()
            },
        }
        part = folder / f"{self.FILE_NAME}.part"
        part.write_text(json.dumps(content), encoding="ascii")
        part.replace(folder / self.FILE_NAME)


def md5_of(path: Path, on_bytes: Callable[[int], None] = lambda _: None) -> str:
    """MD5 of a file, in hexadecimal."""
    return _sum_of(path, hashlib.md5(usedforsecurity=False), on_bytes)


def etag_fits(path: Path, etag: str) -> bool | None:
    """Whether a file has the content that the hub's tag stands for; None if the tag is no sum.

    The hub tags large files with their SHA-256 and small ones with their git object id.
    """
    if re.fullmatch("[0-9a-f]{64}", etag):
        return _sum_of(path, hashlib.sha256()) == etag
    if re.fullmatch("[0-9a-f]{40}", etag):
        head = f"blob {path.stat().st_size}\0".encode()
        return _sum_of(path, hashlib.sha1(head, usedforsecurity=False)) == etag
    return None


def _sum_of(path: Path, digest: Any, on_bytes: Callable[[int], None] = lambda _: None) -> str:
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK_BYTES):
            digest.update(chunk)
            on_bytes(len(chunk))
    return str(digest.hexdigest())
