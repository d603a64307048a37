"""The group that torchrun's processes form: they find each other, leave notes, notice silence.

The notes lie in a small store that torchrun's agent keeps, or rank 0. Every request is answered at
once: no collective, nothing that times out while one rank waits for another.

    beat/<rank>      [count, model, finished]: changes while the process lives
    given-up/<rank>  rank 0 goes on without it
    end              rank 0 is done
    ...              notes about the models; see `utils.engine.ranks.runs`
"""

from __future__ import annotations

import json
import math
import os
import secrets
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar

from utils.errors import StopRun, UserError

CONNECT_S = 300.0
START_S = 300.0  # for the first heartbeat: torch from a busy network disk may take minutes
DEFAULT_SILENCE_S = 60.0
POLL_S = 0.1
CURE = "start with torchrun, or unset them"
LONGEST_BEAT_S = 2.0
SHARED_TYPES = frozenset({"transformers"})
"""Model entries whose samples the ranks share; rank 0 alone asks all others, because a server takes
as many requests from one process, and what a user's class does is not known."""
Found = TypeVar("Found")


class NoGroup(StopRun):
    """What all ranks must have in common is not there: no other model would fare better."""


class LateRank(StopRun):
    """This rank was silent for too long; rank 0 goes on without it, and all is well without it."""


@dataclass(frozen=True, slots=True)
class Rank:
    """One process of `count` on all machines; rank 0 `leads`: opens, merges, scores, prints."""

    number: int
    count: int
    silence_s: float = DEFAULT_SILENCE_S  # without a heartbeat, until another rank is given up

    @property
    def leads(self) -> bool:
        return self.number == 0


def rank_of(environ: Mapping[str, str]) -> Rank | None:
    """This process's rank; None where it is the only one, with or without torchrun."""
    if environ.get("WORLD_SIZE", "1") == "1" or "RANK" not in environ:
        return None
    if missing := [name for name in ("MASTER_ADDR", "MASTER_PORT") if name not in environ]:
        what = f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} not"
        raise UserError(f"RANK and WORLD_SIZE are set as by torchrun, but {what}; {CURE}")
    try:
        number, count = int(environ["RANK"]), int(environ["WORLD_SIZE"])
        int(environ["MASTER_PORT"])
        if not 0 <= number < count:
            raise ValueError(f"RANK is {number}, expected 0 to {count - 1}")
    except ValueError as error:
        what = f"RANK, WORLD_SIZE and MASTER_PORT do not fit together: {error}"
        raise UserError(f"{what}; {CURE}") from None
    text = environ.get("EVAL_RANK_SILENCE_S", "").strip() or str(DEFAULT_SILENCE_S)
    with suppress(ValueError):
        if 1 <= float(text) < math.inf:  # NaN is not, either
            return Rank(number, count, float(text))
    raise UserError(f"EVAL_RANK_SILENCE_S is {text!r}; expected 1 or more seconds, e.g. 60")


def torch_store() -> Any:
    """The store that torchrun's agent hosts, or rank 0 where there is no agent."""
    # Otherwise it prints the C++ stack of each lost connection.
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "FATAL")
    from torch.distributed import PrefixStore, TCPStore

    has_agent = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
    store = TCPStore(
        os.environ["MASTER_ADDR"],
        int(os.environ["MASTER_PORT"]),
        wait_for_workers=False,
        is_master=os.environ["RANK"] == "0" and not has_agent,
        timeout=timedelta(seconds=CONNECT_S),
        multi_tenant=True,
    )
    # The notes of a group before a restart by torchrun are still there.
    names = ("TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT")
    return PrefixStore("/".join(["evaluate", *(os.environ.get(n, "") for n in names)]), store)


class Group:
    """This process's place in the group."""

    def __init__(self, rank: Rank, connect: Callable[[], Any] = torch_store) -> None:
        self.rank = rank
        self.token = secrets.token_hex(4)  # of this process: one before it may still hold its log
        # As rank 0 knows it: ranks that were silent for too long, or that a model failed on.
        self.given_up: set[int] = set()
        self.failed: set[int] = set()
        self.finished = ("", 0)  # a model, and how many of its samples are finished here
        self._watched = range(1, rank.count) if rank.leads else range(1)
        self._beats: dict[int, list[Any]] = {}
        self._heard_s: dict[int, float] = {}
        self._began_s = self._listened_s = time.monotonic()
        self._closed = threading.Event()
        self._store = self._asked(connect)
        self._beating = threading.Thread(target=self._beat, daemon=True)
        self._beating.start()

    # -- notes ------------------------------------------------------------------------------------

    def leave(self, key: str, note: object) -> None:
        """Leaves a note for the other ranks."""
        self._asked(lambda: self._store.set(key, json.dumps(note)))

    def find(self, key: str) -> Any:
        """A note of this group; None if it is not there yet."""
        there = self._asked(lambda: self._store.check([key]))
        return json.loads(self._asked(lambda: self._store.get(key))) if there else None

    def count_up(self, key: str) -> int:
        """Adds one to a counter of the group; its value before. No two ranks get the same."""
        if self.find(f"given-up/{self.rank.number}"):
            what = "this rank was silent for too long, so rank 0 continues without it"
            raise LateRank(f"{what}; its answers are kept")
        return int(self._asked(lambda: self._store.add(key, 1))) - 1

    def _asked(self, request: Callable[[], Found]) -> Found:
        try:
            return request()
        except RuntimeError as error:  # all of torch's errors about networks and stores
            reason = (str(error).splitlines() or ["?"])[0]
            what = f"the store that the ranks share cannot be reached: {reason}"
            raise NoGroup(f"{what} All answers are kept; the same command continues") from None

    # -- waiting ----------------------------------------------------------------------------------

    def wait_for_leader(self, look: Callable[[], Found | None]) -> Found:
        """Looks again and again until there is something, as long as rank 0 is alive."""
        while (found := look()) is None:
            if self._is_silent(0):
                what = f"rank 0 has given no heartbeat for {self.rank.silence_s:.0f} s"
                raise NoGroup(f"{what}; all answers are kept; the same command continues")
            time.sleep(POLL_S)
        return found

    def wait_for_others(
        self, look: Callable[[int], Found | None], meanwhile: Callable[[], None] = lambda: None
    ) -> dict[int, Found]:
        """What rank 0 finds of each other rank; one that stays silent is given up, and missing."""
        found: dict[int, Found] = {}
        while True:
            for number in set(self._watched) - found.keys() - self.given_up:
                if (note := look(number)) is not None:
                    found[number] = note
                elif self._is_silent(number):
                    self.given_up.add(number)
                    self.leave(f"given-up/{number}", note=True)
            meanwhile()
            if found.keys() | self.given_up >= set(self._watched):
                return found
            time.sleep(POLL_S)

    # -- heartbeats -------------------------------------------------------------------------------

    def finished_by_others(self, model: str) -> int:
        """Samples of a model that the ranks which this one watches are known to have finished."""
        return sum(done for _, name, done in self._beats.copy().values() if name == model)

    def _beat(self) -> None:
        beat_s = min(LONGEST_BEAT_S, self.rank.silence_s / 10)
        count = 0
        with suppress(StopRun):  # the store is gone: whoever needs it next says so
            while not self._closed.is_set():
                count += 1
                self.leave(f"beat/{self.rank.number}", [count, *self.finished])
                for other in self._watched:
                    beat = self.find(f"beat/{other}")
                    if beat is not None and beat != self._beats.get(other):
                        self._beats[other], self._heard_s[other] = beat, time.monotonic()
                self._listened_s = time.monotonic()
                self._closed.wait(beat_s if len(self._beats) == len(self._watched) else POLL_S)

    def _is_silent(self, number: int) -> bool:
        # By the last time this process listened: it may have been stopped itself.
        heard_s = self._heard_s.get(number)
        if heard_s is None:
            return self._listened_s - self._began_s > max(START_S, self.rank.silence_s)
        return self._listened_s - heard_s > self.rank.silence_s

    def close(self) -> None:
        """No more heartbeats."""
        self._closed.set()
        self._beating.join(self.rank.silence_s)


@contextmanager
def joined(rank: Rank) -> Iterator[Group]:
    """The group that torchrun has started, as long as this rank belongs to it.

    The others do not leave before rank 0, because the store may live on their machine.
    """
    group = Group(rank)
    try:
        yield group
        if not rank.leads:
            with suppress(StopRun):  # all that this rank had to do is done
                group.wait_for_leader(lambda: group.find("end"))
        # When the first rank leaves with a failure, torchrun ends the others; they are done, too.
        with suppress(ValueError):  # not the main thread
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
    finally:
        if rank.leads:
            with suppress(StopRun):
                group.leave("end", note=True)
        group.close()
