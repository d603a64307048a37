"""Requests of many threads become batches of one model.

Every thread that has a request prepares its inputs, on the CPU, and waits; one thread of this
module generates. While it does, the others prepare what comes next, so that the model waits as
little as possible. Inputs go to the device with their batch: what is ready takes none of its
memory.
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

from models.wrappers.local.inputs import CannotCollate, CannotSplit, Encoded
from models.wrappers.local.room import Room
from models.wrappers.local.settings import ranks_here
from utils.contracts import GENERATING, Abandoned, CallError, Generation

LARGEST_AUTO = 64
LARGEST_AUTO_ON_CPU = 8  # there, memory that runs out ends the process instead of raising
SECOND_BATCH = 8  # for so many is prepared while the first batch is generated
READY_BYTES = 4 * 1024**3  # of prepared inputs; images of 12 million pixels take 0.3 GB each
SECONDS_TO_END = 2.0  # for the batch that is under way when all is over
# Padded tokens at which a batch takes about twice as long as without padding, where padding needs a
# mask. Measured on an H200 with the sizes of a 7B model (28 layers, sdpa): prompts of 1,024, 4,096
# and 16,384 tokens take 1.05, 1.18 and 1.57 times as long, decoding steps about 1.3 times. With
# replies of 24 tokens, eight padded samples are then as fast as 6.3, 5.2 and 1.3 equal ones; this
# number takes them for 7.1, 5.3 and 2.7.
PADDING_DOUBLES_AT = 65_536
GRACE_S = 0.02  # for requests that are just on their way, before a batch starts that is not full


class OutOfMemory(Exception):
    """The device had no room for this batch."""


@dataclass(frozen=True, slots=True, eq=False)
class _Entry:
    """A request that waits for its batch."""

    item: Encoded
    tokens: int  # of the prompt and of the reply that it may have
    future: Future[Generation]


def max_batch_size(size: int | str, *, on_cpu: bool) -> int:
    """The number of requests that a batch may come to hold."""
    if isinstance(size, int):
        return size
    return LARGEST_AUTO_ON_CPU if on_cpu else LARGEST_AUTO


def encoder_count() -> int:
    """The number of threads that prepare inputs; one core is left for what feeds the model."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return max(1, min(4, (cores or 2) // ranks_here() - 1))


def max_ahead(size: int) -> int:
    """The number of requests prepared or ready while a batch of `size` is generated.

    A batch is chosen among them: from twice as many come batches whose members are alike. One at a
    time there is nothing to choose, and more would only take up memory.
    """
    if size == 1:
        return max(2, encoder_count())
    return 2 * size + encoder_count()


def choose_similar(
    lengths: Sequence[int],
    size: int,
    tokens_for: Callable[[int], int],
    *,
    prefers_equal: bool = False,
) -> list[int]:
    """Return the indices of the first request, which has waited longest, and of those beside it.

    Those that differ least from it in length, as many as there is room for.

    Args:
        lengths: tokens of the requests, in the order in which they came.
        size: requests in a batch.
        tokens_for: padded tokens that a batch may have, by the length of its longest request.
        prefers_equal: take fewer, of one length, where padding would cost more than it brings.
    """
    by_distance = sorted(range(len(lengths)), key=lambda index: abs(lengths[index] - lengths[0]))
    similar: list[int] = []
    longest = 0
    for index in by_distance[:size]:
        padded_length = max(longest, lengths[index])
        if similar and (len(similar) + 1) * padded_length > tokens_for(padded_length):
            break
        similar.append(index)
        longest = padded_length
    equal = [index for index in similar if lengths[index] == lengths[0]]
    padded = len(similar) * longest
    if prefers_equal and len(equal) * (1 + padded / PADDING_DOUBLES_AT) >= len(similar):
        return equal
    return similar


class Batcher:
    """Collects what many threads bring and generates for several at once.

    Args:
        run: generates for a batch of items; results in order.
        size: how many at once; "auto" starts with one and grows to what memory has room for.
        on_cpu: the model runs there.
        reply_tokens: that a reply may have; they take memory like those of the prompt.
        prefers_equal: whether padding makes the model's attention slower.
        memory_share: says which share of the memory beside the weights the last batch took; None:
            nobody knows, and "auto" doubles until memory says no.
    """

    def __init__(
        self,
        run: Callable[[Sequence[Encoded]], Sequence[Generation]],
        size: int | str,
        *,
        on_cpu: bool,
        reply_tokens: int = 0,
        prefers_equal: bool = False,
        memory_share: Callable[[], float | None] = lambda: None,
    ) -> None:
        self._run = run
        self._memory_share = memory_share
        self._reply_tokens = reply_tokens
        self._prefers_equal = prefers_equal
        self._size = max_batch_size(size, on_cpu=on_cpu)
        # By length, in padded tokens: one long prompt that finds no room must not make all later
        # batches small.
        self._room = Room(grows=size == "auto")
        self._warned: set[str] = set()
        self._batch_sizes: list[int] = []  # of all batches that were generated
        self._generating_s = 0.0
        self._idle_s = 0.0
        self._shortest = sys.maxsize  # tokens of the shortest request so far
        self._changed = threading.Condition()
        self._encoders = threading.Semaphore(encoder_count())
        self._waiting: list[_Entry] = []
        self._preparing = 0
        self._abandonments = 0
        self._closed = False
        self._thread: threading.Thread | None = None

    def answer(self, make: Callable[[], Encoded]) -> Generation:
        """Make inputs, as soon as there is room for them, and wait until they were generated for.

        Raises:
            Abandoned: the run stopped before its turn.
        """
        abandonments = self._abandonments
        future = Future[Generation]()

        def is_over() -> bool:
            return self._closed or self._abandonments != abandonments

        with self._encoders:
            self._wait_for_room(is_over)
            entry = None
            try:
                item = make()
                tokens = max(1, item.input_length + self._reply_tokens)
                entry = _Entry(item, tokens, future)
            finally:
                with self._changed:
                    self._preparing -= 1
                    if entry is not None and not is_over():
                        self._waiting.append(entry)
                        self._shortest = min(self._shortest, entry.tokens)
                    else:
                        future.set_exception(Abandoned())
                    self._changed.notify_all()
        return future.result()

    def _wait_for_room(self, is_over: Callable[[], bool]) -> None:
        with self._changed:
            self._changed.wait_for(lambda: is_over() or self._has_room())
            if is_over():
                raise Abandoned
            self._preparing += 1
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name=GENERATING, daemon=True)
                self._thread.start()

    def _has_room(self) -> bool:
        """Whether one more request may be prepared; what is ready takes up memory, too."""
        ahead = self._preparing + len(self._waiting)
        if ahead == 0:
            return True
        ready_bytes = sum(entry.item.nbytes for entry in self._waiting)
        count = self._count_for(self._shortest)
        if not self._batch_sizes:  # the second batch may be much larger than the first one
            count = max(count, min(self._size, SECOND_BATCH))
        return ahead < max_ahead(count) and ready_bytes < READY_BYTES

    def _count_for(self, tokens: int) -> int:
        """The number of requests of that length that may go together."""
        return max(1, min(self._size, self._room.tokens_for(tokens) // tokens))

    def abandon(self) -> None:
        """Let go of everyone who waits; what is being generated is finished."""
        with self._changed:
            self._abandonments += 1
            self._let_go()
            self._changed.notify_all()

    def _let_go(self) -> None:
        for entry in self._waiting:
            entry.future.set_exception(Abandoned())
        self._waiting.clear()

    def close(self) -> None:
        """End the generating thread, so that it holds no model any more.

        It is waited for, but not for long: a generation that goes on must not hold the exit.
        """
        self._closed = True
        self.abandon()
        if self._thread is not None:
            self._thread.join(SECONDS_TO_END)

    def notes(self) -> list[str]:
        """Say how the time of the generating thread was spent, in one line."""
        sizes = self._batch_sizes
        if not sizes:
            return []
        return [
            f"the model generated for {self._generating_s:.1f} s in {len(sizes)} batches of "
            f"{sum(sizes) / len(sizes):.1f} (at most {max(sizes)}) and waited "
            f"{self._idle_s:.1f} s for inputs"
        ]

    def _work(self) -> None:
        while (batch := self._next_batch()) is not None:
            self._generate_for(batch)
            del batch  # its tensors must not be held while the next one is waited for

    def _next_batch(self) -> list[_Entry] | None:
        """Wait until there is a full batch, or nothing more is on its way; None: closed."""
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
            if self._batch_sizes:  # before the first batch nobody could be quicker
                self._idle_s += time.monotonic() - began_s
            batch = self._choose_batch()
            self._waiting = [entry for entry in self._waiting if entry not in batch]
            self._changed.notify_all()  # there is room for others to prepare
            return batch

    def _is_ready(self) -> bool:
        """Whether there is a full batch for the request that has waited longest."""
        return bool(self._waiting) and len(self._waiting) >= self._count_for(
            self._waiting[0].tokens
        )

    def _choose_batch(self) -> list[_Entry]:
        """Return the request that has waited longest, with others whose inputs go with its own."""
        form = self._waiting[0].item.form
        alike = [entry for entry in self._waiting if entry.item.form == form]
        lengths = [entry.tokens for entry in alike]
        indices = choose_similar(
            lengths, self._size, self._room.tokens_for, prefers_equal=self._prefers_equal
        )
        return [alike[index] for index in indices]

    def _generate_for(self, batch: list[_Entry], *, is_retry: bool = False) -> None:
        """Generate for a batch, and give everyone in it the answer or the reason for none."""
        began_s = time.monotonic()
        generations, failure = self._try(batch)
        if failure is None:
            self._deliver(batch, generations, time.monotonic() - began_s)
        elif isinstance(failure, OutOfMemory):
            self._on_out_of_memory(batch, failure, is_retry=is_retry)
        elif len(batch) > 1 and isinstance(failure, CannotCollate | CallError):
            if isinstance(failure, CannotCollate):
                self._warn(f"{failure}; such samples run one at a time", kind="collate")
            for entry in batch:  # where one is to blame, the others have an answer
                self._generate_for([entry])
        elif len(batch) > 1 and isinstance(failure, CannotSplit):
            self._size = 1
            self._warn(f"{failure}; continuing with one sample at a time", kind="split")
            self._put_back(batch)
        else:
            self._fail(batch, failure)

    def _try(self, batch: list[_Entry]) -> tuple[Sequence[Generation], BaseException | None]:
        """Generate, and return what failed: nothing may hold its traceback while others run."""
        try:
            generations = self._run([entry.item for entry in batch])
            if len(generations) != len(batch):
                raise RuntimeError(f"{len(generations)} answers for {len(batch)} samples")
        except BaseException as error:  # noqa: BLE001 - the threads that wait must hear of it
            if isinstance(error, OutOfMemory | CannotCollate | CannotSplit | CallError):
                # Nobody reads where it came from, and its frames hold the tensors of what failed.
                error.__traceback__ = None
                error.__cause__ = None
                error.__context__ = None
            return (), error
        return generations, None

    def _deliver(
        self, batch: list[_Entry], generations: Sequence[Generation], generating_s: float
    ) -> None:
        self._batch_sizes.append(len(batch))
        self._generating_s += generating_s
        share = self._memory_share()
        with self._changed:
            self._room.note_fit(len(batch), _longest(batch), share)
        for entry, generation in zip(batch, generations, strict=True):
            entry.future.set_result(generation)

    def _fail(self, batch: list[_Entry], failure: BaseException) -> None:
        for entry in batch:
            entry.future.set_exception(failure)

    def _on_out_of_memory(
        self, batch: list[_Entry], failure: OutOfMemory, *, is_retry: bool
    ) -> None:
        if len(batch) > 1:
            longest = _longest(batch)
            with self._changed:
                limit = self._room.note_overflow(len(batch), longest)
            self._warn(
                f"out of memory with {len(batch)} samples at once ({len(batch) * longest:,} "
                f"tokens); continuing with at most {limit:,} tokens at once for samples of this "
                "length"
            )
            self._put_back(batch)
        elif not is_retry:
            self._generate_for(batch, is_retry=True)
        else:
            self._fail(batch, CallError("model", str(failure), trace=str(failure)))

    def _put_back(self, batch: list[_Entry]) -> None:
        with self._changed:
            self._waiting = [*batch, *self._waiting]

    def _warn(self, warning: str, *, kind: str = "") -> None:
        """Print a warning; of the same `kind` only the first."""
        if kind in self._warned:
            return
        if kind:
            self._warned.add(kind)
        with contextlib.suppress(OSError):  # a closed pipe must not end the one thread
            print(f"warning: {warning}", file=sys.stderr)


def _longest(batch: Sequence[_Entry]) -> int:
    return max(entry.tokens for entry in batch)
