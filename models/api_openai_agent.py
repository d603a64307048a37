"""OpenAI's own computer tool through the Responses API as an agent: L3 and L4.

Config: `configs/config_live_openai.json` (`"api": "responses"`). Each request repeats the model's
items of earlier turns (reasoning, calls) unchanged, each call with its screenshot. This API cannot
leave out an earlier screenshot. `benchmarks.actions.dialects.parse_tool_calls` reads the calls; a
reply without a call ends the episode.
"""

from __future__ import annotations

from models.base import Line, Message, image_path_of, tool_results

SYSTEM = """\
You operate a computer with the computer tool. Go on until the task is completed, and ask nothing back.

When it is completed, reply with a text and without a tool call: the answer alone if the task asks a question, else "Done." If it cannot be completed, reply with INFEASIBLE: and the reason, without a tool call."""  # noqa: E501


def build_agent_prompt(line: Line, dataset: str) -> list[Message]:
    """Return the episode so far as a conversation.

    Args:
        line: the task and the state of its episode. `history` is a list of the earlier steps, each
            with `image_path`, `note`, `tool_calls`, `message`.
        dataset: "GUITaskAutomation" (L3) or "GUITaskCollaboration" (L4).
    """
    history = line["history"]
    screens = [step["image_path"] for step in history] + [image_path_of(line)]
    messages = [
        {"role": "system", "type": "text", "value": SYSTEM},
        {"role": "user", "type": "text", "value": line["instruction"]},
        {"role": "user", "type": "image", "value": screens[0]},
    ]
    for step, screen_after in zip(history, screens[1:], strict=True):
        messages.append({"role": "assistant", "type": "message", "value": step["message"]})
        if step["tool_calls"]:
            *_, result = tool_results(step, screen_after)
            messages.append(result)
        if step["note"]:
            messages.append({"role": "user", "type": "text", "value": step["note"]})
    return messages
