"""Frames of points and sizes: the picture as a file, as sent, and as a grid that a model saw.

Pure arithmetic, no torch. A point or size says its frame in its name: `_px` are pixels of some
picture, `_frac` fractions of its width and height (0..1); `_wh` is (width, height), `_hw` is
(height, width), the order in which the Qwen-VL code base writes sizes.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping, Sequence
from typing import Any

from utils.contracts import WH, Point

QWEN_FACTOR = 28
"""Two patches of 14 px, which the model merges (Qwen2-VL, Qwen2.5-VL; Qwen3-VL has 32)."""

UITARS_MIN_PIXELS = 100 * QWEN_FACTOR**2
UITARS_MAX_PIXELS = 16384 * QWEN_FACTOR**2
MAX_ASPECT_RATIO = 200


def smart_resize(
    height: int,
    width: int,
    factor: int = QWEN_FACTOR,
    min_pixels: int = UITARS_MIN_PIXELS,
    max_pixels: int = UITARS_MAX_PIXELS,
) -> tuple[int, int]:
    """The size to which Qwen-VL models bring a picture: a multiple of `factor`, of a limited area.

    parity: sides are rounded half to even (4.5 units become 4), as Python's `round` does it.

    Args:
        height: of the picture, in pixels.
        width: of the picture, in pixels.
        factor: both sides of the result are multiples of it, in pixels.
        min_pixels: least area of the result, in pixels.
        max_pixels: greatest area of the result, in pixels.

    Returns:
        (height, width) in pixels.

    Raises:
        ValueError: one side is more than 200 times the other, or a size is negative.
        ZeroDivisionError: a side is 0.

    Source: Qwen2-VL technical report (arXiv:2409.12191), section 2.1, native dynamic resolution;
    the limits are the ones that UI-TARS-1.5 was published with.
    """
    ratio = max(height, width) / min(height, width)
    if ratio > MAX_ASPECT_RATIO:
        raise ValueError(
            f"a picture of {width}x{height} pixels has an aspect ratio of {ratio:.0f}; "
            f"the model takes at most {MAX_ASPECT_RATIO}"
        )
    units_high = max(1, round(height / factor))
    units_wide = max(1, round(width / factor))
    area_px = units_high * units_wide * factor**2
    if area_px > max_pixels:
        shrink_by = math.sqrt(height * width / max_pixels)
        # A very long picture under a very small limit keeps one unit, over the limit by that much.
        units_high = max(1, math.floor(height / shrink_by / factor))
        units_wide = max(1, math.floor(width / shrink_by / factor))
    elif area_px < min_pixels:
        grow_by = math.sqrt(min_pixels / (height * width))
        units_high = math.ceil(height * grow_by / factor)
        units_wide = math.ceil(width * grow_by / factor)
    return units_high * factor, units_wide * factor


def read_size(value: Any) -> WH:
    """Width and height from either form in which a size travels: `[2560, 1440]` or its text.

    Raises:
        ValueError: the text is no literal, or there are not exactly two entries.
        TypeError: an entry is no number.
    """
    if isinstance(value, str):
        try:
            value = ast.literal_eval(value.strip())
        except SyntaxError as error:
            raise ValueError(
                f"{value!r} is no size; expected a text like '[1920, 1080]'"
            ) from error
    if isinstance(value, (str, Mapping)) or not isinstance(value, Sequence) or len(value) != 2:
        raise ValueError(f"{value!r} is no size; expected [width, height]")
    width, height = value
    for side in (width, height):
        if isinstance(side, bool) or not isinstance(side, (int, float)):
            raise TypeError(f"a size has two numbers, not {side!r} in {value!r}")
    return int(width), int(height)


def known_size(meta: Mapping[str, Any], key: str) -> WH | None:
    """`meta[key]` as a size; None where the key is absent or empty, as sizes are until known.

    Raises:
        ValueError, TypeError: as `read_size`.
    """
    value = meta.get(key)
    if value is None or value in ("", "None"):
        return None
    return read_size(value)


def seen_wh(image_grid_thw: Any, patch_size: int) -> WH:
    """Width and height in pixels of the first picture as the vision tower worked on it.

    Args:
        image_grid_thw: shape (pictures, 3), a tensor or nested lists: time, height and width in
            patches for each picture, as the processors of the Qwen-VL family return it.
        patch_size: side of a patch in pixels (Qwen2-VL and Qwen2.5-VL 14, Qwen3-VL 16).

    Raises:
        ValueError: there is no picture, or the grid describes a video (time > 1).

    Source: Qwen2-VL technical report (arXiv:2409.12191), section 2.1.
    """
    if len(image_grid_thw) == 0:
        raise ValueError("the grid holds no picture")
    time, height, width = (int(count) for count in image_grid_thw[0])
    if time != 1:
        raise ValueError(f"a picture has one time step, this grid has {time}: a video?")
    return width * patch_size, height * patch_size


def model_grid_wh(
    meta: Mapping[str, Any],
    *,
    factor: int = QWEN_FACTOR,
    min_pixels: int = UITARS_MIN_PIXELS,
    max_pixels: int = UITARS_MAX_PIXELS,
) -> WH:
    """The pixel grid in which a Qwen-VL style model counts absolute coordinates.

    What the model is known to have seen (`seen_size`) if that was recorded; else what follows from
    the picture that was sent (`sent_size`, else `image_size`) and the area limits.

    Args:
        meta: the fields that a parse function gets; sizes as text or lists. `min_pixels` and
            `max_pixels` in it win over the arguments.
        factor: multiple that the model resizes to, in pixels.
        min_pixels: least area in pixels, where `meta` has none.
        max_pixels: greatest area in pixels, where `meta` has none.

    Raises:
        KeyError: `meta` has no size at all.
        ValueError, TypeError, ZeroDivisionError: the size is not one that can be resized.
    """
    if (seen := known_size(meta, "seen_size")) is not None:
        return seen
    width, height = known_size(meta, "sent_size") or read_size(meta["image_size"])
    least, most = meta.get("min_pixels"), meta.get("max_pixels")
    grid_h, grid_w = smart_resize(
        height,
        width,
        factor,
        int(least) if least not in (None, "", "None") else min_pixels,
        int(most) if most not in (None, "", "None") else max_pixels,
    )
    return grid_w, grid_h


def px_to_frac(point_px: Point, picture_wh: WH) -> Point:
    """Pixels of a picture → fractions of it; not clipped, a point outside stays outside."""
    return point_px[0] / picture_wh[0], point_px[1] / picture_wh[1]


def frac_to_px(point_frac: Point, picture_wh: WH) -> Point:
    """Fractions of a picture → pixels of it; not rounded."""
    return point_frac[0] * picture_wh[0], point_frac[1] * picture_wh[1]


def between_frames(point_px: Point, from_wh: WH, to_wh: WH) -> Point:
    """Pixels of one rendering of a picture → pixels of another, e.g. grid seen → image file."""
    return frac_to_px(px_to_frac(point_px, from_wh), to_wh)


def thumbnail_wh(picture_wh: WH, side: int) -> WH:
    """The size that Pillow's `thumbnail((side, side))` gives, without decoding the picture.

    Args:
        picture_wh: of the picture, in pixels.
        side: of the square to fit, in pixels; -1 and 0 mean that nothing is shrunk.
    """
    width, height = picture_wh
    if side <= 0 or max(width, height) <= side:
        return picture_wh
    aspect = width / height

    def nearest(exact: float, error: Any) -> int:
        return max(min(math.floor(exact), math.ceil(exact), key=error), 1)

    # Of the two neighbouring sizes Pillow takes the one whose aspect ratio is nearer.
    if aspect <= 1:
        return nearest(side * aspect, lambda wide: abs(aspect - wide / side)), side
    return side, nearest(side / aspect, lambda high: abs(aspect - side / high) if high else 0)
