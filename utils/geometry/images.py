"""Image files: where they lie, their size and content hash, and the bytes that go to a model.

Headers and hashes are remembered while a file stays as it is: an image that carries four samples is
read once. The environment is read at each call: `LMUData` names the data root, `IMAGE_ROOT_DIR`
moves the images alone.
"""

from __future__ import annotations

import io
import os
import re
import struct
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from cachetools import LRUCache, cached

from utils.contracts import WH
from utils.data_files import POINTER, is_pointer
from utils.geometry.orientation import as_stored, is_turned
from utils.geometry.pixels import ROOM, WIDE_MODES, in_8_bits, take_large_blocks

if TYPE_CHECKING:
    from PIL.Image import Image

T = TypeVar("T")
PNG_MODES = ("1", "L", "LA", "P", "RGB", "RGBA")
PALETTE_MODES = ("1", "P", "PA")
"""Pillow's names of modes that it shrinks by leaving pixels out."""
USUAL_FORMATS = ("PNG", "JPEG", "WEBP", "GIF")  # hosted servers refuse others, and animations
END_MARKS = {"PNG": b"IEND\xaeB`\x82", "JPEG": b"\xff\xd9", "GIF": b";"}
"""The last bytes of a whole file, by Pillow's name of the format."""


def expand_home(path: str | Path) -> Path:
    """Return a path with `~` and `~user` replaced by their folders, if there is such a user."""
    return Path(os.path.expanduser(path))  # noqa: PTH111 (Path's own raises a RuntimeError)


def data_root() -> Path:
    """Return the folder that holds `MMBench-GUI/`."""
    return expand_home(os.environ.get("LMUData") or "~/LMUData")  # noqa: SIM112


def image_root() -> Path:
    """Return the folder of `os_windows/`, `os_mac/`, ...: `IMAGE_ROOT_DIR` only if it exists."""
    folder = os.environ.get("IMAGE_ROOT_DIR")
    if folder and expand_home(folder).is_dir():
        return expand_home(folder)
    return data_root() / "MMBench-GUI" / "offline_images"


def find_image(root: Path | None, image: str) -> Path:
    """Return the file of an image of a samples file.

    Those of MMBench-GUI are relative to `root`, those of other tables to the data root.
    """
    path = (root or Path("/")) / image
    return path if path.is_file() else data_root() / image


def image_path_of(line: Mapping[str, Any]) -> str:
    """Return the full path of a line's image, as an image message needs it."""
    return str(image_root() / line["image_path"])


def is_url(value: object) -> bool:
    """Whether a text is an http(s) address: of a server, or of an image."""
    return isinstance(value, str) and value.lower().startswith(("http://", "https://"))


def image_file(value: str) -> Path | None:
    """Return the file that an image message names; None for a URL and for data in the message."""
    if is_url(value) or value.startswith("data:"):
        return None
    return Path(value.removeprefix("file://"))


@dataclass(frozen=True, slots=True)
class Header:
    """Size and format of an image file."""

    wh: WH  # width and height in pixels, as stored (an orientation tag is not obeyed)
    format: str  # Pillow's name: "PNG", "JPEG", ...
    mime: str  # by content, not by file name
    is_turned: bool  # an orientation tag says that it is to be turned or mirrored
    is_usual: bool  # of a format that every server takes, and no animation
    is_wide: bool  # has more than 8 bits for a channel that Pillow does not scale itself
    has_palette: bool  # has colours that Pillow does not mix when it shrinks the image


def cached_by_file(
    max_weight: int, weigh: Callable[[Any], int] | None = None
) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """Cache the values of a function whose first argument is a file, while the file is the same.

    Neighbouring samples share images: threads that ask for the same value wait for the first.

    Args:
        max_weight: sum of weights to keep; the values not used for longest go first.
        weigh: weight of a value, 1 by default.
    """

    def cache_key(path: Path, *rest: Any) -> tuple[Any, ...]:
        # A copy with size and times of another file has a newer change time.
        stat = path.stat()
        times = stat.st_mtime_ns, stat.st_ctime_ns
        return path, stat.st_dev, stat.st_ino, stat.st_size, *times, *rest

    return cached(LRUCache(max_weight, weigh), key=cache_key, condition=threading.Condition())


@cached_by_file(20_000)
def read_header(path: Path) -> Header:
    """Read a file's header; the image is decoded only where the end of the file is missing.

    Raises:
        OSError: it is no image, or only a part of one.
    """
    with open_image(path) as image:
        image_format = image.format or ""
        mime = "image/jpeg" if image_format == "MPO" else f"image/{image_format.lower()}"
        if not _has_end_mark(path, image_format):
            with decoded_image(path):
                pass  # it raises if something is missing; bytes behind the end do no harm
        is_usual = image_format in ("JPEG", "MPO") or (
            image_format in USUAL_FORMATS and not getattr(image, "is_animated", False)
        )
        return Header(
            image.size,
            image_format,
            mime,
            is_turned(path),
            is_usual,
            image.mode in WIDE_MODES,
            image.mode in PALETTE_MODES,
        )


def as_sent(path: Path) -> tuple[bytes, str]:
    """The bytes of an image file in a form that every server and browser shows as stored.

    Returns:
        The bytes, and their MIME type.

    Raises:
        OSError: it is no image.
    """
    header = read_header(path)
    if not header.is_usual:
        with decoded_image(path) as image:
            return encode(image, "PNG"), "image/png"
    content = path.read_bytes()
    return as_stored(content) if header.is_turned else content, header.mime


@cached_by_file(20_000)
def digest_as_stored(path: Path) -> str:
    """Return a hash of a file's bytes without an orientation tag."""
    return bytes_digest(as_stored(path.read_bytes()))


@cached_by_file(20_000)
def content_digest(path: Path) -> str:
    """Return a hash of a file's bytes."""
    return bytes_digest(path.read_bytes())


def image_digest(path: Path) -> str:
    """Return 16 hex digits that stand for a file's content: enough to see that it was replaced."""
    return content_digest(path).removeprefix("blake3:")[:16]


def bytes_digest(data: bytes) -> str:
    """Return the BLAKE3 hash of some bytes, as hex digits.

    A run hashes every image it sends. SHA-256 may cost more than sending it; this a twentieth.
    """
    from blake3 import blake3

    return f"blake3:{blake3(data).hexdigest()}"


@contextmanager
def open_image(path: Path) -> Iterator[Image]:
    """Open an image file for a block that may decode it; `OSError`, whatever is wrong with it.

    It is never turned: Pillow leaves all formats as stored but TIFF.
    """
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(path) as image:
            if image.format == "TIFF" and is_turned(path):
                with Image.open(io.BytesIO(as_stored(path.read_bytes()))) as stored:
                    yield stored
            else:
                yield image
    except Image.DecompressionBombError as error:
        raise OSError(_too_large(error)) from error
    except UnidentifiedImageError as error:
        if is_pointer(path):
            raise OSError(POINTER) from error
        raise
    except (SyntaxError, ValueError, EOFError, struct.error) as error:
        raise OSError(f"not a readable image: {error}") from error


@contextmanager
def decoded_image(path: Path) -> Iterator[Image]:
    """Decode an image file for a block; waits while others of this process fill the memory.

    Raises:
        OSError: whatever is wrong with it.
    """
    take_large_blocks()
    with open_image(path) as image, ROOM.taken(_decoded_bytes(image)):
        try:
            image.load()
            yield image
        finally:
            image.close()  # the pixels go now, and not with the last name for them


def _decoded_bytes(image: Image) -> int:
    return 4 * image.width * image.height  # Pillow has four bytes for each pixel in colour


def _too_large(refusal: Exception) -> str:
    """Say how large an image is that Pillow refuses, and what it takes; it does not say more."""
    numbers = [f"{int(number):,}" for number in re.findall(r"\d+", str(refusal))]
    if len(numbers) != 2:
        return f"too large: {refusal}"
    return f"too large: {numbers[0]} pixels, the limit is {numbers[1]}; shrink the image"


def _has_end_mark(path: Path, image_format: str) -> bool:
    """Whether a file ends as its format does; a download that broke off does not."""
    end = END_MARKS.get(image_format, b"")
    with path.open("rb") as file:
        file.seek(-min(len(end), path.stat().st_size), os.SEEK_END)
        return file.read() == end


def shrink(image: Image, img_size: int, *, keeps_mode: bool = False) -> Image:
    """Return a copy that fits a square of `img_size` pixels, or the image itself if it does.

    Args:
        image: one with a palette becomes RGB, or RGBA, so that its colours can be mixed.
        img_size: side of the square.
        keeps_mode: a palette stays, and its image loses pixels.
    """
    if img_size <= 0 or max(image.size) <= img_size:
        return image
    copy = image.copy()
    if image.mode in PALETTE_MODES and not keeps_mode:
        copy = image.convert("RGBA" if image.has_transparency_data else "RGB")
    copy.thumbnail((img_size, img_size))
    return copy


def on_white(image: Image) -> Image:
    """Return an image as RGB; what is transparent shows white, as a viewer has it."""
    from PIL import Image as images

    image = in_8_bits(image)
    if not image.has_transparency_data:
        return image.convert("RGB")
    white = images.new("RGBA", image.size, "white")
    return images.alpha_composite(white, image.convert("RGBA")).convert("RGB")


def encode(image: Image, image_format: str, **options: Any) -> bytes:
    """Return the image as a file in memory; what PNG cannot hold (a JPEG's CMYK) becomes RGB.

    Raises:
        OSError: another format cannot hold the mode (I;16 as JPEG, say).
    """
    if image_format == "PNG":
        image = in_8_bits(image)
        if image.mode not in PNG_MODES:
            image = image.convert("RGB")
    buffer = io.BytesIO()
    image.save(buffer, format=image_format, **options)
    return buffer.getvalue()
