"""A recorded step as pages show it: both actions in words and drawn, and what the rules say."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.steps.action import StepAction, finger_direction
from benchmarks.steps.doubtful import MEANINGS
from benchmarks.steps.rules import Rule, StepVerdict
from utils.contracts import WH

MIDDLE, REACH = 0.5, 0.2  # of the image: where a swipe is drawn that is known by its direction
APART = {"answer": -0.06, "recorded": 0.06}  # so that one does not hide the other
STEPS = {"up": (0.0, -1.0), "down": (0.0, 1.0), "left": (-1.0, 0.0), "right": (1.0, 0.0)}
FRACTIONS = (1, 1)
HIT, MISS, ANOTHER_TYPE = "hit", "miss", "another type"
NOT_READ, NOT_COUNTED = "not read", "not counted"
VERDICTS = {
    HIT: "The rule takes the answer for the recorded action.",
    "50 %": "A part of the step is right. This rule scores a step from 0 to 1.",
    MISS: "The type of action is right, but the point, the text, the direction or the button is "
    "not the recorded one.",
    ANOTHER_TYPE: "The answer has another type of action than the recorded one, so the rule looks "
    "no further. Each rule has its own types; its sentences name them.",
    NOT_READ: "No action could be read from the reply. Every rule counts this as a miss.",
    NOT_COUNTED: "The rule leaves this row out of its success rate; its sentences say why.",
}
"""The meaning of each word for a verdict."""


@dataclass(frozen=True, slots=True)
class ShownAction:
    """An action in words, and its JSON form."""

    words: str
    fields: Mapping[str, Any]


def shown_step(
    recorded: ShownAction,
    answered: ShownAction | None,
    verdicts: Mapping[str, tuple[StepVerdict, Mapping[str, Any] | None]],
    rules: Mapping[str, Rule],
    size: WH,
    doubts: Sequence[str],
) -> dict[str, Any]:
    """The step as pages take it.

    Args:
        recorded: the action of a person.
        answered: that of the model; None: nothing could be read.
        verdicts: by rule, that of the score first, each with the JSON form of the area where the
            rule takes a click for right; None: there is no such area.
        rules: by name.
        size: of the image in pixels.
        doubts: codes of why the annotation may be wrong.
    """
    answered_fields = {} if answered is None else answered.fields
    return {
        "recorded": recorded.words,
        "answer": None if answered is None else answered.words,
        "apart": _apart(recorded.fields.get("point"), answered_fields.get("point"), size),
        "doubts": [MEANINGS[doubt] for doubt in doubts],
        "rules": [
            [name, _in_a_word(verdict, rules[name], is_read=answered is not None), area]
            for name, (verdict, area) in verdicts.items()
        ],
        "points": [*_points(recorded.fields, "recorded"), *_points(answered_fields, "answer")],
    }


def rule_words(rules: Mapping[str, Rule], chosen: str) -> dict[str, Any]:
    """The rules of a data set in words: the section `rule_words` of the analysis.

    Args:
        rules: by name.
        chosen: the name of the rule of the score.
    """
    return {
        "score": chosen,
        "rules": {
            name: {
                "sentences": rule.sentences,
                "clicks": rule.clicks,
                "has_boxes": rule.has_boxes,
            }
            for name, rule in rules.items()
        },
        "verdicts": dict(VERDICTS),
    }


def _apart(
    recorded: Sequence[float] | None, answered: Sequence[float] | None, size: WH
) -> str | None:
    """The distance of the answered point from the recorded one, in words; None: one is missing."""
    if not recorded or not answered:
        return None
    dx, dy = abs(answered[0] - recorded[0]), abs(answered[1] - recorded[1])
    return (
        f"{math.hypot(dx, dy):.3f} ({dx:.3f} of the width, {dy:.3f} of the height), "
        f"{math.hypot(dx * size[0], dy * size[1]):.0f} px"
    )


def _points(action: Mapping[str, Any], owner: str) -> Iterator[dict[str, Any]]:
    """Yield where an action is, in fractions; of a swipe its begin, and its end as `to`."""
    owner_mark = {"name": owner, "mark": owner[0].upper()}
    if action.get("point"):
        yield {**owner_mark, "point": action["point"]}
    elif action.get("start"):
        yield {**owner_mark, "point": action["start"], "to": action["end"]}
    elif action.get("direction"):
        begin, end = _way(action, APART[owner])
        yield {**owner_mark, "name": f"{owner}: way of the finger", "point": begin, "to": end}


def _way(action: Mapping[str, Any], beside: float) -> tuple[list[float], list[float]]:
    """Begin and end of a finger's way across the middle, so far beside it, in fractions."""
    dx, dy = STEPS[finger_direction(StepAction.from_json(action), FRACTIONS)]
    x, y = (MIDDLE, MIDDLE + beside) if dx else (MIDDLE + beside, MIDDLE)
    return [x - REACH * dx, y - REACH * dy], [x + REACH * dx, y + REACH * dy]


def _in_a_word(verdict: StepVerdict, rule: Rule, *, is_read: bool) -> str:
    if verdict.success is None:
        return NOT_COUNTED
    if not is_read:
        return NOT_READ
    if verdict.success == 1:
        return HIT
    if verdict.success:
        return f"{100 * verdict.success:.0f} %"
    return MISS if verdict.type or not rule.asks_type else ANOTHER_TYPE
