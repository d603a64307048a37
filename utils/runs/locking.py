"""One writer per log: a lock of the kernel, or where the file system has none, a heartbeat.

A kernel lock ends with its process, whatever ended it. Some network file systems refuse it; there a
file names host and process and is touched while the run lives.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import secrets
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


_guard = threading.Lock()
_held_here: set[Path] = set()  # a pid in a file may be that of an earlier process


class HeartbeatLock:
    """A lock file with host, process and the time of the last sign of life.

    It is created only where there is none, which a file system decides for all that start at once.
    The file of a dead holder is removed by one process at a time, which looks again before.

    Args:
        path: the log; the lock lies beside it.

    Raises:
        UserError: a living process holds it, or this one does.
        OSError: the folder cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self._log = path
        self._file = path.with_name(f"{path.name}.heartbeat").absolute()
        self._content = json.dumps(
            {"host": socket.gethostname(), "pid": os.getpid(), "token": secrets.token_hex(8)}
        )
        self._released = threading.Event()
        with _guard:
            while not _created(self._file, self._content):
                self._refuse_if_held()
                self._remove_dead()
            _held_here.add(self._file)
        threading.Thread(target=self._keep_beating, daemon=True).start()

    def _refuse_if_held(self) -> None:
        try:
            text = self._file.read_text()
            silent_s = time.time() - self._file.stat().st_mtime
        except FileNotFoundError:  # it was released meanwhile
            return
        try:
            holder = json.loads(text)
            named = f" ({holder['host']}, process {holder['pid']})"
        except (ValueError, TypeError, KeyError):  # being written, or all ended at that moment
            holder, named = {}, ""
        is_dead = holder.get("host") == socket.gethostname() and not self._lives(holder.get("pid"))
        if silent_s < SILENT_S and not is_dead:
            raise _held(self._log, named)

    def _lives(self, pid: object) -> bool:
        return self._file in _held_here if pid == os.getpid() else _is_alive(pid)

    def _remove_dead(self) -> None:
        """Removes the file of a dead holder, unless another process was faster and has its own."""
        gate = self._file.with_name(f"{self._file.name}.takeover")
        if not _created(gate, self._content):
            with contextlib.suppress(FileNotFoundError):
                if time.time() - gate.stat().st_mtime < SILENT_S:
                    raise _held(self._log, "")
                gate.unlink()  # whoever made it died in the few lines below
            return
        try:
            self._refuse_if_held()
            self._file.unlink(missing_ok=True)
        finally:
            gate.unlink(missing_ok=True)

    def _is_ours(self) -> bool:
        """False once others took this process for dead: it was stopped, or without its disk."""
        try:
            return self._file.read_text() == self._content
        except OSError:
            return False

    def _keep_beating(self) -> None:
        while not self._released.wait(HEARTBEAT_S):
            with contextlib.suppress(OSError):  # a disk in trouble is reported by the log itself
                if self._is_ours():
                    os.utime(self._file)

    def release(self) -> None:
        """Lets the next process in."""
        with _guard:
            if self._released.is_set():
                return
            self._released.set()
            _held_here.discard(self._file)
            if self._is_ours():
                with contextlib.suppress(OSError):
                    self._file.unlink(missing_ok=True)


def _created(file: Path, content: str) -> bool:
    """Writes a file unless there is one; of several that try at once, one succeeds."""
    try:
        stream = file.open("x")
    except FileExistsError:
        return False
    try:
        with stream:
            stream.write(content)
    except OSError:  # a full disk
        file.unlink(missing_ok=True)
        raise
    return True


def _is_alive(pid: object) -> bool:
    if not isinstance(pid, int):
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it exists and belongs to somebody else
        return True
    return True
