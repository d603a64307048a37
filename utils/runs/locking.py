"""One writer per log: a lock of the kernel, which ends with its process, whatever ended it.

Where a file system has none, the library leaves a file that names host and process instead; on
another machine nobody can tell whether that process still lives.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from utils.errors import UserError

if TYPE_CHECKING:
    from filelock import BaseFileLock


def lock_or_refuse(path: Path) -> BaseFileLock:
    """Takes the lock of a log.

    Raises:
        UserError: another process holds it.
        OSError: the folder cannot be written.
    """
    from filelock import FileLock, Timeout

    # A second is for the library to find that the process which a file names is dead.
    lock = FileLock(f"{path}.lock", timeout=1, thread_local=False)
    try:
        lock.acquire()
    except Timeout:
        raise UserError(
            f"{path}: another process is writing this log. Wait for it, or use another --work-dir; "
            f"if it died on another machine, delete {lock.lock_file}"
        ) from None
    return lock
