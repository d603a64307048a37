"""What a user's class has returned or raised, in the types that the program expects.

Numbers may be texts or numpy's, and a message may be an exception. Whatever cannot be read as what
it should be fails its sample, not the run.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from models.wrappers.api.finish import stored_finish_reason
from models.wrappers.api.replies import token_counts
from utils.contracts import CallError, Generation, ToolCall


def checked_generation(returned: object) -> Generation:
    """Return what `generate` has returned as a `Generation`.

    Raises:
        CallError: it has no text, or a field that cannot be used.
    """
    generation = Generation(returned) if isinstance(returned, str) else returned
    if not isinstance(generation, Generation) or not isinstance(generation.text, str):
        raise _failure(f"generate returned {type(returned).__name__}; expected str or Generation")
    latency_s = _number("latency_s", generation.latency_s)
    if latency_s is not None and not math.isfinite(latency_s):
        latency_s = None  # the program's own measure counts
    reasoning: Any = generation.reasoning
    return replace(
        generation,
        usage=token_counts(generation.usage),
        finish_reason=stored_finish_reason(generation.finish_reason),
        latency_s=latency_s,
        reasoning=None if reasoning is None else str(reasoning),
        tool_calls=_checked_tool_calls(generation.tool_calls),
    )


def check_failure(error: CallError) -> None:
    """Give the fields of a failure that `generate` has raised the types that decisions need.

    Raises:
        CallError: one of them cannot be used.
    """
    error.kind, error.message = str(error.kind), str(error.message)
    status_code = _number("status_code", error.status_code)
    error.status_code = None if status_code is None else int(status_code)
    error.retry_after_s = _number("retry_after_s", error.retry_after_s)
    error.code = None if error.code is None else str(error.code)


def _number(name: str, value: Any) -> float | None:
    if value is None:
        return None
    try:
        return float(value)
    except (TypeError, ValueError):
        raise _misfit(name, value, "a number") from None


def _checked_tool_calls(calls: Any) -> Sequence[ToolCall]:
    calls = [] if calls is None else calls
    try:
        checked = [dict(call) for call in calls]
        for call in checked:
            json.dumps([call, call["name"], call["arguments"]])
    except (TypeError, ValueError, LookupError):
        expected = "a list of JSON objects with id, name and arguments"
        raise _misfit("tool_calls", calls, expected) from None
    return checked


def _misfit(name: str, value: object, expected: str) -> CallError:
    return _failure(f"{name} is {value!r:.200}; expected {expected}")


def _failure(summary: str) -> CallError:
    return CallError("model", summary, trace=summary)
