"""Stands between a run and its vLLM server, and sees to it that the server never outlives the run.

A program of its own: `python vllm_keeper.py LOG COMMAND...`, standard library only. It starts the
command in a process group of its own, writes everything the command prints to LOG (without the
values of the variables in `HIDDEN`), and to standard output one line with its process id and, when
it has ended by itself, one with its exit code (negative: a signal). It ends the command and
all that came of it as soon as its standard input ends, which the run holds open: that happens when
the run lets go of it and when the run dies, by whatever signal. Twice covered: the kernel tells the
keeper when the run is gone, and ends the server when the keeper is gone.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

GRACE_S = 5.0
"""How long the server may take over SIGTERM before SIGKILL."""

LAST_S = 10.0  # until killed processes are gone; one that hangs in the kernel is left behind
HIDDEN = ("VLLM_API_KEY", "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")
ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
LONGEST_LINE = 64 * 1024
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36


class Keeper:
    """One command from its start to the end of its last descendant."""

    def __init__(self, command: Sequence[str], log: BinaryIO) -> None:
        self._log = log
        self._pending = b""
        self._hidden = [os.environ[name].encode() for name in HIDDEN if os.environ.get(name)]
        self._code: int | None = None
        self._server = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            process_group=0, preexec_fn=_die_with_parent,
        )  # fmt: skip
        assert self._server.stdout is not None
        self._output = self._server.stdout.fileno()
        os.set_blocking(self._output, False)

    @property
    def server_pid(self) -> int:
        """Process id of the command, and number of its process group."""
        return self._server.pid

    def run(self, wake: int) -> int:
        """Waits for an end of any kind, clears up, and returns the command's exit code.

        Args:
            wake: becomes readable when a signal has arrived.
        """
        with selectors.DefaultSelector() as selector:
            selector.register(wake, selectors.EVENT_READ)
            selector.register(self._output, selectors.EVENT_READ)
            selector.register(sys.stdin.fileno(), selectors.EVENT_READ)
            is_over = False
            while not is_over:
                for key, _ in selector.select():
                    if key.fd == self._output:
                        if not self._copy_output():
                            selector.unregister(self._output)
                    elif key.fd == wake:
                        is_over |= any(number in ENDING for number in os.read(wake, 4096))
                    else:
                        is_over |= not os.read(key.fd, 4096)
                self._reap()
                is_over |= self._code is not None
        self._drain()
        if self._code is not None:  # before the clearing up, which may take its time
            with contextlib.suppress(OSError):
                print(self._code, flush=True)
        self._end_all()
        return 1 if self._code is None else self._code if self._code >= 0 else 128 - self._code

    def _copy_output(self) -> bool:
        """What there is to read goes into the log; False at the end of the output."""
        try:
            chunk = os.read(self._output, LONGEST_LINE)
        except BlockingIOError:
            return True
        self._write(chunk)
        return bool(chunk)

    def _write(self, chunk: bytes) -> None:
        """Whole lines go into the log, since a secret in two pieces would not be found.

        What has no end yet waits for it, unless nothing (an empty chunk) is to come any more.
        """
        lines = self._pending + chunk
        end = len(lines) if not chunk or len(lines) > LONGEST_LINE else lines.rfind(b"\n") + 1
        text, self._pending = lines[:end], lines[end:]
        for secret in self._hidden:
            text = text.replace(secret, b"[secret]")
        with contextlib.suppress(OSError):  # a full disk is no reason to end the server
            self._log.write(text)

    def _reap(self) -> bool:
        """Takes note of processes that have ended; False once there is none left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self._server.pid:
                self._code = os.waitstatus_to_exitcode(status)

    def _end_all(self) -> None:
        """SIGTERM for everyone, a while later SIGKILL; returns when all are gone."""
        began_s = time.monotonic()
        self._send(signal.SIGTERM)
        while self._reap() and (waited_s := time.monotonic() - began_s) < GRACE_S + LAST_S:
            if waited_s > GRACE_S:
                self._send(signal.SIGKILL)  # again and again: orphans become children of this one
            self._copy_output()
            time.sleep(0.05)
        self._drain()

    def _drain(self) -> None:
        """Everything printed so far into the log, also what has no end of line."""
        with contextlib.suppress(BlockingIOError):
            while chunk := os.read(self._output, LONGEST_LINE):
                self._write(chunk)
        self._write(b"")

    def _send(self, number: signal.Signals) -> None:
        if self._code is None:  # not reaped, so that the number still means this group
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._server.pid, number)
            if number == signal.SIGTERM:
                return  # the server stops its own helpers, in its order
        for pid in _children():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)


def _children() -> Iterator[int]:
    """Children of this process that it has not reaped, orphans of the server among them."""
    for file in Path("/proc/self/task").glob("*/children"):
        with contextlib.suppress(OSError):
            yield from map(int, file.read_text().split())


def _prctl(option: int, value: int) -> None:
    """Asks the Linux kernel; elsewhere the end of standard input has to do."""
    import ctypes

    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _die_with_parent() -> None:
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def main(arguments: Sequence[str]) -> int:
    """Keeps the command; its exit code is the command's, 127 where it cannot be started."""
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)
    signal.set_wakeup_fd(write_end)
    for number in (*ENDING, signal.SIGCHLD):
        signal.signal(number, lambda *_: None)  # not ignored: the command would inherit that
    _prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    log_path, *command = arguments
    with Path(log_path).open("ab", buffering=0) as log:
        try:
            keeper = Keeper(command, log)
        except OSError as error:
            log.write(f"cannot be started: {error}\n".encode())
            return 127
        print(keeper.server_pid, flush=True)
        return keeper.run(read_end)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
