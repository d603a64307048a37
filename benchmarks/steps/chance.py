"""Scores of answers without knowledge under a rule: random clicks, and one constant answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from benchmarks.steps.action import StepAction
from benchmarks.steps.rules.rule import JudgeFunction, Share
from benchmarks.steps.truth import StepTruth
from utils.contracts import WH, Point

DRAWS = 100  # random clicks for each row
CHEAP_DRAWS = 10  # random clicks for each row, at scoring time
MOST_CLICK_ROWS = 500  # that they are tried on, spread over all
CHEAP_ANSWERS = {
    "a click in the middle": StepAction("click", point=(0.5, 0.5)),
    "a swipe down": StepAction("swipe", direction="down"),
    "an empty text": StepAction("type"),
    "waiting": StepAction("wait"),
    "ending": StepAction("finish", status="success"),
}


class ClickRow(NamedTuple):
    """A recorded action, mostly a click, and the size of its image in pixels."""

    truth: StepTruth
    size: WH


def random_clicks(
    judge: JudgeFunction,
    rows: Sequence[ClickRow],
    *,
    draws: int = DRAWS,
    seed: int = 0,
    same_points: bool = False,
) -> Share:
    """The part of clicks, spread evenly over the image, that a rule takes for right.

    Args:
        rows: recorded clicks; the type of the answer is right on them.
        seed: of the random points, which are the same for every rule.
        same_points: clicks at the same points on every row, which differs more between seeds.
    """
    import numpy as np

    random = np.random.default_rng(seed)
    sets = 1 if same_points else len(rows)
    points = random.random((sets, draws, 2)).tolist()
    accepted = sum(
        is_accepted(judge, row, (x, y))
        for index, row in enumerate(rows)
        for x, y in points[index % sets]
    )
    return Share(accepted, len(rows) * draws)


def cheap_answers(judge: JudgeFunction, rows: Sequence[ClickRow]) -> dict[str, Share]:
    """The success of answers that know nothing, by name: of random clicks on click rows alone."""
    clicks = [row for row in rows if row.truth.action.kind == "click"]
    some_clicks = clicks[:: -(-len(clicks) // MOST_CLICK_ROWS) or 1]
    shares = {"a random click": random_clicks(judge, some_clicks, draws=CHEAP_DRAWS)}
    for name, answer in CHEAP_ANSWERS.items():
        successes = [judge(answer, row.truth, row.size).success for row in rows]
        counted = [float(success) for success in successes if success is not None]
        shares[name] = Share(sum(counted), len(counted))
    return shares


def is_accepted(judge: JudgeFunction, row: ClickRow, point: Point) -> bool:
    """Whether a rule takes a click at a point of a row for right."""
    return bool(judge(StepAction("click", point=point), row.truth, row.size).success)
