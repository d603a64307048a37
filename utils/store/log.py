"""The run's log: the only thing that results are ever read back from.

One file per model, data set and run folder; one line of ASCII JSON per record, newest last, each
with a checksum of its own content as its last field:

    {"kind":"run","seq":3, ... ,"crc":"9ae0daaf"}

`utils.store.records` has the fields. A line that is torn or does not match its checksum is passed
over, counted and named; its sample is simply asked again.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import json
import os
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from utils.contracts import Record
from utils.errors import StopRun, UserError
from utils.locks import file_lock
from utils.store.strict_json import to_json
from utils.subsets import covers

if TYPE_CHECKING:
    from filelock import BaseFileLock

SECONDS_BETWEEN_SYNCS = 5.0  # what a power cut may cost
NO_SYNC = (errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)
"""Errors of file systems that cannot sync a file to disk; its content is written all the same."""
DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
TAIL_BLOCK_BYTES = 1 << 16
_CRC = b',"crc":"%08x"}\n'
_CRC_LENGTH = len(_CRC % 0)
_OK = b'"status":"ok"'
_ANY = (b"",)  # beginnings of lines: whatever they begin with
_OF_RUNS = (b'{"kind":"run",', b'{"kind":"end",')
OF_A_SAMPLE = ("answer", "episode")  # kinds of records
LOCK_WAIT_S = 1800.0  # how long a scoring of somebody else's may take


def cure_of(error: OSError) -> str:
    """The cure for a file that could not be written; space helps a full disk alone."""
    again = "run the same command again"
    return f"free some space and {again}" if error.errno in DISK_FULL else f"mend that and {again}"


def _to_disk(descriptor: int) -> None:
    """Bring a file to disk, where the file system can."""
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in NO_SYNC:
            raise


def lock_or_refuse(path: Path) -> BaseFileLock:
    """Take the lock of a log.

    Raises:
        UserError: another process holds it.
        OSError: the folder cannot be written.
    """
    from filelock import Timeout

    # A second is for the library to find that the process which a file names is dead.
    lock = file_lock(path.with_name(f"{path.name}.lock"), timeout_s=1)
    try:
        lock.acquire()
    except Timeout:
        raise UserError(
            f"{path}: another process is writing this log. Wait for it, or use another "
            f"--work-dir; if it died on another machine, delete {lock.lock_file}"
        ) from None
    return lock


@contextlib.contextmanager
def one_process_at_a_time(path: Path, purpose: str) -> Iterator[None]:
    """Hold a lock file, for which other processes wait.

    Args:
        path: the lock file; its folder is made.
        purpose: what the other process is doing, for the line that a waiting one prints.

    Raises:
        UserError: the lock was not released in half an hour, or the folder cannot be written.
    """
    from filelock import Timeout

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = file_lock(path, timeout_s=1)
        try:
            lock.acquire()
        except Timeout:
            print(f"waiting for another process that is {purpose}")
            lock.acquire(timeout=LOCK_WAIT_S)
    except Timeout:
        raise UserError(
            f"{path.parent}: another process is {purpose}; if it died on another machine, delete "
            f"{path}"
        ) from None
    except OSError as error:
        raise UserError(f"{path.parent}: cannot write results there: {error}") from None
    try:
        yield
    finally:
        lock.release()


def is_locked(log: Path) -> bool:
    """Whether a process is writing a log now."""
    from filelock import Timeout

    lock = file_lock(log.with_name(f"{log.name}.lock"), timeout_s=0)
    try:
        lock.acquire()
    except Timeout:
        return True
    lock.release()
    return False


class RunLog:
    """Appends records to one file; whoever opens it second is turned away.

    Args:
        part: the file that is written instead, where several processes write one log together.
        clean: removes secrets from a record; nothing else stands between a record and the disk.

    Raises:
        UserError: another process is writing this file, or the folder cannot be written.
    """

    def __init__(
        self, path: Path, *, part: Path | None = None, clean: Callable[[Any], Any] | None = None
    ) -> None:
        self.path, self._clean = path, clean or (lambda record: record)
        file = self._file_path = part or path
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            self._lock = lock_or_refuse(file)
            _drop_torn_tail(file)
            self._file: IO[bytes] = file.open("ab", buffering=0)
        except OSError as error:
            raise UserError(f"{file.parent}: cannot write results there: {error}") from None
        self._whole_bytes = self._file.seek(0, os.SEEK_END)
        self._seq, self._synced_s = 0, time.monotonic()

    def append(self, record: Mapping[str, Any]) -> None:
        """Write one record and hand it to the operating system before returning.

        What has no `seq` belongs to the run that was opened here last.

        Raises:
            StopRun: the disk is full or failed; everything written before is whole.
        """
        if record["kind"] in ("run", "rank"):
            self._seq = record["seq"]
        content = {"kind": record["kind"], "seq": self._seq, **self._clean(dict(record))}
        text = to_json(content).encode("ascii")
        line = text[:-1] + _CRC % zlib.crc32(text)
        try:
            rest = memoryview(line)
            while rest:  # unbuffered: after a failure nothing waits to be written by a later close
                rest = rest[self._file.write(rest) :]
            if time.monotonic() - self._synced_s > SECONDS_BETWEEN_SYNCS:
                _to_disk(self._file.fileno())  # network file systems name a full disk only here
                self._synced_s = time.monotonic()
        except OSError as error:
            with contextlib.suppress(OSError):  # half a record at the end would be repaired anyway
                self._file.truncate(self._whole_bytes)
            raise StopRun(
                f"{self._file_path}: cannot write ({error.strerror}). All answers before this one "
                f"are kept; {cure_of(error)}"
            ) from error
        self._whole_bytes += len(line)

    def sync(self) -> None:
        """Bring everything to disk, or raise StopRun."""
        try:
            _to_disk(self._file.fileno())
        except OSError as error:
            raise StopRun(
                f"{self._file_path}: cannot write ({error.strerror}); {cure_of(error)}"
            ) from error

    def close(self) -> None:
        """Bring everything to disk and let the next process in."""
        with contextlib.suppress(OSError):  # a failed disk was reported by `append`
            _to_disk(self._file.fileno())
            self._file.close()
        self._lock.release()


def read_records(
    path: Path, damaged: list[int] | None = None, beginnings: tuple[bytes, ...] = _ANY
) -> Iterator[tuple[int, Record]]:
    """Yield the sound records of a log with their byte offsets; a torn last line is passed over.

    Args:
        path: of the log.
        damaged: gets the numbers of the other lines that are passed over.
        beginnings: of the lines that are looked at; all others are skipped unread.
    """
    with path.open("rb") as file:
        offset = 0
        for number, line in enumerate(file, 1):  # splits at \n only; all else is escaped
            if line.startswith(beginnings):
                crc = zlib.crc32(b"}", zlib.crc32(line[:-_CRC_LENGTH]))
                if line.endswith(_CRC % crc):
                    record = json.loads(line)
                    del record["crc"]
                    yield offset, record
                elif damaged is not None and line.endswith(b"\n"):
                    damaged.append(number)
            offset += len(line)


def record_at(file: IO[bytes], offset: int) -> Record:
    """Return the record that `read_records` found at an offset."""
    file.seek(offset)
    record: Record = json.loads(file.readline())
    del record["crc"]
    return record


def damage_notes(path: Path, damaged: list[int]) -> list[str]:
    """A note on lines that were passed over, if there are any."""
    if not damaged:
        return []
    lines = ", ".join(map(str, damaged[:10])) + (", ..." if damaged[10:] else "")
    what = "is damaged and skipped" if len(damaged) == 1 else "are damaged and skipped"
    return [f"{path.parent.name}/{path.name}: line {lines} {what}"]


@dataclass(frozen=True, slots=True)
class LoggedRun:
    """One run of a log."""

    begin: Record  # its "run" record without the keys of its samples
    end: Record  # its "end" record; empty for a run that did not get there

    @property
    def seq(self) -> int:
        """Its place among all runs of the model."""
        return int(self.begin["seq"])

    @property
    def request_hashes(self) -> dict[str, str]:
        """The hashes of all that its requests depend on, by aspect."""
        return dict(self.begin["asking"])

    @property
    def is_circular(self) -> bool:
        """Whether it covers all rotations of its questions."""
        if "circular" in self.begin:
            return bool(self.begin["circular"])
        # Records of older versions have it in their config alone.
        data = (self.begin.get("config") or {}).get("data") or {}
        entry = data.get(self.begin.get("dataset")) or {}
        return bool(entry.get("circular"))

    @property
    def repeats(self) -> int:
        """The number of times that it asks each question."""
        return int(self.begin.get("repeats", 1))

    @property
    def limit(self) -> int | None:
        """The largest number of samples of its data set that it covers; None: all of its mode."""
        return self.begin.get("limit")

    def covers(self, mode: str) -> bool:
        """Whether it covers all of a mode of its data set."""
        return covers(self.begin.get("mode"), mode)

    def has_enough(self, limit: int | None) -> bool:
        """Whether it covers as many samples as a limit lets through; None: all of its mode."""
        return self.limit is None or (limit is not None and self.limit >= limit)


def runs_of(path: Path) -> list[LoggedRun]:
    """Return the runs of a log, oldest first. Quick: answers are not taken apart."""
    return list(_runs_in(path, _state_of(path)).runs)


def doubled_problem(path: Path) -> str | None:
    """Say which two runs of a log share a number, if any: it was put together from two logs."""
    doubled = _runs_in(path, _state_of(path)).doubled
    if doubled is None:
        return None
    return (
        f"{path}: was put together from two logs: it holds {doubled}. Answers of one run would "
        "count for the other. Split it: one log for each folder"
    )


@dataclass(frozen=True, slots=True)
class _RunsInLog:
    runs: tuple[LoggedRun, ...]
    doubled: str | None


def _state_of(path: Path) -> tuple[int, ...]:
    now = path.stat()
    return now.st_dev, now.st_ino, now.st_size, now.st_mtime_ns


@functools.lru_cache(maxsize=4096)
def _runs_in(path: Path, _state: tuple[int, ...]) -> _RunsInLog:
    """Return the runs of a log; remembered while the file stays as it is."""
    runs: dict[int, LoggedRun] = {}
    doubled: str | None = None
    for _, record in read_records(path, beginnings=_OF_RUNS):
        seq = record["seq"]
        earlier = runs.get(seq)
        if record["kind"] == "run":
            del record["samples"]
            start = record["started_at"]
            if earlier is not None and earlier.begin["started_at"] != start:
                doubled = (
                    f"two runs number {seq}, started {earlier.begin['started_at']} and {start}"
                )
            runs[seq] = LoggedRun(record, {})
        elif earlier is not None:
            runs[seq] = replace(earlier, end=record)
    return _RunsInLog(tuple(runs[seq] for seq in sorted(runs)), doubled)


def has_answer(path: Path) -> bool:
    """Whether a log holds an answer, or any turn of an episode."""
    with path.open("rb") as file:
        return any(line.startswith(b'{"kind":"answer"') and _OK in line for line in file)


def _drop_torn_tail(path: Path) -> None:
    """Cut off what a kill or a power cut left behind the last whole line.

    Reads from the end, block by block: a log may hold more than memory does.
    """
    if not path.exists():
        return
    with path.open("rb") as file:
        size_bytes = file.seek(0, os.SEEK_END)
        whole_bytes = 0  # up to the end of the last whole line
        block_end = size_bytes
        while block_end > 0 and whole_bytes == 0:
            block_start = max(0, block_end - TAIL_BLOCK_BYTES)
            file.seek(block_start)
            line_end = file.read(block_end - block_start).rfind(b"\n")
            if line_end >= 0:
                whole_bytes = block_start + line_end + 1
            block_end = block_start
    if whole_bytes < size_bytes:
        os.truncate(path, whole_bytes)
