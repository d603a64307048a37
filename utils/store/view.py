"""A log opened for scoring: which of its runs counts, what it covers, and each sample's record.

A log may hold many runs. Right after asking, the newest one counts; for `--mode eval` the newest
one that covers the mode and as many samples as are wanted. The record of a sample is the newest one
in the log among those of runs that ask the same (`asking` in their records): so a run that was
stopped has the answers that the log held already, and never one to another request.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import chain
from pathlib import Path
from typing import Any

from utils.contracts import (
    TURN_MARK,
    DataSet,
    Record,
    Sample,
    Status,
    question_of,
    repeat_key,
    repeat_of,
    turn_key,
)
from utils.errors import UserError
from utils.findings import FINDINGS, Finding, note
from utils.store.index import TOKENS, LogIndex, StoredAnswer, newest_by_key
from utils.store.log import LoggedRun, doubled_problem, record_at
from utils.store.records import joined
from utils.subsets import EVERYTHING, are_same_rows, covers, filters_of, is_subset
from utils.text import counted

COVERAGE = "coverage"  # the section of the analysis


def run_that_counts(
    runs: Sequence[LoggedRun], mode: str | None, limit: int | None
) -> LoggedRun | None:
    """The newest run, or the newest of those that cover most of a mode and limit.

    Args:
        runs: the newest last.
        mode: None: the newest run counts, whatever it covers.
        limit: None: all samples are wanted.
    """
    if mode is None:
        return runs[-1] if runs else None

    def coverage(run: LoggedRun) -> tuple[bool, ...]:
        covers, has_enough = run.covers(mode), run.has_enough(limit)
        if mode == EVERYTHING:  # all samples of a part rather than a few of each part
            return covers and has_enough, has_enough, covers
        return covers, has_enough

    return max(reversed(runs), key=coverage, default=None)


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
            index = LogIndex(path)
            self._file = path.open("rb")
        except OSError as error:
            raise UserError(f"{path}: cannot be read: {error}") from None
        self._runs = index.runs
        self.notes = index.notes
        run = run_that_counts(index.runs, mode, limit)
        # The records of the run that counts; empty where the log has none.
        self.run: Record = run.begin if run else {}
        self.end: Record = run.end if run else {}
        self.is_circular = run is not None and run.is_circular
        self.repeats = run.repeats if run else 1  # how often each question is asked
        self._take(index.answers if run is None else index.answers_of_runs_like(run), index.columns)

    def _take(
        self, answers: Sequence[StoredAnswer], columns: Mapping[int, Mapping[str, None]]
    ) -> None:
        """Keep what is needed of the answers of runs that request the same."""
        seqs = sorted({answer.seq for answer in answers})
        # Of the lines of its records, in order of first appearance.
        self.columns = list({name: None for seq in seqs for name in columns[seq]})
        seq_of_run = self.run.get("seq", 0)
        newest = _newest(answers, seq_of_run, is_finished=bool(self.end))
        # The end of the newest run that gave an answer: a later one may have asked nothing.
        seq_of_answers = max((answer.seq for answer in newest.values()), default=seq_of_run)
        ends = [run.end for run in self._runs if run.seq == seq_of_answers]
        self.end_of_answers: Record = ends[0] if ends else self.end
        self._offsets = {key: answer.offset for key, answer in newest.items()}
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
                self._stages[key] = _stages_of(key, newest)
            self.missing += any(self._stages[key] is None for key in keys)
        # Keys of records that runs before it have left, if it was stopped.
        self.earlier: set[str] = set()
        if seq_of_run and not self.end:
            self.earlier = {key for key, answer in newest.items() if answer.seq != seq_of_run}
        # Statuses, tokens, times, devices of the covered samples' answers, later turns too.
        self.totals = _totals(newest.values(), set(self.covered))

    def has(self, mode: str) -> bool:
        """Whether the run covers all of a mode of its data set."""
        return covers(self.mode, mode)

    def is_part(self, mode: str, limit: int | None) -> bool:
        """Whether scores of a mode cover only a part, and may not replace full ones.

        True for a limit, for rows of some labels, for a run that was stopped, covers less than the
        mode or has lost its record, and for one mode of a log with a finished run over all modes.
        """
        of_all_modes = [
            run for run in self._runs if run.begin.get("mode") == EVERYTHING and run.end
        ]
        is_narrower = mode != EVERYTHING and any(run.limit is None for run in of_all_modes)
        is_limited = limit is not None or self.limit is not None
        is_limited |= is_subset(mode) or is_subset(self.mode)
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


def _stages_of(key: str, newest: Mapping[str, StoredAnswer]) -> list[int] | None:
    """The offsets of all stages of a sample; None where one of them is missing."""
    offsets: list[int] = []
    while (answer := newest.get(turn_key(key, len(offsets)) if offsets else key)) is not None:
        offsets.append(answer.offset)
        if not answer.has_more or answer.status != Status.OK:
            return offsets
    return None


def _totals(newest: Iterable[StoredAnswer], covered: Set[str]) -> dict[str, Any]:
    of_covered = [
        answer for answer in newest if answer.key in covered or question_of(answer.key) in covered
    ]
    times = [answer.asked_at for answer in of_covered if answer.asked_at]
    answers = [answer for answer in of_covered if not answer.is_episode]
    totals: dict[str, Any] = {
        "statuses": dict(Counter(answer.status for answer in answers)),
        "requests": sum(answer.requests for answer in answers),
        "answered": [min(times), max(times)] if times else [],
        "tokens": {
            kind: sum(answer.tokens[i] for answer in of_covered) for i, kind in enumerate(TOKENS)
        },
    }
    servers = Counter(answer.server for answer in answers if answer.server)
    if servers:
        totals["answered_by"] = dict(sorted(servers.items()))
    runs_with = Counter(answer.ran_with for answer in of_covered if answer.ran_with)
    if runs_with:
        totals["runs_with"] = dict(runs_with)
    return totals


def _newest(
    answers: Sequence[StoredAnswer], seq: int, *, is_finished: bool
) -> dict[str, StoredAnswer]:
    """The answer that counts of each sample and turn.

    What a run has asked otherwise after all (a file that a prompt function reads) shows in the
    requests that both have sent: one that was stopped takes nothing from such a run.

    Args:
        answers: of runs that request the same.
        seq: the number of the run that counts.
        is_finished: whether that run came to its end.
    """
    if is_finished:
        return newest_by_key(answers)
    of_run = [answer for answer in answers if answer.seq == seq and answer.fingerprint]
    sent = {answer.key: answer.fingerprint for answer in of_run}
    unlike = {
        answer.seq
        for answer in answers
        if sent.get(answer.key, answer.fingerprint) != answer.fingerprint
    }
    unlike.discard(seq)
    return newest_by_key(answer for answer in answers if answer.seq not in unlike)


class Selection:
    """The records that a config's mode and `--limit` choose among what a log covers.

    After going through it once, in file order, it has the words for what a score leaves out, or
    takes from earlier runs.

    Args:
        log: the log opened for scoring.
        data: the data set as the config has it.
        limit: how many of the covered questions count, with or without a record; None: all.
        notes: what else a reader of the score should know.
    """

    def __init__(
        self,
        log: LogView,
        data: DataSet,
        limit: int | None,
        notes: Sequence[str] = (),
    ) -> None:
        self._notes = list(notes)
        self._log, self._data, self._mode = log, data, data.mode
        # Records that were chosen; questions that lack one; records that an earlier run has left.
        self.taken = self.missing = self.earlier = 0
        self._is_short = limit is not None and log.limit is not None and log.limit < limit
        self._keys = log.covered
        self._is_mode_of_log = are_same_rows(log.mode, self._mode)
        is_all_of_mode = self._is_mode_of_log and (self._is_short or log.limit == limit)
        if limit is not None and not is_all_of_mode:
            ranks = log.limit_ranks if self._is_mode_of_log else data.ranks_of(self._of_mode())
            self._keys = [key for key in log.covered if ranks.get(key, limit) < limit]

    def __iter__(self) -> Iterator[Record]:
        self.taken = self.missing = self.earlier = 0
        are_of_mode = self._mode == EVERYTHING or self._is_mode_of_log
        for question in self._keys:
            keys = self._log.answer_keys[question]
            records = [
                record for record in map(self._log.sample_record, keys) if record is not None
            ]
            if len(records) < len(keys):
                self.missing += 1  # where the log covers all modes, it may be of this one
                continue
            for key, record in zip(keys, records, strict=True):
                if are_of_mode or self._data.benchmark.in_mode(record["line"], self._mode):
                    self.taken += 1
                    self.earlier += key in self._log.earlier
                    yield record

    def _of_mode(self) -> Iterator[Sample]:
        """Yield the covered samples of the mode, in file order, as far as they have a record."""
        for key in self._log.covered:
            record = self._log.sample_record(key)
            if record is not None and self._data.benchmark.in_mode(record["line"], self._mode):
                line = record["line"]
                yield Sample(key, line, Path(str(line.get("image_path"))), None)

    def why_empty(self) -> str:
        """Say why not one sample can be scored, and what to do."""
        log, mode = self._log, self._mode
        if not log.has(mode):
            why = f"the log covers mode {log.mode}, the config wants mode {mode}"
        elif log.missing:
            why = "the newest run has no answer yet"
        else:
            of_what = f"with {filters_of(mode)}" if is_subset(mode) else f"of mode {mode}"
            why = f"the newest run has {counted(len(log.covered), 'sample')}, none {of_what}"
        return f"{why}. Run the same command without --mode eval"

    def section(self) -> dict[str, dict[str, Any]]:
        """Return the section of the analysis, by its name; none where there is nothing to know."""
        findings = self.findings()
        section = {
            "title": "Basis of the score",
            "left_out": len(self._log.left_out),
            "from_other_runs": self.earlier,
            FINDINGS: findings,
        }
        return {COVERAGE: section} if findings else {}

    def findings(self) -> list[Finding]:
        """Findings that a reader of the score should know."""
        log = self._log
        findings: list[Finding] = []
        if not log.run:
            detail = "its other samples are not known"
            findings.append(_note("run_lost", f"the record of the run is lost: {detail}"))
        if log.left_out:
            is_mode_known = log.mode is not None and not self._is_mode_of_log
            of_mode = f" of mode {log.mode}" if is_mode_known else ""
            summary = (
                f"{counted(len(log.left_out), 'sample')}{of_mode} left out because of bad data"
            )
            detail = "they were not queried and are not in the score; the log names them"
            findings.append(_note("left_out", f"{summary}: {detail}"))
        if not log.has(self._mode):
            summary = f"the log has only a part of the data set (mode {log.mode})"
            findings.append(_note("mode", summary))
        if self.earlier:
            summary = (
                f"{self.earlier} of {self.taken} answers are from earlier runs in this log, with "
                "the same requests: the newest run stopped before these samples"
            )
            findings.append(_note("earlier_runs", summary))
        if self._is_short:
            summary = f"the log has only {log.limit} samples"
            detail = "the same command without --mode eval queries the others"
            findings.append(_note("limit", summary, detail=detail))
        findings += [_note("settings", text) for text in self._notes]
        findings += [_note("log", text) for text in log.notes]
        return findings

    def is_all(self, repeats: int = 1) -> bool:
        """Whether everything that was asked for was scored, bad samples and repeats included."""
        log = self._log
        is_whole = bool(log.run) and log.has(self._mode) and log.repeats >= repeats
        return is_whole and not (log.left_out or self.missing or self._is_short)


def _note(kind: str, summary: str, detail: str = "") -> Finding:
    return note(f"{COVERAGE}.{kind}", summary, detail=detail)
