"""Images resized by this program before a model gets them: the rules of `kwargs.resize`.

Authors of many models resize an image themselves, and name or read coordinates in that size. With
the same rule here it is known what an endpoint sees, whatever limits its server has.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from utils.contracts import WH
from utils.coordinates import PIXEL_LIMITS, QWEN_FACTOR, smart_resize, thumbnail_wh

if TYPE_CHECKING:
    from PIL.Image import Image

FILTERS = ("bicubic", "lanczos")
TOKEN_SIDES = (28, 32)  # in pixels, of what Qwen-VL style processors make one token of
TILE = 28  # side in pixels of what Claude's API counts
LARGEST_AREA = 16384 * QWEN_FACTOR**2  # of the Qwen-VL library, where nothing else is said
SMALLEST_AREA = 4 * QWEN_FACTOR**2
EXPECTED = (
    'an object, or a list of objects, such as {"factor": 28} (sides in multiples of 28, within '
    'min_pixels and max_pixels), {"area": 4390400}, {"longest": 1120}, {"tiles": 1568, "longest": '
    '1568}, {"size": [1920, 1080]} or {"canvas": [1008, 672]}'
)


@dataclass(frozen=True, slots=True)
class ResizeStep:
    """One resizing; which rule it follows says the first of its fields that is set."""

    factor: int | None = None
    tiles: int | None = None
    longest: int | None = None
    area: int | None = None
    size: WH | None = None
    canvas: WH | None = None
    min_pixels: int = SMALLEST_AREA
    max_pixels: int = LARGEST_AREA
    filter: str = "bicubic"

    def resized_wh(self, image_wh: WH) -> WH:
        """Return the size that an image of this size gets.

        Raises:
            ValueError: a rule with a factor does not take so long an image.
        """
        if self.factor is not None:
            height, width = smart_resize(
                image_wh[1], image_wh[0], self.factor, self.min_pixels, self.max_pixels
            )
            return width, height
        if self.tiles is not None:
            return within_tiles(image_wh, self.longest or max(image_wh), self.tiles)
        if self.longest is not None:
            return within_longest(image_wh, self.longest)
        if self.area is not None:
            return within_area(image_wh, self.area)
        return self.size or self.canvas or image_wh

    def resize(self, image: Image) -> Image:
        """Return an image in that size; on a canvas it lies in the top left corner, on white."""
        from PIL import Image as images

        resampling = images.Resampling[self.filter.upper()]
        wh = self.resized_wh(image.size)
        if self.canvas is None:
            return image if wh == image.size else image.resize(wh, resampling)
        canvas = images.new("RGB", self.canvas, "white")
        canvas.paste(image.resize(within_canvas(image.size, self.canvas), resampling), (0, 0))
        return canvas


def steps_of(kwargs: Mapping[str, Any]) -> tuple[ResizeStep, ...]:
    """Return the steps of a config's `kwargs`, in order; none without `resize`.

    Raises:
        ValueError: `resize` is not what it must be; it says what that is.
    """
    value = kwargs.get("resize")
    if value is None:
        return ()
    rules = value if isinstance(value, list) else [value]
    return tuple(_step(rule, kwargs) for rule in rules)


def _step(rule: Any, kwargs: Mapping[str, Any]) -> ResizeStep:
    if not isinstance(rule, Mapping) or not _is_rule(rule):
        raise ValueError(f"must be {EXPECTED}")
    limits = {key: kwargs[key] for key in PIXEL_LIMITS if kwargs.get(key)}
    sizes = {key: tuple(rule[key]) for key in ("size", "canvas") if key in rule}
    return ResizeStep(**{**limits, **rule, **sizes})


def _is_rule(rule: Mapping[str, Any]) -> bool:
    names = {"factor", "tiles", "longest", "area", "size", "canvas"} & rule.keys()
    if len(names) != 1 and names != {"tiles", "longest"}:
        return False
    for name, value in rule.items():
        if name in ("size", "canvas"):
            is_right = isinstance(value, (list, tuple)) and len(value) == 2
            is_right = is_right and all(type(side) is int and side > 0 for side in value)
        elif name == "filter":
            is_right = value in FILTERS
        else:
            is_right = name in ResizeStep.__slots__ and type(value) is int and value > 0
        if not is_right:
            return False
    return True


def resized_wh(steps: Sequence[ResizeStep], image_wh: WH) -> WH:
    """Return the size that an image has after all steps."""
    for step in steps:
        image_wh = step.resized_wh(image_wh)
    return image_wh


def sent_wh(kwargs: Mapping[str, Any], file_wh: WH) -> WH:
    """Return the size in which an image leaves this program by a config's `kwargs`."""
    return thumbnail_wh(resized_wh(steps_of(kwargs), file_wh), kwargs.get("img_size") or 0)


def resized(steps: Sequence[ResizeStep], image: Image) -> Image:
    """Return an image after all steps."""
    for step in steps:
        image = step.resize(image)
    return image


# -- the rules ------------------------------------------------------------------------------------


def within_longest(image_wh: WH, longest: int) -> WH:
    """Return a size whose sides are at most `longest`; the height shrinks first, then the width.

    Both steps cut to whole pixels, as AgentCPM-GUI's code does.
    """
    width, height = image_wh
    if height > longest:
        width, height = max(1, int(width * longest / height)), longest
    if width > longest:
        width, height = longest, max(1, int(height * longest / width))
    return width, height


def within_area(image_wh: WH, area: int) -> WH:
    """Return a size of at most `area` pixels and the same aspect; its sides are rounded."""
    width, height = image_wh
    if width * height <= area:
        return image_wh
    shrink_by = math.sqrt(area / (width * height))
    return round(width * shrink_by), round(height * shrink_by)


def within_tiles(image_wh: WH, longest: int, tiles: int) -> WH:
    """Return the largest size of the same aspect with such sides and so many tiles of 28x28."""
    long, short = max(image_wh), min(image_wh)
    for length in range(min(long, longest), 0, -1):
        across = short if length == long else max(1, round(length / (long / short)))
        if math.ceil(length / TILE) * math.ceil(across / TILE) <= tiles:
            break
    return (length, across) if image_wh[0] >= image_wh[1] else (across, length)


def within_canvas(image_wh: WH, canvas_wh: WH) -> WH:
    """Return the size of an image that fills a canvas in one direction, cut to whole pixels."""
    aspect = image_wh[0] / image_wh[1]
    if aspect > canvas_wh[0] / canvas_wh[1]:
        return canvas_wh[0], max(1, int(canvas_wh[0] / aspect))
    return max(1, int(canvas_wh[1] * aspect)), canvas_wh[1]


def canvas_ratio(image_wh: WH, canvas_wh: WH) -> float:
    """Return by how much the width of an image is scaled on a canvas."""
    return within_canvas(image_wh, canvas_wh)[0] / image_wh[0]
