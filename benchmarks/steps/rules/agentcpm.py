"""The rule of AgentCPM-GUI, with its options for AndroidControl, AITZ, CAGUI and GUI-Odyssey.

Waiting and every kind of end are one type, "stop", which is always right. On AndroidControl the
rows that open an app are dropped, long presses become clicks, and a click is right in one of the
five enlarged boxes whose centres are nearest to the recorded point. On AITZ and CAGUI every
enlarged box that holds the recorded point counts. On GUI-Odyssey there are no boxes, and the button
for recent apps is recorded as home.

Source: OpenBMB/AgentCPM-GUI acbaf50, eval/utils/evaluator.py, eval/eval_data/process_*.py.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.steps.action import POINTING, Corners, StepAction, finger_direction
from benchmarks.steps.rules.area import Area, around
from benchmarks.steps.rules.matching import (
    distance,
    is_contained_folded,
    is_inside,
    nearest,
)
from benchmarks.steps.rules.rule import DROPPED, Rule, StepVerdict
from benchmarks.steps.truth import StepTruth
from utils.contracts import WH, Point

ANDROID_CONTROL_RADIUS = 0.04  # of each axis
RADIUS = 0.14  # of each axis, for all other sets
GROWTH = 0.1  # of a box, at each of its sides
NEAREST_COUNT = 5
FRACTIONS = (1, 1)  # directions are compared in fractions of the image


def judge_android_control(action: StepAction | None, truth: StepTruth, size: WH) -> StepVerdict:
    """The verdict on a row of AndroidControl; rows that open an app are dropped."""
    recorded = truth.action
    if recorded.kind == "open_app":
        return DROPPED
    true_type = "click" if recorded.kind in POINTING else _type(recorded)
    if action is None or _type(action) != true_type:
        return _verdict(False, False, true_type)
    if true_type == "click" and recorded.point is not None:
        boxes = _nearest_boxes(truth, recorded.point, size)
        is_hit = _is_hit(action.point, recorded.point, boxes, ANDROID_CONTROL_RADIUS)
        return _verdict(True, is_hit, true_type)
    return _verdict(True, _is_match(action, recorded), true_type)


def judge_aitz(action: StepAction | None, truth: StepTruth, size: WH) -> StepVerdict:
    """The verdict on a row of AITZ or CAGUI."""
    true_type = _type(truth.action)
    if action is None or _type(action) != true_type:
        return _verdict(False, False, true_type)
    if true_type in POINTING:
        true_point = truth.action.point
        boxes = _boxes_around(truth, size)
        return _verdict(True, _is_hit(action.point, true_point, boxes, RADIUS), true_type)
    return _verdict(True, _is_match(action, truth.action), true_type)


def judge_odyssey(action: StepAction | None, truth: StepTruth, _size: WH) -> StepVerdict:
    """The verdict on a row of GUI-Odyssey, by the distance alone."""
    recorded = truth.action
    if recorded.button == "recent":
        recorded = StepAction("press", button="home")
    true_type = _type(recorded)
    if action is None or _type(action) != true_type:
        return _verdict(False, False, true_type)
    if true_type in POINTING:
        return _verdict(True, _is_hit(action.point, recorded.point, [], RADIUS), true_type)
    return _verdict(True, _is_match(action, recorded), true_type)


def area_on_android_control(truth: StepTruth, size: WH) -> Area | None:
    """The area in which a click is right on a row of AndroidControl."""
    point = truth.action.point
    if truth.action.kind not in POINTING or point is None:
        return None
    circle = around(point, ANDROID_CONTROL_RADIUS)
    return circle and Area(tuple(_nearest_boxes(truth, point, size)), circle.ellipses)


def area_on_aitz(truth: StepTruth, size: WH) -> Area | None:
    """The area in which a click is right on a row of AITZ or CAGUI."""
    circle = area_on_odyssey(truth, size)
    return circle and Area(tuple(_boxes_around(truth, size)), circle.ellipses)


def area_on_odyssey(truth: StepTruth, _size: WH) -> Area | None:
    """The area in which a click is right on a row of GUI-Odyssey."""
    return around(truth.action.point, RADIUS) if truth.action.kind in POINTING else None


def _nearest_boxes(truth: StepTruth, true_point: Point, size: WH) -> list[Corners]:
    """The enlarged boxes that count on AndroidControl."""
    grown = [_grown(box) for box in truth.node_boxes_frac(size)]
    return nearest(grown, true_point, NEAREST_COUNT)


def _boxes_around(truth: StepTruth, size: WH) -> list[Corners]:
    """The enlarged boxes that count on AITZ and CAGUI."""
    true_point = truth.action.point
    if true_point is None:
        return []
    grown = [_grown(box) for box in truth.node_boxes_frac(size)]
    return [box for box in grown if is_inside(box, true_point)]


def _type(action: StepAction) -> str:
    """The type of an action; waiting and ending are one."""
    return "stop" if action.kind in ("wait", "finish") else action.kind


def _verdict(is_type_right: bool, is_right: bool, true_type: str) -> StepVerdict:
    return StepVerdict(is_type_right, is_right if true_type == "click" else None, is_right)


def _is_match(action: StepAction, recorded: StepAction) -> bool:
    """Whether an answer of the right type without a point is right."""
    if recorded.kind == "swipe":
        return finger_direction(action, FRACTIONS) == finger_direction(recorded, FRACTIONS)
    if recorded.kind == "type":
        return is_contained_folded(action.text, recorded.text)
    if recorded.kind == "press":
        return action.button == recorded.button
    return True


def _is_hit(
    point: Point | None, true_point: Point | None, boxes: Sequence[Corners], radius: float
) -> bool:
    if point is None or true_point is None:
        return False
    return any(is_inside(box, point) for box in boxes) or distance(point, true_point) <= radius


def _grown(box: Corners) -> Corners:
    """A box with a tenth more at each side; one that is cut at 0 keeps its size."""
    width, height = box[2] - box[0], box[3] - box[1]
    x = max(0.0, box[0] - GROWTH * width)
    y = max(0.0, box[1] - GROWTH * height)
    return (
        x,
        y,
        x + min(1.0, (1 + 2 * GROWTH) * width),
        y + min(1.0, (1 + 2 * GROWTH) * height),
    )


SOURCE = "OpenBMB/AgentCPM-GUI acbaf50"

ANDROID_CONTROL = Rule(
    name="agentcpm",
    judge=judge_android_control,
    clicks="in one of the 5 boxes, enlarged to 1.2, nearest to the recorded point, or within 0.04",
    description=(
        "Texts contain each other; directions and buttons are equal; waiting and every end are "
        "one type and always right. Rows that open an app are dropped. A recorded long press is "
        "judged as a click: an answered long press is another type there."
    ),
    area=area_on_android_control,
    grounding="all click and long_press rows",
    convention="finger",
    source=SOURCE,
)
AITZ = Rule(
    name="aitz_agentcpm",
    judge=judge_aitz,
    clicks="in a box that, enlarged to 1.2, holds the recorded point, or within 0.14",
    description=(
        "Texts contain each other; directions and buttons are equal; waiting and every end are "
        "one type and always right."
    ),
    area=area_on_aitz,
    grounding="all click rows",
    convention="finger",
    source=SOURCE,
)
ODYSSEY = Rule(
    name="odyssey_agentcpm",
    judge=judge_odyssey,
    clicks="within 0.14 of the recorded point",
    description=(
        "Texts contain each other; directions and buttons are equal; waiting and every end are "
        "one type and always right. The button for recent apps is recorded as home."
    ),
    area=area_on_odyssey,
    grounding="all click rows",
    convention="finger",
    source=SOURCE,
    has_boxes=False,
)
