"""Hits on pictures as chance would have them: pictures of unequal size, answers that correlate."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
SAMPLES_A_PICTURE = (1, 2, 3, 4, 6, 10)
HOW_OFTEN = (0.2, 0.2, 0.25, 0.15, 0.12, 0.08)


def unequal_pictures(pictures: int, random: np.random.Generator) -> NDArray[np.intp]:
    """The picture of each sample: 1 to 10 samples a picture, 3.3 on average."""
    sizes = random.choice(SAMPLES_A_PICTURE, size=pictures, p=HOW_OFTEN)
    return np.repeat(np.arange(pictures), sizes)


def beta_rates(rate: Floats | float, rho: float, random: np.random.Generator, shape: tuple[int, int]) -> Floats:  # fmt: skip
    """Each picture has a rate of its own, from a beta distribution (beta-binomial hits)."""
    means = np.broadcast_to(rate, shape)
    if rho == 0:
        return means
    return random.beta(means * (1 / rho - 1), (1 - means) * (1 / rho - 1))


def copied_rates(rate: Floats | float, rho: float, random: np.random.Generator, shape: tuple[int, int]) -> Floats:  # fmt: skip
    """Each picture is easy or hard, and an answer follows that with probability sqrt(rho)."""
    means = np.broadcast_to(rate, shape)
    follows = np.sqrt(rho)
    return np.where(random.random(shape) < means, follows + (1 - follows) * means, (1 - follows) * means)  # fmt: skip


def hits_of(rates: Floats, random: np.random.Generator) -> Floats:
    """Ones and zeros with these chances."""
    return (random.random(rates.shape) < rates).astype(np.float64)
