"""`evaluate.run` from Python: keyword arguments for the command line's options, errors raised."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from utils.config.options import Options, read_arguments
from utils.config.secret_filter import FilteredStream
from utils.errors import UserError, did_you_mean
from utils.plan import Plan
from utils.runs.finished import scored_files
from utils.runs.run_results import RunResults, results_in

# What makes no results, or is the call itself.
_NO_OPTIONS = ("config", "check", "ping", "parity", "compare", "arguments")


def options_of(config: str | Path, options: Mapping[str, Any]) -> Options:
    """The options of a call, checked as those of the command line are.

    Args:
        options: the command line's, `-` as `_`: texts and numbers, lists for `data` and `model`,
            True and False for a switch; None for the default.

    Raises:
        UserError: there is no such option, or its value does not fit.
    """
    arguments = [f"--config={config}"]
    known = {name.removesuffix("_s") for name in Options.__dataclass_fields__} - {*_NO_OPTIONS}
    for name, value in options.items():
        if name not in known:
            raise UserError(
                f"run(): unknown option {name!r}{did_you_mean(name, sorted(known))}; "
                f"there are {', '.join(sorted(known))}"
            )
        flag = f"--{name.replace('_', '-')}"
        if isinstance(value, bool):
            arguments += _switch(name, flag, value)
        elif value is not None:
            values = value if isinstance(value, (list, tuple)) else [value]
            arguments += [f"{flag}={each}" for each in values]
    return read_arguments(arguments)


def _switch(name: str, flag: str, value: bool) -> list[str]:
    """The argument for a switch; one that is on by default has a `--no-` form."""
    is_on = getattr(Options.__dataclass_fields__.get(name), "default", None) is True
    if value == is_on:
        return []
    return [flag if value else flag.replace("--", "--no-", 1)]


@contextmanager
def errors_for_callers() -> Iterator[None]:
    """Errors leave without secrets; streams and hooks are the caller's again afterwards."""
    before = (sys.stdout, sys.stderr, sys.excepthook, threading.excepthook)
    try:
        yield
    except UserError as error:
        stream: Any = sys.stderr
        clean = stream.filter.clean if isinstance(stream, FilteredStream) else str
        raise type(error)([clean(problem) for problem in error.problems]) from None
    finally:
        sys.stdout, sys.stderr, sys.excepthook, threading.excepthook = before


def results_of(plan: Plan) -> list[RunResults]:
    """What a run has written, one entry for each model, in the order of the config.

    That may be less than its folder holds: the newest files of the data sets that it has scored,
    partial ones too, and none after `mode="infer"`.

    Raises:
        UserError: a model or data set was stopped; all else was written and can be loaded.
    """
    if plan.stopped:
        kept = [str(folder.path) for folder in plan.written if folder.path.exists()]
        where = f"What was answered is kept: {', '.join(kept)}" if kept else ""
        raise UserError([*plan.stopped, *filter(None, [where])])
    found = []
    for folder, datasets in plan.written.items():
        has_scored = plan.options.mode != "infer"
        files = scored_files(folder.path, newest=True) if has_scored else {}
        own = {name: each for name, each in files.items() if name in datasets}
        found.append(results_in(folder.path, own, folder.model))
    return found
