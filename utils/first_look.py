"""An early warning: after the first answers of a data set, are they answers at all?

A wrong parse function or a token limit that is too low should be seen after twenty samples, not
after eight thousand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from utils.predictions import Record
from utils.scoring import Scorer

ENOUGH = 20


class FirstLook:
    """Collects the first answers of one data set and looks at them once.

    Args:
        keys: of all samples, in file order; parse functions see samples in that order.
        scorer: one of its own, with `skip_errors`.
        warn: told what looks wrong.
    """

    def __init__(self, keys: Sequence[str], scorer: Scorer, warn: Callable[[str], None]) -> None:
        self._keys, self._scorer, self._warn = keys, scorer, warn
        self._records: dict[str, Record] | None = {}

    def see(self, record: Record) -> None:
        """One more answer; after the last of the first ones they are looked at."""
        if self._records is None:
            return
        self._records[record["key"]] = record
        if len(self._records) >= min(ENOUGH, len(self._keys)):
            self._look(self._records)
            self._records = None

    def _look(self, records: Mapping[str, Record]) -> None:
        if len(records) < ENOUGH:  # a data set this small is finished before anyone could stop it
            return
        samples = [self._scorer.judge(records[key]) for key in self._keys if key in records]
        counts = self._scorer.counts
        if counts["cut_off"] == len(records):
            self._warn(f"all of the first {ENOUGH} answers were cut off at the token limit")
        unreadable = counts["unparsed"] + counts["spoilt"]
        if unreadable > ENOUGH / 2:
            odd = next(s for s in samples if str(s.judgement.verdict) in ("unparsed", "None"))
            self._warn(
                f"{unreadable} of the first {ENOUGH} answers could not be read by the parse "
                f"function; one of them: {odd.prediction[:200]!r}"
            )
