"""A run in a child process that is killed at one of its changes to the file system."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

CHANGES = ("os.rename", "os.remove", "os.symlink", "os.rmdir", "os.truncate")
"""Audit events of what a scoring does with whole files; a replacement is a rename."""
KILLED, NOT_REACHED = 99, 0


def killed_before_change(number: int, run: Callable[[], object]) -> bool:
    """Fork, run, and end the child without a word before its change of that number.

    Returns whether the child got that far. The child has no threads of this process.
    """
    child = os.fork()
    if child == 0:
        changes = 0

        def watch(event: str, _: tuple[object, ...]) -> None:
            nonlocal changes
            if event in CHANGES:
                changes += 1
                if changes == number:
                    os._exit(KILLED)

        try:
            sys.addaudithook(watch)
            run()
        finally:
            os._exit(NOT_REACHED)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) == KILLED
