"""UI-Venus-1.0 of 72B: another sentence and other image limits than the 7B model's."""

from __future__ import annotations

from dataclasses import replace

from models.recipes import sources
from models.recipes import ui_venus_1_0 as of_7b
from models.recipes.base import Parser

build_prompt = of_7b.build_prompt_72b
parse_point = of_7b.parse_point_72b
RECIPE = replace(
    of_7b.RECIPE,
    family="UI-Venus-1.0 72B",
    hub_ids=("inclusionAI/UI-Venus-Ground-72B",),
    prompts={"official_72b": of_7b.OFFICIAL_72B},
    parsers={"official_7b": Parser(parse_point, nothing_found="(0, 0)")},
    limits=of_7b.LIMITS_72B,
    figures=(
        *sources.UI_VENUS_2_PAGE.of("UI-Venus-Ground-72B", l2=86.3),
        *sources.LEADERBOARD.of("UI-Venus-Ground-72B", screenspot_pro=61.9, screenspot_v2=95.3),
        *sources.AUTHORS.of("UI-Venus-Ground-72B", ui_vision=36.8),
    ),
)
