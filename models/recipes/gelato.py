"""Gelato: `(x, y)` per mille in whole numbers; the image stands between two texts."""

from __future__ import annotations

import re
from typing import Any

from models.recipes import sources
from models.recipes.base import (
    ChatMessage,
    Limits,
    Parser,
    PromptForm,
    Recipe,
    image_part,
    text_part,
    user_turn,
)
from models.recipes.reading import whole_parser
from utils.contracts import WH
from utils.geometry.targets import DECLINED, Declined

LIMITS = Limits(factor=32, min_pixels=4096, max_pixels=10000000)
TEXT = """\
You are an expert UI element locator. Given a GUI image and a user's element description, provide the coordinates of the specified element as a single (x,y) point. For elements with area, return the center point.

Output the coordinate pair exactly:
(x,y)"""
REFUSAL = "\nIf you cannot find the element, please respond with 'refusal'."
PAIR = re.compile(r"\((\d+),\s*(\d+)\)")


def _messages(text: str, instruction: str) -> list[ChatMessage]:
    return [user_turn(text_part(f"{text}\n\n"), image_part(), text_part(f"\n{instruction}"))]


def messages(instruction: str, _: WH = (0, 0)) -> list[ChatMessage]:
    """Return the authors' message."""
    return _messages(TEXT, instruction)


def messages_with_refusal(instruction: str, _: WH = (0, 0)) -> list[ChatMessage]:
    """Return the message that lets the model refuse."""
    return _messages(TEXT + REFUSAL, instruction)


def read_pair(response: str) -> Any:
    """Return the first pair of whole numbers without a blank behind the bracket."""
    x, y = PAIR.findall(response)[0]
    return int(x), int(y)


def read_unless_refused(response: str) -> Any:
    """Return the first pair of a reply without the word "refusal"."""
    return None if "refusal" in response.lower() else read_pair(response)


def declined(response: str) -> Declined | None:
    """Return DECLINED for a reply with the word "refusal"."""
    return DECLINED if "refusal" in response.lower() else None


parse_answer = whole_parser(read_unless_refused, declined=declined)
parse_point = whole_parser(read_pair)
build_prompt = PromptForm(messages)
build_prompt_with_refusal = PromptForm(messages_with_refusal)

RECIPE = Recipe(
    family="Gelato",
    hub_ids=("mlfoundations/Gelato-30B-A3B",),
    frame="per mille",
    source="mlfoundations/Gelato @ 1f83dad evaluation/run_grounding_eval.py",
    prompts={"gelato": build_prompt, "gelato-refusal": build_prompt_with_refusal},
    parsers={"gelato-refusal": Parser(parse_answer), "gelato": Parser(parse_point)},
    grounding_parser="parse_answer",
    limits=LIMITS,
    resize=({"factor": LIMITS.factor, "filter": "lanczos"},),
    generate_cfg={"temperature": 0, "max_tokens": 32},
    prompt_functions={
        "OSWorldG": "build_prompt_with_refusal",
        "VenusBenchGD": "build_prompt_with_refusal",
    },
    figures=sources.AUTHORS_MICRO.of(
        "Gelato-30B-A3B", screenspot_pro=63.88, osworld_g=69.15, osworld_g_refined=74.65
    ),
    verified="prompts, resizing and both parsers; points and totals of real replies",
    note="OSWorld-G is asked with the sentence about refusals, as its figures were made. Both "
    "prompts are read by `parse_answer`; the authors look for refusals only where they are offered.",
)
