"""A log opened for scoring: which of its runs counts, what it covers, and each sample's record.

A log may hold many runs. Right after asking, the newest one counts; for `--mode eval` the newest
one that covers the mode and as many samples as are wanted. The record of a sample is the newest one
in the log among those of runs that ask the same (`asking` in their records): so a run that was
stopped has the answers that the log held already, and never one to another request.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from utils.contracts import (
    TURN_MARK,
    Line,
    Record,
    Status,
    question_of,
    repeat_key,
    repeat_of,
    turn_key,
)
from utils.errors import UserError
from utils.findings import FINDINGS, Finding, note
from utils.runs.log import (
    OF_A_SAMPLE,
    LoggedRun,
    damage_notes,
    doubled_problem,
    read_records,
    record_at,
)
from utils.runs.records import MORE, joined
from utils.text import counted

EVERYTHING = "all"  # the mode that no other one reaches beyond
TOKENS = "prompt_tokens", "completion_tokens"
COVERAGE = "coverage"  # the section of the analysis


def coverage_of(run: LoggedRun, mode: str, limit: int | None) -> tuple[bool, bool]:
    """Return whether a run covers the mode, and whether it has as many samples as requested."""
    is_enough = run.limit is None or (limit is not None and run.limit >= limit)
    return run.begin.get("mode") in (mode, EVERYTHING, None), is_enough


def _nearness(run: LoggedRun, mode: str, limit: int | None) -> tuple[bool, ...]:
    """Return a sort key: how much of the requested mode and limit a run covers."""
    covers, is_enough = coverage_of(run, mode, limit)
    return covers or mode == EVERYTHING, covers and is_enough, is_enough, covers


class _RecordSummary(NamedTuple):
    """What stays in memory of a record; of a sample the last in order counts, a whole episode."""

    is_episode: bool
    seq: int
    offset: int
    key: str
    fingerprint: str
    status: Status
    asked_at: str
    tokens: tuple[int, ...]  # as `TOKENS` has them
    ran_with: str
    has_more: bool  # another stage follows
    requests: int  # that it took; 0 of an episode, whose turns have them


class _Contents:
    """What a log holds, read in one go.

    Attributes:
        runs: in order.
        entries: of the records of samples, in the order of the file.
        columns: of the lines of each run's records, by its number, in order of first appearance.
        damaged: numbers of lines that cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self.damaged: list[int] = []
        self.entries: list[_RecordSummary] = []
        self.columns: dict[int, dict[str, None]] = {}
        begins: dict[int, Record] = {}
        ends: dict[int, Record] = {}
        for offset, record in read_records(path, self.damaged):
            seq = record["seq"]
            if record["kind"] == "run":
                begins[seq] = record
            elif record["kind"] == "end":
                ends[seq] = record
            elif record["kind"] in OF_A_SAMPLE:
                is_episode = record["kind"] == "episode"
                usage = {} if is_episode else record.get("usage") or {}  # its turns have it, too
                # Which of several equal devices a rank had makes no difference.
                runs_with = ", ".join((record.get("runs_with") or {}).values())
                self.entries.append(
                    _RecordSummary(
                        is_episode,
                        seq,
                        offset,
                        record["key"],
                        record["fingerprint"],
                        Status(record["status"]),
                        record["asked_at"],
                        tokens=tuple(usage.get(kind) or 0 for kind in TOKENS),
                        ran_with=re.sub(r"cuda:\d+", "cuda", runs_with),
                        has_more=bool(record.get(MORE)),
                        requests=0 if is_episode else record.get("attempts", 1),
                    )
                )
                self.columns.setdefault(seq, {}).update(dict.fromkeys(record["line"]))
        self.runs = [LoggedRun(begins[seq], ends.get(seq, {})) for seq in sorted(begins)]

    def run_that_counts(self, mode: str | None, limit: int | None) -> LoggedRun | None:
        """Return the newest run, or the newest of those that cover most of a mode and limit."""
        newest_first = self.runs[::-1]
        if mode is None or not newest_first:
            return next(iter(newest_first), None)
        return max(newest_first, key=lambda run: _nearness(run, mode, limit))


class LogView:
    """One log opened for scoring.

    Records stay in the file until they are read one by one; a log may hold more than memory does.

    Args:
        mode: the mode of the data set that is to be scored; None: the newest run counts, whatever
            it covers.
        limit: how many of its samples are to be scored; None: all.

    Raises:
        UserError: the log cannot be read, or was put together from two logs.
    """

    def __init__(self, path: Path, mode: str | None = None, limit: int | None = None) -> None:
        problem = doubled_problem(path) if path.exists() else None
        if problem is not None:
            raise UserError(problem)
        try:
            contents = _Contents(path)
            self._file = path.open("rb")
        except OSError as error:
            raise UserError(f"{path}: cannot be read: {error}") from None
        self._runs = contents.runs
        self.notes = damage_notes(path, contents.damaged)
        run = contents.run_that_counts(mode, limit)
        # The records of the run that counts; empty where the log has none.
        self.run: Record = run.begin if run else {}
        self.end: Record = run.end if run else {}
        self.is_circular = run is not None and run.is_circular
        self.repeats = run.repeats if run else 1  # how often each question is asked
        entries = contents.entries
        if run is not None:
            hashes = run.request_hashes
            same = {other.seq for other in self._runs if other.request_hashes == hashes}
            entries = [entry for entry in entries if entry.seq in same]
        self._take(entries, contents.columns)

    def _take(
        self, entries: Sequence[_RecordSummary], columns: Mapping[int, Mapping[str, None]]
    ) -> None:
        """Keep what is needed of the records of runs that request the same."""
        seqs = sorted({entry.seq for entry in entries})
        # Of the lines of its records, in order of first appearance.
        self.columns = list({name: None for seq in seqs for name in columns[seq]})
        seq_of_run = self.run.get("seq", 0)
        newest = _newest(entries, seq_of_run, is_finished=bool(self.end))
        self._offsets = {key: entry.offset for key, entry in newest.items()}
        covered = self.run.get("samples")
        if covered is None:
            covered = list({question_of(key): None for key in newest if TURN_MARK not in key})
        self.covered: list[str] = covered  # keys of questions, in file order
        if not self.run:
            self.repeats = max(map(repeat_of, newest), default=1)
        ranks = self.run.get("turns", range(len(self.covered)))
        self.limit_ranks: dict[str, int] = dict(zip(self.covered, ranks, strict=True))
        self.mode: str | None = self.run.get("mode")
        self.limit: int | None = self.run.get("limit")
        self.left_out: list[str] = self.run.get("bad") or []  # bad samples, one line each
        later_answers = range(2, self.repeats + 1)
        # The keys of all answers to each question, the first of which is its own.
        self.answer_keys = {
            question: [question, *(repeat_key(question, number) for number in later_answers)]
            for question in self.covered
        }
        self._stages: dict[str, list[int] | None] = {}
        self.missing = 0  # questions without a record, or with fewer than they are to have
        for keys in self.answer_keys.values():
            for key in keys:
                entry = newest.get(key)
                if entry is not None and not entry.has_more:
                    self._stages[key] = [entry.offset]
                else:
                    self._stages[key] = _stages_of(key, newest)
            self.missing += any(self._stages[key] is None for key in keys)
        # Keys of records that runs before it have left, if it was stopped.
        self.earlier: set[str] = set()
        if seq_of_run and not self.end:
            self.earlier = {key for key, entry in newest.items() if entry.seq != seq_of_run}
        # Statuses, tokens, times, devices of the covered samples' answers, later turns too.
        self.totals = _totals(newest.values(), set(self.covered))

    def has(self, mode: str) -> bool:
        """Return whether the run covers all of a mode of its data set."""
        return self.mode in (mode, EVERYTHING, None)

    def is_part(self, mode: str, limit: int | None) -> bool:
        """Return whether scores of a mode are those of a part only, and may not replace full ones.

        That is so for a limit, a run that was stopped or covers less than the mode, one whose
        record is lost, and for one mode of a log that a run over all modes has been finished in.
        """
        of_all_modes = [
            run for run in self._runs if run.begin.get("mode") == EVERYTHING and run.end
        ]
        is_narrower = mode != EVERYTHING and any(run.limit is None for run in of_all_modes)
        is_limited = limit is not None or self.limit is not None
        is_whole = self.run and not self.missing and self.has(mode)
        return is_limited or is_narrower or not is_whole

    def records(self) -> Iterator[Record]:
        """Yield the records of all answers to the covered questions, in file order."""
        keys = chain.from_iterable(self.answer_keys.values())
        return (record for record in map(self.sample_record, keys) if record is not None)

    def record(self, key: str) -> Record | None:
        """Return a sample's episode or answer, or the answer of a later turn, if there is any."""
        offset = self._offsets.get(key)
        return None if offset is None else record_at(self._file, offset)

    def sample_record(self, key: str) -> Record | None:
        """Return a sample's episode or answer, with all its stages; None where one is missing."""
        stages = self._stages.get(key)
        if stages is None:
            return None
        first, *later = [record_at(self._file, offset) for offset in stages]
        return joined(first, later) if later else first

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _stages_of(key: str, newest: Mapping[str, _RecordSummary]) -> list[int] | None:
    """Return where all stages of a sample lie; None where one of them is missing."""
    offsets: list[int] = []
    while (entry := newest.get(turn_key(key, len(offsets)) if offsets else key)) is not None:
        offsets.append(entry.offset)
        if not entry.has_more or entry.status != Status.OK:
            return offsets
    return None


def _totals(entries: Iterable[_RecordSummary], covered: Set[str]) -> dict[str, Any]:
    entries_of_covered = [
        entry for entry in entries if entry.key in covered or question_of(entry.key) in covered
    ]
    times = [entry.asked_at for entry in entries_of_covered]
    answers = [entry for entry in entries_of_covered if not entry.is_episode]
    totals: dict[str, Any] = {
        "statuses": dict(Counter(entry.status for entry in answers)),
        "requests": sum(entry.requests for entry in answers),
        "answered": [min(times), max(times)] if times else [],
        "tokens": {
            kind: sum(entry.tokens[i] for entry in entries_of_covered)
            for i, kind in enumerate(TOKENS)
        },
    }
    runs_with = Counter(entry.ran_with for entry in entries_of_covered if entry.ran_with)
    if runs_with:
        totals["runs_with"] = dict(runs_with)
    return totals


def _newest(
    entries: Sequence[_RecordSummary], seq: int, *, is_finished: bool
) -> dict[str, _RecordSummary]:
    """Return the record that counts of each sample and turn.

    What a run has asked otherwise after all (a file that a prompt function reads) shows in the
    requests that both have sent: one that was stopped takes nothing from such a run.

    Args:
        entries: of runs that request the same.
        seq: the number of the run that counts.
        is_finished: whether that run came to its end.
    """
    of_run = [entry for entry in entries if entry.seq == seq and entry.fingerprint]
    sent = {entry.key: entry.fingerprint for entry in of_run}
    unlike = {
        entry.seq
        for entry in entries
        if sent.get(entry.key, entry.fingerprint) != entry.fingerprint
    }
    usable = [
        entry for entry in entries if is_finished or entry.seq == seq or entry.seq not in unlike
    ]
    return {entry.key: entry for entry in sorted(usable, key=itemgetter(0, 1, 2))}


class Selection:
    """The records that a config's mode and `--limit` choose among what a log covers.

    After going through it once, in file order, it has the words for what a score leaves out, or
    takes from earlier runs.

    Args:
        limit: how many of the covered questions count, with or without a record; None: all.
        notes: what else a reader of the score should know.
    """

    def __init__(
        self,
        log: LogView,
        in_mode: Callable[[Line, str], bool],
        mode: str,
        limit: int | None,
        notes: Sequence[str] = (),
    ) -> None:
        self._notes = list(notes)
        self._log, self._in_mode, self._mode = log, in_mode, mode
        # Records that were chosen; questions that lack one; records that an earlier run has left.
        self.taken = self.missing = self.earlier = 0
        self._is_short = limit is not None and log.limit is not None and log.limit < limit
        self._keys = log.covered
        is_all_of_mode = log.mode == mode and (self._is_short or log.limit == limit)
        if limit is not None and not is_all_of_mode:
            self._keys = self._limited(limit)

    def __iter__(self) -> Iterator[Record]:
        self.taken = self.missing = self.earlier = 0
        are_of_mode = self._mode in (EVERYTHING, self._log.mode)
        for question in self._keys:
            keys = self._log.answer_keys[question]
            records = [
                record for record in map(self._log.sample_record, keys) if record is not None
            ]
            if len(records) < len(keys):
                self.missing += 1  # where the log covers all modes, it may be of this one
                continue
            for key, record in zip(keys, records, strict=True):
                if are_of_mode or self._in_mode(record["line"], self._mode):
                    self.taken += 1
                    self.earlier += key in self._log.earlier
                    yield record

    def _limited(self, limit: int) -> list[str]:
        """Return the covered keys whose turns come first, in file order."""
        taken: set[str] = set()
        for key in sorted(self._log.covered, key=self._log.limit_ranks.__getitem__):
            record = self._log.sample_record(key)
            is_of_mode = self._mode == self._log.mode  # no record: nothing else is known
            if self._in_mode(record["line"], self._mode) if record else is_of_mode:
                taken.add(key)
            if len(taken) == limit:
                break
        return [key for key in self._log.covered if key in taken]

    def why_empty(self) -> str:
        """Say why not one sample can be scored, and what to do."""
        log, mode = self._log, self._mode
        if not log.has(mode):
            why = f"the log covers mode {log.mode}, the config wants mode {mode}"
        elif log.missing:
            why = "the newest run has no answer yet"
        else:
            why = f"the newest run has {counted(len(log.covered), 'sample')}, none of mode {mode}"
        return f"{why}. Run the same command without --mode eval"

    def section(self) -> dict[str, dict[str, Any]]:
        """Return the section of the analysis, by its name; none where there is nothing to know."""
        findings = self.findings()
        section = {
            "title": "What the score rests on",
            "left_out": len(self._log.left_out),
            "from_other_runs": self.earlier,
            FINDINGS: findings,
        }
        return {COVERAGE: section} if findings else {}

    def findings(self) -> list[Finding]:
        """Return what a reader of the score should know."""
        log = self._log
        findings: list[Finding] = []
        if not log.run:
            detail = "what else the log covered is not known"
            findings.append(_note("run_lost", f"the record of the run is lost: {detail}"))
        if log.left_out:
            of_mode = "" if log.mode in (self._mode, None) else f" of mode {log.mode}"
            summary = f"{counted(len(log.left_out), 'sample')}{of_mode} left out, bad data"
            detail = "not queried and not in the score; the log names them"
            findings.append(_note("left_out", f"{summary}: {detail}"))
        if not log.has(self._mode):
            summary = f"the log covers mode {log.mode} alone, not all of mode {self._mode}"
            findings.append(_note("mode", summary))
        if self.earlier:
            summary = (
                f"{self.earlier} of {self.taken} answers are from earlier runs in this log, with "
                "the same requests: the newest run stopped before it got to these samples"
            )
            findings.append(_note("earlier_runs", summary))
        if self._is_short:
            summary = f"the log covers {log.limit} samples only"
            detail = "the same command without --mode eval queries the others"
            findings.append(_note("limit", summary, detail=detail))
        findings += [_note("settings", text) for text in self._notes]
        findings += [_note("log", text) for text in log.notes]
        return findings

    def is_all(self, repeats: int = 1) -> bool:
        """Return whether all was scored that was asked for, bad samples and repeats included."""
        log = self._log
        is_whole = bool(log.run) and log.has(self._mode) and log.repeats >= repeats
        return is_whole and not (log.left_out or self.missing or self._is_short)


def _note(kind: str, summary: str, detail: str = "") -> Finding:
    return note(f"{COVERAGE}.{kind}", summary, detail=detail)
