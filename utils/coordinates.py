"""Frames of points and sizes: the image as a file, as sent, and as a grid that a model saw.

There is a parse function for every frame; a config names it in `parse_function`. These functions
read the numbers of a reply by `utils.reply_numbers`. Pure arithmetic, no torch.

The name of a point or size says its frame: `_px` are pixels of some image, `_frac` fractions of its
width and height (0..1). `_wh` is (width, height), `_hw` is (height, width). The Qwen-VL code writes
sizes as (height, width).
"""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from utils.contracts import WH, ParseFunction, Point
from utils.reply_numbers import numbers_of_reply as numbers_of_reply
from utils.reply_numbers import parse_numbers

QWEN_FACTOR = 28  # two patches of 14 px, merged (Qwen2-VL, Qwen2.5-VL; Qwen3-VL has 32)
QWEN_PIXELS = (4 * QWEN_FACTOR**2, 1280 * QWEN_FACTOR**2)  # what processor and hosts begin with
UITARS_MIN_PIXELS = 100 * QWEN_FACTOR**2
UITARS_MAX_PIXELS = 16384 * QWEN_FACTOR**2
MAX_ASPECT_RATIO = 200
PIXEL_LIMITS = ("min_pixels", "max_pixels")  # `kwargs`: areas within which images are resized
UNKNOWN = (None, "", "None")


def smart_resize(
    height: int,
    width: int,
    factor: int = QWEN_FACTOR,
    min_pixels: int = UITARS_MIN_PIXELS,
    max_pixels: int = UITARS_MAX_PIXELS,
) -> tuple[int, int]:
    """Return the size to which Qwen-VL models resize an image: multiples of `factor`, limited area.

    parity: sides are rounded half to even (4.5 units become 4), as Python's `round` does it.

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
            f"an image of {width}x{height} pixels has an aspect ratio of {ratio:.0f}; the model "
            f"takes at most {MAX_ASPECT_RATIO}"
        )
    units_high = max(1, round(height / factor))
    units_wide = max(1, round(width / factor))
    area_px = units_high * units_wide * factor**2
    if area_px > max_pixels:
        shrink_by = math.sqrt(height * width / max_pixels)
        # A very long image under a very small limit keeps one unit, over the limit by that much.
        units_high = max(1, math.floor(height / shrink_by / factor))
        units_wide = max(1, math.floor(width / shrink_by / factor))
    elif area_px < min_pixels:
        grow_by = math.sqrt(min_pixels / (height * width))
        units_high = math.ceil(height * grow_by / factor)
        units_wide = math.ceil(width * grow_by / factor)
    return units_high * factor, units_wide * factor


def read_size(value: Any) -> WH:
    """Return width and height from a pair, `[2560, 1440]`, or from its text, "[2560, 1440]".

    Raises:
        ValueError: it is no pair of numbers.
    """
    try:
        width, height = ast.literal_eval(value.strip()) if isinstance(value, str) else value
        return int(width + 0), int(height + 0)  # parity: texts of digits are no numbers
    except (SyntaxError, TypeError, ValueError):
        raise ValueError(f"{value!r} is not a size; expected [width, height] or its text") from None


def _recorded_size(meta: Mapping[str, Any], key: str) -> WH | None:
    return None if meta.get(key) in UNKNOWN else read_size(meta[key])


def seen_wh(image_grid_thw: Any, patch_size: int) -> WH:
    """Return width and height in pixels of the first image as the vision tower worked on it.

    Args:
        image_grid_thw: shape (images, 3), a tensor or nested lists: time, height and width in
            patches for each image, as the processors of the Qwen-VL family return it.
        patch_size: side of a patch in pixels (Qwen2-VL and Qwen2.5-VL 14, Qwen3-VL 16).

    Raises:
        ValueError: the grid describes a video (time > 1).
    """
    time, height, width = (int(count) for count in image_grid_thw[0])
    if time != 1:
        raise ValueError(f"an image has one time step, this grid has {time}: a video?")
    return width * patch_size, height * patch_size


def model_grid_wh(
    meta: Mapping[str, Any],
    *,
    factor: int = QWEN_FACTOR,
    min_pixels: int = UITARS_MIN_PIXELS,
    max_pixels: int = UITARS_MAX_PIXELS,
) -> WH:
    """Return the pixel grid in which a Qwen-VL style model counts absolute coordinates.

    This is the recorded size that the model saw (`seen_size`). Without a record, the grid follows
    from the size of the sent image (`sent_size`, else `image_size`) and the area limits.

    Args:
        meta: the fields that a parse function gets; sizes as text or lists. `min_pixels` and
            `max_pixels` in it win over the arguments.
        factor: divides both sides of the grid.
        min_pixels: smallest area of the grid.
        max_pixels: largest area of the grid.
    """
    grid_wh = _recorded_size(meta, "seen_size")
    if grid_wh is not None:
        return grid_wh
    width, height = _recorded_size(meta, "sent_size") or read_size(meta["image_size"])
    limits = {"min_pixels": min_pixels, "max_pixels": max_pixels}
    for key in PIXEL_LIMITS:
        if meta.get(key) not in UNKNOWN:
            limits[key] = int(meta[key])
    grid_h, grid_w = smart_resize(height, width, factor, **limits)
    return grid_w, grid_h


def known_grid_wh(meta: Mapping[str, Any]) -> WH | None:
    """Return `model_grid_wh`, or None if neither a record nor the config gives it."""
    if all(meta.get(key) in UNKNOWN for key in ("seen_size", *PIXEL_LIMITS)):
        return None
    try:
        return model_grid_wh(meta)
    except (KeyError, ValueError, TypeError, ZeroDivisionError):  # no grid of this kind exists
        return None


def format_size(size: Sequence[int] | None) -> str:
    """Return a size for people: `1920x1080`, or `unknown`."""
    return f"{size[0]}x{size[1]}" if size else "unknown"


def point_as_fractions(point: Point, file_wh: WH) -> Point:
    """Return a predicted point in fractions of the image.

    A coordinate above 1 declares pixels of the image file for both; else both are fractions.
    """
    x, y = point
    return (x / file_wh[0], y / file_wh[1]) if x > 1 or y > 1 else (x, y)


def px_to_frac(point_px: Point, image_wh: WH) -> Point:
    """Convert pixels of an image to fractions of it; a point outside stays outside."""
    return point_px[0] / image_wh[0], point_px[1] / image_wh[1]


def frac_to_px(point_frac: Point, image_wh: WH) -> Point:
    """Convert fractions of an image to pixels of it, not rounded."""
    return point_frac[0] * image_wh[0], point_frac[1] * image_wh[1]


def thumbnail_wh(image_wh: WH, side: int) -> WH:
    """Return the size that Pillow's `thumbnail((side, side))` gives; -1 and 0 shrink nothing."""
    width, height = image_wh
    if side <= 0 or max(width, height) <= side:
        return image_wh
    aspect = width / height

    def nearest(exact: float, error: Any) -> int:
        return max(min(math.floor(exact), math.ceil(exact), key=error), 1)

    # Of the two neighbouring sizes Pillow takes the one whose aspect ratio is nearer.
    if aspect <= 1:
        return nearest(side * aspect, lambda wide: abs(aspect - wide / side)), side
    return side, nearest(side / aspect, lambda high: abs(aspect - side / high) if high else 0)


# -- parse functions to be named in a config ------------------------------------------------------


class Frame(StrEnum):
    """The unit of a model's numbers; the value is the end of the parse function's name."""

    FRACTIONS = "fractions"
    PIXELS = "pixels"  # of the image file
    PIXELS_SENT = "pixels_sent"  # of the image as it went out, after `img_size`
    GRID_PIXELS = "grid_pixels"  # of the image as the model resized it
    MILLION_PIXELS = "million_pixels"  # of the image as Qwen's servers resize it unless told else
    PER_MILLE = "per_mille"
    PER_CENT = "per_cent"
    WIDTH_1000 = "width_1000"  # pixels of the image resized to a width of 1000
    LONGEST_1024 = "longest_1024"  # pixels of the image resized to a longest side of 1024
    LETTERBOXED = "letterboxed"  # per mille, or fractions, of a square with the image in its middle


FULL_SCALE = {Frame.FRACTIONS: 1, Frame.PER_MILLE: 1000, Frame.PER_CENT: 100}
"""What the right and lower edges count as, in the frames that do not depend on the image."""
OF_THE_IMAGE_SENT = (Frame.PIXELS_SENT, Frame.MILLION_PIXELS)  # by its size, not by the file's


def parse_function_name(frame: Frame, *, y_first: bool = False) -> str:
    """Return the dotted path of the parse function for a frame, as a config names it."""
    order = "yx_" if y_first else ""
    return f"{__name__}.parse_{order}{frame}"


def place_in_frame(frame: Frame, image_wh: WH) -> tuple[float, float, float, float]:
    """Return the place of an image in the numbers of a frame: left, top, width, height.

    Args:
        frame: unit of the numbers.
        image_wh: size of the file, of the image sent (`OF_THE_IMAGE_SENT`) or of the grid that the
            model saw (`GRID_PIXELS`).
    """
    width, height = image_wh
    longest = max(width, height)
    if frame in FULL_SCALE:
        return 0, 0, FULL_SCALE[frame], FULL_SCALE[frame]
    if frame is Frame.MILLION_PIXELS and longest <= MAX_ASPECT_RATIO * min(width, height):
        grid_h, grid_w = smart_resize(height, width, QWEN_FACTOR, *QWEN_PIXELS)
        return 0, 0, grid_w, grid_h
    if frame is Frame.LETTERBOXED:
        square_wh = 1000 * width / longest, 1000 * height / longest
        return (1000 - square_wh[0]) / 2, (1000 - square_wh[1]) / 2, *square_wh
    scale = 1.0
    if frame is Frame.WIDTH_1000:
        scale = 1000 / width
    elif frame is Frame.LONGEST_1024:
        scale = 1024 / longest
    return 0, 0, width * scale, height * scale


def in_frame(frame: Frame, point: Point, meta: Mapping[str, Any]) -> Point:
    """Convert a point in the numbers of a frame to fractions of the image.

    A point beyond the right or lower edge is returned in pixels of the image file: the score reads
    every coordinate above 1 as pixels.
    """
    x, y = point
    if frame is Frame.PIXELS and max(x, y) > 1:  # the score divides by the file's true size
        return x, y
    if frame is Frame.LETTERBOXED and max(x, y) <= 1:
        x, y = 1000 * x, 1000 * y
    left_edge, top_edge, width, height = place_in_frame(frame, _image_wh_for(frame, meta))
    point_frac = (x - left_edge) / width, (y - top_edge) / height
    if max(point_frac) <= 1 or frame is Frame.PIXELS:
        return point_frac
    return frac_to_px(point_frac, _file_wh(meta))


def _image_wh_for(frame: Frame, meta: Mapping[str, Any]) -> WH:
    if frame in FULL_SCALE:
        return 1, 1
    if frame is Frame.GRID_PIXELS:
        return model_grid_wh(meta)
    sent_wh = _recorded_size(meta, "sent_size")
    if sent_wh is not None and frame in OF_THE_IMAGE_SENT:
        return sent_wh
    return _file_wh(meta)


def _file_wh(meta: Mapping[str, Any]) -> WH:
    """Return the size of the image file, or what the data set says of it."""
    return _recorded_size(meta, "file_size") or read_size(meta["image_size"])


def frame_parser(frame: Frame, *, y_first: bool = False) -> ParseFunction:
    """Return a parse function for models that answer in `frame`; it takes the centre of a box.

    Args:
        frame: unit of the numbers.
        y_first: y stands before x, where the reply does not name them.
    """

    def parse(response: str, meta: Mapping[str, Any]) -> Point | None:
        parsed = parse_numbers(response)
        if parsed is None:
            return None
        numbers = parsed.values
        x, y = numbers[:2]
        if len(numbers) == 4:
            x, y = (x + numbers[2]) / 2, (y + numbers[3]) / 2
        if y_first and not parsed.have_names:
            x, y = y, x
        return in_frame(frame, (x, y), meta)

    parse.__name__ = parse_function_name(frame, y_first=y_first).rpartition(".")[2]
    parse.__qualname__ = parse.__name__
    parse.__doc__ = f"Return the point of a reply in {frame}."
    return parse


parse_fractions = frame_parser(Frame.FRACTIONS)
parse_pixels = frame_parser(Frame.PIXELS)
parse_pixels_sent = frame_parser(Frame.PIXELS_SENT)
parse_grid_pixels = frame_parser(Frame.GRID_PIXELS)
parse_million_pixels = frame_parser(Frame.MILLION_PIXELS)
parse_per_mille = frame_parser(Frame.PER_MILLE)
parse_per_cent = frame_parser(Frame.PER_CENT)
parse_width_1000 = frame_parser(Frame.WIDTH_1000)
parse_longest_1024 = frame_parser(Frame.LONGEST_1024)
parse_letterboxed = frame_parser(Frame.LETTERBOXED)

# For models that say y before x.
parse_yx_fractions = frame_parser(Frame.FRACTIONS, y_first=True)
parse_yx_pixels = frame_parser(Frame.PIXELS, y_first=True)
parse_yx_pixels_sent = frame_parser(Frame.PIXELS_SENT, y_first=True)
parse_yx_grid_pixels = frame_parser(Frame.GRID_PIXELS, y_first=True)
parse_yx_million_pixels = frame_parser(Frame.MILLION_PIXELS, y_first=True)
parse_yx_per_mille = frame_parser(Frame.PER_MILLE, y_first=True)
parse_yx_per_cent = frame_parser(Frame.PER_CENT, y_first=True)
parse_yx_width_1000 = frame_parser(Frame.WIDTH_1000, y_first=True)
parse_yx_longest_1024 = frame_parser(Frame.LONGEST_1024, y_first=True)
parse_yx_letterboxed = frame_parser(Frame.LETTERBOXED, y_first=True)
