"""Qwen3.5, 3.6 and 3.8: the JSON tool of ScreenSpot-Pro's author, per mille; thinking allowed."""

from __future__ import annotations

import json
import re
from typing import Any

from models.recipes import sources
from models.recipes.agents.qwen3_5 import AGENT
from models.recipes.base import (
    ChatMessage,
    Limits,
    Parser,
    PromptForm,
    Recipe,
    image_and_text,
    system_turn,
)
from models.recipes.reading import NOT_READ, braced_call, call_parser, centre, whole_parser
from models.recipes.ui_venus_2 import messages as venus_messages
from models.recipes.ui_venus_2 import parse_point as parse_point_venus
from utils.contracts import WH

LIMITS = Limits(factor=32, min_pixels=65536, max_pixels=16777216)
SYSTEM = """\
You are a helpful assistant. The user will give you an instruction, and you MUST left click on the corresponding UI element via tool call. If you are not sure about where to click, guess a most likely one.

# Tools

You may call one or more functions to assist with the user query.

You are provided with function signatures within <tools></tools> XML tags:
<tools>
{"type": "function", "function": {"name": "computer_use", "description": "Use a mouse to interact with a computer.
* The screen's resolution is 1000x1000.
* Make sure to click any buttons, links, icons, etc with the cursor tip in the center of the element.\x20
* You can only use the left_click action to interact with the computer.", "parameters": {"properties": {"action": {"description": "The action to perform. The available actions are:
* `left_click`: Click the left mouse button with coordinate (x, y).", "enum": ["left_click"], "type": "string"}, "coordinate": {"description": "(x, y): The x (pixels from the left edge) and y (pixels from the top edge) coordinates to move the mouse to. Required only by `action=left_click`.", "type": "array"}, "required": ["action"], "type": "object"}}}
</tools>

For each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:
<tool_call>
{"name": <function-name>, "arguments": <args-json-object>}
</tool_call>"""
NUMBER = r"\s*(\d+(?:\.\d+)?)\s*"
WRITTEN = re.compile(rf'"coordinate":\s*\[{NUMBER},{NUMBER}\]')


def messages(instruction: str, _: WH = (0, 0)) -> list[ChatMessage]:
    """Return the messages of ScreenSpot-Pro's code; the tool lacks a brace, as it does there."""
    return [system_turn(SYSTEM), image_and_text(instruction)]


def read_call(response: str) -> Any:
    """Return the coordinate of the last tool call whose end tag stands on a line of its own."""
    call = response.split("<tool_call>\n")[-1].split("\n</tool_call>")[-2]
    coordinate = json.loads(call)["arguments"]["coordinate"]
    return centre(coordinate) if len(coordinate) == 4 else coordinate


def read_first_call(response: str) -> Any:
    """Return the first tool call's coordinate; of broken JSON the first one that is written."""
    try:
        coordinate = json.loads(braced_call(response, 0))["arguments"]["coordinate"]
    except NOT_READ:
        coordinate = WRITTEN.findall(response)[0]
    return float(coordinate[0]), float(coordinate[1])


parse_point = whole_parser(read_call)
parse_first_call = whole_parser(read_first_call)
parse_call = call_parser()
build_prompt = PromptForm(messages)
build_prompt_venus = PromptForm(venus_messages)

RECIPE = Recipe(
    family="Qwen3.5, Qwen3.6, Qwen3.8",
    hub_ids=(
        "Qwen/Qwen3.5-0.8B",
        "Qwen/Qwen3.5-2B",
        "Qwen/Qwen3.5-4B",
        "Qwen/Qwen3.5-9B",
        "Qwen/Qwen3.5-27B",
        "Qwen/Qwen3.5-35B-A3B",
        "Qwen/Qwen3.5-122B-A10B",
        "Qwen/Qwen3.5-397B-A17B",
        "Qwen/Qwen3.6-27B",
        "Qwen/Qwen3.6-35B-A3B",
        "Qwen/Qwen3.8-27B",
        "Qwen/Qwen3.8-2.4T-A95B",
    ),
    frame="per mille",
    source="ScreenSpot-Pro @ 4a04544 models/qwen3_5.py; 1934d40 models/zoom_consistency_router.py; "
    "inclusionAI/UI-Venus @ 81945ac7 models/grounding/ui_venus2_gd.py",
    prompts={"ssp_4a04544": build_prompt, "ui_venus_2_style": build_prompt_venus},
    parsers={
        "ssp_4a04544": Parser(parse_point),
        "zoom_consistency_router": Parser(parse_first_call),
        "ui_venus_2_style": Parser(parse_point_venus, nothing_found="(-0.001, -0.001)"),
        "any_written_call": Parser(parse_call),
    },
    limits=LIMITS,
    resize=({"factor": 8, "min_pixels": 1024, "max_pixels": 8294400},),
    generate_cfg={"temperature": 0, "max_tokens": 4096},
    figures=(
        *sources.HUB_CARD.of("Qwen3.5-122B-A10B", screenspot_pro=70.4),
        *sources.HUB_CARD.of("Qwen3.5-397B-A17B", screenspot_pro=68.5),
    ),
    agent=AGENT,
    verified=f"prompts, resizing and parsers; agent: {AGENT.verified}",
    note="The chat template decides whether the model thinks; `parse_point_venus` reads replies to "
    "`build_prompt_venus`, whose authors set enable_thinking false. A call in XML, the family's own "
    "form, is read by `parse_call` and `parse_point_venus`, not by `parse_point`. A server's reasoning parser may put all of a reply into "
    "its thoughts.",
)
