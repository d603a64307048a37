"""A reply of chat completions, and what all APIs share: a reply as an answer or as a failure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from models.wrappers.api.bodies import excerpt, is_too_deep, load_arguments, load_json
from models.wrappers.api.failures import error_in
from models.wrappers.api.finish import Ending, ending_of, stored_finish_reason
from models.wrappers.api.streams import is_stream, joined_completion
from utils.contracts import CallError, Generation, Sizes, ToolCall

_REASONING_FIELDS = ("reasoning_content", "reasoning", "thinking")
_REASONING_PARTS = {"reasoning", "thinking", "thought", "reasoning_content", "reasoning_text"}
_TEXT_PARTS = {"text", "output_text", None}
_TEXT_FIELDS = ("text", "thinking", "reasoning", "content", "value")  # of parts, in this order


@dataclass(frozen=True, slots=True)
class Reply:
    """The content of a 200 response of any API."""

    text: str
    calls: Sequence[ToolCall]
    finish_reason: Any  # in the server's words
    usage: Any
    message: Any  # what repeats the reply in later turns
    reasoning: str | None = None
    reasoning_field: str = ""  # where that stood
    refusal: Any = None  # the model's own words, in the field that the API has for them


def read_reply(body: bytes, image_sizes: Sequence[Sizes]) -> Generation:
    """Return the body of a 200 response as a `Generation`.

    Raises:
        CallError: no JSON or no choices; the error that a router learned of after it had begun a
            200 answer; or as `answer_of`.
    """
    try:
        completion = joined_completion(body) if is_stream(body) else load_json(body)
        raise_error_in(completion, body)
        choice = completion["choices"][0]
        raise_error_in({"error": choice.get("error")}, body)
        reply = _reply_of(choice, completion.get("usage"))
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        problem = "the server's answer is not a chat completion (does the base URL end in /v1?)"
        raise CallError("bad_body", f"{problem}: {excerpt(body)}") from None
    return answer_of(reply, body, image_sizes)


def raise_error_in(answer: Any, body: bytes) -> None:
    """Raise the error in an answer; beside a reply it counts if it says what it is."""
    error = error_in(answer, body)
    if error and (error.status_code or not (answer.get("choices") or answer.get("output"))):
        raise error


def _reply_of(choice: Mapping[str, Any], usage: Any) -> Reply:
    """Return a choice of a completion; it raises what a lookup raises where that is none."""
    message = choice["message"]
    texts, thoughts = _texts_of(message.get("content"))
    fields = (name for name in _REASONING_FIELDS if message.get(name))
    field = next((name for name in fields if isinstance(message[name], str)), "")
    reasoning = message.get(field) or "".join(thoughts) or None
    raw_calls = message.get("tool_calls")
    raw_calls = raw_calls if isinstance(raw_calls, list) else []
    calls = [_call_of(call, number) for number, call in enumerate(raw_calls)]
    repeated = {
        name: value
        for name, value in message.items()
        if (value or name == "content") and not is_too_deep(value)
    }
    if calls:
        repeated["tool_calls"] = [
            _repeatable(raw, call) for raw, call in zip(raw_calls, calls, strict=True)
        ]
    else:
        repeated.pop("tool_calls", None)
    text = "".join(texts)
    return Reply(
        text,
        calls,
        choice.get("finish_reason"),
        usage,
        {"role": "assistant", "content": text or None, **repeated},
        reasoning,
        field or "a part of its content",
        message.get("refusal"),
    )


def answer_of(reply: Reply, body: bytes, image_sizes: Sequence[Sizes]) -> Generation:
    """Return a reply as an answer.

    No text because the limit of tokens came first (a model that thinks before it answers) is what
    the model has to say: an answer that is empty, cut off and unparsed, not queried again.

    Raises:
        CallError: neither text nor tool call for another reason, withheld by a content filter, or
            refused by the model in the field that the API has for that; or it broke off. An empty
            reply that ended as it should comes with the answer that it is if it stays so.
    """
    ending = ending_of(reply.finish_reason)
    generation = Generation(
        text=reply.text,
        finish_reason=stored_finish_reason(reply.finish_reason),
        usage=token_counts(reply.usage),
        image_sizes=image_sizes,
        reasoning=reply.reasoning,
        tool_calls=reply.calls,
        message=reply.message,
    )
    is_empty = not (reply.text or reply.calls)
    if ending is not Ending.BROKEN_OFF and (ending is Ending.CUT_OFF or not is_empty):
        return generation
    reason = f"(finish_reason {reply.finish_reason!r})"
    came_back = excerpt(body)
    if reply.refusal:
        problem = f"the model refused to answer: {reply.refusal}"
        raise CallError("refusal", problem, reply=came_back)
    if ending is Ending.BROKEN_OFF:
        raise CallError("bad_body", f"the answer broke off {reason}", reply=came_back)
    problem = f"the answer has no text {reason}"
    if ending is Ending.WITHHELD:
        raise CallError("content_filter", problem, reply=came_back)
    if reply.reasoning:
        problem += (
            f", but {reply.reasoning_field} has {len(reply.reasoning)} characters: the server's "
            "reasoning parser took the whole reply for thinking. Start the server with the "
            "reasoning parser of this model, or without one"
        )
    if ending is Ending.WHOLE:
        raise CallError("empty", problem, reply=came_back, empty_answer=generation)
    raise CallError("bad_body", problem, reply=came_back)


def _texts_of(content: Any) -> tuple[list[str], list[str]]:
    """Return the texts of a message's content and, set apart, those of its reasoning.

    Raises:
        TypeError: it is neither a text nor made of parts.
    """
    if content is None:
        return [], []
    if isinstance(content, str):
        return [content], []
    if not isinstance(content, list | Mapping):
        raise TypeError(type(content))
    texts: list[str] = []
    thoughts: list[str] = []
    for part in content if isinstance(content, list) else [content]:
        kind = None if isinstance(part, str) else part.get("type")
        if kind in _REASONING_PARTS:
            thoughts.append(_text_within(part))
        elif kind in _TEXT_PARTS:
            texts.append(_text_within(part))
    return texts, thoughts


def _text_within(part: Any) -> str:
    """Return the text of a part; TypeError: it has something else in its place."""
    if isinstance(part, str):
        return part
    if isinstance(part, list):
        return "".join(_text_within(item) for item in part)
    if isinstance(part, Mapping):
        return _text_within(next((part[name] for name in _TEXT_FIELDS if part.get(name)), ""))
    raise TypeError(type(part))


def _call_of(raw: Any, number: int) -> ToolCall:
    """Return one entry of a message's tool calls; what a server leaves out is made up.

    A call of a kind that is not known keeps what it has as arguments.
    """
    if not isinstance(raw, Mapping):
        return tool_call(f"call_{number}", "", raw)
    kind = raw.get("type") or "function"
    content = raw.get("function") or raw.get(kind)
    if not isinstance(content, Mapping):
        content = {name: value for name, value in raw.items() if name not in ("id", "type")}
    arguments = content.get("arguments", content.get("input"))
    if kind != "function" and arguments is None:
        arguments = {name: value for name, value in content.items() if name != "name"}
    call_id = raw.get("id") or raw.get("call_id") or f"call_{number}"
    return tool_call(str(call_id), str(content.get("name") or kind), arguments)


def _repeatable(raw: Any, call: ToolCall) -> Any:
    """Return a raw tool call as a server takes it again: whole, and without broken JSON."""
    if not isinstance(raw, Mapping) or is_too_deep({**raw, "function": None}):
        function = {"name": call["name"], "arguments": "{}"}
        return {"id": call["id"], "type": "function", "function": function}
    repeated = dict(raw)
    if raw.get("id") != call["id"]:
        repeated["id"] = call["id"]
    if isinstance(raw.get("function"), Mapping):
        repeated.setdefault("type", "function")
        is_plain = raw["function"].get("arguments") and isinstance(call["arguments"], Mapping)
        if not is_plain:
            repeated["function"] = {**raw["function"], "arguments": "{}"}
    return repeated


def tool_call(call_id: str, name: str, arguments: Any) -> ToolCall:
    """Return a native tool call; arguments that are no plain JSON object stay the text they are."""
    if arguments in (None, ""):
        return {"id": call_id, "name": name, "arguments": {}}
    if isinstance(arguments, str):
        try:
            parsed = load_arguments(arguments)
        except (ValueError, RecursionError):
            parsed = None
        arguments = parsed if isinstance(parsed, Mapping) else arguments
    elif is_too_deep(arguments):
        arguments = json.dumps(arguments)
    return {"id": call_id, "name": name, "arguments": arguments}


def token_counts(usage: Any) -> dict[str, int]:
    """Return the token counts as the server names them, and by the names that are summed up."""
    items = usage.items() if isinstance(usage, Mapping) else ()
    counts = {name: count for name, count in items if isinstance(count, int)}
    for name, other in (("prompt_tokens", "input_tokens"), ("completion_tokens", "output_tokens")):
        if other in counts:
            counts.setdefault(name, counts[other])
    return counts
