"""The group that ranks form: they find each other, give signs of life, and notice who has none.

    hello/<rank>             a word of each rank's own, new in every process
    welcome/<word>           rank 0's answer: the token of this group
    <token>/beat/<rank>      goes up while the process lives; its finished samples
    <token>/given-up/<rank>  rank 0 goes on without it
    <token>/...              notes about the models; see `utils.engine.ranks.runs`

After a restart by torchrun an old group's notes are still in the store; words and token, unlike a
count of restarts, which the machines may count differently, keep the groups apart.
"""

from __future__ import annotations

import json
import secrets
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from utils.engine.ranks.store import GroupLost, Store, TorchStore
from utils.engine.ranks.who import Rank
from utils.errors import StopRun

START_S = 300.0  # for the first sign of life: torch from a busy network disk may take minutes
POLL_S = 0.1
BEATS_PER_SILENCE = 10.0
LONGEST_BEAT_S = 2.0
Found = TypeVar("Found")


class GivenUp(StopRun):
    """This rank was silent for too long; rank 0 goes on without it, and all is well without it."""


class Group:
    """This process's place in the group.

    Args:
        rank: this process's.
        store: what all ranks see.

    Attributes:
        token: of the group, the same on all ranks.
        finished: samples of this rank that have an answer; the others are told.
        given_up: ranks that were silent for too long, as rank 0 knows it.
        failed: ranks that some model did not work on, as rank 0 knows it.

    Raises:
        GroupLost: rank 0 does not answer.
    """

    def __init__(self, rank: Rank, store: Store) -> None:
        self.rank, self._store = rank, store
        self.finished = 0
        self._beat_s = min(LONGEST_BEAT_S, rank.silence_s / BEATS_PER_SILENCE)
        self._watched = range(1, rank.count) if rank.leads else range(1)
        self._words: dict[int, str] = {}
        self._beats: dict[int, str] = {}
        self._heard_s: dict[int, float] = {}
        self._began_s = self._listened_s = time.monotonic()
        self.given_up: set[int] = set()
        self.failed: set[int] = set()
        self._closed = threading.Event()
        self.token = secrets.token_hex(8) if rank.leads else self._find_leader()
        self._beating = threading.Thread(target=self._beat, daemon=True)
        self._beating.start()

    # -- notes ------------------------------------------------------------------------------------

    def tell(self, key: str, note: object) -> None:
        """Leaves a note that can be written as JSON for the other ranks."""
        self._store.put(f"{self.token}/{key}", json.dumps(note))

    def heard(self, key: str) -> Any:
        """A note of this group; None if it is not there yet."""
        note = self._store.look(f"{self.token}/{key}")
        return None if note is None else json.loads(note)

    def count_up(self, key: str, by: int = 1) -> int:
        """Adds to a counter of the group; its value before.

        Raises:
            GivenUp: this rank was silent and is back.
        """
        self.check_in()
        return self._store.add(f"{self.token}/{key}", by) - by

    def check_in(self) -> None:
        """Asks whether the group still counts on this rank.

        Raises:
            GivenUp: this rank was silent and is back.
        """
        if not self.rank.leads and self.heard(f"given-up/{self.rank.number}"):
            raise GivenUp(
                "this rank was silent for too long, rank 0 goes on without it; what "
                "it has answered is kept"
            )

    # -- waiting ----------------------------------------------------------------------------------

    def wait_for_leader(self, look: Callable[[], Found | None]) -> Found:
        """Looks again and again until there is something, as long as rank 0 is alive.

        Raises:
            GroupLost: rank 0 has been silent for too long.
        """
        while (found := look()) is None:
            if self._is_silent(0):
                raise GroupLost(
                    f"rank 0 has given no sign of life for {self.rank.silence_s:.0f} s; all "
                    "answers are kept, the same command goes on"
                )
            time.sleep(POLL_S)
        return found

    def wait_for_others(
        self, look: Callable[[int], Found | None], meanwhile: Callable[[], None] = lambda: None
    ) -> dict[int, Found]:
        """Rank 0 looks for something of each other rank; what is found, by rank.

        A rank that stays silent is given up; it is missing in what is returned.
        """
        found: dict[int, Found] = {}
        while True:
            for number in set(self._watched) - found.keys() - self.given_up:
                if (note := look(number)) is not None:
                    found[number] = note
                elif self._is_silent(number):
                    self.given_up.add(number)
                    self.tell(f"given-up/{number}", note=True)
            meanwhile()
            if found.keys() | self.given_up >= set(self._watched):
                return found
            time.sleep(POLL_S)

    @property
    def finished_by(self) -> dict[int, int]:
        """Samples that each rank which this one watches has finished, as far as heard."""
        beats = self._beats.copy()
        return {number: int(beat.partition(" ")[2]) for number, beat in beats.items()}

    # -- signs of life ----------------------------------------------------------------------------

    def _find_leader(self) -> str:
        word = secrets.token_hex(8)
        self._store.put(f"hello/{self.rank.number}", word)
        while (token := self._store.look(f"welcome/{word}")) is None:
            if time.monotonic() - self._began_s > START_S:
                raise GroupLost(
                    f"rank 0 has not answered within {START_S:.0f} s; were all ranks started with "
                    "the same command?"
                )
            time.sleep(POLL_S)
        self._heard_s[0] = time.monotonic()
        return token

    def _beat(self) -> None:
        number = 0
        try:
            while not self._closed.is_set():
                number += 1
                beat = f"{number} {self.finished}"
                self._store.put(f"{self.token}/beat/{self.rank.number}", beat)
                if self.rank.leads:
                    self._welcome()
                self._listen()
                has_all = not self.rank.leads or len(self._words) == len(self._watched)
                self._closed.wait(self._beat_s if has_all else POLL_S)
        except StopRun:  # the store is gone: whoever needs it next says so
            return

    def _welcome(self) -> None:
        for number in self._watched:
            if number in self._words and number in self._beats:
                continue
            word = self._store.look(f"hello/{number}")
            if word is not None and word != self._words.get(number):
                self._store.put(f"welcome/{word}", self.token)
                self._words[number] = word

    def _listen(self) -> None:
        for number in self._watched:
            beat = self._store.look(f"{self.token}/beat/{number}")
            if beat is not None and beat != self._beats.get(number):
                self._beats[number] = beat
                self._heard_s[number] = time.monotonic()
        self._listened_s = time.monotonic()

    def _is_silent(self, number: int) -> bool:
        # By the last time this process listened: it may have been stopped itself.
        heard_s = self._heard_s.get(number)
        if heard_s is None:
            return self._listened_s - self._began_s > max(START_S, self.rank.silence_s)
        return self._listened_s - heard_s > self.rank.silence_s

    def close(self) -> None:
        """No more signs of life."""
        self._closed.set()
        self._beating.join(self.rank.silence_s)


@contextmanager
def joined(rank: Rank) -> Iterator[Group]:
    """The group that torchrun has started, as long as this rank belongs to it.

    The others do not leave before rank 0, because the store may live on their machine.

    Raises:
        GroupLost: the store or rank 0 cannot be reached.
    """
    group = Group(rank, TorchStore(rank))
    try:
        yield group
        if not rank.leads:
            with suppress(StopRun):  # all that this rank had to do is done
                group.wait_for_leader(lambda: group.heard("end"))
        # All is written. The first rank that leaves with a failure makes torchrun end the others,
        # which would call themselves interrupted.
        with suppress(ValueError):  # not the main thread
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
    finally:
        if rank.leads:
            with suppress(StopRun):
                group.tell("end", note=True)
        group.close()
