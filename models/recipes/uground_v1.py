"""UGround-V1: `(x, y)` per mille."""

from __future__ import annotations

from typing import Any

from models.recipes import sources
from models.recipes.base import (
    ChatMessage,
    Parser,
    PromptForm,
    Recipe,
    image_and_text,
    prompt_function,
)
from models.recipes.reading import file_pixel_parser, python_value
from utils.contracts import WH

TEXT = """\

Your task is to help the user identify the precise coordinates (x, y) of a specific area/element/object on the screen based on a description.

- Your response should aim to point to the center or a representative point within the described area/element/object as accurately as possible.
- If the description is unclear or ambiguous, infer the most relevant area or element based on its likely context or purpose.
- Your answer should be a single string (x, y) corresponding to the point of the interest.

Description: {description}

Answer:"""
SHORT_TEXT = """\

Your task is to help the user identify the precise coordinates (x, y) of a specific area/element/object on the screen based on a description.
Description: {description}
Answer:"""


def messages(instruction: str, _: WH = (0, 0)) -> list[ChatMessage]:
    """Return the prompt that made the reported scores."""
    return [image_and_text(TEXT.replace("{description}", instruction))]


def short_messages(instruction: str, _: WH = (0, 0)) -> list[ChatMessage]:
    """Return the shorter prompt of the script without a server."""
    return [image_and_text(SHORT_TEXT.replace("{description}", instruction))]


def read_pair(response: str) -> Any:
    """Return the two numbers of a reply that is a pair and nothing else."""
    return python_value(response.strip())


parse_point = file_pixel_parser(read_pair, 1000, int)
SERVED = PromptForm(messages)
LOCAL = PromptForm(short_messages)
build_prompt = prompt_function(SERVED)
build_prompt_short = prompt_function(LOCAL)

RECIPE = Recipe(
    family="UGround-V1",
    hub_ids=("osunlp/UGround-V1-2B", "osunlp/UGround-V1-7B", "osunlp/UGround-V1-72B"),
    frame="per mille",
    source="OSU-NLP-Group/UGround @ 3a9b9f2b grounding/uground_qwen2vl_serve.py, "
    "uground_qwen2vl.py",
    prompts={"vllm_serve": SERVED, "vllm_local": LOCAL},
    parsers={"official": Parser(parse_point)},
    generate_cfg={"temperature": 0},
    figures=(
        *sources.MMBENCH_GUI_PAPER.of("UGround-V1-7B", l2=65.68),
        *sources.LEADERBOARD.of("UGround-V1-2B", screenspot_pro=26.6),
        *sources.LEADERBOARD.of("UGround-V1-7B", screenspot_pro=31.1),
        *sources.LEADERBOARD.of("UGround-V1-72B", screenspot_pro=34.5),
        *sources.UI_VISION_README.of("UGround-V1-7B", ui_vision=12.9),
        *sources.UI_VISION_README.of("UGround-V1-72B", ui_vision=23.2),
    ),
    verified="prompts and parser",
    note="The authors serve it in float16.",
)
