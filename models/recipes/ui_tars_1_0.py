"""UI-TARS-1.0: a point per mille, asked for in one line."""

from __future__ import annotations

from models.recipes.base import (
    ChatMessage,
    Figure,
    Parser,
    PromptForm,
    Recipe,
    image_and_text,
    prompt_function,
)
from models.recipes.reading import whole_parser
from models.recipes.ui_tars_1_5 import read_action
from utils.contracts import WH

GROUNDING = (
    "Output only the coordinate of one point in your response. "
    "What element matches the following task: "
)


def messages(instruction: str, _: WH = (0, 0)) -> list[ChatMessage]:
    """Return the authors' grounding prompt."""
    return [image_and_text(GROUNDING + instruction)]


# A reply needs "Action:", as for the authors' action parser.
parse_point = whole_parser(read_action)
OFFICIAL = PromptForm(messages)
build_prompt = prompt_function(OFFICIAL)

RECIPE = Recipe(
    family="UI-TARS-1.0",
    hub_ids=tuple(
        f"bytedance-research/UI-TARS-{kind}"
        for kind in ("2B-SFT", "7B-SFT", "7B-DPO", "72B-SFT", "72B-DPO")
    ),
    frame="per mille",
    source="bytedance/UI-TARS @ 582f3a7e README_v1.md, codes/ui_tars/action_parser.py",
    prompts={"readme_v1": OFFICIAL},
    parsers={"official_action_parser": Parser(parse_point)},
    generate_cfg={"temperature": 0, "frequency_penalty": 1, "max_tokens": 128},
    figures=(Figure("UI-TARS-72B-DPO", 74.25, "MMBench-GUI paper"),),
    verified="prompt and parser",
    note="The authors set no temperature: 0 is our choice. To this prompt the model answers (x,y) "
    'without "Action:", which the authors\' parser does not read; '
    "utils.coordinates.parse_per_mille does.",
)
