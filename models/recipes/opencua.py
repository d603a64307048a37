"""OpenCUA: a pyautogui call in pixels of the resized image."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from models.recipes import sources
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
from models.recipes.reading import as_point, from_grid, numbers_or_none
from utils.contracts import WH, Point

LIMITS = Limits(factor=28, min_pixels=3136, max_pixels=12845056)
SYSTEM = "You are a GUI agent. You are given a task and a screenshot of the screen. You need to perform a series of pyautogui actions to complete the task."
PAIR = re.compile(r"x=([\d.]+),\s*y=([\d.]+)")
COMMANDS = ("pyautogui.", "computer.")
CLICKS = ("click", "moveTo", "doubleClick", "rightClick", "dragTo")


def messages(instruction: str, _: WH = (0, 0)) -> list[ChatMessage]:
    """Return the authors' messages."""
    return [
        {"role": "system", "content": SYSTEM},
        image_and_text(instruction),
    ]


def commands_of(response: str) -> list[str]:
    """Return the lines that begin with a command; without any, the commands within lines."""
    lines = [line.strip() for line in response.split("\n")]
    commands = [line for line in lines if line.startswith(COMMANDS)]
    if commands:
        return commands
    for line in lines:
        for start in COMMANDS:
            if start in line:
                commands.append(start + line.split(start)[1].strip())
                break
    return commands


def first_command(response: str) -> str:
    """Return the first command with a place, empty without one.

    Raises:
        ValueError: a place of some command is no number; the authors' code fails as a whole.
    """
    first = ""
    for command in commands_of(response):
        pair = PAIR.search(command)
        is_call = command.startswith(("pyautogui.", "computer.triple_click"))
        if pair is None or not is_call:
            continue
        float(pair[1])  # raises, see above
        float(pair[2])
        is_click = command.startswith("computer.") or any(name in command for name in CLICKS)
        if is_click and not first:
            first = command
    return first


@numbers_or_none
def read_pair(response: str) -> Any:
    """Return the place of the first command that has one."""
    x, y = PAIR.findall(first_command(response))[0]
    return float(x), float(y)


def parse_point(response: str, meta: Mapping[str, Any]) -> Point | None:
    """Return the point of a reply.

    Numbers of which one is at most 1, and those of `computer.` calls, are taken as fractions.
    """
    numbers = read_pair(response)
    if numbers is None:
        return None
    is_pixels = min(numbers) > 1 and first_command(response).startswith("pyautogui.")
    return from_grid(numbers, meta, LIMITS) if is_pixels else as_point(numbers, meta)


OFFICIAL = PromptForm(messages)
build_prompt = prompt_function(OFFICIAL)

RECIPE = Recipe(
    family="OpenCUA",
    hub_ids=(
        "xlangai/OpenCUA-7B",
        "xlangai/OpenCUA-32B",
        "xlangai/OpenCUA-72B",
        "xlangai/OpenCUA-A3B",
    ),
    frame=GRID,
    source="xlang-ai/OpenCUA @ 1d70f206 README.md, evaluation/agentnetbench",
    prompts={"official": OFFICIAL},
    parsers={"official_agentnetbench": Parser(parse_point)},
    limits=LIMITS,
    generate_cfg={"temperature": 0, "max_tokens": 512},
    figures=(
        *sources.AUTHORS.of("OpenCUA-7B", osworld_g=45.7),
        *sources.UI_VENUS_README.of("OpenCUA-32B", osworld_g_refined=70.2),
    ),
    verified="prompt, resizing and parser",
    note="The checkpoints need trust_remote_code and have no AutoProcessor: use a server that "
    "supports them, or a class of your own. OpenCUA-Qwen2-7B answers in fractions.",
)
