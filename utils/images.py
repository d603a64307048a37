"""Image files: where they lie, their size and content hash, and the bytes that go to a model.

Headers and hashes are remembered while a file stays as it is: an image that carries four samples is
read once. The environment is read at each call: `LMUData` names the data root, `IMAGE_ROOT_DIR`
moves the images alone.
"""

from __future__ import annotations

import io
import os
import struct
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from cachetools import LRUCache, cached

from utils.contracts import WH

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

T = TypeVar("T")
PNG_MODES = ("1", "L", "LA", "I", "I;16", "I;16B", "P", "RGB", "RGBA")
ENDS = {"PNG": b"IEND\xaeB`\x82", "JPEG": b"\xff\xd9", "GIF": b";"}
"""The last bytes of a whole file, by Pillow's name of the format."""


def at_home(path: str | Path) -> Path:
    """A path with `~` and `~user` as the folders they stand for; as it is without such a user."""
    return Path(os.path.expanduser(path))  # noqa: PTH111 (Path's own raises a RuntimeError)


def data_root() -> Path:
    """The folder that holds `MMBench-GUI/`."""
    return at_home(os.environ.get("LMUData") or "~/LMUData")  # noqa: SIM112


def image_root() -> Path:
    """The folder that holds `os_windows/`, `os_mac/`, ...; `IMAGE_ROOT_DIR` only if it exists."""
    moved = os.environ.get("IMAGE_ROOT_DIR")
    if moved and at_home(moved).is_dir():
        return at_home(moved)
    return data_root() / "MMBench-GUI" / "offline_images"


def image_path_of(line: Mapping[str, Any]) -> str:
    """Full path of a line's image, as an image message needs it; an absolute one stays."""
    return str(image_root() / line["image_path"])


@dataclass(frozen=True, slots=True)
class Header:
    """What the first bytes of an image file tell."""

    wh: WH  # width and height in pixels, as stored (an EXIF rotation is not applied)
    format: str  # Pillow's name: "PNG", "JPEG", ...
    mime: str  # by content, not by file name


def remembered(
    most: int, weigh: Callable[[Any], int] | None = None
) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """For a function of a file: its values are kept while the file is the same.

    Neighbouring samples share images: threads that ask for the same value wait for the first.

    Args:
        most: sum of weights to keep; the values not used for longest go first.
        weigh: weight of a value, 1 by default.
    """

    def state(path: Path, *rest: Any) -> tuple[Any, ...]:
        # A copy with size and times of another file has a newer change time.
        now = path.stat()
        return path, now.st_dev, now.st_ino, now.st_size, now.st_mtime_ns, now.st_ctime_ns, *rest

    return cached(LRUCache(most, weigh), key=state, condition=threading.Condition())


@remembered(20_000)
def read_header(path: Path) -> Header:
    """What a file's header says, decoded only where its end is missing; `OSError`: no image."""
    with opened(path) as picture:
        kind = picture.format or ""
        mime = "image/jpeg" if kind == "MPO" else f"image/{kind.lower()}"
        if not _ends_whole(path, kind):
            picture.load()  # raises if something is missing; bytes behind the end do no harm
        return Header(picture.size, kind, mime)


@remembered(20_000)
def content_digest(path: Path) -> str:
    """Hash of a file's bytes."""
    return bytes_digest(path.read_bytes())


def image_digest(path: Path) -> str:
    """Return 16 hex digits that stand for a file's content: enough to see that it was replaced."""
    return content_digest(path).removeprefix("blake3:")[:16]


def bytes_digest(data: bytes) -> str:
    """BLAKE3 of some bytes, as hex digits.

    A run hashes every image it sends. SHA-256 may cost more than sending it; this a twentieth.
    """
    from blake3 import blake3

    return f"blake3:{blake3(data).hexdigest()}"


@contextmanager
def opened(path: Path) -> Iterator[Picture]:
    """An image file for a block that may decode it; an `OSError`, whatever is wrong with it."""
    from PIL import Image

    try:
        with Image.open(path) as picture:
            yield picture
    except (SyntaxError, ValueError, EOFError, struct.error, Image.DecompressionBombError) as error:
        raise OSError(f"not a readable image: {error}") from error


def _ends_whole(path: Path, file_format: str) -> bool:
    """Whether the file ends as its format does: cheap, and a download that broke off does not."""
    end = ENDS.get(file_format, b"")
    with path.open("rb") as file:
        file.seek(-min(len(end), path.stat().st_size), os.SEEK_END)
        return file.read() == end


def shrink(picture: Picture, img_size: int) -> Picture:
    """A copy that fits a square of `img_size` pixels; the image itself if it does already."""
    if img_size <= 0 or max(picture.size) <= img_size:
        return picture
    copy = picture.copy()
    copy.thumbnail((img_size, img_size))
    return copy


def encode(picture: Picture, image_format: str, **options: Any) -> bytes:
    """The image as a file in memory; what PNG cannot hold (a JPEG's CMYK) becomes RGB.

    An `OSError` where another format cannot hold the mode (I;16 as JPEG, say).
    """
    if image_format == "PNG" and picture.mode not in PNG_MODES:
        picture = picture.convert("RGB")
    buffer = io.BytesIO()
    picture.save(buffer, format=image_format, **options)
    return buffer.getvalue()
