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

from models.wrappers.local.room import Room
from models.wrappers.local.settings import ranks_here
from utils.contracts import GENERATING, Abandoned, CallError, Generation

if TYPE_CHECKING:
    from models.wrappers.local.inputs import Encoded

LARGEST_AUTO = 64
LARGEST_AUTO_ON_CPU = 8  # there, memory that runs out ends the process instead of raising
READY_BYTES = 4 * 1024**3  # of prepared inputs; pictures of 12 million pixels take 0.3 GB each
SECONDS_TO_END = 2.0  # for the batch that is under way when all is over
# Padded tokens at which a decoding step takes twice as long as without padding, where padding
# makes attention copy keys and values for every query head. By arithmetic for a 7B model (28 query
# heads on 4 key heads) on an H100; never measured.
PADDING_DOUBLES_AT = 65_536
GRACE_S = 0.02  # for requests that are just on their way, before a batch starts that is not full

Group = list[tuple["Encoded", Future[Generation]]]


class OutOfMemory(Exception):
    """The device had no room for this batch."""


class CannotCollate(Exception):
    """These inputs cannot be put together; says which and why. Others of the model may."""


class CannotSplit(Exception):
    """What the model returned for a batch cannot be told apart; no batch of it ever can."""


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


def chosen(
    tokens: Sequence[int],
    most: int,
    tokens_for: Callable[[int], int],
    *,
    prefers_equal: bool = False,
) -> list[int]:
    """Return the places of the first request, which has waited longest, and of those to go with it.

    As many as there is room for, and among these those that differ least in length.

    Args:
        tokens: lengths of the requests, in the order in which they came.
        most: requests in a batch.
        tokens_for: padded tokens that a batch may have, by the length of its longest request.
        prefers_equal: take fewer, of one length, where padding would cost more than it brings.
    """
    by_length = sorted(range(len(tokens)), key=tokens.__getitem__)
    first = by_length.index(0)
    similar = [0]
    for count in range(min(most, len(tokens)), 1, -1):
        spreads = {}
        for start in range(max(0, first - count + 1), min(first, len(tokens) - count) + 1):
            longest = tokens[by_length[start + count - 1]]
            if count * longest <= tokens_for(longest):
                spreads[start] = longest - tokens[by_length[start]]
        if spreads:
            start = min(spreads, key=spreads.__getitem__)
            similar = by_length[start : start + count]
            break
    padded = len(similar) * max(tokens[place] for place in similar)
    equal = [place for place in similar if tokens[place] == tokens[0]]
    if prefers_equal and len(equal) * (1 + padded / PADDING_DOUBLES_AT) >= len(similar):
        return equal
    return similar


class Batcher:
    """Collects what many threads bring and generates for several at once.

    Args:
        run: generates for a batch of items; results in order.
        size: how many at once; "auto" starts with one and doubles until memory says no.
        reply_tokens: that a reply may have; they take memory like those of the prompt.
        prefers_equal: whether padding makes the model's attention slower.
    """

    def __init__(
        self,
        run: Callable[[Sequence[Encoded]], Sequence[Generation]],
        size: int | str,
        *,
        on_cpu: bool,
        reply_tokens: int = 0,
        prefers_equal: bool = False,
    ) -> None:
        self._run, self._reply_tokens = run, reply_tokens
        self._prefers_equal = prefers_equal
        self._most = largest(size, on_cpu=on_cpu)
        # By length, in padded tokens: one long prompt that finds no room must not make all later
        # batches small.
        self._room = Room(grows=size == "auto")
        self._warnings: set[str] = set()
        self._shortest = sys.maxsize  # tokens of the shortest request that there was
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
                        self._shortest = min(self._shortest, self._tokens(item))
                    else:
                        future.set_exception(Abandoned())
                    self._changed.notify_all()
        return future.result()

    def _has_room(self) -> bool:
        """Whether one more request may be prepared; what is ready takes up memory, too."""
        ready_bytes = sum(item.nbytes for item, _ in self._waiting)
        ahead = self._preparing + len(self._waiting)
        return not ahead or (
            ahead < most_ahead(self._count(self._shortest)) and ready_bytes < READY_BYTES
        )

    def _tokens(self, item: Encoded) -> int:
        return max(1, item.input_length + self._reply_tokens)

    def _count(self, tokens: int) -> int:
        """How many requests of that length may go together."""
        return max(1, min(self._most, self._room.tokens_for(tokens) // tokens))

    def _is_ready(self) -> bool:
        """Whether there is a full batch for whoever has waited longest."""
        if not self._waiting:
            return False
        first = self._tokens(self._waiting[0][0])
        return len(self._waiting) >= self._count(first)

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
            while not (self._closed or self._is_ready()):
                # Once nobody is preparing: somebody may be about to.
                patience_s = GRACE_S if self._waiting and not self._preparing else None
                if not self._changed.wait(patience_s) and not self._preparing:
                    break
            if self._closed:
                self._let_go()  # of what came back from a batch that failed meanwhile
                return None
            if self._batches:  # before the first batch nobody could be quicker
                self._idle_s += time.monotonic() - began_s
            group = self._chosen_group()
            taken = {future for _, future in group}
            self._waiting = [entry for entry in self._waiting if entry[1] not in taken]
            self._changed.notify_all()  # there is room for others to prepare
            return group

    def _chosen_group(self) -> Group:
        """Of those that wait: the first one, and those whose inputs can be put together with it."""
        form = self._waiting[0][0].form
        alike = [entry for entry in self._waiting if entry[0].form == form]
        tokens = [self._tokens(item) for item, _ in alike]
        places = chosen(
            tokens, self._most, self._room.tokens_for, prefers_equal=self._prefers_equal
        )
        return [alike[place] for place in places]

    def _answer(self, group: Group, *, is_retry: bool = False) -> None:
        """Generates for a group and hands out what comes of it, to everyone in it."""
        began_s = time.monotonic()
        generations: Sequence[Generation] = ()
        failure: BaseException | None = None
        try:
            generations = self._run([item for item, _ in group])
            if len(generations) != len(group):
                raise RuntimeError(f"{len(generations)} answers for {len(group)} samples")
        except BaseException as error:  # noqa: BLE001 - the threads that wait must hear of it
            failure = error
            if isinstance(error, OutOfMemory | CannotCollate | CannotSplit | CallError):
                # Nobody reads where it came from, and its frames hold the tensors of what failed.
                error.__traceback__ = error.__cause__ = error.__context__ = None
        if failure is None:
            self._deliver(group, generations, time.monotonic() - began_s)
        elif isinstance(failure, OutOfMemory):
            self._without_room(group, failure, is_retry=is_retry)
        elif len(group) > 1 and isinstance(failure, CallError | CannotCollate):
            if isinstance(failure, CannotCollate):
                self._warn("collate", f"{failure}; such samples are generated one at a time")
            for entry in group:  # where one is to blame, the others have an answer
                self._answer([entry])
        elif len(group) > 1 and isinstance(failure, CannotSplit):
            self._most = 1
            self._warn("split", f"{failure}; continuing with one sample at a time")
            self._put_back(group)
        else:
            for _, future in group:
                future.set_exception(failure)

    def _deliver(self, group: Group, generations: Sequence[Generation], seconds: float) -> None:
        self._generating_s += seconds
        self._batches += 1
        self._samples += len(group)
        self._largest = max(self._largest, len(group))
        with self._changed:
            self._room.has_fitted(len(group), self._longest(group))
        for (_, future), generation in zip(group, generations, strict=True):
            future.set_result(generation)

    def _without_room(self, group: Group, failure: OutOfMemory, *, is_retry: bool) -> None:
        if len(group) > 1:
            longest = self._longest(group)
            with self._changed:
                limit = self._room.has_not_fitted(len(group), longest)
            what = f"out of memory with {len(group)} samples at once"
            size = f"{len(group) * longest:,} tokens"
            lengths = f"at most {limit:,} tokens at once of samples as long as these"
            self._warn(None, f"{what} ({size}); continuing with {lengths}")
            self._put_back(group)
        elif not is_retry:
            self._answer(group, is_retry=True)
        else:
            reason = str(failure)
            group[0][1].set_exception(CallError("model", reason, trace=reason))

    def _longest(self, group: Group) -> int:
        return max(self._tokens(item) for item, _ in group)

    def _put_back(self, group: Group) -> None:
        with self._changed:
            self._waiting = [*group, *self._waiting]

    def _warn(self, once: str | None, warning: str) -> None:
        """Prints a warning; of the same kind `once` only the first."""
        if once is not None and once in self._warnings:
            return
        self._warnings.add(once or "")
        with contextlib.suppress(OSError):  # a closed pipe must not end the one thread
            print(f"warning: {warning}", file=sys.stderr)
