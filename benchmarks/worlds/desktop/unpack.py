"""Unpack Debian packages into a folder, as any user and without dpkg."""

from __future__ import annotations

import os
import re
import shutil
import tarfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO

MAGIC = b"!<arch>\n"
HEADER_BYTES = 60
MERGED = ("bin", "lib", "lib32", "lib64", "libx32", "sbin")
"""Folders of the root that are links into /usr, as on an installed Debian."""
LEFT_OUT = re.compile(
    r"usr/share/(doc/(?!.*/copyright$)|(man|locale|help|info|lintian|gnome|bug|gtk-doc)/).+"
    r"|usr/lib/x86_64-linux-gnu/perl.*|etc/init\.d/.+|etc/cron.*"
)
"""Documentation, translations, and what only a booted system needs; licences stay."""


def unpack(archives: Sequence[Path], root: Path) -> None:
    """Unpack the files of packages into a folder that is new or empty.

    Owners are not kept, and no file is setuid; everybody may read all of it.
    """
    (root / "usr").mkdir(parents=True)
    for name in MERGED:
        (root / "usr" / name).mkdir()
        (root / name).symlink_to(f"usr/{name}")
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for _ in pool.map(lambda archive: _unpack_one(archive, root), archives):
            pass


def _unpack_one(archive: Path, root: Path) -> None:
    with archive.open("rb") as package, tarfile.open(fileobj=_data(package), mode="r|*") as files:
        for member in files:
            path = _path_of(member.name)
            if path and not LEFT_OUT.fullmatch(path):
                _extract(files, member, root, path)


def _data(package: IO[bytes]) -> IO[bytes]:
    """Return a package's file, at the beginning of the archive in it that has its content.

    Raises:
        ValueError: it is no package.
    """
    if package.read(len(MAGIC)) != MAGIC:
        raise ValueError(f"{package.name} is no Debian package")
    while header := package.read(HEADER_BYTES):
        name, size = header[:16].decode().strip().rstrip("/"), int(header[48:58])
        if name.startswith("data.tar"):
            return package
        package.seek(size + size % 2, os.SEEK_CUR)
    raise ValueError(f"{package.name} has no content")


def _path_of(name: str) -> str:
    """Return the path of a member below the root, with the folders that are links replaced."""
    path = os.path.normpath(name).lstrip("/")
    if path in ("", "."):
        return ""
    first = path.partition("/")[0]
    return f"usr/{path}" if first in MERGED else path


def _extract(files: tarfile.TarFile, member: tarfile.TarInfo, root: Path, path: str) -> None:
    target = root / path
    if member.isdir():
        target.mkdir(parents=True, exist_ok=True)
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink(missing_ok=True)
    if member.issym():
        target.symlink_to(member.linkname)
    elif member.islnk():
        os.link(root / _path_of(member.linkname), target)
    elif member.isfile():
        content = files.extractfile(member)
        assert content is not None, "a regular file has content"
        with content, target.open("wb") as written:
            shutil.copyfileobj(content, written, 1 << 20)
        target.chmod(0o755 if member.mode & 0o111 else 0o644)
