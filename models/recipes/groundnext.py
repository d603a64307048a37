"""GroundNext: a computer_use tool that names the resized image's size, in whose pixels it counts."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
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
)
from models.recipes.reading import grid_parser
from utils.contracts import WH

LIMITS = Limits(factor=28, min_pixels=3136, max_pixels=12845056)
PACKAGE_LIMITS = Limits(factor=28, min_pixels=78400, max_pixels=6000000)
SYSTEM = """\
You are a helpful assistant.

# Tools

You may call one or more functions to assist with the user query.

You are provided with function signatures within <tools></tools> XML tags:
<tools>
{"type": "function", "function": {"name": "computer_use", "description": "Use a mouse and keyboard to interact with a computer, and take screenshots.
* This is an interface to a desktop GUI. You do not have access to a terminal or applications menu. You must click on desktop icons to start applications.
* Some applications may take time to start or process actions, so you may need to wait and take successive screenshots to see the results of your actions. E.g. if you click on Firefox and a window doesn't open, try wait and taking another screenshot.
* The screen's resolution is {W}x{H}.
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
* `terminate`: Terminate the current task and report its completion status.", "enum": ["key", "type", "mouse_move", "left_click", "left_click_drag", "right_click", "middle_click", "double_click", "scroll", "wait", "terminate"], "type": "string"}, "keys": {"description": "Required only by `action=key`.", "type": "array"}, "text": {"description": "Required only by `action=type`.", "type": "string"}, "coordinate": {"description": "{coordinate}", "type": "array"}, "pixels": {"description": "The amount of scrolling to perform. Positive values scroll up, negative values scroll down. Required only by `action=scroll`.", "type": "number"}, "time": {"description": "The seconds to wait. Required only by `action=wait`.", "type": "number"}, "status": {"description": "The status of the task. Required only by `action=terminate`.", "type": "string", "enum": ["success", "failure"]{status}, "required": ["action"], "type": "object"}}{end}
</tools>

For each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:
<tool_call>
{"name": <function-name>, "arguments": <args-json-object>}
</tool_call>{last}"""
COORDINATE = (
    "(x, y): The x (distance from the left edge) and y (distance from the top edge) coordinates to "
    "move the mouse to. Required only by `action=mouse_move` and `action=left_click_drag`."
)
PACKAGE_COORDINATE = (
    "(x, y): The x (pixels from the left edge) and y (pixels from the top edge) coordinates to move "
    "the mouse to. Required only by `action=mouse_move`, `action=left_click_drag`, "
    "`action=left_click`, `action=right_click`, `action=double_click`."
)


def _messages(fields: Mapping[str, str], instruction: str, grid_wh: WH) -> list[ChatMessage]:
    system = SYSTEM
    for name, text in {**fields, "W": str(grid_wh[0]), "H": str(grid_wh[1])}.items():
        system = system.replace(f"{{{name}}}", text)
    return [{"role": "system", "content": system}, image_and_text(instruction)]


def messages(instruction: str, grid_wh: WH) -> list[ChatMessage]:
    """Return the messages of the authors' evaluation, whose JSON lacks two braces."""
    fields = {"coordinate": COORDINATE, "status": "}", "end": "", "last": "\n"}
    return _messages(fields, instruction, grid_wh)


def package_messages(instruction: str, grid_wh: WH) -> list[ChatMessage]:
    """Return the messages of the authors' package, which the model card shows."""
    fields = {"coordinate": PACKAGE_COORDINATE, "status": "}}", "end": "}", "last": ""}
    return _messages(fields, instruction, grid_wh)


def read_call(response: str) -> Any:
    """Return the coordinate of the first tool call, cut to whole pixels.

    Of broken JSON its two runs of digits count; the sign is lost.
    """
    call = response.split("<tool_call>")[1].split("</tool_call>")[0]
    try:
        coordinate = json.loads(call)["arguments"]["coordinate"]
    except json.JSONDecodeError:
        coordinate = re.findall(r"\d+", call)
    return [int(number) for number in coordinate]


parse_point = grid_parser(read_call, LIMITS)
build_prompt = PromptForm(messages, limits=LIMITS)
build_prompt_package = PromptForm(package_messages, limits=PACKAGE_LIMITS)

RECIPE = Recipe(
    family="GroundNext",
    hub_ids=("ServiceNow/GroundNext-3B-V0", "ServiceNow/GroundNext-7B-V0"),
    frame=GRID,
    source="ServiceNow/GroundCUA @ 81136d47 eval/prompts.py, groundcua/",
    prompts={"official_eval": build_prompt, "package": build_prompt_package},
    parsers={"official_eval": Parser(parse_point)},
    limits=LIMITS,
    resize=({"factor": LIMITS.factor},),
    generate_cfg={"temperature": 0, "max_tokens": 1024},
    figures=(
        *sources.AUTHORS.of(
            "GroundNext-3B-V0",
            l2=77.1,
            screenspot_pro=49.8,
            screenspot_v2=88.5,
            osworld_g=64.2,
            ui_vision=62.1,
        ),
        *sources.AUTHORS.of(
            "GroundNext-7B-V0",
            l2=81.1,
            screenspot_pro=52.9,
            screenspot_v2=90.4,
            osworld_g=67.7,
            ui_vision=60.3,
        ),
    ),
    verified="prompts, both resizings and the evaluation's parser",
    note="The evaluation and the package ask in two forms; the figures are the evaluation's. For the "
    "package's set min_pixels 78400, max_pixels 6000000 and max_tokens 64. The evaluation's own vLLM "
    "class rewrites config.json: a checkpoint used with it may load nowhere else. Its training data "
    "share UI-Vision's applications.",
)
