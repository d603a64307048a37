"""UI-TARS-1.0: a point per mille, asked for in one line."""

from __future__ import annotations

import re
from typing import Any

from models.recipes import sources
from models.recipes.base import (
    ChatMessage,
    Parser,
    PromptForm,
    Recipe,
    Steps,
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
PAIR = re.compile(r"\((\d+),\s*(\d+)\)")


def messages(instruction: str, _: WH = (0, 0)) -> list[ChatMessage]:
    """Return the authors' grounding prompt."""
    return [image_and_text(GROUNDING + instruction)]


def read_answer(response: str) -> Any:
    """Return the first `(x,y)` of a reply without "Action:", else what the action parser reads."""
    if "Action:" in response:
        return read_action(response)
    x, y = PAIR.findall(response)[0]
    return int(x), int(y)


# A reply needs "Action:", as for the authors' action parser.
parse_point = whole_parser(read_action)
parse_answer = whole_parser(read_answer)
OFFICIAL = PromptForm(messages)
build_prompt = prompt_function(OFFICIAL)

RECIPE = Recipe(
    family="UI-TARS-1.0",
    hub_ids=(
        "bytedance-research/UI-TARS-2B-SFT",
        "bytedance-research/UI-TARS-7B-SFT",
        "bytedance-research/UI-TARS-7B-DPO",
        "bytedance-research/UI-TARS-72B-SFT",
        "bytedance-research/UI-TARS-72B-DPO",
    ),
    frame="per mille",
    source="bytedance/UI-TARS @ 582f3a7e README_v1.md, codes/ui_tars/action_parser.py",
    prompts={"readme_v1": OFFICIAL},
    parsers={
        "readme_v1": Parser(parse_answer),
        "official_action_parser": Parser(parse_point),
    },
    grounding_parser="parse_answer",
    generate_cfg={"temperature": 0, "frequency_penalty": 1, "max_tokens": 128},
    figures=(
        *sources.MMBENCH_GUI_PAPER.of("UI-TARS-72B-DPO", l2=74.25),
        *sources.LEADERBOARD.of("UI-TARS-2B-SFT", screenspot_pro=27.7),
        *sources.LEADERBOARD.of("UI-TARS-7B", screenspot_pro=35.7),
        *sources.LEADERBOARD.of("UI-TARS-72B", screenspot_pro=38.1),
        *sources.UI_VISION_README.of("UI-TARS-7B", ui_vision=17.6),
        *sources.UI_VISION_README.of("UI-TARS-72B", ui_vision=25.5),
        *sources.UI_VENUS_README.of("UI-TARS-7B", screenspot_v2=91.6),
        *sources.UI_VENUS_README.of("UI-TARS-72B", screenspot_v2=90.3),
        *sources.OSWORLD_G_PAGE.of("UI-TARS-7B", osworld_g=47.5),
        *sources.OPENCUA_README.of("UI-TARS-72B", osworld_g=57.1),
    ),
    steps=Steps(
        source="OpenBMB/AgentCPM-GUI @ acbaf50 eval/run_predict_ui_tars.py",
        history="actions",
        prompt="models.recipes.steps.ui_tars.build_step_prompt_1_0",
        parse="models.recipes.steps.ui_tars.parse_step_1_0",
        generate_cfg={"temperature": 0.1, "max_tokens": 128},
        note="the last four steps as turns; at level low the thought is begun; no open_app",
    ),
    verified="prompt and parser",
    note="The authors set no temperature: 0 is our choice. To this prompt the model answers (x,y) "
    'without "Action:", which the authors\' action parser (`parse_point`) does not read; '
    "`parse_answer` reads both.",
)
