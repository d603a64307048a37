"""The group that torchrun's processes form: they find each other and leave notes.

The notes lie in a small store that torchrun's agent keeps, or rank 0. Every request is answered at
once: no collective, nothing that times out while one rank waits for another. torchrun is the
supervisor: a rank that dies ends the others, all answers are in the logs, and the same command
continues.
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar

from utils.errors import StopRun, UserError

CONNECT_S = 300.0
POLL_S = 0.1
ADVICE = "start with torchrun, or unset them"
SHARED_TYPES = frozenset({"transformers"})
"""Model entries whose samples the ranks share; rank 0 alone asks all others, because a server takes
as many requests from one process, and what a user's class does is not known."""
T = TypeVar("T")


class NoGroup(StopRun):
    """The ranks lack something that all of them must share."""


@dataclass(frozen=True, slots=True)
class Rank:
    """One process of `count` on all machines; rank 0 opens, merges, scores, prints."""

    number: int
    count: int
    machines: int = 1
    leads_machine: bool = True  # it is the first rank on its machine
    slurm_step: str = ""  # which srun has started it, as a name for files; "": torchrun

    @property
    def leads(self) -> bool:
        """Whether this is rank 0."""
        return self.number == 0


def rank_of(environ: Mapping[str, str]) -> Rank | None:
    """Return this process's rank; None where it is the only one, with or without torchrun."""
    if environ.get("WORLD_SIZE", "1") == "1" or "RANK" not in environ:
        return None
    missing = [name for name in ("MASTER_ADDR", "MASTER_PORT") if name not in environ]
    if missing:
        what = f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} not"
        raise UserError(f"RANK and WORLD_SIZE are set as by torchrun, but {what}; {ADVICE}")
    try:
        number = int(environ["RANK"])
        count = int(environ["WORLD_SIZE"])
        int(environ["MASTER_PORT"])
        if not 0 <= number < count:
            raise ValueError(f"RANK is {number}, expected 0 to {count - 1}")
        machines = int(environ.get("GROUP_WORLD_SIZE", "1"))
        local_number = int(environ.get("LOCAL_RANK", number))
    except ValueError as error:
        what = f"RANK, WORLD_SIZE and MASTER_PORT do not fit together: {error}"
        raise UserError(f"{what}; {ADVICE}") from None
    return Rank(number, count, machines, leads_machine=local_number == 0)


def slurm_rank_of(environ: Mapping[str, str]) -> Rank | None:
    """Return this process's rank among those of one srun; None where it is the only one.

    It says who starts servers where; for all else each process of srun is a run by itself. In the
    script of a job, which no srun has started, the variables of a step are missing.
    """
    if int(environ.get("SLURM_STEP_NUM_TASKS", "1")) == 1 or "SLURM_PROCID" not in environ:
        return None
    names = ("SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_RESTART_COUNT")
    return Rank(
        int(environ["SLURM_PROCID"]),
        int(environ["SLURM_STEP_NUM_TASKS"]),
        int(environ.get("SLURM_STEP_NUM_NODES", "1")),
        leads_machine=environ.get("SLURM_LOCALID", "0") == "0",
        slurm_step="-".join(environ.get(name, "0") for name in names),
    )


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
    run_id = os.environ.get("TORCHELASTIC_RUN_ID", "")
    restarts = os.environ.get("TORCHELASTIC_RESTART_COUNT", "")
    return PrefixStore(f"evaluate/{run_id}/{restarts}", store)


class Group:
    """This process's membership of the group."""

    def __init__(self, rank: Rank, connect: Callable[[], Any] = torch_store) -> None:
        self.rank = rank
        self.token = secrets.token_hex(4)  # of this process: one before it may still hold its log
        self._store = self._request(connect)

    def leave(self, key: str, note: object) -> None:
        """Leaves a note for the other ranks."""
        self._request(lambda: self._store.set(key, json.dumps(note)))

    def find(self, key: str) -> Any:
        """A note of this group; None if it is not there yet."""
        if not self._request(lambda: self._store.check([key])):
            return None
        return json.loads(self._request(lambda: self._store.get(key)))

    def count_up(self, key: str, by: int = 1) -> int:
        """Adds to a counter of the group; returns its value before. No two ranks get the same."""
        return int(self._request(lambda: self._store.add(key, by))) - by

    def wait_for(self, key: str, meanwhile: Callable[[], None] = lambda: None) -> Any:
        """Waits for a note; a rank that never leaves it has died, and torchrun ends this one."""
        while (note := self.find(key)) is None:
            meanwhile()
            time.sleep(POLL_S)
        return note

    def notes_of_others(
        self, key: str, meanwhile: Callable[[], None] = lambda: None
    ) -> dict[int, Any]:
        """Waits for the notes `key/<rank>` of all ranks but 0; returns them by rank."""
        others = range(1, self.rank.count)
        return {number: self.wait_for(f"{key}/{number}", meanwhile) for number in others}

    def _request(self, request: Callable[[], T]) -> T:
        try:
            return request()
        except RuntimeError as error:  # all of torch's errors about networks and stores
            reason = (str(error).splitlines() or ["?"])[0]
            what = f"the store that the ranks share cannot be reached: {reason}"
            raise NoGroup(f"{what} All answers are kept; the same command continues") from None


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
                group.wait_for("end")
        # When the first rank leaves with a failure, torchrun ends the others; they are done, too.
        with suppress(ValueError):  # not the main thread
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
    finally:
        if rank.leads:
            with suppress(StopRun):
                group.leave("end", note=True)
