"""ShowUI-2B: `[x, y]` in fractions; text, image, text."""

from __future__ import annotations

import ast
from typing import Any

from models.recipes import sources
from models.recipes.base import (
    ChatMessage,
    Limits,
    Parser,
    PromptForm,
    Recipe,
    image_part,
    prompt_function,
    text_part,
    user_turn,
)
from models.recipes.reading import whole_parser
from utils.contracts import WH

LIMITS = Limits(factor=28, min_pixels=200704, max_pixels=1053696)
TEXT = "Based on the screenshot of the page, I give a text description and you give its corresponding location. The coordinate represents a clickable location [x, y] for an element, which is a relative coordinate on the screenshot, scaled from 0 to 1."


def messages(instruction: str, _: WH = (0, 0)) -> list[ChatMessage]:
    """Return the authors' prompt, one turn of three parts."""
    return [user_turn(text_part(TEXT), image_part(), text_part(instruction))]


def read_pair(response: str) -> Any:
    """Return the first two numbers of a reply that is a list and nothing else."""
    listed = ast.literal_eval(response)
    return listed[0], listed[1]


parse_point = whole_parser(read_pair, 1)
OFFICIAL = PromptForm(messages)
build_prompt = prompt_function(OFFICIAL)

RECIPE = Recipe(
    family="ShowUI",
    hub_ids=("showlab/ShowUI-2B",),
    frame="fractions",
    source="showlab/ShowUI @ 21ed7cb2 QUICK_START.md",
    prompts={"official": OFFICIAL},
    parsers={"official_literal_eval": Parser(parse_point)},
    limits=LIMITS,
    generate_cfg={"temperature": 0, "max_tokens": 128},
    figures=(
        *sources.MMBENCH_GUI_PAPER.of("ShowUI-2B", l2=15.96),
        *sources.LEADERBOARD.of("ShowUI-2B", screenspot_pro=7.7, screenspot_v2=77.3),
        *sources.UI_VISION_README.of("ShowUI-2B", ui_vision=5.94),
    ),
    verified="prompt, resizing and parser",
)
