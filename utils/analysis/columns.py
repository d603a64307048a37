"""What the sections of all audits share: pictures as numbers, shares with their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Mask = NDArray[np.bool_]
    Ints = NDArray[np.intp]
    Floats = NDArray[np.float64]

# What it takes to warn that another way to read the same replies is better.
LARGEST_P = 0.01
LEAST_LEAD = 0.05  # of the accuracy
FEWEST_DISCORDANT = 10  # pictures on which the two ways differ

Row = dict[str, Any]
"""One line of a section's table: a name and plain numbers or texts, None where there is none."""


class PictureNumbers:
    """Numbers pictures in the order in which they come, so that a sample keeps four bytes."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def of(self, image: object) -> int:
        """The number of a sample's picture."""
        return self._numbers.setdefault(str(image), len(self._numbers))


def share(hits: Mask | Floats, pictures: Ints) -> Row:
    """A share in percent with its interval, and what it counts.

    Args:
        hits: shape (samples,), 0..1.
        pictures: number of each sample's picture, shape (samples,).

    Returns:
        value, low, high, samples, pictures; low and high None under 10 pictures.
    """
    import numpy as np

    from utils.analysis import interval

    values = np.asarray(hits, dtype=np.float64)
    bounds = interval(values, None, pictures)
    return {
        "value": percent(values.mean()) if len(values) else None,
        "low": percent(bounds.low) if bounds else None,
        "high": percent(bounds.high) if bounds else None,
        "samples": len(values),
        "pictures": len(np.unique(pictures)),
    }


def lead_over(first: Mask, second: Mask, pictures: Ints) -> tuple[float, int, float | None]:
    """How far the hits of one reading are ahead of another's, on the same replies.

    Args:
        first: hits, shape (samples,), like the next two.
        second: hits of the reading that the first one may be ahead of.
        pictures: number of each sample's picture.

    Returns:
        Lead as a fraction, pictures on which the two differ, p-value of random signs over pictures;
        None where lead or pictures are too few for a warning whatever the p-value is.
    """
    import numpy as np

    from utils.analysis import compare_paired

    hits = first.astype(np.float64), second.astype(np.float64)
    difference = hits[0] - hits[1]
    lead = float(difference.mean())
    discordant = int(np.count_nonzero(np.bincount(pictures, weights=difference)))
    if lead < LEAST_LEAD or discordant < FEWEST_DISCORDANT:
        return lead, discordant, None
    return lead, discordant, compare_paired(*hits, pictures.tolist()).p_value


def percent(fraction: float) -> float:
    """A fraction in percent, as precise as anyone reads it."""
    return round(100 * float(fraction), 2)


def listed(names: Sequence[str], most: int = 4) -> str:
    """Names in one text, the last of many only counted."""
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest} more" if rest > 0 else "")
