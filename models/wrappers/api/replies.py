"""What a server sent back, as plain facts: an answer, or what kind of failure it was."""

from __future__ import annotations

import errno
import json
import socket
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from utils.contracts import CallError, Generation, Sizes

LONGEST_ERROR_BODY = 64 * 1024
UNREACHABLE = {errno.EHOSTUNREACH, errno.ENETUNREACH, errno.EHOSTDOWN, errno.ENETDOWN}
TOOL_CALLS = (
    "the server sent a native tool call and no text, and only text is read: start the server "
    "without its tool-call parser (vLLM without --enable-auto-tool-choice and --tool-call-parser, "
    "SGLang without --tool-call-parser), so that the call stays in the text, and send no tools"
)
LARGEST_REPLY = 64 * 1024 * 1024  # unpacked: 2 MB may be packed so that they take gigabytes


class ReplyTooLarge(Exception):
    """More than anybody has to say."""


def keep_small(response: Any) -> None:
    """Reads the body of a response that has just begun; `ReplyTooLarge` where it is too large."""
    body = bytearray()
    for piece in response.iter_bytes():
        body += piece
        if len(body) > LARGEST_REPLY:
            raise ReplyTooLarge(f"the reply is larger than {LARGEST_REPLY >> 20} MB")
    response._content = bytes(body)  # where `read` would leave it


def read_reply(body: bytes, image_sizes: Sequence[Sizes]) -> Generation:
    """The body of a 200 answer as a `Generation`.

    No text because the limit of tokens came first (a model that thinks before it answers) is what
    the model has to say: an answer that is empty, cut off and unparsed, not queried again.

    Raises:
        CallError: no JSON, no choices, no text for another reason, withheld by a content filter,
            or refused by the model in the field that the API has for that; a native tool call in
            place of a text; or the error that a router learned of after it had begun a 200 answer.
    """
    try:
        answer = json.loads(body)
        error = answer.get("error")  # beside an answer some have an empty one
        if isinstance(error, Mapping) and error.get("code") in range(400, 600):
            why = f"HTTP {error['code']}, in a 200 response: {_excerpt(body)}"
            raise CallError("http", why, int(error["code"]))
        choice = answer["choices"][0]
        message = choice["message"]
        text = message.get("content")
        if isinstance(text, list):  # some servers send parts
            text = "".join(part["text"] for part in text if part.get("type") == "text")
        if not isinstance(text, str | None):
            raise TypeError(type(text))
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        why = "the server's answer is not a chat completion (does the base URL end in /v1?)"
        raise CallError("bad_body", f"{why}: {_excerpt(body)}") from None
    if not text and message.get("tool_calls"):
        raise CallError("tool_calls", TOOL_CALLS, reply=_excerpt(body))
    finish_reason, usage = choice.get("finish_reason"), answer.get("usage")
    refusal = message.get("refusal")
    is_broken_off = finish_reason in ("error", "abort")  # as routers have it, and servers
    if is_broken_off or (not text and (refusal or finish_reason != "length")):
        kind = "content_filter" if finish_reason == "content_filter" else "bad_body"
        lacks = "broke off" if is_broken_off else "has no text"
        why = f"the answer {lacks} (finish_reason {finish_reason!r})"
        if refusal:
            kind, why = "refusal", f"the model refused to answer: {refusal}"
        raise CallError(kind, why, reply=_excerpt(body))
    counts = usage.items() if isinstance(usage, Mapping) else ()
    return Generation(
        text=text or "",
        finish_reason=finish_reason,
        usage={name: count for name, count in counts if isinstance(count, int)},
        image_sizes=image_sizes,
        reasoning=message.get("reasoning_content") or message.get("reasoning"),
    )


def as_call_error(error: Exception, latency_s: float, key_place: str) -> CallError:
    """The client's exception as plain facts.

    Args:
        key_place: where the key came from, which a 401 refuses.
    """
    import httpx2
    import openai

    if isinstance(error, openai.APIStatusError):
        status, headers = error.status_code, error.response.headers
        text = f"HTTP {status}: {_excerpt(error.response.content)}"
        if 300 <= status < 400 and "location" in headers:
            advice = "which is not followed; if that is the right address, write it into model_path"
            text = f"HTTP {status}: the server redirects to {headers['location']}, {advice}"
        elif status == 401:
            text += f" - {key_place}"
        code = error.code if isinstance(error.code, str) else None
        return CallError("http", text, status, code, _retry_after_s(headers))
    kind, text = "bad_body", f"{type(error).__name__}: {error}"
    if isinstance(error, openai.APITimeoutError):
        kind, text = "timeout", f"no answer within {latency_s:.1f} s"
        if isinstance(error.__cause__, httpx2.ConnectTimeout):
            kind, text = "unreachable", f"no connection within {latency_s:.1f} s"
    elif isinstance(error, openai.APIConnectionError):
        causes: list[BaseException] = [error]
        while cause := causes[-1].__cause__ or causes[-1].__context__:
            causes.append(cause)
        kind, text = "connection", f"connection failed: {causes[-1]}"
        if isinstance(causes[-1], ReplyTooLarge):
            kind, text = "bad_body", str(causes[-1])
        elif any("refused" in str(cause).lower() for cause in causes):
            kind = "refused_connection"
        elif any(isinstance(cause, socket.gaierror) for cause in causes):
            kind = "dns"
        elif getattr(causes[-1], "errno", None) in UNREACHABLE:
            kind = "unreachable"
    return CallError(kind, text)


def _retry_after_s(headers: Mapping[str, str]) -> float | None:
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        with suppress(KeyError, ValueError):
            return max(0.0, float(headers[name]) * scale)
    return None


def _excerpt(body: bytes) -> str:
    """The body on one line; whoever shows it shortens it, after secrets have been removed."""
    return " ".join(body[:LONGEST_ERROR_BODY].decode("utf-8", "replace").split()) or "(empty)"
