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
from benchmarks.steps.rules.area import Area
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


def area(truth: StepTruth, size: WH) -> Area | None:
    """The area in which a click is right, with the candidate boxes of the row."""
    return area_of(truth, truth.candidate_boxes_frac(size), (RADIUS, RADIUS))


def area_without_boxes(truth: StepTruth, _size: WH) -> Area | None:
    """The area in which a click is right by the distance alone."""
    return area_of(truth, (), (RADIUS, RADIUS))


def area_of(
    truth: StepTruth, boxes: tuple[Corners, ...], radii: tuple[float, float]
) -> Area | None:
    """The area in which a click is right, also to open an app: enlarged boxes and tolerance.

    Args:
        truth: the recorded action.
        boxes: candidate boxes in fractions.
        radii: the tolerance in fractions of width and height.
    """
    recorded = truth.action
    true_point = recorded.point if recorded.kind in POINTING else None
    if recorded.kind == "open_app" and boxes:
        true_point = centre(boxes[0])
    if true_point is None:
        return None
    grown = tuple(enlarged(box, ENLARGEMENT) for box in boxes)
    return Area(grown, ellipses=((*true_point, *radii),))


QWEN = Rule(
    name="qwen",
    judge=judge,
    clicks="in a candidate box enlarged to 1.2, or within 0.04 of the recorded point",
    description=(
        "Texts contain each other; any swipe is right; buttons are equal. A click in the row's "
        "boxes may open an app. Buttons are one type; an end is never right."
    ),
    area=area,
    grounding="all click rows",
    convention=None,
    source="X-PLUG/MobileAgent 11cea57",
)
UI_S1 = Rule(
    name="ui_s1",
    judge=judge_without_boxes,
    clicks="within 0.04 of the recorded point",
    description=(
        "There are no boxes, because the released code empties them. Texts contain each other; "
        "any swipe is right; buttons are equal. Buttons are one type; an end is never right."
    ),
    area=area_without_boxes,
    grounding="all click rows",
    convention=None,
    source="X-PLUG/MobileAgent 11cea57",
    has_boxes=False,
)
