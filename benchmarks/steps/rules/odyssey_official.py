"""The rule of GUI-Odyssey: the box of the target or 0.14, texts by containment or edit distance.

Answers and truths are texts that are split at ":", so what stands behind a second colon is lost. A
click where the row has no box raises in the official code: wrong, but counted as a right type.

Source: OpenGVLab/GUI-Odyssey fefcbe9, src/eval_mm/GUIOdyssey_action_matching.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from benchmarks.steps.action import POINTING, StepAction, finger_direction
from benchmarks.steps.rules.area import Area, around
from benchmarks.steps.rules.matching import (
    distance,
    edit_similarity,
    is_contained,
    is_inside,
    scaled,
)
from benchmarks.steps.rules.os_atlas import type_word
from benchmarks.steps.rules.rule import HasVerdict, Rule, Share, StepVerdict
from benchmarks.steps.truth import StepTruth
from utils.contracts import WH

RADIUS = 0.14  # of each axis
MIN_SIMILARITY = 0.5  # included
PER_MILLE = (1000, 1000)  # the frame in which swipes are compared
CATEGORY_COUNT = 6  # that `micro` takes the mean of


def judge(action: StepAction | None, truth: StepTruth, size: WH) -> StepVerdict:
    """The verdict on one answer."""
    recorded = truth.action
    is_type_right = action is not None and type_word(action) == type_word(recorded)
    is_right = is_type_right and action is not None and _is_right(action, truth, size)
    return StepVerdict(is_type_right, is_right if recorded.kind in POINTING else None, is_right)


def _is_right(action: StepAction, truth: StepTruth, size: WH) -> bool:
    recorded = truth.action
    if recorded.kind in POINTING:
        return _is_hit(action, truth, size)
    if recorded.kind == "type":
        return _texts_match(action.text, recorded.text)
    if recorded.kind == "swipe":
        return scroll_word(action) == scroll_word(recorded)
    return True


def _is_hit(action: StepAction, truth: StepTruth, size: WH) -> bool:
    boxes = truth.candidate_boxes_frac(size)
    if not boxes or action.point is None or truth.action.point is None:
        return False
    return is_inside(boxes[0], action.point) or (
        distance(action.point, truth.action.point) <= RADIUS
    )


def area(truth: StepTruth, size: WH) -> Area | None:
    """The area in which a click is right; None if the row has no box."""
    boxes = truth.candidate_boxes_frac(size)
    if truth.action.kind not in POINTING or not boxes:
        return None
    circle = around(truth.action.point, RADIUS)
    return circle and Area((boxes[0],), circle.ellipses)


def scroll_word(swipe: StepAction) -> str:
    """The direction of the finger in whole per mille; vertical if both axes are equal."""
    if swipe.start is not None and swipe.end is not None:
        swipe = replace(
            swipe, start=scaled(swipe.start, *PER_MILLE), end=scaled(swipe.end, *PER_MILLE)
        )
    return finger_direction(swipe, (1, 1), when_still="down")


def _texts_match(text: str, true_text: str) -> bool:
    text, true_text = text.split(":")[0].strip(), true_text.split(":")[0].strip()
    return is_contained(text, true_text) or edit_similarity(text, true_text) >= MIN_SIMILARITY


def official_scores(
    rows: Sequence[HasVerdict],
    category_of_episode: Mapping[str, str],
    length_of_episode: Mapping[str, int],
) -> dict[str, float | None]:
    """AMS and SR in percent: `macro` over all steps, `micro` as the mean of six categories.

    `micro` is None unless there are exactly six categories. SR leaves out episodes of which not all
    steps were scored.

    Args:
        length_of_episode: the number of steps that an episode was recorded with.
    """
    by_category: dict[str, list[HasVerdict]] = {}
    for row in rows:
        by_category.setdefault(category_of_episode[row.episode], []).append(row)
    parts = list(by_category.values()) if len(by_category) == CATEGORY_COUNT else []
    return {
        "macro AMS": _percent(_ams(rows)),
        "macro SR": _percent(_success_rate(rows, length_of_episode)),
        "micro AMS": _mean([_percent(_ams(part)) for part in parts]),
        "micro SR": _mean([_percent(_success_rate(part, length_of_episode)) for part in parts]),
    }


def _ams(rows: Sequence[HasVerdict]) -> Share:
    return Share(sum(bool(row.verdict.success) for row in rows), len(rows))


def _success_rate(rows: Sequence[HasVerdict], length_of_episode: Mapping[str, int]) -> Share:
    by_episode: dict[str, list[bool]] = {}
    for row in rows:
        by_episode.setdefault(row.episode, []).append(bool(row.verdict.success))
    whole_episodes = [
        successes
        for episode, successes in by_episode.items()
        if len(successes) == length_of_episode[episode]
    ]
    return Share(sum(all(successes) for successes in whole_episodes), len(whole_episodes))


def _percent(share: Share) -> float | None:
    return None if share.value is None else 100 * share.value


def _mean(values: Sequence[float | None]) -> float | None:
    numbers = [value for value in values if value is not None]
    return sum(numbers) / len(numbers) if numbers else None


RULE = Rule(
    name="odyssey_official",
    judge=judge,
    clicks="in the target's box or within 0.14 of the recorded point; nowhere if a row has no box",
    description=(
        "Texts up to a colon contain each other or are half alike; directions and buttons are "
        "equal."
    ),
    area=area,
    grounding="all click and long_press rows",
    convention="finger",
    source="OpenGVLab/GUI-Odyssey fefcbe9",
)
