"""Qwen3.5's agent of OSWorld, for 3.6 and 3.8 too: `computer_use` in XML, points of 999."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from models.recipes.agents import image, screen, text
from models.recipes.agents.replies import each_between, from_file_px, summary
from models.recipes.base import Agent
from models.recipes.reading import NOT_READ, file_wh
from utils.contracts import Line, Message, Point
from utils.pyautogui_code import AT_POINTER

SYSTEM = """\
You are a multi-purpose intelligent assistant. Based on my requests, you can use tools to help me complete various tasks.

# Tools

You have access to the following functions:

<tools>
{"type": "function", "function": {"name": "computer_use", "description": "Use a mouse and keyboard to interact with a computer, and take screenshots.\\n* This is an interface to a desktop GUI. You do not have access to a terminal or applications menu. You must click on desktop icons to start applications.\\n* Some applications may take time to start or process actions, so you may need to wait and take successive screenshots to see the results of your actions.\\n* The screen's resolution is 1000x1000.\\n* Whenever you intend to move the cursor to click on an element like an icon, you should consult a screenshot to determine the coordinates of the element before moving the cursor.\\n* If you tried clicking on a program or link but it failed to load, even after waiting, try adjusting your cursor position so that the tip of the cursor visually falls on the element that you want to click.\\n* Make sure to click any buttons, links, icons, etc with the cursor tip in the center of the element. Don't click boxes on their edges unless asked.", "parameters": {"properties": {"action": {"description": "\\n* `key`: Performs key down presses on the arguments passed in order, then performs key releases in reverse order.\\n* `type`: Type a string of text on the keyboard.\\n* `mouse_move`: Move the cursor to a specified (x, y) pixel coordinate on the screen.\\n* `left_click`: Click the left mouse button at a specified (x, y) pixel coordinate on the screen. Optional `text` parameter can specify modifier keys (e.g., \\"ctrl\\", \\"shift\\", \\"ctrl+shift\\") that will be held during the click.\\n* `left_click_drag`: Click and drag the cursor to a specified (x, y) pixel coordinate on the screen.\\n* `right_click`: Click the right mouse button at a specified (x, y) pixel coordinate on the screen. Optional `text` parameter can specify modifier keys that will be held during the click.\\n* `middle_click`: Click the middle mouse button at a specified (x, y) pixel coordinate on the screen. Optional `text` parameter can specify modifier keys that will be held during the click.\\n* `double_click`: Double-click the left mouse button at a specified (x, y) pixel coordinate on the screen. Optional `text` parameter can specify modifier keys that will be held during the click.\\n* `triple_click`: Triple-click the left mouse button at a specified (x, y) pixel coordinate on the screen (simulated as double-click since it's the closest action). Optional `text` parameter can specify modifier keys that will be held during the click.\\n* `scroll`: Performs a scroll of the mouse scroll wheel. Optional `text` parameter can specify a modifier key (e.g., \\"shift\\", \\"ctrl\\") that will be held during scrolling.\\n* `hscroll`: Performs a horizontal scroll (mapped to regular scroll). Optional `text` parameter can specify a modifier key that will be held during scrolling.\\n* `wait`: Wait specified seconds for the change to happen.\\n* `terminate`: Terminate the current task and report its completion status.\\n* `answer`: Answer a question.\\n        ", "enum": ["key", "type", "mouse_move", "left_click", "left_click_drag", "right_click", "middle_click", "double_click", "triple_click", "scroll", "hscroll", "wait", "terminate", "answer"], "type": "string"}, "keys": {"description": "Required only by `action=key`.", "type": "array"}, "text": {"description": "Required by `action=type` and `action=answer`. Optional for click actions (left_click, right_click, middle_click, double_click, triple_click) to specify modifier keys (e.g., 'ctrl', 'shift', 'ctrl+shift'). Optional for scroll actions (scroll, hscroll) to specify a modifier key (e.g., 'shift', 'ctrl') to hold during scrolling.", "type": "string"}, "coordinate": {"description": "(x, y) coordinates.", "type": "array"}, "pixels": {"description": "Scroll amount.", "type": "number"}, "time": {"description": "Seconds to wait.", "type": "number"}, "status": {"description": "Task status for terminate.", "type": "string", "enum": ["success", "failure"]}}, "required": ["action"], "type": "object"}}}
</tools>

If you choose to call a function ONLY reply in the following format with NO suffix:

<tool_call>
<function=example_function_name>
<parameter=example_parameter_1>
value_1
</parameter>
<parameter=example_parameter_2>
This is the value for the second parameter
that can span
multiple lines
</parameter>
</function>
</tool_call>

<IMPORTANT>
Reminder:
- Function calls MUST follow the specified format: an inner <function=...></function> block must be nested within <tool_call></tool_call> XML tags
- Required parameters MUST be specified
- You may provide optional reasoning for your function call in natural language BEFORE the function call, but NOT after
- If there is no function call available, answer the question like normal with your current knowledge and do not tell the user about function calls
- The current date is {date}".
</IMPORTANT>

# Response format

Response format for every step:
1) Action: a short imperative describing what to do in the UI.
2) A single <tool_call>...</tool_call> block.

Rules:
- Output exactly in the order: Action, <tool_call>.
- Be brief: one sentence for Action.
- Do not output anything else outside those parts.
- If finishing, use action=terminate in the tool call."""
TASK = """\

Please generate the next move according to the UI screenshot, instruction and previous actions.

Instruction: {instruction}

Previous actions:
{previous_actions or None}"""
DATE = "Monday, March 09, 2026"
"""The day on which the clocks of the worlds begin, in place of that of the run."""
OPENING, CLOSING = "<tool_response>\n", "\n</tool_response>"
COLLAPSED = "This screenshot has been collapsed."
MOST_TURNS = 100  # that are repeated before the screen now; of older ones a line each
MOST_IMAGES = 20  # with the screen now
FULL_SCALE = 999
CLICKS = {
    "left_click": "click",
    "right_click": "right",
    "middle_click": "middle",
    "double_click": "double",
    "triple_click": "double",  # as the prompt says
}
HELD = ("ctrl", "control", "shift", "alt", "option", "cmd", "command", "win", "super", "meta")


def build_agent_prompt(line: Line, dataset: str) -> list[Message]:
    """Return the tool, the task, and the episode as answers of the tool, the screen now last.

    Of more than 20 screenshots the oldest are collapsed.
    """
    history = line["history"]
    older, turns = history[:-MOST_TURNS], history[-MOST_TURNS:]
    lines = [f"Step {number}: {summary(step)}" for number, step in enumerate(older, 1)]
    task = TASK.replace("{instruction}", line["instruction"])
    task = task.replace("{previous_actions or None}", "\n".join(lines) or "None")
    messages = [text(SYSTEM.replace("{date}", DATE), "system")]
    screens = [image(step["image_path"]) for step in turns] + [screen(line)]
    notes = ["", *(step["note"] for step in turns)]
    for number, (screenshot, note) in enumerate(zip(screens, notes, strict=True)):
        is_shown = number >= len(screens) - MOST_IMAGES
        if number == 0:
            messages += [screenshot, text(task)] if is_shown else [text(task)]
        elif is_shown:
            told = [text(f"{note}\n")] if note else []  # the authors' code tells nothing
            messages += [text(OPENING), *told, screenshot, text(CLOSING)]
        else:
            messages.append(text(f"{OPENING}{COLLAPSED}{CLOSING}"))
        if number < len(turns):
            messages.append(text(turns[number]["reply"], "assistant"))
    return messages


def parse_actions(response: str, meta: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """Return the actions of all calls of a reply, those in its thoughts too."""
    try:
        calls = map(parameters_of, each_between(response, "<tool_call>", "</tool_call>"))
        actions = [action for call in calls if (action := _action(call, meta))]
    except NOT_READ:
        return None
    return actions or None


def parameters_of(call: str) -> dict[str, str]:
    """Return the parameters of a call of `computer_use`; of other functions none."""
    function = call.partition("<function=")[2].partition(">")[0]
    parameters: dict[str, str] = {}
    position = 0
    while function == "computer_use" and (start := call.find("<parameter=", position)) >= 0:
        name, closed, _ = call[start + len("<parameter=") :].partition(">")
        value_start = start + len(f"<parameter={name}>")
        end = call.find("</parameter>", value_start)
        if not closed or end < 0:
            break
        parameters[name] = call[value_start:end].strip()
        position = end
    return parameters


def _action(call: Mapping[str, str], meta: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the action of a call; None: the authors' code does not know it."""
    name = call.get("action", "")
    held = [key.strip().lower() for key in call.get("text", "").split("+")]
    modifiers = [key for key in held if key in HELD]
    if name in CLICKS:
        point = _point(call, meta) or AT_POINTER
        return {"kind": CLICKS[name], "point": point, "modifiers": modifiers}
    if name in ("scroll", "hscroll"):
        # Both turn the same wheel, as the prompt says, by so many notches.
        notches = _whole(call.get("pixels", ""))
        action = {"kind": "scroll", "point": AT_POINTER, "modifiers": modifiers}
        return {**action, "direction": "up" if notches > 0 else "down", "amount": abs(notches)}
    if name == "mouse_move":
        return {"kind": "move", "point": _point(call, meta) or (0.0, 0.0)}
    if name == "left_click_drag":
        return {"kind": "drag", "point": AT_POINTER, "to_point": _point(call, meta) or (0.0, 0.0)}
    if name == "type":
        return {"kind": "type", "text": call.get("text", "")}
    if name == "key":
        return {"kind": "key", "keys": _keys(call.get("keys", ""))}
    if name == "wait":
        return {"kind": "wait", "seconds": call.get("time")}
    if name == "answer":
        return {"kind": "answer", "text": call.get("text", "")}
    if name == "terminate":
        return {"kind": "fail" if call.get("status") == "failure" else "done"}
    return None


def _point(call: Mapping[str, str], meta: Mapping[str, Any]) -> Point | None:
    """Return the whole pixel that the authors' code clicks; only a list is a point there."""
    numbers = _json_of(call.get("coordinate", ""))
    if not isinstance(numbers, list) or len(numbers) < 2:
        return None
    width, height = file_wh(meta)
    x_px, y_px = int(numbers[0] * (width / FULL_SCALE)), int(numbers[1] * (height / FULL_SCALE))
    return from_file_px((x_px, y_px), meta)


def _keys(written: str) -> Any:
    """Return the keys of a list, or a text such as `ctrl+s`."""
    keys = _json_of(written)
    return [str(key).strip() for key in keys] if isinstance(keys, list) else written


def _whole(written: str) -> int:
    with suppress(ArithmeticError, ValueError):
        return int(float(written))
    return 0


def _json_of(written: str) -> Any:
    with suppress(ValueError, RecursionError):
        return json.loads(written)
    return None


AGENT = Agent(
    prompt=f"{__name__}.build_agent_prompt",
    parse=f"{__name__}.parse_actions",
    source="xlang-ai/OSWorld @ bfd62bdc mm_agents/qwen35vl_agent.py, as mrwwk/DeskCraft @ 3e11457 has it",
    generate_cfg={"temperature": 0, "top_p": 0.9, "max_tokens": 32768},
    prompts={"osworld_agent_first_turn": f"{__name__}.build_agent_prompt"},
    parsers={"osworld_agent": f"{__name__}.parse_actions"},
    verified="first prompt and replies",
    note="computers only; an answer and a failure reach the world, where the authors' code ends both "
    "as done; its resizing (steps of 32, 3136 to 13107200 pixels) is left to kwargs.resize",
)
