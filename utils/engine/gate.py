"""How many requests may be in flight: a pure controller, and the gate that enforces it.

Until the server says "too many" (429) the controller climbs in steps, measures the answers per
second that each brings, and steps back where more in flight no longer means more answers: many
threads cost this process more than few. After a 429 it climbs one by one, until a long quiet.
Frozen state in, frozen state out; times are arguments; the gate adds the waiting.

Answers of a language model take 0.5 to 30 s, and one takes ten times as long as the next, so every
rate comes with an error, taken from how much latencies differ.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

FIRST_LIMIT = 16
FIRST_LEVEL = 48  # the first that is measured: a few noisy answers never keep a run below it
MOST_IN_FLIGHT = 256  # of `auto`; a fixed number may be higher
STEP, SMALL_STEP = 1.5, 1.25  # factors: at first; once a level has turned out to be good
FIRST_PATIENCE_ROUNDS, LONGEST_PATIENCE_ROUNDS = 8.0, 64.0  # at a good level, before the next try
SHORTEST_PATIENCE_S = 3.0
CLIMB_EVERY_ROUNDS, CLIMB_EVERY_ANSWERS = 6.0, 60.0  # the later of both, after a 429: one more
QUIET_STEPS = 2.0  # so many of those without a 429, and the server may admit more than it did
LARGEST_CUT = 0.3  # of what is in flight, for one 429

SHORTEST_S = 0.2  # below, a rate says more about the threads of this process than about the server
FEWEST_ANSWERS = 32
ERROR_AT_LEAST = 0.03  # relative: machines are never quite steady
WORTH_WHILE = 0.2  # of the growth in flight that must arrive as growth of the rate: 1.08 for 1.5
BUSY_SHARE = 0.9  # of a core: the interpreter runs one thread at a time
TELLING_ERRORS = 2.5  # a growth in flight must be so many errors wide to be judged


@dataclass(frozen=True, slots=True)
class Measured:
    """Answers per second with so many requests in flight."""

    in_flight: float
    per_s: float
    error: float  # of the rate, relative (one sigma)
    is_busy: bool = False  # this process had nothing left to give, whatever the server could do

    def brings_more_than(self, lower: Measured) -> bool | None:
        """Whether the step up from `lower` was worth while; None: too noisy to say no."""
        growth = math.log(self.in_flight / lower.in_flight)
        if math.log(self.per_s / lower.per_s) >= WORTH_WHILE * growth:
            return True
        error = math.hypot(self.error, lower.error)
        return False if TELLING_ERRORS * error <= growth else None


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of answers at one limit, while it lasts."""

    skip: float  # answers still to be passed over: they come from before the limit was reached
    rounds: float = 1.0  # of answers that it lasts at least
    lasts_s: float = SHORTEST_S  # at least
    began_s: float = 0.0  # when the last of the skipped answers came
    began_cpu_s: float = 0.0
    answers: int = 0  # since then
    starved: int = 0  # of these: while fewer were in flight than allowed
    latency_s: float = 0.0  # sum
    latency_s2: float = 0.0  # sum of the squares

    def after_answer(self, *, sent_s: float, now_s: float, cpu_s: float, was_full: bool) -> Window:
        """The window with one answer more."""
        if self.skip > 0:
            return replace(self, skip=self.skip - 1, began_s=now_s, began_cpu_s=cpu_s)
        return replace(
            self,
            answers=self.answers + 1,
            starved=self.starved + (not was_full),
            latency_s=self.latency_s + now_s - sent_s,
            latency_s2=self.latency_s2 + (now_s - sent_s) ** 2,
        )

    def is_over(self, in_flight: float, now_s: float) -> bool:
        """Whether it has lasted its rounds, and long enough to say anything."""
        enough = max(FEWEST_ANSWERS, self.rounds * in_flight)
        if self.answers < enough or now_s - self.began_s < self.lasts_s:
            return False
        # Answers may come in bursts, one a round: only whole rounds can be compared.
        return self.answers % int(in_flight) == 0

    def measured(self, in_flight: float, now_s: float, cpu_s: float) -> Measured | None:
        """The rate; None if there was too little to do to fill the places."""
        if self.starved > self.answers / 2:
            return None
        mean_s, lasted_s = max(self.latency_s / self.answers, 1e-9), now_s - self.began_s
        variance = max(self.latency_s2 / self.answers / mean_s**2 - 1, 0.0)
        error = math.hypot(math.sqrt(variance / self.answers), ERROR_AT_LEAST)
        is_busy = cpu_s - self.began_cpu_s >= BUSY_SHARE * lasted_s
        return Measured(in_flight, self.answers / lasted_s, error, is_busy)


@dataclass(frozen=True, slots=True)
class Limit:
    """State of the controller."""

    in_flight: float  # requests that may be in flight; fractions accumulate
    most: int  # it never climbs higher
    fixed: bool = False  # a number that the user gave; nothing changes it
    level: float = FIRST_LEVEL  # where it climbs to, one more for each answer, before it measures
    step: float = STEP  # factor from this level to the next
    window: Window | None = None  # what is being measured at the level; None: not there yet
    base: Measured | None = None  # the best lower level
    doubts: bool = False  # the measurement before this one found no gain either
    patience_rounds: float = FIRST_PATIENCE_ROUNDS  # at a good level, before the next try
    found_top: bool = False  # the server said "too many" and has not been quiet for long since
    quiet_steps: float = 0.0  # how many times it could have climbed by one since
    refused_at: float = 0.0  # what was in flight when it last said so
    cut: float = 0.0  # how much the latest 429 that was news took off
    cut_s: float = float("-inf")  # when

    @classmethod
    def of(cls, wanted: int | None) -> Limit:
        """A fixed limit, or with None one that adapts."""
        if wanted is not None:
            return cls(wanted, wanted, fixed=True)
        return cls(FIRST_LIMIT, MOST_IN_FLIGHT)

    @property
    def whole(self) -> int:
        """Requests that may be in flight now."""
        return max(1, int(self.in_flight))


def after_answer(
    limit: Limit, *, sent_s: float, now_s: float, was_full: bool, cpu_s: float = 0.0
) -> Limit:
    """The limit after the server answered.

    Args:
        was_full: whether as many were in flight as were allowed: without a full house an answer
            says nothing about whether more would have been too many.
        cpu_s: CPU seconds that this process has taken so far; where it is busy all the time, more
            in flight brings nothing.
    """
    if limit.fixed:
        return limit
    if limit.window is None or limit.found_top:
        climb = _climb_by_one if limit.found_top else _climb_to_level
        return climb(limit) if was_full else limit
    window = limit.window.after_answer(sent_s=sent_s, now_s=now_s, cpu_s=cpu_s, was_full=was_full)
    if not window.is_over(limit.in_flight, now_s):
        return replace(limit, window=window)
    measured = window.measured(limit.in_flight, now_s, cpu_s)
    if measured is None:
        return _stay(limit, window.rounds)
    return _after_measuring(limit, measured, now_s, cpu_s)


def after_too_many(limit: Limit, *, sent_s: float, now_s: float) -> Limit:
    """The limit after a 429.

    Each refused request was one too many, so each takes one off: of 100 in flight 10 are refused,
    90 is what the server admits. The place that a refused request leaves is gone with it, so
    nothing moves up into the same refusal. Only if one that was sent after the last cut is refused,
    with no round of answers in between, was that cut too small: the next is twice as large.
    """
    if limit.fixed:
        return limit
    cut = 1.0
    is_news = sent_s >= limit.cut_s  # else it was under way already
    if is_news and limit.found_top and limit.quiet_steps * CLIMB_EVERY_ROUNDS < 1:
        cut = max(1.0, min(2 * limit.cut, LARGEST_CUT * limit.in_flight))
    if is_news:
        limit = replace(limit, cut=cut, cut_s=now_s)
    return replace(
        limit, in_flight=max(1.0, limit.in_flight - cut), step=SMALL_STEP, window=None, base=None,
        doubts=False, found_top=True, quiet_steps=0.0, refused_at=limit.in_flight,
    )  # fmt: skip


def after_pause(limit: Limit) -> Limit:
    """The limit when nobody may ask for a while: what was being measured is worth nothing."""
    return limit if limit.window is None else _stay(limit, limit.window.rounds)


def _climb_by_one(limit: Limit) -> Limit:
    """Just below what was refused: one more after several rounds. Far below it: after each."""
    steps = 1 / max(CLIMB_EVERY_ROUNDS * limit.in_flight, CLIMB_EVERY_ANSWERS)
    quiet_steps = limit.quiet_steps + steps
    is_far_below = limit.in_flight < limit.refused_at - max(1.0, 0.1 * limit.refused_at)
    in_flight = limit.in_flight + (1 / limit.in_flight if is_far_below else steps)
    limit = replace(limit, in_flight=min(float(limit.most), in_flight), quiet_steps=quiet_steps)
    if quiet_steps < QUIET_STEPS:
        return limit
    return _stay(replace(limit, found_top=False, level=limit.in_flight))


def _climb_to_level(limit: Limit) -> Limit:
    in_flight = min(limit.in_flight + 1, limit.level)
    limit = replace(limit, in_flight=in_flight)
    if in_flight < limit.level:
        return limit
    if limit.base is None:
        return _stay(limit)
    # Answers of a round before it began to climb; those it took to climb are among them.
    return replace(limit, window=Window(skip=max(0.0, (2 / limit.step - 1) * in_flight)))


def _stay(limit: Limit, rounds: float = 1.0) -> Limit:
    """Measures where it is, after a round in which what was before works its way through."""
    lasts_s = SHORTEST_S if rounds <= 1 else SHORTEST_PATIENCE_S
    return replace(limit, window=Window(skip=limit.in_flight, rounds=rounds, lasts_s=lasts_s))


def _after_measuring(limit: Limit, measured: Measured, now_s: float, cpu_s: float) -> Limit:
    base = limit.base
    if measured.is_busy:
        return _stay(replace(limit, doubts=False), limit.patience_rounds)
    if base is None or measured.in_flight <= base.in_flight:
        return _next_level(replace(limit, base=measured))
    if brings_more := measured.brings_more_than(base):
        return _next_level(replace(limit, base=measured, patience_rounds=FIRST_PATIENCE_ROUNDS))
    if brings_more is None:  # from further up it is easier to say
        return _next_level(limit)
    if not limit.doubts:
        return replace(limit, doubts=True, window=Window(skip=0, began_s=now_s, began_cpu_s=cpu_s))
    # The rate may have fallen for another reason (longer answers): never far back at once.
    in_flight = max(base.in_flight, measured.in_flight / 2)
    patience = min(2 * limit.patience_rounds, LONGEST_PATIENCE_ROUNDS)
    back = replace(limit, in_flight=in_flight, level=in_flight, step=SMALL_STEP, base=None,
                   doubts=False, patience_rounds=patience)  # fmt: skip
    return _stay(back, limit.patience_rounds)


def _next_level(limit: Limit) -> Limit:
    level = min(float(limit.most), max(limit.in_flight * limit.step, limit.in_flight + 1))
    limit = replace(limit, level=level, doubts=False, window=None)
    return limit if limit.in_flight < level else _stay(limit, limit.patience_rounds)


class Gate:
    """Lets as many workers through as the controller allows, and none while the run is paused.

    Args:
        stopping: when set, whoever waits is let go.
    """

    def __init__(
        self, limit: Limit, stopping: threading.Event, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._limit, self._stopping, self._clock = limit, stopping, clock
        self._in_flight = self.waiting = 0  # workers that were let through; that were not
        self._paused_until_s = 0.0
        self._probing = False  # after an outage one request goes ahead of the others
        self._changed = threading.Condition()

    @property
    def limit(self) -> int:
        """Requests that may be in flight now."""
        return self._limit.whole

    @contextmanager
    def slot(self) -> Iterator[None]:
        """Waits for a place, and gives it back at the end."""
        with self._changed:
            self.waiting += 1
            while not self._stopping.is_set():
                left_s = self._paused_until_s - self._clock()
                if left_s <= 0 and self._in_flight < (1 if self._probing else self._limit.whole):
                    break
                self._changed.wait(min(max(left_s, 0.01), 1.0) if left_s > 0 else 1.0)
            self.waiting -= 1
            self._in_flight += 1
        try:
            yield
        finally:
            with self._changed:
                self._in_flight -= 1
                self._changed.notify()

    def answered(self, *, sent_s: float, now_s: float) -> None:
        """The server answered: whatever was wrong is over. From inside the slot."""
        with self._changed:
            before = self._limit.whole
            self._limit = after_answer(
                self._limit, sent_s=sent_s, now_s=now_s, was_full=self._in_flight >= before,
                cpu_s=time.process_time(),
            )  # fmt: skip
            if self._probing:
                self._probing = False
                self._changed.notify_all()
            else:  # not all: hundreds of threads that find no place cost more than requests
                self._changed.notify(max(0, self._limit.whole - before))

    def too_many(self, *, sent_s: float, now_s: float) -> None:
        """The server said that this was one request too many.

        From inside the slot: once it is given back, somebody else moves up into the refusal.
        """
        with self._changed:
            self._limit = after_too_many(self._limit, sent_s=sent_s, now_s=now_s)

    def pause(self, seconds: float) -> None:
        """Nobody passes for a while; then one goes ahead of the others."""
        with self._changed:
            self._paused_until_s = max(self._paused_until_s, self._clock() + seconds)
            self._probing = True
            self._limit = after_pause(self._limit)

    def wake(self) -> None:
        """Lets everyone look at `stopping` again."""
        with self._changed:
            self._changed.notify_all()
