"""The 95 % interval of an accuracy. Questions on an image share its difficulty: images count.

Everything is worked out for many rows at once (a row is one set of values on the same samples), so
that simulations of thousands of draws run the program's own code. The constants are chosen by
them: see `tests/analysis/test_statistics_simulation.py`.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from utils.protocol import FEWEST_PICTURES

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Mask = NDArray[np.bool_]
Labels = Sequence[Hashable] | Ints

ASSUMED_CORRELATION = 0.5  # between two answers on an image, as long as little is known of it
ASSUMED_PICTURES = 4.0  # on so few informative images, the estimate counts as much
LEAST_EFFECT = 0.9  # questions of differing difficulty on each image can bring it below 1
FEWEST_DF = 3.0
LARGEST_SHARE = 0.9  # of an image in its group; one that is a whole group has no spread
TINY = 1e-12


class Interval(NamedTuple):
    """Bounds of a 95 % interval, as fractions (accuracies 0..1, differences -1..1)."""

    low: float
    high: float


def interval(
    hits: Sequence[float] | Floats,
    weights: Sequence[float] | Floats | None,
    pictures: Labels,
    groups: Labels | None = None,
) -> Interval | None:
    """Return the 95 % interval of a weighted mean of hits, clustered by image; never of length 0.

    Args:
        hits: 0..1.
        weights: scaled to a sum of 1 here; None: all equal.
        pictures: one label a sample.
        groups: likewise, where the figure is an average of the means of groups (macro averages;
            basic and advanced): differences between groups are then no noise.

    Returns:
        None under `FEWEST_PICTURES` images.
    """
    layout = lay_out(weights, pictures, groups) if len(hits) else None
    if layout is None or layout.pictures < FEWEST_PICTURES:
        return None
    low, high = wilson_bounds(layout.cells(np.asarray(hits, dtype=np.float64)[None, :]), layout)
    return Interval(float(low[0]), float(high[0]))


@dataclass(frozen=True, slots=True, eq=False)
class CellLayout:
    """The samples in cells, each of one image and one group, and their weights."""

    order: Ints  # sample numbers, sorted by image, then group; those without a weight left out
    weights: Floats  # of the sorted samples; they sum to 1
    cell_starts: Ints  # where in the sorted samples a cell begins
    picture_starts: Ints  # where in the cells an image begins
    cell_group: Ints  # number of each cell's group
    cell_weights: Floats
    group_weights: Floats
    squares: Floats  # sum of squared weights by group

    @property
    def pictures(self) -> int:
        """The number of images that have a weight."""
        return len(self.picture_starts)

    def cells(self, values: Floats) -> Floats:
        """Return weighted sums, shape (rows, cells), of values of shape (rows, samples)."""
        return np.add.reduceat(values[:, self.order] * self.weights, self.cell_starts, axis=1)

    def squared(self, cells: Floats) -> Floats:
        """Return the sum over images of their squared sums of cells, shape (rows,)."""
        total: Floats = np.square(np.add.reduceat(cells, self.picture_starts, axis=1)).sum(axis=1)
        return total

    def effective(self, cells: Floats) -> Floats:
        """The number of images that carry the (not negative) weight in cells, (rows,): Kish's."""
        squares = self.squared(cells)
        number: Floats = cells.sum(axis=1) ** 2 / (squares + (squares == 0))
        return number

    def informative(self, cells: Floats) -> Floats:
        """The number of images with these parts of the weights, or with the others if fewer."""
        return np.minimum(self.effective(cells), self.effective(self.cell_weights - cells))

    def means(self, cells: Floats) -> Floats:
        """Return the mean of each group, shape (rows, groups)."""
        return (cells @ np.eye(len(self.group_weights))[self.cell_group]) / self.group_weights


def lay_out(
    weights: Sequence[float] | Floats | None, pictures: Labels, groups: Labels | None = None
) -> CellLayout:
    """Return samples sorted by image and group; weights are finite, not negative, not all 0."""
    count = len(pictures)
    all_weights = np.ones(count) if weights is None else np.asarray(weights, dtype=np.float64)
    picture, group = numbered(pictures), numbered([0] * count if groups is None else groups)
    order = np.lexsort((group, picture))
    order = order[all_weights[order] > 0]
    picture = picture[order]
    scaled = all_weights[order] / all_weights.sum()
    group = np.unique(group[order], return_inverse=True)[1]
    new_picture = np.diff(picture, prepend=-1) != 0
    cell_starts = np.flatnonzero(new_picture | (np.diff(group, prepend=-1) != 0))
    return CellLayout(
        order,
        scaled,
        cell_starts,
        picture_starts=np.flatnonzero(new_picture[cell_starts]),
        cell_group=group[cell_starts],
        cell_weights=np.add.reduceat(scaled, cell_starts),
        group_weights=np.bincount(group, scaled).astype(np.float64),
        squares=np.bincount(group, np.square(scaled)).astype(np.float64),
    )


def numbered(labels: Labels) -> Ints:
    """Return labels as numbers from 0."""
    if isinstance(labels, np.ndarray):
        return labels.astype(np.intp, copy=False)
    numbers: dict[Hashable, int] = {}
    label_numbers = (numbers.setdefault(label, len(numbers)) for label in labels)
    return np.fromiter(label_numbers, np.intp, len(labels))


def wilson_bounds(cells: Floats, layout: CellLayout) -> tuple[Floats, Floats]:
    """Return the bounds, (rows,) each, of hits summed in cells: Wilson's, with Student's t.

    Source: Wilson (1927), JASA 22; Korn & Graubard (1998), Survey Methodology 24; Dean & Pagano
    (2015), Journal of Survey Statistics and Methodology 3.
    """
    mean = np.clip(cells.sum(axis=1), 0.0, 1.0)
    binomial = np.maximum(mean * (1 - mean), TINY)
    spread = _spread_of_groups(cells, mean, binomial, layout)
    effect, df = design_effect(cells, spread, layout.informative(cells), layout)
    size = binomial / (spread @ layout.squares) / effect
    t = t_quantile(df)
    middle = (mean + t**2 / (2 * size)) / (1 + t**2 / size)
    reach = t / (1 + t**2 / size) * np.sqrt(mean * (1 - mean) / size + t**2 / (4 * size**2))
    return np.maximum(middle - reach, 0.0), np.minimum(middle + reach, 1.0)


def _spread_of_groups(cells: Floats, mean: Floats, binomial: Floats, layout: CellLayout) -> Floats:
    """Return the variance of one sample in each group, shape (rows, groups).

    Group rates are shrunk towards the overall rate by a prior worth one hit and one miss; a group
    with few hits or none would else pass as certain.
    """
    if len(layout.squares) == 1:
        return binomial[:, None]
    squares = np.bincount(layout.cell_group, np.square(layout.cell_weights))
    pictures = np.square(layout.group_weights) / squares
    prior = 1 / binomial[:, None]
    rates = np.clip(layout.means(cells), 0.0, 1.0)
    rates = (pictures * rates + prior * mean[:, None]) / (pictures + prior)
    return np.where(binomial[:, None] > TINY, np.maximum(rates * (1 - rates), TINY), TINY)


def design_effect(
    cells: Floats, spread: Floats, informative: Floats, layout: CellLayout
) -> tuple[Floats, Floats]:
    """The factor by which images enlarge the variance, and its degrees of freedom.

    The estimated variance is noisy where few images decide. So it is read as a correlation within
    images (1: all answers on an image agree), and drawn towards a usual value the more, the fewer
    images it rests on. Only what images add is estimated, and the degrees of freedom say so
    (Satterthwaite's formula). They count half of the informative images: sums of rare hits are
    skewed, and an estimate that happens to be low goes with a mean that is.

    `spread` is the variance of a single value in each group, (rows, groups), above 0; `informative`
    the number of images that the estimate really rests on, (rows,).

    Source: Kish (1965), Survey Sampling; Satterthwaite (1946), Biometrics Bulletin 2.
    """
    apart = spread @ layout.squares
    deviations = np.sqrt(spread)[:, layout.cell_group] * layout.cell_weights
    largest = np.maximum(layout.squared(deviations) / apart, 1.0)
    room = np.where(largest > 1 + 1e-9, largest - 1, 1.0)
    estimated = (clustered_variance(cells, layout) / apart - 1) / room
    informative = np.minimum(informative, layout.effective(layout.cell_weights[None, :]) - 1)
    trust = np.square(informative)
    prior = ASSUMED_PICTURES**2
    correlation = (trust * estimated + prior * ASSUMED_CORRELATION) / (trust + prior)
    effect = np.maximum(1 + correlation * (largest - 1), LEAST_EFFECT)
    df = np.maximum(informative / 2, FEWEST_DF)
    return effect, df / np.square(np.maximum(np.abs(effect - 1) / effect, 1e-3))


def clustered_variance(cells: Floats, layout: CellLayout) -> Floats:
    """Return the variance of the weighted mean with images as units, shape (rows,).

    An image's residuals about the means of its groups are summed and squared; each is enlarged for
    the image's share in that mean, so that there is no bias where answers are independent.

    Source: Bell & McCaffrey (2002), Survey Methodology 28 (the estimator known as CR2, for means).
    """
    residuals = cells - layout.cell_weights * layout.means(cells)[:, layout.cell_group]
    share = layout.cell_weights / layout.group_weights[layout.cell_group]
    return layout.squared(residuals / np.sqrt(1 - np.minimum(share, LARGEST_SHARE)))


def t_quantile(df: Floats) -> Floats:
    """Return the 97.5 % quantile of Student's t, at 3 degrees of freedom up to 1.2 % too large.

    Source: Wallace (1959), Annals of Mathematical Statistics 30.
    """
    z = NormalDist().inv_cdf(0.975) * (8 * df + 3) / (8 * df + 1)
    quantile: Floats = np.sqrt(df * np.expm1(np.square(z) / df))
    return quantile


def t_tails(t: float, df: float) -> float:
    """Return the chance that Student's t is as far from 0 as this; 5 % at `t_quantile`."""
    z = (8 * df + 1) / (8 * df + 3) * math.sqrt(df * math.log1p(t * t / df))
    return math.erfc(z / math.sqrt(2))
