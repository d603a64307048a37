"""A log opened for scoring: which of its runs counts, what that covers, and each sample's record.

A log may hold many runs. Scores are those of one of them, with the answers as that run had them:
right after asking the newest one, for `--mode eval` the one that the config's mode asks for. If it
was stopped before it came to some of its samples, answers of other runs in the log stand in for
them, as long as nothing speaks against their being answers to the same requests.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from utils.contracts import Record, is_later_turn, sample_of_turn
from utils.errors import UserError
from utils.runs.log import LoggedRun, read_records, runs_of

# Keys of a model's entry that change no answer.
_WITHOUT_EFFECT = ("batch_size",)
_TRANSPORT = {
    "generate_cfg": ("timeout", "extra_headers"),
    "kwargs": ("timeout_s", "serve_timeout_s"),
}
EVERYTHING = "all"  # the mode that no other one reaches beyond


def run_to_score(
    runs: Sequence[LoggedRun], mode: str, limit: int | None = None
) -> LoggedRun | None:
    """The run of a log that `--mode eval` scores; None if there is no run.

    That is the newest one that covers the mode and as many samples as are wanted: a few that
    somebody tried out later take no result of thousands away. Where there is none: the newest that
    comes next to it.
    """

    def fits(run: LoggedRun) -> tuple[bool, ...]:
        holds_some = run.covers(mode) or mode == EVERYTHING
        covers, is_enough = run.covers(mode), _is_enough(run, limit)
        return holds_some, covers and is_enough, is_enough, covers

    return max(reversed(runs), key=fits, default=None)


def log_with_all(
    logs: Iterable[tuple[Path, Sequence[LoggedRun]]], mode: str, limit: int | None = None
) -> Path | None:
    """The first log with a run of the mode and of as many samples as are wanted."""
    for log, runs in logs:
        if any(run.covers(mode) and _is_enough(run, limit) for run in runs):
            return log
    return None


def _is_enough(run: LoggedRun, limit: int | None) -> bool:
    most = run.begin.get("limit")
    return most is None or (limit is not None and most >= limit)


class LogView:
    """One log opened for scoring.

    Records stay in the file until they are asked for; a log may hold more than memory does.

    Args:
        path: the log.
        mode: the mode of the data set that is to be scored; None: the newest run counts, whatever
            it covers.
        limit: how many of its samples are to be scored; None: all.

    Attributes:
        run: the "run" record of the run that counts; None in a log without any.
        end: its "end" record; empty if it did not get there.
        columns: of the lines of its records, in order of first appearance.
        carried: keys of records, later turns included, that other runs of the log have lent.
        lenders: when those runs began.
        apart: samples without a record that other runs have answered, but not as this one asks.
        differences: in what those runs differ, as far as the log tells.

    Raises:
        UserError: the log cannot be read.
    """

    def __init__(self, path: Path, mode: str | None = None, limit: int | None = None) -> None:
        self._path = path
        self._offsets: dict[str, int] = {}
        self._missing: int | None = None  # known once it is closed
        self._columns: dict[str, None] = {}
        # Of answers further up in the log: fingerprint, and where it is said that they count.
        self._to_find: dict[str, tuple[str, int]] = {}
        self.run: Record | None = None
        self.end: Record = {}
        self.carried: set[str] = set()
        self.lenders: list[str] = []
        self.apart = 0
        self.differences: dict[str, None] = {}
        try:
            self._runs = runs_of(path)
            newest = self._runs[-1] if self._runs else None
            chosen = newest if mode is None else run_to_score(self._runs, mode, limit)
            if chosen is not None:
                _, self.run = next(read_records(path, chosen.start))
                self.end = chosen.end
            self._read(chosen)
            if chosen is not None and (not chosen.end or self.missing):
                self._borrow(chosen)
            self._find_reused()
            self._file = path.open("rb")
        except OSError as error:
            raise UserError(f"{path}: cannot be read: {error}") from None
        self.columns = list(self._columns)

    # -- reading ----------------------------------------------------------------------------------

    def _read(self, run: LoggedRun | None) -> None:
        """What a run says of its samples; all that the log says if there is no run."""
        names = {key: key for key in self.covered}  # so that each key is held once
        for offset, record in self._records_of(run):
            key: str = record["key"]
            self._note(names.get(key, key), offset, record)

    def _records_of(self, run: LoggedRun | None) -> Iterator[tuple[int, Record]]:
        """The answers of a run, and where it says that an earlier one counts."""
        span = (run.start, run.stop) if run is not None else (0, None)
        for offset, record in read_records(self._path, *span):
            if record.get("kind") in ("answer", "reuse") and record["trial"] == 0:
                yield offset, record

    def _note(self, key: str, offset: int, record: Record) -> None:
        """The last that was said of a sample counts."""
        self._offsets[key] = offset
        if record["kind"] == "reuse":
            self._to_find[key] = (record["fingerprint"], offset)
            return
        self._to_find.pop(key, None)
        self._columns.update(dict.fromkeys(record["line"]))

    def _find_reused(self) -> None:
        """Replaces the places where a reuse is noted by those of the answers that are meant."""
        if not self._to_find:
            return
        found: dict[str, int] = {}
        last = max(offset for _, offset in self._to_find.values())
        for offset, record in read_records(self._path, 0, last):
            if record.get("kind") != "answer":
                continue
            fingerprint, before = self._to_find.get(record["key"], ("", 0))
            if offset < before and record.get("fingerprint") == fingerprint:
                found[record["key"]] = offset
                self._columns.update(dict.fromkeys(record["line"]))
        for key in self._to_find:
            if key in found:
                self._offsets[key] = found[key]
            else:  # its line is damaged
                del self._offsets[key]
                self.carried.discard(key)
        self._to_find.clear()

    # -- what a stopped run did not come to -------------------------------------------------------

    def _borrow(self, chosen: LoggedRun) -> None:
        """Fills what the run has no record of from the log's other runs, newest answers first.

        A score of two ways of asking would be nobody's, so a run takes no part if its settings are
        others, or if a sample that both have asked was another request then.
        """
        names = {key: key for key in self.covered}
        asked = {record["key"]: record.get("fingerprint") for _, record in self._records_of(chosen)}
        answered_apart: set[str] = set()
        for other in self._runs:
            if other is chosen:
                continue
            differences = self._differences(chosen, other, asked)
            self.differences.update(dict.fromkeys(differences))
            lent = 0
            for offset, record in self._records_of(other):
                key: str = record["key"]
                if key in asked or sample_of_turn(key) not in names:
                    continue
                if differences:
                    answered_apart.add(key)
                    continue
                key = names.get(key, key)
                self._note(key, offset, record)
                self.carried.add(key)
                lent += 1
            if lent:
                self.lenders.append(str(other.begin.get("started_at", "")))
        self.apart = sum(key in answered_apart for key in names if key not in self._offsets)

    def _differences(
        self, chosen: LoggedRun, other: LoggedRun, asked: Mapping[str, str | None]
    ) -> list[str]:
        """In what another run of the log asked otherwise; empty where nothing is known."""
        settings = settings_apart(chosen.begin, other.begin)
        if settings:
            return settings
        for _, record in self._records_of(other):
            ours, theirs = asked.get(record["key"]), record.get("fingerprint")
            if ours and theirs and ours != theirs:
                return ["prompts, pictures or functions"]
        return []

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
        return self.run.get("mode") if self.run is not None else None

    @property
    def limit(self) -> int | None:
        """How many samples the run was limited to; None: all of its mode."""
        return self.run.get("limit") if self.run is not None else None

    @property
    def left_out(self) -> list[str]:
        """The bad samples that the run did not ask, one line each."""
        return list(self.run.get("bad") or ()) if self.run is not None else []

    def has(self, mode: str) -> bool:
        """Whether the run covers all of a mode of its data set."""
        return self.mode in (mode, EVERYTHING, None)

    def is_part(self, mode: str, limit: int | None) -> bool:
        """Whether scores of a mode are those of a part only, and may not replace full ones.

        That is so for a limit, a run that was stopped or covers less than the mode, and for one
        mode of a log that a run over all modes has been finished in.
        """
        has_all = any(
            run.begin.get("mode") == EVERYTHING and run.end and not run.is_limited
            for run in self._runs
        )
        is_narrower = mode != EVERYTHING and has_all
        is_limited = limit is not None or self.limit is not None
        return is_limited or is_narrower or self.missing > 0 or not self.has(mode)

    @property
    def missing(self) -> int:
        """How many samples have no record yet."""
        if self._missing is not None:
            return self._missing
        return sum(key not in self._offsets for key in self.covered)

    def records(self) -> Iterator[Record]:
        """The record of each covered sample that has one, in file order."""
        for key in self.covered:
            record = self.record(key)
            if record is not None:
                yield record

    def record(self, key: str) -> Record | None:
        """The record of one sample, or of a later turn of one, as far as there is one."""
        if key not in self._offsets:
            return None
        self._file.seek(self._offsets[key])
        record: Record = json.loads(self._file.readline())
        return record

    def close(self) -> None:
        """Closes the file and lets go of its index; how many are missing stays known."""
        self._missing = self.missing
        self._file.close()
        self._offsets.clear()
        self.carried.clear()
        if self.run is not None:
            self.run = {**self.run, "samples": []}


def settings_apart(run: Record, other: Record) -> list[str]:
    """The keys of the model's entry by which two runs of a log may have got other answers."""
    ours, theirs = _asking_settings(run), _asking_settings(other)
    return [key for key in {**ours, **theirs} if ours.get(key) != theirs.get(key)]


def _asking_settings(run: Record) -> dict[str, Any]:
    models = (run.get("config") or {}).get("model") or {}
    entry = dict(models.get(run.get("model")) or {})
    for key in _WITHOUT_EFFECT:
        entry.pop(key, None)
    if entry.get("model_identity"):  # it stands for what the address names
        entry.pop("model_path", None)
    prompts = entry.get("custom_prompt") or {}
    if isinstance(prompts, dict):
        entry["custom_prompt"] = prompts.get(run.get("dataset"))
    for key, names in _TRANSPORT.items():
        entry[key] = {n: v for n, v in (entry.get(key) or {}).items() if n not in names}
    return entry
