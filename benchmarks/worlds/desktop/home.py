"""The home folder of a world: written before an episode, and read from outside without trust.

It lies in memory that belongs to the sandbox, and is reached through the root folder of one of its
processes. What is in it was made by whatever ran there: links are read as their text and never
followed, pipes and devices are not opened, and a file is read up to a limit.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

HOME = "home/user"
CACHES = (".cache", ".local/share/gvfs-metadata", ".dbus", ".config/pulse", ".thumbnails")
"""Folders that programs write into as they please."""
MAX_FILE_BYTES = 64 << 20
MAX_FILES = 20_000
OLD = 1772442000  # when the files of a task were last changed: Monday, 2 March 2026, 09:00 UTC
Files = dict[str, bytes]  # by path below the home; a folder has a slash at its end, and no content


def read_home(inside: Path) -> Files:
    """Return all files of the home but caches; a link as "-> " and its text.

    Args:
        inside: the root folder of a process of the sandbox (`Sandbox.inside`).
    """
    files: Files = {}
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
    handle = os.open(inside, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for name in HOME.split("/"):
            below = os.open(name, flags, dir_fd=handle)
            os.close(handle)
            handle = below
        _read_folder(handle, "", files)
    finally:
        os.close(handle)
    return dict(sorted(files.items()))


def _read_folder(handle: int, prefix: str, files: Files) -> None:
    with os.scandir(handle) as entries:
        names = sorted(entry.name for entry in entries)
    for name in names:
        path = f"{prefix}{name}"
        if path in CACHES or len(files) >= MAX_FILES:
            continue
        with suppress(OSError):  # it has gone meanwhile, or cannot be read
            mode = os.stat(name, dir_fd=handle, follow_symlinks=False).st_mode
            if stat.S_ISDIR(mode):
                files[f"{path}/"] = b""
                below = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=handle)
                try:
                    _read_folder(below, f"{path}/", files)
                finally:
                    os.close(below)
            elif stat.S_ISLNK(mode):
                files[path] = b"-> " + os.readlink(name, dir_fd=handle).encode(errors="replace")
            elif stat.S_ISREG(mode):
                files[path] = _read_file(name, handle)
            else:
                files[path] = b"no regular file"


def _read_file(name: str, folder: int) -> bytes:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
    with os.fdopen(os.open(name, flags, dir_fd=folder), "rb") as file:
        return file.read(MAX_FILE_BYTES)


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write the files of a task into a folder of the host, all with the same old date.

    Args:
        folder: a new or empty one, from which the sandbox copies them.
        files: by path; a folder has a slash at its end.
    """
    for path, content in files.items():
        target = folder / path
        if path.endswith("/"):
            target.mkdir(parents=True, exist_ok=True)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
    for target in [folder, *folder.rglob("*")]:
        target.chmod(0o755 if target.is_dir() else 0o644)
        os.utime(target, (OLD, OLD))
