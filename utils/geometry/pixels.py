"""Pixels wider than 8 bits, and room for decoded images."""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from PIL.Image import Image

WIDE_MODES = ("I;16", "I;16L", "I;16B", "I;16N", "I", "F")
"""Pillow's names of modes that it cuts at 255 when it makes another one of them."""
DECODED_BYTES = 512 * 1024**2
BLOCK_BYTES = 64 * 1024**2


def in_8_bits(image: Image) -> Image:
    """An image with at most 8 bits for each channel; wider values are scaled, not cut.

    16 bits are divided by 257. Where a mode does not say how far its values go, the values do: up
    to 1 (numbers with a fraction), 255 or 65,535; else they are stretched from their least to their
    greatest one.
    """
    if image.mode not in WIDE_MODES:
        return image
    import numpy as np
    from PIL import Image as images

    values = np.nan_to_num(np.asarray(image).astype(np.float64))
    least, greatest = (float(values.min()), float(values.max())) if values.size else (0.0, 0.0)
    start = 0.0
    if image.mode not in ("I", "F") or (least >= 0 and 255 < greatest <= 65535):
        factor = 1 / 257
    elif least >= 0 and greatest <= 1 and image.mode == "F":
        factor = 255.0
    elif least >= 0 and greatest <= 255:
        factor = 1.0
    else:
        start = least
        factor = 255 / (greatest - least) if greatest > least else 0.0
    narrow = images.fromarray(np.rint((values - start) * factor).astype(np.uint8), "L")
    transparent: Any = image.info.get("transparency")
    if isinstance(transparent, int):  # the value that is
        narrow.putalpha(images.fromarray(np.where(values == transparent, 0, 255).astype(np.uint8)))
    return narrow


class MemoryRoom:
    """Room in memory: who finds none waits; whoever needs more than there is comes alone."""

    def __init__(self, nbytes: int) -> None:
        self._nbytes = nbytes
        self._taken = 0
        self._changed = threading.Condition()

    @contextmanager
    def taken(self, nbytes: int) -> Iterator[None]:
        """Take room for a block of code."""
        with self._changed:
            self._changed.wait_for(lambda: not self._taken or self._taken + nbytes <= self._nbytes)
            self._taken += nbytes
        try:
            yield
        finally:
            with self._changed:
                self._taken -= nbytes
                self._changed.notify_all()


@functools.cache
def take_large_blocks() -> None:
    """Let Pillow keep pixels in blocks that go back to the system when they are freed.

    Blocks of 16 MB, its own size, stay with the thread that has freed them: the C library expects
    another of that size. Sixteen threads held 2 GB in this way.
    """
    from PIL import Image as images

    core: Any = vars(images)["core"]
    core.set_block_size(BLOCK_BYTES)


ROOM = MemoryRoom(DECODED_BYTES)
"""For all images that this process decodes, however many requests are in flight."""
