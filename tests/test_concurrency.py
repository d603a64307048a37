"""How many requests may be in flight: the controller by itself, simulated, and behind its gate."""

import heapq
import itertools
import random
import threading
from collections import Counter, deque
from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from utils import concurrency
from utils.concurrency import (
    CLIMB_EVERY_ROUNDS,
    FIRST_LIMIT,
    MOST_IN_FLIGHT,
    Gate,
    Limit,
    after_answer,
    after_too_many,
)

# ---- the controller ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limit", "was_full", "in_flight"),
    [
        (Limit(16, 256), True, 17),  # slow start: one more for each answer doubles in a round
        (Limit(16, 256), False, 16),  # nothing was tried
        (Limit(256, 256), True, 256),
        (Limit(255.5, 256, found_top=True), True, 255.5 + 1 / (255.5 * CLIMB_EVERY_ROUNDS)),
        (Limit(20, 256, found_top=True), True, 20 + 1 / (20 * CLIMB_EVERY_ROUNDS)),
        (Limit(20, 256, found_top=True), False, 20),
        (Limit(1, 256, found_top=True), True, 1 + 1 / CLIMB_EVERY_ROUNDS),
        (Limit(7, 7, fixed=True), True, 7),
    ],
)
def test_an_answer_with_a_full_house_raises_the_limit(limit, was_full, in_flight):
    assert after_answer(limit, was_full=was_full).in_flight == pytest.approx(in_flight)


@pytest.mark.parametrize(
    ("limit", "after"),
    [
        (Limit(32, 256), Limit(31, 256, found_top=True)),
        (Limit(20.5, 256, found_top=True), Limit(19.5, 256, found_top=True)),
        (Limit(1.2, 256, found_top=True), Limit(1, 256, found_top=True)),
        (Limit(1, 256), Limit(1, 256, found_top=True)),
        (Limit(7, 7, fixed=True), Limit(7, 7, fixed=True)),
    ],
)
def test_each_request_too_many_takes_one_off(limit, after):
    assert after_too_many(limit) == after


@pytest.mark.parametrize(
    ("wanted", "whole", "most"),
    [(None, FIRST_LIMIT, MOST_IN_FLIGHT), (1, 1, 1), (64, 64, 64), (1000, 1000, 1000)],
)
def test_a_number_of_the_user_stands_and_auto_starts_low(wanted, whole, most):
    limit = Limit.of(wanted)
    assert (limit.whole, limit.most, limit.fixed) == (whole, most, wanted is not None)


def test_a_full_house_doubles_in_one_round_until_the_first_refusal():
    limit, sizes = Limit.of(None), []
    for _ in range(5):
        sizes.append(limit.whole)
        for _ in range(limit.whole):
            limit = after_answer(limit, was_full=True)
    assert sizes == [16, 32, 64, 128, 256]


def test_the_limit_never_leaves_its_bounds_whatever_happens():
    chance = random.Random(5)
    limit = Limit.of(None)
    for number in range(20_000):
        refused = chance.random() < (0.9 if number // 500 % 2 else 0.01)
        limit = after_too_many(limit) if refused else after_answer(limit, was_full=True)
        assert 1 <= limit.whole <= MOST_IN_FLIGHT


# ---- simulated against servers -------------------------------------------------------------------

SAMPLES, LATENCY_S, ROUND_TRIP_S, RETRY_AFTER_S = 3000, 0.1, 0.002, 0.1


@dataclass(frozen=True)
class Simulated:
    """What a simulated run came to."""

    wall_s: float
    requests: int
    refused: int

    @property
    def refused_share(self) -> float:
        return self.refused / self.requests


def simulate(limit, admits, *, seed=1, retry_after_s=RETRY_AFTER_S, samples=SAMPLES):
    """A run without real time: workers, gate and server as events, in order of their time.

    Args:
        admits: number of answers so far → how many requests the server admits.
    """
    chance = random.Random(seed)
    events, order = [], itertools.count()
    left, waiting = samples, deque()  # samples without a worker; workers at the gate
    idle, in_flight, served = limit.most, 0, 0
    now_s, answered, requests, refused = 0.0, 0, 0, 0

    def later(delay_s, what):
        heapq.heappush(events, (now_s + delay_s, next(order), what))

    while answered < samples:
        taken = min(idle, left)
        idle, left = idle - taken, left - taken
        waiting.extend(range(taken))
        while waiting and in_flight < limit.whole:
            waiting.popleft()
            in_flight, requests = in_flight + 1, requests + 1
            if served >= admits(answered):
                later(ROUND_TRIP_S, "refused")
            else:
                served += 1
                later(LATENCY_S * chance.uniform(0.8, 1.2) + ROUND_TRIP_S, "answered")
        now_s, _, what = heapq.heappop(events)
        if what == "again":
            waiting.append(0)
            continue
        if what == "answered":
            limit = after_answer(limit, was_full=in_flight >= limit.whole)
            served, answered, idle = served - 1, answered + 1, idle + 1
        else:
            limit, refused = after_too_many(limit), refused + 1
            later(retry_after_s, "again")
        in_flight -= 1
    return Simulated(now_s, requests, refused)


SERVERS = {
    "20": lambda answered: 20,
    "90": lambda answered: 90,
    "60-then-15": lambda answered: 60 if answered < SAMPLES / 2 else 15,
    "15-then-60": lambda answered: 15 if answered < SAMPLES / 2 else 60,
    "all": lambda answered: 1000,
}


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("server", ["20", "90", "60-then-15"])
def test_auto_is_nearly_as_fast_as_the_best_number_and_is_seldom_refused(server, seed):
    admits = SERVERS[server]
    fixed = [simulate(Limit.of(n), admits, seed=seed) for n in (10, 15, 20, 60, 90, 120)]
    best = min(run.wall_s for run in fixed)
    auto = simulate(Limit.of(None), admits, seed=seed)
    assert best / auto.wall_s >= 0.85
    assert auto.refused_share < 0.05


@pytest.mark.parametrize("retry_after_s", [0.0, 0.5, 5.0])
@pytest.mark.parametrize("server", ["20", "90", "60-then-15"])
def test_auto_is_seldom_refused_whatever_wait_the_server_asks_for(server, retry_after_s):
    assert (
        simulate(Limit.of(None), SERVERS[server], retry_after_s=retry_after_s).refused_share < 0.05
    )


def test_auto_asks_for_all_it_may_from_a_server_that_never_refuses():
    auto = simulate(Limit.of(None), SERVERS["all"])
    assert auto.refused == 0
    assert auto.wall_s < 1.5 * SAMPLES * LATENCY_S / MOST_IN_FLIGHT + 5 * LATENCY_S


def test_auto_climbs_again_when_the_server_admits_more():
    auto = simulate(Limit.of(None), SERVERS["15-then-60"])
    stayed_low = SAMPLES * LATENCY_S / 15
    assert auto.wall_s < 0.85 * stayed_low
    assert auto.refused_share < 0.05


def test_one_refusal_at_the_start_does_not_slow_down_the_rest_of_the_run():
    def admits(answered):
        return FIRST_LIMIT - 1 if answered == 0 else 1000

    auto = simulate(Limit.of(None), admits, samples=8000)
    unhindered = simulate(Limit.of(None), SERVERS["all"], samples=8000)
    assert auto.wall_s < 3 * unhindered.wall_s


# ---- the gate ------------------------------------------------------------------------------------

SOON_S = 20.0  # for what must happen; nothing here waits for what must not


class Clock:
    """A clock that the test moves, and that knows which threads have looked at it how often."""

    def __init__(self):
        self.now_s = 0.0
        self._looks = Counter()
        self._changed = threading.Condition()

    def monotonic(self):
        with self._changed:
            self._looks[threading.get_ident()] += 1
            self._changed.notify_all()
        return self.now_s

    def reset(self):
        with self._changed:
            self._looks.clear()

    def wait_for_refused(self, count):
        """Until so many threads were not let through since `reset`.

        One that passes looks once; one that waits looks again to see how long.
        """
        with self._changed:
            assert self._changed.wait_for(
                lambda: sum(looks >= 2 for looks in self._looks.values()) >= count, SOON_S
            ), self._looks


class Crowd:
    """Threads that go through a gate; each stays inside until it is let out."""

    def __init__(self, gate, size):
        self.gate = gate
        self.inside = self.most_inside = 0
        self._lock = threading.Lock()
        self._entered, self._leave = threading.Semaphore(0), threading.Semaphore(0)
        self.threads = [threading.Thread(target=self._go, daemon=True) for _ in range(size)]
        for thread in self.threads:
            thread.start()

    def _go(self):
        with self.gate.slot():
            with self._lock:
                self.inside += 1
                self.most_inside = max(self.most_inside, self.inside)
            self._entered.release()
            self._leave.acquire(timeout=SOON_S)
            with self._lock:
                self.inside -= 1

    def wait_for_entries(self, count):
        for _ in range(count):
            assert self._entered.acquire(timeout=SOON_S)

    def let_out(self, count=1):
        self._leave.release(count)

    def join(self):
        for thread in self.threads:
            thread.join(SOON_S)
        assert not any(thread.is_alive() for thread in self.threads)


@pytest.fixture
def clock(monkeypatch):
    ours = Clock()
    monkeypatch.setattr(concurrency, "time", SimpleNamespace(monotonic=ours.monotonic))
    return ours


def test_never_more_in_flight_than_the_limit():
    crowd = Crowd(Gate(Limit.of(3), threading.Event()), 40)
    crowd.wait_for_entries(3)
    for _ in range(37):
        crowd.let_out()
        crowd.wait_for_entries(1)
    crowd.let_out(3)
    crowd.join()
    assert crowd.most_inside == 3


def test_an_answer_of_a_full_house_lets_one_more_in():
    gate = Gate(Limit(2, 8), threading.Event())
    crowd = Crowd(gate, 8)
    crowd.wait_for_entries(2)
    for limit in (3, 4, 5):
        gate.answered()
        assert gate.limit == limit
        crowd.wait_for_entries(1)
    assert crowd.most_inside == 5
    crowd.let_out(8)
    crowd.join()


def test_the_place_of_a_request_too_many_is_gone(clock):
    gate = Gate(Limit(4, 8), threading.Event())
    crowd = Crowd(gate, 6)
    crowd.wait_for_entries(4)
    gate.too_many()
    clock.reset()
    crowd.let_out()
    clock.wait_for_refused(1)  # whoever is woken finds the house full
    assert (gate.limit, crowd.inside) == (3, 3)
    crowd.let_out(5)
    crowd.join()


def test_a_pause_lets_nobody_pass_and_then_one_ahead_of_the_others(clock):
    gate = Gate(Limit.of(3), threading.Event())
    gate.pause(10)
    crowd = Crowd(gate, 5)
    clock.wait_for_refused(5)
    assert crowd.inside == 0

    clock.reset()
    clock.now_s = 10.5
    gate.wake()
    crowd.wait_for_entries(1)
    clock.wait_for_refused(4)
    assert crowd.inside == 1

    gate.answered()
    crowd.wait_for_entries(2)
    assert crowd.inside == 3
    crowd.let_out(5)
    crowd.join()
    assert crowd.most_inside == 3


def test_without_an_answer_they_go_one_at_a_time(clock):
    gate = Gate(Limit.of(3), threading.Event())
    gate.pause(10)
    clock.now_s = 10.5
    crowd = Crowd(gate, 4)
    for _ in range(4):
        crowd.wait_for_entries(1)
        crowd.let_out()
    crowd.join()
    assert crowd.most_inside == 1


def test_a_shorter_pause_does_not_end_a_longer_one(clock):
    gate = Gate(Limit.of(3), threading.Event())
    gate.pause(10)
    gate.pause(1)
    clock.now_s = 5.0
    crowd = Crowd(gate, 2)
    clock.wait_for_refused(2)
    assert crowd.inside == 0
    clock.now_s = 10.5
    gate.answered()
    crowd.wait_for_entries(2)
    crowd.let_out(2)
    crowd.join()


@pytest.mark.parametrize("paused", [False, True], ids=["full", "paused"])
def test_stopping_releases_everybody(paused, clock):
    stopping = threading.Event()
    gate = Gate(Limit.of(1), stopping)
    holder = Crowd(gate, 1)
    holder.wait_for_entries(1)
    if paused:
        gate.pause(1e6)
    crowd = Crowd(gate, 20)
    clock.wait_for_refused(20)
    stopping.set()
    gate.wake()
    crowd.let_out(20)
    crowd.join()
    holder.let_out()
    holder.join()
