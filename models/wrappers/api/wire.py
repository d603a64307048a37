"""From messages to the body of an OpenAI-style chat request.

Images stay out of the messages until the last moment: an `ImageSlot` stands where the data URL
will be, so that the fingerprint needs no base64 and the bytes are copied into the body once.
"""

from __future__ import annotations

import io
import json
import secrets
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pybase64

from utils.contracts import WH, ImageChange, Message
from utils.errors import UserError
from utils.geometry.images import (
    bytes_digest,
    cached_by_file,
    content_digest,
    decoded_image,
    digest_as_stored,
    encode,
    image_file,
    on_white,
    read_header,
    shrink,
)
from utils.geometry.orientation import as_stored
from utils.geometry.pixels import in_8_bits
from utils.geometry.resizing import ResizeStep, resized, resized_wh, steps_of

JPEG_QUALITY = 95  # unless `jpeg_quality` says otherwise: artefacts stay below a downscale's
JPEG_QUALITY_REFERENCE = 75
CACHED_BYTES = 256 * 1024 * 1024

ASSISTANT_IMAGE = (
    "the prompt has an image of the assistant, and no reply can begin with one; give the image the "
    'role "user"'
)
# A text can hold anything, so what marks an image's place must be unguessable.
_SLOT_MARK = secrets.token_hex(16)


@dataclass(frozen=True, slots=True)
class ImageStyle:
    """The form in which images are sent (the config's `kwargs`)."""

    is_reference: bool = False  # as the reference implementation sends them, always JPEG
    img_size: int = -1  # side of the square that they must fit, in pixels; -1 or 0: as they are
    image_format: str = ""  # "original", "png", "jpeg"; "": the bytes, made fit to be sent
    img_detail: str | None = None  # the API's `detail`; None to leave it out
    resize: tuple[ResizeStep, ...] = ()  # before they are sent
    jpeg_quality: int = JPEG_QUALITY

    @classmethod
    def from_kwargs(cls, kwargs: Mapping[str, Any]) -> ImageStyle:
        """Read the keys that are about images, with their defaults."""
        is_reference = kwargs.get("wire_format") == "reference"
        default_detail = "low" if is_reference else None
        return cls(
            is_reference,
            kwargs.get("img_size", -1),
            kwargs.get("image_format") or "",
            kwargs.get("img_detail") or default_detail,
            steps_of(kwargs),
            kwargs.get("jpeg_quality", JPEG_QUALITY),
        )

    def as_settings(self) -> dict[str, Any]:
        """The settings that decide answers, for fingerprints."""
        settings = asdict(self)
        # As earlier versions wrote it, whose "original" was what is now left out.
        settings["image_format"] = {"": "original", "original": "the bytes as they are"}.get(
            self.image_format, self.image_format
        )
        if not self.resize:
            del settings["resize"]
        if self.jpeg_quality == JPEG_QUALITY:
            del settings["jpeg_quality"]
        return settings


@dataclass(frozen=True, slots=True)
class ImageSlot:
    """An image in a chat message."""

    path: Path
    style: ImageStyle
    target: str | None  # the format it is re-encoded in; None: the file's own bytes go out
    mime: str  # that the request declares
    source: str  # hash of the file
    identity: str  # stands for the data URL in fingerprints: by content, nothing is encoded for it
    change: ImageChange | None = None  # without a setting that asks for it

    @classmethod
    def of(cls, path: Path, style: ImageStyle) -> ImageSlot:
        """Return the slot of the image in a file.

        Raises:
            UserError: it cannot be read.
        """
        try:
            header = read_header(path)
            source = content_digest(path)
        except OSError as error:
            raise UserError(f"{path}: the prompt's image cannot be read: {error}") from None
        requested = "JPEG" if style.is_reference else style.image_format.upper()
        keeps_bytes = requested == "ORIGINAL"
        is_shrunk = 0 < style.img_size < max(header.wh)
        try:
            is_resized = bool(style.resize) and resized_wh(style.resize, header.wh) != header.wh
        except ValueError as error:
            raise UserError(f"{path}: {error}") from None
        is_same = not is_shrunk and not is_resized and not style.is_reference
        is_wanted = is_same and (keeps_bytes or requested in ("", header.format))
        if is_wanted and (keeps_bytes or header.is_usual):
            change, digest = None, source
            if header.is_turned and not keeps_bytes:
                change, digest = ImageChange.ORIENTATION, digest_as_stored(path)
            return cls(
                path, style, None, header.mime, source, f"data:{header.mime};{digest}", change
            )
        import PIL

        target = "JPEG" if requested == "JPEG" else "PNG"
        # parity: the file's extension, whatever the bytes are.
        subtype = path.suffix.lower().lstrip(".") if style.is_reference else target.lower()
        mime = f"image/{subtype}"
        # The bytes of an encoder are a function of its input and its version.
        fit = style.img_size if is_shrunk else -1
        encoder = f"{target} fit {fit} reference {style.is_reference};Pillow {PIL.__version__}"
        if is_resized:
            encoder += f";resized {style.resize}"
        if target == "JPEG" and style.jpeg_quality != JPEG_QUALITY:
            encoder += f";quality {style.jpeg_quality}"
        if header.is_wide and not style.is_reference:
            encoder += ";8 bits"
        if header.has_palette and is_shrunk and not style.is_reference:
            encoder += ";without a palette"  # earlier versions left pixels out
        if header.is_turned and header.format == "TIFF":
            encoder += ";as stored"
        change = ImageChange.PNG if is_wanted else None
        return cls(path, style, target, mime, source, f"data:{mime};{source};{encoder}", change)

    def encoded_size(self) -> int:
        """Return about how many bytes `encoded` will have, without reading the image."""
        with suppress(OSError):  # to encode it will say so
            return self.path.stat().st_size * 4 // 3
        return 0

    def encoded(self) -> tuple[bytes, WH]:
        """Return the image as it is sent, in base64, and its size then.

        Raises:
            UserError: the format cannot hold it.
        """
        try:
            return _encoded(self.path, self.target, self.style)
        except (OSError, ValueError) as error:
            raise UserError(f"{self.path}: cannot be sent as the settings ask: {error}") from None


@cached_by_file(CACHED_BYTES, weigh=lambda encoded: len(encoded[0]))
def _encoded(path: Path, target: str | None, style: ImageStyle) -> tuple[bytes, WH]:
    if target is None:
        content = path.read_bytes()
        header = read_header(path)
        if header.is_turned and style.image_format != "original":
            content = as_stored(content)
        return pybase64.b64encode(content), header.wh
    options = {}
    with decoded_image(path) as image:
        if not style.is_reference:
            image = in_8_bits(image)
        if style.is_reference and image.mode in ("RGBA", "P", "LA"):
            # parity: alpha is dropped, not blended; other modes go as the writer takes them.
            image = image.convert("RGB")
        image = shrink(image, style.img_size, keeps_mode=style.is_reference)
        if resized_wh(style.resize, image.size) != image.size:
            image = resized(style.resize, on_white(image))
            options["compress_level"] = 1  # most of the time goes into the last few per cent
        if target == "JPEG" and not style.is_reference and image.mode not in ("RGB", "L"):
            image = on_white(image)
        if target == "JPEG":
            quality = JPEG_QUALITY_REFERENCE if style.is_reference else style.jpeg_quality
            options["quality"] = quality
        data = encode(image, target, **options)
    return pybase64.b64encode(data), image.size


def chat_messages(
    messages: Sequence[Message], style: ImageStyle, *, is_custom_prompt: bool = False
) -> list[dict[str, Any]]:
    """Return chat messages in the configured wire format, with `ImageSlot`s for data URLs.

    Raises:
        UserError: an unknown type of message, or an image that cannot be read.
    """
    chat: list[dict[str, Any]] = []
    for message in messages:
        role = message["role"]
        if message["type"] == "message":
            chat.append(dict(message["value"]))
            continue
        if role == "tool":
            _add_tool_result(chat, message, style)
            continue
        is_system_text = role == "system" and message["type"] == "text"
        if style.is_reference and is_system_text and not is_custom_prompt:
            # parity: the default prompt's system text is a plain string with a line feed added.
            chat.append({"role": role, "content": f"{message['value']}\n"})
            continue
        # parity: in the reference format every part is a message of its own. What a model has said
        # in two turns of an episode stays two messages anywhere.
        is_apart = style.is_reference or role == "assistant" or message.get("turn") == "new"
        if is_apart or not chat or chat[-1]["role"] != role:
            chat.append({"role": role, "content": []})
        chat[-1]["content"].append(_part(message, style))
    return chat


def _add_tool_result(chat: list[dict[str, Any]], message: Message, style: ImageStyle) -> None:
    """Add what came of a tool call: a plain text, or parts where an image belongs to it."""
    is_more = bool(chat) and chat[-1].get("tool_call_id") == message["call_id"]
    if not is_more and message["type"] == "text":
        content = message["value"]
        chat.append({"role": "tool", "tool_call_id": message["call_id"], "content": content})
        return
    if not is_more:
        chat.append({"role": "tool", "tool_call_id": message["call_id"], "content": []})
    content = chat[-1]["content"]
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    chat[-1]["content"] = [*parts, _part(message, style)]


def _part(message: Message, style: ImageStyle) -> dict[str, Any]:
    if message["type"] == "text":
        return {"type": "text", "text": message["value"]}
    if message["type"] != "image":
        raise UserError(f"a prompt message has type {message['type']!r}; known: text, image")
    image: dict[str, Any] = {"url": image_to_send(str(message["value"]), style)}
    if style.img_detail is not None:
        image["detail"] = style.img_detail
    return {"type": "image_url", "image_url": image}


def image_to_send(value: str, style: ImageStyle) -> ImageSlot | str:
    """Return the slot of the image file that a message names; a URL is sent as it is.

    Raises:
        UserError: it cannot be read, or the settings ask for another size of a URL's image.
    """
    file = image_file(value)
    if file is not None:
        return ImageSlot.of(file, style)
    setting = f"img_size {style.img_size}" if style.img_size > 0 else "resize"
    if style.img_size > 0 or style.resize:
        raise UserError(f"kwargs.{setting} needs an image file, not {value[:80]!r}")
    return value


def plain_messages(chat: Any) -> list[Message]:
    """Return chat messages, or input items, for people: a message for each part, no images."""
    messages: list[Message] = []
    for chat_message in chat:
        content = chat_message.get("content")
        parts = list(content) if isinstance(content, (list, tuple)) else [content]
        role = str(chat_message.get("role", "assistant"))
        if "role" not in chat_message:  # an item of the Responses API
            is_result = "output" in chat_message
            role = "tool" if is_result else "assistant"
            output = chat_message["output"] if is_result else chat_message
            parts = output if isinstance(output, list) else [output]
        calls = chat_message.get("tool_calls") or []
        if calls:
            parts = [*filter(None, parts), *calls]
        for part in parts:
            if isinstance(part, Mapping) and "image_url" in part:
                messages.append({"role": role, "type": "image", "value": ""})
                continue
            text = part.get("text", part) if isinstance(part, Mapping) else part
            if not isinstance(text, str):
                text = json.dumps(text, default=str)
            messages.append({"role": role, "type": "text", "value": text})
    return messages


def without_images(value: Any, images: list[Any]) -> Any:
    """Return a part of a request without its images, equal for equal requests.

    An image is what stands under "image_url". A slot and a data URL count by the bytes that are
    sent; 0.0 is the same number as 0.

    Args:
        value: the part.
        images: gets the images, in their order.
    """
    if isinstance(value, Mapping):
        if "image_url" in value:
            images.append(value["image_url"])
        return {
            key: without_images(item, images) for key, item in value.items() if key != "image_url"
        }
    if isinstance(value, (list, tuple)):
        return [without_images(item, images) for item in value]
    if isinstance(value, ImageSlot):
        return value.identity
    if isinstance(value, str) and value.startswith("data:"):
        head, _, data = value.partition(";base64,")
        with suppress(ValueError):
            return f"{head};{bytes_digest(pybase64.b64decode(data, validate=True))}"
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def data_url_wh(url: Any) -> WH | None:
    """Return the size of the image in a data URL; None for what Pillow cannot read."""
    head, _, data = str(url).partition(";base64,")
    if not head.startswith("data:image/"):
        return None
    from PIL import Image

    try:
        return Image.open(io.BytesIO(pybase64.b64decode(data))).size
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return None  # the server took it; what Pillow makes of it is no matter


def encode_body(request: Mapping[str, Any]) -> bytes:
    """Return the request as JSON; see `encode_pieces`."""
    return b"".join(encode_pieces(request, {}))


def encode_pieces(request: Mapping[str, Any], image_whs: dict[int, WH]) -> list[bytes]:
    """Return the request as JSON in pieces.

    Images are put in as base64 without passing through the JSON writer.

    Args:
        request: the body with images in their slots.
        image_whs: gets the size in pixels of each image as it is sent, by the `id` of its slot.

    Raises:
        UserError: an image cannot be sent as the settings ask, or a value is no JSON.
    """
    slots: list[ImageSlot] = []

    def mark(value: Any) -> str:
        if not isinstance(value, ImageSlot):
            raise UserError(
                f"the request holds a {type(value).__name__}, which JSON cannot carry: "
                f"{value!r:.80}"
            )
        slots.append(value)
        return _SLOT_MARK

    text = json.dumps(request, default=mark, allow_nan=False, separators=(",", ":"))
    pieces = text.encode("ascii").split(_SLOT_MARK.encode("ascii"))
    body = [pieces[0]]
    for slot, piece in zip(slots, pieces[1:], strict=True):
        data, image_whs[id(slot)] = slot.encoded()
        body[-1] += f"data:{slot.mime};base64,".encode("ascii")
        body += [data, piece]
    return body
