"""An early warning: after the first samples of a data set, are there answers at all?

A wrong parse function, a token limit that is too low or a server that answers nobody should be seen
after twenty samples, not after eight thousand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from utils.contracts import Record, Status
from utils.errors import StopRun
from utils.scoring.scorer import ScoredSample, Scorer

ENOUGH = 20


class FirstLook:
    """Collects what first came of one data set and looks at it once.

    Args:
        keys: of all samples, in file order; parse functions see samples in that order.
        scorer: one of its own.
        warn: told what looks wrong.
    """

    def __init__(self, keys: Sequence[str], scorer: Scorer, warn: Callable[[str], None]) -> None:
        self._keys, self._scorer, self._warn = keys, scorer, warn
        self._records: dict[str, Record] | None = {}
        self._failures: list[Record] | None = []  # None once something was answered

    def see(self, record: Record) -> None:
        """One more sample that was asked; the first answers, or failures, are looked at.

        Raises:
            StopRun: no more should be asked: a function fails on one answer after the other.
        """
        if record["status"] != Status.OK:
            self._see_failure(record)
            return
        self._failures = None
        if self._records is None:
            return
        self._records[record["key"]] = record
        if len(self._records) >= min(ENOUGH, len(self._keys)):
            records, self._records = self._records, None
            try:
                self._look(records)
            except StopRun as why:
                raise StopRun(f"stopped after the first {ENOUGH} answers: {why}") from None

    def _see_failure(self, record: Record) -> None:
        if self._failures is None:
            return
        self._failures.append(record)
        if len(self._failures) < ENOUGH:
            return
        if len({_kind_of(failure) for failure in self._failures}) == 1:
            self._warn(
                f"none of the first {ENOUGH} samples has an answer, all {record['status']} alike; "
                f"the last one: {(record.get('error') or {}).get('message')}"
            )
        self._failures = None

    def _look(self, records: Mapping[str, Record]) -> None:
        if len(records) < ENOUGH:  # a data set this small is finished before anyone could stop it
            return
        samples = [self._scorer.judge(records[key]) for key in self._keys if key in records]
        counts = self._scorer.counts
        if counts["spent"] == len(records):
            self._warn(
                f"all of the first {ENOUGH} answers are empty: the model used all its tokens "
                "before it answered (reasoning); raise max_tokens"
            )
            return
        if counts["cut_off"] == len(records):
            self._warn(f"all of the first {ENOUGH} answers were cut off at the token limit")
        if counts["spoilt"] > ENOUGH / 2:
            self._warn(f"the postprocess function failed on {counts['spoilt']} of the first "
                       f"{ENOUGH} answers; {_one_of(samples, 'None')}")  # fmt: skip
        if counts["unparsed"] > ENOUGH / 2:
            self._warn(f"{counts['unparsed']} of the first {ENOUGH} answers could not be read by "
                       f"the parse function; {_one_of(samples, 'unparsed')}")  # fmt: skip


def _one_of(samples: Sequence[ScoredSample], verdict: str) -> str:
    odd = next(sample for sample in samples if str(sample.judgement.verdict) == verdict)
    return f"one of them: {odd.prediction[:200]!r}"


def _kind_of(record: Record) -> tuple[Any, ...]:
    error = record.get("error") or {}
    return record["status"], error.get("class"), error.get("status_code")
