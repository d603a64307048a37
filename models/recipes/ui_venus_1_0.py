"""UI-Venus-1.0 (UI-Venus-Ground): a box in pixels of the resized image; small ones are enlarged."""

from __future__ import annotations

from typing import Any

from models.recipes import sources
from models.recipes.base import (
    GRID_BOX,
    ChatMessage,
    Limits,
    Parser,
    PromptForm,
    Recipe,
    image_and_text,
    prompt_function,
)
from models.recipes.reading import centre, grid_parser, python_value
from utils.contracts import WH

LIMITS = Limits(factor=28, min_pixels=2000000, max_pixels=4800000)
LIMITS_72B = Limits(factor=28, min_pixels=3110400, max_pixels=48000000)
TEXT = "Outline the position corresponding to the instruction: {}. The output should be only [x1,y1,x2,y2]."
TEXT_72B = 'Output the bounding box in the image corresponding to the instruction "{}" with grounding. The output should be only [x1,y1,x2,y2].'


def messages(instruction: str, _: WH = (0, 0)) -> list[ChatMessage]:
    """Return the prompt of the 7B model."""
    return [image_and_text(TEXT.replace("{}", instruction))]


def messages_72b(instruction: str, _: WH = (0, 0)) -> list[ChatMessage]:
    """Return the prompt of the 72B model."""
    return [image_and_text(TEXT_72B.replace("{}", instruction))]


def read_box(response: str) -> Any:
    """Return the centre of a reply that is a list of four numbers or more and nothing else."""
    return centre(python_value(response))


parse_point = grid_parser(read_box, LIMITS)
parse_point_72b = grid_parser(read_box, LIMITS_72B)
OFFICIAL = PromptForm(messages)
OFFICIAL_72B = PromptForm(messages_72b)
build_prompt = prompt_function(OFFICIAL)
build_prompt_72b = prompt_function(OFFICIAL_72B)

RECIPE = Recipe(
    family="UI-Venus-1.0",
    hub_ids=("inclusionAI/UI-Venus-Ground-7B",),
    frame=GRID_BOX,
    source="inclusionAI/UI-Venus @ fc7670d8",
    prompts={"official_7b": OFFICIAL, "official_72b": OFFICIAL_72B},
    parsers={"official_7b": Parser(parse_point, nothing_found="(0, 0)")},
    limits=LIMITS,
    generate_cfg={"temperature": 0, "max_tokens": 128},
    figures=(
        *sources.CLAWGUI.of(
            "UI-Venus-Ground-7B",
            l2=80.08,
            screenspot_pro=50.47,
            screenspot_v2=94.03,
            ui_vision=26.52,
        ),
        *sources.CLAWGUI_510.of("UI-Venus-Ground-7B", osworld_g=59.41),
        *sources.LEADERBOARD.of("UI-Venus-Ground-7B", screenspot_pro=50.8, screenspot_v2=94.1),
        *sources.AUTHORS.of("UI-Venus-Ground-7B", ui_vision=26.5, osworld_g=58.8),
    ),
    verified="prompts, resizing (both sizes) and parser",
)
