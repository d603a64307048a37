"""Qwen3-VL: the computer_use tool on a screen of 1000x1000, whatever the image."""

from __future__ import annotations

from typing import Any

from models.recipes import sources
from models.recipes.base import (
    HELPFUL,
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
from models.recipes.qwen2_5_vl import TOOLS
from models.recipes.qwen3_5 import messages as ssp_messages
from models.recipes.qwen3_5 import parse_point as parse_point_ssp
from models.recipes.reading import (
    call_parser,
    declined_by_tool,
    file_pixel_parser,
    tool_call,
    whole_parser,
)
from utils.contracts import WH

LIMITS = Limits(factor=32, min_pixels=65536, max_pixels=16777216)


def messages(instruction: str, _: WH = (0, 0)) -> list[ChatMessage]:
    """Return the cookbook's messages.

    Qwen3-VL's chat template adds no helpful line of its own, so the system message has it.
    """
    tools = TOOLS.replace("{W}x{H}", "1000x1000")
    return [system_turn(HELPFUL, tools), image_and_text(instruction)]


def read_call(response: str) -> Any:
    """Return the first two numbers of the first tool call's coordinate."""
    coordinate = tool_call(response)["arguments"]["coordinate"]
    return coordinate[0], coordinate[1]


parse_point = whole_parser(read_call, declined=declined_by_tool)
parse_point_mobile = file_pixel_parser(read_call, 999, round)  # as the mobile cookbook does
parse_call = call_parser()
COOKBOOK = PromptForm(messages)
build_prompt = prompt_function(COOKBOOK)
build_prompt_ssp = PromptForm(ssp_messages)

SIZES = ("2B", "4B", "8B", "32B", "30B-A3B", "235B-A22B")
RECIPE = Recipe(
    family="Qwen3-VL",
    hub_ids=tuple(
        f"Qwen/Qwen3-VL-{scale}-{edition}"
        for scale in SIZES
        for edition in ("Instruct", "Thinking")
    ),
    frame="per mille",
    source="QwenLM/Qwen3-VL @ 96588727 cookbooks/utils/agent_function_call.py, mobile_agent.ipynb; "
    "ScreenSpot-Pro @ 573b40e models/qwen3vl.py",
    prompts={"cookbook_nous_1000": COOKBOOK, "ssp_reference_573b40e": build_prompt_ssp},
    parsers={
        "qwen_cookbook_1000": Parser(parse_point),
        "qwen_mobile_cookbook_999": Parser(parse_point_mobile),
        "ssp_reference_573b40e": Parser(parse_point_ssp),
        "any_written_call": Parser(parse_call),
    },
    limits=LIMITS,
    generate_cfg={"temperature": 0, "max_tokens": 512},
    figures=(
        *sources.CLAWGUI_OTHER_PROMPT.of(
            "Qwen3-VL-2B", l2=73.12, screenspot_pro=43.9, screenspot_v2=88.92, ui_vision=15.06
        ),
        *sources.CLAWGUI_OTHER_PROMPT.of(
            "Qwen3-VL-4B", l2=84.28, screenspot_pro=59.39, screenspot_v2=93.08, ui_vision=27.78
        ),
        *sources.CLAWGUI_OTHER_PROMPT.of(
            "Qwen3-VL-8B", l2=84.25, screenspot_pro=56.42, screenspot_v2=94.26, ui_vision=27.96
        ),
        *sources.AUTHORS.of("Qwen3-VL-2B", screenspot_pro=48.5),
        *sources.AUTHORS.of("Qwen3-VL-4B", screenspot_pro=59.5),
        *sources.AUTHORS.of("Qwen3-VL-8B", screenspot_pro=54.6),
        *sources.UI_VENUS_2_PAGE.of("Qwen3-VL-8B", l2=81.4, screenspot_v2=92.1),
        *sources.UI_VENUS_2_PAGE.of("Qwen3-VL-30B-A3B", l2=83.7),
        *sources.UI_VENUS_README.of("Qwen3-VL-8B", osworld_g_refined=67.0),
        *sources.UI_VENUS_README.of("Qwen3-VL-30B-A3B", osworld_g_refined=69.3),
    ),
    agent=Agent(
        prompt="models.api_qwen_agent.build_agent_prompt",
        parse="benchmarks.actions.dialects.parse_computer_use_per_mille",
        source="X-PLUG/MobileAgent @ 11cea575 Mobile-Agent-v3.5 (the tools computer_use, mobile_use)",
        generate_cfg={"temperature": 0, "max_tokens": 1024},
        note="the text around the tools is this program's",
    ),
    steps=Steps(
        source="QwenLM/Qwen3-VL @ 96588727 cookbooks/mobile_agent.ipynb",
        history="own",
        prompt="models.recipes.steps.qwen3_vl.build_step_prompt",
        parse="models.recipes.steps.qwen3_vl.parse_step",
        generate_cfg={"temperature": 0, "max_tokens": 1024},
        note="a line for each step; level low asks as Qwen2.5-VL is asked",
    ),
    verified="prompts, resizing and the authors' parsers",
    note="Greedy as ClawGUI-Eval; the authors' README samples (temperature 0.7, top_p 0.8, top_k "
    "20, presence_penalty 1.5). SGLang 0.5.17 gives wrong y. ScreenSpot-Pro's author asks by "
    "`build_prompt_ssp` (4096 tokens) and reads by `parse_point_ssp`.",
)
