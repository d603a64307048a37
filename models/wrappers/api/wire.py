"""From messages to the body of an OpenAI-style chat request.

Pictures stay out of the messages until the last moment: a `PictureSlot` stands where the data URL
will be, so that the fingerprint needs no base64 and the bytes are copied into the body once.
"""

from __future__ import annotations

import io
import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pybase64

from utils.contracts import WH, Message
from utils.errors import UserError
from utils.images import (
    bytes_digest,
    content_digest,
    encode,
    opened,
    read_header,
    remembered,
    shrink,
)

JPEG_QUALITY = 95  # of `image_format: "jpeg"`: artefacts stay below what a downscale adds
JPEG_QUALITY_REFERENCE = 75
CACHED_BYTES = 256 * 1024 * 1024

# A text can hold anything, so what marks a picture's place must be unguessable.
_SLOT_MARK = secrets.token_hex(16)


@dataclass(frozen=True, slots=True)
class PictureStyle:
    """How pictures leave this program (the config's `kwargs`)."""

    is_reference: bool = False  # as the reference implementation sends them, always JPEG
    img_size: int = -1  # side of the square that they must fit, in pixels; -1 or 0: as they are
    image_format: str = "original"  # or "png", "jpeg"
    img_detail: str | None = None  # the API's `detail`; None to leave it out

    @classmethod
    def from_kwargs(cls, kwargs: Mapping[str, Any]) -> PictureStyle:
        """Reads the four keys, with their defaults."""
        is_reference = kwargs.get("wire_format") == "reference"
        detail = kwargs.get("img_detail") or ("low" if is_reference else None)
        image_format = kwargs.get("image_format", "original")
        return cls(is_reference, kwargs.get("img_size", -1), image_format, detail)


@dataclass(frozen=True, slots=True)
class PictureSlot:
    """A picture in a chat message."""

    path: Path
    style: PictureStyle
    target: str | None  # the format it is re-encoded in; None: the file's own bytes go out
    mime: str  # that the request declares
    source: str  # hash of the file
    identity: str  # stands for the data URL in fingerprints: by content, nothing is encoded for it

    @classmethod
    def of(cls, path: Path, style: PictureStyle) -> PictureSlot:
        """The picture in a file.

        Raises:
            UserError: it cannot be read.
        """
        try:
            header, source = read_header(path), content_digest(path)
        except OSError as error:
            raise UserError(f"{path}: the prompt's image cannot be read: {error}") from None
        wanted = "JPEG" if style.is_reference else style.image_format.upper()
        is_shrunk = 0 < style.img_size < max(header.wh)
        if wanted in ("ORIGINAL", header.format) and not is_shrunk and not style.is_reference:
            return cls(path, style, None, header.mime, source, f"data:{header.mime};{source}")
        import PIL

        target = "JPEG" if wanted == "JPEG" else "PNG"
        # parity: the file's extension, whatever the bytes are.
        kind = path.suffix.lower().lstrip(".") if style.is_reference else target.lower()
        # The bytes of an encoder are a function of its input and its version.
        fit = style.img_size if is_shrunk else -1
        how = f"{target} fit {fit} reference {style.is_reference};Pillow {PIL.__version__}"
        mime = f"image/{kind}"
        return cls(path, style, target, mime, source, f"data:{mime};{source};{how}")

    def encoded(self) -> tuple[bytes, WH]:
        """As it is sent, in base64, and its size then; a `UserError` where the format cannot."""
        try:
            return _encoded(self.path, self.target, self.style)
        except (OSError, ValueError) as error:
            raise UserError(f"{self.path}: cannot be sent as the settings ask: {error}") from None


@remembered(CACHED_BYTES, weigh=lambda encoded: len(encoded[0]))
def _encoded(path: Path, target: str | None, style: PictureStyle) -> tuple[bytes, WH]:
    if target is None:
        return pybase64.b64encode(path.read_bytes()), read_header(path).wh
    with opened(path) as picture:
        picture.load()
        if style.is_reference and picture.mode in ("RGBA", "P", "LA"):
            # parity: alpha is dropped, not blended; other modes go as the writer takes them.
            picture = picture.convert("RGB")
        picture = shrink(picture, style.img_size)
        if target == "JPEG" and not style.is_reference and picture.mode not in ("RGB", "L"):
            from PIL import Image

            # What was transparent becomes white, as a viewer shows it.
            white = Image.new("RGBA", picture.size, "white")
            picture = Image.alpha_composite(white, picture.convert("RGBA")).convert("RGB")
        quality = JPEG_QUALITY_REFERENCE if style.is_reference else JPEG_QUALITY
        data = encode(picture, target, **({"quality": quality} if target == "JPEG" else {}))
    return pybase64.b64encode(data), picture.size


def chat_messages(
    messages: Sequence[Message], style: PictureStyle, *, is_custom_prompt: bool = False
) -> list[dict[str, Any]]:
    """Chat messages in the configured wire format, with `PictureSlot`s in place of data URLs.

    Raises:
        UserError: an unknown type of message, or a picture that cannot be read.
    """
    chat: list[dict[str, Any]] = []
    for message in messages:
        role, is_text = message["role"], message["type"] == "text"
        if style.is_reference and role == "system" and is_text and not is_custom_prompt:
            # parity: the default prompt's system text is a plain string with a line feed added.
            chat.append({"role": role, "content": f"{message['value']}\n"})
            continue
        # parity: in the reference format every part is a message of its own. What a model has said
        # in two turns of an episode stays two messages anywhere.
        is_apart = style.is_reference or role == "assistant"
        if is_apart or not chat or chat[-1]["role"] != role:
            chat.append({"role": role, "content": []})
        chat[-1]["content"].append(_part(message, style))
    return chat


def _part(message: Message, style: PictureStyle) -> dict[str, Any]:
    if message["type"] == "text":
        return {"type": "text", "text": message["value"]}
    if message["type"] != "image":
        raise UserError(f"a prompt message has type {message['type']!r}; known: text, image")
    picture: dict[str, Any] = {"url": PictureSlot.of(Path(message["value"]), style)}
    if style.img_detail is not None:
        picture["detail"] = style.img_detail
    return {"type": "image_url", "image_url": picture}


def shown_messages(chat: Any) -> list[Message]:
    """Chat messages of whatever make, as people may read them later: one entry for each part."""
    found: list[Message] = []
    for message in chat:
        content = message.get("content")
        for part in content if isinstance(content, (list, tuple)) else [content]:
            value, is_image = part, isinstance(part, Mapping) and "image_url" in part
            if isinstance(part, Mapping):
                value = "" if is_image else part.get("text", part)
            text = value if isinstance(value, str) else json.dumps(value, default=str)
            kind = "image" if is_image else "text"
            found.append({"role": str(message["role"]), "type": kind, "value": text})
    return found


def taken_apart(value: Any, pictures: list[Any]) -> Any:
    """What a request says, in a form that is equal for equal requests.

    Pictures are taken out, in order, with what goes along with them. A slot and a data URL count
    by the bytes that are sent; 0.0 is the same number as 0.
    """
    if isinstance(value, Mapping):
        pictures += [item for key, item in value.items() if key == "image_url"]
        return {k: taken_apart(v, pictures) for k, v in value.items() if k != "image_url"}
    if isinstance(value, (list, tuple)):
        return [taken_apart(item, pictures) for item in value]
    if isinstance(value, PictureSlot):
        return value.identity
    if isinstance(value, str) and value.startswith("data:"):
        head, _, data = value.partition(";base64,")
        try:
            return f"{head};{bytes_digest(pybase64.b64decode(data, validate=True))}"
        except ValueError:
            return value
    return int(value) if isinstance(value, float) and value.is_integer() else value


def sent_wh(url: Any) -> WH | None:
    """Size of a picture as it is sent; None for what is no picture that can be looked at."""
    if isinstance(url, PictureSlot):
        return url.encoded()[1]
    head, _, data = str(url).partition(";base64,")
    if not head.startswith("data:image/"):
        return None
    from PIL import Image

    try:
        return Image.open(io.BytesIO(pybase64.b64decode(data))).size
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
            kind = type(value).__name__
            raise UserError(f"the request holds a {kind}, which JSON cannot carry: {value!r:.80}")
        slots.append(value)
        return _SLOT_MARK

    text = json.dumps(request, default=mark, allow_nan=False, separators=(",", ":"))
    pieces = text.encode("ascii").split(_SLOT_MARK.encode("ascii"))
    body = [pieces[0]]
    for slot, piece in zip(slots, pieces[1:], strict=True):
        body += [f"data:{slot.mime};base64,".encode("ascii"), slot.encoded()[0], piece]
    return b"".join(body)
