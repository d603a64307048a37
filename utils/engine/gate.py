"""The limit on requests in flight: a pure controller, and the gate that enforces the limit.

The controller climbs by one with every answer, so it doubles in a round of answers. Each request
that the server refuses as one too many (429), or does not answer in time, takes one off; after that
it climbs slowly, by one in several rounds, until a long quiet. Frozen state in, frozen state out;
the gate adds the waiting. Where a model has several servers, each has a controller of its own.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from utils.contracts import ModelServer
from utils.errors import StopRun

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


@dataclass(slots=True)
class Place:
    """The gate's record of one server: the limit of its requests, and those in flight."""

    server: ModelServer | None  # None: the gate is that of a model which is its own server
    control: Limit
    limit: int  # requests that may be in flight now
    in_flight: int = 0
    suspects: int = 0  # of those in flight: a server has died while it had them
    paused_until_s: float = 0.0
    probing: bool = False  # after a pause one request goes ahead of the others
    is_open: bool = True  # False: nothing new is sent there
    last_used: int = 0  # when a request went there last, counted in requests

    def use(self) -> tuple[float, int]:
        """The sort key: the share of the limit in use, then the last use, longest ago first."""
        return self.in_flight / self.limit, self.last_used


class _NoServer(Exception):
    """No server may be asked, and none has come in time."""


class Gate:
    """Lets as many workers through as the controllers of all servers allow.

    A request gets the server that is used least in proportion to its limit. When `stopping` is set,
    whoever waits is let go.

    Attributes:
        waiting: workers that want a place.
        limit: requests that may be in flight now, with all servers together.
        known: how many servers there have been, at least one.
        aside: requests that were told to wait until all others are over, see `slot`.
        on_aside: called for each of them.
        patience_s: how long workers wait while there is no server at all.
        why_none: says why there is no server.
        is_rest_aside: whether nothing is left to do but what is set aside.
    """

    def __init__(
        self, limit: Limit, stopping: threading.Event, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._first_limit = limit
        self._stopping = stopping
        self._clock = clock
        self._in_flight = 0
        self._entered = 0
        self._choosy = 0  # workers that want no place but a certain one, or none before the end
        self.waiting = 0
        self.aside = 0
        self.patience_s = math.inf
        self.why_none: Callable[[], str] = lambda: "no server is left"
        self.on_aside: Callable[[], object] = lambda: None
        self.is_rest_aside: Callable[[], bool] = lambda: True
        self._changed = threading.Condition()
        self._places = [Place(None, limit, limit.whole)]
        self._may_come = True
        self._empty_since_s = math.inf
        self.limit = limit.whole
        self.known = 1

    def set_servers(
        self, servers: Sequence[ModelServer], *, may_come: bool = True, is_looking: bool = False
    ) -> None:
        """Set the servers that may be asked from now on.

        Args:
            servers: what was learnt about the limit of one that was known before stays.
            may_come: others may join later; if not, nobody waits for one.
            is_looking: it will be known soon whether there is another one.
        """
        with self._changed:
            place_of_server = {id(place.server): place for place in self._places}
            for place in self._places:
                place.is_open = False
            for server in servers:
                if id(server) not in place_of_server:
                    limit = self._first_limit
                    place_of_server[id(server)] = Place(server, limit, limit.whole)
                place_of_server[id(server)].is_open = True
            self._places = [place for place in place_of_server.values() if place.server is not None]
            self.known = max(1, len(self._places))
            self._may_come = may_come
            self._empty_since_s = min(self._empty_since_s, self._clock())
            if servers or is_looking:
                self._empty_since_s = math.inf
            self._sum_limits()
            self._changed.notify_all()

    def _sum_limits(self) -> None:
        self.limit = sum(place.limit for place in self._places if place.is_open)

    @contextmanager
    def slot(
        self,
        avoided: ModelServer | None = None,
        *,
        is_suspect: bool = False,
        is_last: bool = False,
    ) -> Iterator[Place]:
        """Wait for a place at a server, and give it back at the end.

        Args:
            avoided: the server that is taken only where there is no other.
            is_suspect: a server has died while it had this request. It goes where no other such
                request is, if it can: should that server die, too, it is clear by which one.
            is_last: wait until nothing but such requests is left, and then be the only one.

        Raises:
            StopRun: there has been no server for `patience_s`.
        """
        try:
            with self._changed:
                place = self._wait_for_place(avoided, is_suspect=is_suspect, is_last=is_last)
                place.in_flight += 1
                place.suspects += is_suspect
                self._in_flight += 1
                self._entered += 1
                place.last_used = self._entered
        except _NoServer:  # without the lock: who knows why has a lock of his own
            raise StopRun(self.why_none()) from None
        try:
            yield place
        finally:
            with self._changed:
                place.in_flight -= 1
                place.suspects -= is_suspect
                self._in_flight -= 1
                self._changed.notify(1 + self._choosy)

    def _wait_for_place(
        self, avoided: ModelServer | None, *, is_suspect: bool, is_last: bool
    ) -> Place:
        """Wait for a place; one that is nobody's where the run stops meanwhile."""
        is_choosy = is_last or avoided is not None
        self.waiting += not is_last
        self._choosy += is_choosy
        try:
            while not self._stopping.is_set():
                now_s = self._clock()
                place, wait_s = self._best_place(avoided, now_s, is_suspect=is_suspect)
                if place is not None and (not is_last or self._may_be_last()):
                    return place
                if self._empty_since_s < math.inf:
                    self._lose_patience(now_s)
                self._changed.wait(max(wait_s, 0.01))
        finally:
            self.waiting -= not is_last
            self._choosy -= is_choosy
        return Place(None, self._first_limit, 0)

    def _best_place(
        self, avoided: ModelServer | None, now_s: float, *, is_suspect: bool
    ) -> tuple[Place | None, float]:
        """The open place with room that is used least, and when to look again if there is none."""

        def order(place: Place) -> tuple[float, ...]:
            return (place.suspects if is_suspect else 0, *place.use())

        best: Place | None = None
        wait_s = 1.0
        spare: Place | None = None  # at the server that is avoided
        has_others = False
        for place in self._places:
            if not place.is_open:
                continue
            is_avoided = avoided is not None and place.server is avoided
            has_others = has_others or not is_avoided
            if (1 if place.probing else place.limit) <= place.in_flight:
                continue
            if place.paused_until_s > now_s:
                wait_s = min(wait_s, place.paused_until_s - now_s)
            elif is_avoided:
                spare = place
            elif best is None or order(place) < order(best):
                best = place
        return (best if has_others else spare), wait_s

    def _may_be_last(self) -> bool:
        return self._in_flight == 0 and self.is_rest_aside()

    def _lose_patience(self, now_s: float) -> None:
        """Raise where there has been no server for too long, or none can come."""
        if not self._may_come or now_s - self._empty_since_s >= self.patience_s:
            raise _NoServer

    def answered(self, place: Place) -> None:
        """Note from inside the slot that the server answered: whatever was wrong is over."""
        with self._changed:
            before = place.limit
            if not place.control.fixed:
                was_full = place.in_flight >= before
                place.control = after_answer(place.control, was_full=was_full)
                place.limit = place.control.whole
                self.limit += place.limit - before
            if place.probing:
                place.probing = False
                self._changed.notify_all()
            else:  # not all: hundreds of threads that find no slot cost more than requests
                self._changed.notify(max(0, place.limit - before))

    def too_many(self, place: Place) -> None:
        """Note that a request was one too many; from inside its slot, or the next moves up."""
        with self._changed:
            place.control = after_too_many(place.control)
            place.limit = place.control.whole
            self._sum_limits()

    def pause(self, seconds: float, place: Place | None = None) -> None:
        """Let nobody pass to a server for a while; then one goes ahead of the others.

        Args:
            place: of the server; None: of all.
        """
        with self._changed:
            for paused in self._places if place is None else [place]:
                paused.paused_until_s = max(paused.paused_until_s, self._clock() + seconds)
                paused.probing = True

    def set_aside(self) -> None:
        """Note a request that waits until all others are over; somebody else gets its worker."""
        with self._changed:
            self.aside += 1
        self.on_aside()

    def wake(self) -> None:
        """Let everyone look at `stopping` again."""
        with self._changed:
            self._changed.notify_all()
