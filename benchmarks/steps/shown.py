"""A recorded step as pages show it: both actions in words and as points, and what rules say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from benchmarks.steps.rules import StepVerdict

POINTS = ("point", "start", "end")


def shown_step(
    recorded_words: str,
    answered_words: str | None,
    recorded: Mapping[str, Any],
    answered: Mapping[str, Any] | None,
    verdicts: Mapping[str, StepVerdict],
) -> dict[str, Any]:
    """The step as pages take it.

    Args:
        recorded_words: the recorded action in words.
        answered_words: the answer in words; None: nothing could be read.
        recorded: the recorded action in its JSON form.
        answered: the answer in its JSON form.
        verdicts: by rule.
    """
    return {
        "recorded": recorded_words,
        "answer": answered_words,
        "rules": [
            [name, _in_a_word(verdict, is_read=answered is not None)]
            for name, verdict in verdicts.items()
        ],
        "points": [*_points(answered or {}, "answer"), *_points(recorded, "recorded")],
    }


def _points(action: Mapping[str, Any], owner: str) -> Iterator[dict[str, Any]]:
    """Yield the points of an action in fractions, named and with a letter as their mark."""
    for name in POINTS:
        if action.get(name):
            part = "" if name == "point" else f", {name}"
            yield {"point": action[name], "name": owner + part, "mark": owner[0].upper()}


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
