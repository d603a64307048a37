"""GLM-4.5V: Memory, Reason, Action with `box_2d` per mille."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from models.recipes.base import (
    KEEP_TOKENS,
    KEEP_TOKENS_LOCALLY,
    ChatMessage,
    Parser,
    PromptForm,
    Recipe,
    image_and_text,
    prompt_function,
)
from models.recipes.reading import NOT_READ, centre, from_whole, numbers_or_none
from utils.contracts import WH
from utils.geometry.targets import DECLINED, Answer

TEXT = "Help me to locate {instruction} in the image and give me its bounding boxes."
SECTIONS = ("Memory:", "Reason:", "Action:")
NUMBER = r"\s*(\d+(?:\.\d+)?)\s*"
BOX = re.compile(rf"\[\[{','.join([NUMBER] * 4)}\]")
BOX_START = "<|begin_of_box|>"
BOX_END = "<|end_of_box|>"


def messages(instruction: str, _: WH = (0, 0)) -> list[ChatMessage]:
    """Return the README's prompt for boxes."""
    return [image_and_text(TEXT.replace("{instruction}", instruction))]


def action_of(response: str) -> Any:
    """Return the JSON of a reply of the GUI agent; None without any."""
    action = response
    for section in SECTIONS:
        action = action.partition(section)[2]
    action = action.strip()
    if BOX_START in action:
        start = action.index(BOX_START) + len(BOX_START)
        action = action[start : action.rindex(BOX_END)]
    return json.loads(action) if action.startswith("{") else None


@numbers_or_none
def read_action(response: str) -> Any:
    """Return the centre, rounded up, of the box of a click or a long press."""
    action = action_of(response)
    if action["action_type"] not in ("click", "long_press"):
        return None
    [[x1, y1, x2, y2]] = action["box_2d"]
    x, y = centre((x1, y1, x2, y2))
    return math.ceil(x), math.ceil(y)


@numbers_or_none
def read_box(response: str) -> Any:
    """Return the centre of the first `[[x1,y1,x2,y2]]`, behind the thinking."""
    box = BOX.search(response.split("</think>")[-1])
    return None if box is None else centre([float(number) for number in box.groups()])


def parse_action(response: str, meta: Mapping[str, Any]) -> Answer:
    """Return the point of a reply of the GUI agent, or that the task is infeasible."""
    try:
        if action_of(response)["goal_status"] == "infeasible":
            return DECLINED
    except NOT_READ:
        pass
    return from_whole(read_action(response), meta)


def parse_point(response: str, meta: Mapping[str, Any]) -> Answer:
    """Return the point of a reply to the README's prompt, or of the agent's."""
    return parse_action(response, meta) or from_whole(read_box(response), meta)


README = PromptForm(messages)
build_prompt = prompt_function(README)

RECIPE = Recipe(
    family="GLM-4.5V",
    hub_ids=("zai-org/GLM-4.5V",),
    frame="box per mille",
    source="zai-org/GLM-V @ 8fc9756f README.md, examples/gui-agent/glm-45v; "
    "xiaomi-research/guievalkit @ d5e954e5",
    prompts={"readme": README},
    parsers={
        "readme_boxes": Parser(parse_point),
        "glm_v_mobile+guievalkit": Parser(parse_action),
    },
    generate_cfg={"temperature": 0.001, "max_tokens": 8192, **KEEP_TOKENS},
    checkpoint=KEEP_TOKENS_LOCALLY,
    verified="the agent's parser",
    note="The authors' parser is their agent's; for the README's boxes they published none.",
)
