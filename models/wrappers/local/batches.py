"""Requests of many threads become batches of one model.

Every thread that asks prepares its inputs, on the CPU, and waits; one thread of this module
generates. While it does, the others prepare what comes next, so that the model waits as little as
possible. Inputs go to the device with their batch: what is ready takes none of its memory.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from models.wrappers.local.settings import ranks_here
from utils.contracts import Abandoned, CallError
from utils.engine.interrupt import GENERATING
from utils.errors import StopRun

LARGEST_AUTO = 64
LARGEST_AUTO_ON_CPU = 8  # there, memory that runs out ends the process instead of raising
READY_BYTES = 4 * 1024**3  # of prepared inputs; pictures of 12 million pixels take 0.3 GB each
SECONDS_TO_END = 2.0  # for the batch that is under way when all is over
GRACE_S = 0.02  # for requests that are just on their way, before a batch starts that is not full
NO_LIMIT = sys.maxsize


class Sized(Protocol):
    """What a batch is made of."""

    @property
    def input_length(self) -> int: ...
    @property
    def nbytes(self) -> int: ...


Item = TypeVar("Item", bound=Sized)
Result = TypeVar("Result")


class OutOfMemory(Exception):
    """The device had no room for this batch."""


class CannotCollate(Exception):
    """Inputs that cannot be put together; says which and why."""


@dataclass
class Account:
    """How the time of the generating thread was spent.

    Attributes:
        generating_s: in the generate method.
        idle_s: without inputs, between the first batch and the last.
        batches, samples: how many.
    """

    generating_s: float = 0.0
    idle_s: float = 0.0
    batches: int = 0
    samples: int = 0

    def lines(self) -> list[str]:
        """In one line for people, if there is something to say."""
        if not self.batches:
            return []
        share = 100 * self.idle_s / max(self.generating_s + self.idle_s, 1e-9)
        return [
            f"the model generated for {self.generating_s:.1f} s in {self.batches} batches of "
            f"{self.samples / self.batches:.1f} and waited {self.idle_s:.1f} s "
            f"({share:.1f} %) for inputs"
        ]


# ---- how many, and which ------------------------------------------------------------------------


def largest(size: int | str, *, on_cpu: bool) -> int:
    """How many requests a batch may come to hold."""
    if isinstance(size, int):
        return size
    return LARGEST_AUTO_ON_CPU if on_cpu else LARGEST_AUTO


def encoder_count() -> int:
    """Threads that prepare inputs at once; one core is left for what feeds the model."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return max(1, min(4, (cores or 2) // ranks_here() - 1))


def most_ahead(size: int) -> int:
    """Requests that are ready or being prepared while a batch of `size` is generated.

    A batch is chosen among them: from twice as many come batches whose members are alike. One at a
    time there is nothing to choose, and more would only take up memory.
    """
    return max(2, encoder_count()) if size == 1 else 2 * size + encoder_count()


def chosen(tokens: Sequence[int], most: int, budget: int) -> list[int]:
    """Places of the first request and of those that go with it, nearest in length.

    Padding is wasted work, and memory goes by padded tokens: as many as fit into the budget, among
    these the ones that differ least.

    Args:
        tokens: of each request; the one that has waited longest is the first.
        most: requests in a batch.
        budget: padded tokens in a batch; one request alone may have more.
    """
    by_length = sorted(range(len(tokens)), key=tokens.__getitem__)
    first = by_length.index(0)
    for count in range(min(most, len(tokens)), 1, -1):
        starts = range(max(0, first - count + 1), min(first, len(tokens) - count) + 1)
        ends = {start: tokens[by_length[start + count - 1]] for start in starts}
        fitting = [start for start in starts if count * ends[start] <= budget]
        if fitting:
            start = min(fitting, key=lambda start: ends[start] - tokens[by_length[start]])
            return by_length[start : start + count]
    return [0]


class Batcher(Generic[Item, Result]):
    """Collects what many threads bring and generates for several at once.

    Args:
        run: generates for a batch; results in order.
        size: how many at once; "auto" starts with one and doubles until memory says no.
        on_cpu: whether running out of memory would end the process, so that "auto" must be modest.
        reply_tokens: that a reply may have; they take memory like those of the prompt.
    """

    def __init__(
        self,
        run: Callable[[Sequence[Item]], Sequence[Result]],
        size: int | str,
        *,
        on_cpu: bool,
        reply_tokens: int = 0,
    ) -> None:
        self._run, self._is_auto, self._reply_tokens = run, size == "auto", reply_tokens
        self._most = largest(size, on_cpu=on_cpu)
        # Padded tokens in a batch, and where they may grow to. Not requests: one long prompt that
        # finds no room must not make all later batches small.
        self._budget, self._limit = 0 if self._is_auto else NO_LIMIT, NO_LIMIT
        self._last_tokens = 1
        self._changed = threading.Condition()
        self._encoders = threading.BoundedSemaphore(encoder_count())
        self._waiting: list[tuple[Item, Future[Result]]] = []
        self._preparing = self._abandonments = 0
        self._closed = False
        self._thread: threading.Thread | None = None
        self.account = Account()

    def answer(self, make: Callable[[], Item]) -> Result:
        """Makes inputs, as soon as they are wanted, and waits until their batch has been generated.

        Raises:
            CallError: the model cannot answer this one.
            StopRun: batches are not possible with such inputs.
            Abandoned: the run stopped before its turn.
        """
        before = self._abandonments

        def is_over() -> bool:
            return self._closed or self._abandonments != before

        with self._encoders:
            with self._changed:
                self._changed.wait_for(lambda: is_over() or self._has_room())
                if is_over():
                    raise Abandoned
                self._preparing += 1
            item, future = None, Future[Result]()
            try:
                item = make()
            finally:
                with self._changed:
                    self._preparing -= 1
                    if item is not None and not is_over():
                        self._waiting.append((item, future))
                        self._start()
                    else:
                        future.set_exception(Abandoned())
                    self._changed.notify_all()
        return future.result()

    def _has_room(self) -> bool:
        """Whether one more request may be prepared; what is ready takes up memory, too."""
        ready_bytes = sum(item.nbytes for item, _ in self._waiting)
        ahead = self._preparing + len(self._waiting)
        return not ahead or (ahead < most_ahead(self._count()) and ready_bytes < READY_BYTES)

    def _tokens(self, item: Item) -> int:
        return max(1, item.input_length + self._reply_tokens)

    def _padded(self, group: list[tuple[Item, Future[Result]]]) -> int:
        return len(group) * max(self._tokens(item) for item, _ in group)

    def _count(self) -> int:
        """How many may go together with whoever has waited longest."""
        first = self._tokens(self._waiting[0][0]) if self._waiting else self._last_tokens
        return max(1, min(self._most, self._budget // first))

    def abandon(self) -> None:
        """Lets go of everyone who waits; what is being generated is finished."""
        with self._changed:
            self._abandonments += 1
            self._let_go()
            self._changed.notify_all()

    def _let_go(self) -> None:
        for _, future in self._waiting:
            future.set_exception(Abandoned())
        self._waiting.clear()

    def close(self) -> None:
        """Ends the generating thread, so that it holds no model any more.

        It is waited for, but not for long: a generation that goes on must not hold the exit (see
        `utils.engine.interrupt.leave`).
        """
        self._closed = True
        self.abandon()
        if self._thread is not None:
            self._thread.join(SECONDS_TO_END)

    # -- the generating thread --------------------------------------------------------------------

    def _start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name=GENERATING, daemon=True)
            self._thread.start()

    def _work(self) -> None:
        while (group := self._next_group()) is not None:
            self._answer(group)
            del group  # its tensors must not be held while the next one is waited for

    def _is_full(self) -> bool:
        return self._closed or len(self._waiting) >= self._count()

    def _next_group(self) -> list[tuple[Item, Future[Result]]] | None:
        """Blocks until there is a full batch, or nothing more is on its way; None: closed."""
        began_s = time.monotonic()
        with self._changed:
            while not self._is_full():
                if self._preparing or not self._waiting:
                    self._changed.wait()
                # Somebody may have prepared his inputs just now, or may be about to.
                elif not self._changed.wait_for(
                    lambda: self._is_full() or self._preparing > 0, GRACE_S
                ):
                    break
            if self._closed:
                self._let_go()  # of what came back from a batch that failed meanwhile
                return None
            if self.account.batches:  # before the first batch nobody could be quicker
                self.account.idle_s += time.monotonic() - began_s
            tokens = [self._tokens(item) for item, _ in self._waiting]
            self._last_tokens = tokens[0]
            places = chosen(tokens, self._most, self._budget)
            group = [self._waiting[place] for place in places]
            self._waiting = [each for n, each in enumerate(self._waiting) if n not in places]
            self._changed.notify_all()  # there is room for others to prepare
            return group

    def _answer(self, group: list[tuple[Item, Future[Result]]], *, is_retry: bool = False) -> None:
        no_room = ""
        try:
            self._run_for(group)
        except OutOfMemory as error:
            no_room = str(error)
        except CannotCollate as error:
            if self._is_auto and len(group) > 1:
                self._most = 1
                self._put_back(group, f"{error}; going on with one at a time")
                return
            for _, future in group:
                future.set_exception(StopRun(f"{error}; set batch_size to 1"))
            return
        except CallError as error:
            # Nobody reads where it came from, and its frames hold the tensors of what failed.
            error.__traceback__ = error.__cause__ = error.__context__ = None
            if len(group) == 1:
                group[0][1].set_exception(error)
                return
        except BaseException as error:  # noqa: BLE001 - the threads that wait must hear of it
            for _, future in group:
                future.set_exception(error)
            return
        else:
            self._budget = max(self._budget, min(2 * self._padded(group), self._limit))
            return
        # Outside of the handlers: their tracebacks held the tensors of what failed.
        if not no_room:  # one of them is to blame; the others have an answer
            for each in group:
                self._answer([each])
        elif len(group) > 1:
            padded = self._padded(group)
            self._budget = self._limit = padded // 2
            self._put_back(
                group,
                f"out of memory with {len(group)} samples at once ({padded:,} tokens); going on "
                f"with at most {self._limit:,} tokens at once",
            )
        elif is_retry:
            group[0][1].set_exception(CallError("model", no_room, trace=no_room))
        else:
            self._answer(group, is_retry=True)

    def _run_for(self, group: list[tuple[Item, Future[Result]]]) -> None:
        began_s = time.monotonic()
        results = self._run([item for item, _ in group])
        self.account.generating_s += time.monotonic() - began_s
        self.account.batches += 1
        self.account.samples += len(group)
        for (_, future), result in list(zip(group, results, strict=True)):
            future.set_result(result)

    def _put_back(self, group: list[tuple[Item, Future[Result]]], warning: str) -> None:
        with contextlib.suppress(OSError):  # a closed pipe must not end the one thread
            print(f"warning: {warning}", file=sys.stderr)
        with self._changed:
            self._waiting = [*group, *self._waiting]
