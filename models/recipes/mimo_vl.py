"""MiMo-VL: JSON actions with `start_point` in pixels of the resized image."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

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
from models.recipes.reading import (
    between,
    centre,
    from_whole,
    grid_parser,
    numbers_or_none,
    seen_wh,
)
from utils.contracts import WH, Point

LIMITS = Limits(factor=28, min_pixels=3136, max_pixels=12845056)
TEXT = """\
You are a GUI agent. You will be provided with a screenshot, a goal, and your action history. You need to perform the next action to complete the task.

## Action Space
{"action": "click", "start_point": [x,y]}
{"action": "longpress", "start_point": [x,y]}
{"action": "drag", "start_point": [x,y], "end_point": [x,y]}
{"action": "input", "text": "text"}
{"action": "press", "keys": [key1, key2, ...]}
{"action": "wait"}
{"action": "finished", "status": "status"}

## Goal
{goal}

## Previous Actions
None

Now, output the next action in json format [{"action": "{action_name}"}, ...]."""


def messages(instruction: str, _: WH = (0, 0)) -> list[ChatMessage]:
    """Return Xiaomi's agent prompt for a single step."""
    return [image_and_text(TEXT.replace("{goal}", instruction))]


def first_object(text: str) -> Any:
    """Return the first outermost `{...}` that is JSON.

    Raises:
        ValueError: there is none.
    """
    depth = 0
    start = 0
    for index, sign in enumerate(text):
        if sign == "{":
            if depth == 0:
                start = index
            depth += 1
        elif sign == "}" and depth > 0:
            depth -= 1
            if depth == 0:
                try:
                    return json.loads(text[start : index + 1])
                except json.JSONDecodeError:
                    continue
    raise ValueError("no JSON object")


@numbers_or_none
def read_action(response: str) -> Any:
    """Return the point of the first action in the whole reply; None: no click or long press."""
    action = first_object(response)
    if action.get("action") not in ("click", "longpress"):
        return None
    x, y = action["start_point"]
    return x, y


def read_bbox(response: str) -> Any:
    """Return the centre of the first `bbox_2d` of four numbers in the fenced JSON list."""
    listed = json.loads(between(response, "```json", "```"))
    boxes = [element.get("bbox_2d", ()) for element in listed]
    return centre(next(box for box in boxes if len(box) == 4))


def parse_point(response: str, meta: Mapping[str, Any]) -> Point | None:
    """Return the point of a reply in actions, cut to whole per mille as the authors do."""
    numbers = read_action(response)
    if numbers is None:
        return None
    width, height = seen_wh(meta, LIMITS)
    return from_whole((int(numbers[0] / width * 1000), int(numbers[1] / height * 1000)), meta)


parse_bbox = grid_parser(read_bbox, LIMITS)
GUIEVALKIT = PromptForm(messages)
build_prompt = prompt_function(GUIEVALKIT)

RECIPE = Recipe(
    family="MiMo-VL",
    hub_ids=(
        "XiaomiMiMo/MiMo-VL-7B-RL",
        "XiaomiMiMo/MiMo-VL-7B-SFT",
        "XiaomiMiMo/MiMo-VL-7B-RL-2508",
        "XiaomiMiMo/MiMo-VL-7B-SFT-2508",
    ),
    frame=GRID,
    source="xiaomi-research/guievalkit @ d5e954e5 mimo_vl.py; XiaomiMiMo/MiMo-VL @ ca17cb39 "
    "examples/grounding.ipynb",
    prompts={"guievalkit": GUIEVALKIT},
    parsers={
        "guievalkit": Parser(parse_point),
        "mimo_notebook_bbox": Parser(parse_bbox),
    },
    limits=LIMITS,
    generate_cfg={"temperature": 0.01, "max_tokens": 2048, "extra_body": {"top_k": 1}},
    verified="both parsers",
    note="No prompt for click grounding is published; the agent's prompt asks for one step. "
    'Thinking off: a second text part " /no_think".',
)
