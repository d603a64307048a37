"""The run's log: append, look up, resume. The only thing that results are ever read back from.

One file per model, data set and run folder; one line of ASCII JSON per record, newest last, each
with a checksum of its own content as its last field:

    {"kind":"run","seq":3, ... ,"crc":"9ae0daaf"}

`utils.runs.records` has the fields. A line that is torn or does not match its checksum is passed
over, counted and named; its sample is simply asked again.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from utils.config.options import Options
from utils.contracts import Record, Status
from utils.errors import StopRun, UserError

if TYPE_CHECKING:
    from filelock import BaseFileLock

PARTS = {"prompt": "prompt", "picture": "image", "settings": "settings"}  # of a request, as shown
SECONDS_BETWEEN_SYNCS = 5.0  # what a power cut may cost
CURE = "free some space and run the same command again"
_CRC = b',"crc":"%08x"}\n'
_CRC_LENGTH = len(_CRC % 0)
_OPEN_A_RUN = (b'{"kind":"run",', b'{"kind":"end",')
OF_A_SAMPLE = ("answer", "episode")  # kinds of records


def lock_or_refuse(path: Path) -> BaseFileLock:
    """Takes the lock of a log: the kernel's, which ends with its process, whatever ended it.

    Where a file system has none, the library leaves a file that names host and process instead; on
    another machine nobody can tell whether that process still lives.

    Raises:
        UserError: another process holds it.
        OSError: the folder cannot be written.
    """
    from filelock import FileLock, Timeout

    # A second is for the library to find that the process which a file names is dead.
    lock = FileLock(f"{path}.lock", timeout=1, thread_local=False)
    try:
        lock.acquire()
    except Timeout:
        cure = f"if it died on another machine, delete {lock.lock_file}"
        what = "another process is writing this log. Wait for it, or use another --work-dir"
        raise UserError(f"{path}: {what}; {cure}") from None
    return lock


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
        """Writes one record and hands it to the operating system before returning.

        What has no `seq` belongs to the run that was opened here last.

        Raises:
            StopRun: the disk is full or failed; everything written before is whole.
        """
        if record["kind"] in ("run", "rank"):
            self._seq = record["seq"]
        content = {"kind": record["kind"], "seq": self._seq, **self._clean(dict(record))}
        text = json.dumps(content, ensure_ascii=True, separators=(",", ":")).encode("ascii")
        line = text[:-1] + _CRC % zlib.crc32(text)
        try:
            rest = memoryview(line)
            while rest:  # unbuffered: after a failure nothing waits to be written by a later close
                rest = rest[self._file.write(rest) :]
            if time.monotonic() - self._synced_s > SECONDS_BETWEEN_SYNCS:
                os.fsync(self._file.fileno())  # network file systems name a full disk only here
                self._synced_s = time.monotonic()
        except OSError as error:
            with contextlib.suppress(OSError):  # half a record at the end would be repaired anyway
                self._file.truncate(self._whole_bytes)
            what = f"cannot write ({error.strerror}). All answers before this one are kept"
            raise StopRun(f"{self._file_path}: {what}; {CURE}") from error
        self._whole_bytes += len(line)

    def sync(self) -> None:
        """Brings everything to disk, or raises StopRun."""
        try:
            os.fsync(self._file.fileno())
        except OSError as error:
            raise StopRun(f"{self._file_path}: cannot write ({error.strerror}); {CURE}") from error

    def close(self) -> None:
        """Brings everything to disk and lets the next process in."""
        with contextlib.suppress(OSError):  # a failed disk was reported by `append`
            os.fsync(self._file.fileno())
            self._file.close()
        self._lock.release()


def _parsed(line: bytes) -> Record | None:
    """The record of a line; None if the line is damaged."""
    content = line[:-_CRC_LENGTH] + b"}"
    is_whole = line[-_CRC_LENGTH:] == _CRC % zlib.crc32(content)
    return json.loads(content) if is_whole else None


def read_records(path: Path, damaged: list[int] | None = None) -> Iterator[tuple[int, Record]]:
    """Every sound record of a log with its byte offset; a torn last line is passed over.

    Args:
        damaged: gets the numbers of the other lines that are passed over.
    """
    with path.open("rb") as file:
        offset = 0
        for number, line in enumerate(file, 1):  # splits at \n only; all else is escaped
            record = _parsed(line)
            if record is not None:
                yield offset, record
            elif damaged is not None and line.endswith(b"\n"):
                damaged.append(number)
            offset += len(line)


def record_at(file: IO[bytes], offset: int) -> Record:
    """The record that `read_records` found at an offset."""
    file.seek(offset)
    record: Record = json.loads(file.readline())
    del record["crc"]
    return record


def damage_notes(path: Path, damaged: list[int]) -> list[str]:
    """What to say of lines that were passed over, if there are any."""
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
    def asking(self) -> dict[str, str]:
        """What its requests depend on."""
        return dict(self.begin["asking"])

    @property
    def limit(self) -> int | None:
        """How many samples of its data set it covers at most; None: all of its mode."""
        return self.begin.get("limit")


def runs_of(path: Path) -> list[LoggedRun]:
    """The runs of a log, oldest first. Quick: answers are not taken apart."""
    runs: dict[int, LoggedRun] = {}
    with path.open("rb") as file:
        for line in file:
            record = _parsed(line) if line.startswith(_OPEN_A_RUN) else None
            if record is not None and record["kind"] == "run":
                del record["samples"]
                runs[record["seq"]] = LoggedRun(record, {})
            elif record is not None and (run := runs.get(record["seq"])):
                runs[run.seq] = replace(run, end=record)
    return [runs[seq] for seq in sorted(runs)]


def _drop_torn_tail(path: Path) -> None:
    """Cuts off what a kill or a power cut left behind the last whole line."""
    content = path.read_bytes() if path.exists() else b""
    whole = content.rfind(b"\n") + 1
    if whole < len(content):
        os.truncate(path, whole)


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """Where a record lies, and what decides whether it is still the answer."""

    path: Path
    offset: int
    fingerprint: str
    status: Status
    parts: Mapping[str, str]
    seq: int  # of the run that wrote it
    asking: Mapping[str, str] | None  # likewise; None where that run's own record is gone

    def read(self) -> Record:
        """The record itself, as it may be written into another run."""
        with self.path.open("rb") as file:
            record = record_at(file, self.offset)
        del record["seq"]
        return record


class AnswerIndex:
    """Everything this model has answered for one data set, in whatever run folder.

    Look-ups go by key and fingerprint, those of whole episodes too; of equal records that of the
    newest run counts.

    Args:
        own: our own log; of an answer and its copies the one in it counts.
        since: answers of runs before the one of this number do not count.
    """

    def __init__(self, paths: Iterable[Path], *, own: Path | None = None, since: int = 0) -> None:
        self.newest = 0  # the highest `seq` of a run
        self.notes: list[str] = []  # of damaged lines
        self._by_key: dict[str, list[StoredAnswer]] = {}  # the newest last
        found = [each for path in paths for each in self._read(path, since)]
        # Stable: within a run and a log the order of the lines stays.
        for key, stored in sorted(found, key=lambda each: (each[1].seq, each[1].path == own)):
            self._by_key.setdefault(key, []).append(stored)

    def _read(self, path: Path, since: int) -> Iterator[tuple[str, StoredAnswer]]:
        runs: dict[int, Mapping[str, str]] = {}
        damaged: list[int] = []
        for offset, record in read_records(path, damaged):
            seq = record["seq"]
            self.newest = max(self.newest, seq)
            if record["kind"] == "run":
                runs[seq] = record["asking"]
            elif record["kind"] in OF_A_SAMPLE and seq >= since:
                yield (
                    record["key"],
                    StoredAnswer(
                        path,
                        offset,
                        record["fingerprint"],
                        Status(record["status"]),
                        record["parts"],
                        seq,
                        runs.get(seq),
                    ),
                )
        self.notes += damage_notes(path, damaged)

    def look_up(
        self, key: str, fingerprint: str, parts: Mapping[str, str], options: Options
    ) -> StoredAnswer | str:
        """The newest record of exactly this request if it stands, or why the model is queried.

        Args:
            parts: of the request, by aspect; they tell what sets the nearest earlier one apart.
        """
        if options.fresh:
            return "--fresh"
        newest_first = self._by_key.get(key, [])[::-1]
        for found in newest_first:
            if found.fingerprint == fingerprint:
                stands = {Status.REFUSED: not options.retry_refused, Status.FAILED: options.ignore}
                return found if stands.get(found.status, True) else f"{found.status} last time"
        if not newest_first:
            return "new"
        if not newest_first[0].fingerprint:  # not even the request could be made
            return "failed last time"
        changes = (
            [shown for part, shown in PARTS.items() if each.parts.get(part) != parts.get(part)]
            for each in newest_first
        )
        changed = min(changes, key=len)  # of equally near ones the newest
        return " and ".join(changed or ["request"]) + " changed"

    def stands_in(self, log: Path, asking: Mapping[str, str], key: str, fingerprint: str) -> bool:
        """Whether a view of a run in `log` that asks so comes upon this answer by itself."""
        same = [
            each.fingerprint
            for each in self._by_key.get(key, ())
            if each.path == log and each.asking == asking
        ]
        return same[-1:] == [fingerprint]

    @property
    def has_any(self) -> bool:
        """Whether there is an answer of any sample."""
        return any(each.status is Status.OK for found in self._by_key.values() for each in found)

    def knows(self, key: str) -> bool:
        """Whether there is any record of this sample."""
        return key in self._by_key
