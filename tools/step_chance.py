"""Scores of clicks without knowledge on AndroidControl: at random, and always at the best point.

python -m tools.step_chance FILE [--rules os_atlas qwen]

FILE is `android_control_test.jsonl` as MobileAgent publishes it, also with `.gz` behind it. The
type of the answer is right on its click rows. Images are assumed to be 1080x2400. A rule takes a
minute.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.steps.android_control import AndroidControl
from benchmarks.steps.chance import ClickRow, is_accepted, random_clicks
from benchmarks.steps.rules import RULES, Share
from benchmarks.steps.rules.rule import JudgeFunction
from benchmarks.steps.truth import truth_of_step
from utils.contracts import Point

SIZE = (1080, 2400)
GRID_WH = (20, 40)  # points of the first search for the best constant click
FINEST_STEP = 0.001  # of the image, with which the search ends


class ConstantClick(NamedTuple):
    """The point at which a click that never moves earns most, and what it earns."""

    point: Point
    accepted: Share


def best_constant_click(judge: JudgeFunction, rows: Sequence[ClickRow]) -> ConstantClick:
    """The best point of a coarse grid, moved in ever smaller steps as long as it earns more."""
    counts: dict[Point, int] = {}

    def count_at(point: Point) -> int:
        if point not in counts:
            counts[point] = sum(is_accepted(judge, row, point) for row in rows)
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


def click_rows(file: Path) -> list[ClickRow]:
    """The recorded clicks of the published file."""
    content = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    steps = [step for line in content.splitlines() for step in json.loads(line)["steps"]]
    clicks = [step for step in steps if step["check_options"]["action"] == "click"]
    return [ClickRow(truth_of_step(step, SIZE, ""), SIZE) for step in clicks]


def main() -> None:
    """Print a line for each rule."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--rules", nargs="+", default=AndroidControl.rules, choices=[*RULES])
    arguments = parser.parse_args()
    rows = click_rows(arguments.file)
    for name in arguments.rules:
        judge = RULES[name].judge
        random = random_clicks(judge, rows)
        best = best_constant_click(judge, rows)
        x, y = best.point
        print(
            f"{name:14} random {100 * (random.value or 0):5.2f} %  best constant "
            f"{100 * (best.accepted.value or 0):5.2f} % at ({x:.3f}, {y:.3f})",
            flush=True,
        )


if __name__ == "__main__":
    main()
