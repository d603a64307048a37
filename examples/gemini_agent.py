"""Gemini's computer use as an agent: L3 and L4. An example of a custom class, to copy.

    export GEMINI_API_KEY=...
    python evaluate.py --config examples/config_gemini_agent.json --check

It was tested only against a scripted server. The class turns messages into requests of
`generateContent`, and each response into a `Generation`: text, thoughts, function calls, tokens,
and the content. The content has the form that the API wants in the next request, with thought
signatures. The program retries its `CallError`s like errors of a server.
`models.recipes.agents.gemini` reads the calls; a reply without a call ends the episode.

Form of requests: google-gemini/computer-use-preview @ c93bb2d agent.py, with two changes: the first
turn has the screen, and a system text says how a task ends.
"""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path
from typing import Any

from models.base import (
    CallError,
    Generation,
    Line,
    Message,
    Sizes,
    UserError,
    image_path_of,
    tool_results,
)

SYSTEM = """\
You operate a browser with the computer use tool. Go on until the task is completed, and ask nothing back.

When it is completed, reply with a text and without a function call: the answer alone if the task asks a question, else "Done." If it cannot be completed, reply with INFEASIBLE: and the reason, without a function call."""  # noqa: E501
MOST_IMAGES = 3
ADDRESS = "about:blank"
"""Function responses have the page's address, which the worlds do not tell."""


def build_agent_prompt(line: Line, dataset: str) -> list[Message]:  # noqa: ARG001 - both levels
    """Return the episode so far as a conversation, each call with its screen.

    Args:
        line: the task and the state of its episode. `history` is a list of the earlier steps, each
            with `image_path`, `note`, `tool_calls`, `message`.
        dataset: "GUITaskAutomation" (L3) or "GUITaskCollaboration" (L4).
    """
    history = line["history"]
    paths = [*(step["image_path"] for step in history), image_path_of(line)]
    screens = [*(None for _ in paths[:-MOST_IMAGES]), *paths[-MOST_IMAGES:]]
    messages = [
        {"role": "system", "type": "text", "value": SYSTEM},
        {"role": "user", "type": "text", "value": line["instruction"]},
    ]
    if screens[0]:
        messages.append({"role": "user", "type": "image", "value": screens[0]})
    for step, screen_after in zip(history, screens[1:], strict=True):
        messages.append({"role": "assistant", "type": "message", "value": step["message"]})
        messages += tool_results(step, screen_after)
        if not step["tool_calls"]:
            messages.append({"role": "user", "type": "text", "value": step["note"]})
    return messages


class GeminiAgent:
    """A model of Google's API with its computer use tool.

    Args:
        model: name of the model.
        environment: environment of the tool.
        timeout_s: time limit of one request.
        base_url: address of another server.

    Raises:
        UserError: the environment variable GEMINI_API_KEY is not set.
    """

    max_concurrency = 8

    def __init__(
        self,
        model: str,
        *,
        environment: str = "ENVIRONMENT_BROWSER",
        timeout_s: float = 600.0,
        base_url: str = "https://generativelanguage.googleapis.com",
    ) -> None:
        import httpx2

        key = os.environ.get("GEMINI_API_KEY")
        if not key:
            raise UserError("the environment variable GEMINI_API_KEY is not set: export it first")
        self._url = f"{base_url}/v1beta/models/{model}:generateContent"
        self._tool = {"computerUse": {"environment": environment}}
        self._client = httpx2.Client(headers={"x-goog-api-key": key}, timeout=timeout_s)

    def generate(
        self, message: list[Message], *, dataset_name: str, **generate_cfg: Any
    ) -> Generation:
        """Send one request; `generate_cfg` holds fields of `generationConfig`."""
        import httpx2

        system, contents, sizes = _request_parts(message)
        request = {
            "systemInstruction": {"parts": [{"text": system}]},
            "contents": contents,
            "tools": [self._tool],
            "generationConfig": generate_cfg,
        }
        try:
            response = self._client.post(self._url, json=request)
        except httpx2.TimeoutException as error:
            raise CallError("timeout", str(error)) from error
        except httpx2.TransportError as error:
            raise CallError("connection", str(error)) from error
        if response.status_code != 200:
            raise CallError(
                "http",
                f"HTTP {response.status_code}: {response.text[:500]}",
                status_code=response.status_code,
            )
        try:
            return _generation(response.json(), sizes)
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise CallError("bad_body", f"no answer of Gemini: {response.text[:500]}") from error


def _request_parts(message: list[Message]) -> tuple[str, list[dict[str, Any]], list[Sizes]]:
    """Return system text, contents as the API takes them, and the sizes of their images."""
    system: list[str] = []
    contents: list[dict[str, Any]] = []
    sizes: list[Sizes] = []
    for part in message:
        if part["role"] == "system":
            system.append(part["value"])
            continue
        if part["type"] == "message":
            contents.append(part["value"])
            continue
        if part["type"] == "image":
            block, image_sizes = _image_block(Path(part["value"]))
            sizes.append(image_sizes)
        else:
            block = {"text": part["value"]}
        if not contents or contents[-1]["role"] != "user":
            contents.append({"role": "user", "parts": []})
        parts = contents[-1]["parts"]
        if part["role"] != "tool":
            parts.append(block)
        elif part["type"] == "image":  # belongs to the last call, whose text stands before it
            parts[-1]["functionResponse"]["parts"] = [block]
        else:
            parts.append(_function_response(part["call_id"], part["value"]))
    return "\n".join(system), contents, sizes


def _function_response(call_id: str, note: str) -> dict[str, Any]:
    """Return the result of a call; a safety check that it raised is acknowledged."""
    _, name, check = call_id.split(":")
    response = {"url": ADDRESS, "output": note}
    if check:
        response["safety_acknowledgement"] = "true"
    return {"functionResponse": {"name": name, "response": response}}


def _image_block(path: Path) -> tuple[dict[str, Any], Sizes]:
    """Return a screenshot as it is sent, and its sizes."""
    from PIL import Image

    with Image.open(path) as image:
        sizes = Sizes(file_wh=image.size, sent_wh=image.size)
    data = base64.b64encode(path.read_bytes()).decode("ascii")
    return {"inlineData": {"mimeType": "image/png", "data": data}}, sizes


def _generation(answer: dict[str, Any], sizes: list[Sizes]) -> Generation:
    """Return an answer of the API as the program has it.

    Raises:
        CallError: the request was blocked, or the answer has neither text nor call.
    """
    blocked = answer.get("promptFeedback", {}).get("blockReason")
    if blocked:
        raise CallError("content_filter", f"the request was blocked: {blocked}")
    candidate = answer["candidates"][0]
    reason = candidate.get("finishReason")
    content = {"role": "model", "parts": [], **candidate.get("content", {})}
    parts = content["parts"]
    texts = [part["text"] for part in parts if "text" in part and not part.get("thought")]
    thoughts = [part["text"] for part in parts if "text" in part and part.get("thought")]
    calls = [part["functionCall"] for part in parts if "functionCall" in part]
    if not (texts or calls or reason == "MAX_TOKENS"):
        raise CallError("bad_body", f"the answer has neither text nor call: {json.dumps(reason)}")
    usage = answer.get("usageMetadata", {})
    reply_tokens = (usage.get(f"{kind}TokenCount") or 0 for kind in ("candidates", "thoughts"))
    return Generation(
        text="\n".join(texts),
        finish_reason="length" if reason == "MAX_TOKENS" else "stop",
        usage={
            "prompt_tokens": usage.get("promptTokenCount") or 0,
            "completion_tokens": sum(reply_tokens),
        },
        image_sizes=sizes,
        reasoning="\n".join(thoughts) or None,
        tool_calls=[
            {
                "id": _id_of(number, call),
                "name": call["name"],
                "arguments": call.get("args", {}),
            }
            for number, call in enumerate(calls)
        ],
        message=content,
    )


def _id_of(number: int, call: dict[str, Any]) -> str:
    """Return an id that says what the answer to a call needs: its name, and a safety check."""
    check = "check" if "safety_decision" in call.get("args", {}) else ""
    return f"{number}:{call['name']}:{check}"
