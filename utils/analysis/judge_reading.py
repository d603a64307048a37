"""What a judge made of a reply, among the facts of its sample; and how it counts with the judge.

`facts["judge"]`: `{"for": "unread" | "audit", "status", "choice", "problem"}`.
"""

from __future__ import annotations

from enum import StrEnum

from utils.contracts import Facts, Verdict

SECTION = "judge"  # of an analysis, and the field of a sample
UNREAD, AUDIT = "unread", "audit"  # why the judge reads a reply


class ReadingStatus(StrEnum):
    """What became of a reply that the judge was to read."""

    READ = "read"  # a letter, or that the reply settles on none
    FAILED = "failed"  # no answer, or none that can be used; wrong, never guessed
    OVER_BUDGET = "over budget"
    NOT_ASKED = "not asked"  # only stored answers count, or the judge stopped


def with_reading(facts: Facts) -> Facts:
    """Return a sample as it counts with the judge."""
    reading = facts.get(SECTION) or {}
    if reading.get("for") != UNREAD or reading["status"] != ReadingStatus.READ:
        return facts
    is_hit = reading["choice"] is not None and reading["choice"] == facts["answer"]
    verdict = Verdict.HIT if is_hit else Verdict.MISS
    return {**facts, "hit": int(is_hit), "verdict": verdict, "chosen": reading["choice"]}
