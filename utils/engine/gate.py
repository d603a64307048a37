"""How many requests may be in flight: a pure controller, and the gate that enforces it.

The controller climbs by one with every answer, so it doubles in a round of answers. Each request
that the server refuses as one too many (429), or does not answer in time, takes one off; after that
it climbs slowly, by one in several rounds, until a long quiet. Frozen state in, frozen state out;
the gate adds the waiting.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

FIRST_LIMIT = 16
MOST_IN_FLIGHT = 256  # of `auto`; a fixed number may be higher
# After "too many" it climbs by one in so many rounds of answers, or so many answers if that is
# more; after so many such steps without another "too many" the server may admit more than it did.
CLIMB_EVERY_ROUNDS = 6.0
CLIMB_EVERY_ANSWERS = 60.0
QUIET_STEPS = 2.0


@dataclass(frozen=True, slots=True)
class Limit:
    """State of the controller."""

    in_flight: float  # requests that may be in flight; fractions accumulate
    largest: int  # it never climbs higher
    fixed: bool = False  # a number that the user gave; nothing changes it
    quiet_steps: float = math.inf  # slow steps since the server said "too many"; inf: it never did

    @classmethod
    def of(cls, requested: int | None) -> Limit:
        """Return a fixed limit, or with None one that adapts."""
        if requested is None:
            return cls(FIRST_LIMIT, MOST_IN_FLIGHT)
        return cls(requested, requested, fixed=True)

    @property
    def whole(self) -> int:
        """Requests that may be in flight now."""
        return max(1, int(self.in_flight))


def after_answer(limit: Limit, *, was_full: bool) -> Limit:
    """Return the limit after the server answered.

    Without a full house (as many in flight as allowed) an answer says nothing about whether more
    would have been too many.
    """
    if limit.fixed or not was_full:
        return limit
    slow_step = 1 / max(CLIMB_EVERY_ROUNDS * limit.in_flight, CLIMB_EVERY_ANSWERS)
    quiet_steps = limit.quiet_steps + slow_step
    step = 1.0 if quiet_steps >= QUIET_STEPS else slow_step
    in_flight = min(float(limit.largest), limit.in_flight + step)
    return replace(limit, in_flight=in_flight, quiet_steps=quiet_steps)


def after_too_many(limit: Limit) -> Limit:
    """Return the limit after a 429 or a time-out.

    Each such request was one too many, so each takes one off: of 100 in flight 10 are refused, 90
    is what the server admits. The slot that a refused request leaves is gone with it, so nothing
    moves up into the same refusal.
    """
    if limit.fixed:
        return limit
    return replace(limit, in_flight=max(1.0, limit.in_flight - 1), quiet_steps=0.0)


class Gate:
    """Lets as many workers through as the controller allows, and none while the run is paused.

    When `stopping` is set, whoever waits is let go.
    """

    def __init__(
        self, limit: Limit, stopping: threading.Event, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._limit = limit
        self._stopping = stopping
        self._clock = clock
        self._in_flight = 0
        self.waiting = 0  # workers
        self._paused_until_s = 0.0
        self._probing = False  # after an outage one request goes ahead of the others
        self._changed = threading.Condition()
        self.limit = limit.whole  # requests that may be in flight now

    @contextmanager
    def slot(self) -> Iterator[None]:
        """Wait for a free slot, and give it back at the end."""
        with self._changed:
            self.waiting += 1
            while not self._stopping.is_set():
                left_s = self._paused_until_s - self._clock()
                limit = 1 if self._probing else self.limit
                if left_s <= 0 and self._in_flight < limit:
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

    def answered(self) -> None:
        """Note from inside the slot that the server answered: whatever was wrong is over."""
        with self._changed:
            before = self.limit
            if not self._limit.fixed:
                self._limit = after_answer(self._limit, was_full=self._in_flight >= before)
                self.limit = self._limit.whole
            if self._probing:
                self._probing = False
                self._changed.notify_all()
            else:  # not all: hundreds of threads that find no slot cost more than requests
                self._changed.notify(max(0, self.limit - before))

    def too_many(self) -> None:
        """Note that a request was one too many; from inside its slot, or the next moves up."""
        with self._changed:
            self._limit = after_too_many(self._limit)
            self.limit = self._limit.whole

    def pause(self, seconds: float) -> None:
        """Let nobody pass for a while; then one goes ahead of the others."""
        with self._changed:
            self._paused_until_s = max(self._paused_until_s, self._clock() + seconds)
            self._probing = True

    def wake(self) -> None:
        """Let everyone look at `stopping` again."""
        with self._changed:
            self._changed.notify_all()
