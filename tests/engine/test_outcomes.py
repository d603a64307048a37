"""What follows from a failed attempt: the table of decisions."""

import math
from pathlib import Path

import pytest

from utils.config.options import Options
from utils.contracts import CallError
from utils.engine.retry_policy import Action, History, decide


def options(**given):
    """A command line with a config."""
    return Options(Path("config.json"), **given)


NEW, ANSWERED = History(), History(run_has_answers=True)
AGAIN, PAUSE, STOP = Action.AGAIN, Action.PAUSE, Action.STOP
REFUSED, FAILED = Action.REFUSED, Action.FAILED
USUAL = options(retry=5)


def http(status, **facts):
    return CallError("http", f"HTTP {status}", status_code=status, **facts)


def other(kind, **facts):
    return CallError(kind, kind, **facts)


@pytest.mark.parametrize(
    ("error", "before_any_answer", "after_an_answer"),
    [
        # nothing will work
        (http(401), STOP, STOP),
        (http(402), STOP, STOP),
        (http(429, code="insufficient_quota"), STOP, STOP),
        (http(403, code="insufficient_quota"), STOP, STOP),
        # wrong address or model at first, one sample's matter later
        (http(403), STOP, FAILED),
        (http(404), STOP, FAILED),
        (other("dns"), STOP, PAUSE),
        (other("refused_connection"), STOP, PAUSE),
        # away: a matter of the whole run, once it has begun
        (http(502), AGAIN, PAUSE),
        (http(503), AGAIN, PAUSE),
        # the server will not answer this one
        (http(400), REFUSED, REFUSED),
        (http(413), REFUSED, REFUSED),
        (http(422), REFUSED, REFUSED),
        (http(400, code="content_filter"), REFUSED, REFUSED),
        (other("content_filter"), REFUSED, REFUSED),
        (other("refusal"), REFUSED, REFUSED),
        # in passing
        (http(408), AGAIN, AGAIN),
        (http(409), AGAIN, AGAIN),
        (http(429), AGAIN, AGAIN),
        (http(500), AGAIN, AGAIN),
        (http(504), AGAIN, AGAIN),
        (http(529), AGAIN, AGAIN),
        (other("timeout"), AGAIN, AGAIN),
        (other("connection"), AGAIN, AGAIN),
        (other("bad_body"), AGAIN, AGAIN),
        # nothing that a second try could change
        (http(405), FAILED, FAILED),
        (http(410), FAILED, FAILED),
        (http(418), FAILED, FAILED),
        (http(307), STOP, FAILED),
        (other("model"), FAILED, FAILED),
    ],
    ids=lambda value: str(value) if isinstance(value, CallError) else "",
)
def test_every_way_to_fail_has_one_outcome(error, before_any_answer, after_an_answer):
    assert decide(error, NEW, USUAL).action is before_any_answer
    assert decide(error, ANSWERED, USUAL).action is after_an_answer


@pytest.mark.parametrize("error", [http(500), other("timeout"), other("bad_body")], ids=str)
@pytest.mark.parametrize("retries", [0, 1, 5])
def test_retries_count_the_attempts_after_the_first(error, retries):
    actions = [
        decide(error, History(failures=n), options(retry=retries)).action
        for n in range(retries + 1)
    ]
    assert actions == [AGAIN] * retries + [FAILED]


def test_a_rate_limit_uses_up_no_retry():
    decision = decide(http(429), NEW, options(retry=0))
    assert (decision.action, decision.counts) == (AGAIN, False)


@pytest.mark.parametrize("error", [http(500), http(408), other("connection")], ids=str)
def test_other_failures_use_up_a_retry(error):
    assert decide(error, NEW, options(retry=1)).counts


def test_a_rate_limit_is_not_waited_for_without_end():
    patient = History(rate_limited_s=1e6)
    assert decide(http(429), patient, options(retry=0)).action is FAILED
    assert decide(http(429), patient, options(retry=1)).counts


def waits(error, jitter=0.0):
    return [
        decide(error, History(failures=n), options(retry=99), jitter=jitter).wait_s
        for n in range(12)
    ]


def test_waits_double_up_to_a_limit():
    found = waits(http(500))
    assert found[:4] == [found[0] * 2**n for n in range(4)]
    assert 0 < found[0] <= 1
    assert found == sorted(found)
    assert found[-1] == found[-2] <= 60


@pytest.mark.parametrize("jitter", [0.25, 0.5, 1.0])
def test_jitter_shortens_a_wait_by_up_to_half(jitter):
    for plain, shortened in zip(waits(http(500)), waits(http(500), jitter), strict=True):
        assert plain / 2 <= shortened < plain


@pytest.mark.parametrize(
    "error", [http(429, retry_after_s=7.5), http(503, retry_after_s=7.5)], ids=str
)
@pytest.mark.parametrize("failures", [0, 3])
def test_retry_after_is_waited_for_as_it_stands(error, failures):
    decision = decide(error, History(failures=failures), options(retry=9), jitter=0.7)
    assert (decision.action, decision.wait_s) == (AGAIN, 7.5)


def test_a_retry_after_of_zero_means_at_once():
    assert decide(http(429, retry_after_s=0.0), NEW, options(retry=0)).wait_s == 0


def test_a_rate_limit_without_retry_after_is_backed_off_from():
    first = decide(http(429), NEW, USUAL).wait_s
    later = decide(http(429), History(rate_limited_s=20.0), USUAL).wait_s
    assert later > first


@pytest.mark.parametrize("failures", [64, 1024, 10_000])
def test_a_very_patient_user_gets_a_wait_and_no_overflow(failures):
    decision = decide(http(500), History(failures=failures), options(retry=10**6))
    assert decision.action is AGAIN
    assert 0 < decision.wait_s <= 60


def test_a_server_that_asks_for_an_endless_wait_does_not_get_it():
    decision = decide(http(429, retry_after_s=math.inf), NEW, USUAL)
    assert decision.action is not AGAIN or math.isfinite(decision.wait_s)


def test_a_decision_depends_on_its_arguments_alone():
    decisions = {
        decide(http(500), History(failures=2), options(retry=5), jitter=0.3) for _ in range(20)
    }
    assert len(decisions) == 1


@pytest.mark.parametrize("error", [other("refused_connection"), other("dns"), http(503)], ids=str)
@pytest.mark.parametrize(
    ("history", "action"),
    [
        (History(run_has_answers=True, away_s=0), PAUSE),
        (History(run_has_answers=True, away_s=599), PAUSE),
        (History(run_has_answers=True, away_s=601), STOP),
        (History(run_s=29), PAUSE),  # a server that is still loading
    ],
    ids=["just-gone", "still-gone", "gone-for-good", "loading"],
)
def test_a_server_that_is_away_is_waited_for_as_long_as_the_user_says(error, history, action):
    decision = decide(error, history, options(retry=0, outage_s=600, wait_for_server_s=30))
    assert decision.action is action
    assert (decision.wait_s > 0) == (action is PAUSE)


def test_a_server_that_never_came_stops_the_run_when_the_user_has_waited_enough():
    late = History(run_s=31)
    policy = options(wait_for_server_s=30)
    assert decide(other("refused_connection"), late, policy).action is STOP


def test_a_pause_uses_up_no_retry():
    assert not decide(other("refused_connection"), ANSWERED, options(retry=0)).counts
