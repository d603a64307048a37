"""A log opened for scoring: which of its runs counts, what it covers, and each sample's record.

A log may hold many runs. Right after asking, the newest one counts; for `--mode eval` the newest
one that covers the mode and as many samples as are wanted. The record of a sample is the newest one
in the log among those of runs that ask the same (`asking` in their records): so a run that was
stopped has the answers that the log held already, and never one to another request.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from utils.contracts import Line, Record, is_later_turn, sample_of_turn
from utils.errors import UserError
from utils.runs.log import LoggedRun, damage_note, read_records, record_at, runs_of

EVERYTHING = "all"  # the mode that no other one reaches beyond
COVERAGE = "coverage"  # the section of the analysis


def run_to_score(
    runs: Sequence[LoggedRun], mode: str, limit: int | None = None
) -> LoggedRun | None:
    """The run of a log that `--mode eval` scores; None if there is no run.

    That is the newest one that covers the mode and as many samples as are wanted; where there is
    none, the newest that comes next to it.
    """

    def fits(run: LoggedRun) -> tuple[bool, ...]:
        holds_some = run.covers(mode) or mode == EVERYTHING
        covers, is_enough = run.covers(mode), _is_enough(run, limit)
        return holds_some, covers and is_enough, is_enough, covers

    return max(reversed(runs), key=fits, default=None)


def holds_all(runs: Sequence[LoggedRun], mode: str, limit: int | None) -> bool:
    """Whether one of a log's runs is of the mode and of as many samples as are wanted."""
    return any(run.covers(mode) and _is_enough(run, limit) for run in runs)


def _is_enough(run: LoggedRun, limit: int | None) -> bool:
    return run.limit is None or (limit is not None and run.limit >= limit)


class LogView:
    """One log opened for scoring.

    Records stay in the file until they are asked for; a log may hold more than memory does.

    Args:
        path: the log.
        mode: the mode of the data set that is to be scored; None: the newest run counts, whatever
            it covers.
        limit: how many of its samples are to be scored; None: all.

    Attributes:
        run: the "run" record of the run that counts; empty in a log without any.
        end: its "end" record; empty if it did not get there.
        columns: of the lines of its records, in order of first appearance.
        earlier: keys of records that runs before it have left, if it was stopped.
        notes: what is odd about the log, one line each.

    Raises:
        UserError: the log cannot be read.
    """

    def __init__(self, path: Path, mode: str | None = None, limit: int | None = None) -> None:
        try:
            self._runs = runs_of(path)
            newest = self._runs[-1] if self._runs else None
            chosen = newest if mode is None else run_to_score(self._runs, mode, limit)
            self.run: Record = chosen.begin if chosen else {}
            self.end: Record = chosen.end if chosen else {}
            self._offsets: dict[str, int] = {}
            self.columns: list[str] = []
            self.earlier: set[str] = set()
            self.notes: list[str] = []
            self._read(path)
            self._file = path.open("rb")
        except OSError as error:
            raise UserError(f"{path}: cannot be read: {error}") from None

    def _read(self, path: Path) -> None:
        own, asking = self.run.get("seq"), self.run.get("asking")
        same = {run.seq for run in self._runs if run.asking == asking}
        found: list[tuple[str, bool, int, int, str]] = []
        facts: dict[int, tuple[str, str, Any, str]] = {}  # of each record, by its place
        columns: dict[str, None] = {}
        damaged: list[int] = []
        for offset, record in read_records(path, damaged):
            seq, is_episode = record["seq"], record["kind"] == "episode"
            if record["kind"] == "run" and seq == own:
                self.run = record
            elif "key" in record and not record["trial"] and (own is None or seq in same):
                found.append((record["key"], is_episode, seq, offset, record["fingerprint"]))
                ran = ", ".join((record.get("runs_with") or {}).values())
                usage = record.get("usage") or {}
                facts[offset] = (record["status"], record["asked_at"], usage, ran)
                columns.update(dict.fromkeys(record["line"]))
        self.columns = list(columns)
        self.notes += [damage_note(path, damaged)] if damaged else []
        # What a run has asked otherwise after all (a file that a prompt function reads) shows in
        # the requests that both have sent.
        sent = {key: fingerprint for key, _, seq, _, fingerprint in found if seq == own}
        unlike = {
            seq for key, _, seq, _, fingerprint in found
            if not self.end and sent.get(key, fingerprint) not in ("", fingerprint)
        }  # fmt: skip
        best: dict[str, tuple[bool, int]] = {}  # the whole episode before its turns, then by run
        for key, is_episode, seq, offset, _ in found:
            rank = (is_episode, seq)
            if seq not in unlike and rank >= best.get(key, rank):
                best[key], self._offsets[key] = rank, offset
        self._facts = {key: facts[offset] for key, offset in self._offsets.items()}
        if not self.end:
            self.earlier = {key for key, (_, seq) in best.items() if seq != own}

    # -- what it covers ---------------------------------------------------------------------------

    @property
    def covered(self) -> list[str]:
        """Keys of the samples that the run covers, in file order."""
        if self.run:
            return self.run["samples"]  # type: ignore[no-any-return]
        return [key for key in self._offsets if not is_later_turn(key)]

    @property
    def mode(self) -> str | None:
        """Which mode of the data set the run covers; None where that is not known."""
        return self.run.get("mode")

    @property
    def limit(self) -> int | None:
        """How many samples the run was limited to; None: all of its mode."""
        return self.run.get("limit")

    @property
    def left_out(self) -> list[str]:
        """The bad samples that the run did not ask, one line each."""
        return list(self.run.get("bad") or ())

    def has(self, mode: str) -> bool:
        """Whether the run covers all of a mode of its data set."""
        return self.mode in (mode, EVERYTHING, None)

    def is_part(self, mode: str, limit: int | None) -> bool:
        """Whether scores of a mode are those of a part only, and may not replace full ones.

        That is so for a limit, a run that was stopped or covers less than the mode, and for one
        mode of a log that a run over all modes has been finished in.
        """
        has_all = any(
            run.begin.get("mode") == EVERYTHING and run.end and run.limit is None
            for run in self._runs
        )
        is_narrower = mode != EVERYTHING and has_all
        is_limited = limit is not None or self.limit is not None
        return is_limited or is_narrower or self.missing > 0 or not self.has(mode)

    @property
    def missing(self) -> int:
        """How many samples have no record yet."""
        return sum(key not in self._offsets for key in self.covered)

    def totals(self) -> dict[str, Any]:
        """Statuses, tokens, times, devices of the covered samples' answers, later turns too."""
        covered = set(self.covered)
        found = [each for key, each in self._facts.items() if sample_of_turn(key) in covered]
        times = sorted(asked_at for _, asked_at, _, _ in found)
        # Which of several equal devices a rank had makes no difference.
        ran = Counter(re.sub(r"cuda:\d+", "cuda", ran) for *_, ran in found if ran)
        return {
            "statuses": dict(Counter(status for status, _, _, _ in found)),
            "answered": [times[0], times[-1]] if times else [],
            "tokens": {kind: sum(usage.get(kind) or 0 for _, _, usage, _ in found)
                       for kind in ("prompt_tokens", "completion_tokens")},
            **({"runs_with": dict(ran)} if ran else {}),
        }  # fmt: skip

    def records(self) -> Iterator[Record]:
        """The record of each covered sample that has one, in file order."""
        for key in self.covered:
            record = self.record(key)
            if record is not None:
                yield record

    def record(self, key: str) -> Record | None:
        """A sample's episode or answer, or the answer of a later turn of one, if there is any."""
        offset = self._offsets.get(key)
        return None if offset is None else record_at(self._file, offset)

    def close(self) -> None:
        """Closes the file."""
        self._file.close()


class Selection:
    """The records that a config's mode and `--limit` choose among what a log covers.

    Going through it once, in file order, fills in what else is known; then it has the words for
    what a score leaves out, or takes from elsewhere. Whoever reads a score takes it for all that
    was asked for, answered in one go; where that is not so, a line says it.

    Args:
        in_mode: of the benchmark.
        limit: how many of the covered samples count, with or without a record; None: all.

    Attributes:
        taken: how many samples were chosen, those without a record aside.
        missing: how many have no record. In a mode of a log that covers all, any sample without
            one may be of that mode.
        earlier: how many of the records an earlier run has left.
    """

    def __init__(
        self, log: LogView, in_mode: Callable[[Line, str], bool], mode: str, limit: int | None
    ) -> None:
        self._log, self._in_mode, self._mode, self._limit = log, in_mode, mode, limit
        self.taken = self.missing = self.earlier = 0

    def __iter__(self) -> Iterator[Record]:
        self.taken = self.missing = self.earlier = 0
        rest = self._limit
        for key in self._log.covered:
            if rest is not None and rest <= 0:
                return
            record = self._log.record(key)
            if record is None:
                self.missing += 1
                counts = self._mode == self._log.mode
            else:
                counts = self._in_mode(record["line"], self._mode)
            if rest is not None:
                rest -= counts
            if record is not None and counts:
                self.taken += 1
                self.earlier += key in self._log.earlier
                yield record

    def nothing_there(self) -> str:
        """Why not one sample can be scored, and what to do."""
        go_on = "The same command without --mode eval asks"
        if self._log.has(self._mode):
            return f"the newest run has no answer yet. {go_on}"
        return (
            f"the log covers mode {self._log.mode}, the config wants mode {self._mode}. {go_on} it"
        )

    def section(self) -> dict[str, dict[str, Any]]:
        """The section of the analysis, by its name; none where there is nothing to know."""
        warnings = self.warnings()
        if not warnings:
            return {}
        return {COVERAGE: {
            "title": "What the score rests on",
            "left_out": len(self._log.left_out),
            "from_other_runs": self.earlier,
            "warnings": warnings,
        }}  # fmt: skip

    def warnings(self) -> list[str]:
        """One line for each thing that a reader of the score should know."""
        log, found = self._log, []
        if log.left_out:
            of_which = "" if log.mode in (self._mode, None) else f" of mode {log.mode}"
            count = "1 sample" if len(log.left_out) == 1 else f"{len(log.left_out)} samples"
            found.append(
                f"{count}{of_which} left out, bad data: not asked and not in the score; the log "
                "names them"
            )
        if not log.has(self._mode):
            found.append(f"the log covers mode {log.mode} alone, not all of mode {self._mode}")
        if self.earlier:
            found.append(
                f"{self.earlier} of {self.taken} answers are those of earlier runs in this log, "
                "which asked the same: the newest run was stopped before it came to these samples"
            )
        if self._is_short:
            found.append(
                f"the log covers the first {log.limit} samples only; the same command without "
                "--mode eval asks the others"
            )
        return found + log.notes

    def is_all(self) -> bool:
        """Whether all was scored that was asked for, bad samples included."""
        log = self._log
        return log.has(self._mode) and not (log.left_out or self.missing or self._is_short)

    @property
    def _is_short(self) -> bool:
        """A larger limit is wanted than the run had."""
        return None not in (self._limit, self._log.limit) and self._log.limit < self._limit  # type: ignore[operator]
