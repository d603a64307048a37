"""Qwen3-VL's agents for computers (`computer_use`) and phones (`mobile_use`): L3 and L4.

Config: `configs/config_live_qwen.json`. The tool stands in the system text, its points are
thousandths. The last turns are repeated with their screenshots, earlier ones as a line each. A
server with a tool-call parser works, too: calls that it takes out of a reply are put back.
`benchmarks.actions.dialects.parse_computer_use_per_mille` reads them.

Tools: X-PLUG/MobileAgent @ 11cea575, Mobile-Agent-v3.5 (computer_use, mobile_use).
"""

from __future__ import annotations

import re

from models.base import Line, Message, image_path_of

EARLIER_TURNS = 4  # that are repeated whole, with their screenshots
PHONES = ("os_android", "os_ios")
COMPUTER_USE = r"""{"type": "function", "function": {"name": "computer_use", "description": "Use a mouse and keyboard to interact with a computer, and take screenshots.\n* This is an interface to a desktop GUI. You do not have access to a terminal or applications menu. You must click on desktop icons to start applications.\n* Some applications may take time to start or process actions, so you may need to wait and take successive screenshots to see the results of your actions. E.g. if you click on Firefox and a window doesn't open, try wait and taking another screenshot.\n* The screen's resolution is 1000x1000.\n* Make sure to click any buttons, links, icons, etc with the cursor tip in the center of the element. Don't click boxes on their edges unless asked.", "parameters": {"properties": {"action": {"description": "The action to perform. The available actions are:\n* `key`: Performs key down presses on the arguments passed in order, then performs key releases in reverse order.\n* `type`: Type a string of text on the keyboard.\n* `mouse_move`: Move the cursor to a specified (x, y) pixel coordinate on the screen.\n* `left_click`: Click the left mouse button at a specified (x, y) pixel coordinate on the screen.\n* `left_click_drag`: Click and drag the cursor to a specified (x, y) pixel coordinate on the screen.\n* `right_click`: Click the right mouse button at a specified (x, y) pixel coordinate on the screen.\n* `middle_click`: Click the middle mouse button at a specified (x, y) pixel coordinate on the screen.\n* `double_click`: Double-click the left mouse button at a specified (x, y) pixel coordinate on the screen.\n* `triple_click`: Triple-click the left mouse button at a specified (x, y) pixel coordinate on the screen.\n* `scroll`: Performs a scroll of the mouse scroll wheel.\n* `hscroll`: Performs a horizontal scroll.\n* `wait`: Wait specified seconds for the change to happen.\n* `terminate`: Terminate the current task and report its completion status.\n* `answer`: Answer a question.\n* `interact`: Resolve the blocking window by interacting with the user.", "enum": ["key", "type", "mouse_move", "left_click", "left_click_drag", "right_click", "middle_click", "double_click", "triple_click", "scroll", "hscroll", "wait", "terminate", "answer", "interact"], "type": "string"}, "keys": {"description": "Required only by `action=key`.", "type": "array"}, "text": {"description": "Required only by `action=type`, `action=answer` and `action=interact`.", "type": "string"}, "coordinate": {"description": "(x, y): The x (pixels from the left edge) and y (pixels from the top edge) coordinates to move the mouse to. Required only by `action=mouse_move` and `action=left_click_drag`.", "type": "array"}, "pixels": {"description": "The amount of scrolling to perform. Positive values scroll up, negative values scroll down. Required only by `action=scroll` and `action=hscroll`.", "type": "number"}, "time": {"description": "The seconds to wait. Required only by `action=wait`.", "type": "number"}, "status": {"description": "The status of the task. Required only by `action=terminate`.", "type": "string", "enum": ["success", "failure"]}}, "required": ["action"], "type": "object"}}}"""  # noqa: E501
MOBILE_USE = r"""{"type": "function", "function": {"name_for_human": "mobile_use", "name": "mobile_use", "description": "Use a touchscreen to interact with a mobile device, and take screenshots.\n* This is an interface to a mobile device with touchscreen. You can perform actions like clicking, typing, swiping, etc.\n* Some applications may take time to start or process actions, so you may need to wait and take successive screenshots to see the results of your actions.\n* The screen's resolution is 1000x1000.\n* Make sure to click any buttons, links, icons, etc with the cursor tip in the center of the element. Don't click boxes on their edges unless asked.", "parameters": {"properties": {"action": {"description": "The action to perform. The available actions are:\n* `key`: Perform a key event on the mobile device.\n    - This supports adb's `keyevent` syntax.\n    - Examples: \"volume_up\", \"volume_down\", \"power\", \"camera\", \"clear\".\n* `click`: Click the point on the screen with coordinate (x, y).\n* `long_press`: Press the point on the screen with coordinate (x, y) for specified seconds.\n* `swipe`: Swipe from the starting point with coordinate (x, y) to the end point with coordinates2 (x2, y2).\n* `type`: Input the specified text into the activated input box.\n* `system_button`: Press the system button.\n* `open`: Open an app on the device.\n* `wait`: Wait specified seconds for the change to happen.\n* `answer`: Terminate the current task and output the answer.\n* `interact`: Resolve the blocking window by interacting with the user.\n* `terminate`: Terminate the current task and report its completion status.", "enum": ["key", "click", "long_press", "swipe", "type", "system_button", "open", "wait", "answer", "interact", "terminate"], "type": "string"}, "coordinate": {"description": "(x, y): The x (pixels from the left edge) and y (pixels from the top edge) coordinates to move the mouse to. Required only by `action=click`, `action=long_press`, and `action=swipe`.", "type": "array"}, "coordinate2": {"description": "(x, y): The x (pixels from the left edge) and y (pixels from the top edge) coordinates to move the mouse to. Required only by `action=swipe`.", "type": "array"}, "text": {"description": "Required only by `action=key`, `action=type`, `action=open`, `action=answer`,and `action=interact`.", "type": "string"}, "time": {"description": "The seconds to wait. Required only by `action=long_press` and `action=wait`.", "type": "number"}, "button": {"description": "Back means returning to the previous interface, Home means returning to the desktop, Menu means opening the application background menu, and Enter means pressing the enter. Required only by `action=system_button`", "enum": ["Back", "Home", "Menu", "Enter"], "type": "string"}, "status": {"description": "The status of the task. Required only by `action=terminate`.", "type": "string", "enum": ["success", "failure"]}}, "required": ["action"], "type": "object"}, "args_format": "Format the arguments as a JSON object."}}"""  # noqa: E501
SYSTEM = """\
You are a helpful assistant.

# Tools

You may call one or more functions to assist with the user query.

You are provided with function signatures within <tools></tools> XML tags:
<tools>
{tool}
</tools>

For each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:
<tool_call>
{{"name": <function-name>, "arguments": <args-json-object>}}
</tool_call>

# Response format

1) Action: a short imperative describing what to do in the UI.
2) A single <tool_call>...</tool_call> block containing only the JSON.

If the task asks a question, finish with action=answer; if it is completed, with action=terminate and status=success; if it cannot be completed, with status=failure."""  # noqa: E501
TASK = """\
Instruction: {instruction}

Previous actions:
{actions}"""


def build_agent_prompt(line: Line, dataset: str) -> list[Message]:
    """Return the tool, the task with earlier actions, and the last turns as a conversation.

    Args:
        line: the task and the state of its episode; `history` has of each earlier step
            `image_path`, `reply`, `note`.
        dataset: "GUITaskAutomation" (L3) or "GUITaskCollaboration" (L4).
    """
    tool = MOBILE_USE if line["platform"] in PHONES else COMPUTER_USE
    history = line["history"]
    first_repeated = max(0, len(history) - EARLIER_TURNS)
    earlier = [f"Step {n}: {_summary(step)}" for n, step in enumerate(history[:first_repeated], 1)]
    actions = "\n".join(earlier) or "None"
    task = TASK.format(instruction=line["instruction"], actions=actions)
    messages = [
        {"role": "system", "type": "text", "value": SYSTEM.format(tool=tool)},
        {"role": "user", "type": "text", "value": task},
    ]
    for step in history[first_repeated:]:
        messages.append({"role": "user", "type": "image", "value": step["image_path"]})
        messages.append({"role": "assistant", "type": "text", "value": step["reply"]})
        if step["note"]:
            messages.append({"role": "user", "type": "text", "value": step["note"]})
    return [*messages, {"role": "user", "type": "image", "value": image_path_of(line)}]


def _summary(step: Line) -> str:
    """The reply's own words for its action, else the actions that were read in it."""
    sentence = re.search(r"^Action: *(.+)$", step["reply"], re.MULTILINE)
    return sentence[1] if sentence else "; ".join(step["actions"]) or "no action"
