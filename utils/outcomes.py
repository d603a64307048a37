"""What follows from a failed attempt: one pure decision, made in one place.

again     the same request once more, after a wait
refused   the server will not answer this request; the others go on
failed    no answer for this sample; the next run asks again
stop      nothing will work (wrong key, no credit, no server): the run ends, all is kept
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from enum import StrEnum

from utils.contracts import CallError

FIRST_WAIT_S = 0.5
LONGEST_WAIT_S = 30.0
LONGEST_RATE_LIMITED_S = 900.0  # of one sample, all its 429 together

REFUSED_STATUS = frozenset({400, 413, 422})
TRANSIENT_STATUS = frozenset({408, 409, 429})
FATAL_STATUS = frozenset({401, 402})
FATAL_UNTIL_ANSWERED_STATUS = frozenset({403, 404})
FATAL_UNTIL_ANSWERED_KINDS = frozenset({"dns", "refused_connection"})


class Action(StrEnum):
    """What to do after an attempt that gave no answer."""

    AGAIN = "again"
    REFUSED = "refused"
    FAILED = "failed"
    STOP = "stop"


@dataclass(frozen=True, slots=True)
class History:
    """What happened so far to one sample, and to its run.

    Attributes:
        failures: earlier failed attempts of this sample that count against `--retry`.
        rate_limited_s: how long this sample has waited for 429s.
        run_has_answers: whether the server has answered anything in this run.
    """

    failures: int = 0
    rate_limited_s: float = 0.0
    run_has_answers: bool = False


@dataclass(frozen=True, slots=True)
class Decision:
    """The action, and for `AGAIN` how long to wait and whether it counts against `--retry`."""

    action: Action
    wait_s: float = 0.0
    counts: bool = True


def decide(error: CallError, history: History, *, retries: int, jitter: float = 0.0) -> Decision:
    """What follows from `error`.

    Args:
        retries: how many attempts may follow the first one.
        jitter: 0..1, shortens the wait by up to half, so that clients do not return in step.
    """
    status = error.status_code
    if status in FATAL_STATUS or error.code == "insufficient_quota":
        return Decision(Action.STOP)
    if status in FATAL_UNTIL_ANSWERED_STATUS or error.kind in FATAL_UNTIL_ANSWERED_KINDS:
        if not history.run_has_answers:
            return Decision(Action.STOP)
        if status is not None:
            return Decision(Action.FAILED)
    if status in REFUSED_STATUS or error.kind == "content_filter":
        return Decision(Action.REFUSED)
    if status is not None and status < 500 and status not in TRANSIENT_STATUS:
        return Decision(Action.FAILED)
    if error.kind == "model":  # a deterministic model in this process fails the same way again
        return Decision(Action.FAILED)
    is_rate_limit = status == 429
    if is_rate_limit and history.rate_limited_s < LONGEST_RATE_LIMITED_S:
        return Decision(Action.AGAIN, _wait_s(error, history, jitter), counts=False)
    if history.failures < retries:
        return Decision(Action.AGAIN, _wait_s(error, history, jitter))
    return Decision(Action.FAILED)


def _wait_s(error: CallError, history: History, jitter: float) -> float:
    if error.retry_after_s is not None:
        return error.retry_after_s
    doubled: float = min(FIRST_WAIT_S * 2.0**history.failures, LONGEST_WAIT_S)
    return doubled * (1 - jitter / 2)


def random_jitter() -> float:
    """Jitter for `decide`."""
    return random.random()
