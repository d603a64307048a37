"""Formulas that several rules share: distances, boxes, texts. All intervals are closed."""

from __future__ import annotations

import math
from collections.abc import Sequence

from benchmarks.steps.action import Corners
from utils.contracts import Point

NOISE_DIGITS = 9  # of products of fractions, which come from whole numbers divided by a size

# -- points and boxes -----------------------------------------------------------------------------


def distance(first: Point, second: Point) -> float:
    """The Euclidean distance in the frame of the points."""
    return math.sqrt((first[0] - second[0]) ** 2 + (first[1] - second[1]) ** 2)


def scaled(point: Point, width: float, height: float) -> Point:
    """A point given in fractions, in a frame of this size.

    The product is rounded at the ninth digit: 0.29 of 1000 is 290, not 289.99999999999994.
    """
    return (
        round(point[0] * width, NOISE_DIGITS),
        round(point[1] * height, NOISE_DIGITS),
    )


def is_inside(box: Corners, point: Point) -> bool:
    """Whether a point lies in a box or on its border."""
    return box[0] <= point[0] <= box[2] and box[1] <= point[1] <= box[3]


def centre(box: Corners) -> Point:
    """The middle of a box."""
    return (box[0] + box[2]) / 2, (box[1] + box[3]) / 2


def area(box: Corners) -> float:
    """Width times height."""
    return (box[2] - box[0]) * (box[3] - box[1])


def enlarged(box: Corners, factor: float) -> Corners:
    """A box made larger about its centre; it may reach beyond the image."""
    x, y = centre(box)
    half_width = (box[2] - box[0]) * factor / 2
    half_height = (box[3] - box[1]) * factor / 2
    return x - half_width, y - half_height, x + half_width, y + half_height


def nearest(boxes: Sequence[Corners], point: Point, count: int) -> list[Corners]:
    """The boxes whose centres are nearest to a point; the earlier of two at one distance."""
    return sorted(boxes, key=lambda box: distance(centre(box), point))[:count]


# -- texts ----------------------------------------------------------------------------------------


def token_f1(first: str, second: str) -> float:
    """The F1 of the sets of lower-cased words, punctuation kept; 0 where it is not defined."""
    first_words, second_words = set(first.lower().split()), set(second.lower().split())
    common = len(first_words & second_words)
    if not common:
        return 0.0
    precision = common / len(first_words)
    recall = common / len(second_words)
    return 2 * precision * recall / (precision + recall)


def is_contained(first: str, second: str) -> bool:
    """Whether one of two texts contains the other as it stands; an empty one always does."""
    return first in second or second in first


def is_contained_folded(first: str, second: str) -> bool:
    """Containment without regard to case and to blanks at the ends."""
    return is_contained(first.lower().strip(), second.lower().strip())


def edit_distance(first: str, second: str) -> int:
    """The Levenshtein distance: insertions, deletions and substitutions, each of them 1."""
    row = list(range(len(second) + 1))
    for count, letter in enumerate(first, 1):
        above = row
        row = [count]
        for index, other in enumerate(second):
            substitution = above[index] + (letter != other)
            row.append(min(substitution, above[index + 1] + 1, row[index] + 1))
    return row[-1]


def edit_similarity(first: str, second: str) -> float:
    """1 less the edit distance as a part of the longer text; 1 for two empty texts."""
    longer = max(len(first), len(second))
    return 1 - edit_distance(first, second) / longer if longer else 1.0
