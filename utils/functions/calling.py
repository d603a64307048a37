"""Calling what the user wrote: deep copies in, one kind of error out.

A user's function may change its arguments, raise anything, or call `sys.exit()`; none of that may
reach another sample.
"""

from __future__ import annotations

import copy
import os
import threading
import traceback
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from functools import wraps
from pathlib import Path
from typing import Any, cast

from utils import PROJECT
from utils.contracts import UserFunctionError
from utils.errors import ScorerError, UserError
from utils.functions.names import dotted_name, is_own

FAILURES_IN_A_ROW = 10  # after so many it is the function, not the sample
READING = "reading"  # the stage of a failure beside the user's functions: of its sample alone
CUDA_ADVICE = 'no usable CUDA device; write `.to(model.device)` instead of `.to("cuda")`'
NO_CUDA = (
    "not compiled with cuda",
    "no nvidia driver",
    "no cuda gpus",
    "found no nvidia",
    "cuda driver",
)
OURS = (
    str(PROJECT / "utils") + os.sep,
    str(PROJECT / "benchmarks") + os.sep,
    str(PROJECT / "models" / "wrappers") + os.sep,
    str(PROJECT / "models" / "recipes" / "base.py"),
    str(PROJECT / "models" / "recipes" / "reading.py"),
)
"""Code of this program that users' functions are called by, and made by in recipes of their own."""
private_copy = copy.deepcopy  # for what goes to a function that may scribble on it


def call_user_function(
    stage: str, function: Callable[..., Any], /, *args: Any, **kwargs: Any
) -> Any:
    """Call `function` with the arguments as they are; callers copy what must not change.

    UserFunctionError where it raised anything but KeyboardInterrupt, SystemExit included.
    """
    try:
        return function(*args, **kwargs)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # SystemExit of one sample must not end the run
        raise as_user_error(stage, error) from error


def as_scorer_error(
    benchmark: object, method: str, failure: Exception, where: str = ""
) -> Exception:
    """A failure in a method of a benchmark: of a class of the user's a ScorerError, else itself.

    Args:
        where: such as the row, as the end of the sentence.
    """
    cls = type(benchmark)
    if isinstance(failure, UserError) or is_own(cls.__module__):
        return failure
    summary = as_user_error(method, failure).summary
    return ScorerError(f"{dotted_name(cls)}.{method} {summary}{where}")


def call_postprocess(
    function: Callable[..., Any], config_kwargs: Mapping[str, Any], dataset: str, text: str
) -> str:
    """The result of a postprocess function for a reply that came as text.

    Raises:
        UserFunctionError: the function raised, or returned no text.
    """
    kwargs = {**private_copy(dict(config_kwargs)), "dataset_name": dataset}
    reply = call_user_function("postprocess", function, text, None, None, **kwargs)
    check_reply(reply)
    return cast(str, reply)


def check_reply(reply: object) -> None:
    """Raise a UserFunctionError where a postprocess function has returned no text."""
    if not isinstance(reply, str):
        problem = f"returned {type(reply).__name__}; expected the reply as text"
        raise UserFunctionError("postprocess", problem, problem)


def as_user_error(stage: str, error: BaseException) -> UserFunctionError:
    """Return an exception out of a user's function as facts, with a hint where CUDA is missing."""
    frames = error.__traceback__
    while frames and frames.tb_next and frames.tb_frame.f_code.co_filename.startswith(OURS):
        frames = frames.tb_next  # users look for their own
    trace = "".join(traceback.format_exception(type(error), error, frames))
    summary = f"raised {type(error).__name__}: {error}".rstrip(": ")
    entries = traceback.extract_tb(frames)
    in_first_file = [entry for entry in entries if entry.filename == entries[0].filename]
    if in_first_file:
        last = in_first_file[-1]
        summary += f" ({Path(last.filename).name}, line {last.lineno})"
    if any(hint in summary.lower() for hint in NO_CUDA):
        summary += f" - this machine has {CUDA_ADVICE}"
    return UserFunctionError(stage, summary, trace)


def one_at_a_time(
    function: Callable[..., Any], lock: threading.Lock, *, copy_result: bool = False
) -> Callable[..., Any]:
    """Return the function under a lock, unless it carries `thread_safe = True`.

    It may return the same list each time and fill it anew: `copy_result` copies under the lock.
    """
    guard = nullcontext() if getattr(function, "thread_safe", False) else lock

    @wraps(function)  # what it takes is still to be seen
    def call(*args: Any, **kwargs: Any) -> Any:
        with guard:
            result = function(*args, **kwargs)
            return private_copy(result) if copy_result else result

    return call
