"""The decision after a failed attempt: pure, and made in one place."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from utils.config.options import Options
from utils.contracts import CallError

FIRST_WAIT_S = 0.5
LONGEST_WAIT_S = 30.0
LONGEST_RATE_LIMITED_S = 900.0  # of one sample, all its 429 together, or --outage if longer

REFUSED_STATUS = frozenset({400, 413, 422})
TRANSIENT_STATUS = frozenset({408, 409, 429})
FATAL_STATUS = frozenset({401, 402, 407})
FATAL_CODES = frozenset({"insufficient_quota", "billing_not_active", "Arrearage"})
# Anthropic, Google, LiteLLM say 400, as of a malformed request, to all that such an account asks.
FATAL_WORDS = (
    "credit balance is too low",
    "api key expired",
    "api key not valid",
    "budget has been exceeded",
)
# Wrong model or path, a redirect (none is followed), or something about one sample.
MISPLACED_STATUS = frozenset({301, 302, 303, 307, 308, 403, 404})
MISPLACED_KINDS = frozenset({"scheme", "certificate"})  # wrong address, or one that is not trusted
REFUSED_KINDS = frozenset({"content_filter", "refusal"})
AWAY_STATUS = frozenset({502, 503})
AWAY_KINDS = frozenset({"dns", "refused_connection", "unreachable"})


# Of several servers: no request to this one will ever be answered.
EXCLUDED_STATUS = frozenset({401, 404})
LOST_KINDS = frozenset({"connection", "timeout"})  # in the middle of a request
FREE_FAULTS = 2  # of servers that live on, while a sample was with them; more use up retries
DEATHS_TO_SET_ASIDE = 2  # of servers, while one sample was with them
DEATHS_TO_FAIL = 3


class Fault(StrEnum):
    """The cause of a failed request, where a model has several servers."""

    SAMPLE = "sample"  # no server will do better
    SERVER = "server"  # another one may do better
    BUSY = "busy"  # the server wants fewer requests
    NEVER = "never"  # the server will not answer any request


def fault_of(error: CallError) -> Fault:
    """The cause of a failed request."""
    status = error.status_code
    if status == 429:
        return Fault.SAMPLE if is_about_account(error) else Fault.BUSY
    if status in EXCLUDED_STATUS or error.kind in MISPLACED_KINDS:
        return Fault.NEVER
    if (status or 0) >= 500 or error.kind in LOST_KINDS | AWAY_KINDS:
        return Fault.SERVER
    return Fault.SAMPLE


class NextAction(StrEnum):
    """The next action after an attempt that gave no answer."""

    AGAIN = "again"  # the same request once more, after a wait
    PAUSE = "pause"  # the server is away: nobody asks for a while, then the same request once more
    REFUSED = "refused"  # the server will not answer this request; the others go on
    FAILED = "failed"  # no answer for this sample; the next run asks again
    EMPTY = "empty"  # an empty reply stays empty: it is the answer
    STOP = "stop"  # nothing will work: the run ends, all is kept


@dataclass(frozen=True, slots=True)
class History:
    """The history of one sample and its run before a decision."""

    failures: int = 0  # earlier attempts of this sample that count against the retries
    was_empty: bool = False  # an earlier reply to this sample was whole and had no text
    rate_limited_s: float = 0.0  # how long this sample has waited for 429s
    run_has_answers: bool = False  # the server has answered something in this run
    answered_meanwhile: bool = False  # and others during an attempt that it met with 502 or 503
    away_s: float = 0.0  # how long ago the server was first found away; 0: this is the first time
    limited_s: float = 0.0  # how long ago it first said 429, if it has answered nothing since
    run_s: float = 0.0  # how long ago the run sent its first request
    deaths: int = 0  # servers that died while they had this sample


@dataclass(frozen=True, slots=True)
class Decision:
    """The action; for `AGAIN` and `PAUSE` how long to wait, and whether that uses up a retry."""

    action: NextAction
    wait_s: float = 0.0
    counts: bool = True


def decide(error: CallError, history: History, options: Options, jitter: float = 0.0) -> Decision:
    """The decision that follows from `error`.

    Args:
        jitter: 0..1, shortens the wait by up to half, so that clients do not return in step.
    """
    if history.deaths >= DEATHS_TO_FAIL:
        return Decision(NextAction.FAILED)
    status = error.status_code
    is_limited_too_long = status == 429 and history.limited_s > options.outage_s
    if is_about_account(error) or is_limited_too_long:
        return Decision(NextAction.STOP)
    is_alone = is_away(error) and not history.answered_meanwhile
    if is_alone and (patient := _while_away(error, history, options)):
        return patient
    if error.empty_answer is not None:  # the server is well: nothing is to be waited for
        is_last = history.was_empty or history.failures >= options.retry
        return Decision(NextAction.EMPTY if is_last else NextAction.AGAIN)
    if status in MISPLACED_STATUS or error.kind in MISPLACED_KINDS:
        return Decision(NextAction.FAILED if history.run_has_answers else NextAction.STOP)
    if status in REFUSED_STATUS or error.kind in REFUSED_KINDS:
        return Decision(NextAction.REFUSED)
    is_for_good = status is not None and status < 500 and status not in TRANSIENT_STATUS
    # A model in this process fails the same way again, and who skips a question means it.
    if is_for_good or error.kind in ("model", "skipped"):
        return Decision(NextAction.FAILED)
    wait_s = _wait_s(error, history, jitter)
    if status == 429 and history.rate_limited_s < max(LONGEST_RATE_LIMITED_S, options.outage_s):
        left_s = max(options.outage_s - history.limited_s, FIRST_WAIT_S)
        return Decision(NextAction.AGAIN, min(wait_s, left_s), counts=False)
    if history.failures < options.retry:
        return Decision(NextAction.AGAIN, wait_s)
    return Decision(NextAction.FAILED)


def is_about_account(error: CallError) -> bool:
    """Whether the key or the account is refused, and every request with it."""
    text = str(error)[:200].lower()  # further on a server may quote the prompt
    says_so = error.status_code == 400 and any(words in text for words in FATAL_WORDS)
    return error.status_code in FATAL_STATUS or error.code in FATAL_CODES or says_so


def is_away(error: CallError) -> bool:
    """Whether the server is away, which is no sample's fault."""
    return error.status_code in AWAY_STATUS or error.kind in AWAY_KINDS


def _while_away(error: CallError, history: History, options: Options) -> Decision | None:
    """Wait for the server, or give it up; None: treat it as any other failure.

    Only where nobody is answered: a 502 or 503 beside answers is about one sample, an image too
    large for a gateway, say.
    """
    if not history.run_has_answers:
        left_s = options.wait_for_server_s - history.run_s
        if left_s > 0:
            wait_s = _asked_for(error.retry_after_s) or 2.0
            return Decision(NextAction.PAUSE, min(wait_s, left_s), counts=False)
        return Decision(NextAction.STOP) if error.kind in AWAY_KINDS else None
    if history.away_s >= options.outage_s:
        return Decision(NextAction.STOP)
    patience_s = min(max(history.away_s / 2, 1.0), LONGEST_WAIT_S)
    wait_s = _asked_for(error.retry_after_s) or patience_s
    left_s = options.outage_s - history.away_s
    return Decision(NextAction.PAUSE, min(wait_s, left_s), counts=False)


def _asked_for(retry_after_s: float | None) -> float:
    """The wait that the server asked for, as far as one can believe it; 0 for none."""
    if retry_after_s is None or math.isnan(retry_after_s):
        return 0.0
    return min(max(retry_after_s, 0.0), LONGEST_RATE_LIMITED_S)


def _wait_s(error: CallError, history: History, jitter: float) -> float:
    if asked_s := _asked_for(error.retry_after_s):
        return asked_s
    if error.retry_after_s is not None and error.status_code == 429:
        # A server that says "at once" for minutes is asked less and less often.
        return min(history.limited_s / 10, LONGEST_WAIT_S)
    doubled = FIRST_WAIT_S * 2.0 ** min(history.failures, 16)
    # Rate limits use up no retry, so what doubles is the time already waited for them.
    patience_s: float = min(max(doubled, history.rate_limited_s), LONGEST_WAIT_S)
    return patience_s * (1 - jitter / 2)
