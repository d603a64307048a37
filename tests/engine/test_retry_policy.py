"""What follows from a failed attempt: the table of decisions, and the history it is made of."""

import math
import threading
import time
from contextlib import nullcontext
from pathlib import Path

import pytest

from utils.config.options import Options
from utils.contracts import CallError, Generation, Prepared
from utils.engine.asking import Asker
from utils.engine.gate import Gate, Limit
from utils.engine.retry_policy import History, NextAction, decide
from utils.errors import StopRun

AGAIN, PAUSE, STOP = NextAction.AGAIN, NextAction.PAUSE, NextAction.STOP
REFUSED, FAILED = NextAction.REFUSED, NextAction.FAILED
NEW, ANSWERED = History(), History(run_has_answers=True)


def options(**changes):
    return Options(Path("config.json"), **changes)


def http(status, **facts):
    return CallError("http", f"HTTP {status}", status_code=status, **facts)


def other(kind, **facts):
    return CallError(kind, kind, **facts)


@pytest.mark.parametrize(
    ("error", "before_any_answer", "after_an_answer"),
    [
        # nothing will work
        *[(http(status), STOP, STOP) for status in (401, 402, 407)],
        *[(http(status, code="insufficient_quota"), STOP, STOP) for status in (429, 403)],
        # wrong address or model at first, one sample's matter later
        *[(http(status), STOP, FAILED) for status in (403, 404, 307)],
        *[(other(kind), STOP, FAILED) for kind in ("scheme", "certificate")],
        (CallError("scheme", "HTTP 400", status_code=400), STOP, FAILED),
        *[(other(kind), STOP, PAUSE) for kind in ("dns", "refused_connection", "unreachable")],
        # away: a matter of the whole run, once it has begun
        *[(http(status), AGAIN, PAUSE) for status in (502, 503)],
        # the server will not answer this one
        *[(http(status), REFUSED, REFUSED) for status in (400, 413, 422)],
        (http(400, code="content_filter"), REFUSED, REFUSED),
        *[(other(kind), REFUSED, REFUSED) for kind in ("content_filter", "refusal")],
        # transient
        *[(http(status), AGAIN, AGAIN) for status in (408, 409, 429, 500, 504, 529)],
        *[(other(kind), AGAIN, AGAIN) for kind in ("timeout", "connection", "bad_body")],
        # nothing that a second try could change
        *[(http(status), FAILED, FAILED) for status in (405, 410, 418)],
        (other("model"), FAILED, FAILED),
    ],
    ids=lambda value: str(value) if isinstance(value, CallError) else "",
)
def test_every_way_to_fail_has_one_outcome(error, before_any_answer, after_an_answer):
    assert decide(error, NEW, options()).action is before_any_answer
    assert decide(error, ANSWERED, options()).action is after_an_answer


@pytest.mark.parametrize(
    ("history", "retries", "action"),
    [
        (NEW, 5, AGAIN),
        (ANSWERED, 1, AGAIN),
        (NEW, 0, NextAction.EMPTY),
        (History(was_empty=True), 5, NextAction.EMPTY),
        (History(failures=1), 1, NextAction.EMPTY),
        (History(failures=1), 2, AGAIN),  # what failed before was something else
        (History(failures=1, was_empty=True), 2, NextAction.EMPTY),
    ],
)
def test_an_empty_reply_is_the_answer_after_one_more_try_at_most(history, retries, action):
    empty = other("empty", empty_answer=Generation(""))
    decision = decide(empty, history, options(retry=retries))
    assert (decision.action, decision.wait_s) == (action, 0.0)


@pytest.mark.parametrize(
    ("error", "history", "retries", "action", "counts"),
    [
        (http(500), NEW, 0, FAILED, True),
        *[(http(500), History(failures=n), 5, AGAIN if n < 5 else FAILED, True) for n in range(6)],
        *[(http(500), History(failures=n), 1, AGAIN if n < 1 else FAILED, True) for n in range(2)],
        (http(408), NEW, 1, AGAIN, True),
        (other("connection"), NEW, 1, AGAIN, True),
        (http(429), NEW, 0, AGAIN, False),
        (http(429), History(rate_limited_s=1e6), 0, FAILED, True),  # not without end
        (http(429), History(rate_limited_s=1e6), 1, AGAIN, True),
        (http(429), History(limited_s=901), 5, STOP, True),
        (other("refused_connection"), ANSWERED, 0, PAUSE, False),
    ],
)
def test_what_uses_up_a_retry(error, history, retries, action, counts):
    decision = decide(error, history, options(retry=retries))
    assert (decision.action, decision.counts) == (action, counts)


def waits(jitter=0.0):
    return [
        decide(http(500), History(failures=n), options(retry=99), jitter=jitter).wait_s
        for n in range(12)
    ]


def test_waits_double_up_to_a_limit_and_jitter_shortens_them_by_up_to_half():
    waits_s = waits()
    assert waits_s[:4] == [waits_s[0] * 2**n for n in range(4)]
    assert waits_s == sorted(waits_s) and 0 < waits_s[0] <= 1 and waits_s[-1] == waits_s[-2] <= 60
    for jitter in (0.25, 0.5, 1.0):
        assert waits(jitter) == waits(jitter)  # it is all the chance there is
        shortened = zip(waits_s, waits(jitter), strict=True)
        assert all(plain / 2 <= less < plain for plain, less in shortened)


@pytest.mark.parametrize(
    ("error", "history", "wait_s"),
    [
        (http(429, retry_after_s=7.5), History(failures=3), 7.5),
        (http(503, retry_after_s=7.5), NEW, 7.5),
        (http(429, retry_after_s=0.0), NEW, 0.0),
        (http(500, retry_after_s=0.0), NEW, 0.5),  # "at once" five times is no retry
        (http(500, retry_after_s=-3.0), History(failures=3), 4.0),
        (http(429, retry_after_s=0.0), History(limited_s=60), 6.0),
        (http(429, retry_after_s=math.inf), NEW, 900.0),
        (http(429, retry_after_s=999_999.0), History(limited_s=895), 5.0),  # to --outage
        (http(429), History(rate_limited_s=20.0), 20.0),
        (http(500), History(failures=10_000), 30.0),
    ],
)
def test_how_long_is_waited(error, history, wait_s):
    decision = decide(error, history, options(retry=10**6), jitter=0.0)
    assert (decision.action, decision.wait_s) == (AGAIN, wait_s)


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
    patient = options(retry=0, outage_s=600, wait_for_server_s=30)
    decision = decide(error, history, patient)
    assert (decision.action, decision.wait_s > 0) == (action, action is PAUSE)
    assert decide(other("refused_connection"), History(run_s=31), patient).action is STOP


@pytest.mark.parametrize(
    ("error", "history", "wait_s"),
    [
        (http(503, retry_after_s=40), ANSWERED, 5.0),
        (http(503, retry_after_s=40), History(run_has_answers=True, away_s=3), 2.0),
        (http(503, retry_after_s=1), History(run_has_answers=True, away_s=3), 1.0),
        (other("dns"), History(run_has_answers=True, away_s=4.5), 0.5),
        (http(503, retry_after_s=40), History(run_s=2), 1.0),
    ],
)
def test_no_wait_for_a_server_that_is_away_is_longer_than_the_user_says(error, history, wait_s):
    decision = decide(error, history, options(outage_s=5, wait_for_server_s=3))
    assert (decision.action, decision.wait_s) == (PAUSE, wait_s)


@pytest.mark.parametrize(("waited_s", "action"), [(7000, AGAIN), (7300, FAILED)])
def test_a_sample_that_is_rate_limited_is_asked_as_long_as_an_outage_may_take(waited_s, action):
    history = History(rate_limited_s=waited_s, limited_s=60)
    assert decide(http(429), history, options(retry=0, outage_s=7200)).action is action


class Server:
    """Fails the first sample with these, one after the other; the others always get an answer.

    While the first attempt is under way, another sample is answered.
    """

    name = "m"
    servers = None

    def __init__(self, failures):
        self.failures, self.asker = failures, None

    def generate(self, prepared):
        if prepared.fingerprint == "first" and self.failures:
            failure, is_beside_answers = self.failures.pop(0)
            if is_beside_answers:
                assert self.asker.ask(Prepared("L2", "other", {}, [])).generation is not None
            raise failure
        return Generation("B")


CUT, GONE = other("connection"), other("refused_connection", retry_after_s=0.001)
BUSY, AWAY, GATEWAY = (http(status, retry_after_s=0.001) for status in (429, 503, 502))


@pytest.mark.parametrize(
    ("failures", "is_answered"),
    [
        # One retry is left after what was in flight; nobody there uses up none, however often.
        ([(CUT, True), (GONE, False)], True),
        ([(CUT, True), *[(GONE, False)] * 4], True),
        ([(CUT, True), (AWAY, False)], True),
        ([(CUT, True), (CUT, False)], False),
        ([*[(BUSY, False)] * 7, (CUT, False)], True),  # nor does a rate limit
        # A gateway that answers others has something against this sample.
        ([(GATEWAY, True), (GATEWAY, False)], False),
    ],
)
def test_a_server_that_is_away_or_busy_uses_up_no_retry(failures, is_answered):
    server, stopping = Server(list(failures)), threading.Event()
    gate = Gate(Limit.of(2), stopping)
    server.asker = Asker(server, options(retry=1), gate, stopping, clean=str)
    outcome = server.asker.ask(Prepared("L2", "first", {}, []))
    assert (outcome.generation is not None) is is_answered


class Clock:
    """In the place of the event that stops a run: time passes where somebody waits for it."""

    now_s = 5000.0

    def is_set(self):
        return False

    def wait(self, timeout_s):
        self.now_s += timeout_s + 0.001


@pytest.mark.parametrize(
    ("failures", "expected_lines"),
    [
        (1, []),  # one refusal among answers is no silence
        (2, ["the server answers again after 22 s"]),
        (9, None),  # until the outage is longer than allowed
    ],
)
def test_429_alone_is_reported_after_ten_seconds_and_what_follows(
    failures, expected_lines, monkeypatch, capsys
):
    clock, limited = Clock(), http(429, retry_after_s=11)
    monkeypatch.setattr(time, "monotonic", lambda: clock.now_s)
    gate = Gate(Limit.of(1), clock, clock=time.monotonic)
    asker = Asker(
        Server([(limited, False)] * failures), options(outage_s=30), gate, clock, clean=str
    )
    assert asker.ask(Prepared("L2", "other", {}, [])).generation is not None
    stopped = pytest.raises(StopRun, match=r"no other answer for 30 s \(--outage\)")
    with stopped if expected_lines is None else nullcontext():
        assert asker.ask(Prepared("L2", "first", {}, [])).generation is not None
    lines = capsys.readouterr().out.splitlines()
    if failures == 1:
        assert lines == []
        return
    assert lines[0].startswith("m: rate limited by the server since ")
    assert lines[0].endswith(", next try in 11 s")
    assert lines[1:] == [f"m: {line}" for line in expected_lines or []]
