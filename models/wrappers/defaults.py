"""Shared code of the wrappers: postprocessing, and requests of models in this process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from utils.contracts import WH, Message, ModelWrapper, Prepared, Sizes
from utils.errors import UserError
from utils.functions.calling import call_postprocess, private_copy
from utils.functions.fingerprints import digest, undescribed
from utils.functions.prompting import readable_messages
from utils.geometry.images import content_digest, image_file, read_header
from utils.geometry.resizing import sent_wh, steps_of

if TYPE_CHECKING:
    from utils.config.schema import ModelEntry


def request_of(
    messages: list[Message], dataset: str, settings: str, kwargs: Mapping[str, Any] | None = None
) -> Prepared:
    """Return the request of a model in this process.

    Args:
        messages: the prompt.
        dataset: name of the benchmark.
        settings: hash of what decides the answer beside the prompt.
        kwargs: the config's, of which `img_size` and `resize` are read; None: images stay.

    Raises:
        UserError: an image cannot be read, or not be shrunk.
    """
    # Without paths: a data root that moved costs nothing.
    texts: list[Message] = []
    images: list[str] = []
    image_sizes: list[Sizes] = []
    for message in messages:
        if message["type"] == "image":
            content, sizes = _content_and_sizes(
                message["value"], kwargs or {}, is_read_here=kwargs is not None
            )
            images.append(content)
            image_sizes.append(sizes)
            texts.append({**message, "value": "<image>"})
        else:
            texts.append(message)
    parts = {"prompt": digest(texts), "picture": digest(images), "settings": settings}
    payload = private_copy(messages)
    return Prepared(
        dataset, digest(parts), parts, payload, image_sizes, readable_messages(messages)
    )


def _content_and_sizes(
    value: str, kwargs: Mapping[str, Any], *, is_read_here: bool
) -> tuple[str, Sizes]:
    """The digest of an image for fingerprints, and its sizes as far as they are known.

    Args:
        value: of the image's message.
        kwargs: the config's.
        is_read_here: the program reads the image, not a class of the user's.
    """
    file = image_file(value)
    if file is None:
        keys = [key for key in ("img_size", "resize") if kwargs.get(key) not in (None, 0, -1)]
        if keys:
            setting = f"kwargs.{keys[0]} {kwargs[keys[0]]}"
            raise UserError(f"{setting} needs an image file, not {value[:80]!r}")
        return value, Sizes()
    try:
        header = read_header(file)
        content = content_digest(file)
        if header.is_wide and is_read_here:
            content += ";8 bits"  # earlier versions cut the values
        sent = sent_wh(kwargs, header.wh)
        if header.has_palette and is_read_here and sent != header.wh and not steps_of(kwargs):
            content += ";without a palette"  # earlier versions left pixels out
        return content, Sizes(header.wh, sent_wh=sent)
    except (OSError, ValueError) as error:
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

    @cached_property
    def _undescribed(self) -> list[str]:
        """The deciding code that cannot be compared with another run's, one line each."""
        return [problem for code in self.deciding_code for problem in undescribed(code)]

    def notes_before(self) -> list[str]:
        """Notes on code that nobody can compare."""
        return [f"stored answers are not reused: {problem}" for problem in self._undescribed]

    def reusable(self, prepared: Prepared) -> Prepared:
        """A request whose answer is reused by its fingerprint, where its code can be compared."""
        return replace(prepared, fingerprint="") if self._undescribed else prepared

    def postprocess(self, dataset: str) -> Callable[[str], str]:
        """Return the user's function for responses in text, or one that changes nothing."""
        if self._postprocess is None:
            return str
        return partial(call_postprocess, self._postprocess, self.entry.kwargs, dataset)

    def fixed_by(self) -> str:
        """Return the setting of the config that makes equal requests get equal answers, if any."""
        generate_cfg = self.entry.generate_cfg
        settings = {**generate_cfg, **(generate_cfg.get("extra_body") or {})}
        if settings.get("temperature") == 0:
            return "generate_cfg.temperature is 0"
        return "generate_cfg.seed is fixed" if settings.get("seed") is not None else ""
