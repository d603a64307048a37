"""The rule of OS-Atlas for AndroidControl: per mille, 0.14 of each axis, F1 of first words.

Both sides are texts there. The truth's point is rounded down to whole per mille, and of a text only
the first word is compared, together with its bracket: `[Yahoo`.

Source: OS-Copilot/OS-Atlas bad0840, eval/eval_scripts/android_control/evaluation_unify.py.
"""

from __future__ import annotations

import math

from benchmarks.steps.action import POINTING, StepAction, content_direction
from benchmarks.steps.rules.area import Area, around_px
from benchmarks.steps.rules.matching import distance, scaled, token_f1
from benchmarks.steps.rules.rule import Rule, StepVerdict
from benchmarks.steps.truth import StepTruth
from utils.contracts import WH, Point

RADIUS = 140  # per mille of each axis
MIN_F1 = 0.5  # excluded


def judge(action: StepAction | None, truth: StepTruth, size: WH) -> StepVerdict:
    """The verdict on one answer."""
    if action is None or type_word(action) != type_word(truth.action):
        return StepVerdict(type=False, grounding=None, success=False)
    is_right = _is_right(action, truth, size)
    grounding = is_right if truth.action.kind == "click" else None
    return StepVerdict(type=True, grounding=grounding, success=is_right)


def type_word(action: StepAction) -> str:
    """The type of an action as one word: the kind, with the button or the status."""
    if action.kind == "press":
        return f"press_{action.button}"
    if action.kind == "finish":
        return f"finish_{action.status}"
    return action.kind


def _is_right(action: StepAction, truth: StepTruth, size: WH) -> bool:
    recorded = truth.action
    if recorded.kind in POINTING:
        true_point = _true_point(truth, size)
        if action.point is None or true_point is None:
            return False
        return distance(scaled(action.point, 1000, 1000), true_point) <= RADIUS
    if recorded.kind in ("type", "open_app"):
        return texts_match(action.text, recorded.text)
    if recorded.kind == "swipe":
        return content_direction(action, size) == content_direction(recorded, size)
    return True


def texts_match(text: str, true_text: str) -> bool:
    """Whether texts are equal, or of several words with the same first one, in whatever case."""
    if text == true_text:
        return True
    first_word, true_first_word = f"[{text}]".split()[0], f"[{true_text}]".split()[0]
    return token_f1(first_word, true_first_word) > MIN_F1


def _true_point(truth: StepTruth, size: WH) -> Point | None:
    """The truth's point in whole per mille, rounded down."""
    if truth.point_px is not None:
        x, y = truth.point_px
        return math.floor(1000 * x / size[0]), math.floor(1000 * y / size[1])
    if truth.action.point is None:
        return None
    x, y = scaled(truth.action.point, 1000, 1000)
    return math.floor(x), math.floor(y)


def area(truth: StepTruth, size: WH) -> Area | None:
    """The area in which a click is right."""
    if truth.action.kind not in POINTING:
        return None
    return around_px(_true_point(truth, size), RADIUS, (1000, 1000))


RULE = Rule(
    name="os_atlas",
    judge=judge,
    clicks="within 0.14 of the recorded point, with both axes as fractions",
    description=(
        "Texts and names of applications are equal, or both have several words and begin with "
        "the same one. The recorded point is rounded down to whole per mille. Directions and "
        "buttons are equal; another button is another type."
    ),
    area=area,
    grounding="click rows that were answered with a click",
    convention="content",
    source="OS-Copilot/OS-Atlas bad0840",
    has_boxes=False,
)
