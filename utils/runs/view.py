"""A log opened for scoring: which of its runs counts, what it covers, and each sample's record.

A log may hold many runs. Right after asking, the newest one counts; for `--mode eval` the newest
one that covers the mode and as many samples as are wanted. The record of a sample is the newest one
in the log among those of runs that ask the same (`asking` in their records): so a run that was
stopped has the answers that the log held already, and never one to another request.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from utils.contracts import TURN_MARK, Line, Record, Status
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
from utils.text import counted

EVERYTHING = "all"  # the mode that no other one reaches beyond
TOKENS = "prompt_tokens", "completion_tokens"
COVERAGE = "coverage"  # the section of the analysis


def fit(run: LoggedRun, mode: str, limit: int | None) -> tuple[bool, bool]:
    """Whether a run is of the mode, and of as many samples as are wanted."""
    is_enough = run.limit is None or (limit is not None and run.limit >= limit)
    return run.begin.get("mode") in (mode, EVERYTHING, None), is_enough


def _nearness(run: LoggedRun, mode: str, limit: int | None) -> tuple[bool, ...]:
    """The more of what is wanted a run holds, the higher."""
    covers, is_enough = fit(run, mode, limit)
    return covers or mode == EVERYTHING, covers and is_enough, is_enough, covers


class _Seen(NamedTuple):
    """What is kept in mind of a record; a sample's whole episode goes before its turns."""

    is_episode: bool
    seq: int
    offset: int
    key: str
    fingerprint: str
    status: Status
    asked_at: str
    tokens: tuple[int, ...]  # as `TOKENS` has them
    ran_with: str


class LogView:
    """One log opened for scoring.

    Records stay in the file until they are asked for; a log may hold more than memory does.

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
        damaged: list[int] = []
        seen: list[_Seen] = []
        columns: dict[int, dict[str, None]] = {}  # by run
        begins, ends = dict[int, Record](), dict[int, Record]()
        try:
            for offset, record in read_records(path, damaged):
                seq = record["seq"]
                if record["kind"] == "run":
                    begins[seq] = record
                elif record["kind"] == "end":
                    ends[seq] = record
                elif record["kind"] in OF_A_SAMPLE:
                    seen.append(_seen(record, offset))
                    columns.setdefault(seq, {}).update(dict.fromkeys(record["line"]))
            self._file = path.open("rb")
        except OSError as error:
            raise UserError(f"{path}: cannot be read: {error}") from None
        self._runs = [LoggedRun(begins[seq], ends.get(seq, {})) for seq in sorted(begins)]
        newest_first = self._runs[::-1]
        chosen = next(iter(newest_first), None)
        if mode is not None:
            chosen = max(newest_first, key=lambda run: _nearness(run, mode, limit), default=None)
        if chosen is not None:
            same = {run.seq for run in self._runs if run.request_hashes == chosen.request_hashes}
            seen = [each for each in seen if each.seq in same]
        # The records of the run that counts; empty where the log has none.
        self.run, self.end = (chosen.begin, chosen.end) if chosen else ({}, {})
        self.is_circular = chosen is not None and chosen.is_circular
        own = self.run.get("seq", 0)
        seqs = {each.seq for each in seen}
        # Of the lines of its records, in order of first appearance.
        self.columns = list({name: None for seq in sorted(seqs) for name in columns[seq]})
        records = _newest(seen, own, is_finished=bool(self.end))
        # Where they lie; of all else, which fills memory, nothing stays.
        self._offsets = {key: each.offset for key, each in records.items()}
        keys = [key for key in records if TURN_MARK not in key]
        self.covered: list[str] = self.run.get("samples", keys)  # in file order
        in_turn = self.run.get("turns", range(len(self.covered)))
        self.limit_ranks: dict[str, int] = dict(zip(self.covered, in_turn, strict=True))
        self.mode: str | None = self.run.get("mode")
        self.limit: int | None = self.run.get("limit")
        self.left_out: list[str] = self.run.get("bad") or []  # bad samples, one line each
        self.missing = sum(key not in records for key in self.covered)
        self.notes = damage_notes(path, damaged)
        # Keys of records that runs before it have left, if it was stopped.
        self.earlier = {
            key for key, each in records.items() if own and not self.end and each.seq != own
        }
        # Statuses, tokens, times, devices of the covered samples' answers, later turns too.
        self.totals = _totals(records.values(), set(self.covered))

    def has(self, mode: str) -> bool:
        """Whether the run covers all of a mode of its data set."""
        return self.mode in (mode, EVERYTHING, None)

    def is_part(self, mode: str, limit: int | None) -> bool:
        """Whether scores of a mode are those of a part only, and may not replace full ones.

        That is so for a limit, a run that was stopped or covers less than the mode, one whose
        record is lost, and for one mode of a log that a run over all modes has been finished in.
        """
        whole = [run for run in self._runs if run.begin.get("mode") == EVERYTHING and run.end]
        is_narrower = mode != EVERYTHING and any(run.limit is None for run in whole)
        is_limited = limit is not None or self.limit is not None
        is_whole = self.run and not self.missing and self.has(mode)
        return is_limited or is_narrower or not is_whole

    def records(self) -> Iterator[Record]:
        """The record of each covered sample that has one, in file order."""
        return (record for record in map(self.record, self.covered) if record is not None)

    def record(self, key: str) -> Record | None:
        """A sample's episode or answer, or the answer of a later turn of one, if there is any."""
        offset = self._offsets.get(key)
        return None if offset is None else record_at(self._file, offset)

    def close(self) -> None:
        """Closes the file."""
        self._file.close()


def _seen(record: Record, offset: int) -> _Seen:
    # Which of several equal devices a rank had makes no difference.
    ran_with = re.sub(r"cuda:\d+", "cuda", ", ".join((record.get("runs_with") or {}).values()))
    tokens = tuple((record.get("usage") or {}).get(kind) or 0 for kind in TOKENS)
    return _Seen(
        record["kind"] == "episode",
        record["seq"],
        offset,
        record["key"],
        record["fingerprint"],
        Status(record["status"]),
        record["asked_at"],
        tokens,
        ran_with,
    )


def _totals(seen: Iterable[_Seen], covered: Set[str]) -> dict[str, Any]:
    found = [each for each in seen if each.key.partition(TURN_MARK)[0] in covered]
    times = [each.asked_at for each in found]
    ran = Counter(each.ran_with for each in found if each.ran_with)
    return {
        "statuses": dict(Counter(each.status for each in found)),
        "answered": [min(times), max(times)] if times else [],
        "tokens": {kind: sum(each.tokens[i] for each in found) for i, kind in enumerate(TOKENS)},
        **({"runs_with": dict(ran)} if ran else {}),
    }


def _newest(seen: Sequence[_Seen], own: int, *, is_finished: bool) -> dict[str, _Seen]:
    """The record that counts of each sample and turn.

    What a run has asked otherwise after all (a file that a prompt function reads) shows in the
    requests that both have sent: one that was stopped takes nothing from such a run.
    """
    sent = {each.key: each.fingerprint for each in seen if each.seq == own and each.fingerprint}
    unlike = {each.seq for each in seen if sent.get(each.key, each.fingerprint) != each.fingerprint}
    found = [each for each in seen if is_finished or each.seq == own or each.seq not in unlike]
    return {each.key: each for each in sorted(found, key=itemgetter(0, 1, 2))}


class Selection:
    """The records that a config's mode and `--limit` choose among what a log covers.

    After going through it once, in file order, it has the words for what a score leaves out, or
    takes from earlier runs.

    Args:
        limit: how many of the covered samples count, with or without a record; None: all.
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
        # Records that were chosen; samples without one; records that an earlier run has left.
        self.taken = self.missing = self.earlier = 0
        self._keys = log.covered if limit is None else self._limited(limit)
        self._is_short = limit is not None and log.limit is not None and log.limit < limit

    def __iter__(self) -> Iterator[Record]:
        self.taken = self.missing = self.earlier = 0
        for key in self._keys:
            record = self._log.record(key)
            if record is None:  # where the log covers all modes, it may be of this one
                self.missing += 1
            elif self._in_mode(record["line"], self._mode):
                self.taken += 1
                self.earlier += key in self._log.earlier
                yield record

    def _limited(self, limit: int) -> list[str]:
        """The covered keys whose turns come first, in file order."""
        taken: set[str] = set()
        for key in sorted(self._log.covered, key=self._log.limit_ranks.__getitem__):
            record = self._log.record(key)
            is_of_mode = self._mode == self._log.mode  # no record: nothing else is known
            if self._in_mode(record["line"], self._mode) if record else is_of_mode:
                taken.add(key)
            if len(taken) == limit:
                break
        return [key for key in self._log.covered if key in taken]

    def nothing_there(self) -> str:
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
        """The section of the analysis, by its name; none where there is nothing to know."""
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
            why = "with the same requests: the newest run stopped before it got to these samples"
            answers = f"{self.earlier} of {self.taken} answers"
            summary = f"{answers} are from earlier runs in this log, {why}"
            findings.append(_note("earlier_runs", summary))
        if self._is_short:
            summary = f"the log covers {log.limit} samples only"
            detail = "the same command without --mode eval queries the others"
            findings.append(_note("limit", summary, detail=detail))
        findings += [_note("settings", text) for text in self._notes]
        findings += [_note("log", text) for text in log.notes]
        return findings

    def is_all(self) -> bool:
        """Whether all was scored that was asked for, bad samples included."""
        log = self._log
        is_whole = bool(log.run) and log.has(self._mode)
        return is_whole and not (log.left_out or self.missing or self._is_short)


def _note(kind: str, summary: str, detail: str = "") -> Finding:
    return note(f"{COVERAGE}.{kind}", summary, detail=detail)
