"""InfiGUI-G1: thinks, then answers `[{"point_2d": [x, y]}]` in pixels after two resizings."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from models.recipes.base import (
    HELPFUL,
    ChatMessage,
    Limits,
    Parser,
    PromptForm,
    Recipe,
    prompt_function,
)
from models.recipes.reading import file_wh, from_grid, from_pixels, numbers_or_none
from utils.contracts import WH, Point
from utils.coordinates import UNKNOWN
from utils.geometry.resizing import within_area

LIMITS = Limits(factor=28, min_pixels=3136, max_pixels=12845056)
FIRST_MAX_PIXELS = 5600 * 28 * 28
SYSTEM = (
    "You FIRST think about the reasoning process as an internal monologue and then provide the "
    "final answer.\nThe reasoning process MUST BE enclosed within <think> </think> tags."
)
TEXT = (
    "<image>The screen's resolution is {width}x{height}.\nLocate the UI element(s) for "
    '"{instruction}", output the coordinates using JSON format: [{"point_2d": [x, y]}, ...]'
)


def two_steps_wh(image_wh: WH) -> WH:
    """Return the size that the prompt names and the reply counts in."""
    return LIMITS.grid_wh(within_area(image_wh, FIRST_MAX_PIXELS))


def _messages(system: str, instruction: str, named_wh: WH) -> list[ChatMessage]:
    text = TEXT.replace("{width}", str(named_wh[0])).replace("{height}", str(named_wh[1]))
    return [
        {"role": "system", "content": system},
        {"role": "user", "content": text.replace("{instruction}", instruction)},
    ]


def messages(instruction: str, named_wh: WH) -> list[ChatMessage]:
    """Return the authors' messages; "<image>" stands for the image's tokens."""
    return _messages(SYSTEM, instruction, named_wh)


def messages_no_think(instruction: str, named_wh: WH) -> list[ChatMessage]:
    """Return the messages without the demand to think first."""
    return _messages(HELPFUL, instruction, named_wh)


@numbers_or_none
def read_first(response: str) -> Any:
    """Return the first `point_2d` of the JSON list behind the thinking."""
    answer = response.split("</think>")[-1]
    listed = json.loads(answer[answer.index("[") : answer.rindex("]") + 1])
    point = listed[0]["point_2d"]
    return point[0], point[1]


def parse_point(response: str, meta: Mapping[str, Any]) -> Point | None:
    """Return the point of a reply, in pixels of the size after both resizings."""
    numbers = read_first(response)
    if all(meta.get(key) in UNKNOWN for key in ("seen_size", "sent_size")):
        return from_pixels(numbers, two_steps_wh(file_wh(meta)), meta)
    return from_grid(numbers, meta, LIMITS)


THINK = PromptForm(messages, limits=LIMITS, size=two_steps_wh)
NO_THINK = PromptForm(messages_no_think, limits=LIMITS, size=two_steps_wh)
build_prompt = prompt_function(THINK)
build_prompt_no_think = prompt_function(NO_THINK)

RECIPE = Recipe(
    family="InfiGUI-G1",
    hub_ids=("InfiX-ai/InfiGUI-G1-3B", "InfiX-ai/InfiGUI-G1-7B"),
    frame="pixels of the image resized twice",
    source="InfiXAI/InfiGUI-G1 @ 22208e4d eval",
    prompts={"think": THINK, "no_think": NO_THINK},
    parsers={"official": Parser(parse_point)},
    limits=LIMITS,
    resize=({"area": FIRST_MAX_PIXELS}, {"factor": LIMITS.factor}),
    generate_cfg={"temperature": 0, "top_p": 0.95, "max_tokens": 1024},
    verified="prompts, both resizings and parser",
)
