"""Holo2: `{"x": 1, "y": 2}` per mille, without thinking."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

from models.recipes import sources
from models.recipes.base import (
    ChatMessage,
    Limits,
    Parser,
    PromptForm,
    Recipe,
    image_and_text,
    prompt_function,
)
from models.recipes.reading import whole_parser
from utils.contracts import WH

LIMITS = Limits(factor=32, min_pixels=65536, max_pixels=16777216)
TEXT = """\
Localize an element on the GUI image according to the provided target and output a click position.
     * You must output a valid JSON following the format: {'properties': {'x': {'description': 'The x coordinate, normalized between 0 and 1000.', 'maximum': 1000, 'minimum': 0, 'title': 'X', 'type': 'integer'}, 'y': {'description': 'The y coordinate, normalized between 0 and 1000.', 'maximum': 1000, 'minimum': 0, 'title': 'Y', 'type': 'integer'}}, 'required': ['x', 'y'], 'title': 'ClickCoordinates', 'type': 'object'}
     Your target is:"""


class Click(BaseModel):
    """A place as the prompt's schema has it."""

    x: int = Field(ge=0, le=1000)
    y: int = Field(ge=0, le=1000)


def messages(instruction: str, _: WH = (0, 0)) -> list[ChatMessage]:
    """Return the cookbook's messages."""
    return [image_and_text(f"{TEXT}\n{instruction}")]


def read_click(response: str) -> Any:
    """Return x and y of a reply that is the JSON of a place and nothing else."""
    click = Click.model_validate_json(response)
    return click.x, click.y


parse_point = whole_parser(read_click)
COOKBOOK = PromptForm(messages)
build_prompt = prompt_function(COOKBOOK)

RECIPE = Recipe(
    family="Holo2",
    hub_ids=("Hcompany/Holo2-4B", "Hcompany/Holo2-8B", "Hcompany/Holo2-30B-A3B"),
    frame="per mille",
    source="hcompai/hai-cookbook @ 2ba89619 holo2",
    prompts={"cookbook": COOKBOOK},
    parsers={"official_cookbook": Parser(parse_point)},
    limits=LIMITS,
    resize=({"factor": LIMITS.factor, "filter": "lanczos"},),
    generate_cfg={"temperature": 0, "max_tokens": 32},
    chat_template={"thinking": False},
    figures=(
        *sources.LEADERBOARD.of("Holo2-4B", screenspot_pro=57.2, screenspot_v2=93.2),
        *sources.LEADERBOARD.of("Holo2-8B", screenspot_pro=58.9, screenspot_v2=93.2),
        *sources.LEADERBOARD.of("Holo2-30B-A3B", screenspot_pro=66.1, screenspot_v2=94.9),
        *sources.UI_VENUS_2_PAGE.of("Holo2-30B-A3B", l2=86.8),
        *sources.UI_VENUS_README.of("Holo2-30B-A3B", osworld_g_refined=76.1),
    ),
    verified="prompt, resizing and parser",
)
