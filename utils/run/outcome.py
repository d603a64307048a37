"""What became of one model on one data set."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from utils.errors import SOME_FAILED
from utils.run.plan import Plan
from utils.runs.folder import RunFolder
from utils.runs.manifest import Entry


@dataclass(frozen=True, slots=True)
class Done:
    """What became of one model on one data set."""

    dataset: str
    folder: RunFolder | None  # that it worked in; None if it did not come so far
    code: int  # its exit code
    problems: tuple[str, ...] = ()  # what ended it early
    why: str = ""  # the same in one clause
    is_scored: bool = False  # there are score files of this run
    entry: Entry | None = None  # what the manifest says of it; None: nothing new
    # Of the files that were written, by name.
    checksums: Mapping[str, str] = field(default_factory=dict)


def stopped(
    plan: Plan, dataset: str, folder: RunFolder | None, problems: Sequence[str], why: str
) -> Done:
    """Print why a model or data set cannot go on, and return that; the others do.

    Args:
        why: the same in one clause, for the manifest.
    """
    if not plan.is_quiet:
        print(*problems, sep="\n", file=sys.stderr)
    return Done(dataset, folder, SOME_FAILED, tuple(problems), why)
