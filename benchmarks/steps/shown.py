"""A recorded step as pages show it: both actions in words and drawn, and what the rules say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from benchmarks.steps.action import StepAction, finger_direction
from benchmarks.steps.rules import StepVerdict

MIDDLE, REACH = 0.5, 0.2  # of the image: where a swipe is drawn that is known by its direction
APART = {"answer": -0.06, "recorded": 0.06}  # so that one does not hide the other
STEPS = {"up": (0.0, -1.0), "down": (0.0, 1.0), "left": (-1.0, 0.0), "right": (1.0, 0.0)}
FRACTIONS = (1, 1)


def shown_step(
    recorded_words: str,
    answered_words: str | None,
    recorded: Mapping[str, Any],
    answered: Mapping[str, Any] | None,
    verdicts: Mapping[str, StepVerdict],
    *,
    has_boxes: bool,
) -> dict[str, Any]:
    """The step as pages take it.

    Args:
        recorded_words: the recorded action in words.
        answered_words: the answer in words; None: nothing could be read.
        recorded: the recorded action in its JSON form.
        answered: the answer in its JSON form.
        verdicts: by rule.
        has_boxes: the rule of the score takes a click in some box for right.
    """
    return {
        "recorded": recorded_words,
        "answer": answered_words,
        "rules": [
            [name, _in_a_word(verdict, is_read=answered is not None)]
            for name, verdict in verdicts.items()
        ],
        "points": [*_points(recorded, "recorded"), *_points(answered or {}, "answer")],
        "has_boxes": has_boxes,
    }


def _points(action: Mapping[str, Any], owner: str) -> Iterator[dict[str, Any]]:
    """Yield where an action is, in fractions; of a swipe its begin, and its end as `to`."""
    shown = {"name": owner, "mark": owner[0].upper()}
    if action.get("point"):
        yield {**shown, "point": action["point"]}
    elif action.get("start"):
        yield {**shown, "point": action["start"], "to": action["end"]}
    elif action.get("direction"):
        begin, end = _way(action, APART[owner])
        yield {**shown, "name": f"{owner}: way of the finger", "point": begin, "to": end}


def _way(action: Mapping[str, Any], beside: float) -> tuple[list[float], list[float]]:
    """Begin and end of a finger's way across the middle, so far beside it, in fractions."""
    dx, dy = STEPS[finger_direction(StepAction.from_json(action), FRACTIONS)]
    x, y = (MIDDLE, MIDDLE + beside) if dx else (MIDDLE + beside, MIDDLE)
    return [x - REACH * dx, y - REACH * dy], [x + REACH * dx, y + REACH * dy]


def _in_a_word(verdict: StepVerdict, *, is_read: bool) -> str:
    if verdict.success is None:
        return "not counted"
    if not is_read:
        return "not read"
    if verdict.success == 1:
        return "right"
    if verdict.success:
        return f"{100 * verdict.success:.0f} %"
    return "wrong" if verdict.type else "another type"
