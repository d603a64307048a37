"""Requests after a reply: a second look at a crop, or the messages of a user's function.

Every stage is an answer of its own in the log; the first has the sample's key, later ones
`<key>~1`, `<key>~2` and so on. A record with `more` is followed by another stage.
"""

from __future__ import annotations

import glob
import shutil
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from utils.contracts import ParseFunction, Prompt, PromptOf, Record, Sample
from utils.coordinates import point_as_fractions, read_size
from utils.errors import UserError
from utils.functions.calling import call_user_function, private_copy
from utils.functions.prompting import checked_messages
from utils.geometry.images import decoded_image
from utils.geometry.pixels import in_8_bits
from utils.geometry.zooming import Crop, SecondLook, Zoom

MOST_STAGES = 8
"""Of a user's function, which may never be content."""

Accept = Callable[[Any], Any]
Sizes = Mapping[str, Sequence[int] | None]


class CropFolder:
    """The folder for one data set's crops while their requests are in flight, in the run's folder.

    A killed run leaves it behind; the next run in the same folder removes it.
    """

    def __init__(self, run_folder: Path, dataset: str) -> None:
        self._run_folder = run_folder
        self._prefix = f".crops_{dataset}_"
        self._path: Path | None = None
        self._lock = threading.Lock()

    def path(self) -> Path:
        """The folder, which is made when the first crop is; for this process and user alone."""
        with self._lock:
            if self._path is None:
                self._run_folder.mkdir(parents=True, exist_ok=True)
                # Absolute: another path is one below the folder of images.
                folder = self._run_folder.absolute()
                self._path = Path(tempfile.mkdtemp(prefix=self._prefix, dir=folder))
            return self._path

    def remove_left_behind(self) -> None:
        """Remove what earlier runs of the data set have left; nobody else is running now."""
        for folder in self._run_folder.glob(f"{glob.escape(self._prefix)}*"):
            shutil.rmtree(folder, ignore_errors=True)

    def close(self) -> None:
        """Remove the folder."""
        with self._lock:
            if self._path is not None:
                shutil.rmtree(self._path, ignore_errors=True)
            self._path = None


@dataclass(frozen=True)
class ZoomStage:
    """A second look at the part of the image around the point of the first reply."""

    zoom: Zoom
    prompt_of: PromptOf
    point_of: Callable[[Record], Any]  # what the parse function reads; a point or not
    crops: CropFolder

    def next_prompt(self, sample: Sample, records: Sequence[Record]) -> Prompt | None:
        """Return the prompt on the crop; None after it, and where the first reply has no point."""
        if len(records) > 1 or sample.image is None or sample.file_wh is None:
            return None
        point = self.point_of(records[0])
        if not isinstance(point, tuple):
            return None
        crop = self.zoom.crop(sample.file_wh, point_as_fractions(point, sample.file_wh))
        file = self.crops.path() / f"{sample.key}.png"
        save_crop(sample.image, crop, file)
        line = {**sample.line, "image_path": str(file), "image_size": list(crop.sent_wh)}
        return replace(self.prompt_of(line), image=file, crop=self.zoom.as_record(crop))

    def release(self, prompt: Prompt) -> None:
        """Remove the crop of a prompt that was answered."""
        if prompt.image is not None:
            prompt.image.unlink(missing_ok=True)

    def begin(self) -> None:
        """Remove crops of a run that was killed."""
        self.crops.remove_left_behind()

    def close(self) -> None:
        """Remove all crops."""
        self.crops.close()


@dataclass(frozen=True)
class UserStages:
    """The next requests of a user's function: `follow_up(line, responses) -> messages or None`."""

    function: Callable[..., Any]
    postprocess: Callable[[str], str]
    image_root: Path

    def next_prompt(self, sample: Sample, records: Sequence[Record]) -> Prompt | None:
        """The prompt of the function after these replies; None: nothing more is asked.

        Raises:
            UserFunctionError: the function raises, or returns no messages.
            UserError: it goes on for too long.
        """
        responses = [reply_text(record, self.postprocess) for record in records]
        line = private_copy(sample.line)
        messages = call_user_function("follow_up", self.function, line, responses)
        if messages is None:
            return None
        if len(records) == MOST_STAGES:
            raise UserError(f"the follow_up function asks for more than {MOST_STAGES} stages")
        return Prompt(
            checked_messages(messages, self.image_root, stage="follow_up"), is_custom=True
        )

    def release(self, prompt: Prompt) -> None:
        """Do nothing: its images are the user's."""

    def begin(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


def reply_text(record: Record, postprocess: Callable[[str], str]) -> str:
    """Return the text to parse of an answered stage."""
    reply = record.get("reply")
    return str(reply) if reply is not None else postprocess(record["raw"])


def save_crop(image: Path, crop: Crop, file: Path) -> None:
    """Cut a part out of an image, resize it as the authors do, and save it as PNG.

    Raises:
        UserError: the image cannot be decoded; the server may well have read it.
    """
    from PIL import Image

    try:
        with decoded_image(image) as full_image:
            part = in_8_bits(full_image.crop(crop.box_px)).convert("RGB")
    except OSError as error:
        raise UserError(f"{image}: no part of it can be cut out: {error}") from None
    if part.size != crop.sent_wh:
        part = part.resize(crop.sent_wh, Image.Resampling.LANCZOS)
    part.save(file, compress_level=1)


# -- reading all stages of a sample ----------------------------------------------------------------


def parse_of_zoom(
    look: SecondLook, accept: Accept, parse: ParseFunction, replies: Sequence[str], sizes: Sizes
) -> ParseFunction:
    """Return the parse function of a sample that was looked at twice.

    The point of the crop counts, in the whole image. Without one that of the first reply counts,
    and so it does where the crop shows another part than the one around it.

    Args:
        look: the crop that was sent.
        accept: makes one form of what a parse function returns.
        parse: reads one reply.
        replies: of all stages.
        sizes: of the crop, by stage of its way: file, sent, seen.
    """

    def parse_both(_: str, meta: Mapping[str, Any]) -> Any:
        first = accept(parse(replies[0], meta))
        if len(replies) == 1 or not isinstance(first, tuple):
            return first
        file_wh = read_size(meta["file_size"])
        crop = look.around(file_wh, point_as_fractions(first, file_wh))
        if crop is None:
            return first
        second = accept(parse(replies[1], {**meta, **_meta_of_crop(crop, sizes)}))
        if not isinstance(second, tuple):
            return first
        return look.zoom.answer(crop, point_as_fractions(second, crop.sent_wh))

    return parse_both


def _meta_of_crop(crop: Crop, sizes: Sizes) -> dict[str, str]:
    crop_sizes: dict[str, Sequence[int]] = {"image_size": crop.sent_wh, "file_size": crop.sent_wh}
    for stage in ("sent", "seen"):
        wh = sizes.get(stage)
        if wh:
            crop_sizes[f"{stage}_size"] = wh
    return {name: str(list(wh)) for name, wh in crop_sizes.items()}


def parse_of_user(parse: ParseFunction, replies: Sequence[str]) -> ParseFunction:
    """Return a parse function for the last reply that sees all of them as `meta["responses"]`."""

    def parse_last(reply: str, meta: Mapping[str, Any]) -> Any:
        return parse(reply, {**meta, "responses": list(replies)})

    return parse_last
