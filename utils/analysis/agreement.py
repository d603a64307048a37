"""How far two readers of the same replies agree: the share, and Cohen's kappa with its interval."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from math import sqrt

Z_95 = 1.959964


@dataclass(frozen=True, slots=True)
class Agreement:
    """Two readers on the same replies; kappa is None where both name one category alone."""

    samples: int
    share: float  # of replies read alike, 0..1
    kappa: float | None
    low: float | None  # of the 95 % interval of kappa
    high: float | None


def agreement(first: Sequence[Hashable], second: Sequence[Hashable]) -> Agreement | None:
    """Return how far two readers agree; None without replies.

    Kappa's variance is that of Fleiss, Cohen and Everitt, "Large sample standard errors of kappa
    and weighted kappa" (1969), for large samples.
    """
    total = len(first)
    if not total:
        return None
    cells = Counter(zip(first, second, strict=True))
    rows = {category: count / total for category, count in Counter(first).items()}
    columns = {category: count / total for category, count in Counter(second).items()}
    observed = sum(count for (a, b), count in cells.items() if a == b) / total
    expected = sum(share * columns.get(category, 0.0) for category, share in rows.items())
    if expected >= 1:
        return Agreement(total, observed, None, None, None)
    kappa = (observed - expected) / (1 - expected)
    alike = apart = 0.0
    for (a, b), count in cells.items():
        if a == b:
            alike += count / total * (1 - (rows[a] + columns[a]) * (1 - kappa)) ** 2
        else:
            apart += count / total * (columns.get(a, 0.0) + rows.get(b, 0.0)) ** 2
    chance = (kappa - expected * (1 - kappa)) ** 2
    variance = (alike + (1 - kappa) ** 2 * apart - chance) / (total * (1 - expected) ** 2)
    margin = Z_95 * sqrt(max(0.0, variance))
    return Agreement(total, observed, kappa, max(-1.0, kappa - margin), min(1.0, kappa + margin))
