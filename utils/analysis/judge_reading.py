"""A judge's reading of a reply, among the facts of its sample, and the verdict with that reading.

`facts["judge"]`: `{"for": "unread" | "audit", "status", "choice", "problem"}`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any

from utils.contracts import Facts, Verdict

SECTION = "judge"  # of an analysis, and the field of a sample
UNREAD, AUDIT = "unread", "audit"  # why the judge reads a reply


class ReadingStatus(StrEnum):
    """The status of a reply that the judge was to read."""

    READ = "read"  # a letter, or that the reply settles on none
    FAILED = "failed"  # no answer, or none that can be used; wrong, never guessed
    OVER_BUDGET = "over budget"
    NOT_ASKED = "not asked"  # only stored answers count, or the judge stopped


def has_read_enough(to_read: int, read: int) -> bool:
    """Whether a figure with the judge may be shown: it read at least half of the replies."""
    return 2 * read >= to_read


def unread_replies(samples: Iterable[Facts]) -> list[Mapping[str, Any]]:
    """Return the readings of the replies in which the parse function found no letter."""
    readings = (facts.get(SECTION) or {} for facts in samples)
    return [reading for reading in readings if reading.get("for") == UNREAD]


def is_read_enough(samples: Iterable[Facts]) -> bool:
    """Whether the judge has read enough of these samples for a figure."""
    readings = unread_replies(samples)
    read = sum(reading["status"] == ReadingStatus.READ for reading in readings)
    return has_read_enough(len(readings), read)


def with_reading(facts: Facts) -> Facts:
    """Return a sample as it counts with the judge."""
    reading = facts.get(SECTION) or {}
    if reading.get("for") != UNREAD or reading["status"] != ReadingStatus.READ:
        return facts
    is_hit = reading["choice"] is not None and reading["choice"] == facts["answer"]
    verdict = Verdict.HIT if is_hit else Verdict.MISS
    return {**facts, "hit": int(is_hit), "verdict": verdict, "chosen": reading["choice"]}
