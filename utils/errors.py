"""The errors that a user can cause, and how they read.

UserError                 one or more problems, each with its place; exit code 2, no traceback
└── StopRun               the run stopped on purpose, all answers are kept; code 1
"""

from __future__ import annotations

from collections.abc import Iterable


class UserError(Exception):
    """A mistake that the user can mend: what is wrong, where, what was expected, what to do.

    Args:
        problems: one line or several; each is shown as it stands.
    """

    def __init__(self, problems: str | Iterable[str]) -> None:
        self.problems: tuple[str, ...] = (
            (problems,) if isinstance(problems, str) else tuple(problems)
        )
        super().__init__("\n".join(self.problems))


class StopRun(UserError):
    """The run cannot go on (a wrong key, a full disk, a user function that always fails)."""
