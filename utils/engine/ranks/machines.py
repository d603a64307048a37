"""Several machines that serve one model: what the run and its other machines tell each other.

Rank 0 is the client of all servers. The first rank of every machine starts those of its machine,
while it is asked to. They meet in a folder of the work-dir: a disk is all that srun's processes
share.

    <work-dir>/servers/<job>/client.json          what rank 0 wants, and that it is still there
    <work-dir>/servers/<job>/<model>/<host-port>  the address of a server that answers

`client.json` is `{"beat": 17, "host": "n1", "key": "...", "models": {"m": "serving"}}`: a counter,
where rank 0 runs, the key of all servers (the file is its owner's alone), and what is to be done
about each model. It is written anew every few seconds. When it is not, rank 0 is gone, and
servers that nobody asks end.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from utils.engine.ranks.group import Group, NoGroup, Rank
from utils.store.folder import safe_name

SERVERS = "servers"  # in the work-dir
BEAT_S = 2.0
SILENT_S = 60.0  # without a beat; a network disk may show an old file for half of it
APPEAR_S = 300.0  # until rank 0 has read its data, too
POLL_S = 0.5
OLD_S = 24 * 3600.0  # a run that has been silent for so long was killed
_CLIENT = "client.json"


class Wanted(StrEnum):
    """Rank 0's request to the other machines for a model."""

    NOTHING = "nothing"  # so far
    SERVERS = "serving"
    NO_MORE = "over"


class Client:
    """Rank 0's side: asks all other machines for servers, and tells them when it needs none.

    Args:
        folder: of the job.
        host: where this process runs, as other machines reach it.
        models: the names of those that have replicas.
    """

    def __init__(self, folder: Path, host: str, models: Sequence[str]) -> None:
        self.key = secrets.token_hex(24)
        self._folder = folder
        self._host = host
        self._wanted = dict.fromkeys(models, Wanted.NOTHING)
        self._beats = 0
        self._lock = threading.Lock()
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True)

    def __enter__(self) -> Client:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _drop_old(self._folder)
        self._write()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()
        self.key = ""
        for model in self._wanted:
            self._wanted[model] = Wanted.NO_MORE
        self._write()  # stays: a machine may be late

    def call(self, model: str) -> Path:
        """Have all machines start servers of a model; return the folder of their addresses."""
        folder = self._folder / safe_name(model)
        if self._wanted[model] is Wanted.NOTHING:
            folder.mkdir(exist_ok=True)
            self._want(model, Wanted.SERVERS)
        return folder

    def release(self, model: str) -> None:
        """Have them stop these servers."""
        self._want(model, Wanted.NO_MORE)

    def _want(self, model: str, wanted: Wanted) -> None:
        self._wanted[model] = wanted
        self._write()

    def _beat(self) -> None:
        while not self._is_over.wait(BEAT_S):
            self._write()

    def _write(self) -> None:
        with self._lock, suppress(OSError):  # a disk that is full or away for a moment
            self._beats += 1
            note = {"beat": self._beats, "host": self._host, "key": self.key}
            _write_whole(self._folder / _CLIENT, json.dumps({**note, "models": self._wanted}))


class ServersWanted:
    """The other machines, for a model of rank 0; see `utils.contracts.OtherMachines`."""

    def __init__(self, client: Client, model: str) -> None:
        self.key = client.key
        self._client = client
        self._model = model

    def call(self) -> str:
        """Have them start servers; return the folder in which their addresses will be."""
        return str(self._client.call(self._model))


class Machine:
    """The side of another machine's first rank.

    Args:
        folder: of the job.
        environ: the environment variables.
        clock: gives the time in seconds.
    """

    def __init__(
        self,
        folder: Path,
        environ: Mapping[str, str],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._folder = folder
        self._environ = environ
        self._clock = clock
        self._note: dict[str, Any] = {}
        self._heard_s = clock()

    def wait_for_call(self, model: str) -> DistantClient | None:
        """Wait until servers of a model are wanted; None: the client has needed none.

        Raises:
            NoGroup: there is no client, or it runs other models.
        """
        while (wanted := self.wanted(model)) is Wanted.NOTHING:
            time.sleep(POLL_S)
        if wanted is Wanted.NO_MORE:
            return None
        key, host = self._note["key"], own_host(self._environ, self._note["host"])
        return DistantClient(self, model, self._folder / safe_name(model), key, host)

    def wanted(self, model: str) -> Wanted:
        """The client's request for a model now.

        Raises:
            NoGroup: there is no client, or it runs other models.
        """
        self._listen()
        if not self._note:
            return Wanted.NOTHING
        if model not in self._note["models"]:
            names = ", ".join(self._note["models"])
            raise NoGroup(
                f'rank 0 runs other models ({names}) than this rank ("{model}"); all ranks take '
                "the same config and options"
            )
        return Wanted(self._note["models"][model])

    def _listen(self) -> None:
        """Read what the client has written last.

        Raises:
            NoGroup: that was too long ago.
        """
        now_s = self._clock()
        with suppress(OSError, ValueError):
            os.scandir(self._folder).close()  # has a network file system ask the server
            note = json.loads((self._folder / _CLIENT).read_bytes())
            if note["beat"] != self._note.get("beat"):
                self._note = note
                self._heard_s = now_s
        silent_s = now_s - self._heard_s
        if not self._note and silent_s > APPEAR_S:
            raise NoGroup(
                f"rank 0 has written nothing into {self._folder.absolute()} for {silent_s:.0f} s: "
                "name a --work-dir that all machines share"
            )
        if self._note and silent_s > SILENT_S:
            raise NoGroup(
                f"rank 0 has been silent for {silent_s:.0f} s in {self._folder.absolute()}, so the "
                "servers of this machine end. All answers are kept; the same command continues"
            )


class DistantClient:
    """The client of a run, as a model on another machine sees it while it serves.

    Attributes:
        key: that servers want.
        host: at which the client reaches this machine.
    """

    def __init__(self, machine: Machine, model: str, folder: Path, key: str, host: str) -> None:
        self.key = key
        self.host = host
        self._machine = machine
        self._model = model
        self._folder = folder
        self._told: set[str] = set()

    def is_waiting(self) -> bool:
        """Whether it still needs the servers, after a short wait.

        Raises:
            NoGroup: it is gone.
        """
        time.sleep(POLL_S)
        return self._machine.wanted(self._model) is Wanted.SERVERS

    def tell(self, base_urls: Sequence[str]) -> None:
        """Tell it which servers answer on this machine now."""
        with suppress(OSError):  # a disk that is away for a moment: next time
            for base_url in self._told - set(base_urls):
                self._file(base_url).unlink(missing_ok=True)
                self._told.discard(base_url)
            for base_url in set(base_urls) - self._told:
                _write_whole(self._file(base_url), f"{base_url}\n")
                self._told.add(base_url)

    def _file(self, base_url: str) -> Path:
        return self._folder / urlsplit(base_url).netloc.replace(":", "-")


def job_folder(work_dir: Path, rank: Rank, group: Group | None) -> Path:
    """The folder in which the machines of a run meet: another one for every run.

    Args:
        work_dir: that all machines share.
        rank: of this process.
        group: of the ranks where torchrun has started them.
    """
    if group is None:
        return work_dir / SERVERS / f"slurm-{rank.slurm_step}"
    if rank.leads:
        group.leave(SERVERS, group.token)
    return work_dir / SERVERS / str(group.wait_for(SERVERS))


def client_host(environ: Mapping[str, str]) -> str:
    """Rank 0's machine, as others reach it."""
    return environ.get("MASTER_ADDR") or socket.gethostname()


def own_host(environ: Mapping[str, str], client: str) -> str:
    """The address at which a client reaches this machine: that of the way there.

    Args:
        environ: VLLM_HOST_IP in it says which one, where there are several networks.
        client: its host.
    """
    address = environ.get("VLLM_HOST_IP")
    if address:
        return address
    with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as way:
        way.connect((client, 9))  # sends nothing
        return str(way.getsockname()[0])
    return socket.gethostname()


def _write_whole(file: Path, text: str) -> None:
    """Write a file that nobody reads half of, for its owner alone."""
    new = file.with_name(f".{file.name}")
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as opened:
        opened.write(text)
    new.replace(file)


def _drop_old(folder: Path) -> None:
    """Remove the folders of jobs that are long over."""
    for other in folder.parent.iterdir():
        with suppress(OSError):
            silent_s = time.time() - (other / _CLIENT).stat().st_mtime
            if other != folder and silent_s > OLD_S:
                shutil.rmtree(other)
