"""Errors that a user can cause, how they read, and the exit codes.

UserError                 one or more problems, each with its place; exit code 2, no traceback
└── StopRun               the run stopped on purpose, all answers are kept; code 1

The standard library only: a program checks with it that its packages are there.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from importlib.util import find_spec
from typing import Any

DONE, SOME_FAILED, NOTHING_RUN, INTERRUPTED = 0, 1, 2, 130
"""Exit codes of `evaluate.py`."""

DISTRIBUTIONS = {"PIL": "pillow", "dotenv": "python-dotenv"}  # what pip calls a package


class UserError(Exception):
    """A mistake that the user can mend: what is wrong, where, what was expected, what to do."""

    def __init__(self, problems: str | Iterable[str]) -> None:
        lines = (problems,) if isinstance(problems, str) else tuple(problems)
        self.problems: tuple[str, ...] = lines  # each is shown as it stands
        super().__init__("\n".join(lines))


class StopRun(UserError):
    """The run cannot go on (a wrong key, a full disk, a user function that always fails)."""


def counted(number: int, what: str, plural: str = "") -> str:
    """`1 problem`, `2 problems`; `plural` where an s at the end does not do."""
    return f"{number} {what if number == 1 else plural or f'{what}s'}"


def cut(value: Any, most: int) -> str:
    """Return a text in one line of at most so many characters, cut with an ellipsis."""
    text = " ".join(str(value).split())
    return text if len(text) <= most else text[: most - 1] + "…"


def problem_report(problems: Sequence[str], *, ran: bool = False, warnings: int = 0) -> str:
    """All problems, one a line, and what follows from them."""
    count = counted(len(problems), "problem")
    count += f", {counted(warnings, 'warning')}." if warnings else "."
    return "\n".join([*problems, count if ran else f"{count} Nothing was run."])


def likeness(word: str, other: str) -> float:
    """How alike two names are, 0 to 1; case, dashes and underscores make no difference."""
    cut = (each[:200] for each in (word, other))  # what is longer is no name, and takes seconds
    left, right = (each.lower().replace("-", "").replace("_", "") for each in cut)
    return SequenceMatcher(None, left, right, autojunk=False).ratio()


def nearest(word: str, known: Iterable[str], at_least: float = 0.7) -> str | None:
    """The known name that `word` was probably meant as, or None."""
    best = max(known, key=lambda name: likeness(word, name), default=None)
    return best if best is not None and likeness(word, best) >= at_least else None


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`; did you mean "x"?`, or nothing."""
    best = nearest(word, known)
    return f'; did you mean "{best}"?' if best is not None else ""


def listed(names: Sequence[str], limit: int = 12) -> str:
    """`"a", "b", "c"`, cut after `limit` names with the number of those left out."""
    shown = ", ".join(f'"{name}"' for name in names[:limit])
    return f"{shown} and {len(names) - limit} more" if len(names) > limit else shown


def printable(text: str) -> str:
    """A text of somebody else's, fit for a terminal: control characters as escapes, one line."""
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def stop_unless_ready(*packages: str, program: str) -> None:
    """Ends the process with one line and code 2 where an import would end it with a traceback."""
    missing = [DISTRIBUTIONS.get(name, name) for name in packages if find_spec(name) is None]
    if missing:
        problem = f"this Python ({sys.executable}) lacks {', '.join(sorted(missing))}"
        cure = (
            "Activate the environment (. .venv/bin/activate), or install what is "
            "missing (Python 3.11 or newer): pip install -r requirements/core.txt"
        )
        sys.stderr.write(f"{program}: {problem}. {cure}. Nothing was run.\n")
        sys.exit(NOTHING_RUN)
