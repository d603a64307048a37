"""SE-GUI: the computer_use tool, pixels of the resized image."""

from __future__ import annotations

import re
from typing import Any

from models.recipes import sources
from models.recipes.base import (
    GRID,
    ChatMessage,
    Limits,
    Parser,
    PromptForm,
    Recipe,
    image_and_text,
    prompt_function,
    system_turn,
)
from models.recipes.reading import between, call_parser, declined_by_tool, grid_parser
from utils.contracts import WH

LIMITS = Limits(factor=28, min_pixels=3136, max_pixels=7049280)
SYSTEM = """\
You are a helpful assistant.
#Tools

You may call one or more functions to assist with the user query.

You are provided with function signatures within <tools></tools> XML tags:
<tools>
{"type": "function", "function": {"name_for_human": "computer_use", "name": "computer_use", "description": "Use a mouse and keyboard to interact with a computer, and take screenshots.
* This is an interface to a desktop GUI. You do not have access to a terminal or applications menu. You must click on desktop icons to start applications.
* Some applications may take time to start or process actions, so you may need to wait and take successive screenshots to see the results of your actions. E.g. if you click on Firefox and a window doesn't open, try wait and taking another screenshot.
* The screen's resolution is {{screen_width}}x{{screen_height}}.
* Whenever you intend to move the cursor to click on an element like an icon, you should consult a screenshot to determine the coordinates of the element before moving the cursor.
* If you tried clicking on a program or link but it failed to load, even after waiting, try adjusting your cursor position so that the tip of the cursor visually falls on the element that you want to click.
* Make sure to click any buttons, links, icons, etc with the cursor tip in the center of the element. Don't click boxes on their edges unless asked.", "parameters": {"properties": {"action": {"description": "The action to perform. The available actions are:
* key: Performs key down presses on the arguments passed in order, then performs key releases in reverse order.
* type: Type a string of text on the keyboard.
* mouse_move: Move the cursor to a specified (x, y) pixel coordinate on the screen.
* left_click: Click the left mouse button.
* left_click_drag: Click and drag the cursor to a specified (x, y) pixel coordinate on the screen.
* right_click: Click the right mouse button.
* middle_click: Click the middle mouse button.
* double_click: Double-click the left mouse button.
* scroll: Performs a scroll of the mouse scroll wheel.
* wait: Wait specified seconds for the change to happen.
* terminate: Terminate the current task and report its completion status.", "enum": ["key", "type", "mouse_move", "left_click", "left_click_drag", "right_click", "middle_click", "double_click", "scroll", "wait", "terminate"], "type": "string"}, "keys": {"description": "Required only by action=key.", "type": "array"}, "text": {"description": "Required only by action=type.", "type": "string"}, "coordinate": {"description": "(x, y): The x (pixels from the left edge) and y (pixels from the top edge) coordinates to move the mouse to. Required only by action=mouse_move and action=left_click_drag.", "type": "array"}, "pixels": {"description": "The amount of scrolling to perform. Positive values scroll up, negative values scroll down. Required only by action=scroll.", "type": "number"}, "time": {"description": "The seconds to wait. Required only by action=wait.", "type": "number"}, "status": {"description": "The status of the task. Required only by action=terminate.", "type": "string", "enum": ["success", "failure"]}}, "required": ["action"], "type": "object"}, "args_format": "Format the arguments as a JSON object."}}
</tools>

For each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:
<tool_call>
{"name": <function-name>, "arguments": <args-json-object>}
</tool_call>"""
NUMBER = re.compile(r"\d+\.\d+|\d+")


def messages(instruction: str, grid_wh: WH) -> list[ChatMessage]:
    """Return the authors' messages; the tool text names the size of the resized image."""
    system = SYSTEM.replace("{{screen_width}}", str(grid_wh[0]))
    system = system.replace("{{screen_height}}", str(grid_wh[1]))
    return [system_turn(system), image_and_text(instruction)]


def read_call(response: str) -> Any:
    """Return the last two numbers of the first tool call, signs ignored."""
    numbers = NUMBER.findall(between(response, "<tool_call>", "</tool_call>"))
    return float(numbers[-2]), float(numbers[-1])


parse_point = grid_parser(read_call, LIMITS, declined_by_tool)
parse_call = call_parser(LIMITS)
OFFICIAL = PromptForm(messages, limits=LIMITS)
build_prompt = prompt_function(OFFICIAL)

RECIPE = Recipe(
    family="SE-GUI",
    hub_ids=("XinBB/SE-GUI-7B",),
    frame=GRID,
    source="YXB-NKU/SE-GUI @ 0e262376 src/eval/test_grounding_r1_nothink.py",
    prompts={"official": OFFICIAL},
    parsers={
        "official": Parser(parse_point, nothing_found="(0, 0)"),
        "any_written_call": Parser(parse_call),
    },
    limits=LIMITS,
    generate_cfg={"temperature": 0, "max_tokens": 256},
    figures=(*sources.LEADERBOARD.of("SE-GUI-7B", screenspot_pro=47.2),),
    verified="prompt, resizing and parser",
)
