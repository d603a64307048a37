"""Ctrl-C in two steps; SIGTERM counts as Ctrl-C."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

from utils.contracts import GENERATING

PATIENCE_S = 8.0  # for what is in flight, after SIGTERM: who sends that, sends SIGKILL soon after


def end_like_ctrl_c() -> None:
    """Have SIGTERM raise KeyboardInterrupt from now on: logs are closed, children stopped."""
    with contextlib.suppress(ValueError):  # not the main thread: that is the caller's business
        signal.signal(signal.SIGTERM, signal.default_int_handler)


def leave(code: int) -> NoReturn:
    """End the process with this exit code, also in the middle of a generation.

    Where the interpreter goes down under a thread that works in native code, that thread aborts
    the process: exit code 134, a core file, hours after everything was written.
    """
    if any(thread.name == GENERATING for thread in threading.enumerate()):
        for stream in filter(None, (sys.stdout, sys.stderr)):
            stream.flush()
        os._exit(code)
    sys.exit(code)


@contextmanager
def two_step_interrupt(on_first: Callable[[], None]) -> Iterator[list[bool]]:
    """Handle Ctrl-C: once fills the list and calls `on_first`, twice raises KeyboardInterrupt.

    SIGTERM is Ctrl-C, and Ctrl-C once more after a few seconds.
    """
    pressed: list[bool] = []
    this_thread = threading.get_ident()  # a signal to another thread would leave this one waiting
    second = threading.Timer(PATIENCE_S, lambda: signal.pthread_kill(this_thread, signal.SIGINT))
    second.daemon = True

    def handle(number: int, _frame: FrameType | None) -> None:
        if pressed:
            raise KeyboardInterrupt
        pressed.append(True)
        on_first()
        if number == signal.SIGTERM:
            second.start()
            print(f"\nSIGTERM: stopping within {PATIENCE_S:.0f} s.", flush=True)
        else:
            print("\nStopping after the requests in flight; Ctrl-C again stops now.", flush=True)

    with contextlib.ExitStack() as before:
        before.callback(second.cancel)
        with contextlib.suppress(ValueError):  # not the main thread: the caller has his own way
            for number in (signal.SIGINT, signal.SIGTERM):
                before.callback(signal.signal, number, signal.signal(number, handle))
        yield pressed
