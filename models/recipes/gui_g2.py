"""GUI-G2: a box in pixels of the resized image."""

from __future__ import annotations

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
from models.recipes.sources import (
    AUTHORS,
    CLAWGUI,
    CLAWGUI_510,
    L2,
    OSWORLD_G,
    SCREENSPOT_PRO,
    SCREENSPOT_V2,
    UI_VISION,
)
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
        *AUTHORS.of("GUI-G2-7B", {SCREENSPOT_PRO: 47.5, SCREENSPOT_V2: 93.3}),
        *CLAWGUI.of(
            "GUI-G2-7B", {L2: 79.33, SCREENSPOT_PRO: 47.75, SCREENSPOT_V2: 93.32, UI_VISION: 25.99}
        ),
        *CLAWGUI_510.of("GUI-G2-7B", {OSWORLD_G: 58.63}),
    ),
    verified="prompt and parser",
    note="ClawGUI-Eval's README calls the numbers per mille; they are not.",
)
