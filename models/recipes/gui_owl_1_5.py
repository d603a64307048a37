"""GUI-Owl-1.5: its own computer_use tool, per mille."""

from __future__ import annotations

import re
from typing import Any

from models.recipes import sources
from models.recipes.base import (
    LIBRARY_GRID,
    Agent,
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
from models.recipes.reading import call_parser, declined_by_tool, whole_parser
from utils.contracts import WH

LIMITS = Limits(factor=32, min_pixels=200704, max_pixels=10035200)
SYSTEM = """\
# Tools

You may call one or more functions to assist with the user query.

You are provided with function signatures within <tools></tools> XML tags:
<tools>
{"type": "function", "function": {"name": "computer_use", "description": "Use a mouse to interact with a computer.
* The screen's resolution is 1000x1000.
* Make sure to click any buttons, links, icons, etc with the cursor tip in the center of the element. Don't click boxes on their edges unless asked.
* don't use any other computer use tool like type, key, scroll, left_click_drag and so on.
* you can only use the left_click and mouse_move action to interact with the computer. if you can't find the element, you should terminate the task and report the failure.", "parameters": {"properties": {"action": {"description": "The action to perform. The available actions are:
* `mouse_move`: Move the cursor to a specified (x, y) pixel coordinate on the screen.
* `left_click`: Click the left mouse button with coordinate (x, y) pixel coordinate on the screen.", "enum": ["mouse_move", "left_click"], "type": "string"}, "coordinate": {"description": "(x, y): The x (pixels from the left edge) and y (pixels from the top edge) coordinates to move the mouse to. Required only by `action=mouse_move` and `action=left_click`.", "type": "array"}}, "required": ["action"], "type": "object"}}}
</tools>

For each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:
<tool_call>
{"name": <function-name>, "arguments": <args-json-object>}
</tool_call>
"""
INFEASIBLE = """\
Additionally, if you think the task is infeasible (e.g., the task is not related to the image), return <tool_call>
{"name": "computer_use", "arguments": {"action": "terminate", "status": "failure"}}
</tool_call>"""
ROUND_PAIR = re.compile(r"\((\d+),\s*(\d+)\)")
SQUARE_PAIR = re.compile(r"\[(\d+), (\d+)\]")


def messages(instruction: str, _: WH = (0, 0)) -> list[ChatMessage]:
    """Return the authors' messages."""
    return [system_turn(SYSTEM), image_and_text(instruction)]


def messages_with_refusal(instruction: str, _: WH = (0, 0)) -> list[ChatMessage]:
    """Return the messages for OSWorld-G, which let the model say that a task is infeasible."""
    system = f"{SYSTEM}\n{INFEASIBLE}"
    return [system_turn(system), image_and_text(instruction)]


def read_pair(response: str) -> Any:
    """Return the last `(x,y)`; without any, the last `[x, y]` with exactly one blank."""
    x, y = (ROUND_PAIR.findall(response) or SQUARE_PAIR.findall(response))[-1]
    return int(x), int(y)


parse_point = whole_parser(read_pair, declined=declined_by_tool)
parse_call = call_parser()
OFFICIAL = PromptForm(messages)
WITH_REFUSAL = PromptForm(messages_with_refusal)
build_prompt = prompt_function(OFFICIAL)
build_prompt_with_refusal = prompt_function(WITH_REFUSAL)

RECIPE = Recipe(
    family="GUI-Owl-1.5",
    hub_ids=(
        "mPLUG/GUI-Owl-1.5-2B-Instruct",
        "mPLUG/GUI-Owl-1.5-4B-Instruct",
        "mPLUG/GUI-Owl-1.5-8B-Instruct",
        "mPLUG/GUI-Owl-1.5-32B-Instruct",
        "mPLUG/GUI-Owl-1.5-8B-Think",
        "mPLUG/GUI-Owl-1.5-32B-Think",
    ),
    frame="per mille",
    source="X-PLUG/MobileAgent @ 11cea575 "
    "Mobile-Agent-v3.5/grounding_and_kb/eval_grounding_benchmarks.py",
    prompts={"official": OFFICIAL, "official_osworld_g": WITH_REFUSAL},
    parsers={
        "official_eval": Parser(parse_point, nothing_found="(0, 0)"),
        "any_written_call": Parser(parse_call),
    },
    prompt_functions={
        "OSWorldG": "build_prompt_with_refusal",
        "VenusBenchGD": "build_prompt_with_refusal",
    },
    limits=LIMITS,
    resize=(LIBRARY_GRID,),
    generate_cfg={
        "temperature": 0.01,
        "top_p": 0.01,
        "max_tokens": 2048,
        "extra_body": {"top_k": 1},
    },
    figures=(
        *sources.AUTHORS.of(
            "GUI-Owl-1.5-2B-Instruct",
            l2=72.17,
            screenspot_pro=57.8,
            screenspot_v2=89.7,
            osworld_g=52.8,
        ),
        *sources.CLAWGUI.of(
            "GUI-Owl-1.5-2B-Instruct",
            l2=71.54,
            screenspot_pro=56.36,
            screenspot_v2=89.23,
            ui_vision=23.71,
        ),
        *sources.CLAWGUI_563.of("GUI-Owl-1.5-2B-Instruct", osworld_g=52.04),
        *sources.AUTHORS.of(
            "GUI-Owl-1.5-4B-Instruct",
            l2=83.24,
            screenspot_pro=66.8,
            screenspot_v2=93.2,
            osworld_g=63.7,
        ),
        *sources.CLAWGUI.of(
            "GUI-Owl-1.5-4B-Instruct",
            l2=82.94,
            screenspot_pro=66.16,
            screenspot_v2=92.53,
            ui_vision=29.97,
        ),
        *sources.CLAWGUI_563.of("GUI-Owl-1.5-4B-Instruct", osworld_g=62.34),
        *sources.AUTHORS.of(
            "GUI-Owl-1.5-8B", l2=82.52, screenspot_pro=71.1, screenspot_v2=93.7, osworld_g=65.8
        ),
        *sources.CLAWGUI.of(
            "GUI-Owl-1.5-8B", l2=82.33, screenspot_pro=70.08, screenspot_v2=93.55, ui_vision=36.7
        ),
    ),
    agent=Agent(
        prompt="models.recipes.agents.gui_owl.build_agent_prompt",
        parse="benchmarks.actions.dialects.parse_computer_use_per_mille",
        source="X-PLUG/MobileAgent @ 11cea575 Mobile-Agent-v3.5",
        generate_cfg={"temperature": 0.01, "max_tokens": 2048},
    ),
    steps=Steps(
        source="X-PLUG/MobileAgent @ 11cea575 Mobile-Agent-v3.5/mobile_use/utils.py",
        history="own",
        prompt="models.recipes.steps.gui_owl.build_step_prompt",
        parse="models.recipes.steps.gui_owl.parse_step",
        generate_cfg={"temperature": 0.01, "max_tokens": 2048},
        note="turns; without the date of the run; level low in words of OS-Atlas",
    ),
    verified="prompts, resizing and parser",
    note="The authors' code resizes twice: in steps of 28 with the library's limits, then of 32 "
    "with these. They judge against the box rounded outwards in per mille.",
)
