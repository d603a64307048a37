"""Whether a name stands for a secret: of a variable, a config key, a query parameter, a header."""

from __future__ import annotations

import re

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_ALWAYS = ("secret", "passw", "passphrase", "credential", "authorization", "apikey")
# Beside one of these a "key" or "token" is a place, a count, or a piece of text.
_ABOUT = {"path", "file", "dir", "type", "format", "style", "limit", "count", "max", "min", "num"}
_PIECES = {  # in the settings of models; a variable of the environment is no tokenizer's
    "eos", "bos", "pad", "unk", "sep", "cls", "mask", "stop", "start", "end", "special", "think",
    "image", "video", "audio", "vision", "box", "prefix", "suffix", "first", "last", "next", "new",
    "hot", "public", "primary", "foreign", "sort", "group", "cache", "points", "frame",
}  # fmt: skip
_SEVERAL = re.compile(r"(api|access|auth|secret|private|bearer|refresh)(keys|tokens)")

_ORDINARY_HEADERS = {
    "accept", "accept-encoding", "accept-language", "anthropic-beta", "anthropic-version",
    "api-version", "cache-control", "connection", "content-type", "http-referer", "openai-beta",
    "origin", "referer", "user-agent", "version", "x-api-version", "x-title",
}  # fmt: skip


def is_secret_name(name: str) -> bool:
    """Whether what bears this name is a secret: `OPENAI_API_KEY`, `x-auth`; not `max_tokens`."""
    words = [word.lower() for word in _WORD.findall(name)]
    squeezed = "".join(words)
    if any(part in squeezed for part in _ALWAYS) or _SEVERAL.search(squeezed):
        return True
    if not words or _ABOUT & set(words) or (not name.isupper() and _PIECES & set(words)):
        return False
    return words[-1] == "auth" or any(word.endswith(("key", "token")) for word in words)


def is_ordinary_header(name: str) -> bool:
    """Whether a header or query parameter is known to hold no secret; all others may hold one.

    Gateways call theirs what they like: `Ocp-Apim-Subscription-Key`, `Helicone-Auth`, `X-Team`.
    """
    return name.lower().replace("_", "-") in _ORDINARY_HEADERS
