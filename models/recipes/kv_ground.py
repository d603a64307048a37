"""KV-Ground: the JSON tool of ScreenSpot-Pro's author, or one that can refuse; per mille."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from models.recipes import sources
from models.recipes.base import (
    ChatMessage,
    Limits,
    Parser,
    PromptForm,
    Recipe,
    image_and_text,
    system_turn,
)
from models.recipes.qwen3_5 import SYSTEM
from models.recipes.reading import NOT_READ, file_wh, from_pixels, numbers_or_none
from utils.contracts import WH
from utils.geometry.targets import DECLINED, Answer
from utils.geometry.zooming import Zoom

CLICK_ALONE = "use the left_click action to interact with the computer."
OR_REFUSAL = CLICK_ALONE.replace("computer.", "computer or refusal if the task is infeasible.")
CLICK = "Click the left mouse button with coordinate (x, y)."
REFUSAL = """
* `refusal`: If the task is infeasible (e.g., the task is not related to the image), use the refusal action."""
REFUSAL_SYSTEM = (
    SYSTEM.replace(CLICK_ALONE, OR_REFUSAL)
    .replace(CLICK, CLICK + REFUSAL)
    .replace('["left_click"]', '["left_click", "refusal"]')
)
ZOOM = Zoom(ratio=0.5, keep_size=True, cut_at_edge=True)


def messages(instruction: str, _: WH = (0, 0)) -> list[ChatMessage]:
    """Return the messages that ask for a click."""
    return [system_turn(SYSTEM), image_and_text(instruction)]


def messages_with_refusal(instruction: str, _: WH = (0, 0)) -> list[ChatMessage]:
    """Return the messages that let the model refuse, as the authors ask for OSWorld-G."""
    return [system_turn(REFUSAL_SYSTEM), image_and_text(instruction)]


def arguments_of(response: str) -> Any:
    """Return the arguments between the first opening and the first closing tag of a tool call."""
    start = response.index("<tool_call>") + len("<tool_call>")
    return json.loads(response[start : response.index("</tool_call>")])["arguments"]


@numbers_or_none
def read_call(response: str) -> Any:
    """Return the two numbers of a call that names an action."""
    arguments = arguments_of(response)
    return arguments["coordinate"] if "action" in arguments else None


def declines(response: str) -> bool:
    """Whether a call refuses."""
    try:
        return bool(arguments_of(response)["action"] == "refusal")
    except NOT_READ:
        return False


def parse_point(response: str, meta: Mapping[str, Any]) -> Answer:
    """Return the point of a reply in whole pixels of the file; a number below 0 refuses, too."""
    if declines(response):
        return DECLINED
    numbers = read_call(response)
    if numbers is None:
        return None
    if min(numbers) < 0:
        return DECLINED
    width, height = file_wh(meta)
    point_px = round(width * numbers[0] / 1000), round(height * numbers[1] / 1000)
    return from_pixels(point_px, (width, height), meta)


build_prompt = PromptForm(messages)
build_prompt_with_refusal = PromptForm(messages_with_refusal)

RECIPE = Recipe(
    family="KV-Ground",
    hub_ids=(
        "vocaela/KV-Ground-4B-BaseQw3vl",
        "vocaela/KV-Ground-4B-BaseGuiOwl1.5-0228",
        "vocaela/KV-Ground-8B-BaseGuiOwl1.5-0315",
    ),
    frame="per mille",
    source="vocaela/kv-ground @ 04cf530 utils.py, hf_dp_eval.py",
    prompts={"official": build_prompt, "official_refusal": build_prompt_with_refusal},
    parsers={"official": Parser(parse_point, nothing_found="(-1, -1)")},
    limits=Limits(factor=32, min_pixels=65536, max_pixels=99999999),
    generate_cfg={"temperature": 0, "max_tokens": 512},
    prompt_functions={
        "OSWorldG": "build_prompt_with_refusal",
        "VenusBenchGD": "build_prompt_with_refusal",
    },
    zoom=ZOOM,
    figures=(
        *sources.AUTHORS_MICRO.of(
            "KV-Ground-4B-BaseQw3vl",
            screenspot_pro=63.2,
            screenspot_v2=94.6,
            osworld_g=64.0,
            osworld_g_refined=71.2,
            ui_vision=32.6,
        ),
        *sources.AUTHORS_MICRO.of(
            "KV-Ground-4B-BaseGuiOwl1.5-0228",
            screenspot_pro=67.0,
            screenspot_v2=94.1,
            osworld_g=64.2,
            osworld_g_refined=69.5,
            ui_vision=33.3,
        ),
        *sources.AUTHORS_MICRO.of(
            "KV-Ground-8B-BaseGuiOwl1.5-0315",
            screenspot_pro=73.2,
            screenspot_v2=94.6,
            osworld_g=68.1,
            osworld_g_refined=70.9,
            ui_vision=39.6,
        ),
        *sources.AUTHORS_ZOOM.of("KV-Ground-4B-BaseQw3vl", screenspot_pro=70.3),
        *sources.AUTHORS_ZOOM.of("KV-Ground-4B-BaseGuiOwl1.5-0228", screenspot_pro=76.4),
        *sources.AUTHORS_ZOOM.of("KV-Ground-8B-BaseGuiOwl1.5-0315", screenspot_pro=80.5),
    ),
    verified="prompts and parser; points and totals of real replies, crops included",
    note="The processor may ignore max_pixels (transformers#41955) and cap images at 16777216 "
    "pixels. The weights are for non-commercial use.",
)
