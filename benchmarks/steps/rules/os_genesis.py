"""The rule of OS-Genesis for AndroidControl: whole objects equal, with exceptions.

Clicks are compared in whole pixels of the image with the radius of a 1080 x 2400 one. A swipe is
right also where it goes as the prompt says ("Scroll up"), whatever was recorded.

Source: OS-Copilot/OS-Genesis e9178a8, evaluation/android_control/ac_eval.py.
"""

from __future__ import annotations

import math

from benchmarks.steps.action import POINTING, StepAction, content_direction
from benchmarks.steps.rules.area import Area, around_px
from benchmarks.steps.rules.matching import distance, scaled, token_f1
from benchmarks.steps.rules.os_atlas import type_word
from benchmarks.steps.rules.rule import Rule, StepVerdict
from benchmarks.steps.truth import StepTruth
from utils.contracts import WH, Point

RADIUS_PX = math.sqrt((0.14 * 1080) ** 2 + (0.14 * 2400) ** 2)
MIN_F1 = 0.5  # excluded


def judge(action: StepAction | None, truth: StepTruth, size: WH) -> StepVerdict:
    """The verdict on one answer."""
    if action is None or type_word(action) != type_word(truth.action):
        return StepVerdict(type=False, grounding=None, success=False)
    return StepVerdict(type=True, grounding=None, success=_is_right(action, truth, size))


def _is_right(action: StepAction, truth: StepTruth, size: WH) -> bool:
    recorded = truth.action
    if recorded.kind in POINTING:
        return _is_hit(action, truth, size)
    if recorded.kind == "type":
        is_equal = action.text == recorded.text
        return is_equal or token_f1(action.text, recorded.text) > MIN_F1
    if recorded.kind == "open_app":
        return action.text == recorded.text
    if recorded.kind == "swipe":
        direction = content_direction(action, size)
        is_prompted = direction in ("up", "down") and f"Scroll {direction}" in truth.prompt
        return is_prompted or direction == content_direction(recorded, size)
    return True


def area(truth: StepTruth, size: WH) -> Area | None:
    """The area in which a click is right."""
    if truth.action.kind not in POINTING:
        return None
    return around_px(_true_point_px(truth, size), RADIUS_PX, size)


def _is_hit(action: StepAction, truth: StepTruth, size: WH) -> bool:
    true_point_px = _true_point_px(truth, size)
    if action.point is None or true_point_px is None:
        return False
    x, y = scaled(action.point, *size)
    return distance((int(x), int(y)), true_point_px) <= RADIUS_PX


def _true_point_px(truth: StepTruth, size: WH) -> Point | None:
    """The truth's point in whole pixels, rounded down."""
    point_px = truth.point_px
    if point_px is None and truth.action.point is not None:
        point_px = scaled(truth.action.point, *size)
    return point_px and (int(point_px[0]), int(point_px[1]))


RULE = Rule(
    name="os_genesis",
    judge=judge,
    clicks="within 368 px of the recorded point, whatever the image's size",
    description=(
        "Typed texts are equal, or the F1 of their words is over 0.5. A swipe goes as recorded, or "
        "as the words of the step say. All else is equal to the letter; another button is another "
        "type."
    ),
    area=area,
    grounding="",
    convention="content",
    source="OS-Copilot/OS-Genesis e9178a8",
    has_boxes=False,
)
