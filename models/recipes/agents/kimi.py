"""Kimi's agent of OSWorld, for K2.5, K2.6 and K3: code for pyautogui, points in fractions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from models.recipes.agents import image, screen, text
from models.recipes.agents.replies import actions_or_end, from_file_px, reasoning_of, section
from models.recipes.base import Agent
from models.recipes.reading import file_wh
from utils.contracts import Line, Message, Point
from utils.pyautogui_code import code_blocks

THINKING = """\
You are a GUI agent. You are given an instruction, a screenshot of the screen and your previous interactions with the computer. You need to perform a series of actions to complete the task. The passoword of the computer is {password}.

For each step, provide your response in this format:
{thought}
## Action:
{action}
## Code:
{code}

In the code section, the code should be either pyautogui code or one of the following functions wrapped in the code block:
- {"name": "computer.wait", "description": "Make the computer wait for 20 seconds for installation, running code, etc.", "parameters": {"type": "object", "properties": {}, "required": []}}
- {"name": "computer.terminate", "description": "Terminate the current task and report its completion status", "parameters": {"type": "object", "properties": {"status": {"type": "string", "enum": ["success", "failure"], "description": "The status of the task"}, "answer": {"type": "string", "description": "The answer of the task"}}, "required": ["status"]}}"""
NON_THINKING = """\
You are a GUI agent. You are given an instruction, a screenshot of the screen and your previous interactions with the computer. You need to perform a series of actions to complete the task. The passoword of the computer is {password}.

For each step, provide your response in this format:
## Thought
{thought}
## Action:
{action}
## Code:
{code}

In the code section, the code should be either pyautogui code or one of the following functions wrapped in the code block:
- {"name": "computer.wait", "description": "Make the computer wait for 20 seconds for installation, running code, etc.", "parameters": {"type": "object", "properties": {}, "required": []}}
- {"name": "computer.terminate", "description": "Terminate the current task and report its completion status", "parameters": {"type": "object", "properties": {"status": {"type": "string", "enum": ["success", "failure"], "description": "The status of the task"}, "answer": {"type": "string", "description": "The answer of the task"}}, "required": ["status"]}}"""
TASK = """\
# Task Instruction:
{instruction}

Please generate the next move according to the screenshot, task instruction and previous steps (if provided).
"""
PASSWORD = ""  # of the computer; the authors' code is told none
STEP = "# Step {step_num}:\n"
THOUGHT_AND_ACTION = "◁think▷{thought}◁/think▷## Action:\n{action}\n"
BOTH_AS_SECTIONS = "## Thought:\n{thought}\n\n## Action:\n{action}\n"
MOST_IMAGES = 3  # with the screen now
MARK = re.compile("◁/?think▷")


def build_agent_prompt(line: Line, dataset: str) -> list[Message]:
    """Return the system text, earlier steps as turns, the screen now with the task behind it.

    Of steps whose screenshot is no longer shown, thoughts and actions are one message.
    """
    return _prompt(line, THINKING, is_thinking=True)


def build_agent_prompt_non_thinking(line: Line, dataset: str) -> list[Message]:
    """Return the same for a model that writes its thought into the reply."""
    return _prompt(line, NON_THINKING, is_thinking=False)


def _prompt(line: Line, system: str, *, is_thinking: bool) -> list[Message]:
    messages = [text(system.replace("{password}", PASSWORD), "system")]
    history = line["history"]
    first_with_image = len(history) - MOST_IMAGES + 1
    told = [
        STEP.replace("{step_num}", str(number)) + _told(step, is_thinking=is_thinking)
        for number, step in enumerate(history, 1)
    ]
    if first_with_image > 0:
        messages.append(text("\n".join(told[:first_with_image]), "assistant"))
    for number in range(max(first_with_image, 0), len(history)):
        messages.append(image(history[number]["image_path"]))
        messages.append(text(told[number], "assistant"))
        if history[number]["note"]:  # the authors' code tells nothing
            messages.append(text(history[number]["note"]))
    return [*messages, screen(line), text(TASK.replace("{instruction}", line["instruction"]))]


def _told(step: Mapping[str, Any], *, is_thinking: bool) -> str:
    """Return thought and action of an earlier reply; one without an action as it came."""
    reply = MARK.sub("\n", step["reply"]).lstrip()
    action = section(reply, "Action")
    if not action:
        return str(step["reply"])
    if is_thinking:
        template, thought = THOUGHT_AND_ACTION, reasoning_of(step)
    else:
        template, thought = BOTH_AS_SECTIONS, section(reply, "Thought")
    return template.replace("{action}", action).replace("{thought}", thought)


def parse_actions(response: str, meta: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """Return the actions of the last code in a reply, behind its first heading "Action"."""
    reply = MARK.sub("\n", response).lstrip()
    lines = reply.split("\n")
    for number, line in enumerate(lines):
        if re.match(r"##\s*Action\b", line):
            reply = "\n".join(lines[number:])
            break
    return _actions(reply, meta)


def parse_actions_non_thinking(
    response: str, meta: Mapping[str, Any]
) -> list[dict[str, Any]] | None:
    """Return the actions of the last code in a reply."""
    return _actions(MARK.sub("\n", response).lstrip(), meta)


def _actions(reply: str, meta: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """Return the actions of the last code; what does not end the task needs an action in words."""
    blocks = code_blocks(reply)
    if not blocks:
        return None
    is_end = "computer.terminate" in blocks[-1].lower()
    if not (is_end or section(reply, "Action")):
        return None

    def to_point(x: float, y: float) -> Point:
        width, height = file_wh(meta)
        if x <= 1 and y <= 1:
            return from_file_px((round(x * width), round(y * height)), meta)
        return from_file_px((round(x), round(y)), meta)

    return actions_or_end(blocks[-1], to_point)


AGENT = Agent(
    prompt=f"{__name__}.build_agent_prompt",
    parse=f"{__name__}.parse_actions",
    source="xlang-ai/OSWorld mm_agents/kimi/kimi_agent.py, as mrwwk/DeskCraft @ 3e11457 has it",
    generate_cfg={"temperature": 1, "top_p": 0.95, "max_tokens": 4096},
    prompts={
        "osworld_thinking": f"{__name__}.build_agent_prompt",
        "osworld_non_thinking": f"{__name__}.build_agent_prompt_non_thinking",
    },
    parsers={
        "osworld_thinking": f"{__name__}.parse_actions",
        "osworld_non_thinking": f"{__name__}.parse_actions_non_thinking",
    },
    verified="first prompts and replies",
    note="computers only; made for thinking (build_agent_prompt_non_thinking and "
    "parse_actions_non_thinking for the instant mode); Kimi's API refuses a temperature of its own for K3",
)
