"""The host's facts about the processes of a world; each process may end at any moment."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from os import listdir  # many times a second: paths as objects would take a multiple of the time


def children(pid: int) -> Iterator[int]:
    """Yield the processes that a process has started and that are its children still."""
    with suppress(OSError):
        for task in listdir(f"/proc/{pid}/task"):  # noqa: PTH208
            yield from map(int, _read(f"/proc/{pid}/task/{task}/children").split())


def name_of(pid: int) -> str:
    """Return the name of a process; "" if it is gone."""
    with suppress(OSError):
        return _read(f"/proc/{pid}/comm").decode(errors="replace").strip()
    return ""


def is_busy(pids: Iterable[int]) -> bool:
    """Whether a thread of these processes runs, waits for a processor, or for a disk.

    On a machine with much to do a still screen says nothing: a program may wait for its turn.
    """
    for pid in pids:
        with suppress(OSError):
            for task in listdir(f"/proc/{pid}/task"):  # noqa: PTH208
                with suppress(OSError):
                    stat = _read(f"/proc/{pid}/task/{task}/stat")
                    if stat.rpartition(b")")[2][1:2] in (b"R", b"D"):
                        return True
    return False


def resident_bytes(pids: Iterable[int]) -> int:
    """Return the memory of processes in bytes: their own, and that shared among processes."""
    total_kb = 0
    for pid in pids:
        with suppress(OSError):
            for line in _read(f"/proc/{pid}/status").splitlines():
                if line.startswith((b"RssAnon:", b"RssShmem:")):
                    total_kb += int(line.split()[1])
    return total_kb * 1024


def cpu_seconds(pids: Iterable[int], ticks_a_second: int = 100) -> float:
    """Return the processor time that processes have taken so far."""
    ticks = 0
    for pid in pids:
        with suppress(OSError):
            fields = _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
    return ticks / ticks_a_second


def waiting_seconds(pids: Iterable[int]) -> float:
    """Return the total time for which threads of processes have waited for a processor."""
    total_ns = 0
    for pid in pids:
        with suppress(OSError):
            for task in listdir(f"/proc/{pid}/task"):  # noqa: PTH208
                with suppress(OSError):
                    total_ns += int(_read(f"/proc/{pid}/task/{task}/schedstat").split()[1])
    return total_ns / 1e9


def _read(path: str) -> bytes:
    with open(path, "rb") as file:  # noqa: PTH123 - see above
        return file.read()
