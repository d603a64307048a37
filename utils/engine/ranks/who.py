"""Which of the processes that torchrun started this one is, and how much of it a user sees."""

from __future__ import annotations

import math
import os
import socket
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from utils.errors import UserError

DEFAULT_SILENCE_S = 60.0
LEADER_SPEAKS_FIRST_S = 30.0  # ranks start a few seconds apart, on a busy machine more
SHARED_TYPES = frozenset({"transformers"})
"""Model entries whose samples the ranks share. All others are asked by rank 0 alone: a server takes
as many requests from one process, and what a class of the user's does is not known."""


@dataclass(frozen=True, slots=True)
class Rank:
    """One process of a group.

    Attributes:
        number: 0 leads: it names the run folder, merges, scores and prints.
        count: of all processes on all machines.
        address, port: of the store through which they agree.
        run_id: of torchrun, so that two runs at one store stay apart.
        hosts_store: nobody else does; without torchrun's agent rank 0 must.
        silence_s: after so long without a sign of life another rank is given up.
    """

    number: int
    count: int
    address: str
    port: int
    run_id: str
    hosts_store: bool
    silence_s: float

    @property
    def leads(self) -> bool:
        """Whether this is rank 0."""
        return self.number == 0

    def takes_part(self, imp_type: str) -> bool:
        """Whether this rank asks a model of this type."""
        return self.leads or imp_type in SHARED_TYPES


def rank_of(environ: Mapping[str, str]) -> Rank | None:
    """This process's rank; None where it is the only one, with or without torchrun.

    Raises:
        UserError: the variables that torchrun sets contradict each other.
    """
    if environ.get("WORLD_SIZE", "1") == "1" or "RANK" not in environ:
        return None
    try:
        number, count = int(environ["RANK"]), int(environ["WORLD_SIZE"])
        address, port = environ["MASTER_ADDR"], int(environ["MASTER_PORT"])
    except (KeyError, ValueError) as error:
        raise UserError(
            "RANK and WORLD_SIZE are set as torchrun does it, but not all that goes with them "
            f"({type(error).__name__}: {error}); start with torchrun, or unset WORLD_SIZE"
        ) from None
    if not 0 <= number < count:
        raise UserError(f"RANK {number} does not fit WORLD_SIZE {count}; start with torchrun")
    silence_s = _silence_s(environ)
    return Rank(
        number, count, address, port, environ.get("TORCHELASTIC_RUN_ID", "none"),
        hosts_store=number == 0 and environ.get("TORCHELASTIC_USE_AGENT_STORE") != "True",
        silence_s=silence_s,
    )  # fmt: skip


def _silence_s(environ: Mapping[str, str]) -> float:
    text = environ.get("EVAL_RANK_SILENCE_S", "").strip()
    try:
        silence_s = float(text or DEFAULT_SILENCE_S)
    except ValueError:
        silence_s = math.nan
    if not 1 <= silence_s < math.inf:  # NaN is not, either
        raise UserError(
            f"EVAL_RANK_SILENCE_S is {text!r}; expected seconds from 1 up, "
            f"e.g. {DEFAULT_SILENCE_S:.0f}"
        )
    return silence_s


def rank_0_speaks(rank: Rank | None) -> bool:
    """Waits for rank 0 to tell the same problems, most likely: torchrun then ends this process."""
    if rank is None or rank.leads:
        return False
    try:
        time.sleep(LEADER_SPEAKS_FIRST_S)
    except KeyboardInterrupt:
        return True
    return False


def speak_of_errors_only(rank: Rank) -> None:
    """What a rank other than 0 prints would stand there once per GPU; only its errors count."""
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")  # transformers heeds it too
    sys.stdout = Path(os.devnull).open("w")  # noqa: SIM115 - to the end
    sys.stderr = _Named(sys.stderr, f"rank {rank.number} ({socket.gethostname()}): ")


class _Named:
    """A text stream that puts a name before each line."""

    def __init__(self, stream: Any, name: str) -> None:
        self._stream, self._name, self._rest = stream, name, ""

    def write(self, text: str) -> int:
        """Passes on whole lines; of a progress bar only its last state."""
        *lines, self._rest = (self._rest + text).split("\n")
        for line in lines:
            self._stream.write(f"{self._name}{line.rpartition(chr(13))[2]}\n")
        return len(text)

    def flush(self) -> None:
        """Hands whole lines to the operating system."""
        self._stream.flush()

    def isatty(self) -> bool:
        """No bars."""
        return False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
