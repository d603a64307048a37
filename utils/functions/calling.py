"""Calling what the user wrote: deep copies in, one kind of error out.

A user's function may change its arguments, raise anything, or call `sys.exit()`; none of that may
reach another sample.
"""

from __future__ import annotations

import copy
import threading
import traceback
from collections.abc import Callable, Mapping
from typing import Any

from utils.contracts import UserFunctionError

FAILURES_IN_A_ROW = 10  # after so many it is the function, not the sample

_CUDA_HINTS = (
    "not compiled with cuda",
    "no nvidia driver",
    "no cuda gpus",
    "found no nvidia",
    "cuda driver",
)

_CUDA_ADVICE = 'write `.to(model.device)` instead of `.to("cuda")`'


def call_user_function(
    stage: str, function: Callable[..., Any], /, *args: Any, **kwargs: Any
) -> Any:
    """Calls `function`, turning whatever it raises into a `UserFunctionError`.

    Arguments are passed as they are; callers copy what must not change (see `private_copy`).

    Args:
        stage: "prompt", "preprocess", "postprocess" or "parse"; named in the error.

    Raises:
        UserFunctionError: the function raised anything but KeyboardInterrupt, SystemExit included.
    """
    try:
        return function(*args, **kwargs)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # SystemExit of one sample must not end the run
        raise as_user_error(stage, error) from error


def call_postprocess(
    function: Callable[..., Any], text: str, config_kwargs: Mapping[str, Any], dataset: str
) -> str:
    """A postprocess function for a reply that came as text.

    Raises:
        UserFunctionError: it raised, or returned something that is no text.
    """
    kwargs = {**private_copy(dict(config_kwargs)), "dataset_name": dataset}
    reply = call_user_function("postprocess", function, text, None, None, **kwargs)
    if isinstance(reply, str):
        return reply
    problem = f"returned {type(reply).__name__}; expected str"
    raise UserFunctionError("postprocess", problem, problem)


def as_user_error(stage: str, error: BaseException) -> UserFunctionError:
    """Describes an exception out of a user's function, with a hint where CUDA is missing."""
    # The first frame is this module's own; users look for theirs.
    frames = error.__traceback__.tb_next if error.__traceback__ else None
    trace = "".join(traceback.format_exception(type(error), error, frames))
    summary = f"{type(error).__name__}: {error}".rstrip(": ")
    if any(hint in summary.lower() for hint in _CUDA_HINTS):
        summary += " - this machine has no usable CUDA device; " + _CUDA_ADVICE
    return UserFunctionError(stage, summary, trace)


def private_copy(value: Any) -> Any:
    """A deep copy for a function that may scribble on it."""
    return copy.deepcopy(value)


class SerialUnlessThreadSafe:
    """Runs a user's function under a lock, unless the function carries `thread_safe = True`.

    Args:
        copy_result: hand out copies, made under the lock: a function may return the same list each
            time and fill it anew.
    """

    def __init__(
        self, function: Callable[..., Any], lock: threading.Lock, *, copy_result: bool = False
    ) -> None:
        self._function, self._copy_result = function, copy_result
        self._lock = None if getattr(function, "thread_safe", False) else lock

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._lock is None:
            return self._call(*args, **kwargs)
        with self._lock:
            return self._call(*args, **kwargs)

    def _call(self, *args: Any, **kwargs: Any) -> Any:
        result = self._function(*args, **kwargs)
        return private_copy(result) if self._copy_result else result
