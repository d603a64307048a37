"""OpenAI's Responses API (`"api": "responses"`): its input items, and its answers.

Every request is whole by itself: the model's own items of earlier turns (reasoning, calls) go out
again as they came, so nothing has to be kept on the server and a run can go on at any moment.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from models.wrappers.api.bodies import excerpt, is_too_deep, load_json
from models.wrappers.api.replies import Reply, answer_of, raise_error_in, tool_call
from models.wrappers.api.streams import is_stream, joined_response
from models.wrappers.api.wire import ASSISTANT_IMAGE, ImageStyle, image_to_send
from utils.contracts import CallError, Generation, Message, Sizes, ToolCall
from utils.errors import UserError


def input_items(messages: Sequence[Message], style: ImageStyle) -> list[dict[str, Any]]:
    """Return the input of a request, with `ImageSlot`s for data URLs.

    Raises:
        UserError: an unknown type of message, or an image that cannot be read.
    """
    items: list[dict[str, Any]] = []
    calls: dict[str, Mapping[str, Any]] = {}
    for message in messages:
        role = message["role"]
        if message["type"] == "message":
            items += message["value"]
            calls |= {item["call_id"]: item for item in message["value"] if "call_id" in item}
        elif role == "tool" and message["call_id"] in calls:
            _add_result(items, calls[message["call_id"]], message, style)
        elif role == "assistant" and message["type"] == "image":
            raise UserError(ASSISTANT_IMAGE)
        elif role == "assistant":
            items.append({"role": role, "content": message["value"]})
        else:
            _add_part(items, "user" if role == "tool" else role, _part(message, style))
    return items


def _add_part(items: list[dict[str, Any]], role: str, part: dict[str, Any]) -> None:
    """Add a part to the last message, or begin one."""
    if not items or items[-1].get("role") != role:
        items.append({"role": role, "content": []})
    items[-1]["content"].append(part)


def _add_result(
    items: list[dict[str, Any]], call: Mapping[str, Any], message: Message, style: ImageStyle
) -> None:
    """Add what came of a call: text and images, or the one screenshot of a computer call."""
    part = _part(message, style)
    call_id = message["call_id"]
    if call["type"] != "computer_call":
        if items[-1].get("call_id") != call_id or "output" not in items[-1]:
            items.append({"type": "function_call_output", "call_id": call_id, "output": []})
        items[-1]["output"].append(part)
    elif message["type"] == "text":  # there is no room for one in the result
        _add_part(items, "user", part)
    else:
        output = {"type": "computer_screenshot", "image_url": part["image_url"]}
        if part["detail"] == "original":  # else the API shrinks it; other words are for messages
            output["detail"] = part["detail"]
        item = {"type": "computer_call_output", "call_id": call_id, "output": output}
        checks = call.get("pending_safety_checks")
        if checks:
            item["acknowledged_safety_checks"] = checks
        items.append(item)


def _part(message: Message, style: ImageStyle) -> dict[str, Any]:
    if message["type"] == "text":
        return {"type": "input_text", "text": message["value"]}
    if message["type"] != "image":
        raise UserError(f"a prompt message has type {message['type']!r}; known: text, image")
    return {
        "type": "input_image",
        "image_url": image_to_send(str(message["value"]), style),
        "detail": style.img_detail or "auto",
    }


def read_response(body: bytes, image_sizes: Sequence[Sizes]) -> Generation:
    """Return the body of a 200 response as a `Generation`.

    Raises:
        CallError: as `read_reply` of chat completions.
    """
    try:
        answer = joined_response(body) if is_stream(body) else load_json(body)
        raise_error_in(answer, body)
        reply = _reply_of(answer)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        problem = "the server's answer is no response of the Responses API (does it have one?)"
        raise CallError("bad_body", f"{problem}: {excerpt(body)}") from None
    return answer_of(reply, body, image_sizes)


def _reply_of(answer: Mapping[str, Any]) -> Reply:
    """The reply in a response; raises what a lookup raises where there is none."""
    items = [item for item in answer["output"] if not is_too_deep(item)]
    calls = [call for call in map(_call_of, answer["output"]) if call is not None]
    refusals = [part for item in items for part in _parts(item) if part.get("type") == "refusal"]
    finish_reason = (answer.get("incomplete_details") or {}).get("reason")
    if answer.get("status") == "failed":
        finish_reason = "error"
    return Reply(
        "".join(_texts(items, "message", "output_text")),
        calls,
        finish_reason or ("tool_calls" if calls else "stop"),
        answer.get("usage"),
        items,
        "\n".join(_texts(items, "reasoning", "summary_text", "reasoning_text")) or None,
        "an item of its own",
        refusals[0].get("refusal") if refusals else None,
    )


def _parts(item: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [*(item.get("summary") or ()), *(item.get("content") or ())]


def _texts(items: Sequence[Mapping[str, Any]], kind: str, *part_types: str) -> list[str]:
    return [
        part["text"]
        for item in items
        if item.get("type") == kind
        for part in _parts(item)
        if part.get("type") in part_types and part["text"]
    ]


def _call_of(item: Mapping[str, Any]) -> ToolCall | None:
    """Return a tool call of an output item; None: it is something else."""
    call_id = str(item.get("call_id") or item.get("id") or "")
    if item.get("type") == "function_call":
        return tool_call(call_id, item["name"], item.get("arguments"))
    if item.get("type") != "computer_call":
        return None
    arguments = {key: item[key] for key in ("action", "actions") if item.get(key)}
    return tool_call(call_id, "computer", arguments)
