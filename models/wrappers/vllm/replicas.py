"""Several vLLM servers of one checkpoint on this machine, each on GPUs of its own.

A replica that dies is started again, twice at most; then it is left out, and the others go on.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from models.wrappers.api.addresses import Addresses
from models.wrappers.vllm.arguments import split_options
from models.wrappers.vllm.server import VllmServer
from utils.config.endpoint import Endpoint
from utils.errors import StopRun

STARTS = 3  # of one replica, the first one among them
SECONDS_BETWEEN_LOOKS = 0.5
_OF_ONE_SERVER = {  # arguments that say how many GPUs it takes, as factors
    "tensor-parallel-size": ("tensor-parallel-size", "tp"),
    "pipeline-parallel-size": ("pipeline-parallel-size", "pp"),
    "data-parallel-size": ("data-parallel-size", "dp"),
}


@dataclass(frozen=True, slots=True)
class GpuShares:
    """The GPUs of each replica; None: the replica gets no list of GPUs."""

    devices: Sequence[str | None]
    problem: str = ""
    note: str = ""  # on GPUs that are left over


def gpus_of(environ: Mapping[str, str]) -> list[str]:
    """The GPUs that may be used, as CUDA_VISIBLE_DEVICES names them."""
    visible = environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        return [name.strip() for name in visible.split(",") if name.strip()]
    cards = Path("/proc/driver/nvidia/gpus").glob("*/information")
    return [str(number) for number, _ in enumerate(cards)]


def gpus_per_server(words: Sequence[str]) -> int:
    """The number of GPUs that a server takes by its arguments.

    Raises:
        ValueError: a parallel size is no number.
    """
    values = dict(split_options(words)[1])
    count = 1
    for names in _OF_ONE_SERVER.values():
        for name in names:
            if values.get(name):
                count *= int(values[name][0])
    return count


def share_gpus(replicas: int | str, words: Sequence[str], gpus: Sequence[str]) -> GpuShares:
    """Share GPUs among replicas.

    Args:
        replicas: how many there are to be, or "auto": as many as fit.
        words: the arguments of each server.
        gpus: those of this machine; none: it runs on the CPU, and a number of replicas is needed.
    """
    try:
        per_server = gpus_per_server(words)
    except ValueError as error:
        return GpuShares([], f"serve_args: a parallel size is no number: {error}")
    if replicas == "auto" and len(gpus) < per_server:
        has = "no GPU" if not gpus else f"{len(gpus)} GPUs, and one server takes {per_server}"
        return GpuShares([], f'replicas: "auto" counts GPUs, but this machine has {has}')
    count = len(gpus) // per_server if replicas == "auto" else int(replicas)
    if not gpus:
        return GpuShares([None] * count)
    if count * per_server > len(gpus):
        return GpuShares(
            [],
            f"replicas: {count} with {per_server} GPUs each need more than the {len(gpus)} here",
        )
    devices = [
        ",".join(gpus[start * per_server : (start + 1) * per_server]) for start in range(count)
    ]
    spare = gpus[count * per_server :]
    return GpuShares(devices, note=f"GPUs without a server: {', '.join(spare)}" if spare else "")


class Replicas:
    """Keeps servers running, one for each set of devices, and knows their addresses.

    Args:
        devices: of each replica.
        new_server: starts the server of a replica on its devices.
        endpoint_of: its address.
        timeout_s: how long one may take to start.
        show: prints a line.
    """

    def __init__(
        self,
        devices: Sequence[str | None],
        *,
        new_server: Callable[[str | None], VllmServer],
        endpoint_of: Callable[[VllmServer], Endpoint],
        timeout_s: float,
        show: Callable[[str], None],
    ) -> None:
        self._devices = devices
        self._new_server = new_server
        self._endpoint_of = endpoint_of
        self._timeout_s = timeout_s
        self._show = show
        self._endpoints: dict[int, Endpoint] = {}  # of those that answer, by number
        self._left = set(range(len(devices)))  # those that are not given up
        self._untried = set(self._left)
        self._first_tries = threading.Semaphore(0)
        self._problem: StopRun | None = None  # of the last start that failed
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._abandoned = threading.Event()  # none is started or waited for any more
        self._closing = threading.Event()

    def start(self) -> bool:
        """Start all of them, once, and wait for none; return whether this call did."""
        with self._lock:
            if self._threads:
                return False
            self._threads = [
                threading.Thread(target=self._keep, args=(number,), daemon=True)
                for number in range(len(self._devices))
            ]
            for thread in self._threads:
                thread.start()
            return True

    def answering(self) -> list[Endpoint]:
        """The servers that answer now."""
        with self._lock:
            return [*self._endpoints.values()]

    def addresses(self) -> Addresses:
        """The servers that answer; the first call starts them, and waits for each.

        Raises:
            StopRun: none of them could be started.
        """
        if self.start():
            for _ in self._threads:
                self._first_tries.acquire()
            if not self._endpoints and self._problem is not None:
                self.abandon()
                raise self._problem
        return Addresses(self.answering())

    def may_come(self) -> bool:
        """Whether any replica is not given up."""
        return bool(self._left) and not self._abandoned.is_set()

    def abandon(self) -> None:
        """Start no server, and wait for none, any more."""
        self._abandoned.set()

    def close(self) -> None:
        """Stop all servers; a matter of seconds."""
        self._abandoned.set()
        self._closing.set()
        for thread in self._threads:
            thread.join()

    def _keep(self, number: int) -> None:
        """Keep one replica running until the run is over or it has died too often."""
        for _ in range(STARTS):
            if self._abandoned.is_set():
                break
            try:
                self._run(number)
            except StopRun as problem:
                self._problem = problem
                if not self._abandoned.is_set():
                    self._show(f"replica {number}: {problem}")
            finally:
                self._note_first_try(number)
        with self._lock:
            self._left.discard(number)
        if not self._abandoned.is_set():
            self._show(f"replica {number} is left out: it was started {STARTS} times")

    def _note_first_try(self, number: int) -> None:
        """Note that a replica has answered or failed, for the one who waits for all of them."""
        with self._lock:
            is_first = number in self._untried
            self._untried.discard(number)
        if is_first:
            self._first_tries.release()

    def _run(self, number: int) -> None:
        """Run a server until it ends or is no longer needed; StopRun says why it has ended."""
        server = self._new_server(self._devices[number])
        has_failed = True
        try:
            server.wait_until_ready(self._timeout_s, self._abandoned, self._show)
            self._show(f"replica {number} answers on port {server.port}; its log is {server.log}")
            with self._lock:
                self._endpoints[number] = self._endpoint_of(server)
            self._note_first_try(number)
            while not server.has_ended(SECONDS_BETWEEN_LOOKS):
                if self._closing.is_set():
                    has_failed = False
                    return
            raise StopRun(server.exit_message("while it was being queried"))
        finally:
            with self._lock:
                self._endpoints.pop(number, None)
            server.stop(keep_log=has_failed and not self._closing.is_set())
