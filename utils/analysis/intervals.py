"""The 95 % interval of an accuracy, with pictures as units."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from utils.analysis.clusters import (
    Layout,
    by_cell,
    design_effect,
    effective_pictures,
    group_means,
    lay_out,
    pictures_of_groups,
    t_quantile,
)

if TYPE_CHECKING:
    from utils.analysis.clusters import Floats, Ints

LENT_HITS = 1.0
FEWEST_PICTURES = 10  # fewer say nothing about the spread between pictures


@dataclass(frozen=True, slots=True)
class Interval:
    """Bounds of a 95 % interval, as fractions (accuracies 0..1, differences -1..1)."""

    low: float
    high: float


def interval(
    hits: Sequence[float] | Floats,
    weights: Sequence[float] | Floats | None,
    pictures: Sequence[Hashable] | Ints,
    groups: Sequence[Hashable] | Ints | None = None,
) -> Interval | None:
    """95 % interval of a weighted mean of hits, clustered by picture.

    Wilson's interval on the effective sample size, with Student's t. It has no length 0 and stays
    within 0..1, also where all samples are hits or none is.

    Args:
        hits: 0..1, one a sample.
        weights: not negative; scaled to a sum of 1. None: all equal.
        pictures: one label a sample.
        groups: where the figure is an average of the groups' means (macro averages; basic and
            advanced): one label a sample. What lies between groups is then no noise.

    Returns:
        None under `FEWEST_PICTURES` pictures.

    Raises:
        ValueError: lengths differ, or weights that cannot be scaled.

    Source: Wilson (1927), Probable inference, the law of succession, and statistical inference,
    JASA 22; Korn & Graubard (1998), Confidence intervals for proportions with small expected
    number of positive counts estimated from survey data, Survey Methodology 24 (effective sample
    size, t); Dean & Pagano (2015), Evaluating confidence interval methods for binomial proportions
    in clustered surveys, Journal of Survey Statistics and Methodology 3 (Wilson among the best).
    The design effect: see `utils.analysis.clusters`.
    """
    import numpy as np

    if len(hits) != len(pictures):
        raise ValueError("hits and pictures must have one entry for each sample")
    if not len(hits):
        return None
    layout = lay_out(weights, pictures, groups)
    if layout.pictures < FEWEST_PICTURES:
        return None
    low, high = wilson_bounds(np.asarray(hits, dtype=np.float64)[None, :], layout)
    return Interval(float(low[0]), float(high[0]))


def wilson_bounds(hits: Floats, layout: Layout) -> tuple[Floats, Floats]:
    """Lower and upper bounds, shape (rows,) each, of hits of shape (rows, samples)."""
    import numpy as np

    cells = by_cell(hits, layout)
    mean = np.clip(cells.sum(axis=1), 0.0, 1.0)
    relative, corrected = _relative_spread(cells, mean, layout)
    informative = np.minimum(
        effective_pictures(cells, layout), effective_pictures(layout.cell_weights - cells, layout)
    )
    binomial = np.maximum(mean * (1 - mean), 1e-12)
    effect, df = design_effect(cells, corrected * binomial[:, None], informative, layout)
    size = 1 / (relative @ layout.squares) / effect
    t = t_quantile(df)
    middle = (mean + t**2 / (2 * size)) / (1 + t**2 / size)
    reach = t / (1 + t**2 / size) * np.sqrt(mean * (1 - mean) / size + t**2 / (4 * size**2))
    return np.maximum(middle - reach, 0.0), np.minimum(middle + reach, 1.0)


def _relative_spread(cells: Floats, mean: Floats, layout: Layout) -> tuple[Floats, Floats]:
    """Variance of one sample in each group, over that at the overall mean; and it without bias.

    Groups lend one another as many pictures as bring about one hit and one miss; a group with few
    hits or none would else pass as certain.
    """
    import numpy as np

    pictures = pictures_of_groups(layout)
    binomial = np.maximum(mean * (1 - mean), 1e-12)[:, None]
    lent = LENT_HITS / binomial if len(pictures) > 1 else np.zeros_like(binomial)
    own = np.clip(group_means(cells, layout), 0.0, 1.0)
    own = (pictures * own + lent * mean[:, None]) / (pictures + lent)
    relative = np.where(binomial > 1e-12, own * (1 - own) / binomial, 1.0)
    samples = np.square(layout.group_weights) / layout.squares + lent
    return relative, relative * samples / (samples - 1)
