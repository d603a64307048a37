"""Kimi-VL: thinks, then writes a pyautogui call in fractions."""

from __future__ import annotations

import re
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
from models.recipes.reading import whole_parser
from utils.contracts import WH

SYSTEM = """\
You are a GUI agent. You are given a task and a screenshot of a computer screen. You need to perform a action and pyautogui code to complete the task. Provide your response in this format:

## Action:
Provide clear, concise, and actionable instructions.

## Code:
Generate a corresponding Python code snippet using pyautogui that clicks on the identified UI element using normalized screen coordinates (values between 0 and 1). The script should dynamically adapt to the current screen resolution by converting the normalized coordinates to actual pixel positions."""
THINKING = "◁think▷"
END_OF_THINKING = "◁/think▷"
FRACTION = r"(0(?:\.\d+)?|1(?:\.0+)?)"
PAIR = re.compile(rf"x={FRACTION}, y={FRACTION}")


def messages(instruction: str, _: WH = (0, 0)) -> list[ChatMessage]:
    """Return ScreenSpot-Pro's messages."""
    text = f"## Task Instruction:\n{instruction}"
    return [{"role": "system", "content": SYSTEM}, image_and_text(text)]


def read_pair(response: str) -> Any:
    """Return the first `x=.., y=..` between 0 and 1 behind the thinking.

    A thinking that does not end, or ends without a beginning, spoils the reply.
    """
    if (THINKING in response) != (END_OF_THINKING in response):
        return None
    answer = response.partition(END_OF_THINKING)[2] if THINKING in response else response
    x, y = PAIR.findall(answer)[0]
    return float(x), float(y)


parse_point = whole_parser(read_pair, 1)
SSP = PromptForm(messages)
build_prompt = prompt_function(SSP)

RECIPE = Recipe(
    family="Kimi-VL",
    hub_ids=("moonshotai/Kimi-VL-A3B-Thinking-2506",),
    frame="fractions",
    source="ScreenSpot-Pro @ bd8bbbb4 models/kimivl.py",
    prompts={"ssp": SSP},
    parsers={"ssp": Parser(parse_point)},
    generate_cfg={"temperature": 0, "max_tokens": 8192},
    figures=(*sources.LEADERBOARD.of("Kimi-VL-A3B-Thinking-2506", screenspot_pro=51.0),),
    verified="prompt and parser",
)
