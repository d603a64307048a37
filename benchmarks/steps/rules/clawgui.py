"""The rule of ClawGUI for AndroidControl, in the pixels of 1080 x 2400 whatever the image's size.

Both points go through whole per mille and whole pixels. A click is right in one of the five boxes
nearest to the answer, or within 0.14 of both sides taken together (368.45 px).

Source: ZJU-REAL/ClawGUI d990d3e, clawgui-eval/judge/androidcontrol_judge.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from benchmarks.steps.action import POINTING, StepAction, finger_direction
from benchmarks.steps.rules.area import Area, around_px
from benchmarks.steps.rules.matching import distance, is_inside, nearest, scaled, token_f1
from benchmarks.steps.rules.rule import JudgedStep, Rule, Share, StepVerdict
from benchmarks.steps.truth import StepTruth, as_fractions
from utils.contracts import WH, Point

FRAME_WH = (1080, 2400)
RADIUS_PX = math.sqrt((0.14 * FRAME_WH[0]) ** 2 + (0.14 * FRAME_WH[1]) ** 2)
NEAREST_COUNT = 5
MIN_F1 = 0.5  # excluded
BUTTONS = ("back", "home")  # that are read


def judge(action: StepAction | None, truth: StepTruth, size: WH) -> StepVerdict:
    """The verdict on one answer; one that is not read leaves the denominator of Grounding."""
    is_read = action is not None and _is_read(action)
    is_pointing_row = truth.action.kind in POINTING
    if action is None or not is_read or action.kind != truth.action.kind:
        grounding = False if is_read and is_pointing_row else None
        return StepVerdict(type=False, grounding=grounding, success=False)
    is_right = _is_right(action, truth, size)
    return StepVerdict(True, is_right if is_pointing_row else None, is_right)


def _is_read(action: StepAction) -> bool:
    if action.kind == "press":
        return action.button in BUTTONS
    return action.kind != "finish"


def _is_right(action: StepAction, truth: StepTruth, size: WH) -> bool:
    recorded = truth.action
    if recorded.kind in POINTING:
        return _is_hit(action, truth, size)
    if recorded.kind in ("type", "open_app"):
        is_equal = action.text == recorded.text
        return is_equal or token_f1(action.text, recorded.text) > MIN_F1
    if recorded.kind == "swipe":
        finger = finger_direction(action, FRAME_WH)
        return finger == finger_direction(recorded, FRAME_WH)
    if recorded.kind == "press":
        return action.button == recorded.button
    return True


def _is_hit(action: StepAction, truth: StepTruth, size: WH) -> bool:
    if action.point is None:
        return False
    point_px = _in_frame(scaled(action.point, 1000, 1000))
    point = (point_px[0] / FRAME_WH[0], point_px[1] / FRAME_WH[1])
    boxes = [as_fractions(box, FRAME_WH) for box in truth.boxes_px]
    if any(is_inside(box, point) for box in nearest(boxes, point, NEAREST_COUNT)):
        return True
    true_per_mille = _true_per_mille(truth, size)
    if true_per_mille is None:
        return False
    return distance(point_px, _in_frame(true_per_mille)) <= RADIUS_PX


def area(truth: StepTruth, size: WH) -> Area | None:
    """The area in which a click is right; the rule counts only the five boxes nearest to it."""
    true_per_mille = _true_per_mille(truth, size)
    if truth.action.kind not in POINTING or true_per_mille is None:
        return None
    circle = around_px(_in_frame(true_per_mille), RADIUS_PX, FRAME_WH)
    boxes = tuple(as_fractions(box, FRAME_WH) for box in truth.boxes_px)
    return circle and Area(boxes, circle.ellipses)


def _true_per_mille(truth: StepTruth, size: WH) -> Point | None:
    if truth.point_px is None:
        return truth.action.point and scaled(truth.action.point, 1000, 1000)
    return 1000 * truth.point_px[0] / size[0], 1000 * truth.point_px[1] / size[1]


def _in_frame(per_mille: Point) -> Point:
    """A point in per mille, in whole pixels of the frame by way of whole per mille."""
    x, y = int(per_mille[0]), int(per_mille[1])
    return int(x * FRAME_WH[0] / 1000), int(y * FRAME_WH[1] / 1000)


def official_figures(rows: Sequence[JudgedStep]) -> dict[str, Share]:
    """Accuracy over all rows, grounding and every action over the rows that were read."""
    read_rows = [row for row in rows if row.action is not None and _is_read(row.action)]
    figures = {
        "accuracy": Share(sum(bool(row.verdict.success) for row in rows), len(rows)),
        "type_acc": Share(sum(bool(row.verdict.type) for row in rows), len(rows)),
        "grounding": _share([row for row in read_rows if row.truth.action.kind in POINTING]),
    }
    for kind in sorted({row.truth.action.kind for row in read_rows}):
        figures[kind] = _share([row for row in read_rows if row.truth.action.kind == kind])
    return figures


def _share(rows: Sequence[JudgedStep]) -> Share:
    return Share(sum(bool(row.verdict.success) for row in rows), len(rows))


RULE = Rule(
    name="clawgui",
    judge=judge,
    clicks="in a candidate box, or within 368 px of a 1080 x 2400 image: a third of the width",
    description=(
        "Texts are equal, or the F1 of their words is over 0.5; directions and buttons are equal. "
        "An end, and buttons other than back and home, are read as no action."
    ),
    area=area,
    grounding="click and long_press rows whose reply was read",
    convention="finger",
    source="ZJU-REAL/ClawGUI d990d3e",
    official_figures=official_figures,
)
