"""GUI-G2: a box in pixels of the resized image."""

from __future__ import annotations

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
from models.recipes.reading import grid_parser
from models.recipes.ui_venus_1_0 import read_box
from utils.contracts import WH

LIMITS = Limits(factor=28, min_pixels=3136, max_pixels=12845056)
TEXT = "Outline the position corresponding to the instruction: {}. The output should be only [x1,y1,x2,y2]."


def messages(instruction: str, _: WH = (0, 0)) -> list[ChatMessage]:
    """Return the authors' prompt."""
    return [image_and_text(TEXT.replace("{}", instruction))]


parse_point = grid_parser(read_box, LIMITS)
OFFICIAL = PromptForm(messages)
build_prompt = prompt_function(OFFICIAL)

RECIPE = Recipe(
    family="GUI-G2",
    hub_ids=("inclusionAI/GUI-G2-3B", "inclusionAI/GUI-G2-7B"),
    frame=GRID_BOX,
    source="ZJU-REAL/GUI-G2 @ 5c5c3658 README.md",
    prompts={"official": OFFICIAL},
    parsers={"official_readme": Parser(parse_point, nothing_found="(0, 0)")},
    limits=LIMITS,
    generate_cfg={"temperature": 0, "max_tokens": 128},
    figures=(
        *sources.AUTHORS.of("GUI-G2-7B", screenspot_pro=47.5, screenspot_v2=93.3),
        *sources.CLAWGUI.of(
            "GUI-G2-7B", l2=79.33, screenspot_pro=47.75, screenspot_v2=93.32, ui_vision=25.99
        ),
        *sources.CLAWGUI_510.of("GUI-G2-7B", osworld_g=58.63),
    ),
    verified="prompt and parser",
    note="ClawGUI-Eval's README calls the numbers per mille; they are not.",
)
