"""The rule of GUI-R1 for AndroidControl, whose "Step" does not ask for the type.

Step is (points right + texts right) / (their rows); rows that wait or go back are not in it. An
answer without a point has the point (0, 0), which is compared all the same.

Source: ritzz-ai/GUI-R1 d43eea2, guir1/eval/eval_omni.py.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.steps.action import POINTING, StepAction, content_direction
from benchmarks.steps.rules.area import Area, around
from benchmarks.steps.rules.matching import is_contained, token_f1
from benchmarks.steps.rules.os_atlas import type_word
from benchmarks.steps.rules.rule import JudgedStep, Rule, Share, StepVerdict
from benchmarks.steps.truth import StepTruth
from utils.contracts import WH

RADIUS = 0.14  # of each axis, excluded
MIN_F1 = 0.5  # included
NO_TEXT = "no input text"  # what an answer without one says
TEXT_KINDS = ("open_app", "type", "swipe")


def judge(action: StepAction | None, truth: StepTruth, size: WH) -> StepVerdict:
    """The verdict on one answer; `success` says whether the row is right in Step."""
    recorded = truth.action
    is_type_right = action is not None and type_word(action) == type_word(recorded)
    if recorded.kind in POINTING:
        is_right = _is_hit(action, truth, size)
        return StepVerdict(is_type_right, is_right, is_right)
    if recorded.kind in TEXT_KINDS:
        is_right = texts_match(_text(action, size), _text(recorded, size))
        return StepVerdict(is_type_right, None, is_right)
    return StepVerdict(is_type_right, None, None)


def area(truth: StepTruth, size: WH) -> Area | None:
    """The area in which a click is right."""
    return around(truth.point_frac(size), RADIUS) if truth.action.kind in POINTING else None


def _is_hit(action: StepAction | None, truth: StepTruth, size: WH) -> bool:
    true_point = truth.point_frac(size)
    if true_point is None:
        return False
    x, y = (action and action.point) or (0.0, 0.0)
    return (x - true_point[0]) ** 2 + (y - true_point[1]) ** 2 < RADIUS**2


def _text(action: StepAction | None, size: WH) -> str:
    if action is None or action.kind not in TEXT_KINDS:
        return NO_TEXT
    return content_direction(action, size) if action.kind == "swipe" else action.text


def texts_match(text: str, true_text: str) -> bool:
    """F1 of the words without square brackets; one word may also contain the other."""
    text, true_text = (side.replace("[", "").replace("]", "") for side in (text, true_text))
    if token_f1(text, true_text) >= MIN_F1:
        return True
    words, true_words = text.lower().split(), true_text.lower().split()
    if len(words) == 1 and len(true_words) == 1:
        return is_contained(words[0], true_words[0])
    return False


def official_figures(rows: Sequence[JudgedStep]) -> dict[str, Share]:
    """Type, Step and GR, where a kind of action without a single hit leaves both numbers."""
    return {
        "Type": Share(sum(bool(row.verdict.type) for row in rows), len(rows)),
        **{
            name: Share(sum(map(sum, rights.values())), sum(map(len, filter(any, rights.values()))))
            for name, rights in _rights_by_figure(rows).items()
        },
    }


def official_notes(rows: Sequence[JudgedStep]) -> dict[str, str]:
    """The kinds of action that have left Step and GR, and what these are with them."""
    notes = {}
    for name, rights in _rights_by_figure(rows).items():
        left_out = [kind for kind, values in rights.items() if not any(values)]
        if left_out:
            numerator, total = sum(map(sum, rights.values())), sum(map(len, rights.values()))
            notes[name] = (
                f"without {', '.join(left_out)}, where not one is right; with them {numerator} of "
                f"{total}"
            )
    return notes


def _rights_by_figure(rows: Sequence[JudgedStep]) -> dict[str, dict[str, list[bool]]]:
    """Of Step and GR whether each row is right, by the kind of the recorded action."""
    figures: dict[str, dict[str, list[bool]]] = {"Step": {}, "GR": {}}
    for row in rows:
        kind = row.truth.action.kind
        if row.verdict.success is not None:
            figures["Step"].setdefault(kind, []).append(bool(row.verdict.success))
        if kind in POINTING:
            figures["GR"].setdefault(kind, []).append(bool(row.verdict.success))
    return figures


RULE = Rule(
    name="gui_r1",
    judge=judge,
    clicks="below 0.14 of the recorded point, whatever the type of the answer",
    description=(
        "The F1 of the words of texts and directions has to be 0.5, whatever the type; an answer "
        "without a point has (0, 0). Rows that wait or go back are in no step figure."
    ),
    area=area,
    asks_type=False,
    grounding="all click and long_press rows",
    convention="content",
    source="ritzz-ai/GUI-R1 d43eea2",
    has_boxes=False,
    official_figures=official_figures,
    official_notes=official_notes,
)
