"""Requests of many threads become batches of one model.

Every thread that asks brings its inputs ready-made and waits; one thread of this module generates.
While it does, the others prepare what comes next, so that the model waits as little as possible.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from models.wrappers.local.account import Account
from models.wrappers.local.grouping import (
    READY_BYTES,
    encoder_count,
    largest,
    most_ahead,
    nearest_in_length,
)
from models.wrappers.local.memory import free_memory
from utils.contracts import Abandoned, CallError
from utils.engine.interrupt import GENERATING
from utils.errors import StopRun

SECONDS_TO_END = 2.0  # for the batch that is under way when all is over
GRACE_S = 0.02  # for requests that are just on their way, before a batch starts that is not full


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


@dataclass(eq=False)
class _Waiting(Generic[Item, Result]):
    """One request that waits for its turn."""

    item: Item
    nbytes: int  # asked of the item once: whoever waits to prepare more adds them up
    is_last_try: bool = False
    done: threading.Event = field(default_factory=threading.Event)
    result: Result | None = None
    error: BaseException | None = None


class Batcher(Generic[Item, Result]):
    """Collects what many threads bring and generates for several at once.

    Args:
        run: generates for a batch; results in order.
        size: how many at once; "auto" starts with one and doubles until memory says no.
        on_cpu: whether running out of memory would end the process, so that "auto" must be modest.
    """

    def __init__(
        self, run: Callable[[Sequence[Item]], Sequence[Result]], size: int | str, *, on_cpu: bool
    ) -> None:
        self._run = run
        self._is_auto = size == "auto"
        self._size = 1 if isinstance(size, str) else size
        self._most = largest(size, on_cpu=on_cpu)
        self._changed = threading.Condition()
        self._waiting: deque[_Waiting[Item, Result]] = deque()
        self._postponed: deque[_Waiting[Item, Result]] = deque()
        self._is_alone = False  # a postponed one is being generated
        self._preparing = 0
        self._is_generating = self._is_draining = False
        self._most_ahead = most_ahead(self._most)  # less once memory has run out
        self._one_at_a_time = threading.Lock()
        self._thread: threading.Thread | None = None
        self._encoders = threading.BoundedSemaphore(encoder_count())
        self._largest_bytes: int | None = None  # of an item so far
        self._abandonments = 0
        self._closed = False
        self.account = Account()

    def prepare(self, make: Callable[[], Item]) -> Item:
        """Makes inputs; where memory runs out, once more, with nothing else in it but the model.

        Raises:
            CallError: there was no room even then.
            Abandoned: the run stopped meanwhile.
        """
        with self.preparing():
            size = self._size
            with contextlib.suppress(OutOfMemory):
                return make()
        with self._one_at_a_time, self._alone(size):
            try:
                return make()
            except OutOfMemory as error:
                problem = str(error)
        raise CallError("model", problem)

    @contextmanager
    def _alone(self, size_before: int) -> Iterator[None]:
        """All that is ready has been generated; from now on batches are smaller.

        Args:
            size_before: of batches when memory ran out; if they have shrunk since, that will do.
        """
        with self._changed:
            before, size = self._abandonments, self._size
            self._is_draining = True
            self._keep_less_ready()
            if is_smaller := size > 1 and size >= size_before:
                self._size = self._most = size // 2
        try:
            if is_smaller:
                _warn(f"out of memory with inputs for {size} at once; going on with {size // 2}")
            with self._changed:
                while self._abandonments == before:
                    if self._waiting or self._postponed or self._is_generating or self._preparing:
                        self._changed.wait()
                    elif not self._changed.wait(GRACE_S):  # nobody was just on his way
                        break
                if self._abandonments != before:
                    raise Abandoned
                self._preparing += 1
            try:
                free_memory()
                yield
            finally:
                with self._changed:
                    self._preparing -= 1
        finally:
            with self._changed:
                self._is_draining = False
                self._changed.notify_all()

    def _keep_less_ready(self) -> None:
        """Memory ran out while so many inputs took up a part of it."""
        self._most_ahead = max(1, min(self._most_ahead, most_ahead(self._size)) // 2)

    @contextmanager
    def preparing(self) -> Iterator[None]:
        """Around the making of inputs; waits while enough are ready.

        Raises:
            Abandoned: the run stopped meanwhile.
        """
        with self._changed:
            before = self._abandonments
            while self._is_ahead() and self._abandonments == before:
                self._changed.wait()
            if self._abandonments != before:
                raise Abandoned
            self._preparing += 1
        try:
            with self._encoders:
                yield
        finally:
            with self._changed:
                self._preparing -= 1
                self._changed.notify_all()

    def _is_ahead(self) -> bool:
        """Whether more inputs would only take up memory; one may always be prepared."""
        if self._is_draining or self._postponed or self._is_alone:
            return True
        coming = self._preparing + len(self._waiting)
        if self._largest_bytes is None:  # the first ones show how much that is
            return coming >= encoder_count()
        if coming >= min(self._most_ahead, most_ahead(self._size)):
            return True
        ready_bytes = sum(waiting.nbytes for waiting in self._waiting)
        return coming > 0 and ready_bytes + self._preparing * self._largest_bytes > READY_BYTES

    def generate(self, item: Item) -> Result:
        """Waits until a batch with this item has been generated.

        Raises:
            CallError: the model cannot answer this one.
            StopRun: batches are not possible with such inputs.
            Abandoned: the run stopped before its turn.
        """
        waiting: _Waiting[Item, Result] = _Waiting(item, item.nbytes)
        with self._changed:
            self._waiting.append(waiting)
            self._largest_bytes = max(self._largest_bytes or 0, waiting.nbytes)
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name=GENERATING, daemon=True)
                self._thread.start()
            self._changed.notify_all()
        waiting.done.wait()
        if waiting.error is not None:
            raise waiting.error
        assert waiting.result is not None
        return waiting.result

    def abandon(self) -> None:
        """Lets go of everyone who waits; what is being generated is finished."""
        with self._changed:
            self._abandonments += 1
            self._let_go()
            self._changed.notify_all()

    def _let_go(self) -> None:
        for waiting in (*self._waiting, *self._postponed):
            _settle(waiting, Abandoned())
        self._waiting.clear()
        self._postponed.clear()

    def close(self) -> None:
        """Ends the generating thread, so that it holds no model any more.

        It is waited for, but not for long: a generation that goes on must not hold the exit (see
        `utils.engine.interrupt.leave`).
        """
        self.abandon()
        with self._changed:
            self._closed = True
            thread = self._thread
            self._changed.notify_all()
        if thread is not None:
            thread.join(SECONDS_TO_END)

    # -- the generating thread --------------------------------------------------------------------

    def _work(self) -> None:
        while (group := self._next_group()) is not None:
            try:
                self._answer(group)
            finally:
                with self._changed:
                    self._is_generating = self._is_alone = False
                    self._changed.notify_all()

    def _answer(self, group: list[_Waiting[Item, Result]]) -> None:
        no_room: str | None = None
        try:
            self._run_for(group)
        except OutOfMemory as error:
            no_room = str(error)
        except CannotCollate as error:
            self._do_without_batches(group, error)
            return
        except CallError as error:
            if len(group) == 1:
                _settle(group[0], error)
                return
        except BaseException as error:  # noqa: BLE001 - the threads that wait must hear of it
            for waiting in group:
                _settle(waiting, error)
            return
        else:
            self._grow(len(group))
            return
        # Outside of the handlers: their tracebacks held the tensors of what failed.
        free_memory()
        if no_room is None:  # one of them is to blame; the others have an answer
            for waiting in group:
                self._answer([waiting])
        elif len(group) > 1:
            self._shrink(group)
        else:
            self._postpone(group[0], no_room)

    def _postpone(self, waiting: _Waiting[Item, Result], no_room: str) -> None:
        """Tries once more, when no inputs of others take up memory beside it."""
        with self._changed:
            if not waiting.is_last_try:
                waiting.is_last_try = True
                self._postponed.append(waiting)
                self._keep_less_ready()
                return
        _settle(waiting, CallError("model", no_room))

    def _run_for(self, group: list[_Waiting[Item, Result]]) -> None:
        began_s = time.monotonic()
        results = self._run([waiting.item for waiting in group])
        self.account.generating_s += time.monotonic() - began_s
        self.account.batches += 1
        self.account.samples += len(group)
        for waiting, result in zip(group, results, strict=True):
            waiting.result = result
            waiting.done.set()

    def _next_group(self) -> list[_Waiting[Item, Result]] | None:
        """Blocks until there is a full batch, or nothing more is on its way; None: closed."""
        began_s = time.monotonic()
        with self._changed:
            while not self._closed:
                count = len(self._waiting)
                if count >= self._size:
                    break
                if not (count or self._preparing) and self._postponed:
                    if self._changed.wait(GRACE_S):
                        continue
                    self._is_generating = self._is_alone = True
                    return [self._postponed.popleft()]
                if self._preparing or not count:
                    self._changed.wait()
                    continue
                # Woken sooner: somebody has just prepared his inputs, and is on his way with them.
                if not self._changed.wait(GRACE_S) and not self._preparing:
                    break
            if self._closed:
                self._let_go()  # of what came back from a batch that failed meanwhile
                return None
            if self.account.batches:  # before the first batch nobody could be quicker
                self.account.idle_s += time.monotonic() - began_s
            self._is_generating = True
            return self._take(min(len(self._waiting), self._size))

    def _take(self, count: int) -> list[_Waiting[Item, Result]]:
        lengths = [waiting.item.input_length for waiting in self._waiting]
        group = [self._waiting[place] for place in nearest_in_length(lengths, count)]
        for waiting in group:
            self._waiting.remove(waiting)
        self._changed.notify_all()  # there is room for others to prepare
        return group

    def _grow(self, count: int) -> None:
        with self._changed:
            if self._is_auto and count == self._size and self._size < self._most:
                self._size = min(2 * self._size, self._most)
                self._changed.notify_all()

    def _shrink(self, group: list[_Waiting[Item, Result]]) -> None:
        with self._changed:
            self._size = self._most = max(1, len(group) // 2)
            self._waiting.extendleft(reversed(group))
        _warn(f"out of memory with {len(group)} at once; going on with {self._size}")

    def _do_without_batches(
        self, group: list[_Waiting[Item, Result]], error: CannotCollate
    ) -> None:
        if not self._is_auto or len(group) == 1:
            stop = StopRun(f"{error}; set batch_size to 1")
            for waiting in group:
                _settle(waiting, stop)
            return
        _warn(f"{error}; going on with one at a time")
        with self._changed:
            self._size = self._most = 1
            self._waiting.extendleft(reversed(group))


def _warn(text: str) -> None:
    """A closed pipe must not end the one thread that generates."""
    with contextlib.suppress(OSError):
        print(f"warning: {text}", file=sys.stderr)


def _settle(waiting: _Waiting[Item, Result], error: BaseException) -> None:
    if isinstance(error, CallError):
        # Nobody reads where it came from, and its frames hold the tensors of what failed while the
        # next batch is generated.
        error.__traceback__ = error.__cause__ = error.__context__ = None
    waiting.error = error
    waiting.done.set()
