"""One writer per log: a lock of the kernel, or where the file system has none, a heartbeat.

A kernel lock ends with its process, whatever ended it. Some network file systems refuse it; there a
file names host and process and is touched while the run lives.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import socket
import threading
import time
from pathlib import Path
from typing import Protocol

from utils.errors import UserError

HEARTBEAT_S = 10.0
SILENT_S = 60.0  # after so long without a heartbeat the holder is taken for dead
_NO_LOCKS_HERE = frozenset({errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOLCK})


class Lock(Protocol):
    """What a held lock offers."""

    def release(self) -> object: ...


def lock_or_refuse(path: Path) -> Lock:
    """Takes the lock of a log.

    Raises:
        UserError: another process holds it.
        OSError: the folder cannot be written.
    """
    from filelock import FileLock, Timeout

    try:
        lock = FileLock(f"{path}.lock", timeout=0, fallback_to_soft=False)
        lock.acquire()
        return lock
    except Timeout:
        raise _held(path, "") from None
    except OSError as error:
        if error.errno not in _NO_LOCKS_HERE:
            raise
        return HeartbeatLock(path)


def _held(path: Path, holder: str) -> UserError:
    return UserError(
        f"{path}: another process{holder} is writing this log. Wait for it, or use another "
        "--work-dir"
    )


class HeartbeatLock:
    """A lock file with host, process and the time of the last sign of life.

    Args:
        path: the log; the lock lies beside it.

    Raises:
        UserError: a living process holds it.
    """

    def __init__(self, path: Path) -> None:
        self._file = path.with_name(f"{path.name}.heartbeat")
        self._released = threading.Event()
        self._refuse_if_held(path)
        self._beat()
        threading.Thread(target=self._keep_beating, daemon=True).start()

    def _refuse_if_held(self, path: Path) -> None:
        try:
            holder = json.loads(self._file.read_text())
            silent_s = time.time() - self._file.stat().st_mtime
        except (OSError, ValueError):  # nobody, or a file that was being written when all ended
            return
        here = holder.get("host") == socket.gethostname()
        is_dead = here and not _is_alive(holder.get("pid"))
        if silent_s < SILENT_S and not is_dead:
            raise _held(path, f" ({holder.get('host')}, process {holder.get('pid')})")

    def _beat(self) -> None:
        temporary = self._file.with_name(f"{self._file.name}.{os.getpid()}")
        temporary.write_text(json.dumps({"host": socket.gethostname(), "pid": os.getpid()}))
        temporary.replace(self._file)

    def _keep_beating(self) -> None:
        while not self._released.wait(HEARTBEAT_S):
            with contextlib.suppress(OSError):  # a disk in trouble is reported by the log itself
                self._beat()

    def release(self) -> None:
        """Lets the next process in."""
        self._released.set()
        with contextlib.suppress(OSError):
            self._file.unlink(missing_ok=True)


def _is_alive(pid: object) -> bool:
    if not isinstance(pid, int) or pid == os.getpid():
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it exists and belongs to somebody else
        return True
    return True
