"""The small key-value store of a torchrun group.

torchrun's agent keeps one for its own purposes; ranks leave each other notes in it. Every request
is answered at once: no collective, nothing that times out while one rank waits for another.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Protocol, TypeVar

from utils.engine.ranks.who import Rank
from utils.errors import StopRun

CONNECT_S = 300.0
Value = TypeVar("Value")


class GroupLost(StopRun):
    """What all ranks must have in common is not there: no other model would fare better."""


class Store(Protocol):
    """Notes that all ranks see.

    Raises (all methods):
        GroupLost: the store cannot be reached.
    """

    def put(self, key: str, value: str) -> None:
        """Writes a note over what is there."""
        ...

    def look(self, key: str) -> str | None:
        """Reads a note; None if there is none yet."""
        ...

    def add(self, key: str, by: int) -> int:
        """Adds to a counter that begins with 0; its new value. No two callers get the same."""
        ...


class TorchStore:
    """The store that torchrun's agent hosts, or rank 0 where there is no agent.

    Raises:
        GroupLost: it cannot be reached.
    """

    def __init__(self, rank: Rank) -> None:
        # Otherwise it prints the C++ stack of each lost connection.
        os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "FATAL")
        from torch.distributed import TCPStore

        self._where = f"{rank.address}:{rank.port}"
        self._prefix = f"evaluate/{rank.run_id}/"
        self._store: Any = self._asked(
            lambda: TCPStore(
                rank.address, rank.port, is_master=rank.hosts_store, wait_for_workers=False,
                timeout=timedelta(seconds=CONNECT_S), multi_tenant=True,
            )
        )  # fmt: skip

    def _asked(self, request: Callable[[], Value]) -> Value:
        try:
            return request()
        except RuntimeError as error:  # all of torch's errors about networks and stores
            reason = (str(error).splitlines() or ["?"])[0]
            raise GroupLost(
                f"the store through which the ranks agree ({self._where}) cannot be reached: "
                f"{reason} All answers are kept; the same command goes on"
            ) from None

    def put(self, key: str, value: str) -> None:
        """See `Store`."""
        self._asked(lambda: self._store.set(self._prefix + key, value))

    def look(self, key: str) -> str | None:
        """See `Store`."""
        if not self._asked(lambda: self._store.check([self._prefix + key])):
            return None  # `get` would wait for it
        value: bytes = self._asked(lambda: self._store.get(self._prefix + key))
        return value.decode()

    def add(self, key: str, by: int) -> int:
        """See `Store`."""
        return int(self._asked(lambda: self._store.add(self._prefix + key, by)))
