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
    centre,
    from_whole,
    image_part,
    numbers_or_none,
    prompt_function,
    text_part,
    user_turn,
)
from utils.contracts import WH, Point

TEXT = "Help me to locate {instruction} in the image and give me its bounding boxes."
SECTIONS = re.compile(r"Memory:(.*?)Reason:(.*?)Action:(.*)", re.DOTALL)
BOX_START = "<|begin_of_box|>"
BOX_END = "<|end_of_box|>"


def messages(instruction: str, _: WH = (0, 0)) -> list[ChatMessage]:
    """Return the README's prompt for boxes."""
    return [user_turn(image_part(), text_part(TEXT.replace("{instruction}", instruction)))]


@numbers_or_none
def read_action(response: str) -> Any:
    """Return the centre, rounded up, of the box of a click or a long press."""
    matched = SECTIONS.search(response)
    action = matched[3].strip() if matched is not None else ""
    if BOX_START in action:
        start = action.index(BOX_START) + len(BOX_START)
        action = action[start : action.rindex(BOX_END)]
    if not action.startswith("{"):
        return None
    arguments = json.loads(action)
    if arguments["action_type"] not in ("click", "long_press"):
        return None
    [[x1, y1, x2, y2]] = arguments["box_2d"]
    x, y = centre((x1, y1, x2, y2))
    return math.ceil(x), math.ceil(y)


def parse_point(response: str, meta: Mapping[str, Any]) -> Point | None:
    """Return the point of a reply of the GUI agent; bare boxes are read by parse_per_mille."""
    return from_whole(read_action(response), meta)


README = PromptForm(messages)
build_prompt = prompt_function(README)

RECIPE = Recipe(
    family="GLM-4.5V",
    hub_ids=("zai-org/GLM-4.5V",),
    frame="box per mille",
    source="zai-org/GLM-V @ 8fc9756f README.md, examples/gui-agent/glm-45v; "
    "xiaomi-research/guievalkit @ d5e954e5",
    prompts={"readme": README},
    parsers={"glm_v_mobile+guievalkit": Parser(parse_point)},
    generate_cfg={"temperature": 0.001, "max_tokens": 8192, **KEEP_TOKENS},
    checkpoint=KEEP_TOKENS_LOCALLY,
    verified="parser",
    note="The authors' parser is their agent's. To the README's prompt for boxes the model answers "
    "with a bare box: name utils.coordinates.parse_per_mille for that.",
)
