"""One writer per log: a lock of the kernel, or where the file system has none, a lease.

A kernel lock ends with its process, whatever ended it. Some network file systems refuse it; there a
file names host and process and is renewed while the run lives.
"""

from __future__ import annotations

import errno
import re
import socket
from pathlib import Path
from typing import TYPE_CHECKING

from utils.errors import UserError

if TYPE_CHECKING:
    from filelock import BaseFileLock

LEASE_S = 60.0  # after so long without renewal a holder on another machine is taken for dead
_NO_LOCKS_HERE = frozenset({errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOLCK})


def lock_or_refuse(path: Path) -> BaseFileLock:
    """Takes the lock of a log; up to 65 s of waiting, only where the kernel has no locks.

    Raises:
        UserError: another process holds it.
        OSError: the folder cannot be written.
    """
    from filelock import FileLock, SoftFileLease, Timeout

    try:
        try:
            lock = FileLock(f"{path}.lock", timeout=0, thread_local=False, fallback_to_soft=False)
            lock.acquire()
            return lock
        except OSError as error:
            if isinstance(error, Timeout) or error.errno not in _NO_LOCKS_HERE:
                raise
        marker = path.with_name(f"{path.name}.lease")
        if elsewhere := _is_of_another_machine(marker):
            print(f"{marker}: another machine holds it; waiting up to {LEASE_S:.0f} s for a sign")
        timeout_s = LEASE_S + 5 if elsewhere else 1
        lease = SoftFileLease(marker, lease_duration=LEASE_S, timeout=timeout_s, thread_local=False)
        lease.acquire()
        return lease
    except Timeout:
        raise UserError(
            f"{path}: another process is writing this log. Wait for it, or use another --work-dir"
        ) from None


def _is_of_another_machine(marker: Path) -> bool:
    try:
        host = re.search(r"^host=(.*)$", marker.read_text(), re.MULTILINE)
    except OSError:  # there is none, or no longer
        return False
    return host is not None and host[1] != socket.gethostname()
