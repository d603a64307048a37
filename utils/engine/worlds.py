"""The worlds of a data set: each in a thread of its own, lent to one episode at a time.

A world is made when an episode first needs it, and made anew after it failed. All calls to it come
from the same thread, as browsers want it; that thread is idle while the model is queried, so that a
world can be closed whenever a run ends, in whatever way.
"""

from __future__ import annotations

import itertools
import queue
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import partial, partialmethod
from typing import Any

from utils.contracts import World, WorldError

PATIENCE_S = 8.0  # for closing all of them


class Worlds:
    """A pool of at most `places` worlds, each confined to its own thread.

    Only one thread borrows and closes. `make` gets the number of the world, from 0, that no other
    open one has: one that is made anew has the number of the world that failed.
    """

    def __init__(self, make: Callable[[int], World], places: int) -> None:
        self.places = places
        self._make = make
        self._all: list[_LentWorld] = []
        self._free: list[_LentWorld] = []

    def borrow(self, beside: Sequence[Worlds] = ()) -> _LentWorld | None:
        """Return a world for one episode; None: all of them are in use.

        Args:
            beside: pools of other data sets. Their free worlds are closed, and those in use take
                places of this one.
        """
        taken = {number for pool in beside for number in pool.close_free()}
        if self._free:
            return self._free.pop()
        taken |= {world.number for world in self._all}
        if len(taken) >= self.places:
            return None
        number = next(number for number in itertools.count() if number not in taken)
        world = _LentWorld(partial(self._make, number), number)
        self._all.append(world)
        return world

    def close_free(self) -> list[int]:
        """Close the worlds that are not in use; return the numbers of the others."""
        closing = self._free
        self._free = []
        self._all = [world for world in self._all if world not in closing]
        _close_all(closing)
        return [world.number for world in self._all]

    def give_back(self, world: _LentWorld) -> None:
        """Take a world back whose episode is over."""
        if world in self._all:
            self._free.append(world)

    def close(self) -> None:
        """Close every world; who borrows one after that gets a new one."""
        closing = self._all
        self._all = []
        self._free = []
        _close_all(closing)


class _LentWorld:
    """A world behind its thread. Whatever it raises is a `WorldError`, and its end."""

    def __init__(self, make: Callable[[], World], number: int) -> None:
        self.number = number
        self._make = make
        self._lock = threading.Lock()
        self._is_closed = False
        self._task: Any = None  # of the last reset; once more for another try of its episode
        self._deaths = 0  # in that task's tries, by actions
        self._calls: queue.SimpleQueue[Any] = queue.SimpleQueue()  # name, arguments, result
        self.thread = threading.Thread(target=self._live, daemon=True)
        self.thread.start()

    def close(self) -> None:
        """Close the world after the call that it may be in the middle of."""
        with self._lock:
            self._is_closed = True
            self._calls.put(None)

    def _call(self, name: str, *arguments: Any) -> Any:
        result: Future[Any] = Future()
        with self._lock:
            if self._is_closed:
                raise WorldError("the run has ended", "")
            self._calls.put((name, arguments, result))
        return result.result()

    reset = partialmethod(_call, "reset")
    step = partialmethod(_call, "step")
    evaluate = partialmethod(_call, "evaluate")

    def _next_call(self, world: World | None) -> Any:
        """Wait for it; a world that has a `rest` uses that time for what comes later."""
        if self._calls.empty() and (rest := getattr(world, "rest", None)):
            with suppress(Exception):  # what is asked of it next will tell
                rest()
        return self._calls.get()

    def _failure(self, name: str, error: BaseException) -> WorldError:
        """Return the error that whoever uses the world gets, in place of what it has raised."""
        trace = "".join(traceback.format_exception(error))
        by_action = getattr(error, "by_action", False)
        self._deaths += by_action
        failure = WorldError(f"{name}: {type(error).__name__}: {error}", trace, by_action=by_action)
        failure.deaths = self._deaths
        return failure

    def _live(self) -> None:
        world: World | None = None
        while (call := self._next_call(world)) is not None:
            name, arguments, result = call
            try:
                world = world or self._make()
                if name == "reset" and arguments[0] != self._task:
                    self._task, self._deaths = arguments[0], 0
                result.set_result(getattr(world, name)(*arguments))
            except BaseException as error:  # noqa: BLE001 - a world may raise anything
                _close(world)
                world = None
                result.set_exception(self._failure(name, error))
        _close(world)


def _close_all(worlds: Sequence[_LentWorld]) -> None:
    ends_s = time.monotonic() + PATIENCE_S
    for world in worlds:
        world.close()
    for world in worlds:
        world.thread.join(max(0.0, ends_s - time.monotonic()))


def _close(world: World | None) -> None:
    with suppress(Exception):  # it is gone, one way or the other
        if world is not None:
            world.close()
