"""A streamed reply (server-sent events), put together into the body that it would be unstreamed.

Some servers stream whether asked or not, so every body is looked at.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from models.wrappers.api.bodies import excerpt, load_json
from utils.contracts import CallError

_BEGINNING = re.compile(rb"(\xef\xbb\xbf)?\s*(data|event|id|retry)?:")
_BOUNDARY = re.compile(r"\r\n|\n|\r")  # U+2028, which `splitlines` takes for one, is text
_END = "[DONE]"
_LAST_EVENTS = {"response.completed", "response.incomplete", "response.failed"}


def is_stream(body: bytes) -> bool:
    """Whether a body is a stream of events, whatever its content type says."""
    return _BEGINNING.match(body) is not None


def joined_completion(body: bytes) -> Any:
    """Return the chat completion that the events of a stream make up, or the error that ended it.

    Raises:
        CallError: it broke off: what came is not the whole reply.
    """
    choice: dict[str, Any] = {"message": {"role": "assistant", "content": None}}
    usage = None
    is_over = has_choice = False
    for name, event in _events(body):
        if event is None:
            is_over = True
            continue
        if "error" in (name, event.get("object")) or event.get("error"):
            return event if event.get("error") else {"error": event}
        usage = event.get("usage") or usage
        for part in event.get("choices") or ():
            if part.get("index") in (0, None):
                has_choice = True
                _add_choice(choice, part)
                usage = part.get("usage") or usage  # Moonshot's
    if not has_choice:
        return next((event for _, event in _events(body) if event), None)
    if not is_over and not choice.get("finish_reason"):
        raise _broken_off(body)
    for call in choice["message"].get("tool_calls", ()):
        del call["index"]  # of streams alone
    return {"choices": [choice], "usage": usage}


def joined_response(body: bytes) -> Any:
    """Return the response of the Responses API that a stream ends with, or the error.

    Raises:
        CallError: it broke off before its end.
    """
    for name, event in _events(body):
        if event is None:
            continue
        kind = event.get("type") or name
        if kind in _LAST_EVENTS and "response" in event:
            return event["response"]
        if kind == "error" or event.get("error"):
            return event if event.get("error") else {"error": event}
    raise _broken_off(body)


def _broken_off(body: bytes) -> CallError:
    return CallError("bad_body", f"the stream of the reply broke off: {excerpt(body)}")


def _events(body: bytes) -> Iterator[tuple[str, Any]]:
    """Yield name and content of each event; None for the one that says that there are no more.

    An event that is no JSON object is left out: the last one of a stream that broke off is not.
    """
    name = ""
    data: list[str] = []
    for line in [*_BOUNDARY.split(body.decode("utf-8-sig", "replace")), ""]:
        field, _, value = line.partition(":")
        if field.strip() == "data":
            data.append(value.strip())
        elif field == "event":
            name = value.strip()
        elif not line:
            for content in _contents(data):
                yield name, content
            name = ""
            data = []


def _contents(data: list[str]) -> Iterator[Any]:
    """Yield what the lines of an event hold: one JSON text, or one each where servers hurry."""
    content_of_all = _json_object("\n".join(data))
    if content_of_all is not None:
        yield content_of_all
        return
    for text in data:
        content = _json_object(text)
        if text.upper() == _END or content is not None:
            yield content


def _json_object(text: str) -> Any:
    try:
        value = load_json(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, Mapping) else None


def _add_choice(choice: dict[str, Any], part: Mapping[str, Any]) -> None:
    """Add the next part of a choice: of a message, or a whole one in the place of its parts.

    A server that hurries sends only a whole message. MiniMax sends it behind the parts.
    """
    choice["finish_reason"] = part.get("finish_reason") or choice.get("finish_reason")
    if part.get("error"):
        choice["error"] = part["error"]
    message = choice["message"]
    parts = part.get("delta")
    for name, value in (parts or part.get("message") or {}).items():
        if name == "role" or value is None:
            continue
        if value and not parts:
            message.pop(name, None)
        if name == "tool_calls":
            for call in value or ():
                _add_call(message.setdefault("tool_calls", []), call)
        else:
            message[name] = _sum_of(message.get(name), value)


def _sum_of(before: Any, value: Any) -> Any:
    """The sum of two parts of a field: texts and lists grow, all else is replaced."""
    if isinstance(before, str) and isinstance(value, list):
        before = [before] if before else []
    if isinstance(before, list) and isinstance(value, str):
        value = [value]
    is_alike = isinstance(before, str | list) and type(before) is type(value)
    return before + value if is_alike else value


def _add_call(calls: list[dict[str, Any]], part: Mapping[str, Any]) -> None:
    """Add a part of a tool call to the call it belongs to, or begin one.

    Calls are told apart by their index. Gemini numbers all of them 0, each with a name and an id of
    its own; old vLLM gives each part of one call another id.
    """
    function = part.get("function") or {}
    index, call_id = part.get("index"), part.get("id")
    call = next((call for call in reversed(calls) if index in (None, call["index"])), None)
    if call is not None and function.get("name") and (call_id or index is None):
        is_begun = call_id is not None and call_id == call.get("id")
        call = call if is_begun else None
    if call is None:
        call = {"index": index}
        calls.append(call)
    for field, value in part.items():
        if field == "function":
            _add_function(call.setdefault("function", {}), function)
        elif value is not None:
            call.setdefault(field, value)


def _add_function(function: dict[str, Any], part: Mapping[str, Any]) -> None:
    for field, value in part.items():
        if field == "arguments" and value is not None:
            function[field] = _sum_of(function.get(field), value)
        elif value:
            function.setdefault(field, value)
