"""POINTS-GUI-G: `(0.512, 0.348)` in fractions, with code of its own."""

from __future__ import annotations

import re
from typing import Any

from models.recipes import sources
from models.recipes.base import ChatMessage, Parser, PromptForm, Recipe, image_and_text
from models.recipes.reading import whole_parser
from utils.contracts import WH

SYSTEM = """\
You are a GUI agent. Based on the UI screenshot provided, please locate the exact position of the element that matches the instruction given by the user.

Requirements for the output:
- Return only the point (x, y) representing the center of the target element
- Coordinates must be normalized to the range [0, 1]
- Round each coordinate to three decimal places
- Format the output as strictly (x, y) without any additional text
"""
PAIR = re.compile(r"\((\d+(?:\.\d*)?),\s*(\d+(?:\.\d*)?)\)")


def messages(instruction: str, _: WH = (0, 0)) -> list[ChatMessage]:
    """Return the paper's system message and the bare instruction."""
    return [{"role": "system", "content": SYSTEM}, image_and_text(instruction)]


def read_pair(response: str) -> Any:
    """Return the first pair in round brackets."""
    x, y = PAIR.findall(response)[0]
    return float(x), float(y)


parse_point = whole_parser(read_pair, 1)
build_prompt = PromptForm(messages)

RECIPE = Recipe(
    family="POINTS-GUI-G",
    hub_ids=("tencent/POINTS-GUI-G",),
    frame="fractions",
    source="arXiv:2602.06391; the parser of a server of others",
    prompts={"paper": build_prompt},
    parsers={"third_party_regex": Parser(parse_point, nothing_found="(0, 0)")},
    resize=({"longest": 2000},),
    generate_cfg={"temperature": 0, "max_tokens": 32},
    needs_class=True,
    figures=sources.AUTHORS.of(
        "POINTS-GUI-G",
        l2=87.0,
        screenspot_v2=95.7,
        screenspot_pro=59.9,
        osworld_g=66.0,
        ui_vision=49.9,
    ),
    verified="the parser of others; the prompt is the paper's, the order of its parts that of others",
    note="it is loaded by code of its own (AutoModelForCausalLM, model.chat), which no chat server "
    "runs; images over 2000x2000 are to be scaled down.",
)
