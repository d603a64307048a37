"""From messages to the body of an OpenAI-style chat request.

Pictures stay out of the messages until the last moment: a `PictureSlot` stands where the data URL
will be, so that the fingerprint needs no base64 and the bytes are copied into the body once.
"""

from __future__ import annotations

import io
import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import pybase64

from utils.contracts import WH, Message
from utils.errors import UserError
from utils.images import (
    FileMemo,
    Header,
    bytes_digest,
    content_digest,
    encode,
    opened,
    read_header,
    shrink,
)

JPEG_QUALITY_REFERENCE = 75
PNG_MODES = ("1", "L", "LA", "I", "I;16", "I;16B", "P", "RGB", "RGBA")
JPEG_QUALITY = 95  # of `image_format: "jpeg"`: artefacts stay below what a downscale adds
CACHED_BYTES = 256 * 1024 * 1024

_ENCODED = FileMemo(limit=CACHED_BYTES, weigh=lambda picture: len(picture.base64))
# A text can hold anything, so what marks a picture's place must be unguessable.
_SLOT_MARK = secrets.token_hex(16)


@dataclass(frozen=True, slots=True)
class PictureStyle:
    """How pictures leave this program (the config's `kwargs`).

    Attributes:
        wire_format: "documented", or "reference": what the reference implementation sends.
        img_size: side of the square that the picture must fit, in pixels; -1 or 0: as it is.
        image_format: "original", "png" or "jpeg"; the reference format always sends JPEG.
        img_detail: the API's `detail`, None to leave it out.
    """

    wire_format: str = "documented"
    img_size: int = -1
    image_format: str = "original"
    img_detail: str | None = None

    @classmethod
    def from_kwargs(cls, kwargs: Mapping[str, Any]) -> PictureStyle:
        """Reads the four keys, with their defaults."""
        return cls(**{each.name: kwargs[each.name] for each in fields(cls) if each.name in kwargs})

    @property
    def is_reference(self) -> bool:
        return self.wire_format == "reference"


@dataclass(frozen=True, slots=True)
class EncodedPicture:
    """A picture as it goes out: base64 text, and its size in pixels."""

    base64: bytes
    wh: WH


@dataclass(frozen=True, slots=True)
class PictureSlot:
    """A picture in a chat message: which file, sent how."""

    path: Path
    header: Header
    style: PictureStyle

    @property
    def _new_format(self) -> str | None:
        """What it is re-encoded as; None: the file's own bytes go out."""
        wanted = "JPEG" if self.style.is_reference else self.style.image_format.upper()
        is_as_wanted = wanted in ("ORIGINAL", self.header.format) and not self._is_shrunk
        if is_as_wanted and not self.style.is_reference:
            return None
        return "JPEG" if wanted == "JPEG" else "PNG"

    @property
    def _is_shrunk(self) -> bool:
        return 0 < self.style.img_size < max(self.header.wh)

    @property
    def _quality(self) -> int:
        return JPEG_QUALITY_REFERENCE if self.style.is_reference else JPEG_QUALITY

    @property
    def mime(self) -> str:
        """The MIME type that the request declares."""
        if self.style.is_reference:  # parity: the file's extension, whatever the bytes are
            return f"image/{self.path.suffix.lower().lstrip('.')}"
        return f"image/{self._new_format.lower()}" if self._new_format else self.header.mime

    def source(self) -> str:
        """Hash of the picture's file."""
        return content_digest(self.path)

    def identity(self) -> str:
        """Stands for the data URL in fingerprints: by content, without encoding anything."""
        if self._new_format is None:
            return f"data:{self.mime};{self.source()}"
        import PIL

        # The bytes of an encoder are a function of its input and its version.
        fit = self.style.img_size if self._is_shrunk else -1
        how = f"{self._new_format} {self._quality} fit {fit} reference {self.style.is_reference}"
        return f"data:{self.mime};{self.source()};{how};Pillow {PIL.__version__}"

    def encoded(self) -> EncodedPicture:
        """The picture as it is sent; read and encoded once for all samples on it.

        Raises:
            UserError: the format asked for cannot hold this picture.
        """
        try:
            return _ENCODED.get(self.path, f"{self.style}", self._encode)
        except (OSError, ValueError) as error:
            raise UserError(f"{self.path}: cannot be sent as the settings ask: {error}") from None

    def _encode(self, path: Path) -> EncodedPicture:
        target = self._new_format
        if target is None:
            return EncodedPicture(pybase64.b64encode(path.read_bytes()), self.header.wh)
        with opened(path) as picture:
            picture.load()
            if self.style.is_reference and picture.mode in ("RGBA", "P", "LA"):
                # parity: alpha is dropped, not blended; other modes go as the writer takes them.
                picture = picture.convert("RGB")
            picture = shrink(picture, self.style.img_size)
            if target == "PNG" and picture.mode not in PNG_MODES:  # CMYK of a JPEG
                picture = picture.convert("RGB")
            elif target == "JPEG" and not self.style.is_reference:
                picture = _on_white(picture)
            options = {"quality": self._quality} if target == "JPEG" else {}
            data = encode(picture, target, **options)
        return EncodedPicture(pybase64.b64encode(data), picture.size)


def _on_white(picture: Any) -> Any:
    """RGB, with what was transparent in white, as a viewer shows it."""
    from PIL import Image

    if picture.mode in ("RGB", "L"):
        return picture
    layer = picture.convert("RGBA")
    white = Image.new("RGBA", layer.size, "white")
    return Image.alpha_composite(white, layer).convert("RGB")


def chat_messages(
    messages: Sequence[Message], style: PictureStyle, *, is_custom_prompt: bool = False
) -> list[dict[str, Any]]:
    """Chat messages in the configured wire format, with `PictureSlot`s in place of data URLs.

    Args:
        messages: `{"role", "type", "value"}` dicts.
        is_custom_prompt: a custom prompt made them (the reference treats its system text
            differently).

    Raises:
        UserError: an unknown type of message, or a picture that cannot be read.
    """
    if style.is_reference:
        return [_reference_message(message, style, is_custom_prompt) for message in messages]
    chat: list[dict[str, Any]] = []
    for message in messages:
        if not chat or chat[-1]["role"] != message["role"]:
            chat.append({"role": message["role"], "content": []})
        chat[-1]["content"].append(_part(message, style))
    return chat


def _reference_message(
    message: Message, style: PictureStyle, is_custom_prompt: bool
) -> dict[str, Any]:
    # parity: every part is a message of its own; the default path's system text is a plain string
    # with a line feed added, a custom prompt's is a list of parts.
    if message["role"] == "system" and message["type"] == "text" and not is_custom_prompt:
        return {"role": "system", "content": f"{message['value']}\n"}
    return {"role": message["role"], "content": [_part(message, style)]}


def _part(message: Message, style: PictureStyle) -> dict[str, Any]:
    if message["type"] == "text":
        return {"type": "text", "text": message["value"]}
    if message["type"] == "image":
        path = Path(message["value"])
        try:
            picture: dict[str, Any] = {"url": PictureSlot(path, read_header(path), style)}
        except OSError as error:
            raise UserError(
                f"{path}: the prompt names a picture that cannot be read: {error}"
            ) from None
        if style.img_detail is not None or style.is_reference:
            picture["detail"] = style.img_detail or "low"
        return {"type": "image_url", "image_url": picture}
    raise UserError(f"a prompt message has type {message['type']!r}; known: text, image")


def shown_messages(chat: Any) -> list[Message]:
    """Chat messages of whatever make, as people may read them later: one entry for each part."""
    found: list[Message] = []
    for message in chat:
        content = message.get("content")
        for part in content if isinstance(content, (list, tuple)) else [content]:
            kind, value = "text", part
            if isinstance(part, Mapping):
                kind = "image" if "image_url" in part else "text"
                value = "" if kind == "image" else part.get("text", part)
            text = value if isinstance(value, str) else json.dumps(value, default=str)
            found.append({"role": str(message["role"]), "type": kind, "value": text})
    return found


def taken_apart(value: Any, pictures: list[Any]) -> Any:
    """What a request says, in a form that is equal for equal requests.

    Pictures are taken out, in order, with what goes along with them. Data URLs that a user's
    preprocess function put elsewhere count by their bytes; 0.0 is the same number as 0.
    """
    if isinstance(value, Mapping):
        said = {}
        for key, item in value.items():
            if key == "image_url":
                pictures.append(item)
            else:
                said[key] = taken_apart(item, pictures)
        return said
    if isinstance(value, (list, tuple)):
        return [taken_apart(item, pictures) for item in value]
    if isinstance(value, str):
        return _hashed_data_url(value)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def slot_of(picture: Any) -> PictureSlot | None:
    """The picture behind an `image_url`, if this program put it there."""
    url = picture.get("url") if isinstance(picture, Mapping) else None
    return url if isinstance(url, PictureSlot) else None


def identity_of(picture: Any) -> Any:
    """Stands for an `image_url` in fingerprints: by the content of the picture."""
    if isinstance(picture, PictureSlot):
        return picture.identity()
    if isinstance(picture, Mapping):
        return {key: identity_of(item) for key, item in picture.items()}
    return _hashed_data_url(picture) if isinstance(picture, str) else picture


def _hashed_data_url(text: str) -> str:
    head, found, data = text.partition(";base64,")
    if not found or not head.startswith("data:"):
        return text
    try:
        return f"{head};{bytes_digest(pybase64.b64decode(data, validate=True))}"
    except ValueError:
        return text


def size_of_data_url(picture: Any) -> WH | None:
    """Size of a picture that a user's preprocess function put in as a data URL."""
    from PIL import Image

    url = picture.get("url") if isinstance(picture, Mapping) else picture
    head, found, data = url.partition(";base64,") if isinstance(url, str) else ("", "", "")
    if not found or not head.startswith("data:image/"):
        return None
    try:
        with Image.open(io.BytesIO(pybase64.b64decode(data))) as opened_picture:
            wh: WH = opened_picture.size
            return wh
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return None  # the server took it; what Pillow makes of it is no matter


def encode_body(request: Mapping[str, Any]) -> bytes:
    """The request as JSON, pictures put in as base64 without passing through the JSON writer.

    Raises:
        UserError: a picture cannot be sent as asked, or a value is no JSON.
    """
    slots: list[PictureSlot] = []

    def mark(value: Any) -> str:
        if not isinstance(value, PictureSlot):
            raise UserError(
                f"the request holds a {type(value).__name__}, no JSON can carry that: {value!r:.80}"
            )
        slots.append(value)
        return _SLOT_MARK

    text = json.dumps(request, default=mark, allow_nan=False, separators=(",", ":"))
    pieces = text.encode("ascii").split(_SLOT_MARK.encode("ascii"))
    body = [pieces[0]]
    for slot, piece in zip(slots, pieces[1:], strict=True):
        body += [f"data:{slot.mime};base64,".encode("ascii"), slot.encoded().base64, piece]
    return b"".join(body)
