"""Two systems on the same samples: difference, interval, and a test that goes by picture."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from utils.analysis.clusters import (
    Layout,
    by_cell,
    design_effect,
    effective_pictures,
    lay_out,
    t_quantile,
)
from utils.analysis.intervals import FEWEST_PICTURES, Interval
from utils.analysis.signs import binomial_half, sign_flip_p

if TYPE_CHECKING:
    from utils.analysis.clusters import Floats


@dataclass(frozen=True, slots=True)
class PairedResult:
    """What the common samples say about two systems.

    Attributes:
        difference: accuracy of the first less that of the second, -1..1.
        interval: of the difference; None under 10 pictures.
        p_value: two-sided, of the sign-flip test over pictures.
        p_mcnemar: exact McNemar test over samples, as if each had a picture of its own and all
            weighed the same: too small where samples share pictures; for comparison only.
        only_first: samples that the first alone got right.
        only_second: samples that the second alone got right.
        pictures: with a weight.
        samples: with a weight.
    """

    difference: float
    interval: Interval | None
    p_value: float | None
    p_mcnemar: float
    only_first: int
    only_second: int
    pictures: int
    samples: int


def compare_paired(
    first: Sequence[float] | Floats,
    second: Sequence[float] | Floats,
    pictures: Sequence[Hashable],
    weights: Sequence[float] | Floats | None = None,
) -> PairedResult:
    """Compares two systems on samples that both were asked.

    Args:
        first: hits of one system, 0..1, one a sample.
        second: those of the other, in the same order.
        pictures: one label a sample.
        weights: not negative; None: all equal.

    Raises:
        ValueError: no sample, lengths differ, or weights that cannot be scaled.
    """
    import numpy as np

    if not len(first) == len(second) == len(pictures):
        raise ValueError("first, second and pictures must have one entry for each sample")
    layout = lay_out(weights, pictures)
    differences = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    counted = differences[layout.order]
    only_first, only_second = int((counted > 0).sum()), int((counted < 0).sum())
    bounds = None
    if layout.pictures >= FEWEST_PICTURES:
        low, high = difference_bounds(differences[None, :], layout)
        bounds = Interval(float(low[0]), float(high[0]))
    cells = by_cell(differences[None, :], layout)[0]
    return PairedResult(
        difference=float(cells.sum()),
        interval=bounds,
        p_value=sign_flip_p(cells),
        p_mcnemar=mcnemar_p(only_first, only_second),
        only_first=only_first,
        only_second=only_second,
        pictures=layout.pictures,
        samples=len(counted),
    )


def difference_bounds(differences: Floats, layout: Layout) -> tuple[Floats, Floats]:
    """Bounds of the mean difference, shape (rows,) each; `differences` is (rows, samples).

    The interval of Agresti and Min, who count one more sample for each system, on the effective
    sample size, with Student's t: systems that never differ get no interval of length 0.

    Source: Agresti & Min (2005), Simple improved confidence intervals for comparing matched
    proportions, Statistics in Medicine 24. The design effect: see `utils.analysis.clusters`.
    """
    import numpy as np

    cells = by_cell(differences, layout)
    mean = cells.sum(axis=1)
    discordant = by_cell(np.abs(differences), layout)
    share = by_cell(np.square(differences), layout).sum(axis=1)
    size = float(1 / layout.squares.sum())
    spread = np.maximum(share - mean**2, 1e-12) * size / (size - 1)
    informative = effective_pictures(discordant, layout)
    effect, df = design_effect(cells, spread[:, None], informative, layout)
    effective = size / effect
    enlarged = effective + 2
    middle = mean * effective / enlarged
    reach = t_quantile(df) * np.sqrt(((share * effective + 2) / enlarged - middle**2) / enlarged)
    return np.maximum(middle - reach, -1.0), np.minimum(middle + reach, 1.0)


def mcnemar_p(only_first: int, only_second: int) -> float:
    """Exact two-sided McNemar test over discordant samples.

    Source: McNemar (1947), Note on the sampling error of the difference between correlated
    proportions or percentages, Psychometrika 12, with the binomial distribution.
    """
    tail = binomial_half(only_first + only_second)[: min(only_first, only_second) + 1].sum()
    return min(1.0, 2 * float(tail))
