"""Aguvis: `pyautogui.click(x=0.5, y=0.5)` in fractions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from models.local_aguvis import preprocess_aguvis
from models.recipes import sources
from models.recipes.base import (
    OTHER_DATA_SETS,
    ChatMessage,
    Parser,
    PromptForm,
    Recipe,
    image_and_text,
    prompt_function,
)
from models.recipes.reading import whole_parser
from utils.contracts import WH, Message

SYSTEM = "You are a GUI agent. You are given a task and a screenshot of the screen. You need to perform a series of pyautogui actions to complete the task."
TEXT = """\
Please generate the next move according to the ui screenshot, instruction and previous actions.

Instruction: {instruction}

Previous actions:
None
"""
PAIR = re.compile(r"x=([\d.]+), y=([\d.]+)")


def messages(instruction: str, _: WH = (0, 0)) -> list[ChatMessage]:
    """Return the authors' messages."""
    text = TEXT.replace("{instruction}", instruction)
    return [{"role": "system", "content": SYSTEM}, image_and_text(text)]


def read_pair(response: str) -> Any:
    """Return the first `x=1, y=2` with its blank."""
    x, y = PAIR.findall(response)[0]
    return float(x), float(y)


parse_point = whole_parser(read_pair, 1)


def preprocess(
    message: list[Message], model: Any, processor: Any, **kwargs: Any
) -> Mapping[str, Any]:
    """Return a checkpoint's inputs, which begin the reply as the authors do."""
    if kwargs["dataset_name"] not in OTHER_DATA_SETS:
        kwargs["dataset_name"] = "GUIElementGrounding"
    return preprocess_aguvis(message, model, processor, **kwargs)


preprocess.thread_safe = True  # type: ignore[attr-defined]

GROUNDING = PromptForm(messages)
build_prompt = prompt_function(GROUNDING)

RECIPE = Recipe(
    family="Aguvis",
    hub_ids=("xlangai/Aguvis-7B-720P",),
    frame="fractions",
    source="xlang-ai/aguvis @ 178c4187; VLMEvalKit and MMBench-GUI parse_bbox_aguvis",
    prompts={"grounding_mode": GROUNDING},
    parsers={"vlmevalkit_and_mmbench": Parser(parse_point, nothing_found="(0, 0)")},
    generate_cfg={"temperature": 0},
    checkpoint={
        "preprocess_function": f"{__name__}.preprocess",
        "postprocess_function": "models.local_aguvis.postprocess_aguvis",
    },
    figures=(
        *sources.MMBENCH_GUI_PAPER.of("Aguvis-7B-720P", l2=45.66),
        *sources.LEADERBOARD.of("Aguvis-7B", screenspot_pro=22.9, screenspot_v2=87.3),
        *sources.UI_VISION_README.of("Aguvis-7B", ui_vision=13.7),
    ),
    verified="prompt and parser",
    note="The authors begin the reply with the recipient os. A checkpoint does so, too; on a server "
    "its chat template decides.",
)
