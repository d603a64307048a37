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
from typing import TYPE_CHECKING

from models.wrappers.local.settings import ranks_here
from utils.contracts import GENERATING, Abandoned, CallError, Generation

if TYPE_CHECKING:
    from models.wrappers.local.inputs import Encoded

LARGEST_AUTO = 64
LARGEST_AUTO_ON_CPU = 8  # there, memory that runs out ends the process instead of raising
READY_BYTES = 4 * 1024**3  # of prepared inputs; pictures of 12 million pixels take 0.3 GB each
SECONDS_TO_END = 2.0  # for the batch that is under way when all is over
GRACE_S = 0.02  # for requests that are just on their way, before a batch starts that is not full

Group = list[tuple["Encoded", Future[Generation]]]


class OutOfMemory(Exception):
    """The device had no room for this batch."""


class CannotCollate(Exception):
    """Inputs that cannot be put together; says which and why."""


def largest(size: int | str, *, on_cpu: bool) -> int:
    """How many requests a batch may come to hold."""
    return size if isinstance(size, int) else LARGEST_AUTO_ON_CPU if on_cpu else LARGEST_AUTO


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
    """Places of the first request, which has waited longest, and of those that go with it.

    As many as the budget of padded tokens has room for, and among these those that differ least.
    """
    by_length = sorted(range(len(tokens)), key=tokens.__getitem__)
    first = by_length.index(0)
    for count in range(min(most, len(tokens)), 1, -1):
        starts = range(max(0, first - count + 1), min(first, len(tokens) - count) + 1)
        ends = {start: tokens[by_length[start + count - 1]] for start in starts}
        if fitting := [start for start in starts if count * ends[start] <= budget]:
            start = min(fitting, key=lambda start: ends[start] - tokens[by_length[start]])
            return by_length[start : start + count]
    return [0]


class Batcher:
    """Collects what many threads bring and generates for several at once.

    Args:
        run: generates for a batch of items; results in order.
        size: how many at once; "auto" starts with one and doubles until memory says no.
        reply_tokens: that a reply may have; they take memory like those of the prompt.
    """

    def __init__(
        self,
        run: Callable[[Sequence[Encoded]], Sequence[Generation]],
        size: int | str,
        *,
        on_cpu: bool,
        reply_tokens: int = 0,
    ) -> None:
        self._run, self._reply_tokens = run, reply_tokens
        self._most = largest(size, on_cpu=on_cpu)
        # Padded tokens in a batch, and where they may grow to. Not requests: one long prompt that
        # finds no room must not make all later batches small.
        self._limit = sys.maxsize
        self._budget = 0 if size == "auto" else self._limit
        self._last_tokens = 1
        self._changed = threading.Condition()
        self._encoders = threading.Semaphore(encoder_count())
        self._waiting: Group = []
        self._preparing = self._abandonments = self._batches = self._samples = self._largest = 0
        self._generating_s = self._idle_s = 0.0
        self._closed = False
        self._thread: threading.Thread | None = None

    def answer(self, make: Callable[[], Encoded]) -> Generation:
        """Makes inputs, as soon as they are wanted, and waits until their batch has been generated.

        Abandoned: the run stopped before its turn.
        """
        before, future = self._abandonments, Future[Generation]()

        def is_over() -> bool:
            return self._closed or self._abandonments != before

        with self._encoders:
            with self._changed:
                self._changed.wait_for(lambda: is_over() or self._has_room())
                if is_over():
                    raise Abandoned
                self._preparing += 1
                if self._thread is None:
                    self._thread = threading.Thread(target=self._work, name=GENERATING, daemon=True)
                    self._thread.start()
            item = None
            try:
                item = make()
            finally:
                with self._changed:
                    self._preparing -= 1
                    if item is not None and not is_over():
                        self._waiting.append((item, future))
                    else:
                        future.set_exception(Abandoned())
                    self._changed.notify_all()
        return future.result()

    def _has_room(self) -> bool:
        """Whether one more request may be prepared; what is ready takes up memory, too."""
        ready_bytes = sum(item.nbytes for item, _ in self._waiting)
        ahead = self._preparing + len(self._waiting)
        return not ahead or (ahead < most_ahead(self._count()) and ready_bytes < READY_BYTES)

    def _tokens(self, item: Encoded) -> int:
        return max(1, item.input_length + self._reply_tokens)

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

        It is waited for, but not for long: a generation that goes on must not hold the exit.
        """
        self._closed = True
        self.abandon()
        if self._thread is not None:
            self._thread.join(SECONDS_TO_END)

    def notes(self) -> list[str]:
        """How the time of the generating thread was spent, in one line."""
        if not self._batches:
            return []
        return [
            f"the model generated for {self._generating_s:.1f} s in {self._batches} batches of "
            f"{self._samples / self._batches:.1f} (at most {self._largest}) and waited "
            f"{self._idle_s:.1f} s for inputs"
        ]

    def _work(self) -> None:
        while (group := self._next_group()) is not None:
            self._answer(group)
            del group  # its tensors must not be held while the next one is waited for

    def _next_group(self) -> Group | None:
        """Blocks until there is a full batch, or nothing more is on its way; None: closed."""
        began_s = time.monotonic()
        with self._changed:
            while not (self._closed or len(self._waiting) >= self._count()):
                # Once nobody is preparing: somebody may be about to.
                patience_s = GRACE_S if self._waiting and not self._preparing else None
                if not self._changed.wait(patience_s) and not self._preparing:
                    break
            if self._closed:
                self._let_go()  # of what came back from a batch that failed meanwhile
                return None
            if self._batches:  # before the first batch nobody could be quicker
                self._idle_s += time.monotonic() - began_s
            tokens = [self._tokens(item) for item, _ in self._waiting]
            self._last_tokens = tokens[0]
            places = chosen(tokens, self._most, self._budget)
            group = [self._waiting[place] for place in places]
            self._waiting = [each for n, each in enumerate(self._waiting) if n not in places]
            self._changed.notify_all()  # there is room for others to prepare
            return group

    def _answer(self, group: Group, *, is_retry: bool = False) -> None:
        padded = len(group) * max(self._tokens(item) for item, _ in group)
        began_s, failure = time.monotonic(), None
        try:
            answered = list(zip(group, self._run([item for item, _ in group]), strict=True))
        except BaseException as error:  # noqa: BLE001 - the threads that wait must hear of it
            failure = error
            if isinstance(error, OutOfMemory | CannotCollate | CallError):
                # Nobody reads where it came from, and its frames hold the tensors of what failed.
                error.__traceback__ = error.__cause__ = error.__context__ = None
        if failure is None:
            self._generating_s += time.monotonic() - began_s
            self._batches, self._samples = self._batches + 1, self._samples + len(group)
            self._largest = max(self._largest, len(group))
            self._budget = max(self._budget, min(2 * padded, self._limit))
            for (_, future), result in answered:
                future.set_result(result)
        elif isinstance(failure, OutOfMemory) and len(group) == 1 and not is_retry:
            self._answer(group, is_retry=True)
        elif isinstance(failure, CallError) and len(group) > 1:
            for each in group:  # one of them is to blame; the others have an answer
                self._answer([each])
        elif isinstance(failure, CannotCollate) and len(group) > 1:
            self._most = 1
            self._put_back(group, f"{failure}; continuing with one at a time")
        elif isinstance(failure, OutOfMemory) and len(group) > 1:
            self._budget = self._limit = padded // 2
            what = f"out of memory with {len(group)} samples at once ({padded:,} tokens)"
            self._put_back(group, f"{what}; continuing with at most {self._limit:,} tokens at once")
        else:
            said = str(failure)
            no_room = isinstance(failure, OutOfMemory)
            for _, future in group:
                future.set_exception(CallError("model", said, trace=said) if no_room else failure)

    def _put_back(self, group: Group, warning: str) -> None:
        with contextlib.suppress(OSError):  # a closed pipe must not end the one thread
            print(f"warning: {warning}", file=sys.stderr)
        with self._changed:
            self._waiting = [*group, *self._waiting]
