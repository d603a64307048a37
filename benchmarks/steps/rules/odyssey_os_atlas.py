"""The rule of OS-Atlas for GUI-Odyssey: 140 per mille, and F1 of whole actions.

The word TYPE is one of the words that F1 counts. A point that cannot be read is (0, 0).

Source: OS-Copilot/OS-Atlas bad0840, eval/eval_scripts/odyssey/evaluation_unify.py.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.steps.action import POINTING, StepAction
from benchmarks.steps.rules.area import Area, around
from benchmarks.steps.rules.matching import distance, scaled, token_f1
from benchmarks.steps.rules.odyssey_official import scroll_word
from benchmarks.steps.rules.os_atlas import type_word
from benchmarks.steps.rules.rule import JudgedStep, Rule, Share, StepVerdict
from benchmarks.steps.truth import StepTruth
from utils.contracts import WH

RADIUS = 140  # per mille of each axis
MIN_F1 = 0.5  # excluded


def judge(action: StepAction | None, truth: StepTruth, _size: WH) -> StepVerdict:
    """The verdict on one answer."""
    recorded = truth.action
    if action is None or type_word(action) != type_word(recorded):
        return StepVerdict(type=False, grounding=None, success=False)
    is_right = _is_right(action, recorded)
    return StepVerdict(True, is_right if recorded.kind == "click" else None, is_right)


def _is_right(action: StepAction, recorded: StepAction) -> bool:
    if recorded.kind in POINTING:
        point = scaled(action.point or (0.0, 0.0), 1000, 1000)
        true_point = scaled(recorded.point or (0.0, 0.0), 1000, 1000)
        return distance(point, true_point) <= RADIUS
    if recorded.kind == "type":
        return token_f1(f"TYPE [{action.text}]", f"TYPE [{recorded.text}]") > MIN_F1
    if recorded.kind == "swipe":
        return scroll_word(action) == scroll_word(recorded)
    return True


def area(truth: StepTruth, _size: WH) -> Area | None:
    """The area in which a click is right."""
    return around(truth.action.point, RADIUS / 1000) if truth.action.kind in POINTING else None


def official_figures(rows: Sequence[JudgedStep]) -> dict[str, Share]:
    """Grounding: right clicks by the clicks and long presses of right type."""
    typed = [row for row in rows if row.verdict.type and row.truth.action.kind in POINTING]
    return {"grounding": Share(sum(bool(row.verdict.grounding) for row in rows), len(typed))}


RULE = Rule(
    name="odyssey_os_atlas",
    judge=judge,
    clicks="within 0.14 of the recorded point, with both axes as fractions",
    description=(
        "The F1 of the words of a typed action, TYPE included, is over 0.5; directions and "
        "buttons are equal."
    ),
    area=area,
    grounding="click rows that were answered with a click",
    convention="finger",
    source="OS-Copilot/OS-Atlas bad0840",
    has_boxes=False,
    official_figures=official_figures,
)
