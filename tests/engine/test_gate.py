"""How many requests may be in flight: the controller by itself, simulated, and behind its gate."""

import heapq
import itertools
import math
import random
import threading
from contextlib import ExitStack
from types import SimpleNamespace

import pytest

from utils.engine import gate
from utils.engine.gate import FIRST_LIMIT, MOST_IN_FLIGHT, Gate, Limit
from utils.errors import StopRun

SAMPLES, LATENCY_S, ROUND_TRIP_S, RETRY_AFTER_S = 3000, 0.1, 0.002, 0.1
UNLIMITED = 1 << 30
SOON_S = 120.0  # for what must happen
NOT_SOON_S = 0.05  # for what must not


@pytest.mark.parametrize(
    ("requested", "events", "expected"),
    [
        (None, "", FIRST_LIMIT),
        (None, "idle idle", FIRST_LIMIT),  # nothing was tried
        (None, "full full full", FIRST_LIMIT + 3),  # one more for each answer
        (None, "429 429 429", FIRST_LIMIT - 3),  # each was one too many
        (None, "429 full full", FIRST_LIMIT - 1),  # slowly, just below what was refused
        (None, "429 " * 40, 1),
        *[(number, events, number) for number in (1, 64, 1000) for events in ("full", "429", "")],
    ],
)
def test_answers_raise_the_limit_429_lowers_it_and_a_users_number_stands(
    requested, events, expected
):
    limit = Limit.of(requested)
    for event in events.split():
        if event == "429":
            limit = gate.after_too_many(limit)
        else:
            limit = gate.after_answer(limit, was_full=event == "full")
    assert limit.whole == expected


def server_of(**changes):
    """How many requests it admits, how fast each is beside so many, how long one takes alone."""
    usual = {
        "admits": lambda answered: UNLIMITED,
        "speed": lambda served: 1.0,
        "latency_s": lambda chance: LATENCY_S * chance.uniform(0.8, 1.2),
    }
    return SimpleNamespace(**{**usual, **changes})


def simulate(server, number=None, *, seed=1, retry_after_s=RETRY_AFTER_S, samples=SAMPLES):
    """A run without real time: workers, gate and server as events, in order of their time."""
    limit, chance, order = Limit.of(number), random.Random(seed), itertools.count()
    events, serving = [], []  # (time, order, what); (work_s, order, sent_s)
    samples_left, waiting = samples, 0  # samples without a worker; workers at the gate
    idle, in_flight = limit.largest, 0
    now_s, answered, requests, refused = 0.0, 0, 0, 0
    work_s = 0.0  # a clock of its own: what is being served shares the server's speed

    while answered < samples:
        taken = min(idle, samples_left)
        idle, samples_left, waiting = idle - taken, samples_left - taken, waiting + taken
        while waiting and in_flight < limit.whole:
            waiting, in_flight, requests = waiting - 1, in_flight + 1, requests + 1
            if len(serving) >= server.admits(answered):
                heapq.heappush(events, (now_s + ROUND_TRIP_S, next(order), "refused"))
            else:
                heapq.heappush(serving, (work_s + server.latency_s(chance), next(order), now_s))
        speed = server.speed(len(serving)) if serving else 1.0
        next_event_s = events[0][0] if events else math.inf
        next_answer_s = now_s + (serving[0][0] - work_s) / speed if serving else math.inf
        before_s, now_s = now_s, min(next_event_s, next_answer_s)
        work_s += (now_s - before_s) * speed
        if next_answer_s < next_event_s:
            heapq.heappop(serving)
            limit = gate.after_answer(limit, was_full=in_flight >= limit.whole)
            answered += 1
            idle += 1
            in_flight -= 1
            continue
        if heapq.heappop(events)[2] == "again":
            waiting += 1
            continue
        limit = gate.after_too_many(limit)
        refused, in_flight = refused + 1, in_flight - 1
        heapq.heappush(events, (now_s + retry_after_s, next(order), "again"))
    return SimpleNamespace(
        wall_s=now_s, refused=refused, refused_share=refused / requests, ended_at=limit.whole
    )


def best_s_of(server, numbers, seed):
    return min(simulate(server, number, seed=seed).wall_s for number in numbers)


def admits(*halves):
    """A server that admits another number in the second half of the run."""
    return server_of(admits=lambda answered: halves[answered >= SAMPLES / 2])


SERVERS = {
    "3": admits(3, 3),
    "20": admits(20, 20),
    "90": admits(90, 90),
    "60-then-15": admits(60, 15),
    "15-then-60": admits(15, 60),
}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("server", ["20", "90", "60-then-15"])
def test_auto_is_nearly_as_fast_as_the_best_number(server, seed):
    best_s = best_s_of(SERVERS[server], (15, 20, 60, 90, 120), seed=seed)
    assert best_s / simulate(SERVERS[server], seed=seed).wall_s >= 0.85


@pytest.mark.parametrize("retry_after_s", [0.0, 0.5, 5.0])
@pytest.mark.parametrize("server", SERVERS)
def test_auto_is_seldom_refused_whatever_wait_the_server_asks_for(server, retry_after_s):
    assert simulate(SERVERS[server], retry_after_s=retry_after_s).refused_share < 0.03


def test_auto_asks_for_all_it_may_climbs_again_and_is_not_slowed_down_by_a_refusal_at_the_start():
    stayed_low_s = SAMPLES * LATENCY_S / 15
    assert simulate(SERVERS["15-then-60"]).wall_s < 0.75 * stayed_low_s
    unhindered = simulate(server_of(), samples=8000)
    assert (unhindered.refused, unhindered.ended_at) == (0, MOST_IN_FLIGHT)
    assert unhindered.wall_s < 1.5 * 8000 * LATENCY_S / MOST_IN_FLIGHT
    refused = server_of(admits=lambda answered: UNLIMITED if answered else FIRST_LIMIT - 1)
    assert simulate(refused, samples=8000).wall_s < 2 * unhindered.wall_s


class Crowd:
    """Threads that go through a gate on a clock of the test; each stays until it is let out."""

    def __init__(self, requested, size, *pauses_s):
        self.now_s, self.stopping = 0.0, threading.Event()
        self.gate = Gate(Limit.of(requested), self.stopping, clock=lambda: self.now_s)
        self._entered, self._leave = threading.Semaphore(0), threading.Semaphore(0)
        self._threads = [threading.Thread(target=self._go, daemon=True) for _ in range(size)]
        for pause_s in pauses_s:
            self.gate.pause(pause_s)
        for thread in self._threads:
            thread.start()

    def _go(self):
        with self.gate.slot() as self.place:
            self._entered.release()
            self._leave.acquire(timeout=SOON_S)

    def enter(self, count):
        """So many come in, and no more."""
        for _ in range(count):
            assert self._entered.acquire(timeout=SOON_S)
        assert not self._entered.acquire(timeout=NOT_SOON_S)

    def leave(self, count=1):
        self._leave.release(count)

    def go_on(self, now_s):
        self.now_s = now_s
        self.gate.wake()

    def end(self):
        self.stopping.set()
        self.gate.wake()
        self.leave(len(self._threads))
        for thread in self._threads:
            thread.join(SOON_S)
            assert not thread.is_alive()


def test_an_answer_of_a_full_house_lets_one_more_in_and_the_place_of_one_too_many_is_gone():
    crowd = Crowd(None, FIRST_LIMIT + 5)
    crowd.enter(FIRST_LIMIT)
    for number in (1, 2):
        crowd.gate.answered(crowd.place)
        assert crowd.gate.limit == FIRST_LIMIT + number
        crowd.enter(1)
    crowd.gate.too_many(crowd.place)
    crowd.leave()
    crowd.enter(0)
    assert crowd.gate.limit == FIRST_LIMIT + 1
    crowd.end()


def test_a_pause_lets_nobody_pass_and_then_one_ahead_of_the_others():
    crowd = Crowd(3, 9, 10, 1)  # a shorter one does not end it
    for now_s, entered in ((0.0, 0), (9.9, 0), (10.5, 1)):
        crowd.go_on(now_s)
        crowd.enter(entered)
    crowd.leave()  # without an answer they go one at a time
    crowd.enter(1)
    crowd.gate.answered(crowd.place)
    crowd.enter(2)  # never more in flight than the limit
    for count in (1, 2, 2):
        crowd.leave(count)
        crowd.enter(count)
    crowd.end()


def test_stopping_releases_everybody_from_a_full_gate_and_from_a_pause():
    for pauses_s, entered in (([], 1), ([1e6], 0)):
        crowd = Crowd(1, 20, *pauses_s)
        crowd.enter(entered)
        crowd.end()


class Named:
    """A server of which the gate needs nothing."""

    def __init__(self, name):
        self.name = name


def gate_of(*servers, requested=2, clock=lambda: 0.0, may_come=True):
    stopping = threading.Event()
    new_gate = Gate(Limit.of(requested), stopping, clock=clock)
    new_gate.set_servers(servers, may_come=may_come)
    return new_gate


def test_a_request_goes_to_the_server_that_is_used_least_and_of_equal_ones_to_the_idlest():
    first, second = Named("first"), Named("second")
    servers_gate = gate_of(first, second)
    assert servers_gate.limit == 4
    with ExitStack() as stack:
        servers = [stack.enter_context(servers_gate.slot()).server for _ in range(4)]
    assert servers == [first, second, first, second]
    with servers_gate.slot() as place:
        assert place.server is first  # the other one was asked later


def test_each_server_has_a_limit_of_its_own():
    busy, other = Named("busy"), Named("other")
    servers_gate = gate_of(busy, other, requested=None)
    with servers_gate.slot() as place:
        assert place.server is busy
        servers_gate.too_many(place)
    assert servers_gate.limit == 2 * FIRST_LIMIT - 1
    with ExitStack() as stack:
        asked = [stack.enter_context(servers_gate.slot()).server for _ in range(servers_gate.limit)]
    assert (asked.count(busy), asked.count(other)) == (FIRST_LIMIT - 1, FIRST_LIMIT)


def test_the_server_that_failed_gets_the_request_again_only_where_there_is_no_other():
    failed, other = Named("failed"), Named("other")
    servers_gate = gate_of(failed, other)
    for _ in range(3):
        with servers_gate.slot(failed) as place:
            assert place.server is other
    servers_gate.set_servers([failed])
    with servers_gate.slot(failed) as place:
        assert place.server is failed


def test_requests_that_servers_may_have_died_of_do_not_meet_where_that_can_be_avoided():
    first, second = Named("first"), Named("second")
    servers_gate = gate_of(first, second, requested=3)
    with servers_gate.slot(is_suspect=True) as place, servers_gate.slot() as other_place:
        assert (place.server, other_place.server) == (first, second)
        with servers_gate.slot() as fuller_place:  # of equal ones that idle longest
            assert fuller_place.server is first
        with servers_gate.slot(), servers_gate.slot(is_suspect=True) as place:
            assert place.server is second
            with servers_gate.slot(is_suspect=True) as place:  # rather than wait
                assert place.suspects == 2
    assert place.suspects == 0


def test_a_server_that_is_taken_away_gets_nothing_new_and_keeps_what_was_learnt_of_it():
    leaving, staying = Named("leaving"), Named("staying")
    servers_gate = gate_of(leaving, staying, requested=None)
    with servers_gate.slot() as place:
        servers_gate.too_many(place)
        servers_gate.set_servers([staying])
        assert servers_gate.limit == FIRST_LIMIT
        with servers_gate.slot() as other_place:
            assert other_place.server is staying
    servers_gate.set_servers([leaving, staying])
    assert servers_gate.limit == 2 * FIRST_LIMIT - 1


def test_without_any_server_nobody_waits_longer_than_the_patience_lasts():
    times_s = itertools.count(step=10.0)
    servers_gate = gate_of(clock=lambda: next(times_s))
    servers_gate.patience_s, servers_gate.why_none = 25, lambda: "n1 is down"
    with pytest.raises(StopRun, match="n1 is down"), servers_gate.slot():
        pass
    servers_gate = gate_of(may_come=False)
    with pytest.raises(StopRun), servers_gate.slot():
        pass


def test_a_request_that_is_last_waits_until_nothing_else_is_left():
    servers_gate = gate_of(Named("only"), requested=4)
    is_rest_aside = threading.Event()
    servers_gate.is_rest_aside = is_rest_aside.is_set
    servers_gate.set_aside()
    entered = threading.Event()

    def go_last():
        with servers_gate.slot(is_last=True):
            entered.set()

    with servers_gate.slot():
        thread = threading.Thread(target=go_last, daemon=True)
        thread.start()
        is_rest_aside.set()
        servers_gate.wake()
        assert not entered.wait(NOT_SOON_S)  # another one is in flight
    assert entered.wait(SOON_S)
    thread.join(SOON_S)
