"""The rule of AndroidControl-Curated: 0.14 of a point or a box, and texts that belong to the type.

Source: batechworks/AndroidControl_Curated 955062c, src/eval/utils.py.
"""

from __future__ import annotations

from benchmarks.steps.action import POINTING, StepAction, finger_direction
from benchmarks.steps.rules.area import Area, around
from benchmarks.steps.rules.matching import area, is_contained, is_inside, scaled, token_f1
from benchmarks.steps.rules.os_atlas import type_word
from benchmarks.steps.rules.rule import Rule, StepVerdict
from benchmarks.steps.truth import StepTruth, as_fractions
from utils.contracts import WH

RADIUS = 0.14  # of each axis, excluded
MIN_F1 = 0.5  # included


def judge_by_point(action: StepAction | None, truth: StepTruth, size: WH) -> StepVerdict:
    """The verdict on one answer, a click by its distance."""
    return _judge(action, truth, size, _is_near(action, truth, size))


def judge_by_box(action: StepAction | None, truth: StepTruth, size: WH) -> StepVerdict:
    """The verdict on one answer, a click by the smallest candidate box where the row has boxes."""
    if not truth.boxes_px:
        return judge_by_point(action, truth, size)
    is_hit = False
    if action is not None and action.point is not None:
        is_hit = is_inside(min(truth.boxes_px, key=area), scaled(action.point, *size))
    return _judge(action, truth, size, is_hit)


def _judge(action: StepAction | None, truth: StepTruth, size: WH, is_hit: bool) -> StepVerdict:
    is_type_right = action is not None and _types_match(action, truth.action, size)
    if truth.action.kind in POINTING:
        return StepVerdict(is_type_right, is_hit, is_type_right and is_hit)
    return StepVerdict(is_type_right, None, is_type_right)


def _types_match(action: StepAction, recorded: StepAction, size: WH) -> bool:
    """Whether the words of the types are equal and the texts behind them match."""
    if type_word(action) != type_word(recorded):
        return False
    if recorded.kind == "swipe":
        return finger_direction(action, size) == finger_direction(recorded, size)
    if recorded.kind in ("type", "open_app"):
        return _texts_match(action.text, recorded.text.lower())
    return True


def _texts_match(text: str, true_text: str) -> bool:
    """Texts up to a colon: either contains the other, case included, or F1 of 0.5."""
    text, true_text = text.split(":")[0], true_text.split(":")[0]
    if is_contained(text, true_text) or token_f1(text, true_text) >= MIN_F1:
        return True
    words, true_words = text.lower().split(), true_text.split()
    if len(words) == 1 and len(true_words) == 1:
        return is_contained(words[0], true_words[0])
    return False


def area_by_point(truth: StepTruth, size: WH) -> Area | None:
    """The area in which a click is right by its distance."""
    return around(truth.point_frac(size), RADIUS) if truth.action.kind in POINTING else None


def area_by_box(truth: StepTruth, size: WH) -> Area | None:
    """The area in which a click is right: the smallest box; by the distance if the row has none."""
    if truth.action.kind not in POINTING or not truth.boxes_px:
        return area_by_point(truth, size)
    return Area(boxes=(as_fractions(min(truth.boxes_px, key=area), size),))


def _is_near(action: StepAction | None, truth: StepTruth, size: WH) -> bool:
    true_point = truth.point_frac(size)
    if action is None or action.point is None or true_point is None:
        return False
    dx, dy = action.point[0] - true_point[0], action.point[1] - true_point[1]
    return dx**2 + dy**2 < RADIUS**2


DESCRIPTION = (
    "An answer is another type also if its direction differs, or if neither text contains the "
    "other and the F1 of their words is under 0.5."
)
SOURCE = "batechworks/AndroidControl_Curated 955062c"

POINT = Rule(
    name="curated_point",
    judge=judge_by_point,
    clicks="below 0.14 of the recorded point",
    description=DESCRIPTION,
    area=area_by_point,
    grounding="all click and long_press rows, whatever the type of the answer",
    convention="finger",
    source=SOURCE,
    has_boxes=False,
)
BOX = Rule(
    name="curated_box",
    judge=judge_by_box,
    clicks="in the smallest candidate box; below 0.14 of the recorded point where a row has none",
    description=DESCRIPTION,
    area=area_by_box,
    grounding=POINT.grounding,
    convention="finger",
    source=SOURCE,
)
