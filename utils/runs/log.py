"""The run's log: append, look up, resume. The only thing that results are ever read back from.

One file per model, data set and run folder; one line of ASCII JSON per record, newest last:

    {"kind": "run", ...}      a run began: what it covers, its config, versions
    {"kind": "answer", ...}   one sample: how it was asked, what came back, what scoring needs
    {"kind": "reuse", ...}    an answer further up in this log answers this run's request too
    {"kind": "end", ...}      the run has asked everything: cost, counts
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

from utils.contracts import Record, Status
from utils.errors import StopRun, UserError
from utils.runs.locking import lock_or_refuse

SECONDS_BETWEEN_SYNCS = 1.0  # what a power cut may cost
# Inside a text of a record its quotes would be escaped.
_MAY_BE_OF_A_RUN = re.compile(rb'"kind"\s*:\s*"(?:run|end)"')


class RunLog:
    """Appends records to one file; whoever opens it second is turned away.

    Args:
        path: the log; created with its folders.
        part: the file that is written instead, where several processes write one log together.
        clean: removes secrets from each record.

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
        self._closed = threading.Event()
        self._unsynced = threading.Event()
        self._sync_error: OSError | None = None
        self._syncer = threading.Thread(target=self._sync_now_and_then, daemon=True)
        self._syncer.start()

    def append(self, record: Mapping[str, Any]) -> None:
        """Writes one record and hands it to the operating system before returning.

        Raises:
            StopRun: the disk is full or failed; everything written before is whole.
        """
        cleaned = self._clean(record)
        line = json.dumps(cleaned, ensure_ascii=True, separators=(",", ":")).encode("ascii") + b"\n"
        try:
            if self._sync_error is not None:
                raise self._sync_error
            self._write_whole(line)
        except OSError as error:
            with contextlib.suppress(OSError):  # half a record at the end would be repaired anyway
                self._file.truncate(self._whole_bytes)
            raise StopRun(
                f"{self._file_path}: cannot write ({error.strerror}). All answers before this "
                "one are kept; make room and start the same command again"
            ) from error
        self._whole_bytes += len(line)
        self._unsynced.set()

    def _sync_now_and_then(self) -> None:
        """In a thread of its own: a slow disk must not keep the workers from asking."""
        while not self._closed.wait(SECONDS_BETWEEN_SYNCS):
            if self._unsynced.is_set():
                self._unsynced.clear()
                try:
                    os.fsync(self._file.fileno())
                except OSError as error:  # the next append reports it
                    self._sync_error = error

    def _write_whole(self, line: bytes) -> None:
        """Unbuffered: after a failure nothing waits in memory to be written by a later close."""
        rest = memoryview(line)
        while rest:
            rest = rest[self._file.write(rest) :]

    def sync(self) -> None:
        """Brings everything to disk.

        Raises:
            StopRun: the disk failed.
        """
        try:
            os.fsync(self._file.fileno())
        except OSError as error:
            raise StopRun(f"{self._file_path}: cannot write ({error.strerror})") from error

    def close(self) -> None:
        """Brings everything to disk and lets the next process in."""
        self._closed.set()
        self._syncer.join()
        try:
            with contextlib.suppress(OSError):  # a failed disk was reported by `append`
                os.fsync(self._file.fileno())
                self._file.close()
        finally:
            self._lock.release()


def read_records(
    path: Path, start: int = 0, stop: int | None = None
) -> Iterator[tuple[int, Record]]:
    """Every whole record of a log with its byte offset; a torn last line is passed over.

    Args:
        start, stop: byte offsets of lines, for a part of the log.
    """
    with path.open("rb") as file:
        offset = file.seek(start)
        for line in file:  # splits at \n only: U+2028 and the like are escaped in ASCII JSON
            if stop is not None and offset >= stop:
                return
            if line.endswith(b"\n"):
                record = _parsed(line)
                if record is not None:
                    yield offset, record
            offset += len(line)


def _parsed(line: bytes) -> Record | None:
    try:
        record = json.loads(line)
    except ValueError:  # half a line between two crashes; the sample is simply asked again
        return None
    return record if isinstance(record, dict) else None


@dataclass(frozen=True, slots=True)
class LoggedRun:
    """One run of a log.

    Attributes:
        begin: its "run" record without the keys of its samples.
        end: its "end" record; empty for a run that did not get there.
        start, stop: byte offsets, from its record to the next run's (None: to the end of the log).
    """

    begin: Record
    end: Record
    start: int
    stop: int | None

    @property
    def is_limited(self) -> bool:
        """Whether it covers only the first samples of its data set."""
        return self.begin.get("limit") is not None

    def covers(self, mode: str) -> bool:
        """Whether it covers all of a mode of its data set."""
        return self.begin.get("mode") in (mode, "all", None)


def runs_of(path: Path) -> list[LoggedRun]:
    """The runs of a log, oldest first. Quick: answers are not taken apart."""
    runs: list[LoggedRun] = []
    with path.open("rb") as file:
        offset = 0
        for line in file:
            if line.endswith(b"\n") and _MAY_BE_OF_A_RUN.search(line):
                record = _parsed(line) or {}
                if record.get("kind") == "run":
                    if runs:
                        runs[-1] = replace(runs[-1], stop=offset)
                    record.pop("samples", None)
                    runs.append(LoggedRun(record, {}, offset, None))
                elif record.get("kind") == "end" and runs:
                    runs[-1] = replace(runs[-1], end=record)
            offset += len(line)
    return runs


def _drop_torn_tail(path: Path) -> None:
    """Cuts off what a kill or a power cut left behind the last whole line."""
    if not path.exists():
        return
    with path.open("rb+") as file:
        end = file.seek(0, os.SEEK_END)
        position = end
        while position > 0:
            step = min(65536, position)
            file.seek(position - step)
            newline = file.read(step).rfind(b"\n")
            if newline >= 0:
                position = position - step + newline + 1
                break
            position -= step
        if position < end:
            file.truncate(position)


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """Where a record lies, and what decides whether it is still the answer."""

    path: Path
    offset: int
    fingerprint: str
    status: Status
    parts: Mapping[str, str]

    def read(self) -> Record:
        """The record itself, from its log."""
        with self.path.open("rb") as file:
            file.seek(self.offset)
            record: Record = json.loads(file.readline())
        return record


@dataclass
class AnswerIndex:
    """Everything this model has answered for one data set, in whatever run folder.

    Look-ups go by (sample key, trial, fingerprint); of equal ones the newest counts.
    """

    _by_fingerprint: dict[tuple[str, int, str], StoredAnswer] = field(default_factory=dict)
    _of_sample: dict[tuple[str, int], list[StoredAnswer]] = field(default_factory=dict)

    @classmethod
    def of_logs(
        cls, paths: Iterable[Path], *, own: Path | None = None, asked_since: str = ""
    ) -> AnswerIndex:
        """Reads logs.

        Args:
            own: the one that is being written. What it holds already need not be copied into it,
                so of an answer and its copies its own one counts.
            asked_since: answers from before do not count.
        """
        index = cls()
        found = []
        for path in paths:
            for offset, record in read_records(path):
                asked_at = record.get("asked_at", "")
                if record.get("kind") in ("answer", "episode") and asked_at >= asked_since:
                    stored = StoredAnswer(
                        path, offset, record.get("fingerprint", ""), Status(record["status"]),
                        record.get("parts") or {},
                    )  # fmt: skip
                    found.append((asked_at, record["key"], record["trial"], stored))
        # A copy keeps the time of the original, so order of files does not matter.
        found.sort(key=lambda item: (item[0], item[3].path == own))
        for _, key, trial, stored in found:
            index._by_fingerprint[key, trial, stored.fingerprint] = stored
            index._of_sample.setdefault((key, trial), []).append(stored)
        return index

    def find(self, key: str, trial: int, fingerprint: str) -> StoredAnswer | None:
        """The newest record of exactly this request, whatever its status."""
        return self._by_fingerprint.get((key, trial, fingerprint))

    def knows(self, key: str, trial: int) -> bool:
        """Whether there is any record of this sample."""
        return (key, trial) in self._of_sample

    def reason_to_ask(
        self, key: str, trial: int, fingerprint: str, parts: Mapping[str, str]
    ) -> str:
        """Why a sample is asked: the nearest earlier answer and what sets it apart."""
        found = self.find(key, trial, fingerprint)
        if found is not None:
            return f"{found.status} last time"  # failed, or refused and asked again on demand
        before = self._of_sample.get((key, trial))
        if before is None:
            return "new"
        if not before[-1].parts:
            return "failed last time"
        # Of equally near ones the newest.
        changed = min((_changes(each.parts, parts) for each in reversed(before)), key=len)
        return " and ".join(changed or ["request"]) + " changed"


def _changes(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    return [part for part in ("prompt", "picture", "settings") if before.get(part) != now.get(part)]
