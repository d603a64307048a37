"""The sign-flip test: is a sum of differences larger than chance signs would make it?"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from utils.analysis.clusters import summed

if TYPE_CHECKING:
    from utils.analysis.clusters import Floats, Ints

WIDEST_GRID = 100_000  # steps between the smallest and the largest sum
MOST_SUMS = 300_000  # that are worked out one by one
DRAWS = 99_999
SEED = 20_250_726
EQUAL = 1e-6  # sums this close, in units of the largest picture, are one


def sign_flip_p(sums: Floats) -> float:
    """Two-sided p-value of a sum of differences, under random signs.

    If two systems are equally good, each picture's summed difference could as well have come with
    the other sign. Pictures with the same absolute sum are counted together, so that the whole
    distribution is worked out exactly unless weights make too many different sums; then it is
    drawn, with a fixed seed, and the p-value is (b + 1) / (draws + 1). Exact for systems whose
    answers could be exchanged; very nearly so if only their accuracies are equal.

    Args:
        sums: one for each picture.

    Source: Fisher (1935), The Design of Experiments, section 21; Phipson & Smyth (2010),
    Permutation p-values should never be zero, Statistical Applications in Genetics 9.
    """
    import numpy as np

    largest = float(np.abs(sums).max(initial=0.0))
    if largest == 0:
        return 1.0
    scaled = np.round(np.abs(sums) / largest, 12)
    sizes, counts = np.unique(scaled[scaled > 0], return_counts=True)
    observed = abs(float(sums.sum())) / largest
    reached = observed - EQUAL
    for every_sum in (_sums_on_a_grid, _sums_that_differ):
        exact = every_sum(sizes, counts)
        if exact is not None:
            values, chances = exact
            return min(1.0, float(chances[np.abs(values) >= reached].sum()))
    random = np.random.default_rng(SEED)
    drawn = np.zeros(DRAWS)
    for size, count in zip(sizes, counts, strict=True):
        drawn += size * (2 * random.binomial(count, 0.5, DRAWS) - count)
    return (int((np.abs(drawn) >= reached).sum()) + 1) / (DRAWS + 1)


def _sums_on_a_grid(sizes: Floats, counts: Ints) -> tuple[Floats, Floats] | None:
    """Every sum and its chance where all sizes are multiples of the smallest: without weights."""
    import numpy as np

    steps = np.round(sizes / sizes[0]).astype(np.intp)
    if (np.abs(steps * sizes[0] - sizes) > EQUAL / 10).any() or steps @ counts > WIDEST_GRID:
        return None
    chances: Floats = np.ones(1)
    for step, count in zip(steps, counts, strict=True):
        plus_signs: Floats = np.zeros(step * count + 1)
        plus_signs[::step] = binomial_half(int(count))
        chances = np.convolve(chances, plus_signs)
    values = sizes[0] * (2 * np.arange(len(chances)) - (len(chances) - 1))
    return values, chances


def _sums_that_differ(sizes: Floats, counts: Ints) -> tuple[Floats, Floats] | None:
    """Every sum that signs can make, and its chance; None if there are too many."""
    import numpy as np

    values: Floats = np.zeros(1)
    chances: Floats = np.ones(1)
    for size, count in zip(sizes, counts, strict=True):
        if len(values) * (int(count) + 1) > MOST_SUMS:
            return None
        steps = size * (2 * np.arange(count + 1) - count)
        found = np.round(np.add.outer(values, steps).ravel(), 8)
        weights = np.multiply.outer(chances, binomial_half(int(count))).ravel()
        values, place = np.unique(found, return_inverse=True)
        chances = summed(place, weights)
    return values, chances


@lru_cache(maxsize=4096)
def binomial_half(count: int) -> Floats:
    """Chances of 0, 1, ..., `count` heads in so many throws of a coin; not to be written to."""
    import numpy as np

    logs = np.concatenate(([0.0], np.cumsum(np.log(np.arange(1, count + 1)))))
    chances: Floats = np.exp(logs[-1] - logs - logs[::-1] - count * np.log(2.0))
    return chances
