"""GTA1: `(x,y)` in pixels of the resized image, whose size the system message names."""

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
)
from models.recipes.reading import grid_parser
from utils.contracts import WH

LIMITS = Limits(factor=28, min_pixels=3136, max_pixels=8847360)
SYSTEM = """\
You are an expert UI element locator. Given a GUI image and a user's element description, provide the coordinates of the specified element as a single (x,y) point. The image resolution is height {height} and width {width}. For elements with area, return the center point.

Output the coordinate pair exactly:
(x,y)"""
NUMBER = r"(-?(?:\d+(?:\.\d+)?|\.\d+))"
PAIR = re.compile(rf"\({NUMBER},\s*{NUMBER}\)")


def messages(instruction: str, grid_wh: WH) -> list[ChatMessage]:
    """Return the authors' messages."""
    system = SYSTEM.replace("{width}", str(grid_wh[0])).replace("{height}", str(grid_wh[1]))
    return [
        {"role": "system", "content": system},
        image_and_text(instruction),
    ]


def read_pair(response: str) -> Any:
    """Return the first `(x,y)`; one decimal in any pair spoils the reply."""
    pairs = [(int(x), int(y)) for x, y in PAIR.findall(response)]
    return pairs[0]


parse_point = grid_parser(read_pair, LIMITS)
OFFICIAL = PromptForm(messages, limits=LIMITS)
build_prompt = prompt_function(OFFICIAL)

RECIPE = Recipe(
    family="GTA1",
    hub_ids=(
        "Salesforce/GTA1-7B",
        "Salesforce/GTA1-32B",
        "Salesforce/GTA1-7B-2507",
        "HelloKKMe/GTA1-7B-2507",
    ),
    frame=GRID,
    source="Yan98/GTA1 @ 81f0c4c2 README.md",
    prompts={"readme": OFFICIAL},
    parsers={"official_readme": Parser(parse_point, nothing_found="(0, 0)")},
    limits=LIMITS,
    resize=({"factor": LIMITS.factor},),
    generate_cfg={"temperature": 0, "max_tokens": 32},
    figures=(  # which of the two 7B checkpoints theirs is, the sources do not say
        *sources.LEADERBOARD.of("GTA1 7B", screenspot_pro=55.5),
        *sources.LEADERBOARD.of("GTA1-32B", screenspot_pro=63.6),
        *sources.AUTHORS.of("GTA1 7B", screenspot_v2=93.4, osworld_g=60.1),
        *sources.AUTHORS.of("GTA1-32B", screenspot_v2=95.2, osworld_g=65.2),
        *sources.UI_VENUS_README.of("GTA1-32B", osworld_g_refined=72.2),
    ),
    verified="prompt, resizing and parser",
)
