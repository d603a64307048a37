"""The checks of images for `--check`: a bounded part of a run's work, spread over all images."""

from __future__ import annotations

import concurrent.futures
import os
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from utils.contracts import ImageChange, ModelWrapper, Prepared, Sample
from utils.engine.jobs import Job
from utils.geometry.images import decoded_image, open_image, read_header
from utils.text import counted

MOST_DECODED_PX = 2_000_000_000  # 240 screens of 3840x2160: half a minute of one core
MOST_ENCODED = 200  # requests of a data set


@dataclass(frozen=True, slots=True)
class ImagesChecked:
    """The result of checking images: a summary, and the problems."""

    summary: str
    problems: list[str]


def check_images(samples: Sequence[Sample]) -> ImagesChecked:
    """Decode images, or of many some, and compare the checksums in the PNGs among the others.

    The headers of all of them were read when the samples were loaded.
    """
    from tqdm import tqdm

    images = list(dict.fromkeys(sample.image for sample in samples if sample.image is not None))
    chosen = _spread(images)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as threads:
        results = tqdm(
            threads.map(lambda image: _problem(image, is_decoded=image in chosen), images),
            "looking at images",
            len(images),
            leave=False,
            disable=not sys.stderr.isatty(),
        )
        problems = [result for result in results if result is not None]
    summary = f"images: {counted(len(images), 'header')} read, {len(chosen):,} decoded"
    if len(chosen) < len(images):
        summary += " (spread over all); the checksums of the other PNGs compared"
    return ImagesChecked(summary, problems)


def _spread(images: Sequence[Path]) -> set[Path]:
    """Return the images that are decoded: all, or every so many-th."""
    pixels = sum(width * height for width, height in map(_wh, images))
    share = min(1.0, MOST_DECODED_PX / max(pixels, 1))
    return {
        image
        for number, image in enumerate(images)
        if number == 0 or int(number * share) > int((number - 1) * share)
    }


def _wh(image: Path) -> tuple[int, int]:
    try:
        return read_header(image).wh
    except OSError:  # it went since: what is wrong is said when it is opened
        return 0, 0


def _problem(image: Path, *, is_decoded: bool) -> str | None:
    try:
        if is_decoded:
            with decoded_image(image):
                return None
        if read_header(image).format == "PNG":
            with open_image(image) as opened:
                opened.verify()
    except OSError as error:
        return f"{image}: cannot be decoded: {error}"
    return None


class RequestSizes:
    """The bytes of many requests, of which some are built, evenly spread."""

    def __init__(self, model: ModelWrapper, job: Job) -> None:
        self.image_changes: Counter[ImageChange] = Counter()
        self._model = model
        self._is_known = job.episodes is None  # of an episode only the first request is
        self._step = -(-len(job.samples) // MOST_ENCODED)
        self._count = 0
        self._built = 0
        self._bytes = 0

    def add(self, prepared: Prepared) -> None:
        """Count a request that would be sent.

        Raises:
            UserError: its image cannot be sent as the settings ask.
        """
        if not self._is_known:
            return
        self._count += 1
        if (self._count - 1) % self._step == 0:
            self._bytes += self._model.wire_size(prepared)
            self._built += 1

    def __str__(self) -> str:
        if not self._bytes:
            return ""
        about = "" if self._built == self._count else "about "
        return f"{about}{self._bytes / self._built * self._count / 1e6:.1f} MB"
