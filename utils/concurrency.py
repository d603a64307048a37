"""How many requests may be in flight: a pure controller, and the gate that enforces it.

The controller climbs fast until the server says "too many" (429), steps back by one for each such
answer, and then climbs slowly. Frozen state in, frozen state out; the gate adds the waiting.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

FIRST_LIMIT = 16
MOST_IN_FLIGHT = 256  # of `auto`; a fixed number may be higher
CLIMB_EVERY_ROUNDS = 6.0  # after the first 429: one more after so many rounds of answers
QUIET_BEFORE_FASTER_ROUNDS = 12.0


@dataclass(frozen=True, slots=True)
class Limit:
    """State of the controller.

    Attributes:
        in_flight: how many requests may be in flight; fractions accumulate.
        most: it never climbs higher.
        fixed: a number that the user gave; nothing changes it.
        found_top: whether the server has ever said "too many": from then on it climbs slowly.
        quiet_rounds: rounds of answers since it last said so.
    """

    in_flight: float
    most: int
    fixed: bool = False
    found_top: bool = False
    quiet_rounds: float = 0.0

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


def after_answer(limit: Limit, *, was_full: bool) -> Limit:
    """The limit after the server answered; `was_full`: as many were in flight as were allowed.

    Without a full house an answer says nothing about whether more would have been too many.
    """
    if limit.fixed or not was_full:
        return limit
    quiet_rounds = limit.quiet_rounds + 1 / limit.in_flight
    step = 1.0
    if limit.found_top:
        # After a long quiet the server may admit more than it did: faster and faster again.
        doublings = max(0.0, quiet_rounds - QUIET_BEFORE_FASTER_ROUNDS) / CLIMB_EVERY_ROUNDS
        a_round = 2.0 ** min(doublings, 16) / CLIMB_EVERY_ROUNDS
        step = min(a_round / limit.in_flight, 1.0)
    in_flight = min(float(limit.most), limit.in_flight + step)
    return replace(limit, in_flight=in_flight, quiet_rounds=quiet_rounds)


def after_too_many(limit: Limit) -> Limit:
    """The limit after a 429.

    Each refused request was one too many, so each takes one off: of 128 in flight 38 are refused,
    90 is what the server admits. The place that a refused request leaves is gone with it, so
    nothing moves up into the same refusal.
    """
    if limit.fixed:
        return limit
    in_flight = max(1.0, limit.in_flight - 1.0)
    return replace(limit, in_flight=in_flight, found_top=True, quiet_rounds=0.0)


class Gate:
    """Lets as many workers through as the controller allows, and none while the run is paused.

    Args:
        limit: where to start.
        stopping: when set, whoever waits is let go.
    """

    def __init__(self, limit: Limit, stopping: threading.Event) -> None:
        self._limit, self._stopping = limit, stopping
        self._in_flight = 0
        self._paused_until_s = 0.0
        self._probing = False  # after an outage one request goes ahead of the others
        self._changed = threading.Condition()

    @contextmanager
    def slot(self) -> Iterator[None]:
        """Waits for a place, and gives it back at the end."""
        with self._changed:
            while not self._may_pass() and not self._stopping.is_set():
                left_s = self._paused_until_s - time.monotonic()
                self._changed.wait(min(max(left_s, 0.01), 1.0) if left_s > 0 else 1.0)
            self._in_flight += 1
        try:
            yield
        finally:
            with self._changed:
                self._in_flight -= 1
                self._changed.notify()

    def _may_pass(self) -> bool:
        if time.monotonic() < self._paused_until_s:
            return False
        return self._in_flight < (1 if self._probing else self._limit.whole)

    def answered(self) -> None:
        """The server answered: whatever was wrong is over."""
        with self._changed:
            before = self._limit.whole
            was_full = self._in_flight >= before
            self._limit = after_answer(self._limit, was_full=was_full)
            if self._probing or self._limit.whole > before:
                self._probing = False
                self._changed.notify_all()

    def too_many(self) -> None:
        """The server said that this was one request too many."""
        with self._changed:
            self._limit = after_too_many(self._limit)

    def pause(self, seconds: float) -> None:
        """Nobody passes for a while; then one goes ahead of the others."""
        with self._changed:
            self._paused_until_s = max(self._paused_until_s, time.monotonic() + seconds)
            self._probing = True

    @property
    def limit(self) -> int:
        """Requests that may be in flight now."""
        return self._limit.whole

    def wake(self) -> None:
        """Lets everyone look at `stopping` again."""
        with self._changed:
            self._changed.notify_all()
