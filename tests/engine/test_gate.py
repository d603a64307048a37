"""How many requests may be in flight: the controller by itself, simulated, and behind its gate."""

import heapq
import itertools
import math
import random
import statistics
import threading
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from utils.engine.gate import (
    CLIMB_EVERY_ANSWERS,
    CLIMB_EVERY_ROUNDS,
    FIRST_LIMIT,
    MOST_IN_FLIGHT,
    Gate,
    Limit,
    Measured,
    Window,
    after_answer,
    after_pause,
    after_too_many,
)

# ---- the controller ------------------------------------------------------------------------------

NEXT_ANSWER = {"sent_s": 4.0, "now_s": 5.0}


@pytest.mark.parametrize(
    ("limit", "was_full", "in_flight"),
    [
        (Limit(16, 256), True, 17),  # one more for each answer
        (Limit(16, 256), False, 16),  # nothing was tried
        (Limit(47.5, 256), True, 48),
        (Limit(20, 256, found_top=True), True, 20 + 1 / (20 * CLIMB_EVERY_ROUNDS)),
        (Limit(2, 256, found_top=True), True, 2 + 1 / CLIMB_EVERY_ANSWERS),
        (Limit(20, 256, found_top=True), False, 20),
        (Limit(19, 256, found_top=True, refused_at=20), True, 19 + 1 / (19 * CLIMB_EVERY_ROUNDS)),
        (Limit(10, 256, found_top=True, refused_at=20), True, 10 + 1 / 10),
        (Limit(7, 7, fixed=True), True, 7),
    ],
)
def test_an_answer_with_a_full_house_raises_the_limit(limit, was_full, in_flight):
    after = after_answer(limit, **NEXT_ANSWER, was_full=was_full)
    assert after.in_flight == pytest.approx(in_flight)


def knows_of(cut, at_s, limit=100.0, quiet_steps=0.0):
    return Limit(limit, 256, found_top=True, cut=cut, cut_s=at_s, quiet_steps=quiet_steps)


@pytest.mark.parametrize(
    ("limit", "in_flight"),
    [
        (Limit(32, 256), 31),
        (Limit(1.2, 256), 1),
        (Limit(1, 256), 1),
        (Limit(7, 7, fixed=True), 7),
        (knows_of(cut=4, at_s=4.5), 99),  # was under way already
        (knows_of(cut=1, at_s=3), 98),  # sent in spite of the last cut: not enough
        (knows_of(cut=4, at_s=3), 92),
        (knows_of(cut=40, at_s=3), 70),
        (knows_of(cut=2, at_s=3, limit=2), 1),
        (knows_of(cut=4, at_s=3, quiet_steps=0.5), 99),  # that was long ago
    ],
)
def test_a_request_too_many_takes_one_off_and_more_if_the_last_cut_was_too_small(limit, in_flight):
    assert after_too_many(limit, **NEXT_ANSWER).in_flight == pytest.approx(in_flight)


@pytest.mark.parametrize(
    ("wanted", "whole", "most"),
    [(None, FIRST_LIMIT, MOST_IN_FLIGHT), (1, 1, 1), (64, 64, 64), (1000, 1000, 1000)],
)
def test_a_number_of_the_user_stands_and_auto_starts_low(wanted, whole, most):
    limit = Limit.of(wanted)
    assert (limit.whole, limit.most, limit.fixed) == (whole, most, wanted is not None)


def test_the_limit_never_leaves_its_bounds_whatever_happens():
    chance = random.Random(5)
    limit, now_s = Limit.of(None), 0.0
    seen = set()
    for number in range(40_000):
        now_s += chance.expovariate(100)
        sent_s = now_s - chance.lognormvariate(0, 1)
        event = chance.random()
        if event < (0.2 if number // 5000 % 2 else 0.0):
            limit = after_too_many(limit, sent_s=sent_s, now_s=now_s)
        elif event > 0.9999:
            limit = after_pause(limit)
        else:
            full = chance.random() < 0.8
            limit = after_answer(limit, sent_s=sent_s, now_s=now_s, was_full=full)
        assert 1 <= limit.whole <= MOST_IN_FLIGHT
        seen.add(limit.whole)
    assert min(seen) == 1 and max(seen) > 60


@pytest.mark.parametrize("event", [after_too_many, after_pause])
def test_a_measurement_that_was_disturbed_is_not_used(event):
    window = Window(skip=0, began_s=0.0, answers=40, latency_s=40.0, latency_s2=40.0)
    base = Measured(32, 50.0, 0.05)
    limit = Limit(48, 256, window=window, base=base)
    after = event(limit, **NEXT_ANSWER) if event is after_too_many else event(limit)
    assert after.window is None or (after.window.answers, after.window.skip) == (0, 48)


# ---- simulated against servers -------------------------------------------------------------------

SAMPLES, LATENCY_S, ROUND_TRIP_S, RETRY_AFTER_S = 3000, 0.1, 0.002, 0.1
UNLIMITED = 1 << 30


@dataclass(frozen=True)
class Server:
    """A simulated one.

    Attributes:
        admits: number of answers so far → how many requests it admits.
        speed: number of requests it serves → how fast each of them gets on; 1: as if alone.
        latency_s: how long one takes alone.
    """

    admits: Callable[[int], int] = lambda answered: UNLIMITED
    speed: Callable[[int], float] = lambda served: 1.0
    latency_s: Callable[[random.Random], float] = lambda chance: (
        LATENCY_S * chance.uniform(0.8, 1.2) + ROUND_TRIP_S
    )


@dataclass(frozen=True)
class Simulated:
    """What a simulated run came to."""

    wall_s: float
    requests: int
    refused: int
    limit: Limit

    @property
    def refused_share(self) -> float:
        return self.refused / self.requests


def simulate(limit, server, *, seed=1, retry_after_s=RETRY_AFTER_S, samples=SAMPLES):
    """A run without real time: workers, gate and server as events, in order of their time.

    What is being served shares the server's speed, so it ends on a clock of its own (`work_s`).
    """
    chance = random.Random(seed)
    order = itertools.count()
    events, serving = [], []  # (time, order, what, sent_s); (work_s, order, sent_s)
    left, waiting = samples, 0  # samples without a worker; workers at the gate
    idle, in_flight = limit.most, 0
    now_s, work_s, answered, requests, refused = 0.0, 0.0, 0, 0, 0

    while answered < samples:
        taken = min(idle, left)
        idle, left, waiting = idle - taken, left - taken, waiting + taken
        while waiting and in_flight < limit.whole:
            waiting, in_flight, requests = waiting - 1, in_flight + 1, requests + 1
            if len(serving) >= server.admits(answered):
                heapq.heappush(events, (now_s + ROUND_TRIP_S, next(order), "refused", now_s))
            else:
                ends = work_s + server.latency_s(chance)
                heapq.heappush(serving, (ends, next(order), now_s))
        speed = server.speed(len(serving)) if serving else 1.0
        next_event_s = events[0][0] if events else math.inf
        next_answer_s = now_s + (serving[0][0] - work_s) / speed if serving else math.inf
        before_s, now_s = now_s, min(next_event_s, next_answer_s)
        work_s += (now_s - before_s) * speed
        if next_answer_s < next_event_s:
            _, _, sent_s = heapq.heappop(serving)
            was_full = in_flight >= limit.whole
            limit = after_answer(limit, sent_s=sent_s, now_s=now_s, was_full=was_full)
            answered, idle, in_flight = answered + 1, idle + 1, in_flight - 1
            continue
        _, _, what, sent_s = heapq.heappop(events)
        if what == "again":
            waiting += 1
            continue
        limit = after_too_many(limit, sent_s=sent_s, now_s=now_s)
        refused, in_flight = refused + 1, in_flight - 1
        heapq.heappush(events, (now_s + retry_after_s, next(order), "again", now_s))
    return Simulated(now_s, requests, refused, limit)


def then(first, second):
    return lambda answered: first if answered < SAMPLES / 2 else second


SERVERS = {
    "20": Server(admits=lambda answered: 20),
    "90": Server(admits=lambda answered: 90),
    "60-then-15": Server(admits=then(60, 15)),
    "15-then-60": Server(admits=then(15, 60)),
    "3": Server(admits=lambda answered: 3),
    "all": Server(),
}


def best_of(server, numbers, **given):
    return min(simulate(Limit.of(number), server, **given).wall_s for number in numbers)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("server", ["20", "90", "60-then-15"])
def test_auto_is_nearly_as_fast_as_the_best_number_and_is_seldom_refused(server, seed):
    best_s = best_of(SERVERS[server], (15, 20, 60, 90, 120), seed=seed)
    auto = simulate(Limit.of(None), SERVERS[server], seed=seed)
    assert best_s / auto.wall_s >= 0.85
    assert auto.refused_share < 0.02


@pytest.mark.parametrize("retry_after_s", [0.0, 0.5, 5.0])
@pytest.mark.parametrize("server", ["3", "20", "90", "60-then-15", "15-then-60"])
def test_auto_is_seldom_refused_whatever_wait_the_server_asks_for(server, retry_after_s):
    auto = simulate(Limit.of(None), SERVERS[server], retry_after_s=retry_after_s)
    assert auto.refused_share < 0.03


def test_auto_asks_for_all_it_may_from_a_server_that_never_refuses_and_never_slows_down():
    auto = simulate(Limit.of(None), SERVERS["all"], samples=8000)
    assert auto.refused == 0
    assert auto.limit.whole == MOST_IN_FLIGHT
    assert auto.wall_s < 1.5 * 8000 * LATENCY_S / MOST_IN_FLIGHT


def test_auto_climbs_again_when_the_server_admits_more():
    auto = simulate(Limit.of(None), SERVERS["15-then-60"])
    stayed_low_s = SAMPLES * LATENCY_S / 15
    assert auto.wall_s < 0.75 * stayed_low_s


def test_one_refusal_at_the_start_does_not_slow_down_the_rest_of_the_run():
    server = Server(admits=lambda answered: FIRST_LIMIT - 1 if answered == 0 else UNLIMITED)
    auto = simulate(Limit.of(None), server, samples=8000)
    unhindered = simulate(Limit.of(None), SERVERS["all"], samples=8000)
    assert auto.wall_s < 2 * unhindered.wall_s


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("at_best", [40, 60, 120])
def test_auto_does_not_go_where_more_in_flight_is_slower(at_best, seed):
    def speed(served):
        too_many = max(0.0, (served - at_best) / (MOST_IN_FLIGHT - at_best))
        return min(1.0, at_best * (1 - 0.5 * too_many) / served)

    server = Server(speed=speed)
    best_s = best_of(server, (at_best,), seed=seed, samples=12_000)
    auto = simulate(Limit.of(None), server, seed=seed, samples=12_000)
    assert auto.limit.whole <= 2 * at_best
    assert best_s / auto.wall_s >= 0.85


@pytest.mark.parametrize("spread", [0.5, 1.2])
@pytest.mark.parametrize("half_speed_at", [20, 60, 200])
def test_noisy_answers_of_a_language_model_do_not_keep_it_low(half_speed_at, spread):
    server = Server(
        speed=lambda served: 1 / (1 + served / half_speed_at),  # as of batches on one GPU
        latency_s=lambda chance: 5 * chance.lognormvariate(-(spread**2) / 2, spread),
    )
    ratios = []
    for seed in range(5):
        autos = simulate(Limit.of(None), server, seed=seed, samples=4000)
        ratios.append(best_of(server, (MOST_IN_FLIGHT,), seed=seed, samples=4000) / autos.wall_s)
        assert autos.limit.whole >= 48
    assert statistics.median(ratios) >= 0.75


def test_answers_that_become_longer_do_not_keep_it_low():
    lengths = itertools.chain(itertools.repeat(LATENCY_S, 250), itertools.repeat(8 * LATENCY_S))
    server = Server(latency_s=lambda chance: next(lengths) * chance.uniform(0.5, 1.5))
    auto = simulate(Limit.of(None), server, samples=12_000)
    assert auto.limit.whole == MOST_IN_FLIGHT


# ---- the gate ------------------------------------------------------------------------------------

SOON_S = 20.0  # for what must happen
NOT_SOON_S = 0.05  # for what must not


class Crowd:
    """Threads that go through a gate on a clock of the test; each stays until it is let out."""

    def __init__(self, limit, size):
        self.now_s = 0.0
        self.stopping = threading.Event()
        self.gate = Gate(limit, self.stopping, clock=lambda: self.now_s)
        self._entered, self._leave = threading.Semaphore(0), threading.Semaphore(0)
        self._threads = [threading.Thread(target=self._go, daemon=True) for _ in range(size)]

    def start(self):
        for thread in self._threads:
            thread.start()
        return self

    def _go(self):
        with self.gate.slot():
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


@pytest.fixture
def crowd_of():
    crowds = []

    def make(limit, size):
        crowds.append(Crowd(limit, size))
        return crowds[-1]

    yield make
    for crowd in crowds:
        crowd.end()  # stopping lets go of whoever waits


def test_never_more_in_flight_than_the_limit(crowd_of):
    crowd = crowd_of(Limit.of(3), 8).start()
    crowd.enter(3)
    for count in (1, 2, 2):
        crowd.leave(count)
        crowd.enter(count)


def test_an_answer_of_a_full_house_lets_one_more_in(crowd_of):
    crowd = crowd_of(Limit(2, 8), 8).start()
    crowd.enter(2)
    for limit in (3, 4):
        crowd.gate.answered(**NEXT_ANSWER)
        assert crowd.gate.limit == limit
        crowd.enter(1)


def test_the_place_of_a_request_too_many_is_gone(crowd_of):
    crowd = crowd_of(Limit(4, 8), 6).start()
    crowd.enter(4)
    crowd.gate.too_many(**NEXT_ANSWER)
    crowd.leave()
    crowd.enter(0)
    assert crowd.gate.limit == 3


def test_a_pause_lets_nobody_pass_and_then_one_ahead_of_the_others(crowd_of):
    crowd = crowd_of(Limit.of(3), 5)
    crowd.gate.pause(10)
    crowd.gate.pause(1)  # a shorter one does not end it
    crowd.start().enter(0)
    crowd.go_on(5.0)
    crowd.enter(0)
    crowd.go_on(10.5)
    crowd.enter(1)
    crowd.leave()  # without an answer they go one at a time
    crowd.enter(1)
    crowd.gate.answered(**NEXT_ANSWER)
    crowd.enter(2)


@pytest.mark.parametrize("paused", [False, True], ids=["full", "paused"])
def test_stopping_releases_everybody(paused, crowd_of):
    crowd = crowd_of(Limit.of(1), 20)
    if paused:
        crowd.gate.pause(1e6)
    crowd.start().enter(0 if paused else 1)
    crowd.end()


@pytest.mark.parametrize(("cpu_share", "ends_at"), [(0.2, 256), (0.8, 256), (1.0, 48)])
def test_a_process_that_is_busy_all_the_time_asks_no_more_at_once(cpu_share, ends_at):
    limit, now_s = Limit.of(None), 0.0
    for _ in range(30_000):  # a server that answers each request in 0.1 s, however many there are
        now_s += 0.1 / limit.whole
        limit = after_answer(
            limit, sent_s=now_s - 0.1, now_s=now_s, was_full=True, cpu_s=cpu_share * now_s
        )

    assert limit.whole == ends_at
