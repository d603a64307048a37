"""What a server sent back: its body within a time limit, as an answer or as a kind of failure."""

from __future__ import annotations

import errno
import json
import socket
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from utils.contracts import CallError, Generation, Sizes, ToolCall

LONGEST_ERROR_BODY = 64 * 1024
UNREACHABLE = {errno.EHOSTUNREACH, errno.ENETUNREACH, errno.EHOSTDOWN, errno.ENETDOWN}
LARGEST_REPLY = 64 * 1024 * 1024  # unpacked: 2 MB may be packed so that they take gigabytes


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


def read_reply(body: bytes, image_sizes: Sequence[Sizes]) -> Generation:
    """Return the body of a 200 response as a `Generation`.

    No text because the limit of tokens came first (a model that thinks before it answers) is what
    the model has to say: an answer that is empty, cut off and unparsed, not queried again.

    Raises:
        CallError: no JSON, no choices, neither text nor tool call for another reason, withheld by
            a content filter, or refused by the model in the field that the API has for that; or
            the error that a router learned of after it had begun a 200 answer.
    """
    try:
        completion = json.loads(body)
        if completion.get("error"):
            check_error(completion, body)
        choice = completion["choices"][0]
        message = choice["message"]
        text = message.get("content")
        if isinstance(text, list):  # some servers send parts
            text = "".join(part["text"] for part in text if part.get("type") == "text")
        if not isinstance(text, str | None):
            raise TypeError(type(text))
        calls = [
            tool_call(call["id"], call["function"]["name"], call["function"]["arguments"])
            for call in message.get("tool_calls") or ()
        ]
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        problem = "the server's answer is not a chat completion (does the base URL end in /v1?)"
        raise CallError("bad_body", f"{problem}: {excerpt(body)}") from None
    finish_reason = choice.get("finish_reason")
    is_broken_off = finish_reason in ("error", "abort")  # as routers have it, and servers
    if is_broken_off or not (text or calls):
        refusal = message.get("refusal")
        if refusal:
            problem = f"the model refused to answer: {refusal}"
            raise CallError("refusal", problem, reply=excerpt(body))
        if is_broken_off or finish_reason != "length":
            lacks = "broke off" if is_broken_off else "has no text"
            problem = f"the answer {lacks} (finish_reason {finish_reason!r})"
            kind = "content_filter" if finish_reason == "content_filter" else "bad_body"
            raise CallError(kind, problem, reply=excerpt(body))
    repeated = {name: value for name, value in message.items() if value or name == "content"}
    if calls:
        repeated["tool_calls"] = [
            _repeatable(raw, call) for raw, call in zip(message["tool_calls"], calls, strict=True)
        ]
    return Generation(
        text=text or "",
        finish_reason=finish_reason,
        usage=token_counts(completion.get("usage")),
        image_sizes=image_sizes,
        reasoning=message.get("reasoning_content") or message.get("reasoning"),
        tool_calls=calls,
        message={"role": "assistant", "content": None, **repeated},
    )


def _repeatable(raw: Mapping[str, Any], call: ToolCall) -> dict[str, Any]:
    """Return a raw tool call as a server takes it again: broken JSON would be refused."""
    if isinstance(call["arguments"], Mapping):
        return dict(raw)
    return {**raw, "function": {**raw["function"], "arguments": "{}"}}


def check_error(answer: Any, body: bytes) -> None:
    """Raise the error in a 200 answer that has one; beside an answer some have an empty one."""
    error = answer.get("error")
    if isinstance(error, Mapping) and error.get("code") in range(400, 600):
        raise CallError(
            "http", f"HTTP {error['code']}, in a 200 response: {excerpt(body)}", int(error["code"])
        )


def tool_call(call_id: str, name: str, arguments: Any) -> ToolCall:
    """Return a native tool call; arguments that are no JSON object stay the text they are."""
    try:
        parsed = json.loads(arguments, strict=False)  # models write line feeds as they are
    except (ValueError, TypeError, RecursionError):
        parsed = arguments
    is_object = isinstance(parsed, Mapping)
    return {"id": call_id, "name": name, "arguments": parsed if is_object else arguments}


def token_counts(usage: Any) -> dict[str, int]:
    """Return the token counts as the server names them, and by the names that are summed up."""
    items = usage.items() if isinstance(usage, Mapping) else ()
    counts = {name: count for name, count in items if isinstance(count, int)}
    for name, other in (("prompt_tokens", "input_tokens"), ("completion_tokens", "output_tokens")):
        if other in counts:
            counts.setdefault(name, counts[other])
    return counts


def as_call_error(error: Exception, latency_s: float, key_place: str) -> CallError:
    """Return the client's exception as plain facts.

    Args:
        error: what the client raised.
        latency_s: time since the request was sent.
        key_place: where the key came from, which a 401 refuses.
    """
    import httpx2
    import openai

    if isinstance(error, openai.APIStatusError):
        return _of_status(error, key_place)
    if isinstance(error, openai.APITimeoutError):
        if isinstance(error.__cause__, httpx2.ConnectTimeout):
            return CallError("unreachable", f"no connection within {latency_s:.1f} s")
        return CallError("timeout", f"no answer within {latency_s:.1f} s")
    if isinstance(error, openai.APIConnectionError):
        return _of_connection(error)
    return CallError("bad_body", f"{type(error).__name__}: {error}")


def _of_status(error: Any, key_place: str) -> CallError:
    status = error.status_code
    headers = error.response.headers
    text = f"HTTP {status}: {excerpt(error.response.content)}"
    if 300 <= status < 400 and "location" in headers:
        text = (
            f"HTTP {status}: the server redirects to {headers['location']}, which is not "
            "followed; if that is the right address, write it into model_path"
        )
    elif status == 401:
        text += f" - {key_place}"
    code = error.code if isinstance(error.code, str) else None
    return CallError("http", text, status, code, _retry_after_s(headers))


def _of_connection(error: BaseException) -> CallError:
    causes = [error]
    while cause := causes[-1].__cause__ or causes[-1].__context__:
        causes.append(cause)
    root = causes[-1]
    if isinstance(root, ReplyTooLarge):
        return CallError("bad_body", str(root))
    if any("refused" in str(cause).lower() for cause in causes):
        kind = "refused_connection"
    elif any(isinstance(cause, socket.gaierror) for cause in causes):
        kind = "dns"
    elif getattr(root, "errno", None) in UNREACHABLE:
        kind = "unreachable"
    else:
        kind = "connection"
    return CallError(kind, f"connection failed: {root}")


def _retry_after_s(headers: Mapping[str, str]) -> float | None:
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        with suppress(KeyError, ValueError):
            return max(0.0, float(headers[name]) * scale)
    return None


def excerpt(body: bytes) -> str:
    """Return the body on one line; whoever shows it shortens it, once secrets are removed."""
    return " ".join(body[:LONGEST_ERROR_BODY].decode("utf-8", "replace").split()) or "(empty)"
