"""Make and read pictures: a few shapes that a seed draws, and pixels to compare."""

from __future__ import annotations

import hashlib
import io
import random
from collections.abc import Mapping
from typing import Any

FORMATS = {"jpg": "JPEG", "jpeg": "JPEG", "tif": "TIFF"}
SHAPES = 40
COARSE = 3  # fields in each direction, of which a picture's mean colours are kept


def write_picture(picture: Mapping[str, Any], path: str) -> bytes:
    """Return a picture of coloured shapes; no two of its edges or corners are alike.

    Args:
        picture: its "seed" and "size" (width, height), perhaps the "mode" of Pillow, and a "frame"
            of white that is so wide.
        path: whose ending says the format.
    """
    from PIL import Image, ImageDraw, ImageOps

    rng = random.Random(f"picture {picture['seed']}")
    width, height = picture["size"]
    image = Image.new("RGB", (width, height), (236, 236, 226))
    draw = ImageDraw.Draw(image)
    for _ in range(SHAPES):
        x, y = rng.randrange(width), rng.randrange(height)
        colour = tuple(rng.randrange(256) for _ in range(3))
        box = (x, y, x + rng.randrange(10, width // 4), y + rng.randrange(10, height // 4))
        rng.choice((draw.rectangle, draw.ellipse))(box, fill=colour)
    if "frame" in picture:
        image = ImageOps.expand(image, picture["frame"], "white")
    image = image.convert(picture.get("mode", "RGB"))
    file = io.BytesIO()
    ending = path.rpartition(".")[2].lower()
    image.save(file, FORMATS.get(ending, ending.upper()))
    return file.getvalue()


def open_picture(content: bytes) -> Any:
    """Return a picture as Pillow has it."""
    from PIL import Image

    image = Image.open(io.BytesIO(content))
    image.load()
    return image


def read_picture(content: bytes) -> dict[str, Any]:
    """Return format, size and mode of a picture, and a hash of what it shows."""
    image = open_picture(content)
    return {
        "format": image.format,
        "size": list(image.size),
        "mode": "L" if image.mode in ("L", "LA", "1") else "RGB",
        "pixels": pixel_hash(image),
        "colours": mean_colours(image),
    }


def pixel_hash(image: Any) -> str:
    """Return a hash of the pixels, whatever the mode that they are saved in."""
    return hashlib.blake2b(image.convert("RGBA").tobytes(), digest_size=8).hexdigest()


def mean_colours(image: Any) -> list[int]:
    """Return red, green and blue (0 to 255) of the fields of a coarse grid, row by row."""
    from PIL import Image

    small = image.convert("RGB").resize((COARSE, COARSE), Image.Resampling.BOX)
    return [*small.tobytes()]


def grey_picture(image: Any) -> Any:
    """Return a picture in greys of the same light: the luminance of sRGB (IEC 61966-2-1)."""
    import numpy as np
    from PIL import Image

    shares = np.asarray(image.convert("RGB")) / 255
    linear = np.where(shares <= 0.04045, shares / 12.92, ((shares + 0.055) / 1.055) ** 2.4)
    light = linear @ np.array([0.2126, 0.7152, 0.0722])
    greys = np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** (1 / 2.4) - 0.055)
    return Image.fromarray((greys * 255).round().astype(np.uint8))
