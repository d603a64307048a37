"""The rule of InfiGUI-R1: that of Qwen, with a circle in pixels and the direction of the drag.

Source: InfiXAI/InfiGUI-R1 a4fca17, eval/android_control/evaluate_android_control.py.

The drag's direction, which is the finger's, is compared with the annotated one as it stands, which
is the content's on the rows of MobileAgent. `infigui_r1_finger` turns the annotation first.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from benchmarks.steps.action import POINTING, StepAction, finger_direction, opposite
from benchmarks.steps.rules import qwen
from benchmarks.steps.rules.area import Area
from benchmarks.steps.rules.matching import distance
from benchmarks.steps.rules.rule import JudgedStep, Rule, Share, StepVerdict, sum_of
from benchmarks.steps.truth import StepTruth
from utils.contracts import WH, Point
from utils.coordinates import QWEN_FACTOR, smart_resize

RADIUS = 0.04  # of the longer side of the resized image
MIN_PIXELS, MAX_PIXELS = 4 * QWEN_FACTOR**2, 6400 * QWEN_FACTOR**2


def judge(action: StepAction | None, truth: StepTruth, size: WH) -> StepVerdict:
    """The verdict on one answer, the annotated direction as it stands."""
    return _judge(action, truth, size, truth.action.direction)


def judge_with_finger_truth(action: StepAction | None, truth: StepTruth, size: WH) -> StepVerdict:
    """The verdict on one answer, the annotated direction turned to the finger's."""
    return _judge(action, truth, size, opposite(truth.action.direction))


def _judge(
    action: StepAction | None, truth: StepTruth, size: WH, true_direction: str
) -> StepVerdict:
    boxes = truth.candidate_boxes_frac(size)
    resized_wh = _resized_wh(size)
    is_judged = _can_be_judged(action, truth)
    is_type_right = is_judged and qwen.types_match(action, truth, boxes)
    is_right = False
    if action is not None and is_type_right:
        is_right = qwen.is_match(action, truth, boxes, lambda a, b: _is_near(a, b, resized_wh))
        if truth.action.kind == "swipe":
            is_right = finger_direction(action, resized_wh, when_still="up") == true_direction
    is_click_row = truth.action.kind == "click" and is_judged
    counts = {
        "error_num": int(not is_judged),
        "click_match_num": int(is_right and action is not None and action.kind == "click"),
        "all_click_num": int(is_click_row),
    }
    grounding = is_right if is_click_row else None
    return StepVerdict(is_type_right, grounding, is_right, counts)


def _can_be_judged(action: StepAction | None, truth: StepTruth) -> bool:
    """Whether the official code gets through a row: it raises where nothing or no point is read."""
    if action is None:
        return False
    compares_points = truth.action.kind in (*POINTING, "open_app")
    return not (compares_points and action.kind in POINTING and action.point is None)


@cache
def _resized_wh(size: WH) -> WH:
    height, width = smart_resize(size[1], size[0], QWEN_FACTOR, MIN_PIXELS, MAX_PIXELS)
    return width, height


def _is_near(point: Point, true_point: Point, resized_wh: WH) -> bool:
    width, height = resized_wh
    point_px = (point[0] * width, point[1] * height)
    true_px = (true_point[0] * width, true_point[1] * height)
    return distance(point_px, true_px) <= RADIUS * max(width, height)


def area(truth: StepTruth, size: WH) -> Area | None:
    """The area in which a click is right: Qwen's rule with another tolerance."""
    width, height = _resized_wh(size)
    radius_px = RADIUS * max(width, height)
    boxes = truth.candidate_boxes_frac(size)
    return qwen.area_of(truth, boxes, (radius_px / width, radius_px / height))


def official_figures(rows: Sequence[JudgedStep]) -> dict[str, Share]:
    """The figures of `compute_scores`, whose right clicks include those that open an app."""
    return {
        "type_match_acc": Share(sum(bool(row.verdict.type) for row in rows), len(rows)),
        "extact_match_acc": Share(sum(bool(row.verdict.success) for row in rows), len(rows)),
        "click_match_acc": Share(sum_of(rows, "click_match_num"), sum_of(rows, "all_click_num")),
        "error_num": Share(sum_of(rows, "error_num"), len(rows)),
    }


RULE = Rule(
    name="infigui_r1",
    judge=judge,
    clicks="in a candidate box enlarged to 1.2, or within 0.04 of the longer side in pixels",
    description=(
        "One text contains the other. Of a swipe the finger must go where the recorded word says, "
        "although that word is about the content. A click may open an app where the row has boxes."
    ),
    area=area,
    grounding="click rows whose reply was read and had a point if it was a click",
    convention="finger",
    source="InfiXAI/InfiGUI-R1 a4fca17",
    official_figures=official_figures,
)
FINGER = Rule(
    name="infigui_r1_finger",
    judge=judge_with_finger_truth,
    clicks=RULE.clicks,
    description="infigui_r1 with the annotated direction turned to that of the finger.",
    area=area,
    grounding=RULE.grounding,
    convention="finger",
    source=RULE.source,
    official_figures=official_figures,
)
