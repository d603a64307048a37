"""OS-Atlas-Base-7B: a box per mille between special tokens."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any

from models.recipes import sources
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
from models.recipes.reading import between, centre, whole_parser
from utils.contracts import WH

TEXT = 'In this UI screenshot, what is the position of the element corresponding to the command "{}" (with bbox)?"'
FOUR = re.compile(r"(?<!\d)(\d+),\s*(\d+),\s*(\d+),\s*(\d+)")
NUMBER = re.compile(r"-?\d+\.?\d*")


def messages(instruction: str, _: WH = (0, 0)) -> list[ChatMessage]:
    """Return the authors' prompt; the stray quote at its end is theirs."""
    return [image_and_text(TEXT.replace("{}", instruction))]


def first_box(response: str) -> str:
    """The content of the first box whose tokens are on one line.

    Raises:
        LookupError: there is none.
    """
    for line in response.split("\n"):
        with suppress(ValueError):
            return between(line, "<|box_start|>", "<|box_end|>")
    raise LookupError("no box")


def read_box(response: str) -> Any:
    """Return the centre of the first box; one that touches or leaves the image counts as none.

    A reply without the tokens is read only if it has two or four numbers and their point lies
    between 0 and 1, and is then divided by 1000 once more: that branch of the code is broken.
    """
    if "<|box_start|>" in response and "<|box_end|>" in response:
        inside = re.sub(r"[()\[\]]", "", first_box(response))
        box = [int(number) for number in FOUR.findall(inside)[0]]
        return centre(box) if all(0 < number < 1000 for number in box) else None
    numbers = [float(number) for number in NUMBER.findall(response)]
    x, y = centre(numbers) if len(numbers) == 4 else numbers
    return (x, y) if 0 < x < 1 and 0 < y < 1 else None


parse_point = whole_parser(read_box)
OFFICIAL = PromptForm(messages)
build_prompt = prompt_function(OFFICIAL)

RECIPE = Recipe(
    family="OS-Atlas-Base-7B",
    hub_ids=("OS-Copilot/OS-Atlas-Base-7B",),
    frame="box per mille",
    source="OS-Copilot/OS-Atlas @ bad08407 README.md; ScreenSpot-Pro @ bd8bbbb4 models/osatlas7b.py",
    prompts={"ssp": OFFICIAL},
    parsers={"ssp": Parser(parse_point)},
    generate_cfg={"temperature": 0, **KEEP_TOKENS},
    checkpoint=KEEP_TOKENS_LOCALLY,
    figures=(
        *sources.MMBENCH_GUI_PAPER.of("OS-Atlas-Base-7B", l2=41.42),
        *sources.LEADERBOARD.of("OS-Atlas-7B", screenspot_pro=18.9, screenspot_v2=83.3),
        *sources.UI_VISION_README.of("OS-Atlas-7B", ui_vision=9.02),
    ),
    verified="prompt and parser",
    note="The special tokens must stay in the reply. For a server that drops them use "
    "utils.coordinates.parse_per_mille.",
)
