"""UI-Venus-1.5: `[x,y]` per mille, `[-1,-1]` where the task is infeasible."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import Any

from models.recipes import sources
from models.recipes.base import (
    LIBRARY_GRID,
    Agent,
    ChatMessage,
    Parser,
    PromptForm,
    Recipe,
    Steps,
    image_and_text,
    prompt_function,
)
from models.recipes.reading import centre, from_whole, numbers_or_none
from utils.contracts import WH
from utils.geometry.targets import DECLINED, Answer

WITH_REFUSAL_TEXT = """\
Output the center point of the position corresponding to the following instruction:\x20
{}.\x20

The output should just be the coordinates of a point, in the format [x,y]. Additionally, if the task is infeasible (e.g., the task is not related to the image), the output should be [-1,-1]."""
TEXT = """\
Output the center point of the position corresponding to the following instruction:\x20
{}.\x20

The output should just be the coordinates of a point, in the format [x,y]."""
NUMBER = r"\s*-?\d+\s*"
POINT = rf"\[{NUMBER},{NUMBER}\]"
BOX = rf"\[{','.join([NUMBER] * 4)}\]"
TWO_POINTS = rf"{POINT},\s*{POINT}"
INFEASIBLE = [-1, -1]


def _messages(text: str, instruction: str) -> list[ChatMessage]:
    """Return the prompt; one full stop at the end of the instruction is cut."""
    return [image_and_text(text.replace("{}", instruction.removesuffix(".")))]


def messages(instruction: str, _: WH = (0, 0)) -> list[ChatMessage]:
    """Return the prompt without the sentence about infeasible tasks."""
    return _messages(TEXT, instruction)


def messages_with_refusal(instruction: str, _: WH = (0, 0)) -> list[ChatMessage]:
    """Return the prompt that lets the model say that a task is infeasible."""
    return _messages(WITH_REFUSAL_TEXT, instruction)


def read_list(response: str) -> list[float]:
    """Return the point, the centre of a box or of two points, else the whole first `[...]`.

    A reply that is a list and nothing else has to be one for Python, too: [07, 5] is none.
    """
    text = response.strip()
    if re.fullmatch(BOX, text):
        return [*centre(ast.literal_eval(text))]
    if re.fullmatch(POINT, text):
        return list(ast.literal_eval(text))
    if re.fullmatch(TWO_POINTS, text.replace(" ", "")):
        first, second = ast.literal_eval(f"[{text}]")
        return [*centre([*first, *second])]
    return [int(number) for number in text.split("]")[0].split("[")[1].split(",")]


read_pair = numbers_or_none(lambda response: read_list(response)[:2])


def parse_point(response: str, meta: Mapping[str, Any]) -> Answer:
    """Return the point of a reply, or that it calls the task infeasible."""
    numbers = read_pair(response)
    if numbers is not None and read_list(response) == INFEASIBLE:
        return DECLINED
    return from_whole(numbers, meta)


WITH_REFUSAL = PromptForm(messages_with_refusal)
WITHOUT_REFUSAL = PromptForm(messages)
build_prompt = prompt_function(WITH_REFUSAL)
build_prompt_without_refusal = prompt_function(WITHOUT_REFUSAL)

RECIPE = Recipe(
    family="UI-Venus-1.5",
    hub_ids=(
        "inclusionAI/UI-Venus-1.5-2B",
        "inclusionAI/UI-Venus-1.5-8B",
        "inclusionAI/UI-Venus-1.5-30B-A3B",
    ),
    frame="per mille",
    source="inclusionAI/UI-Venus @ c3a1442c models/grounding/ui_venus1_5_gd.py",
    prompts={"official_refusal": WITH_REFUSAL, "official_no_refusal": WITHOUT_REFUSAL},
    parsers={"official": Parser(parse_point, nothing_found="(-1, -1)")},
    resize=(LIBRARY_GRID,),
    generate_cfg={"temperature": 0, "max_tokens": 128},
    figures=(
        *sources.AUTHORS.of(
            "UI-Venus-1.5-2B",
            l2=80.3,
            screenspot_pro=57.7,
            screenspot_v2=92.8,
            ui_vision=44.8,
            osworld_g=59.4,
        ),
        *sources.CLAWGUI.of(
            "UI-Venus-1.5-2B", l2=81.19, screenspot_pro=58.82, screenspot_v2=93.24, ui_vision=43.82
        ),
        *sources.CLAWGUI_563.of("UI-Venus-1.5-2B", osworld_g=58.97),
        *sources.AUTHORS.of(
            "UI-Venus-1.5-8B",
            l2=88.1,
            screenspot_pro=68.4,
            screenspot_v2=95.9,
            ui_vision=46.5,
            osworld_g=69.7,
            osworld_g_refined=74.1,
        ),
        *sources.CLAWGUI.of(
            "UI-Venus-1.5-8B", l2=87.79, screenspot_pro=67.68, screenspot_v2=95.83, ui_vision=45.88
        ),
        *sources.CLAWGUI_563.of("UI-Venus-1.5-8B", osworld_g=69.98),
        *sources.AUTHORS.of(
            "UI-Venus-1.5-30B-A3B",
            l2=88.6,
            screenspot_v2=96.2,
            ui_vision=54.7,
            osworld_g=70.6,
            osworld_g_refined=76.4,
        ),
        *sources.LEADERBOARD.of("UI-Venus-1.5-30B-A3B", screenspot_pro=69.6),
    ),
    agent=Agent(
        prompt="models.recipes.agents.ui_venus.build_agent_prompt",
        parse="models.recipes.agents.ui_venus.parse_actions",
        source="inclusionAI/UI-Venus @ c3a1442c models/navigation/utils.py",
        generate_cfg={"temperature": 0, "max_tokens": 2048},
        note="no words for a task that cannot be done",
    ),
    steps=Steps(
        source="inclusionAI/UI-Venus @ c3a1442c models/navigation/utils.py",
        history="own",
        prompt="models.recipes.steps.ui_venus.build_step_prompt",
        parse="models.recipes.steps.ui_venus.parse_step",
        generate_cfg={"temperature": 0, "max_tokens": 2048},
        note="level low in words of OS-Atlas",
    ),
    verified="prompts and parser",
    note="The authors' default asks with the sentence about infeasible tasks, ClawGUI-Eval only "
    "for OSWorld-G. Their code resizes twice (steps of 28, then of 32).",
)
