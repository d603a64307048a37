"""Qwen2.5-VL: the authors' computer_use tool, absolute pixels of the resized image."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from models.recipes import sources
from models.recipes.base import (
    GRID,
    HELPFUL,
    ChatMessage,
    Limits,
    Parser,
    PromptForm,
    Recipe,
    Steps,
    image_and_text,
    prompt_function,
    system_turn,
)
from models.recipes.reading import (
    call_parser,
    centre,
    declined_by_tool,
    from_grid,
    grid_parser,
    numbers_or_none,
    tool_call,
    up_to_last_brace,
)
from utils.contracts import WH, Point

LIMITS = Limits(factor=28, min_pixels=3136, max_pixels=12845056)
PREFIX = (
    '<tool_call>\n{"name": "computer_use", "arguments": {"action": "left_click", "coordinate": ['
)
TOOLS = r"""

# Tools

You may call one or more functions to assist with the user query.

You are provided with function signatures within <tools></tools> XML tags:
<tools>
{"type": "function", "function": {"name": "computer_use", "description": "Use a mouse and keyboard to interact with a computer, and take screenshots.\n* This is an interface to a desktop GUI. You do not have access to a terminal or applications menu. You must click on desktop icons to start applications.\n* Some applications may take time to start or process actions, so you may need to wait and take successive screenshots to see the results of your actions. E.g. if you click on Firefox and a window doesn't open, try wait and taking another screenshot.\n* The screen's resolution is {W}x{H}.\n* Whenever you intend to move the cursor to click on an element like an icon, you should consult a screenshot to determine the coordinates of the element before moving the cursor.\n* If you tried clicking on a program or link but it failed to load, even after waiting, try adjusting your cursor position so that the tip of the cursor visually falls on the element that you want to click.\n* Make sure to click any buttons, links, icons, etc with the cursor tip in the center of the element. Don't click boxes on their edges.", "parameters": {"properties": {"action": {"description": "The action to perform. The available actions are:\n* `key`: Performs key down presses on the arguments passed in order, then performs key releases in reverse order.\n* `type`: Type a string of text on the keyboard.\n* `mouse_move`: Move the cursor to a specified (x, y) pixel coordinate on the screen.\n* `left_click`: Click the left mouse button at a specified (x, y) pixel coordinate on the screen.\n* `left_click_drag`: Click and drag the cursor to a specified (x, y) pixel coordinate on the screen.\n* `right_click`: Click the right mouse button at a specified (x, y) pixel coordinate on the screen.\n* `middle_click`: Click the middle mouse button at a specified (x, y) pixel coordinate on the screen.\n* `double_click`: Double-click the left mouse button at a specified (x, y) pixel coordinate on the screen.\n* `triple_click`: Triple-click the left mouse button at a specified (x, y) pixel coordinate on the screen (simulated as double-click since it's the closest action).\n* `scroll`: Performs a scroll of the mouse scroll wheel.\n* `hscroll`: Performs a horizontal scroll (mapped to regular scroll).\n* `wait`: Wait specified seconds for the change to happen.\n* `terminate`: Terminate the current task and report its completion status.\n* `answer`: Answer a question.", "enum": ["key", "type", "mouse_move", "left_click", "left_click_drag", "right_click", "middle_click", "double_click", "triple_click", "scroll", "hscroll", "wait", "terminate", "answer"], "type": "string"}, "keys": {"description": "Required only by `action=key`.", "type": "array"}, "text": {"description": "Required only by `action=type` and `action=answer`.", "type": "string"}, "coordinate": {"description": "(x, y): The x (pixels from the left edge) and y (pixels from the top edge) coordinates to move the mouse to.", "type": "array"}, "pixels": {"description": "The amount of scrolling to perform. Positive values scroll up, negative values scroll down. Required only by `action=scroll` and `action=hscroll`.", "type": "number"}, "time": {"description": "The seconds to wait. Required only by `action=wait`.", "type": "number"}, "status": {"description": "The status of the task. Required only by `action=terminate`.", "type": "string", "enum": ["success", "failure"]}}, "required": ["action"], "type": "object"}}}
</tools>

For each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:
<tool_call>
{"name": <function-name>, "arguments": <args-json-object>}
</tool_call>"""
SSP_TOOLS = """\



# Tools

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
* `key`: Performs key down presses on the arguments passed in order, then performs key releases in reverse order.
* `type`: Type a string of text on the keyboard.
* `mouse_move`: Move the cursor to a specified (x, y) pixel coordinate on the screen.
* `left_click`: Click the left mouse button.
* `left_click_drag`: Click and drag the cursor to a specified (x, y) pixel coordinate on the screen.
* `right_click`: Click the right mouse button.
* `middle_click`: Click the middle mouse button.
* `double_click`: Double-click the left mouse button.
* `scroll`: Performs a scroll of the mouse scroll wheel.
* `wait`: Wait specified seconds for the change to happen.
* `terminate`: Terminate the current task and report its completion status.", "enum": ["key", "type", "mouse_move", "left_click", "left_click_drag", "right_click", "middle_click", "double_click", "scroll", "wait", "terminate"], "type": "string"}, "keys": {"description": "Required only by `action=key`.", "type": "array"}, "text": {"description": "Required only by `action=type`.", "type": "string"}, "coordinate": {"description": "(x, y): The x (pixels from the left edge) and y (pixels from the top edge) coordinates to move the mouse to. Required only by `action=mouse_move` and `action=left_click_drag`.", "type": "array"}, "pixels": {"description": "The amount of scrolling to perform. Positive values scroll up, negative values scroll down. Required only by `action=scroll`.", "type": "number"}, "time": {"description": "The seconds to wait. Required only by `action=wait`.", "type": "number"}, "status": {"description": "The status of the task. Required only by `action=terminate`.", "type": "string", "enum": ["success", "failure"]}}, "required": ["action"], "type": "object"}, "args_format": "Format the arguments as a JSON object."}}
</tools>

For each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:
<tool_call>
{"name": <function-name>, "arguments": <args-json-object>}
</tool_call>"""


def messages(instruction: str, grid_wh: WH) -> list[ChatMessage]:
    """Return the cookbook's messages; the tool text names the size of the resized image."""
    tools = TOOLS.replace("{W}", str(grid_wh[0])).replace("{H}", str(grid_wh[1]))
    return [system_turn(HELPFUL, tools), image_and_text(instruction)]


def ssp_messages(instruction: str, grid_wh: WH) -> list[ChatMessage]:
    """Return the messages of ScreenSpot-Pro's own code, whose reply is begun with `PREFIX`."""
    tools = SSP_TOOLS.replace("{{screen_width}}", str(grid_wh[0]))
    tools = tools.replace("{{screen_height}}", str(grid_wh[1]))
    return [system_turn(HELPFUL, tools), image_and_text(instruction)]


@numbers_or_none
def read_call(response: str) -> Any:
    """Return the point, or the centre of the box, of the first tool call."""
    coordinate = tool_call(up_to_last_brace(response))["arguments"]["coordinate"]
    return centre(coordinate) if len(coordinate) == 4 else coordinate


parse_point = grid_parser(read_call, LIMITS, declined_by_tool)


def parse_point_after_prefix(response: str, meta: Mapping[str, Any]) -> Point | None:
    """Return the point of what a model wrote behind `PREFIX`."""
    return from_grid(read_call(PREFIX + response), meta, LIMITS)


parse_call = call_parser(LIMITS)
COOKBOOK = PromptForm(messages, limits=LIMITS)
SSP = PromptForm(ssp_messages, limits=LIMITS, prefix=PREFIX)
build_prompt = prompt_function(COOKBOOK)
build_prompt_ssp = prompt_function(SSP)

RECIPE = Recipe(
    family="Qwen2.5-VL",
    hub_ids=(
        "Qwen/Qwen2.5-VL-3B-Instruct",
        "Qwen/Qwen2.5-VL-7B-Instruct",
        "Qwen/Qwen2.5-VL-32B-Instruct",
        "Qwen/Qwen2.5-VL-72B-Instruct",
    ),
    frame=GRID,
    source="QwenLM/Qwen3-VL @ 96588727 cookbooks/utils/agent_function_call.py; ScreenSpot-Pro @ "
    "bd8bbbb4 models/qwen2_5vl.py; QwenLM issue #763",
    prompts={"cookbook_nous": COOKBOOK, "ssp_hf": SSP},
    parsers={
        "ssp_no_prefill": Parser(parse_point),
        "ssp_prefill": Parser(parse_point_after_prefix),
        "any_written_call": Parser(parse_call),
    },
    limits=LIMITS,
    generate_cfg={"temperature": 0, "max_tokens": 100},
    figures=(
        *sources.CLAWGUI_OTHER_PROMPT.of(
            "Qwen2.5-VL-3B-Instruct",
            l2=52.81,
            screenspot_pro=15.62,
            screenspot_v2=64.86,
            ui_vision=6.73,
        ),
        *sources.LEADERBOARD.of("Qwen2.5-VL-3B-Instruct", screenspot_pro=16.1, screenspot_v2=46.9),
        *sources.CLAWGUI_OTHER_PROMPT.of(
            "Qwen2.5-VL-7B-Instruct",
            l2=70.26,
            screenspot_pro=27.45,
            screenspot_v2=87.66,
            ui_vision=14.4,
        ),
        *sources.LEADERBOARD.of("Qwen2.5-VL-7B-Instruct", screenspot_pro=26.8, screenspot_v2=86.5),
        *sources.UI_VENUS_README.of("Qwen2.5-VL-7B-Instruct", screenspot_v2=88.8),
        *sources.UI_VISION_README.of("Qwen2.5-VL-7B-Instruct", ui_vision=0.85),
        *sources.LEADERBOARD.of("Qwen2.5-VL-32B-Instruct", screenspot_pro=48.0),
        *sources.LEADERBOARD.of("Qwen2.5-VL-72B-Instruct", screenspot_pro=53.3),
        *sources.OSWORLD_G_PAGE.of("Qwen2.5-VL-3B-Instruct", screenspot_v2=80.9, osworld_g=27.3),
        *sources.OSWORLD_G_PAGE.of("Qwen2.5-VL-7B-Instruct", osworld_g=31.4),
        *sources.OPENCUA_README.of("Qwen2.5-VL-32B-Instruct", osworld_g=46.5),
    ),
    steps=Steps(
        source="QwenLM/Qwen3-VL issue #904; InfiXAI/InfiGUI-R1 @ a4fca17 eval/android_control",
        history="actions",
        prompt="models.recipes.steps.qwen2_5_vl.build_step_prompt",
        parse="models.recipes.steps.qwen2_5_vl.parse_step",
        generate_cfg={"temperature": 0, "max_tokens": 512},
        note="the recorded actions as JSON",
    ),
    verified="prompts, resizing and both parsers",
    note="ScreenSpot-Pro raises max_pixels to 99999999; the cookbook raises where this reads None.",
)
