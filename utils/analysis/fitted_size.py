"""The size of the image that numbers are pixels of, where it is none that is known.

A server may shrink images by a rule of its own, and a model may count pixels of the size it was
trained on. Its numbers then follow from the size of the file by one number (the longest side, the
width, the number of pixels, a factor) or are those of one size for all images. Each sample that the
model knows bounds that number: between two values its point lies in its target. The number that is
best for most samples is where most of these spans overlap.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from utils.analysis.intervals import Floats, Ints, Mask


class SizeRule(NamedTuple):
    """A rule that gives an image's size from the size of its file and one number.

    Attributes:
        unit_wh: maps sizes of files, shape (samples, 2), to the sizes for the number 1.
        text: describes the image of a number, for people.
    """

    unit_wh: Callable[[Floats], Floats]
    text: Callable[[float], str]


def _text_of_pixels(side: float) -> str:
    return f"an image of about {_rounded(side**2):,} pixels"


RULES = (
    SizeRule(
        lambda wh: wh / wh.max(axis=1, keepdims=True),
        lambda side: f"an image whose longest side is about {_rounded(side):,}",
    ),
    SizeRule(
        lambda wh: wh / wh.min(axis=1, keepdims=True),
        lambda side: f"an image whose shortest side is about {_rounded(side):,}",
    ),
    SizeRule(lambda wh: wh / np.sqrt(wh.prod(axis=1, keepdims=True)), _text_of_pixels),
    SizeRule(
        lambda wh: wh / wh[:, :1],
        lambda width: f"an image with a width of about {_rounded(width):,}",
    ),
    SizeRule(
        lambda wh: wh,
        lambda factor: f"an image of {factor:.2g} times the file's size",
    ),
)


LARGEST_DIFFERENCE = 0.01  # of width and height, for one scale of both


FITS = len(RULES) + 1
"""The number of fits that are tried: every rule, and one size for all images."""


Fit = Callable[[Mask], tuple[str, Mask]]
"""Fits a size to some of the samples: what it is called, and which of all samples it hits."""


class FittedSize(NamedTuple):
    """The image size whose pixels the numbers of replies count, fitted to their samples."""

    text: str  # "pixels of an image whose longest side is about 896"
    hits: Mask  # by size fitted to other images, so that chance earns no more than chance


def fitted_size(
    numbers: Floats, file_wh: Floats, boxes_frac: Floats, pictures: Ints
) -> FittedSize | None:
    """The size of which most points lie in their targets; None where no point can be in one.

    Args:
        numbers: x and y of each reply, shape (samples, 2), NaN where there are none.
        file_wh: sizes of the image files, shape (samples, 2).
        boxes_frac: targets as fractions of the image: x1, y1, x2, y2; shape (samples, 4).
        pictures: number of each sample's image. The size for one half of the images is fitted to
            the other half.
    """
    is_first = pictures % 2 == 0
    candidates = [_rule_fit(rule, numbers, file_wh, boxes_frac) for rule in RULES]
    candidates.append(_one_size_fit(numbers, boxes_frac))
    hits = [np.where(is_first, fit(~is_first)[1], fit(is_first)[1]) for fit in candidates]
    best = int(np.argmax([mask.sum() for mask in hits]))  # of equal ones the first
    if not hits[best].any():
        return None
    text, _ = candidates[best](np.ones(len(numbers), dtype=bool))
    return FittedSize(text, hits[best])


def _rule_fit(rule: SizeRule, numbers: Floats, file_wh: Floats, boxes_frac: Floats) -> Fit:
    """The fit of a size that follows from that of the file."""
    spans = _spans_of_both(numbers, rule.unit_wh(file_wh), boxes_frac)

    def fit(among: Mask) -> tuple[str, Mask]:
        number = _best(spans, among)
        return f"pixels of {rule.text(number)}", _within(number, spans)

    return fit


def _one_size_fit(numbers: Floats, boxes_frac: Floats) -> Fit:
    """The fit of one size for all images."""
    x_spans = _spans(numbers[:, 0], boxes_frac[:, [0, 2]])
    y_spans = _spans(numbers[:, 1], boxes_frac[:, [1, 3]])

    def fit(among: Mask) -> tuple[str, Mask]:
        width = _best(x_spans, among)
        height = _best(y_spans, among & _within(width, x_spans))
        text = (
            f"pixels of an image of about {_rounded(width):,} x {_rounded(height):,}, "
            "whatever the file's size"
        )
        if abs(width - height) <= LARGEST_DIFFERENCE * width:
            text = (
                f"on a scale from 0 to about {_rounded((width + height) / 2):,} on both axes "
                "(or pixels of a square image of this size)"
            )
        return text, _within(width, x_spans) & _within(height, y_spans)

    return fit


def _spans_of_both(numbers: Floats, units: Floats, boxes_frac: Floats) -> Floats:
    """Between which numbers of a rule each point lies in its target, both ways; NaN: nowhere."""
    x_spans = _spans(numbers[:, 0] / units[:, 0], boxes_frac[:, [0, 2]])
    y_spans = _spans(numbers[:, 1] / units[:, 1], boxes_frac[:, [1, 3]])
    low = np.maximum(x_spans[:, 0], y_spans[:, 0])
    high = np.minimum(x_spans[:, 1], y_spans[:, 1])
    spans: Floats = np.stack([low, high], axis=1)
    spans[~(low <= high)] = math.nan
    return spans


def _spans(coordinates: Floats, sides_frac: Floats) -> Floats:
    """Between which sizes each coordinate lies between the sides of its target; NaN: at none."""
    with np.errstate(divide="ignore", invalid="ignore"):
        spans: Floats = coordinates[:, None] / sides_frac[:, ::-1]
    spans[~((spans[:, 0] > 0) & np.isfinite(spans[:, 0]))] = math.nan
    return spans


def _best(spans: Floats, among: Mask) -> float:
    """The middle of where most spans overlap; NaN where there are none."""
    finite_spans = spans[among & ~np.isnan(spans[:, 0])]
    if not len(finite_spans):
        return math.nan
    ends = np.concatenate([finite_spans[:, 0], finite_spans[:, 1]])
    steps = np.repeat([1, -1], len(finite_spans))
    order = np.lexsort((-steps, ends))  # of equal ends those where spans begin come first
    depth = np.cumsum(steps[order])
    deepest = int(depth.argmax())
    return float(ends[order][deepest : deepest + 2].mean())


def _within(number: float, spans: Floats) -> Mask:
    mask: Mask = (spans[:, 0] <= number) & (number <= spans[:, 1])
    return mask


def _rounded(number: float) -> int:
    """A number with three digits, as far as these fits are exact."""
    if math.isnan(number):
        return 0
    return int(float(f"{number:.3g}"))
