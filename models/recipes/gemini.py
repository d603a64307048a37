"""Gemini: `(x,y)` per mille after some reasoning; or Google's own `box_2d`, y first."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from models.recipes import sources
from models.recipes.base import (
    ChatMessage,
    Parser,
    PromptForm,
    Recipe,
    image_part,
    prompt_function,
    user_turn,
)
from models.recipes.reading import file_wh, four_or_none, from_pixels, whole_parser
from utils.contracts import WH, Point
from utils.geometry.zooming import Zoom

TEXT = """\
You are an expert UI element locator. Given a GUI image and a user's element description, provide your reasoning process first, finally provide the coordinates of the specified element as a single point. For elements with area, return the center point.

Give your reasoning process first, then output the coordinate pair ranging from 0 to 1000 exactly in format:
(x,y)"""
DESCRIPTION = "The user's element description is: "
NUMBER = r"(\d+(?:\.\d+)?)"
ROUND_PAIR = re.compile(rf"\(\s*{NUMBER}\s*,\s*{NUMBER}\s*\)")
BARE_PAIR = re.compile(rf"(?<!\d){NUMBER}\s*,\s*{NUMBER}")  # a number is taken whole
ZOOM = Zoom(ratio=0.25, resize_to=(1920, 1080), whole_per_mille=True)


def messages(instruction: str, _: WH = (0, 0)) -> list[ChatMessage]:
    """Return ClawGUI-Eval's messages: three of the user in a row."""
    return [
        {"role": "user", "content": TEXT},
        {"role": "user", "content": DESCRIPTION + instruction},
        user_turn(image_part()),
    ]


def read_pair(response: str) -> Any:
    """Return the last `(x,y)`; without any, the last pair with a comma."""
    x, y = (ROUND_PAIR.findall(response) or BARE_PAIR.findall(response))[-1]
    return float(x), float(y)


@four_or_none
def read_box(response: str) -> Any:
    """Return y1, x1, y2, x2 of the first `box_2d`, with or without a fence around the JSON."""
    lines = response.splitlines()
    if "```json" in lines:
        response = "\n".join(lines[lines.index("```json") + 1 :]).split("```")[0]
    return json.loads(response)[0]["box_2d"][:4]


parse_point = whole_parser(read_pair)


def parse_box_2d(response: str, meta: Mapping[str, Any]) -> Point | None:
    """Return the centre of Google's `box_2d`, whose sides are cut to whole pixels of the file."""
    box = read_box(response)
    if box is None:
        return None
    width, height = file_wh(meta)
    y1, y2 = (int(y / 1000 * height) for y in box[::2])
    x1, x2 = (int(x / 1000 * width) for x in box[1::2])
    return from_pixels(((x1 + x2) / 2, (y1 + y2) / 2), (width, height), meta)


CLAWGUI = PromptForm(messages)
build_prompt = prompt_function(CLAWGUI)

RECIPE = Recipe(
    family="Gemini",
    hub_ids=(),
    frame="per mille",
    source="ClawGUI-Eval @ d990d3e3 inference/gemini_inferencer.py; google-gemini/cookbook @ "
    "f1e7e3de",
    prompts={"clawgui": CLAWGUI},
    parsers={"clawgui": Parser(parse_point), "google_box_2d": Parser(parse_box_2d)},
    generate_cfg={"temperature": 0, "max_tokens": 32768},
    zoom=ZOOM,
    figures=(
        *sources.CLAWGUI_ZOOM.of("Gemini 3.0 Pro", screenspot_pro=75.08),
        *sources.CLAWGUI_ZOOM.of("Gemini 3.1 Pro", screenspot_pro=85.01),
    ),
    verified="prompt, crops and both parsers",
    note="An API. Google published no prompt for grounding, so ClawGUI-Eval's is used; its "
    'figures with a second look need "zoom": true.',
)
