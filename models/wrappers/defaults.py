"""What wrappers share: postprocessing, and the requests of models in this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from utils.contracts import WH, Message, ModelWrapper, Prepared, Sizes
from utils.coordinates import thumbnail_wh
from utils.errors import UserError
from utils.functions.calling import call_postprocess, private_copy
from utils.functions.fingerprints import digest
from utils.functions.prompting import shown
from utils.images import content_digest, read_header

if TYPE_CHECKING:
    from utils.config.schema import ModelEntry


def local_file(value: str) -> Path | None:
    """The file that an image message names; None for a URL or image data in the message."""
    if value.startswith(("http://", "https://", "data:")):
        return None
    return Path(value.removeprefix("file://"))


def request_of(
    messages: list[Message], dataset: str, settings: str, *, img_size: int = 0
) -> Prepared:
    """The request of a model in this process; `settings`: hash of what else decides the answer.

    Raises:
        UserError: an image cannot be read, or not be shrunk.
    """
    pictures, image_sizes = [], []
    for value in (message["value"] for message in messages if message["type"] == "image"):
        file = local_file(value)
        if file is None and img_size > 0:
            raise UserError(f"kwargs.img_size {img_size} needs an image file, not {value[:80]!r}")
        try:
            pictures.append(value if file is None else content_digest(file))
            sizes = Sizes()
            if file is not None:
                wh = read_header(file).wh
                sizes = Sizes(file_wh=wh, sent_wh=thumbnail_wh(wh, img_size))
            image_sizes.append(sizes)
        except OSError as error:
            raise UserError(f"{file}: the image cannot be read: {error}") from error
    # Without paths: a data root that moved costs nothing.
    words = [{**m, "value": "<image>"} if m["type"] == "image" else m for m in messages]
    parts = {"prompt": digest(words), "picture": digest(pictures), "settings": settings}
    payload = private_copy(messages)
    return Prepared(dataset, digest(parts), parts, payload, image_sizes, shown(messages))


def aligned(known: Sequence[WH | None], count: int) -> list[WH | None]:
    """Return sizes of images for `count` images of a prompt, of which they are the last ones.

    A preprocess function may add images in front (examples), or leave the earliest out.
    """
    if count == 0:
        return []
    last = list(known)[-count:]
    return [None] * (count - len(last)) + last


class WrapperDefaults(ModelWrapper):
    """A wrapper of a model entry, with the user's postprocess function for replies in text."""

    entry: ModelEntry
    _postprocess: Callable[..., str] | None = None

    def postprocess(self, dataset: str) -> Callable[[str], str]:
        """The user's function for replies that came as text, if there is one."""
        if self._postprocess is None:
            return str
        return partial(call_postprocess, self._postprocess, self.entry.kwargs, dataset)
