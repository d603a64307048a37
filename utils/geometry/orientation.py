"""The orientation tag of image files: where it stands, and the same file without it.

Cameras and phones store an image as the sensor lies and note how to turn it. Some servers and
libraries turn it, others do not, so one answer's coordinates lie in another frame than the next
one's. Boxes of annotations belong to the pixels as stored.

The tag stands in EXIF data (a segment of a JPEG, a chunk of a PNG or WebP, a TIFF itself) or as
text in XMP data. Its value is overwritten with 1, "as stored"; not a byte moves.
"""

from __future__ import annotations

import io
import re
import struct
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

AS_STORED = 1
TAG = 0x0112
EXIF = b"Exif\0\0"
XMP = b"http://ns.adobe.com/xap/1.0/\0"
PNG = b"\x89PNG\r\n\x1a\n"
XMP_KEYWORD = b"XML:com.adobe.xmp"
PROFILE_KEYWORDS = (b"Raw profile type exif", b"Raw profile type APP1")  # hexadecimal, before eXIf
IN_XMP = re.compile(rb"tiff:Orientation\s*(?:=\s*[\"']|>)\s*([2-8])")
MARKERS_ALONE = {0x01, *range(0xD0, 0xD9)}  # of a JPEG, without a length
START_OF_SCAN, END_OF_IMAGE, APP1 = 0xDA, 0xD9, 0xE1
LARGEST_BLOCK = 1 << 24  # bytes of metadata that are looked through
INTEGERS = {1: "B", 3: "H", 4: "I"}  # by their number in a TIFF: formats of `struct`


@dataclass(frozen=True, slots=True)
class Block:
    """A part of a file that may hold the tag."""

    start: int  # in the file
    content: bytes
    as_stored: Callable[[bytes], bytes]  # the same content with a tag that says so
    is_checked: bool = False  # a checksum of it, and of the four bytes before, follows (PNG)


@dataclass(frozen=True, slots=True)
class Change:
    """Bytes that stand in place of others."""

    start: int
    content: bytes


def is_turned(path: Path) -> bool:
    """Whether a file says that its image is to be turned or mirrored.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb", buffering=0) as file:
        return any(True for _ in _changes(file))


def as_stored(content: bytes) -> bytes:
    """The content of an image file, with an orientation tag that says "as stored" if it has one."""
    changed = bytearray(content)
    for change in _changes(io.BytesIO(content)):
        changed[change.start : change.start + len(change.content)] = change.content
    return bytes(changed)


def _changes(file: BinaryIO | io.FileIO) -> Iterator[Change]:
    """Yield the changes that must be made."""
    for block in _blocks(file):
        content = block.as_stored(block.content)
        if content == block.content:
            continue
        yield Change(block.start, content)
        if block.is_checked:
            file.seek(block.start - 4)
            checksum = zlib.crc32(content, zlib.crc32(file.read(4)))
            yield Change(block.start + len(content), struct.pack(">I", checksum))


def _xmp_as_stored(content: bytes) -> bytes:
    return IN_XMP.sub(lambda match: match[0][:-1] + b"1", content)


def _tiff_as_stored(content: bytes) -> bytes:
    """EXIF data, which is a TIFF without an image, with the changed tag."""
    changed = bytearray(content)
    for offset, value in _in_tiff(content):
        changed[offset : offset + len(value)] = value
    return bytes(changed)


def _in_tiff(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the offset and new value of the tag."""
    start = len(EXIF) if content.startswith(EXIF) else 0
    order = {b"II": "<", b"MM": ">"}.get(content[start : start + 2])
    if order is None or len(content) < start + 8:
        return
    (directory,) = struct.unpack_from(f"{order}I", content, start + 4)
    offset = start + directory
    if offset + 2 > len(content):
        return
    (count,) = struct.unpack_from(f"{order}H", content, offset)
    for entry in range(offset + 2, min(offset + 2 + 12 * count, len(content) - 11), 12):
        tag, kind, _ = struct.unpack_from(f"{order}HHI", content, entry)
        number = order + INTEGERS.get(kind, "H")
        if tag == TAG and struct.unpack_from(number, content, entry + 8)[0] != AS_STORED:
            yield entry + 8, struct.pack(number, AS_STORED)


def _text_as_stored(content: bytes) -> bytes:
    """A text chunk of a PNG; one that hides the tag gets a keyword that nobody looks for."""
    keyword, _, rest = content.partition(b"\0")
    if keyword == XMP_KEYWORD and rest.startswith(b"\0"):  # not compressed
        return _xmp_as_stored(content)
    if keyword != XMP_KEYWORD and keyword not in PROFILE_KEYWORDS:
        return content
    text = _inflated(rest)
    if keyword in PROFILE_KEYWORDS:
        text = _of_profile(text)
        is_turned = _tiff_as_stored(text) != text
    else:
        is_turned = IN_XMP.search(text) is not None
    return b"-" + content[1:] if is_turned else content


def _inflated(rest: bytes) -> bytes:
    """The text behind a keyword, which may be compressed: what begins like a stream of zlib."""
    for start in re.finditer(rb"\x78[\x01\x5e\x9c\xda]", rest[:300]):
        with suppress(zlib.error):
            return zlib.decompressobj().decompress(rest[start.start() :], LARGEST_BLOCK)
    return rest


def _of_profile(text: bytes) -> bytes:
    """The EXIF data of a profile: a line feed, its name, its length, then digits in lines."""
    with suppress(ValueError):
        return bytes.fromhex(b"".join(text.split(b"\n")[3:]).decode("ascii"))
    return b""


# -- where the tag may stand -----------------------------------------------------------------------


def _blocks(file: BinaryIO | io.FileIO) -> Iterator[Block]:
    head = file.read(12)
    if head.startswith(b"\xff\xd8"):
        yield from _of_jpeg(file)
    elif head.startswith(PNG):
        yield from _of_png(file)
    elif head.startswith(b"RIFF") and head[8:] == b"WEBP":
        yield from _of_webp(file)
    elif head.startswith((b"II*\0", b"MM\0*")):
        file.seek(0)
        yield Block(0, file.read(), _tiff_as_stored)


def _of_jpeg(file: BinaryIO | io.FileIO) -> Iterator[Block]:
    """Yield the APP1 segments ahead of the image's data."""
    offset = 2
    while True:
        file.seek(offset)
        head = file.read(4)
        if len(head) < 4 or head[0] != 0xFF or head[1] in (START_OF_SCAN, END_OF_IMAGE):
            return
        if head[1] == 0xFF:  # filling
            offset += 1
            continue
        if head[1] in MARKERS_ALONE:
            offset += 2
            continue
        length = int.from_bytes(head[2:], "big")
        if head[1] == APP1:
            content = file.read(length - 2) if length > 2 else b""
            if content.startswith(EXIF):
                yield Block(offset + 4, content, _tiff_as_stored)
            elif content.startswith(XMP):
                yield Block(offset + 4, content, _xmp_as_stored)
        offset += 2 + max(length, 2)


def _of_png(file: BinaryIO | io.FileIO) -> Iterator[Block]:
    """Yield the chunks of EXIF data and of texts, wherever they stand."""
    readers = {b"eXIf": _tiff_as_stored} | dict.fromkeys(
        (b"tEXt", b"zTXt", b"iTXt"), _text_as_stored
    )
    offset = len(PNG)
    while True:
        file.seek(offset)
        head = file.read(8)
        if len(head) < 8 or head[4:] == b"IEND":
            return
        length = int.from_bytes(head[:4], "big")
        if head[4:] in readers and length < LARGEST_BLOCK:
            content = file.read(length + 4)
            if len(content) == length + 4:  # with its checksum
                yield Block(offset + 8, content[:-4], readers[head[4:]], is_checked=True)
        offset += 12 + length


def _of_webp(file: BinaryIO | io.FileIO) -> Iterator[Block]:
    readers = {b"EXIF": _tiff_as_stored, b"XMP ": _xmp_as_stored}
    offset = 12
    while True:
        file.seek(offset)
        head = file.read(8)
        if len(head) < 8:
            return
        length = int.from_bytes(head[4:], "little")
        if head[:4] in readers and length < LARGEST_BLOCK:
            yield Block(offset + 8, file.read(length), readers[head[:4]])
        offset += 8 + length + length % 2
