"""Two systems on the same samples: difference, interval, and a test that goes by image."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from utils.analysis import intervals
from utils.analysis.intervals import (
    TINY,
    CellLayout,
    Floats,
    Interval,
    Ints,
    Labels,
    Mask,
    design_effect,
    lay_out,
)
from utils.protocol import FEWEST_PICTURES

# What it takes to warn that another way to read the same replies is better.
LARGEST_P = 0.05
LEAST_LEAD = 0.05  # of the accuracy
FEWEST_DISCORDANT = 10  # images on which the two ways differ
WIDEST_GRID = 100_000  # steps between the smallest and the largest sum
STEPS = 1000  # of the largest sum, where sums have no unit in common
MOST = 0.5  # of the answers to a sample are right where its mean is above this
EQUAL = 1e-7  # sums this close, in units of the largest image's, are one


class PairedResult(NamedTuple):
    """The comparison of two systems on their common samples."""

    difference: float  # accuracy of the first less that of the second, -1..1
    interval: Interval | None  # of the difference; None under 10 images
    p_value: float  # two-sided, over images; see `compare_paired`
    p_mcnemar: float  # exact, as if each sample had an image of its own; for comparison only
    only_first: int  # samples that the first alone got right; of several answers, most
    only_second: int
    pictures: int  # with a weight

    @property
    def points(self) -> tuple[float, float | None, float | None]:
        """The difference in percentage points, low and high of its 95 % interval."""
        low, high = self.interval or (None, None)
        return (
            100 * self.difference,
            None if low is None else 100 * low,
            None if high is None else 100 * high,
        )


def compare_paired(
    first: Sequence[float] | Floats,
    second: Sequence[float] | Floats,
    pictures: Labels,
    weights: Sequence[float] | Floats | None = None,
    *,
    rights: tuple[Sequence[float], Sequence[float]] | None = None,
) -> PairedResult:
    """Compare the hits (0..1) of two systems on the same samples.

    The p-value is that of the sign-flip test, which is exact for systems whose answers could be
    exchanged, or of the t test of the interval (from 10 images on), whichever is larger: where one
    system knows all of an image or nothing, sign flips are too sure.

    `pictures` has one label a sample, of which there is one at least; `weights` are not negative,
    None: all equal. Where hits are credits for a part, `rights` has the hits by which one system
    alone is right.
    """
    layout = lay_out(weights, pictures)
    first_hits, second_hits = (np.asarray(hits, dtype=np.float64) for hits in (first, second))
    differences = first_hits - second_hits
    first_right, second_right = (
        np.asarray(hits)[layout.order] > MOST for hits in rights or (first_hits, second_hits)
    )
    only_first = int((first_right & ~second_right).sum())
    only_second = int((second_right & ~first_right).sum())
    cells = layout.cells(differences[None, :])[0]
    bounds = None
    p_value = sign_flip_p(cells)
    if layout.pictures >= FEWEST_PICTURES:
        rows = difference_bounds(differences[None, :], layout)
        low, high, t, df = (float(values[0]) for values in rows)
        bounds = Interval(low, high)
        p_value = max(p_value, intervals.t_tails(t, df))
    return PairedResult(
        float(cells.sum()),
        bounds,
        p_value,
        mcnemar_p(only_first, only_second),
        only_first,
        only_second,
        layout.pictures,
    )


class Lead(NamedTuple):
    """The lead of one way to read the same replies over another."""

    accuracy: float  # difference of the accuracies, -1..1
    discordant: int  # images on which the two differ
    p_value: float | None  # None: lead or images are too few for a warning, whatever it is


def lead_over(first: Mask | Floats, second: Mask | Floats, pictures: Ints) -> Lead:
    """Return the lead of the hits of `first` over those of `second`, by sample 0 or 1."""
    first_hits = first.astype(np.float64)
    second_hits = second.astype(np.float64)
    differences = first_hits - second_hits
    accuracy = float(differences.mean())
    discordant = int(np.count_nonzero(np.bincount(pictures, weights=differences)))
    if accuracy < LEAST_LEAD or discordant < FEWEST_DISCORDANT:
        return Lead(accuracy, discordant, None)
    p_value = compare_paired(first_hits, second_hits, pictures).p_value
    return Lead(accuracy, discordant, p_value)


def difference_bounds(differences: Floats, layout: CellLayout) -> tuple[Floats, ...]:
    """Return bounds of mean differences, (rows, samples), their t and its degrees of freedom.

    The interval of Agresti and Min, who count one more sample for each system, on the effective
    sample size: systems that never differ get no interval of length 0. What images add to the
    variance is estimated from as many images as have the rarer direction of the differences, twice;
    or, where nearly all have one direction, from a third of those. (A half would be too sure of
    few: see `tests/analysis/test_statistics_simulation.py`.)

    Source: Agresti & Min (2005), Statistics in Medicine 24.
    """
    cells = layout.cells(differences)
    mean = cells.sum(axis=1)
    share = layout.cells(np.square(differences)).sum(axis=1)
    size = float(1 / layout.squares.sum())
    spread = np.maximum(share - mean**2, TINY) * size / (size - 1)
    gains, losses = np.maximum(cells, 0.0), np.maximum(-cells, 0.0)
    rarer = np.minimum(layout.effective(gains), layout.effective(losses))
    usual = np.maximum(layout.informative(gains), layout.informative(losses))
    informative = np.maximum(2 * rarer, usual / 3)
    effect, df = design_effect(cells, spread[:, None], informative, layout)
    effective = size / effect
    enlarged = effective + 2
    middle = mean * effective / enlarged
    error = np.sqrt(((share * effective + 2) / enlarged - middle**2) / enlarged)
    reach = intervals.t_quantile(df) * error
    low, high = np.maximum(middle - reach, -1.0), np.minimum(middle + reach, 1.0)
    return low, high, middle / error, df


def sign_flip_p(sums: Floats) -> float:
    """Two-sided p-value of the images' summed differences, under random signs.

    The whole distribution is worked out, on a grid. Its step is the largest of which all sums are
    multiples: of means of several answers a part of one answer, of weighted ones a part of a
    weight. Where there is none, or the grid has no room for it, sums are rounded to a thousandth
    of the largest; totals that the roundings may have parted then count as equal.

    Source: Fisher (1935), The Design of Experiments.
    """
    sizes = np.abs(sums)[sums != 0]
    if not len(sizes):
        return 1.0
    unit = common_unit(sizes)
    slack = 0.0
    if unit is not None:
        steps = np.round(sums / unit)
    else:
        steps = np.round(sums * min(STEPS / sizes.max(), WIDEST_GRID / sizes.sum()))
        slack = math.sqrt(len(sizes))
    chances: Floats = np.ones(1)
    for size, count in zip(*np.unique(np.abs(steps[steps != 0]), return_counts=True), strict=True):
        wider: Floats = np.zeros(len(chances) + int(size) * count)
        for plus_signs, chance in enumerate(binomial_half(int(count))):  # nearly all others are 0
            start = int(size) * plus_signs
            wider[start : start + len(chances)] += chance * chances
        chances = wider
    values = 2 * np.arange(len(chances)) - (len(chances) - 1)
    return min(1.0, float(chances[np.abs(values) >= abs(steps.sum()) - slack].sum()))


def common_unit(sizes: Floats) -> float | None:
    """Return the largest number of which all these (above 0) are multiples, by Euclid.

    None: there is none, or so many of it make up their sum that the grid has no room for them.
    """
    smallest = float(sizes.sum()) / WIDEST_GRID
    tolerance = EQUAL * float(sizes.max())
    unit = 0.0
    for size in np.unique(sizes).tolist():
        larger, rest = size, unit
        while rest > tolerance:
            if rest < smallest:
                return None
            larger, rest = rest, abs(larger - round(larger / rest) * rest)
        unit = larger
    steps = np.round(sizes / unit)
    is_even = (np.abs(steps * unit - sizes) <= tolerance).all()
    return unit if is_even and steps.sum() <= WIDEST_GRID else None


def mcnemar_p(only_first: int, only_second: int) -> float:
    """Exact two-sided McNemar test over discordant samples (McNemar 1947, Psychometrika 12)."""
    tail = binomial_half(only_first + only_second)[: min(only_first, only_second) + 1].sum()
    return min(1.0, 2 * float(tail))


@lru_cache(maxsize=4096)
def binomial_half(count: int) -> Floats:
    """Chances of 0, 1, ..., `count` heads in so many throws of a coin; not to be written to."""
    logs = np.concatenate(([0.0], np.cumsum(np.log(np.arange(1, count + 1)))))
    chances: Floats = np.exp(logs[-1] - logs - logs[::-1] - count * np.log(2.0))
    return chances


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's correction: the chance of any false alarm among these tests stays below alpha.

    A None (a test that could not be made) counts for nothing and stays.

    Source: Holm (1979), Scandinavian Journal of Statistics 6.
    """
    ranked = sorted((p, index) for index, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for rank, (p, index) in enumerate(ranked):
        largest = max(largest, min(1.0, (len(ranked) - rank) * p))
        adjusted[index] = largest
    return adjusted
