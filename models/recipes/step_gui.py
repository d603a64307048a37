"""StepGUI (GELab-Zero): `point:x,y` of 0 to 1000."""

from __future__ import annotations

import re
from typing import Any

from models.recipes import sources
from models.recipes.base import (
    HELPFUL,
    Agent,
    ChatMessage,
    Limits,
    Parser,
    PromptForm,
    Recipe,
    Steps,
    image_and_text,
    prompt_function,
    system_turn,
)
from models.recipes.reading import file_pixel_parser, whole_parser
from utils.contracts import WH

LIMITS = Limits(factor=32, min_pixels=65536, max_pixels=16777216)
SUFFIX = """\

output its center point coordinates that fit 0-1000 range like point:x_center,y_center"""
NUMBER = re.compile(r"-?\d+\.?\d*")
THINK_TAG = re.compile(r"<\s*(/?)THINK\s*>", re.IGNORECASE)


def messages(instruction: str, _: WH = (0, 0)) -> list[ChatMessage]:
    """Return ClawGUI-Eval's messages."""
    return [
        system_turn(HELPFUL),
        image_and_text(instruction + SUFFIX),
    ]


def messages_of_issue(instruction: str, _: WH = (0, 0)) -> list[ChatMessage]:
    """Return the prompt as a developer wrote it down, with the stray quote at its end."""
    return [image_and_text(f'{instruction}{SUFFIX}"')]


def read_numbers(response: str) -> Any:
    """Return the first two numbers, wherever they stand."""
    numbers = NUMBER.findall(response)
    return float(numbers[0]), float(numbers[1])


parse_point = file_pixel_parser(read_numbers, 999, int)


def behind_thoughts(response: str) -> str:
    """Return an agent's reply without its thoughts, however their tags are written."""
    text = response.strip().replace("<TINK>", "<THINK>").replace("</TINK>", "</THINK>")
    text = THINK_TAG.sub(r"<\1THINK>", text)
    if "<THINK>" in text and "</THINK>" in text:
        text = text.split("</THINK>")[1]
    return text.strip()


def read_action(response: str) -> Any:
    """Return the last field `point` of an agent's reply in fields that tabs divide."""
    points: dict[str, tuple[int, int]] = {}
    for part in behind_thoughts(response).split("\t"):
        key, colon, value = part.strip().partition(":")
        if colon and key.strip() not in ("action", "summary") and "point" in key:
            x, y = value.replace(",", " ").split()[:2]
            points[key.strip()] = (int(x), int(y))
    return points["point"]


parse_agent_point = whole_parser(read_action)
CLAWGUI_FORM = PromptForm(messages)
ISSUE = PromptForm(messages_of_issue)
build_prompt = prompt_function(CLAWGUI_FORM)
build_prompt_of_issue = prompt_function(ISSUE)

RECIPE = Recipe(
    family="StepGUI",
    hub_ids=("stepfun-ai/GELab-Zero-4B-preview",),
    frame="0 to 1000, read as of 999",
    source="gelab-zero issue #8 (a developer's answer); ClawGUI-Eval @ d990d3e3; "
    "stepfun-ai/gelab-zero @ 19465cf3 (agent)",
    prompts={"clawgui": CLAWGUI_FORM, "stepfun_issue_8": ISSUE},
    parsers={"clawgui": Parser(parse_point), "gelab_agent_1000": Parser(parse_agent_point)},
    limits=LIMITS,
    generate_cfg={"temperature": 0.2, "max_tokens": 512, "extra_body": {"top_k": 1}},
    figures=(
        *sources.AUTHORS.of("Step-GUI-4B", l2=84.0, screenspot_pro=60.0, screenspot_v2=93.6),
        *sources.CLAWGUI.of(
            "Step-GUI-4B", l2=83.03, screenspot_pro=59.14, screenspot_v2=91.98, ui_vision=29.9
        ),
        *sources.UI_VENUS_2_PAGE.of("Step-GUI-8B", l2=85.6, screenspot_v2=95.1),
        *sources.UI_VENUS_README.of("Step-GUI-4B", osworld_g_refined=66.9),
        *sources.UI_VENUS_README.of("Step-GUI-8B", osworld_g_refined=70.0),
    ),
    agent=Agent(
        prompt="models.recipes.agents.step_gui.build_agent_prompt",
        parse="models.recipes.agents.step_gui.parse_actions",
        source="stepfun-ai/gelab-zero @ 19465cf3 copilot_tools/parser_0920_summary.py",
        generate_cfg={"temperature": 0.2, "max_tokens": 2048},
        note="phones only, as its authors made it; the tasks of other platforms are played with touches",
    ),
    steps=Steps(
        source="stepfun-ai/gelab-zero @ 19465cf3 copilot_tools/parser_0920_summary.py",
        history="own",
        prompt="models.recipes.steps.step_gui.build_step_prompt",
        parse="models.recipes.steps.step_gui.parse_step",
        generate_cfg={"temperature": 0.2, "max_tokens": 2048},
        note="the last summary of its own; no words for the back button; level low in words of OS-Atlas",
    ),
    verified="prompts, resizing and both parsers",
    note="The authors published no parser for grounding, so ClawGUI-Eval's is followed: it takes "
    "the first two numbers of the whole reply, also one in a thought.",
)
