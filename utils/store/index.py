"""The index of logs: their runs, and the place of each sample's record.

`LogIndex` covers one log, read in one go; resume and scoring share it. `AnswerIndex` covers the
logs of all runs of a model, and decides whether a stored answer is reused; `utils.store.view` has
the records of one log that are scored.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from utils.config.options import Options
from utils.contracts import Record, Status, question_of
from utils.store.log import OF_A_SAMPLE, LoggedRun, damage_notes, read_records, record_at
from utils.store.records import MORE

PARTS = {"prompt": "prompt", "picture": "image", "settings": "settings"}  # of a request, as shown
TOKENS = "prompt_tokens", "completion_tokens"


class StoredAnswer(NamedTuple):
    """The entry in memory for the record of an answer or of a whole episode."""

    path: Path  # of the log
    offset: int  # in bytes
    seq: int  # of the run that wrote it
    is_episode: bool
    key: str
    fingerprint: str
    parts: Mapping[str, str]  # of its request, by aspect
    status: Status
    asked_at: str
    tokens: tuple[int, ...]  # as `TOKENS` has them; an episode's are those of its turns
    ran_with: str
    has_more: bool  # another stage follows
    requests: int  # that it took; 0 of an episode, whose turns have them
    server: str  # that was asked, where there were several

    @classmethod
    def of(cls, record: Record, path: Path, offset: int) -> StoredAnswer:
        """The entry of a record that lies at an offset of a log."""
        is_episode = record["kind"] == "episode"
        usage = {} if is_episode else record.get("usage") or {}
        # Which of several equal devices a rank had makes no difference.
        ran_with = ", ".join((record.get("runs_with") or {}).values())
        return cls(
            path,
            offset,
            record["seq"],
            is_episode,
            record["key"],
            record["fingerprint"],
            record["parts"],
            Status(record["status"]),
            record.get("asked_at", ""),  # of answers made elsewhere it is not known
            tokens=tuple(usage.get(kind) or 0 for kind in TOKENS),
            ran_with=re.sub(r"cuda:\d+", "cuda", ran_with),
            has_more=bool(record.get(MORE)),
            requests=0 if is_episode else record.get("attempts", 1),
            server=record.get("server", ""),
        )

    def stands(self, options: Options) -> bool:
        """Whether it is reused. A failed sample is queried again, a refused one on demand."""
        if self.is_to_retry(options):
            return False
        match self.status:
            case Status.FAILED:
                return options.ignore
            case Status.REFUSED:
                return not options.retry_refused
        return True

    def is_to_retry(self, options: Options) -> bool:
        """Whether `--retry-server` names its server, by host or with port (`n3:8001`)."""
        return any(is_of_server(self.server, name) for name in options.retry_server)

    def read(self) -> Record:
        """The record itself, as it may be written into another run."""
        with self.path.open("rb") as file:
            record = record_at(file, self.offset)
        del record["seq"]
        return record


def is_of_server(server: str, name: str) -> bool:
    """Whether a server, as answers have it, has a name: its host, or host and port."""
    return bool(server) and name in (server, server.rpartition(":")[0])


class Replaced:
    """Answers in whose place those of a stopped run with `--fresh` come.

    They are older, answer a question of that run, and were asked with its settings and prompt.
    """

    def __init__(self) -> None:
        self._hashes: dict[int, str] = {}  # of settings and prompt, by the number of a run
        self._fresh: dict[tuple[str, str], int] = {}  # by hash and question the newest such run

    def add(self, run: LoggedRun, *, is_stopped_fresh: bool) -> None:
        """Note a run."""
        hashes = run.request_hashes
        of_run = " ".join(hashes.get(aspect, "") for aspect in ("settings", "prompt"))
        self._hashes[run.seq] = of_run
        if is_stopped_fresh:
            self._fresh |= dict.fromkeys(((of_run, name) for name in run.begin["samples"]), run.seq)

    def add_all(self, other: Replaced) -> None:
        """Note the runs of another log."""
        self._hashes |= other._hashes
        for key, seq in other._fresh.items():
            self._fresh[key] = max(seq, self._fresh.get(key, 0))

    def __contains__(self, answer: StoredAnswer) -> bool:
        of_run = self._hashes.get(answer.seq, "")
        return answer.seq < self._fresh.get((of_run, question_of(answer.key)), 0)


class LogIndex:
    """The content of one log.

    Attributes:
        runs: by their numbers.
        newest: the highest number of a run, 0 without any; the record of that run may be lost.
        answers: in the order of the file.
        columns: of the lines of each run's records, by its number, in order of first appearance.
        served: what was served in each run, by its number, as far as servers told.
        replaced: tells which answers a run with `--fresh` that has no end takes the place of.
        notes: of damaged lines.
    """

    def __init__(self, path: Path) -> None:
        self.newest = 0
        self.served: dict[int, Record] = {}
        self.replaced = Replaced()
        self.answers: list[StoredAnswer] = []
        self.columns: dict[int, dict[str, None]] = {}
        begins: dict[int, Record] = {}
        ends: dict[int, Record] = {}
        damaged: list[int] = []
        for offset, record in read_records(path, damaged):
            seq = record["seq"]
            self.newest = max(self.newest, seq)
            if record["kind"] == "run":
                begins[seq] = record
            elif record["kind"] == "end":
                ends[seq] = record
                if record.get("served"):
                    self.served[seq] = record["served"]
            elif record["kind"] == "served":
                self.served[seq] = record["served"]
            elif record["kind"] in OF_A_SAMPLE:
                self.answers.append(StoredAnswer.of(record, path, offset))
                self.columns.setdefault(seq, {}).update(dict.fromkeys(record["line"]))
        self.runs = [LoggedRun(begins[seq], ends.get(seq, {})) for seq in sorted(begins)]
        for run in self.runs:
            is_fresh = run.begin.get("fresh", False)
            self.replaced.add(run, is_stopped_fresh=is_fresh and run.seq not in ends)
        self.notes = damage_notes(path, damaged)

    def answers_of_runs_like(self, run: LoggedRun) -> list[StoredAnswer]:
        """The answers of all runs that request the same as one of them."""
        hashes = run.request_hashes
        seqs = {other.seq for other in self.runs if other.request_hashes == hashes}
        return [
            answer for answer in self.answers if answer.seq in seqs and answer not in self.replaced
        ]


def servers_in(logs: Iterable[Path]) -> list[str]:
    """The servers of the answers in some logs; a run with one server names none."""
    answers = (answer for log in logs for answer in LogIndex(log).answers)
    return sorted({answer.server for answer in answers if answer.server})


def newest_by_key(answers: Iterable[StoredAnswer]) -> dict[str, StoredAnswer]:
    """The newest answer of each sample and turn in one log; of a sample with an episode, that."""
    by_age = sorted(answers, key=attrgetter("is_episode", "seq", "offset"))
    return {answer.key: answer for answer in by_age}


class Reason(StrEnum):
    """The reason for a query whose request has not changed, in words for people."""

    NEW = "new"
    FRESH = "because of --fresh"
    NOT_COMPARABLE = "code that cannot be compared"
    FAILED_BEFORE = "failed last time"
    REFUSED_BEFORE = "refused last time"
    SERVER = "because of --retry-server"


class AnswerIndex:
    """Everything this model has answered for one data set, in whatever run folder.

    Look-ups go by key and fingerprint, those of whole episodes too; of equal records that of the
    newest run counts. Of older ones with the same fingerprint nothing is remembered.

    Args:
        paths: of the logs; of two with answers of one run the later one counts.
        own_log: our own log; of an answer and its copies the one in it counts.
    """

    def __init__(self, paths: Iterable[Path], *, own_log: Path | None = None) -> None:
        self.newest = 0  # the highest `seq` of a run
        self.notes: list[str] = []  # of damaged lines
        self.has_any = False  # whether there is an answer of any sample
        # By the hash of a run's settings: its number, and what servers served to it.
        self._served: dict[str, tuple[int, Record]] = {}
        self._replaced = Replaced()  # of all logs
        self._own_log = own_log
        self._by_key: dict[str, dict[str, StoredAnswer]] = {}  # then by fingerprint
        # By what runs in our own log request: the answers that a view of one comes upon, by key.
        self._in_own_log: dict[str, dict[str, StoredAnswer]] = {}
        for path in paths:
            index = LogIndex(path)
            self.newest = max(self.newest, index.newest)
            self.notes += index.notes
            self._note_served(index)
            self._replaced.add_all(index.replaced)
            for answer in index.answers:
                self._keep_newest(answer)
            if path == own_log:
                self._read_own(index)

    def _read_own(self, index: LogIndex) -> None:
        for run in index.runs:
            hashes = _canonical(run.request_hashes)
            if hashes not in self._in_own_log:
                self._in_own_log[hashes] = newest_by_key(index.answers_of_runs_like(run))

    def _keep_newest(self, answer: StoredAnswer) -> None:
        """Keep an answer, unless there is a newer one of the same sample and fingerprint."""
        self.has_any = self.has_any or answer.status is Status.OK
        of_key = self._by_key.setdefault(answer.key, {})
        earlier = of_key.get(answer.fingerprint)
        if earlier is None or self._age(answer) >= self._age(earlier):
            of_key.pop(answer.fingerprint, None)  # so that the last one read stands last
            of_key[answer.fingerprint] = answer

    def _age(self, answer: StoredAnswer) -> tuple[int, bool]:
        """The sort key by age: the newest is highest; in one run, the answer in our own log."""
        return answer.seq, answer.path == self._own_log

    def look_up(
        self,
        key: str,
        fingerprint: str,
        parts: Mapping[str, str],
        options: Options,
        earlier_fingerprints: Sequence[str] = (),
    ) -> StoredAnswer | str:
        """The newest record of this request if it stands, or why the model is queried.

        Why: a `Reason`, or for people what has changed.

        Args:
            fingerprint: "" if nothing tells which stored answer would be one to this request.
            parts: of the request, by aspect; they tell what sets the nearest earlier one apart.
            earlier_fingerprints: that it has as well, in answers of other servers.
        """
        if options.fresh:
            return Reason.FRESH
        of_key = self._by_key.get(key, {})
        if of_key and not fingerprint:
            return Reason.NOT_COMPARABLE
        answer = of_key.get(fingerprint)
        for earlier in earlier_fingerprints:
            other = of_key.get(earlier)
            if other is not None and (answer is None or self._is_better(other, answer)):
                answer = other
        if answer is not None:
            return self._why_again(answer, options) or answer
        if not of_key:
            return Reason.NEW
        newest_first = sorted(of_key.values(), key=self._age)[::-1]
        newest = newest_first[0]
        if not newest.fingerprint and newest.status == Status.FAILED:  # not even a request
            return Reason.FAILED_BEFORE
        changes = [
            [PARTS[part] for part in PARTS if answer.parts.get(part) != parts.get(part)]
            for answer in newest_first
        ]
        changed = min(changes, key=len)  # of equally near ones the newest
        return " and ".join(changed or ["request"]) + " changed"

    def _why_again(self, answer: StoredAnswer, options: Options) -> Reason | None:
        """The reason why an answer to an equal request is not reused; None: it is."""
        if answer in self._replaced:
            return Reason.FRESH
        if answer.stands(options):
            return None
        if answer.is_to_retry(options):
            return Reason.SERVER
        return Reason.REFUSED_BEFORE if answer.status == Status.REFUSED else Reason.FAILED_BEFORE

    def _note_served(self, index: LogIndex) -> None:
        for run in index.runs:
            settings = run.request_hashes["settings"]
            before = self._served.get(settings, (0, {}))
            served = index.served.get(run.seq)
            if served is None or run.seq < before[0]:
                continue
            if served.keys() <= {"version"}:  # of one server, which was asked no more than that
                served = {**before[1], **served}
            self._served[settings] = run.seq, served

    def served_to(self, run: LoggedRun) -> Record:
        """The facts of the servers of the newest run with these settings; empty: unknown."""
        return self._served.get(run.request_hashes["settings"], (0, {}))[1]

    def _is_better(self, answer: StoredAnswer, other: StoredAnswer) -> bool:
        """Whether an answer takes precedence over another server's: it alone is ok, or is newer."""
        is_ok, is_other_ok = answer.status is Status.OK, other.status is Status.OK
        return (is_ok, self._age(answer)) > (is_other_ok, self._age(other))

    def in_own_log(self, key: str, request_hashes: Mapping[str, str]) -> StoredAnswer | None:
        """The record that a view of our own log comes upon for a sample.

        Args:
            request_hashes: what the run depends on whose view it is.
        """
        return self._in_own_log.get(_canonical(request_hashes), {}).get(key)

    def knows(self, key: str) -> bool:
        """Whether there is any record of this sample."""
        return key in self._by_key


def _canonical(request_hashes: Mapping[str, str]) -> str:
    return json.dumps(request_hashes, sort_keys=True)
