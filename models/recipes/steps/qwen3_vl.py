"""Qwen3-VL at recorded steps: its cookbook's `mobile_use`, a screen of 999 x 999, no `open`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from models.recipes.agents import text
from models.recipes.steps import StepFields, as_parsed, filled, of_scale, screen, told_steps
from models.recipes.steps.mobile_use import arguments_for, parse_call
from utils.contracts import Line, Message

FULL_SCALE = 999
SYSTEM = r"""

# Tools

You may call one or more functions to assist with the user query.

You are provided with function signatures within <tools></tools> XML tags:
<tools>
{"type": "function", "function": {"name": "mobile_use", "description": "Use a touchscreen to interact with a mobile device, and take screenshots.\n* This is an interface to a mobile device with touchscreen. You can perform actions like clicking, typing, swiping, etc.\n* Some applications may take time to start or process actions, so you may need to wait and take successive screenshots to see the results of your actions.\n* The screen's resolution is 999x999.\n* Make sure to click any buttons, links, icons, etc with the cursor tip in the center of the element. Don't click boxes on their edges unless asked.", "parameters": {"properties": {"action": {"description": "The action to perform. The available actions are:\n* `click`: Click the point on the screen with coordinate (x, y).\n* `long_press`: Press the point on the screen with coordinate (x, y) for specified seconds.\n* `swipe`: Swipe from the starting point with coordinate (x, y) to the end point with coordinates2 (x2, y2).\n* `type`: Input the specified text into the activated input box.\n* `answer`: Output the answer.\n* `system_button`: Press the system button.\n* `wait`: Wait specified seconds for the change to happen.\n* `terminate`: Terminate the current task and report its completion status.", "enum": ["click", "long_press", "swipe", "type", "answer", "system_button", "wait", "terminate"], "type": "string"}, "coordinate": {"description": "(x, y): The x (pixels from the left edge) and y (pixels from the top edge) coordinates to move the mouse to. Required only by `action=click`, `action=long_press`, and `action=swipe`.", "type": "array"}, "coordinate2": {"description": "(x, y): The x (pixels from the left edge) and y (pixels from the top edge) coordinates to move the mouse to. Required only by `action=swipe`.", "type": "array"}, "text": {"description": "Required only by `action=type` and `action=answer`.", "type": "string"}, "time": {"description": "The seconds to wait. Required only by `action=long_press` and `action=wait`.", "type": "number"}, "button": {"description": "Back means returning to the previous interface, Home means returning to the desktop, Menu means opening the application background menu, and Enter means pressing the enter. Required only by `action=system_button`", "enum": ["Back", "Home", "Menu", "Enter"], "type": "string"}, "status": {"description": "The status of the task. Required only by `action=terminate`.", "type": "string", "enum": ["success", "failure"]}}, "required": ["action"], "type": "object"}}}
</tools>

For each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:
<tool_call>
{"name": <function-name>, "arguments": <args-json-object>}
</tool_call>

# Response format

Response format for every step:
1) Thought: one concise sentence explaining the next move (no multi-step reasoning).
2) Action: a short imperative describing what to do in the UI.
3) A single <tool_call>...</tool_call> block containing only the JSON: {"name": <function-name>, "arguments": <args-json-object>}.

Rules:
- Output exactly in the order: Thought, Action, <tool_call>.
- Be brief: one sentence for Thought, one for Action.
- Do not output anything else outside those three parts.
- If finishing, use action=terminate in the tool call."""
QUERY = """\
The user query: {instruction}.
"""
CURRENT_STEP = "Current step query: {step_instruction}\n"
"""Of level "low", as Qwen2.5-VL is asked; the authors have published none for Qwen3-VL."""
PROGRESS = """\
Task progress (You have done the following operation on the current device): {stage2_history}.
"""
ACTION = re.compile(r"^Action: *(.+)$", re.MULTILINE)


def build_step_prompt(line: Line, dataset: str, **settings: Any) -> list[Message]:
    """Return the tool, the task with a line for each step before, and the screen."""
    told = told_steps(line, written, _action_line, settings)
    steps = "".join(f"Step {number}: {_bare(words)}; " for number, words in enumerate(told, 1))
    user = QUERY + (CURRENT_STEP if line["level"] == "low" else "") + PROGRESS
    slots = {
        "{instruction}": line["goal"],
        "{step_instruction}": line["instruction"] or "",
        "{stage2_history}": steps,
    }
    return [text(SYSTEM, "system"), text(filled(user, slots)), screen(line)]


def _bare(words: str) -> str:
    return words.replace("\n", "").replace('"', "")


def written(action: StepFields) -> str:
    """A recorded action in the words of Qwen3-VL."""
    arguments = arguments_for(action, (FULL_SCALE, FULL_SCALE))
    return ", ".join(f"{name}: {value}" for name, value in arguments.items())


def _action_line(reply: str) -> str:
    """The reply's own words for its action."""
    sentence = ACTION.search(reply)
    return sentence[1] if sentence else reply


def parse_step(response: str, meta: Mapping[str, Any]) -> StepFields | None:
    """Return the action of the first call behind the thinking."""
    return as_parsed(parse_call(response, of_scale(FULL_SCALE)), meta)
