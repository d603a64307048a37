"""What clicks without knowledge earn under a rule: at random, and always at one point."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from benchmarks.steps.action import StepAction
from benchmarks.steps.rules.rule import JudgeFunction, Share
from benchmarks.steps.truth import StepTruth
from utils.contracts import WH, Point

DRAWS = 100  # random clicks for each row
GRID_WH = (20, 40)  # points of the first search for the best constant click
FINEST_STEP = 0.001  # of the image, with which the search ends


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
    """What was recorded, a click for most uses, and the size of its image in pixels."""

    truth: StepTruth
    size: WH


class ConstantClick(NamedTuple):
    """The point at which a click that never moves earns most, and what it earns."""

    point: Point
    accepted: Share


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
        _is_accepted(judge, row, (x, y))
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


def best_constant_click(judge: JudgeFunction, rows: Sequence[ClickRow]) -> ConstantClick:
    """The best point of a coarse grid, moved in ever smaller steps as long as it earns more."""
    counts: dict[Point, int] = {}

    def count_at(point: Point) -> int:
        if point not in counts:
            counts[point] = sum(_is_accepted(judge, row, point) for row in rows)
        return counts[point]

    columns, lines = GRID_WH
    grid = [
        ((column + 0.5) / columns, (line + 0.5) / lines)
        for column in range(columns)
        for line in range(lines)
    ]
    best = max(grid, key=count_at)
    step = 0.5 / columns
    while step >= FINEST_STEP:
        best, step = _climb(best, step, count_at), step / 2
    return ConstantClick(best, Share(counts[best], len(rows)))


def _climb(point: Point, step: float, count_at: Callable[[Point], int]) -> Point:
    """The point reached by going to the best neighbour until none is better."""
    while True:
        neighbours = [
            (point[0] + step * dx, point[1] + step * dy) for dx in (-1, 0, 1) for dy in (-1, 0, 1)
        ]
        inside = [(x, y) for x, y in neighbours if 0 <= x <= 1 and 0 <= y <= 1]
        best = max(inside, key=count_at)
        if count_at(best) <= count_at(point):
            return point
        point = best


def _is_accepted(judge: JudgeFunction, row: ClickRow, point: Point) -> bool:
    return bool(judge(StepAction("click", point=point), row.truth, row.size).success)
