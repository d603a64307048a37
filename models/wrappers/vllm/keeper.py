"""Stands between a run and its vLLM server, and sees to it that the server never outlives the run.

A program of its own: `python keeper.py LOG COMMAND...`, standard library only. What the command
prints goes into LOG; to standard output go its process id and, when it has ended by itself, its
exit code (negative: a signal). It ends the command and all that came of it as soon as its standard
input ends, which the run holds open: when the run lets go of it, and when the run dies, by whatever
signal. The kernel ends the server when the keeper is gone. (vLLM's engine processes survive the
death of the server that started them, and keep the GPU.)
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

GRACE_S = 5.0  # between SIGTERM and SIGKILL
LAST_S = 10.0  # until killed processes are gone; one that hangs in the kernel is left behind
POLL_S = 0.05
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


def main(arguments: Sequence[str]) -> int:
    """Keep the command running; return its exit code, 127 where it cannot be started."""
    is_over = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: is_over.set())
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    log_path, *command = arguments
    with Path(log_path).open("ab", buffering=0) as log:
        try:
            server = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                process_group=0,
                preexec_fn=lambda: _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL),
            )
        except OSError as error:
            log.write(f"cannot be started: {error}\n".encode())
            return 127
    print(server.pid, flush=True)
    while server.poll() is None and not is_over.is_set():
        if select.select([sys.stdin], [], [], POLL_S)[0]:  # nobody writes to it: this is its end
            break
    if server.returncode is not None:  # before the clearing up, which may take its time
        with contextlib.suppress(OSError):
            print(server.returncode, flush=True)
    _end_all(server)
    exit_code = server.returncode
    if exit_code is None:
        return 1
    return exit_code if exit_code >= 0 else 128 - exit_code


def _end_all(server: subprocess.Popen[bytes]) -> None:
    """Send SIGTERM, a while later SIGKILL; return when server and descendants are gone."""
    began_s = time.monotonic()
    if server.poll() is None:  # it stops its own helpers, in its order
        os.killpg(server.pid, signal.SIGTERM)
    while server.poll() is None or any(_children()):
        waited_s = time.monotonic() - began_s
        if waited_s > GRACE_S + LAST_S:
            return
        if waited_s > GRACE_S or server.returncode is not None:
            number = signal.SIGKILL if waited_s > GRACE_S else signal.SIGTERM
            for pid in _children():  # again and again: orphans become children of this one
                with contextlib.suppress(ProcessLookupError, ChildProcessError):
                    os.kill(pid, number)
                    if pid != server.pid:
                        os.waitpid(pid, os.WNOHANG)
        time.sleep(POLL_S)


def _children() -> Iterator[int]:
    """Yield children of this process that it has not reaped, orphans of the server included."""
    for file in Path("/proc/self/task").glob("*/children"):
        with contextlib.suppress(OSError):
            yield from map(int, file.read_text().split())


def _prctl(option: int, value: int) -> None:
    """Call the Linux kernel; elsewhere the end of standard input has to do."""
    import ctypes

    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
