"""The rule of CoAT for AITZ as it was committed, in which every recorded click is at (0, 0).

The coordinates of a click are never read there, so that a click is right only where its box holds
the corner of the image. Figures of AITZ are reproduced by `aitz_agentcpm`.

Source: IMNearth/CoAT 9ab1a9f, coat/evaluate.py.
"""

from __future__ import annotations

from benchmarks.steps.action import StepAction, finger_direction
from benchmarks.steps.rules.matching import edit_similarity, enlarged, is_contained, is_inside
from benchmarks.steps.rules.rule import Rule, StepVerdict
from benchmarks.steps.truth import StepTruth
from utils.contracts import WH

CLICK_AS_COMMITTED = (0.0, 0.0)
ENLARGEMENT = 1.2
MIN_SIMILARITY = 0.8  # excluded
FRACTIONS = (1, 1)


def judge(action: StepAction | None, truth: StepTruth, _size: WH) -> StepVerdict:
    """The verdict on one answer; a click is one with a box."""
    if action is None or action.kind != truth.action.kind:
        return StepVerdict(type=False, grounding=None, success=False)
    return StepVerdict(type=True, grounding=None, success=_is_right(action, truth.action))


def _is_right(action: StepAction, recorded: StepAction) -> bool:
    if recorded.kind == "click":
        box = action.box_frac
        if box is None and action.point is not None:
            box = (*action.point, *action.point)
        return box is not None and is_inside(enlarged(box, ENLARGEMENT), CLICK_AS_COMMITTED)
    if recorded.kind == "type":
        is_alike = edit_similarity(action.text, recorded.text) > MIN_SIMILARITY
        return is_alike or is_contained(action.text, recorded.text)
    if recorded.kind == "swipe":
        return finger_direction(action, FRACTIONS) == finger_direction(recorded, FRACTIONS)
    if recorded.kind == "press":
        return action.button == recorded.button
    return action.status == recorded.status


RULE = Rule(
    name="aitz_coat_broken",
    judge=judge,
    clicks="only at the corner (0, 0), whatever was recorded, since that is how it was committed",
    description=(
        "Texts contain each other or are 0.8 alike; directions, buttons and ends are equal."
    ),
    has_boxes=False,
    grounding="",
    convention="finger",
    source="IMNearth/CoAT 9ab1a9f",
)
