"""Errors that a user can cause, how they read, and the exit codes.

UserError                 one or more problems, each with its place; exit code 2, no traceback
├── ScorerError           a benchmark's own scorer failed at a row; all answers are kept; code 1
└── StopRun               the run stopped on purpose, all answers are kept; code 1

The standard library only: programs need it before they know whether their packages are there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from utils.text import counted

DONE, SOME_FAILED, NOTHING_RUN, INTERRUPTED = 0, 1, 2, 130
"""Exit codes of `evaluate.py`."""


class UserError(Exception):
    """A mistake that the user can mend: what is wrong, where, what was expected, what to do.

    Args:
        summary: the reason in one clause, without its place and advice, for lists of runs; by
            default the first line of the first problem.
    """

    def __init__(self, problems: str | Iterable[str], *, summary: str = "") -> None:
        lines = (problems,) if isinstance(problems, str) else tuple(problems)
        self.problems: tuple[str, ...] = lines  # each is shown as it stands
        first_lines = lines[0].strip().splitlines() if lines else []
        self.summary = summary or "".join(first_lines[:1])
        super().__init__("\n".join(lines))


class ScorerError(UserError):
    """A method of a benchmark of the user's cannot judge an answer: it raised, or returned junk."""


class StopRun(UserError):
    """The run cannot go on (a wrong key, a full disk, a user function that always fails)."""


def one_line_reason(error: Exception) -> str:
    """The reason of a failure, in one line; with its class where it is none of a user's."""
    if isinstance(error, UserError):
        return error.summary
    return f"{type(error).__name__}: {error}".splitlines()[0]


def problem_report(problems: Sequence[str], *, ran: bool = False, warnings: int = 0) -> str:
    """Return all problems, one a line, and what follows from them."""
    count = counted(len(problems), "problem")
    count += f", {counted(warnings, 'warning')}." if warnings else "."
    return "\n".join([*problems, count if ran else f"{count} Nothing was run."])
