"""The first moments of a program, before its imports: they take seconds on a busy machine.

The standard library only: a program checks with it that its packages are there.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib.util import find_spec
from types import FrameType
from typing import NoReturn

from utils.errors import INTERRUPTED, NOTHING_RUN

DISTRIBUTIONS = {  # what pip calls a package
    "PIL": "pillow",
    "dotenv": "python-dotenv",
    "rapidjson": "python-rapidjson",
}
STDERR = 2
NOT_STARTED = "Interrupted. Nothing was run."
ANSWERED_AT_ONCE = {"--help", "-h", "--version", "--recipes", "--quiet"}


def stop_unless_ready(*packages: str, program: str) -> None:
    """End the process with one line and code 2 where an import would end it with a traceback."""
    missing = [DISTRIBUTIONS.get(name, name) for name in packages if find_spec(name) is None]
    if missing:
        sys.stderr.write(
            f"{program}: this Python ({sys.executable}) lacks {', '.join(sorted(missing))}. "
            "Activate the environment (. .venv/bin/activate), or install what is missing (Python "
            "3.11 or newer): pip install -r requirements/core.txt. Nothing was run.\n"
        )
        sys.exit(NOTHING_RUN)


def interruptible_imports() -> None:
    """Have Ctrl-C end the process in one line until `imports_are_done`."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else a shell ignores it
        signal.signal(signal.SIGINT, _leave)


def imports_are_done() -> None:
    """Have Ctrl-C raise KeyboardInterrupt again."""
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def say_that_it_starts(program: str, arguments: Sequence[str]) -> None:
    """Print a line, unless another process speaks or the output is to be short."""
    if ANSWERED_AT_ONCE.isdisjoint(arguments) and os.environ.get("RANK", "0") == "0":
        with suppress(OSError):  # whoever reads it may have left already
            os.write(STDERR, f"{program}: starting\n".encode())


def _leave(_number: int, _frame: FrameType | None) -> NoReturn:
    """End at once: an exception could be caught by a module that is being imported."""
    print(NOT_STARTED, flush=True)
    os._exit(INTERRUPTED)
