"""The result of one model on one data set."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from utils.config.options import Options
from utils.errors import SOME_FAILED
from utils.store.folder import RunFolder
from utils.store.manifest import Entry


@dataclass(frozen=True, slots=True)
class Result:
    """The result of one model on one data set."""

    dataset: str  # "" where the model stopped before its first data set
    folder: RunFolder | None  # that it worked in; None if it did not come so far
    code: int  # its exit code
    problems: tuple[str, ...] = ()  # what ended it early
    why: str = ""  # the same in one clause
    is_scored: bool = False  # there are score files of this run
    entry: Entry | None = None  # what the manifest says of it; None: nothing new
    checksums: Mapping[str, str] = field(default_factory=dict)  # of files written, by name


def report_stop(
    options: Options, dataset: str, folder: RunFolder | None, problems: Sequence[str], why: str
) -> Result:
    """Print why a model or data set cannot go on, and return that; the others do.

    Args:
        options: of the run.
        dataset: its name.
        folder: that the model worked in.
        problems: what ended it.
        why: the same in one clause, for the manifest.
    """
    if not options.from_python:  # the caller gets them as an error
        print(*problems, sep="\n", file=sys.stderr)
    return Result(dataset, folder, SOME_FAILED, tuple(problems), why)
