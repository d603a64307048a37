"""Does a model swipe by one convention and the rule of the score judge by the other?

A word such as "down" says where the content goes, or where the finger goes, which is the opposite.
A model whose swipes are read by the wrong one of the two has nearly all of them wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.steps.action import StepAction, content_direction, opposite
from utils.analysis.columns import AuditSettings, Row, SampleColumns, Section, percent
from utils.contracts import WH
from utils.findings import Finding, note, warning
from utils.text import counted

CODE, TOPIC = "swipe_convention", "swipe convention"
TITLE = "Swipe convention: is the recorded direction that of the content or of the finger?"
CONTENT, FINGER, OTHER_AXIS = "as content", "as finger", "another axis"
STILL = "no direction"  # a drag that ends where it began
FEWEST_SWIPES = 10
MOST, FEW = 2 / 3, 0.2  # shares of the swipes
FRACTIONS = (1, 1)  # in place of a size that is unknown
FIX = (
    'reverse the convention of swipes in the parse function or recipe: "convention": "finger" '
    'instead of "content", or the other way round. At level low, look first at the instructions: '
    '"swipe up" often stands beside content that goes down'
)
FIX_OF_RULE = "choose a rule that uses the convention of the content: set `rule` of the data set"
BELOW = (
    "As content: the content moves in the recorded direction. As finger: the finger moves in the "
    "recorded direction, and the content moves back."
)


@dataclass(frozen=True, slots=True)
class Side:
    """The swipes that agree with the recorded direction by one convention."""

    convention: str
    count: int
    right: int  # by the rule of the score


def swipe_convention(columns: SampleColumns, settings: AuditSettings) -> Section | None:
    """Return the section: how many swipes agree with the recorded direction by each convention.

    It looks at the rows whose recorded and answered actions are swipes. It warns where two thirds
    of them agree by one convention and a fifth at most by the other, if the rule of the score
    counts the former wrong. None: there is no such row.
    """
    agreements = [
        _agreement(details, size)
        for details, size in zip(columns["details"], columns["file_wh"], strict=True)
    ]
    total = sum(agreement is not None for agreement in agreements)
    if not total:
        return None
    members = {
        name: [agreement == name for agreement in agreements]
        for name in (CONTENT, FINGER, OTHER_AXIS, STILL)
        if name != STILL or STILL in agreements
    }
    rows: list[Row] = [
        {
            "name": name,
            "count": sum(keep),
            "share": percent(sum(keep) / total),
            "right by the rule": sum(columns.where(keep)["hit"]),
        }
        for name, keep in members.items()
    ]
    sides = [Side(row["name"], row["count"], row["right by the rule"]) for row in rows[:2]]
    directions = _directions(columns.where(members[CONTENT]), columns.where(members[FINGER]))
    section: Section = {
        "title": TITLE,
        "rows": rows,
        "notes": [f"{counted(total, 'swipe row')} answered with a swipe. {BELOW}"],
        "findings": _findings(total, sides, directions, settings),
        "at": {name: columns.spans(keep) for name, keep in members.items()},
        "clear": "the swipes follow the convention of the rule",
    }
    if total < FEWEST_SWIPES:
        section["clear"] = f"fewer than {FEWEST_SWIPES} swipes, too few to tell"
        section["is_undecided"] = True
    elif not _leading(total, sides):
        section["clear"] = "no convention fits most swipes while the other fits few"
    return section


def _agreement(details: Mapping[str, Any] | None, size: WH | None) -> str | None:
    """The agreement of a swipe with the recorded one; None: one of the actions is no swipe."""
    if not details or not details["answered"]:
        return None
    if details["recorded"]["kind"] != "swipe" or details["answered"]["kind"] != "swipe":
        return None
    recorded = content_direction(StepAction.from_json(details["recorded"]), size or FRACTIONS)
    answered = content_direction(StepAction.from_json(details["answered"]), size or FRACTIONS)
    if not recorded or not answered:
        return STILL
    if answered == recorded:
        return CONTENT
    return FINGER if answered == opposite(recorded) else OTHER_AXIS


def _directions(*sides: SampleColumns) -> set[str]:
    """The directions of the content that the answers of some swipes have."""
    return {
        content_direction(StepAction.from_json(details["answered"]), size or FRACTIONS)
        for columns in sides
        for details, size in zip(columns["details"], columns["file_wh"], strict=True)
    }


def _leading(total: int, sides: list[Side]) -> tuple[Side, Side] | None:
    """The convention that is right in most swipes, and the other, if that is right in few."""
    worst, best = sorted(sides, key=lambda side: side.count)
    is_clear = best.count >= MOST * total and worst.count <= FEW * total
    return (best, worst) if total >= FEWEST_SWIPES and is_clear else None


def _findings(
    total: int, sides: list[Side], directions: set[str], settings: AuditSettings
) -> list[Finding]:
    leading = _leading(total, sides)
    if leading is None:
        return []
    best, worst = leading
    is_asked_for = 2 * best.right > best.count
    if is_asked_for and best.convention == CONTENT:
        return []
    model, other = (side.convention.removeprefix("as ") for side in leading)
    summary = (
        f"the model seems to use the convention of the {model}: {best.count} of {total} swipes "
        f"agree with the recorded direction {best.convention}, {worst.count} {worst.convention}"
    )
    alike = ""
    if len(directions) == 1:
        alike = (
            f"; all of them go one way (content {directions.pop()}), so the model may know no other"
        )
    if is_asked_for:
        counts = f"the rule of the score counts {best.right} of these {best.count} right"
        return [note(CODE, summary, detail=f"{counts}, other rules do not{alike}", topic=TOPIC)]
    asks = f"the rule of the score uses the convention of the {other}"
    return [
        warning(
            CODE,
            summary,
            detail=f"{asks}: {best.right} of these {best.count} are right{alike}",
            fix=FIX if best.convention == FINGER else FIX_OF_RULE,
            topic=TOPIC,
            setting=settings.parser_setting,
            row=best.convention,
        )
    ]
