"""Means of values that come in pictures: how much the pictures add to the variance.

Everything is worked out for many rows at once (one row a data set of values on the same samples),
which costs a single row nothing and makes simulations of thousands of draws quick.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.intp]

ASSUMED_CORRELATION = 0.4  # between two answers on a picture, as long as little is known of it
ASSUMED_PICTURES = 4.0  # on so few informative pictures, the estimate counts as much
LEAST_EFFECT = 0.9  # questions of differing difficulty on each picture can bring it below 1
FEWEST_DF = 3.0
FEWEST_OF_GROUP = 6.0  # pictures; fewer say little about their own spread


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """Which samples share a picture and a group, and what they weigh.

    A cell is what a picture and a group have in common; samples are sorted by cell.

    Attributes:
        order: sample numbers, sorted by picture, then group; weightless samples are left out.
        weights: of the sorted samples; they sum to 1.
        cell_starts: where in the sorted samples a cell begins.
        picture_starts: where in the cells a picture begins.
        cell_group: number of each cell's group, shape (cells,).
        cell_weights: shape (cells,).
        group_weights: shape (groups,).
        squares: sum of squared weights by group, shape (groups,).
    """

    order: Ints
    weights: Floats
    cell_starts: Ints
    picture_starts: Ints
    cell_group: Ints
    cell_weights: Floats
    group_weights: Floats
    squares: Floats

    @property
    def pictures(self) -> int:
        """How many pictures have a weight."""
        return len(self.picture_starts)


def lay_out(
    weights: Sequence[float] | Floats | None,
    pictures: Sequence[Hashable] | Ints,
    groups: Sequence[Hashable] | Ints | None = None,
) -> Layout:
    """Sorts samples by picture and group.

    Args:
        weights: not negative, at least one above 0; None: all equal.
        pictures: one label a sample.
        groups: one label a sample; None: all belong together.

    Raises:
        ValueError: lengths differ, or weights that cannot be scaled to a sum of 1.
    """
    import numpy as np

    count = len(pictures)
    given = np.ones(count) if weights is None else np.asarray(weights, dtype=np.float64)
    if len(given) != count or (groups is not None and len(groups) != count):
        raise ValueError("weights, pictures and groups must have one entry for each sample")
    if not np.isfinite(given).all() or (given < 0).any() or not given.sum() > 0:
        raise ValueError("weights must be finite, not negative and not all 0")
    picture = numbered(pictures)
    group = np.zeros(count, dtype=np.intp) if groups is None else numbered(groups)
    order = np.lexsort((group, picture))
    order = order[given[order] > 0]
    picture, group, given = picture[order], group[order], given[order] / given.sum()
    new_picture = np.diff(picture, prepend=-1) != 0
    new_cell = new_picture | (np.diff(group, prepend=-1) != 0)
    cell_starts = np.flatnonzero(new_cell)
    group = np.unique(group, return_inverse=True)[1]
    return Layout(
        order=order,
        weights=given,
        cell_starts=cell_starts,
        picture_starts=np.flatnonzero(new_picture[cell_starts]),
        cell_group=group[cell_starts],
        cell_weights=np.add.reduceat(given, cell_starts),
        group_weights=summed(group, given),
        squares=summed(group, np.square(given)),
    )


def numbered(labels: Sequence[Hashable] | Ints) -> Ints:
    """Labels as numbers from 0, in the order in which they first come."""
    import numpy as np

    if isinstance(labels, np.ndarray):
        return labels.astype(np.intp)
    numbers: dict[Hashable, int] = {}
    return np.fromiter(
        (numbers.setdefault(label, len(numbers)) for label in labels), np.intp, len(labels)
    )


def summed(numbers: Ints, values: Floats) -> Floats:
    """Sum of the values of each number, shape (largest number + 1,)."""
    import numpy as np

    return np.bincount(numbers, weights=values).astype(np.float64)


def by_cell(values: Floats, layout: Layout) -> Floats:
    """Weighted sums of the cells, shape (rows, cells), of values of shape (rows, samples)."""
    import numpy as np

    return np.add.reduceat(values[:, layout.order] * layout.weights, layout.cell_starts, axis=1)


def group_means(cells: Floats, layout: Layout) -> Floats:
    """Mean of each group, shape (rows, groups)."""
    import numpy as np

    member = np.eye(len(layout.group_weights))[layout.cell_group]
    return (cells @ member) / layout.group_weights


def pictures_of_groups(layout: Layout) -> Floats:
    """On how many pictures each group rests (Kish's effective number), shape (groups,)."""
    import numpy as np

    squares = summed(layout.cell_group, np.square(layout.cell_weights))
    pictures: Floats = np.square(layout.group_weights) / squares
    return pictures


def clustered_variance(cells: Floats, layout: Layout) -> Floats:
    """Variance of the weighted mean with pictures as units, shape (rows,).

    A picture's residuals about the means of its groups are summed and squared; each is enlarged
    for the share that the picture itself has in that mean, which makes the estimate unbiased where
    answers are independent. A group of a single picture has no spread of its own: its distance to
    the overall mean stands in.

    Source: Bell & McCaffrey (2002), Bias reduction in standard errors for linear regression with
    multi-stage samples, Survey Methodology 28 (the estimator known as CR2, for means); Lumley
    (2010), Complex Surveys, section 2.6 (single units).
    """
    import numpy as np

    few = (pictures_of_groups(layout) < FEWEST_OF_GROUP)[layout.cell_group]
    overall = cells.sum(axis=1, keepdims=True)
    centre = np.where(few, overall, group_means(cells, layout)[:, layout.cell_group])
    share = layout.cell_weights / np.where(few, 1.0, layout.group_weights[layout.cell_group])
    enlarged = 1 / np.sqrt(1 - share)
    residuals = (cells - layout.cell_weights * centre) * enlarged
    return _sum_of_squares(residuals, layout)


def effective_pictures(cells: Floats, layout: Layout) -> Floats:
    """On how many pictures the (not negative) weight in the cells really rests, shape (rows,).

    As many as there are where all carry the same, 1 where one carries all, 0 without any.

    Source: Kish (1965), Survey Sampling, section 11.7.
    """
    import numpy as np

    squares = _sum_of_squares(cells, layout)
    pictures: Floats = np.square(cells.sum(axis=1)) / np.where(squares > 0, squares, 1.0)
    return pictures


def _sum_of_squares(cells: Floats, layout: Layout) -> Floats:
    """Each picture's cells summed, squared and added up, shape (rows,)."""
    import numpy as np

    totals = np.add.reduceat(cells, layout.picture_starts, axis=1)
    total: Floats = np.square(totals).sum(axis=1)
    return total


def design_effect(
    cells: Floats, spread: Floats, informative: Floats, layout: Layout
) -> tuple[Floats, Floats]:
    """How many times larger pictures make the variance, and the degrees of freedom of that.

    The estimated variance is noisy where few pictures decide. So it is read as a correlation
    within pictures (1: all answers on a picture agree), and drawn towards a usual value the more,
    the fewer pictures it rests on. Only what pictures add is estimated, the binomial part is not,
    and the degrees of freedom say so (Satterthwaite's formula for a known and an estimated part).
    They count half of the informative pictures: sums of rare hits are skewed, and an estimate
    that happens to be low goes with a mean that is. The constants above are chosen by simulation
    (`tests/test_statistics_simulation.py`).

    Args:
        cells: weighted sums, shape (rows, cells).
        spread: variance of a single value in each group, shape (rows, groups), above 0.
        informative: how many pictures the estimate really rests on, shape (rows,).

    Returns:
        Design effect (`LEAST_EFFECT` or more) and degrees of freedom, shape (rows,) each.

    Source: Kish (1965), section 5.4; Satterthwaite (1946), An approximate distribution of
    estimates of variance components, Biometrics Bulletin 2.
    """
    import numpy as np

    apart = spread @ layout.squares
    deviations = np.sqrt(spread)[:, layout.cell_group] * layout.cell_weights
    largest = np.maximum(_sum_of_squares(deviations, layout) / apart, 1.0)
    room = np.where(largest > 1 + 1e-9, largest - 1, 1.0)
    estimated = (clustered_variance(cells, layout) / apart - 1) / room
    informative = np.minimum(informative, _variance_df(spread, layout))
    known, assumed = np.square(informative), ASSUMED_PICTURES**2
    correlation = (known * estimated + assumed * ASSUMED_CORRELATION) / (known + assumed)
    effect = np.maximum(1 + correlation * (largest - 1), LEAST_EFFECT)
    own = np.maximum(informative / 2, FEWEST_DF)
    return effect, own / np.square(np.maximum(np.abs(effect - 1) / effect, 1e-3))


def _variance_df(spread: Floats, layout: Layout) -> Floats:
    """Degrees of freedom of a variance that each group's pictures estimate, shape (rows,).

    Satterthwaite's formula for a sum of the groups' variances; no more than all pictures together
    have, because groups can share pictures.
    """
    import numpy as np

    pictures = pictures_of_groups(layout)
    variances = spread * np.square(layout.group_weights) / pictures
    parts = (np.square(variances) / np.maximum(pictures - 1, 0.5)).sum(axis=1)
    total = effective_pictures(layout.cell_weights[None, :], layout)
    df: Floats = np.minimum(np.square(variances.sum(axis=1)) / parts, total - 1)
    return df


def t_quantile(df: Floats) -> Floats:
    """The 97.5 % quantile of Student's t, within 0.2 % for 3 degrees of freedom or more.

    Source: Abramowitz & Stegun (1964), 26.7.5.
    """
    from statistics import NormalDist

    import numpy as np

    z = NormalDist().inv_cdf(0.975)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    quantile = np.full_like(df, z)
    for power, term in enumerate(terms, 1):
        quantile += term / df**power
    return quantile
