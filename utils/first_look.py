"""An early warning: after the first answers of a data set, are they answers at all?

A wrong parse function or a token limit that is too low should be seen after twenty samples, not
after eight thousand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from utils.predictions import LogContent, Record
from utils.scoring import Judge, score_log

ENOUGH = 20


class FirstLook:
    """Collects the first answers of one data set and looks at them once.

    Args:
        keys: of all samples, in file order; parse functions see samples in that order.
        postprocess, parse, kwargs: as for `score_log`.
        warn: told what looks wrong.
    """

    def __init__(
        self,
        benchmark: Judge,
        keys: Sequence[str],
        *,
        postprocess: Callable[[str], str],
        parse: Callable[[str, Mapping[str, Any]], Any],
        kwargs: Mapping[str, Any],
        warn: Callable[[str], None],
    ) -> None:
        self._benchmark, self._keys = benchmark, keys
        self._postprocess, self._parse, self._kwargs = postprocess, parse, kwargs
        self._warn = warn
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
        run = {"samples": [key for key in self._keys if key in records]}
        content = LogContent(run, {(key, 0): record for key, record in records.items()})
        scored = score_log(
            content, self._benchmark, mode="all", limit=None, postprocess=self._postprocess,
            parse=self._parse, kwargs=self._kwargs, settings={}, skip_errors=True,
        )  # fmt: skip
        counts = scored.counts
        if counts["cut_off"] == len(records):
            self._warn(f"all of the first {ENOUGH} answers were cut off at the token limit")
        unreadable = counts["unparsed"] + counts["spoilt"]
        if unreadable > ENOUGH / 2:
            sample = scored.samples[0].prediction
            self._warn(
                f"{unreadable} of the first {ENOUGH} answers could not be read by the parse "
                f"function; one of them: {sample[:200]!r}"
            )
