"""InternVL3 and 3.5: `pyautogui.click(x=0.2346, y=0.381)` in fractions."""

from __future__ import annotations

import re
from typing import Any

from models.recipes.base import ChatMessage, Parser, PromptForm, Recipe, image_and_text
from models.recipes.reading import whole_parser
from utils.contracts import WH

SYSTEM = """\
You are InternVL, a GUI agent.\x20

You are given a task and a screenshot of the screen. You need to perform a series of pyautogui actions to complete the task."""
NUMBER = r"(\d+(?:\.\d+)?|\.\d+)\s*"
CLICK = re.compile(rf"pyautogui\.\w+\(\s*(?:x\s*=\s*)?{NUMBER},\s*(?:y\s*=\s*)?{NUMBER}[,)]")


def messages(instruction: str, _: WH = (0, 0)) -> list[ChatMessage]:
    """Return the system message that a maintainer gives, and the bare instruction."""
    return [{"role": "system", "content": SYSTEM}, image_and_text(instruction)]


def read_click(response: str) -> Any:
    """Return the place of the first command that has one."""
    x, y = CLICK.findall(response)[0]
    return float(x), float(y)


parse_point = whole_parser(read_click, 1)
build_prompt = PromptForm(messages)

RECIPE = Recipe(
    family="InternVL3, InternVL3.5",
    hub_ids=(
        "OpenGVLab/InternVL3-1B",
        "OpenGVLab/InternVL3-2B",
        "OpenGVLab/InternVL3-8B",
        "OpenGVLab/InternVL3-9B",
        "OpenGVLab/InternVL3-14B",
        "OpenGVLab/InternVL3-38B",
        "OpenGVLab/InternVL3-78B",
        "OpenGVLab/InternVL3_5-1B",
        "OpenGVLab/InternVL3_5-2B",
        "OpenGVLab/InternVL3_5-4B",
        "OpenGVLab/InternVL3_5-8B",
        "OpenGVLab/InternVL3_5-14B",
        "OpenGVLab/InternVL3_5-38B",
    ),
    frame="fractions",
    source="OpenGVLab/InternVL issue #998",
    prompts={"maintainer_issue_998": build_prompt},
    parsers={"of_this_program": Parser(parse_point)},
    generate_cfg={"temperature": 0, "max_tokens": 128},
    verified="prompt alone: the authors published no parser and no settings",
    note="The text must be the system message; as a text of the user it costs accuracy. Of 3.5 its "
    "authors say nothing; others see the same replies.",
)
