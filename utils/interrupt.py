"""Ctrl-C in two steps."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def two_step_interrupt(on_first: Callable[[], None]) -> Iterator[list[bool]]:
    """Ctrl-C once fills the list and calls `on_first`; twice raises KeyboardInterrupt, now."""
    pressed: list[bool] = []

    def handle(_number: int, _frame: FrameType | None) -> None:
        if pressed:
            raise KeyboardInterrupt
        pressed.append(True)
        on_first()
        print("\nStopping after what is in flight; Ctrl-C again stops now.", flush=True)

    try:
        before = signal.signal(signal.SIGINT, handle)
    except ValueError:  # not the main thread: the caller has its own way to stop
        yield pressed
        return
    try:
        yield pressed
    finally:
        signal.signal(signal.SIGINT, before)
