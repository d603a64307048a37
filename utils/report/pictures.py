"""View images: what the page shows of a screenshot, made once for each content.

One cache serves all runs of a work-dir. A picture of 1920x1080 costs about 60 ms, nearly all of it
in Pillow's decoder, scaler and encoder, which release the interpreter: threads are enough.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from utils.contracts import WH

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

CACHE_FOLDER = ".view_images"
VIEW_SIDE_PX = 1600
THUMB_SIDE_PX = 320
MOST_THREADS = 16
# Speed: method 0 takes 20 ms where 4, Pillow's own choice, takes 65 for a file a quarter smaller.
VIEW_OPTIONS = {"quality": 80, "method": 0}
THUMB_OPTIONS = {"quality": 72, "method": 1}


@dataclass(frozen=True, slots=True)
class ViewImage:
    """A picture as the page shows it.

    Attributes:
        name: of its files: a hash of the content.
        wh: width and height of the picture itself, in pixels.
        view, thumb: files in the cache.
        source: the picture itself.
    """

    name: str
    wh: WH
    view: Path
    thumb: Path
    source: Path


def make_view_image(source: Path, cache: Path) -> ViewImage:
    """The view image of a picture, from the cache where it has one.

    Raises:
        OSError: missing, unreadable, or not a picture.
    """
    from utils.images import bytes_digest, opened, read_header

    name = bytes_digest(source.read_bytes()).partition(":")[2][:24]
    view, thumb = cache / f"{name}_{VIEW_SIDE_PX}.webp", cache / f"{name}_{THUMB_SIDE_PX}.webp"
    made = ViewImage(name, read_header(source).wh, view, thumb, source)
    if view.exists() and thumb.exists():
        return made
    with opened(source) as picture:
        picture.draft("RGB", (VIEW_SIDE_PX, VIEW_SIDE_PX))  # JPEG: decodes at a lower size
        large = _fit(_plain(picture), VIEW_SIDE_PX)
        _save(large, view, VIEW_OPTIONS)
        _save(_fit(large, THUMB_SIDE_PX), thumb, THUMB_OPTIONS)
    return made


def _plain(picture: Picture) -> Picture:
    """8-bit colours; alpha only where it is used, for it doubles the work."""
    if picture.mode in ("RGBA", "LA", "PA") or "transparency" in picture.info:
        picture = picture.convert("RGBA")
        lowest, _ = picture.getchannel("A").getextrema()
        if isinstance(lowest, int) and lowest < 255:
            return picture
    return picture if picture.mode == "RGB" else picture.convert("RGB")


def _fit(picture: Picture, side_px: int) -> Picture:
    from PIL import Image

    longest = max(picture.size)
    if longest <= side_px:
        return picture
    size = tuple(max(1, round(side * side_px / longest)) for side in picture.size)
    return picture.resize((size[0], size[1]), Image.Resampling.HAMMING, reducing_gap=2.0)


def _save(picture: Picture, path: Path, options: dict[str, int]) -> None:
    """Whole or not at all: another run may read the cache at the same time."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            picture.save(file, "WEBP", icc_profile=b"", exif=b"", **options)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _usable_cores() -> int:
    with contextlib.suppress(AttributeError):  # Linux only
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@dataclass
class Pictures:
    """All pictures of a run, numbered as they come; made in threads while the samples are read.

    Attributes:
        names: by number: the path in the samples file.
    """

    root: Path | None
    cache: Path
    pool: ThreadPoolExecutor
    names: list[str] = field(default_factory=list)
    _numbers: dict[str, int] = field(default_factory=dict)
    _made: list[Future[ViewImage | None]] = field(default_factory=list)

    @classmethod
    @contextlib.contextmanager
    def open(cls, root: Path | None, cache: Path) -> Iterator[Pictures]:
        """A cache that is ready, and threads that end with the block, at once if it fails."""
        cache.mkdir(parents=True, exist_ok=True)
        pool = ThreadPoolExecutor(min(MOST_THREADS, _usable_cores()), "view-image")
        try:
            yield cls(root, cache, pool)
        finally:
            pool.shutdown(cancel_futures=True)

    def number(self, image: str) -> int:
        """The number of a picture; one that is new is put to work."""
        known = self._numbers.get(image)
        if known is not None:
            return known
        self._numbers[image] = len(self.names)
        self.names.append(image)
        self._made.append(self.pool.submit(self._make, image))
        return len(self.names) - 1

    def _make(self, image: str) -> ViewImage | None:
        if self.root is None and not Path(image).is_absolute():
            return None
        try:
            return make_view_image((self.root or Path()) / image, self.cache)
        except OSError:  # scored on a machine without the pictures: the page says so
            return None

    def finished(self) -> Iterator[tuple[str, ViewImage | None]]:
        """Path and view image of each picture by number; None where it could not be made."""
        for name, made in zip(self.names, self._made, strict=True):
            yield name, made.result()


def place(source: Path, target: Path) -> None:
    """Puts a file into the report: a hard link, or a copy where file systems differ."""
    if target.exists():
        return
    try:
        target.hardlink_to(source)
    except OSError:
        shutil.copyfile(source, target)
