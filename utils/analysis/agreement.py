"""The agreement of two readers on the same replies: share, and Cohen's kappa with its interval."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from utils.analysis.intervals import Floats, Labels


@dataclass(frozen=True, slots=True)
class Agreement:
    """Two readers on the same replies; kappa is None where both name one category alone."""

    samples: int
    share: float  # of replies read alike, 0..1
    kappa: float | None
    low: float | None  # of the 95 % interval of kappa; None: on too few images
    high: float | None


def agreement(
    first: Sequence[Hashable], second: Sequence[Hashable], pictures: Labels | None = None
) -> Agreement | None:
    """The agreement of two readers; None without replies.

    The interval goes by image: a jackknife that leaves out one image after the other, widened to
    the interval of the share of replies that are read alike. The jackknife alone would have no
    length where the readers agree throughout.

    Args:
        first: what one reader has read, by reply.
        second: likewise.
        pictures: the image of each reply; None: each has one of its own.

    Source: Efron & Stein (1981), Annals of Statistics 9.
    """
    import numpy as np

    from utils.analysis.intervals import interval, numbered, t_quantile

    total = len(first)
    if not total:
        return None
    categories = {label: number for number, label in enumerate(dict.fromkeys([*first, *second]))}
    image = numbered(range(total) if pictures is None else pictures)
    tables = np.zeros((image.max() + 1, len(categories), len(categories)))
    for number, one, other in zip(image, first, second, strict=True):
        tables[number, categories[one], categories[other]] += 1
    table = tables.sum(axis=0)
    alike = [one == other for one, other in zip(first, second, strict=True)]
    share = sum(alike) / total
    kappa = float(_kappas(table[None])[0])
    if np.isnan(kappa):
        return Agreement(total, share, None, None, None)
    bounds = interval(alike, None, image)
    if bounds is None:
        return Agreement(total, share, kappa, None, None)
    without_one = _kappas(table - tables)
    without_one = np.where(np.isnan(without_one), kappa, without_one)
    images = len(tables)
    variance = (images - 1) / images * np.square(without_one - without_one.mean()).sum()
    reach = float(t_quantile(np.array([images - 1.0]))[0] * np.sqrt(variance))
    per_share = 1 / (1 - _by_chance(table[None])[0])  # how much kappa grows with the share
    low = min(kappa - reach, kappa - per_share * (share - bounds.low))
    high = max(kappa + reach, kappa + per_share * (bounds.high - share))
    return Agreement(total, share, kappa, max(-1.0, float(low)), min(1.0, float(high)))


def _kappas(tables: Floats) -> Floats:
    """Return the kappa of each table of counts; not a number where there is nothing to tell."""
    import numpy as np

    totals = tables.sum(axis=(1, 2))
    by_chance = _by_chance(tables)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.trace(tables, axis1=1, axis2=2) / totals
        kappas: Floats = np.where(by_chance < 1, (share - by_chance) / (1 - by_chance), np.nan)
    return kappas


def _by_chance(tables: Floats) -> Floats:
    """Return the share on which readers would agree who do not look at the replies."""
    import numpy as np

    with np.errstate(divide="ignore", invalid="ignore"):
        products = tables.sum(axis=1) * tables.sum(axis=2)
        shares: Floats = products.sum(axis=1) / np.square(tables.sum(axis=(1, 2)))
    return shares
