"""Seed-1.8: `<point>x y</point>` per mille after some reasoning."""

from __future__ import annotations

import re
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
from models.recipes.gemini import DESCRIPTION
from models.recipes.reading import whole_parser
from utils.contracts import WH
from utils.geometry.zooming import Zoom

TEXT = """\
You are an expert UI element locator. Given a GUI image and a user's element description, provide your reasoning process first, finally provide the coordinates of the specified element as a single <point>x y<point> point. For elements with area, return the center point.

Give your reasoning process first, then output the coordinate pair ranging from 0 to 1000 exactly in format:
<point>x y<point>"""
NUMBER = r"(\d+(?:\.\d+)?)"
POINT = re.compile(rf"<point>\s*{NUMBER}\s+{NUMBER}\s*</point>")
FIRST_POINT = [
    re.compile(rf"<point>\s*{NUMBER}{between}{NUMBER}\s*{end}", re.IGNORECASE)
    for between in (r"\s+", r"\s*,\s*")
    for end in ("</point>", "<point>")
]
"""In the order in which they are tried; the prompt itself shows an end without the slash."""
ZOOM = Zoom(ratio=0.5, whole_per_mille=True)


def messages(instruction: str, _: WH = (0, 0)) -> list[ChatMessage]:
    """Return ClawGUI-Eval's messages: three of the user in a row."""
    return [
        {"role": "user", "content": TEXT},
        {"role": "user", "content": DESCRIPTION + instruction},
        user_turn(image_part()),
    ]


def read_last(response: str) -> Any:
    """Return the last point with a closing tag."""
    x, y = POINT.findall(response)[-1]
    return float(x), float(y)


def read_first(response: str) -> Any:
    """Return the first point of the first form that the reply has."""
    matches = (form.search(response) for form in FIRST_POINT)
    point = next(match for match in matches if match is not None)
    return float(point[1]), float(point[2])


parse_point = whole_parser(read_last)
parse_first_point = whole_parser(read_first)
CLAWGUI = PromptForm(messages)
build_prompt = prompt_function(CLAWGUI)

RECIPE = Recipe(
    family="Seed-1.8",
    hub_ids=(),
    frame="per mille",
    source="ClawGUI-Eval @ d990d3e3 inference/seed_inferencer.py",
    prompts={"clawgui": CLAWGUI},
    parsers={
        "clawgui_judge": Parser(parse_point),
        "clawgui_zoom_stage": Parser(parse_first_point),
    },
    generate_cfg={"temperature": 0, "max_tokens": 32768},
    zoom=ZOOM,
    zoom_parser="parse_first_point",
    figures=(*sources.CLAWGUI_ZOOM.of("Seed 1.8", screenspot_pro=72.8),),
    verified="prompt, crops and both parsers",
    note="An API. The authors published no code for grounding.",
)
