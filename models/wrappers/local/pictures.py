"""Pictures of local models: which file, how large it is sent, within which limits it is resized."""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from utils.contracts import Message
from utils.coordinates import thumbnail_wh
from utils.images import content_digest, encode, opened, read_header, shrink

_PNG_MODES = ("1", "L", "LA", "P", "RGB", "RGBA")


def local_file(value: str) -> Path | None:
    """The file that an image message names; None for a URL or picture data in the message."""
    if value.startswith(("http://", "https://", "data:")):
        return None
    return Path(value.removeprefix("file://"))


class ShrunkPictures:
    """Replaces the pictures of messages by copies that fit a square; usable from many threads.

    The copies are files, because preprocess functions take paths; PNG, so that nothing else about
    the pixels changes. They are made once per picture and go with `close`.

    Args:
        img_size: side of the square in pixels; -1 or 0 leaves everything as it is.
    """

    def __init__(self, img_size: int) -> None:
        self._img_size = img_size
        self._lock = threading.Lock()
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def apply(self, messages: list[Message]) -> None:
        """Changes the image values of `messages` in place.

        Raises:
            OSError: a picture cannot be read.
        """
        if self._img_size <= 0:
            return
        for message in messages:
            if message["type"] == "image" and (file := local_file(message["value"])) is not None:
                message["value"] = str(self._shrunk(file))

    def _shrunk(self, file: Path) -> Path:
        if thumbnail_wh(wh := read_header(file).wh, self._img_size) == wh:
            return file
        with self._lock:
            if self._folder is None:
                self._folder = tempfile.TemporaryDirectory(prefix="mmbench_gui_")
            folder = Path(self._folder.name)
        target = folder / f"{content_digest(file)}_{self._img_size}.png"
        if not target.exists():
            with opened(file) as picture:
                smaller = shrink(picture, self._img_size)
            if smaller.mode not in _PNG_MODES:
                smaller = smaller.convert("RGB")
            part = target.with_suffix(f".{threading.get_ident()}.part")
            part.write_bytes(encode(smaller, "PNG"))
            os.replace(part, target)  # noqa: PTH105 - atomic for a second thread
        return target

    def close(self) -> None:
        """Deletes the copies."""
        with self._lock:
            if self._folder is not None:
                self._folder.cleanup()
                self._folder = None


def resizes_by_area(image_processor: Any) -> bool:
    """Whether pictures become multiples of two patches within area limits, as Qwen-VL has it."""
    size = getattr(image_processor, "size", None)
    if size is None or getattr(image_processor, "merge_size", None) != 2:
        return False
    least, most = _edge(size, "shortest_edge"), _edge(size, "longest_edge")
    return isinstance(getattr(image_processor, "patch_size", None), int) and bool(least and most)


def pixel_limits(image_processor: Any, settings: Mapping[str, Any]) -> tuple[int, int]:
    """Least and greatest area in pixels: as configured, else as the checkpoint's processor has it.

    Without settings this is what a server does with the same checkpoint.
    """
    size = image_processor.size
    least = int(settings.get("min_pixels") or _edge(size, "shortest_edge"))
    most = int(settings.get("max_pixels") or _edge(size, "longest_edge"))
    if settings.get("max_pixels") and not settings.get("min_pixels"):
        least = min(least, most)
    elif settings.get("min_pixels") and not settings.get("max_pixels"):
        most = max(least, most)
    return least, most


def _edge(size: Any, name: str) -> Any:
    return size.get(name) if isinstance(size, Mapping) else getattr(size, name, None)
