"""Lock files: the kernel's lock where the file system has locks, else a file that marks the holder.

The kernel's lock ends with its process, whatever ended it. A marker names host and process: on
another machine nobody can tell whether that process still lives.
"""

from __future__ import annotations

import errno
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from filelock import BaseFileLock

try:
    import fcntl
except ImportError:  # Windows, which always has locks
    fcntl = None  # type: ignore[assignment]

NO_LOCKS = (errno.ENOSYS, errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP)
"""Errors of file systems without locks: some FUSE ones, NFS without its lock service."""
_told_of: set[int] = set()  # file systems without locks that this process has warned of
LEFT_BEHIND_S = 60.0  # a marker names its process at once; an empty file as old as this is none


def file_lock(path: Path, *, timeout_s: float) -> BaseFileLock:
    """The lock of a file, not taken yet, for all threads of this process.

    Args:
        path: the lock file; its folder exists.
        timeout_s: how long `acquire` waits unless told otherwise.
    """
    from filelock import FileLock, SoftFileLock

    if _has_locks(path.parent):
        return FileLock(path, timeout=timeout_s, thread_local=False)
    _say_once(path.parent)
    _remove_if_left_behind(path)
    return SoftFileLock(path, timeout=timeout_s, thread_local=False)


def _has_locks(folder: Path) -> bool:
    if fcntl is None:
        return True
    try:
        with tempfile.TemporaryFile(dir=folder) as probe:
            fcntl.flock(probe.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:  # whatever else is wrong with the folder, taking the lock says so
        return error.errno not in NO_LOCKS
    return True


def _say_once(folder: Path) -> None:
    file_system = folder.stat().st_dev
    if file_system in _told_of:
        return
    _told_of.add(file_system)
    print(
        f"warning: {folder}: the file system has no locks. Files that name this process stand in "
        "for them. If the process dies on another machine, a later run names the file to delete",
        file=sys.stderr,
    )


def _remove_if_left_behind(path: Path) -> None:
    """Remove the lock file of a time when the file system had locks: it stays, and is empty."""
    try:
        stat = path.stat()
    except OSError:
        return
    if stat.st_size == 0 and time.time() - stat.st_mtime > LEFT_BEHIND_S:
        path.unlink(missing_ok=True)
