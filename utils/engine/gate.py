"""How many requests may be in flight: a pure controller, and the gate that enforces it.

Until the server says "too many" (429) the controller climbs in steps, measures the answers per
second that each brings, and steps back where more in flight no longer means more answers. After a
429 it climbs one by one, until a long quiet. Frozen state in, frozen state out; times are
arguments; the gate adds the waiting.

Answers of a language model take 0.5 to 30 s, and one takes ten times as long as the next, so every
rate comes with an error, taken from how much latencies differ: only what is sure is acted upon.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

FIRST_LIMIT = 16
FIRST_LEVEL = 48.0  # the first that is measured: a few noisy answers never keep a run below it
MOST_IN_FLIGHT = 256  # of `auto`; a fixed number may be higher
STEP = 1.5  # factor from a level to the next
PATIENCE_ROUNDS = 16.0  # at a level beyond which there is no gain, before the next try
SHORTEST_S, FEWEST_ANSWERS = 0.2, 32  # of a measurement
WORTH_WHILE = 0.2  # of the growth in flight that must arrive as growth of the rate: 1.08 for 1.5
ERROR_AT_LEAST = 0.03  # of a rate, relative: machines are never quite steady
TELLING_ERRORS = 2.5  # a growth in flight must be so many errors wide to be judged
BUSY_SHARE = 0.9  # of a core: the interpreter runs one thread at a time
CLIMB_EVERY_ROUNDS, CLIMB_EVERY_ANSWERS = 6.0, 60.0  # the later of both, after a 429: one more
QUIET_STEPS = 2.0  # so many of those without a 429, and the server may admit more than it did


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of answers at one limit."""

    in_flight: float
    skip: float  # answers still to be passed over: they come from before the limit was reached
    rounds: float = 1.0  # of answers that it lasts at least
    began_s: float = 0.0  # when the last of the skipped answers came
    began_cpu_s: float = 0.0
    answers: int = 0  # since then
    starved: int = 0  # of these: while fewer were in flight than allowed
    latency_s: float = 0.0  # sum
    latency_s2: float = 0.0  # sum of the squares
    per_s: float = 0.0  # answers, once it is over

    def after_answer(self, *, sent_s: float, now_s: float, cpu_s: float, was_full: bool) -> Window:
        """The window with one answer more."""
        if self.skip > 0:
            return replace(self, skip=self.skip - 1, began_s=now_s, began_cpu_s=cpu_s)
        answers, took_s, lasted_s = self.answers + 1, now_s - sent_s, now_s - self.began_s
        enough = answers >= max(FEWEST_ANSWERS, self.rounds * self.in_flight)
        # Answers may come in bursts, one a round: only whole rounds can be compared.
        is_over = enough and lasted_s >= SHORTEST_S and answers % int(self.in_flight) == 0
        return replace(
            self,
            answers=answers,
            starved=self.starved + (not was_full),
            latency_s=self.latency_s + took_s,
            latency_s2=self.latency_s2 + took_s**2,
            per_s=answers / lasted_s if is_over else 0.0,
        )

    @property
    def error(self) -> float:
        """Of the rate, relative (one sigma)."""
        mean_s = max(self.latency_s / self.answers, 1e-9)
        variance = max(self.latency_s2 / self.answers / mean_s**2 - 1, 0.0)
        return math.hypot(math.sqrt(variance / self.answers), ERROR_AT_LEAST)

    def is_surely_in_vain(self, lower: Window) -> bool:
        """Whether the step up from `lower` has brought nothing."""
        growth = math.log(self.in_flight / lower.in_flight)
        is_in_vain = math.log(self.per_s / lower.per_s) < WORTH_WHILE * growth
        return is_in_vain and TELLING_ERRORS * math.hypot(self.error, lower.error) <= growth


@dataclass(frozen=True, slots=True)
class Limit:
    """State of the controller."""

    in_flight: float  # requests that may be in flight; fractions accumulate
    most: int  # it never climbs higher
    fixed: bool = False  # a number that the user gave; nothing changes it
    level: float = FIRST_LEVEL  # where it climbs to, one more for each answer, before it measures
    window: Window | None = None  # what is being measured at the level; None: not there yet
    base: Window | None = None  # what was measured at the best lower level
    found_top: bool = False  # the server said "too many" and has not been quiet for long since
    quiet_steps: float = 0.0  # how many times it could have climbed by one since

    @classmethod
    def of(cls, wanted: int | None) -> Limit:
        """A fixed limit, or with None one that adapts."""
        return cls(wanted or FIRST_LIMIT, wanted or MOST_IN_FLIGHT, fixed=wanted is not None)

    @property
    def whole(self) -> int:
        """Requests that may be in flight now."""
        return max(1, int(self.in_flight))


def after_answer(
    limit: Limit, *, sent_s: float, now_s: float, was_full: bool, cpu_s: float = 0.0
) -> Limit:
    """The limit after the server answered.

    Without a full house (as many in flight as allowed) an answer says nothing about whether more
    would have been too many; where this process is busy all the time, more brings nothing.
    """
    if limit.fixed:
        return limit
    if limit.window is None or limit.found_top:
        climb = _climb_by_one if limit.found_top else _climb_to_level
        return climb(limit) if was_full else limit
    window = limit.window.after_answer(sent_s=sent_s, now_s=now_s, cpu_s=cpu_s, was_full=was_full)
    if not window.per_s:
        return replace(limit, window=window)
    is_busy = cpu_s - window.began_cpu_s >= BUSY_SHARE * (now_s - window.began_s)
    if is_busy or window.starved > window.answers / 2:  # this process is what is slow
        return _stay(limit, PATIENCE_ROUNDS if is_busy else 1.0)
    base = limit.base or window
    if window.is_surely_in_vain(base):
        # The rate may have fallen for another reason (longer answers): never far back at once.
        back = max(base.in_flight, window.in_flight / STEP**2)
        return _stay(replace(limit, in_flight=back, level=back, base=None), PATIENCE_ROUNDS)
    base = max(base, window, key=lambda each: each.per_s)
    level = min(float(limit.most), max(limit.in_flight * STEP, limit.in_flight + 1))
    limit = replace(limit, level=level, base=base, window=None)
    return limit if limit.in_flight < level else _stay(limit, PATIENCE_ROUNDS)


def after_too_many(limit: Limit) -> Limit:
    """The limit after a 429.

    Each refused request was one too many, so each takes one off: of 100 in flight 10 are refused,
    90 is what the server admits. The place that a refused request leaves is gone with it, so
    nothing moves up into the same refusal.
    """
    if limit.fixed:
        return limit
    limit = replace(limit, in_flight=max(1.0, limit.in_flight - 1), window=None, base=None)
    return replace(limit, found_top=True, quiet_steps=0.0)


def after_pause(limit: Limit) -> Limit:
    """The limit when nobody may ask for a while: what was being measured is worth nothing."""
    return limit if limit.window is None else _stay(limit, limit.window.rounds)


def _climb_by_one(limit: Limit) -> Limit:
    """Just below what was refused: one more after several rounds."""
    steps = 1 / max(CLIMB_EVERY_ROUNDS * limit.in_flight, CLIMB_EVERY_ANSWERS)
    quiet_steps = limit.quiet_steps + steps
    in_flight = min(float(limit.most), limit.in_flight + steps)
    limit = replace(limit, in_flight=in_flight, quiet_steps=quiet_steps)
    if quiet_steps < QUIET_STEPS:
        return limit
    return _stay(replace(limit, found_top=False, level=limit.in_flight))


def _climb_to_level(limit: Limit) -> Limit:
    in_flight = min(limit.in_flight + 1, limit.level)
    limit = replace(limit, in_flight=in_flight)
    return limit if in_flight < limit.level else _stay(limit)


def _stay(limit: Limit, rounds: float = 1.0) -> Limit:
    """Measures where it is, after a round in which what was before works its way through."""
    return replace(limit, window=Window(limit.in_flight, skip=limit.in_flight, rounds=rounds))


class Gate:
    """Lets as many workers through as the controller allows, and none while the run is paused.

    When `stopping` is set, whoever waits is let go.
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
                self._limit,
                sent_s=sent_s,
                now_s=now_s,
                was_full=self._in_flight >= before,
                cpu_s=time.process_time(),
            )
            if self._probing:
                self._probing = False
                self._changed.notify_all()
            else:  # not all: hundreds of threads that find no place cost more than requests
                self._changed.notify(max(0, self._limit.whole - before))

    def too_many(self) -> None:
        """This was one too many; from inside the slot, or the next moves up."""
        with self._changed:
            self._limit = after_too_many(self._limit)

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
