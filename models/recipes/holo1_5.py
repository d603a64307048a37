"""Holo1.5: `{"action": "click_absolute", "x": 1, "y": 2}` in pixels of the resized image."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel

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

LIMITS = Limits(factor=28, min_pixels=3136, max_pixels=12845056)
TEXT = """\
Localize an element on the GUI image according to the provided target and output a click position.
     * You must output a valid JSON following the format: {'description': 'Click at absolute coordinates.', 'properties': {'action': {'const': 'click_absolute', 'default': 'click_absolute', 'title': 'Action', 'type': 'string'}, 'x': {'description': 'The x coordinate, number of pixels from the left edge.', 'title': 'X', 'type': 'integer'}, 'y': {'description': 'The y coordinate, number of pixels from the top edge.', 'title': 'Y', 'type': 'integer'}}, 'required': ['x', 'y'], 'title': 'ClickAbsoluteAction', 'type': 'object'}
     Your target is:"""
SSP_TEXT = """\
Localize an element on the GUI image according to the provided target and output a click position.
          * Only output the click position, do not output any other text.
          * The click position should be in the format 'Click(x, y)' with x: num pixels from the left edge and y: num pixels from the top edge
          Your target is:"""


class Click(BaseModel):
    """A click as the prompt's schema has it."""

    action: Literal["click_absolute"] = "click_absolute"
    x: int
    y: int


def messages(instruction: str, _: WH = (0, 0)) -> list[ChatMessage]:
    """Return the cookbook's messages."""
    return [image_and_text(f"{TEXT}\n{instruction}")]


def ssp_messages(instruction: str, _: WH = (0, 0)) -> list[ChatMessage]:
    """Return ScreenSpot-Pro's messages, to be used with guided JSON."""
    return [image_and_text(f"{SSP_TEXT}\n{instruction}")]


def read_click(response: str) -> Any:
    """Return x and y of a reply that is the JSON of a click and nothing else."""
    click = Click.model_validate_json(response)
    return click.x, click.y


parse_point = grid_parser(read_click, LIMITS)
COOKBOOK = PromptForm(messages)
SSP = PromptForm(ssp_messages)
build_prompt = prompt_function(COOKBOOK)
build_prompt_ssp = prompt_function(SSP)

RECIPE = Recipe(
    family="Holo1.5",
    hub_ids=("Hcompany/Holo1.5-3B", "Hcompany/Holo1.5-7B", "Hcompany/Holo1.5-72B"),
    frame=GRID,
    source="hcompai/hai-cookbook @ 2ba89619 holo1_5; ScreenSpot-Pro @ bd8bbbb4 models/holo1_5.py",
    prompts={"cookbook": COOKBOOK, "ssp": SSP},
    parsers={"official_cookbook": Parser(parse_point)},
    limits=LIMITS,
    resize=({"factor": LIMITS.factor, "filter": "lanczos"},),
    generate_cfg={"temperature": 0, "max_tokens": 256},
    figures=(
        *sources.LEADERBOARD.of("Holo1.5-3B", screenspot_pro=51.5, screenspot_v2=91.7),
        *sources.LEADERBOARD.of("Holo1.5-7B", screenspot_pro=57.9, screenspot_v2=93.3),
        *sources.LEADERBOARD.of("Holo1.5-72B", screenspot_pro=63.3, screenspot_v2=94.4),
    ),
    verified="prompts, resizing and parser",
    note="The authors resize on the client (LANCZOS) with the checkpoint's limits; ScreenSpot-Pro "
    "with 3136..3686400.",
)
