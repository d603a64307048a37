"""Frames of points and sizes: the picture as a file, as sent, and as a grid that a model saw.

At the end stand parse functions for every frame, to be named in a config's `parse_function`.
Pure arithmetic, no torch. A point or size says its frame in its name: `_px` are pixels of some
picture, `_frac` fractions of its width and height (0..1); `_wh` is (width, height), `_hw` is
(height, width), the order in which the Qwen-VL code base writes sizes.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any

from utils.contracts import WH, Point
from utils.reply_numbers import Numbers, numbers_of_reply

QWEN_FACTOR = 28
"""Two patches of 14 px, which the model merges (Qwen2-VL, Qwen2.5-VL; Qwen3-VL has 32)."""

UITARS_MIN_PIXELS = 100 * QWEN_FACTOR**2
UITARS_MAX_PIXELS = 16384 * QWEN_FACTOR**2
MAX_ASPECT_RATIO = 200
PIXEL_LIMITS = ("min_pixels", "max_pixels")
"""Keys of `kwargs`: areas in pixels within which a model's pictures are resized."""
GRID_SOURCES = ("seen_size", *PIXEL_LIMITS)


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


def known_grid_wh(meta: Mapping[str, Any]) -> WH | None:
    """`model_grid_wh`, but None where nothing recorded or configured says what it is.

    Args:
        meta: as for `model_grid_wh`; a grid is worked out if one of the limits is there.
    """
    is_told = any(meta.get(key) not in (None, "", "None") for key in GRID_SOURCES)
    try:
        return model_grid_wh(meta) if is_told else None
    except (KeyError, ValueError, TypeError, ZeroDivisionError):  # no grid of this kind exists
        return None


def shown_wh(size: Sequence[int] | None) -> str:
    """A size for people: `1920x1080`, or that it is not known."""
    return f"{size[0]}x{size[1]}" if size else "unknown"


def px_to_frac(point_px: Point, picture_wh: WH) -> Point:
    """Pixels of a picture → fractions of it; not clipped, a point outside stays outside."""
    return point_px[0] / picture_wh[0], point_px[1] / picture_wh[1]


def frac_to_px(point_frac: Point, picture_wh: WH) -> Point:
    """Fractions of a picture → pixels of it; not rounded."""
    return point_frac[0] * picture_wh[0], point_frac[1] * picture_wh[1]


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


# -- parse functions to be named in a config ----------------------------------------------------


class Frame(StrEnum):
    """What a model's numbers count; the value is the end of the parse function's name."""

    FRACTIONS = "fractions"
    PIXELS = "pixels"  # of the image file
    PIXELS_SENT = "pixels_sent"  # of the picture as it went out, after `img_size`
    GRID_PIXELS = "grid_pixels"  # of the picture as the model resized it
    PER_MILLE = "per_mille"
    PER_CENT = "per_cent"


FULL_SCALE = {Frame.FRACTIONS: 1, Frame.PER_MILLE: 1000, Frame.PER_CENT: 100}
"""What the right and lower edges count as, in the frames that do not depend on the picture."""

ParseFunction = Callable[[str, Mapping[str, Any]], "Point | None"]


def parse_function_name(frame: Frame, *, y_first: bool = False, corner: bool = False) -> str:
    """The dotted path of the parse function for a frame, as a config names it."""
    return f"{__name__}.parse_{'corner_' * corner}{'yx_' * y_first}{frame}"


def pair_of(numbers: Numbers, *, y_first: bool = False, corner: bool = False) -> Point:
    """x and y out of two or four numbers, still in the frame of the reply.

    Args:
        numbers: of a point, or of a box: two opposite corners.
        y_first: y stands before x.
        corner: of a box its first corner, as the protocol's own parser has it; else its centre.
    """
    if len(numbers) == 4 and not corner:
        pair = (numbers[0] + numbers[2]) / 2, (numbers[1] + numbers[3]) / 2
    else:
        pair = numbers[0], numbers[1]
    return (pair[1], pair[0]) if y_first else pair


def frame_wh(frame: Frame, meta: Mapping[str, Any]) -> WH:
    """What the right and lower edges of the picture count as in a frame.

    Raises:
        KeyError, ValueError, TypeError: a size is needed and missing, or is none.
    """
    if frame in FULL_SCALE:
        return FULL_SCALE[frame], FULL_SCALE[frame]
    if frame is Frame.GRID_PIXELS:
        return model_grid_wh(meta)
    sent = known_size(meta, "sent_size") if frame is Frame.PIXELS_SENT else None
    return sent or read_size(meta["image_size"])


def frame_parser(frame: Frame, *, y_first: bool = False, corner: bool = False) -> ParseFunction:
    """A parse function for models that answer in `frame`.

    It returns fractions of the picture; a point beyond the right or lower edge comes in pixels of
    the image file, because the score takes every coordinate above 1 for pixels.
    """

    def parse(response: str, meta: Mapping[str, Any]) -> Point | None:
        numbers = numbers_of_reply(response)
        if numbers is None:
            return None
        x, y = pair_of(numbers, y_first=y_first, corner=corner)
        if frame is Frame.PIXELS and max(x, y) > 1:  # the score divides by the file's true size
            return x, y
        point_frac = px_to_frac((x, y), frame_wh(frame, meta))
        if max(point_frac) <= 1 or frame is Frame.PIXELS:
            return point_frac
        return frac_to_px(point_frac, read_size(meta["image_size"]))

    parse.__qualname__ = parse.__name__ = parse_function_name(
        frame, y_first=y_first, corner=corner
    ).rpartition(".")[2]
    order, place = (
        ("y before x" if y_first else "x before y"),
        "first corner" if corner else "centre",
    )
    parse.__doc__ = f"The point of a reply in {frame}, {order}; of a box its {place}."
    return parse


parse_fractions = frame_parser(Frame.FRACTIONS)
parse_pixels = frame_parser(Frame.PIXELS)
parse_pixels_sent = frame_parser(Frame.PIXELS_SENT)
parse_grid_pixels = frame_parser(Frame.GRID_PIXELS)
parse_per_mille = frame_parser(Frame.PER_MILLE)
parse_per_cent = frame_parser(Frame.PER_CENT)

parse_yx_fractions = frame_parser(Frame.FRACTIONS, y_first=True)
parse_yx_pixels = frame_parser(Frame.PIXELS, y_first=True)
parse_yx_pixels_sent = frame_parser(Frame.PIXELS_SENT, y_first=True)
parse_yx_grid_pixels = frame_parser(Frame.GRID_PIXELS, y_first=True)
parse_yx_per_mille = frame_parser(Frame.PER_MILLE, y_first=True)
parse_yx_per_cent = frame_parser(Frame.PER_CENT, y_first=True)

parse_corner_fractions = frame_parser(Frame.FRACTIONS, corner=True)
parse_corner_pixels = frame_parser(Frame.PIXELS, corner=True)
parse_corner_pixels_sent = frame_parser(Frame.PIXELS_SENT, corner=True)
parse_corner_grid_pixels = frame_parser(Frame.GRID_PIXELS, corner=True)
parse_corner_per_mille = frame_parser(Frame.PER_MILLE, corner=True)
parse_corner_per_cent = frame_parser(Frame.PER_CENT, corner=True)

parse_corner_yx_fractions = frame_parser(Frame.FRACTIONS, y_first=True, corner=True)
parse_corner_yx_pixels = frame_parser(Frame.PIXELS, y_first=True, corner=True)
parse_corner_yx_pixels_sent = frame_parser(Frame.PIXELS_SENT, y_first=True, corner=True)
parse_corner_yx_grid_pixels = frame_parser(Frame.GRID_PIXELS, y_first=True, corner=True)
parse_corner_yx_per_mille = frame_parser(Frame.PER_MILLE, y_first=True, corner=True)
parse_corner_yx_per_cent = frame_parser(Frame.PER_CENT, y_first=True, corner=True)
