"""Bodies on their way to a server: images are encoded when it is their turn, and let go when sent.

A request waits much longer for its reply than its body takes to be sent. So hundreds of requests
may be in flight with images of megabytes each, and only those that are being sent take memory.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from models.wrappers.api.wire import ImageSlot, encode_pieces
from utils.contracts import WH

MOST_BYTES = 32 * 1024 * 1024  # being sent to one server at once; one body alone may be larger
LARGEST_WHOLE = 256 * 1024  # bytes; smaller bodies are sent, and kept, in one piece


class Body:
    """The body of one request, whose pieces are taken once.

    Attributes:
        size: in bytes.
        content: what the client gets: all of a small body, or this to take the pieces of.
        image_whs: the size in pixels of each image in it, by the `id` of its slot.
    """

    def __init__(self, request: Mapping[str, Any], sending: Sending, reserved: int) -> None:
        self.image_whs: dict[int, WH] = {}
        pieces = encode_pieces(request, self.image_whs)
        self.size = sum(map(len, pieces))
        self.content: bytes | Iterable[bytes] = self
        if self.size <= LARGEST_WHOLE:
            self.content = b"".join(pieces)
            pieces = []
        self._pieces = pieces[::-1]
        self._sending, self._reserved = sending, reserved

    def __iter__(self) -> Iterator[bytes]:
        while self._pieces:
            yield self._pieces.pop()
        self.close()

    def close(self) -> None:
        """Note that it is sent, or will not be."""
        self._pieces = []
        if self._reserved:
            reserved, self._reserved = self._reserved, 0
            self._sending.give_back(reserved)


class Sending:
    """Bounds the bytes of all bodies that are being sent to a server.

    Args:
        most_bytes: at once.
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._bytes = 0
        self._changed = threading.Condition()

    def body(self, request: Mapping[str, Any], urls: Sequence[Any]) -> Body:
        """Wait until there is room for a request's body; return it, for the caller to close.

        Args:
            request: the body with images in their slots.
            urls: of its images: slots, and what a user's function put there.

        Raises:
            UserError: an image cannot be sent as the settings ask.
        """
        size = sum(url.encoded_size() for url in urls if isinstance(url, ImageSlot))
        if size <= LARGEST_WHOLE:
            return Body(request, self, 0)
        with self._changed:
            while self._bytes and self._bytes + size > self._most_bytes:
                self._changed.wait()
            self._bytes += size
        try:
            return Body(request, self, size)
        except BaseException:
            self.give_back(size)
            raise

    def give_back(self, size: int) -> None:
        """Let others have so many bytes."""
        with self._changed:
            self._bytes -= size
            self._changed.notify_all()
