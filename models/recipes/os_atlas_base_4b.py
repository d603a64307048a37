"""OS-Atlas-Base-4B (InternVL2): `[[x,y]]` per mille."""

from __future__ import annotations

import re
from typing import Any

from models.recipes import sources
from models.recipes.base import (
    ChatMessage,
    Parser,
    PromptForm,
    Recipe,
    prompt_function,
    text_part,
    user_turn,
)
from models.recipes.reading import whole_parser
from utils.contracts import WH

TEXT = """\
In the screenshot of this web page, please give me the coordinates of the element I want to click on according to my instructions(with point).
"{}\""""
PAIR = re.compile(r"\[\[(\d+),(\d+)\]\]")


def messages(instruction: str, _: WH = (0, 0)) -> list[ChatMessage]:
    """Return the authors' prompt; the remote code puts the image in front."""
    return [user_turn(text_part(TEXT.replace("{}", instruction)))]


def read_pair(response: str) -> Any:
    """Return the last `[[x,y]]` without blanks."""
    x, y = PAIR.findall(response)[-1]
    return int(x), int(y)


parse_point = whole_parser(read_pair)
OFFICIAL = PromptForm(messages)
build_prompt = prompt_function(OFFICIAL)

RECIPE = Recipe(
    family="OS-Atlas-Base-4B",
    hub_ids=("OS-Copilot/OS-Atlas-Base-4B",),
    frame="per mille",
    source="OS-Copilot/OS-Atlas @ bad08407 README.md; ScreenSpot-Pro @ bd8bbbb4 models/osatlas4b.py",
    prompts={"ssp": OFFICIAL},
    parsers={"ssp": Parser(parse_point)},
    generate_cfg={"temperature": 0},
    figures=(*sources.LEADERBOARD.of("OS-Atlas-4B", screenspot_pro=3.7, screenspot_v2=68.5),),
    verified="prompt and parser",
    note="Tiles of 448, at most 6, and chat() are in the checkpoint's remote code: use a server "
    "that supports it, or a class of your own.",
)
