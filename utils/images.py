"""Picture files: size, content hash, and the bytes that go to a model.

Headers and hashes are remembered by path, size and time of change, so that a picture that carries
four samples is read once.
"""

from __future__ import annotations

import io
import os
import struct
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from utils.contracts import WH
from utils.errors import UserError

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

T = TypeVar("T")
ENDS = {"PNG": b"IEND\xaeB`\x82", "JPEG": b"\xff\xd9", "GIF": b";"}
"""The last bytes of a whole file, by Pillow's name of the format."""
MIME_BY_FORMAT = {
    "PNG": "image/png", "JPEG": "image/jpeg", "MPO": "image/jpeg", "WEBP": "image/webp",
    "GIF": "image/gif", "BMP": "image/bmp", "TIFF": "image/tiff",
}  # fmt: skip


def at_home(path: str | Path) -> Path:
    """A path with `~` and `~user` as the folders they stand for.

    Without such a user it stays as it is, and there is no such folder: for what is only read.
    """
    return Path(os.path.expanduser(path))  # noqa: PTH111 (Path's own raises a RuntimeError)


def chosen_folder(given: str | Path, *, by: str) -> Path:
    """The same for a folder that may be made, which must not end up as one named `~user`.

    Args:
        by: the option or variable that names the folder.

    Raises:
        UserError: there is no such user.
    """
    folder = at_home(given)
    first = folder.parts[0] if folder.parts else ""
    if not first.startswith("~"):
        return folder
    whose = f"no user {first[1:]}" if first[1:] else "no home folder of yours known"
    raise UserError(f"{by} {given}: there is {whose}; write the folder in full")


def data_root() -> Path:
    """The folder that holds `MMBench-GUI/`.

    Raises:
        UserError: it lies in the home of nobody.
    """
    return chosen_folder(os.environ.get("LMUData") or "~/LMUData", by="LMUData")  # noqa: SIM112


def image_root() -> Path:
    """The folder that holds `os_windows/`, `os_mac/`, ...; `IMAGE_ROOT_DIR` only if it exists.

    Raises:
        UserError: the data root lies in the home of nobody.
    """
    moved = os.environ.get("IMAGE_ROOT_DIR")
    if moved and at_home(moved).is_dir():
        return at_home(moved)
    return data_root() / "MMBench-GUI" / "offline_images"


def image_path_of(line: Mapping[str, Any]) -> str:
    """Full path of a line's image, as an image message needs it; an absolute one stays.

    Raises:
        KeyError: the line has no `image_path`.
    """
    return str(image_root() / line["image_path"])


@dataclass(frozen=True, slots=True)
class Header:
    """What the first bytes of a picture file tell.

    Attributes:
        wh: width and height in pixels, as stored (an EXIF rotation is not applied).
        format: Pillow's name: "PNG", "JPEG", ...
        mode: Pillow's name: "RGB", "RGBA", "P", ...
    """

    wh: WH
    format: str
    mode: str

    @property
    def mime(self) -> str:
        """MIME type by content, not by file name."""
        return MIME_BY_FORMAT.get(self.format, f"image/{self.format.lower()}")


class FileMemo:
    """Remembers a value per file until the file changes; bounded; usable from many threads.

    Args:
        limit: sum of weights to keep; the least recently used values go first.
        weigh: weight of a value; by default each weighs 1.
    """

    def __init__(self, limit: int, weigh: Callable[[Any], int] = lambda _: 1) -> None:
        self._limit, self._weigh = limit, weigh
        self._lock = threading.Lock()
        self._values: OrderedDict[tuple[Any, ...], Future[Any]] = OrderedDict()
        self._weight = 0

    def get(self, path: Path, what: str, make: Callable[[Path], T]) -> T:
        """The value of `make(path)`, computed once for each state of the file.

        Threads that ask for the same value at the same time wait for the one that makes it.

        Raises:
            OSError: the file cannot be read; nothing is remembered then.
        """
        stat = path.stat()
        key = (str(path), stat.st_size, stat.st_mtime_ns, stat.st_ino, what)
        with self._lock:
            known = self._values.get(key)
            if known is not None:
                self._values.move_to_end(key)
            else:
                made: Future[Any] = Future()
                self._values[key] = made
        if known is not None:
            return known.result()  # type: ignore[no-any-return]
        try:
            value = make(path)
        except BaseException as error:
            with self._lock:
                self._values.pop(key, None)
            made.set_exception(error)
            raise
        made.set_result(value)
        self._trim(self._weigh(value))
        return value

    def _trim(self, added: int) -> None:
        with self._lock:
            self._weight += added
            while self._weight > self._limit and len(self._values) > 1:
                key, oldest = next(iter(self._values.items()))
                if not oldest.done():  # it is being made and weighs nothing yet: to the young end
                    self._values.move_to_end(key)
                    return
                del self._values[key]
                self._weight -= self._weigh(oldest.result())


_FACTS = FileMemo(limit=20_000)  # headers and hashes: some 200 bytes each


def read_header(path: Path) -> Header:
    """Size, format and mode of a picture without decoding it.

    Raises:
        OSError: missing, unreadable, or not a picture.
    """
    return _FACTS.get(path, "header", _open_header)


def content_digest(path: Path) -> str:
    """Hash of a file's bytes, see `bytes_digest`."""
    return _FACTS.get(path, "digest", lambda file: bytes_digest(file.read_bytes()))


def bytes_digest(data: bytes) -> str:
    """BLAKE3 of some bytes, as hex digits.

    A run hashes every picture it sends. Where the processor has no instructions for SHA-256 that
    costs more than encoding and sending the picture; this costs a twentieth.
    """
    from blake3 import blake3

    return f"blake3:{blake3(data).hexdigest()}"


@contextmanager
def opened(path: Path) -> Iterator[Picture]:
    """A picture file for a block that may decode it.

    Raises:
        OSError: whatever is wrong with the file; decoders have many ways of saying it.
    """
    from PIL import Image

    try:
        with Image.open(path) as picture:
            yield picture
    except (SyntaxError, ValueError, EOFError, struct.error, Image.DecompressionBombError) as error:
        raise OSError(f"not a readable picture: {error}") from error


def decode_fully(path: Path) -> None:
    """Decodes every pixel, to find damaged files before a run.

    Raises:
        OSError: the picture cannot be decoded.
    """
    with opened(path) as picture:
        picture.load()


def _open_header(path: Path) -> Header:
    with opened(path) as picture:
        header = Header(picture.size, picture.format or "", picture.mode)
        if not _ends_whole(path, header.format):
            picture.load()  # raises if something is missing; bytes behind the end do no harm
    return header


def _ends_whole(path: Path, file_format: str) -> bool:
    """Whether the file ends as its format does: cheap, and a download that broke off does not."""
    end = ENDS.get(file_format, b"")
    with path.open("rb") as file:
        file.seek(-min(len(end), path.stat().st_size), os.SEEK_END)
        return file.read() == end


def shrink(picture: Picture, img_size: int) -> Picture:
    """A copy that fits a square of `img_size` pixels; the picture itself if it does already."""
    if img_size <= 0 or max(picture.size) <= img_size:
        return picture
    copy = picture.copy()
    copy.thumbnail((img_size, img_size))
    return copy


def encode(picture: Picture, image_format: str, **options: Any) -> bytes:
    """The picture as a file in memory.

    Raises:
        OSError: the format cannot hold this mode (I;16 as JPEG, say).
    """
    buffer = io.BytesIO()
    picture.save(buffer, format=image_format, **options)
    return buffer.getvalue()
