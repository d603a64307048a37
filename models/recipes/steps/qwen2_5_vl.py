"""Qwen2.5-VL at recorded steps: `mobile_use` with `open`, pixels of the resized image.

The text is that of the authors' own evaluation on AndroidControl (QwenLM/Qwen3-VL issue #904) as
InfiGUI-R1 has it. `open` is part of this tool, not of the one of Qwen3-VL.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from models.recipes.agents import text
from models.recipes.base import HELPFUL
from models.recipes.qwen2_5_vl import LIMITS
from models.recipes.reading import NOT_READ
from models.recipes.steps import NO_REPLY, StepFields, as_parsed, filled, grid_wh, of_grid, screen
from models.recipes.steps.mobile_use import arguments_of, parse_call
from utils.contracts import WH, Line, Message

TOOLS = r"""

# Tools

You may call one or more functions to assist with the user query.

You are provided with function signatures within <tools></tools> XML tags:
<tools>
{"type": "function", "function": {"name": "mobile_use", "description": "Use a touchscreen to interact with a mobile device, and take screenshots.\n* This is an interface to a mobile device with touchscreen. You can perform actions like clicking, typing, swiping, etc.\n* Some applications may take time to start or process actions, so you may need to wait and take successive screenshots to see the results of your actions.\n* The screen's resolution is {resized_width}x{resized_height}.\n* Make sure to click any buttons, links, icons, etc with the cursor tip in the center of the element. Don't click boxes on their edges unless asked.", "parameters": {"properties": {"action": {"description": "The action to perform. The available actions are:\n* `key`: Perform a key event on the mobile device.\n    - This supports adb's `keyevent` syntax.\n    - Examples: \"volume_up\", \"volume_down\", \"power\", \"camera\", \"clear\".\n* `click`: Click the point on the screen with coordinate (x, y).\n* `long_press`: Press the point on the screen with coordinate (x, y) for specified seconds.\n* `swipe`: Swipe from the starting point with coordinate (x, y) to the end point with coordinates2 (x2, y2).\n* `type`: Input the specified text into the activated input box.\n* `system_button`: Press the system button.\n* `open`: Open an app on the device.\n* `wait`: Wait specified seconds for the change to happen.\n* `terminate`: Terminate the current task and report its completion status.", "enum": ["key", "click", "long_press", "swipe", "type", "system_button", "open", "wait", "terminate"], "type": "string"}, "coordinate": {"description": "(x, y): The x (pixels from the left edge) and y (pixels from the top edge) coordinates to move the mouse to. Required only by `action=click`, `action=long_press`, and `action=swipe`.", "type": "array"}, "coordinate2": {"description": "(x, y): The x (pixels from the left edge) and y (pixels from the top edge) coordinates to move the mouse to. Required only by `action=swipe`.", "type": "array"}, "text": {"description": "Required only by `action=key`, `action=type`, and `action=open`.", "type": "string"}, "time": {"description": "The seconds to wait. Required only by `action=long_press` and `action=wait`.", "type": "number"}, "button": {"description": "Back means returning to the previous interface, Home means returning to the desktop, Menu means opening the application background menu, and Enter means pressing the enter. Required only by `action=system_button`", "enum": ["Back", "Home", "Menu", "Enter"], "type": "string"}, "status": {"description": "The status of the task. Required only by `action=terminate`.", "type": "string", "enum": ["success", "failure"]}}, "required": ["action"], "type": "object"}}}
</tools>

For each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:
<tool_call>
{"name": <function-name>, "arguments": <args-json-object>}
</tool_call>"""
SYSTEM = HELPFUL + TOOLS
USER_LOW = """\
The user query:  {goal}
Current step query: {step_instruction}
Task progress (You have done the following operation on the current device): {task_progress}"""
USER_HIGH = """\
The user query:  {goal}
Task progress (You have done the following operation on the current device): {task_progress}"""


def build_step_prompt(line: Line, dataset: str, **settings: Any) -> list[Message]:
    """Return the tool, the task with what was done, and the screen."""
    return messages(SYSTEM, line, grid_wh(line, settings, LIMITS))


def messages(system: str, line: Line, named_wh: WH) -> list[Message]:
    """Return the messages around a system text that names the size of the resized image."""
    system = system.replace("{resized_width}", str(named_wh[0]))
    system = system.replace("{resized_height}", str(named_wh[1]))
    progress = "".join(
        f"Step {number}: {_told(line, step)}; " for number, step in enumerate(line["history"], 1)
    )
    user = USER_LOW if line["level"] == "low" else USER_HIGH
    slots = {
        "{goal}": line["goal"],
        "{step_instruction}": line["instruction"] or "",
        "{task_progress}": progress,
    }
    return [text(system, "system"), text(filled(user, slots)), screen(line)]


def _told(line: Line, step: Mapping[str, Any]) -> str:
    """A step before: the recorded action as it is annotated, else the words that there are."""
    if line["history_kind"] == "instructions":
        return str(step["instruction"])
    if line["history_kind"] == "actions":
        return json.dumps(step["action"])
    reply: str = step.get("reply") or NO_REPLY
    try:
        return json.dumps(arguments_of(reply))
    except NOT_READ:
        return reply


def parse_step(response: str, meta: Mapping[str, Any]) -> StepFields | None:
    """Return the action of the first call behind the thinking."""
    return as_parsed(parse_call(response, of_grid(meta, LIMITS)), meta)
