"""Kimi-K2.5, K2.6 and K3: `(x,y)` per mille after some reasoning."""

from __future__ import annotations

from models.recipes.agents.kimi import AGENT
from models.recipes.base import (
    ChatMessage,
    Parser,
    PromptForm,
    Recipe,
    image_part,
    prompt_function,
    text_part,
    user_turn,
)
from models.recipes.gemini import DESCRIPTION, read_pair
from models.recipes.reading import whole_parser
from utils.contracts import WH
from utils.geometry.zooming import Zoom

TEXT = """\
You are an expert UI element locator. Given a GUI image and a user's element description, provide your reasoning process first, finally provide the coordinates of the specified element as a single point. For elements with area, return the center point.

Give your reasoning process first, then output the coordinate pair ranging from 0 to 1000 exactly in format:
(x,y)"""
ZOOM = Zoom(ratio=0.25, resize_to=(1920, 1080), whole_per_mille=True)


def messages(instruction: str, _: WH = (0, 0)) -> list[ChatMessage]:
    """Return ClawGUI-Eval's messages."""
    return [
        {"role": "system", "content": TEXT},
        user_turn(text_part(DESCRIPTION + instruction), image_part()),
    ]


parse_point = whole_parser(read_pair)
CLAWGUI = PromptForm(messages)
build_prompt = prompt_function(CLAWGUI)

RECIPE = Recipe(
    family="Kimi-K2.5",
    hub_ids=("moonshotai/Kimi-K2.5", "moonshotai/Kimi-K2.6"),
    frame="per mille",
    source="ClawGUI-Eval @ d990d3e3 inference/kimi_inferencer.py",
    prompts={"clawgui": CLAWGUI},
    parsers={"clawgui": Parser(parse_point)},
    generate_cfg={"temperature": 1.0, "top_p": 0.95},
    zoom=ZOOM,
    agent=AGENT,
    verified=f"prompt, crops and parser; agent: {AGENT.verified}",
    note="The authors published no code for grounding, so the prompt is that of K2.5 for all. "
    "Temperature 0.6 for the instant mode.",
)
