"""An agent with native tool calls behind an OpenAI-style chat server: L3 and L4.

Config: `configs/config_live_tools.json`; it describes the tool (`generate_cfg.tools`). The server
turns the model's calls into `tool_calls` (vLLM: `--enable-auto-tool-choice --tool-call-parser
hermes`). Each request repeats the earlier turns unchanged, each call with its result.
`benchmarks.actions.dialects.parse_tool_calls` reads the calls.
"""

from __future__ import annotations

from models.base import Line, Message, image_path_of, tool_results

SYSTEM = """\
You operate a computer with the tool `computer`. You are given a task and a screenshot of the screen; after each of your calls you get the next one. Go on until the task is completed, and ask nothing back.

When it is completed, reply with a text and without a tool call: the answer alone if the task asks a question, else "Done." If it cannot be completed, reply with INFEASIBLE: and the reason, without a tool call."""  # noqa: E501
EARLIER_IMAGES = 2
OMITTED = "(A screenshot was here.)"


def build_agent_prompt(line: Line, dataset: str) -> list[Message]:
    """Return the episode so far as a conversation.

    Args:
        line: the task and the state of its episode. `history` is a list of the earlier steps, each
            with `image_path`, `reply`, `notes`, `tool_calls`, `message`.
        dataset: "GUITaskAutomation" (L3) or "GUITaskCollaboration" (L4).
    """
    history = line["history"]
    messages = [
        {"role": "system", "type": "text", "value": SYSTEM},
        {"role": "user", "type": "text", "value": line["instruction"]},
    ]
    for number, step in enumerate(history):
        if number >= len(history) - EARLIER_IMAGES:
            messages.append({"role": "user", "type": "image", "value": step["image_path"]})
        else:
            messages.append({"role": "user", "type": "text", "value": OMITTED})
        messages.append({"role": "assistant", "type": "message", "value": step["message"]})
        messages += tool_results(step)
        if not step["tool_calls"]:
            messages.append({"role": "user", "type": "text", "value": step["note"]})
    return [*messages, {"role": "user", "type": "image", "value": image_path_of(line)}]
