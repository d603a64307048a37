"""UI-Venus-2: `[x,y]` per mille, `[-1,-1]` where the task is infeasible."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from models.recipes import sources
from models.recipes.agents.ui_venus_2 import AGENT
from models.recipes.base import ChatMessage, Limits, Parser, PromptForm, Recipe, image_and_text
from models.recipes.reading import centre, from_whole, numbers_or_none
from utils.contracts import WH
from utils.geometry.targets import DECLINED, Answer

TEXT = """\
Output the center point of the position corresponding to the following instruction:\x20
{instruction}.\x20

The output should just be the coordinates of a point, in the format [x,y]. Additionally, if the task is infeasible (e.g., the task is not related to the image), the output should be [-1,-1]."""
COUNT = r"\s*(\d+)\s*"
BOX = re.compile(rf"\[{','.join([COUNT] * 4)}\]")
TWO_POINTS = re.compile(rf"\[{COUNT},{COUNT}\]\s*,\s*\[{COUNT},{COUNT}\]")
POINT = re.compile(r"\[\s*(-?\d+)\s*,\s*(-?\d+)\s*\]")
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
INFEASIBLE = (-1, -1)


def messages(instruction: str, _: WH = (0, 0)) -> list[ChatMessage]:
    """Return the prompt; one full stop at the end of the instruction is cut."""
    return [image_and_text(TEXT.replace("{instruction}", instruction.removesuffix(".")))]


@numbers_or_none
def read_pair(response: str) -> Any:
    """Return the first box's centre, else two points' centre, else a point, wherever it stands.

    Without any, all numbers of the reply count: two are a point, four and more begin with a box.
    Thoughts are not cut.
    """
    box = BOX.search(response) or TWO_POINTS.search(response)
    if box is not None:
        return centre([int(number) for number in box.groups()])
    point = POINT.search(response)
    if point is not None:
        return int(point[1]), int(point[2])
    numbers = [float(number) for number in NUMBER.findall(response)]
    if len(numbers) < 4:
        return numbers  # of one or three it is none
    return INFEASIBLE if tuple(numbers[:2]) == INFEASIBLE else centre(numbers[:4])


def parse_point(response: str, meta: Mapping[str, Any]) -> Answer:
    """Return the point of a reply, or that it calls the task infeasible."""
    numbers = read_pair(response)
    return DECLINED if numbers == INFEASIBLE else from_whole(numbers, meta)


build_prompt = PromptForm(messages)

RECIPE = Recipe(
    family="UI-Venus-2",
    hub_ids=("inclusionAI/UI-Venus-2-9B", "inclusionAI/UI-Venus-2-27B"),
    frame="per mille",
    source="inclusionAI/UI-Venus @ 81945ac7 models/grounding/ui_venus2_gd.py; arXiv:2609.00028",
    prompts={"official": build_prompt},
    parsers={"official": Parser(parse_point, nothing_found="(-0.001, -0.001)")},
    limits=Limits(factor=32, min_pixels=65536, max_pixels=16777216),
    generate_cfg={"temperature": 0, "top_p": 1.0, "max_tokens": 1024},
    chat_template={"enable_thinking": False},
    figures=(
        *sources.AUTHORS.of(
            "UI-Venus-2-9B", screenspot_pro=73.0, osworld_g_refined=78.5, ui_vision=53.2
        ),
        *sources.AUTHORS.of(
            "UI-Venus-2-27B", screenspot_pro=74.1, osworld_g_refined=79.1, ui_vision=66.9
        ),
    ),
    agent=AGENT,
    verified=f"prompt and parser; agent: {AGENT.verified}",
    note="The prompt lets the model call a task infeasible, on L2 too, where all can be done. The "
    "authors ask for 3136 to 12845056 pixels beside the image, which vLLM ignores: the limits here "
    "are those of the checkpoint's processor.",
)
