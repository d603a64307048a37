"""Claude's computer tool as an agent: L3 and L4. An example of a custom class, to copy.

    pip install anthropic
    export ANTHROPIC_API_KEY=...
    python evaluate.py --config examples/config_claude_agent.json --check

It was tested only against a scripted server. The class turns messages into requests, and each
response into a `Generation`: text, thinking, tool calls, tokens, and the reply. The reply has the
form that the API wants in the next request. The program retries its `CallError`s like errors of a
server: 429, 529 (overloaded), time-outs, resets.
"""

from __future__ import annotations

import base64
import io
from pathlib import Path
from typing import Any

from models.base import CallError, Generation, Line, Message, Sizes, image_path_of, tool_results

SYSTEM = """\
You operate a computer with the tool `computer`. Go on until the task is completed, and ask nothing back.

When it is completed, reply with a text and without a tool call: the answer alone if the task asks a question, else "Done." If it cannot be completed, reply with INFEASIBLE: and the reason, without a tool call."""  # noqa: E501
EARLIER_IMAGES = 2
OMITTED = "(A screenshot was here.)"
LONGEST_PX = 1280  # of a screenshot's sides as it is sent; the API itself would shrink beyond 1568


def build_agent_prompt(line: Line, dataset: str) -> list[Message]:  # noqa: ARG001 - both levels
    """Return the episode so far as a conversation, each call with its screenshot.

    Args:
        line: the task and the state of its episode. `history` is a list of the earlier steps, each
            with `image_path`, `note`, `tool_calls`, `message`.
        dataset: "GUITaskAutomation" (L3) or "GUITaskCollaboration" (L4).
    """
    history = line["history"]
    screens = [step["image_path"] for step in history] + [image_path_of(line)]
    screens = [
        screen if number >= len(history) - EARLIER_IMAGES else None
        for number, screen in enumerate(screens)
    ]
    messages = [
        {"role": "system", "type": "text", "value": SYSTEM},
        {"role": "user", "type": "text", "value": line["instruction"]},
        _screen(screens[0]),
    ]
    for step, screen_after in zip(history, screens[1:], strict=True):
        messages.append({"role": "assistant", "type": "message", "value": step["message"]})
        messages += tool_results(step, screen_after)
        if not step["tool_calls"]:
            messages += [{"role": "user", "type": "text", "value": step["note"]}]
    return messages


def _screen(path: str | None) -> Message:
    if path is None:
        return {"role": "user", "type": "text", "value": OMITTED}
    return {"role": "user", "type": "image", "value": path}


class ClaudeAgent:
    """A model of Anthropic's API with its computer tool.

    Args:
        model: name of the model.
        tool: type of the model's computer tool; Opus 4.5 to 4.8 and Sonnet 4.6 know
            "computer_20251124".
        beta: header that turns the tool on; "computer-use-2025-11-24" for this tool.
        timeout_s: time limit of one request.
        base_url: address of another server; None: Anthropic's.
    """

    max_concurrency = 8

    def __init__(
        self,
        model: str,
        *,
        tool: str = "computer_20250124",
        beta: str = "computer-use-2025-01-24",
        timeout_s: float = 600.0,
        base_url: str | None = None,
    ) -> None:
        import anthropic

        self._model, self._tool, self._beta = model, tool, beta
        self._client = anthropic.Anthropic(base_url=base_url, timeout=timeout_s, max_retries=0)

    def generate(
        self,
        message: list[Message],
        *,
        dataset_name: str,
        **generate_cfg: Any,
    ) -> Generation:
        """Send one request; `generate_cfg` holds parameters of `messages.create`."""
        import anthropic

        system, chat, sizes = _request_parts(message)
        width, height = sizes[-1].sent_wh or (0, 0)
        tool = {
            "type": self._tool,
            "name": "computer",
            "display_width_px": width,
            "display_height_px": height,
        }
        request: dict[str, Any] = {
            "model": self._model,
            "system": system,
            "messages": chat,
            "tools": [tool],
            "betas": [self._beta],
            **generate_cfg,
        }
        try:
            answer = self._client.beta.messages.create(**request)
        except anthropic.APIStatusError as error:
            wait_s = error.response.headers.get("retry-after", "")
            raise CallError(
                "http",
                f"HTTP {error.status_code}: {error.message}",
                status_code=error.status_code,
                retry_after_s=float(wait_s) if wait_s.replace(".", "", 1).isdigit() else None,
            ) from error
        except anthropic.APITimeoutError as error:
            raise CallError("timeout", str(error)) from error
        except anthropic.APIConnectionError as error:
            raise CallError("connection", str(error)) from error
        return _generation(answer.to_dict(), sizes)


def _request_parts(message: list[Message]) -> tuple[str, list[dict[str, Any]], list[Sizes]]:
    """Return system text, messages as the API takes them, and the sizes of their images."""
    system: list[str] = []
    chat: list[dict[str, Any]] = []
    sizes: list[Sizes] = []
    for part in message:
        if part["role"] == "system":
            system.append(part["value"])
            continue
        if part["type"] == "message":
            chat.append(part["value"])
            continue
        if part["type"] == "image":
            block, image_sizes = _image_block(Path(part["value"]))
            sizes.append(image_sizes)
        else:
            block = {"type": "text", "text": part["value"]}
        role = "assistant" if part["role"] == "assistant" else "user"
        if not chat or chat[-1]["role"] != role:
            chat.append({"role": role, "content": []})
        content = chat[-1]["content"]
        if part["role"] != "tool":
            content.append(block)
        elif content and content[-1].get("tool_use_id") == part["call_id"]:
            content[-1]["content"].append(block)
        else:
            result = {"type": "tool_result", "tool_use_id": part["call_id"], "content": [block]}
            content.append(result)
    return "\n".join(system), chat, sizes


def _image_block(path: Path) -> tuple[dict[str, Any], Sizes]:
    """Return a screenshot as it is sent, shrunk to `LONGEST_PX`, and its sizes."""
    from PIL import Image

    with Image.open(path) as image:
        file_wh = image.size
        image.thumbnail((LONGEST_PX, LONGEST_PX))
        buffer = io.BytesIO()
        image.save(buffer, "PNG")
        sizes = Sizes(file_wh=file_wh, sent_wh=image.size)
    data = base64.b64encode(buffer.getvalue()).decode("ascii")
    source = {"type": "base64", "media_type": "image/png", "data": data}
    return {"type": "image", "source": source}, sizes


def _generation(answer: dict[str, Any], sizes: list[Sizes]) -> Generation:
    """Return an answer of the API as the program has it."""
    blocks = answer["content"]
    if answer.get("stop_reason") == "refusal":
        raise CallError("refusal", "the model refused to answer")
    texts = [block["text"] for block in blocks if block["type"] == "text"]
    thoughts = [block["thinking"] for block in blocks if block["type"] == "thinking"]
    calls = [
        {"id": block["id"], "name": block["name"], "arguments": block["input"]}
        for block in blocks
        if block["type"] == "tool_use"
    ]
    is_cut = answer.get("stop_reason") == "max_tokens"
    return Generation(
        text="\n".join(texts),
        finish_reason="length" if is_cut else answer.get("stop_reason"),
        usage=answer.get("usage") or {},
        image_sizes=sizes,
        reasoning="\n".join(thoughts) or None,
        tool_calls=calls,
        message={"role": "assistant", "content": blocks},
    )
