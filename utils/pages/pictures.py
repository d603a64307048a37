"""Puts images into a report: copies of the files themselves, or small ones for sending around.

One cache serves all runs of a work-dir, so an image is copied once; where the file system can, a
copy shares its blocks with the original. Making a small one of 1920x1080 costs 60 ms, nearly all
of it in Pillow, which releases the interpreter: threads are enough.
"""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from utils.contracts import WH, Facts
from utils.geometry.images import content_digest, find_image, image_digest, open_image, read_header
from utils.geometry.pixels import in_8_bits
from utils.pages.privacy import shown_name

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

SCREENSHOTS = "screenshots"  # in the folder of a run
CACHE_FOLDER = ".view_images"
SMALL_SIDE_PX = 1600
MOST_THREADS = 16
SHOWN_AS_THEY_ARE = ("PNG", "JPEG", "WEBP", "GIF")  # by every browser
# Speed: method 0 takes 20 ms where 4, Pillow's own choice, takes 65 for a file a quarter smaller.
SMALL_OPTIONS = {"quality": 80, "method": 0}


def view_image(source: Path, cache: Path, *, small: bool = False) -> tuple[Path, WH]:
    """Return the file that the page shows of an image, and the image's own size.

    It is made if the cache lacks it.

    Raises:
        OSError: missing, unreadable, or not an image.
    """
    name = content_digest(source).partition(":")[2][:24]
    header = read_header(source)
    small = small or header.format not in SHOWN_AS_THEY_ARE or header.is_turned
    if small:
        view = cache / f"{name}_{SMALL_SIDE_PX}.webp"
    else:
        view = cache / f"{name}.{header.format.lower()}"
    if not view.exists():
        # Under a name of its own until it is whole: another run may write the same file now.
        # Not made by tempfile, whose files nobody else may read: a web server shows reports.
        temporary = cache / f".{uuid.uuid4().hex}.part"
        try:
            save = _save_small if small else _copy
            save(source, temporary)
            temporary.replace(view)
        finally:
            temporary.unlink(missing_ok=True)
    return view, header.wh


def _save_small(source: Path, target: Path) -> None:
    from PIL.Image import Resampling

    limit_wh = (SMALL_SIDE_PX, SMALL_SIDE_PX)
    with open_image(source) as picture:
        picture.draft("RGB", limit_wh)  # JPEG: decodes at a lower size
        plain = _plain(picture)
        plain.thumbnail(limit_wh, Resampling.HAMMING)
        plain.save(target, "WEBP", icc_profile=b"", exif=b"", **SMALL_OPTIONS)


def _plain(picture: Picture) -> Picture:
    """Return an image in 8-bit colours; alpha only where it is used, for it doubles the work."""
    picture = in_8_bits(picture)
    if picture.mode in ("RGBA", "LA", "PA") or "transparency" in picture.info:
        picture = picture.convert("RGBA")
        lowest, _ = picture.getchannel("A").getextrema()
        if isinstance(lowest, int) and lowest < 255:
            return picture
    return picture if picture.mode == "RGB" else picture.convert("RGB")


class Pictures:
    """All images of a page, numbered as they come; made in threads while samples are read.

    Args:
        root: what paths in the samples files are relative to; None: there are no images here.
        cache: folder of what the pages show, for all runs of a work-dir.
        files: the folder of the page's files, gets links to it.
        small: WebP of at most 1600 pixels instead of the files as they are.
        ready: what is known of images of finished reports, by name, with their "files" there. They
            are shown from there; only where `small` they are copied, as what is made is.
        prefix: of links from the page to `files`.
    """

    def __init__(
        self,
        root: Path | None,
        cache: Path,
        files: Path,
        *,
        small: bool = False,
        ready: Mapping[str, dict[str, Any]] | None = None,
        prefix: str = "",
    ) -> None:
        for folder in (cache, files / "pictures"):
            folder.mkdir(parents=True, exist_ok=True)
        self._root = root
        self._cache = cache
        self._files = files
        self._prefix = prefix
        self._small = small
        self._ready = ready or {}
        self._pool = ThreadPoolExecutor(min(MOST_THREADS, os.cpu_count() or 1), "view-image")
        self._numbers: dict[str, int] = {}
        self._made: dict[str, Future[dict[str, Any]]] = {}

    def close(self) -> None:
        """End the threads; what has not begun is dropped."""
        self._pool.shutdown(cancel_futures=True)

    def number(self, image: str | None, *, is_needed: bool = True) -> int | None:
        """Return the number of an image of a samples file; None where a sample has none.

        Args:
            image: its path in the samples file.
            is_needed: begin to make it, unless it is there.
        """
        if not image:
            return None
        is_ready = shown_name(image) in self._ready and not self._small
        if is_needed and image not in self._made and not is_ready:
            self._made[image] = self._pool.submit(self._make, image)
        return self._numbers.setdefault(image, len(self._numbers))

    def of_episode(self, facts: Facts, run_folder: Path) -> int | None:
        """Put the screenshots of an episode into the report; return the number of the last one.

        They lie with the run that has played it, which may be an earlier one of the same model.
        """
        steps = facts["trajectory"]
        sizes = {step["image_path"]: step["image_size"] for step in steps}
        last = facts.get("last_image")
        if last is None:
            return None
        sizes.setdefault(last, steps[-1]["image_size"] if steps else None)
        for name in sizes:
            source = _screenshot(run_folder, name)
            if source is not None:
                link_or_copy(source, self._files / "pictures" / name)
        if last not in self._made:
            self._made[last] = Future()
            view = f"{self._prefix}pictures/{last}"
            self._made[last].set_result({"name": last, "wh": sizes[last], "view": view})
        return self._numbers.setdefault(last, len(self._numbers))

    def digest(self, image: str) -> str | None:
        """The digest of the content of an image, once it is made; None where it is not."""
        picture = self._made.get(image)
        return None if picture is None else picture.result().get("digest")

    def all(self) -> list[dict[str, Any]]:
        """Return by number what the page needs: name, size, digest, file; or the name alone."""
        pictures: list[dict[str, Any]] = []
        for image in self._numbers:
            name = shown_name(image)
            if image in self._made:
                pictures.append(self._made[image].result())
            else:
                pictures.append(self._ready.get(name, {"name": name}))
        return pictures

    def _make(self, image: str) -> dict[str, Any]:
        name = shown_name(image)
        picture = {"name": name, **self._ready.get(name, {})}
        for file in (*picture.pop("files", ()), find_image(self._root, image)):
            try:
                view, wh = view_image(file, self._cache, small=self._small)
            except OSError:  # the report is gone, or the images are on another machine
                continue
            link_or_copy(view, self._files / "pictures" / view.name)
            picture = {"wh": wh, "digest": image_digest(file), **picture}
            return {**picture, "view": f"{self._prefix}pictures/{view.name}"}
        return picture


def _screenshot(run_folder: Path, name: str) -> Path | None:
    """Return the file of a screenshot, in this run's folder or in one beside it."""
    if Path(name).name != name:
        return None
    file = run_folder / SCREENSHOTS / name
    if file.is_file():
        return file
    return next(run_folder.parent.glob(f"*/{SCREENSHOTS}/{name}"), None)


def link_or_copy(source: Path, target: Path) -> None:
    """Put a file of the cache into a report: a hard link, or a copy where there can be none."""
    try:
        target.hardlink_to(source)
    except FileExistsError:  # two images with one content
        return
    except OSError:
        with suppress(shutil.SameFileError):  # another thread has linked the same content
            shutil.copyfile(source, target)


def _copy(source: Path, target: Path) -> None:
    """Copy a file; where the file system can, both share their blocks until one is changed."""
    try:
        with source.open("rb") as file, target.open("wb") as copied:
            while os.copy_file_range(file.fileno(), copied.fileno(), 1 << 30):
                pass
    except (AttributeError, OSError):  # not Linux, or not between these two file systems
        shutil.copyfile(source, target)
