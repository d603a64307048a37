"""The body of a response: read within a time limit, as plain JSON or as an excerpt for people."""

from __future__ import annotations

import json
import math
import time
from typing import Any

LONGEST_ERROR_BODY = 64 * 1024
LARGEST_REPLY = 64 * 1024 * 1024  # unpacked: 2 MB may be packed so that they take gigabytes
DEEPEST = 100  # objects and lists inside each other; what copies and compares them recurses


class ReplyTooLarge(Exception):
    """The body of a reply has more bytes than `LARGEST_REPLY`."""


def note_start(request: Any) -> None:
    """Write the time into a request that is about to be sent (an event hook of the client)."""
    request.extensions["began_s"] = time.monotonic()


def read_body(response: Any) -> None:
    """Read the body of a response that has just begun (an event hook of the client).

    The client's own timeout is for each wait alone: a server that sends a byte now and then would
    be waited for without end. Here all of a request together may take as long.

    Raises:
        httpx2.ReadTimeout: time is up, and there is more to come.
        ReplyTooLarge: the body is too large.
    """
    import httpx2

    extensions = response.request.extensions
    timeout_s = extensions["timeout"]["read"]
    body = bytearray()
    for piece in response.iter_bytes():
        body += piece
        if len(body) > LARGEST_REPLY:
            raise ReplyTooLarge(f"the reply is larger than {LARGEST_REPLY >> 20} MB")
        if time.monotonic() - extensions["began_s"] > timeout_s:
            raise httpx2.ReadTimeout("the time limit of this request has passed")
    response._content = bytes(body)  # where `read` would leave it


def _finite(text: str) -> float | None:
    number = float(text)
    return number if math.isfinite(number) else None


def _refused(text: str) -> Any:
    raise ValueError(f"{text} is no number of JSON")


def _refused_float(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _refused(text)


# Making a decoder takes longer than reading a short reply.
_OF_BODIES = json.JSONDecoder(parse_constant=lambda name: None, parse_float=_finite)
_OF_ARGUMENTS = json.JSONDecoder(
    parse_constant=_refused,
    parse_float=_refused_float,
    strict=False,  # models write line feeds as they are
)


def load_json(text: str | bytes) -> Any:
    """The value of a JSON text; NaN and infinite numbers, which JSON lacks, become None.

    Raises:
        ValueError, RecursionError: it is no JSON, or nested too deeply to be read.
    """
    if isinstance(text, bytes):
        text = text.decode(json.detect_encoding(text), "surrogatepass")
    return _OF_BODIES.decode(text)


def load_arguments(text: str) -> Any:
    """The arguments of a tool call, from the text that models write.

    Raises:
        ValueError, RecursionError: they are no JSON, have numbers that JSON lacks, or are nested
            too deeply.
    """
    arguments = _OF_ARGUMENTS.decode(text)
    if is_too_deep(arguments):
        raise ValueError("nested too deeply")
    return arguments


def is_too_deep(value: Any) -> bool:
    """Whether objects and lists lie more than `DEEPEST` levels inside each other."""
    if isinstance(value, str):
        return False
    level = [value]
    for _ in range(DEEPEST):
        containers = [item for item in level if isinstance(item, (dict, list))]
        if not containers:
            return False
        level = [
            item
            for container in containers
            for item in (container.values() if isinstance(container, dict) else container)
        ]
    return any(isinstance(item, (dict, list)) for item in level)


def excerpt(body: bytes) -> str:
    """Return the body on one line; whoever shows it shortens it, once secrets are removed."""
    return " ".join(body[:LONGEST_ERROR_BODY].decode("utf-8", "replace").split()) or "(empty)"
