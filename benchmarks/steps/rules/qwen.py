"""The rule of Qwen2.5-VL, with candidate boxes, and of UI-S1 as it was released, without them.

Both sides are normalised. A click is right in any candidate box enlarged to 1.2 of its width and
height, or within 0.04 of the recorded point. Any swipe is right, and so is an empty text. Where an
app is to be opened, a click in the row's boxes is right, too.

Source: X-PLUG/MobileAgent 11cea57, UI-S1/evaluation/qwenvl_utils.py. There `fix_line` of
eval_qwenvl.py empties all boxes before anything is judged: that is the rule `ui_s1`.
"""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.steps.action import POINTING, Corners, StepAction
from benchmarks.steps.rules.matching import (
    centre,
    distance,
    enlarged,
    is_contained_folded,
    is_inside,
)
from benchmarks.steps.rules.rule import Rule, StepVerdict
from benchmarks.steps.truth import StepTruth
from utils.contracts import WH, Point

ENLARGEMENT = 1.2
RADIUS = 0.04  # of each axis

IsNear = Callable[[Point, Point], bool]
"""The answer's and the recorded point, as fractions → whether they are near enough."""


def judge(action: StepAction | None, truth: StepTruth, size: WH) -> StepVerdict:
    """The verdict on one answer, with the candidate boxes of the row."""
    return _judge(action, truth, truth.candidate_boxes_frac(size))


def judge_without_boxes(action: StepAction | None, truth: StepTruth, _size: WH) -> StepVerdict:
    """The verdict on one answer by the distance alone."""
    return _judge(action, truth, ())


def _judge(action: StepAction | None, truth: StepTruth, boxes: tuple[Corners, ...]) -> StepVerdict:
    is_type_right = types_match(action, truth, boxes)
    is_right = action is not None and is_type_right and is_match(action, truth, boxes, is_near)
    grounding = is_right if truth.action.kind == "click" else None
    return StepVerdict(type=is_type_right, grounding=grounding, success=is_right)


def types_match(action: StepAction | None, truth: StepTruth, boxes: tuple[Corners, ...]) -> bool:
    """Whether the kinds are equal, or a click may have opened the app; all buttons are one kind."""
    if action is None:
        return False
    if truth.action.kind == "open_app" and action.kind == "click":
        return bool(boxes)
    return action.kind == truth.action.kind and action.kind != "finish"


def is_match(
    action: StepAction, truth: StepTruth, boxes: tuple[Corners, ...], is_near: IsNear
) -> bool:
    """Whether an answer of the right type is right; every swipe and every wait is."""
    recorded = truth.action
    if action.kind in POINTING:
        true_point = centre(boxes[0]) if recorded.kind == "open_app" else recorded.point
        return _is_hit(action.point, true_point, boxes, is_near)
    if recorded.kind in ("type", "open_app"):
        return is_contained_folded(action.text, recorded.text)
    if recorded.kind == "press":
        return action.button == recorded.button
    return True


def is_near(point: Point, true_point: Point) -> bool:
    """Whether two points in fractions are within 0.04."""
    return distance(point, true_point) <= RADIUS


def _is_hit(
    point: Point | None, true_point: Point | None, boxes: tuple[Corners, ...], is_near: IsNear
) -> bool:
    if point is None:
        return False
    if any(is_inside(enlarged(box, ENLARGEMENT), point) for box in boxes):
        return True
    return true_point is not None and is_near(point, true_point)


QWEN = Rule(
    name="qwen",
    judge=judge,
    description=(
        "Clicks in a candidate box enlarged to 1.2, or within 0.04; texts contain each other; any "
        "swipe is right; a click in the row's boxes may open an app."
    ),
    grounding="all click rows",
    convention=None,
    source="X-PLUG/MobileAgent 11cea57",
)
UI_S1 = Rule(
    name="ui_s1",
    judge=judge_without_boxes,
    description=(
        "Clicks within 0.04; there are no boxes, because the released code empties them; texts "
        "contain each other; any swipe is right."
    ),
    grounding="all click rows",
    convention=None,
    source="X-PLUG/MobileAgent 11cea57",
    has_boxes=False,
)
