"""GPT-4o and GPT-5: `[[x0,y0,x1,y1]]` in fractions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from models.recipes import sources
from models.recipes.base import (
    ChatMessage,
    Parser,
    PromptForm,
    Recipe,
    image_and_text,
    prompt_function,
    system_turn,
)
from models.recipes.reading import centre, from_whole, numbers_or_none
from utils.contracts import WH
from utils.geometry.targets import DECLINED, Answer

SYSTEM = (
    "You are an expert in using electronic devices and interacting with graphic interfaces. "
    "You should not call any external tools."
)
TEXT = """\
You are asked to find the bounding box of an UI element in the given screenshot corresponding to a given instruction.
Don't output any analysis. Output your result in the format of [[x0,y0,x1,y1]], with x and y ranging from 0 to 1.The instruction is:
{instruction}
"""
NUMBER = r"(\d+\.\d+|\d+)"
PAIR = re.compile(rf"\[\[{NUMBER},{NUMBER}\]\]")
BOX = re.compile(rf"\[\[{','.join([NUMBER] * 4)}\]\]")


def messages(instruction: str, _: WH = (0, 0)) -> list[ChatMessage]:
    """Return ScreenSpot-Pro's messages."""
    text = TEXT.replace("{instruction}", instruction)
    return [system_turn(SYSTEM), image_and_text(text)]


@numbers_or_none
def read_box(response: str) -> Any:
    """Return the first `[[x,y]]`, else the centre of the first `[[x0,y0,x1,y1]]`; no blanks."""
    matched = PAIR.search(response)
    if matched is not None:
        return float(matched[1]), float(matched[2])
    return centre([float(number) for number in BOX.findall(response)[0]])


def parse_point(response: str, meta: Mapping[str, Any]) -> Answer:
    """Return the point of a reply."""
    point_frac = from_whole(read_box(response), meta, 1)
    if point_frac is None and "target not existent" in response.lower():
        return DECLINED
    return point_frac


SSP = PromptForm(messages)
build_prompt = prompt_function(SSP)

RECIPE = Recipe(
    family="GPT-4o, GPT-5",
    hub_ids=(),
    frame="box in fractions",
    source="ScreenSpot-Pro @ bd8bbbb4 models/gpt5.py, gpt4x.py",
    prompts={"ssp": SSP},
    parsers={"ssp": Parser(parse_point)},
    generate_cfg={"reasoning_effort": "high"},
    figures=(
        *sources.MMBENCH_GUI_PAPER.of("GPT-4o", l2=2.87),
        *sources.LEADERBOARD.of("GPT-4o", screenspot_pro=0.8, screenspot_v2=20.1),
        *sources.UI_VISION_README.of("GPT-4o", ui_vision=1.38),
        *sources.LEADERBOARD.of("GPT5-minimal (resized)", screenspot_pro=18.5),
        *sources.LEADERBOARD.of("GPT5-high (resized)", screenspot_pro=6.0),
    ),
    verified="prompt and parser",
    note="An API. OpenAI published no prompt for grounding, so ScreenSpot-Pro's is used.",
)
