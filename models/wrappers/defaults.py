"""What wrappers share: postprocessing, and the requests of models in this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from utils.contracts import WH, Message, ModelWrapper, Prepared, Sizes
from utils.coordinates import thumbnail_wh
from utils.errors import UserError
from utils.functions.calling import call_postprocess, private_copy
from utils.functions.fingerprints import digest
from utils.functions.prompting import shown
from utils.images import content_digest, image_file, read_header

if TYPE_CHECKING:
    from utils.config.schema import ModelEntry


def request_of(
    messages: list[Message], dataset: str, settings: str, *, img_size: int = 0
) -> Prepared:
    """Return the request of a model in this process.

    Args:
        messages: the prompt.
        dataset: name of the benchmark.
        settings: hash of what decides the answer beside the prompt.
        img_size: side of the square that images are shrunk to; -1 and 0: as they are.

    Raises:
        UserError: an image cannot be read, or not be shrunk.
    """
    # Without paths: a data root that moved costs nothing.
    texts: list[Message] = []
    images: list[str] = []
    image_sizes: list[Sizes] = []
    for message in messages:
        if message["type"] == "image":
            content, sizes = _content_and_sizes(message["value"], img_size)
            images.append(content)
            image_sizes.append(sizes)
            texts.append({**message, "value": "<image>"})
        else:
            texts.append(message)
    parts = {"prompt": digest(texts), "picture": digest(images), "settings": settings}
    payload = private_copy(messages)
    return Prepared(dataset, digest(parts), parts, payload, image_sizes, shown(messages))


def _content_and_sizes(value: str, img_size: int) -> tuple[str, Sizes]:
    """Return what stands for an image in fingerprints, and its sizes as far as they are known."""
    file = image_file(value)
    if file is None:
        if img_size > 0:
            raise UserError(f"kwargs.img_size {img_size} needs an image file, not {value[:80]!r}")
        return value, Sizes()
    try:
        file_wh = read_header(file).wh
        return content_digest(file), Sizes(file_wh, sent_wh=thumbnail_wh(file_wh, img_size))
    except OSError as error:
        raise UserError(f"{file}: the image cannot be read: {error}") from error


def aligned(sizes: Sequence[WH | None], count: int) -> list[WH | None]:
    """Return sizes of images for `count` images of a prompt, of which they are the last ones.

    A preprocess function may add images in front (examples), or leave the earliest out.
    """
    if count == 0:
        return []
    last = list(sizes)[-count:]
    return [None] * (count - len(last)) + last


class WrapperDefaults(ModelWrapper):
    """A wrapper of a model entry, with the user's postprocess function for replies in text."""

    entry: ModelEntry
    _postprocess: Callable[..., str] | None = None

    def postprocess(self, dataset: str) -> Callable[[str], str]:
        """Return the user's function for responses in text, or one that changes nothing."""
        if self._postprocess is None:
            return str
        return partial(call_postprocess, self._postprocess, self.entry.kwargs, dataset)
