"""Jedi: the computer_use tool with doubled braces, pixels of the resized image."""

from __future__ import annotations

import json
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
    prompt_function,
    system_turn,
)
from models.recipes.reading import (
    call_parser,
    declined_by_tool,
    file_wh,
    from_pixels,
    numbers_or_none,
    seen_wh,
)
from utils.contracts import WH
from utils.geometry.targets import Answer

LIMITS = Limits(factor=28, min_pixels=3136, max_pixels=2116800)
SYSTEM = """\
You are a helpful assistant.

# Tools

You may call one or more functions to assist with the user query.

You are provided with function signatures within <tools></tools> XML tags:
<tools>
{{"type": "function", "function": {{"name": "computer_use", "description": "Use a mouse and keyboard to interact with a computer, and take screenshots.
* This is an interface to a desktop GUI. You do not have access to a terminal or applications menu. You must click on desktop icons to start applications.
* Some applications may take time to start or process actions, so you may need to wait and take successive screenshots to see the results of your actions. E.g. if you click on Firefox and a window doesn't open, try wait and taking another screenshot.
* The screen's resolution is {width}x{height}.
* Whenever you intend to move the cursor to click on an element like an icon, you should consult a screenshot to determine the coordinates of the element before moving the cursor.
* If you tried clicking on a program or link but it failed to load, even after waiting, try adjusting your cursor position so that the tip of the cursor visually falls on the element that you want to click.
* Make sure to click any buttons, links, icons, etc with the cursor tip in the center of the element. Don't click boxes on their edges unless asked.", "parameters": {{"properties": {{"action": {{"description": "The action to perform. The available actions are:
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
* `terminate`: Terminate the current task and report its completion status.", "enum": ["key", "type", "mouse_move", "left_click", "left_click_drag", "right_click", "middle_click", "double_click", "scroll", "wait", "terminate"], "type": "string"}}, "keys": {{"description": "Required only by `action=key`.", "type": "array"}}, "text": {{"description": "Required only by `action=type`.", "type": "string"}}, "coordinate": {{"description": "(x, y): The x (pixels from the left edge) and y (pixels from the top edge) coordinates to move the mouse to. Required only by `action=mouse_move`, `action=left_click_drag`, `action=left_click`, `action=right_click`, `action=double_click`.", "type": "array"}}, "pixels": {{"description": "The amount of scrolling to perform. Positive values scroll up, negative values scroll down. Required only by `action=scroll`.", "type": "number"}}, "time": {{"description": "The seconds to wait. Required only by `action=wait`.", "type": "number"}}, "status": {{"description": "The status of the task. Required only by `action=terminate`.", "type": "string", "enum": ["success", "failure"]}}}}, "required": ["action"], "type": "object"}}}}}}
</tools>

For each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:
<tool_call>
{{"name": <function-name>, "arguments": <args-json-object>}}
</tool_call>"""
NOTHING_FOUND = (-1, -1)  # what the authors' code returns then
ALEMBIC = "\N{ALEMBIC}"
"""Stands for either tag in some of the authors' replies."""


def messages(instruction: str, grid_wh: WH) -> list[ChatMessage]:
    """Return the messages of the authors' 7B agent in OSWorld; the doubled braces are sent."""
    system = SYSTEM.replace("{width}", str(grid_wh[0])).replace("{height}", str(grid_wh[1]))
    return [system_turn(system), image_and_text(f"\n{instruction}")]


@numbers_or_none
def read_call(response: str) -> Any:
    """Return the first two numbers of the first tool call."""
    start = next(tag for tag in ("<tool_call>", ALEMBIC) if tag in response)
    end = next(tag for tag in ("</tool_call>", ALEMBIC) if tag in response)
    call = json.loads(response.split(start)[1].split(end)[0].strip())
    coordinate = call["arguments"]["coordinate"]
    return coordinate[0], coordinate[1]


def parse_point(response: str, meta: Mapping[str, Any]) -> Answer:
    """Return the point of a reply, cut to whole pixels of the file."""
    numbers = read_call(response)
    if numbers is None:
        return declined_by_tool(response)
    width, height = file_wh(meta)
    grid_w, grid_h = seen_wh(meta, LIMITS)
    point_px = (int(numbers[0] * width / grid_w), int(numbers[1] * height / grid_h))
    if point_px == NOTHING_FOUND:
        return None
    return from_pixels(point_px, (width, height), meta)


parse_call = call_parser(LIMITS)
OSWORLD = PromptForm(messages, limits=LIMITS)
build_prompt = prompt_function(OSWORLD)

RECIPE = Recipe(
    family="Jedi",
    hub_ids=("xlangai/Jedi-3B-1080p", "xlangai/Jedi-7B-1080p"),
    frame=GRID,
    source="OSWorld mm_agents/jedi_7b_agent.py, in vis-nlp/DSAgentBench @ fe670803",
    prompts={"osworld_7b": OSWORLD},
    parsers={
        "osworld_jedi_7b": Parser(parse_point, nothing_found="(-1, -1)"),
        "any_written_call": Parser(parse_call),
    },
    limits=LIMITS,
    generate_cfg={"temperature": 0},
    figures=(
        *sources.UI_VISION_README.of("Jedi-3B-1080p", ui_vision=18.96),
        *sources.UI_VISION_README.of("Jedi-7B-1080p", ui_vision=25.19),
        *sources.AUTHORS.of("Jedi-3B-1080p", screenspot_v2=88.6, osworld_g=50.9),
        *sources.AUTHORS.of("Jedi-7B-1080p", screenspot_v2=91.7, osworld_g=54.1),
    ),
    verified="prompt, resizing and parser",
    note="The authors' 3B agent passes height and width in the wrong order; this does not.",
)
