"""MAI-UI: thinks in tags, answers `{"coordinate": [x,y]}` per mille; the text comes first."""

from __future__ import annotations

import json
from typing import Any

from models.recipes import sources
from models.recipes.base import (
    Agent,
    ChatMessage,
    Limits,
    Parser,
    PromptForm,
    Recipe,
    Steps,
    image_part,
    prompt_function,
    system_turn,
    text_part,
    user_turn,
)
from models.recipes.reading import between, read_bare_pair, whole_parser
from utils.contracts import WH

LIMITS = Limits(factor=32, min_pixels=1024, max_pixels=6553600)
SYSTEM = """\
You are a GUI grounding agent.\x20
## Task
Given a screenshot and the user's grounding instruction. Your task is to accurately locate a UI element based on the user's instructions.
First, you should carefully examine the screenshot and analyze the user's instructions,  translate the user's instruction into a effective reasoning process, and then provide the final coordinate.
## Output Format
Return a json object with a reasoning process in <grounding_think></grounding_think> tags, a [x,y] format coordinate within <answer></answer> XML tags:
<grounding_think>...</grounding_think>
<answer>
{"coordinate": [x,y]}
</answer>
## Input instruction
"""


def messages(instruction: str, _: WH = (0, 0)) -> list[ChatMessage]:
    """Return the messages of the authors' evaluation."""
    return [system_turn(SYSTEM), user_turn(text_part(f"{instruction}\n"), image_part())]


def read_answer(response: str) -> Any:
    """Return the coordinate of the JSON between the answer tags."""
    answer = between(response, "<answer>", "</answer>").strip()
    return json.loads(answer).get("coordinate", [])


parse_point = whole_parser(read_bare_pair)
parse_point_of_999 = whole_parser(read_answer, 999)
OFFICIAL = PromptForm(messages)
build_prompt = prompt_function(OFFICIAL)

RECIPE = Recipe(
    family="MAI-UI",
    hub_ids=("Tongyi-MAI/MAI-UI-2B", "Tongyi-MAI/MAI-UI-8B"),
    frame="per mille",
    source="Tongyi-MAI/MAI-UI @ 4dd07b9e evaluation/grounding/eval_server.py, eval_local.py, "
    "models/MAI_UI.py, src/mai_grounding_agent.py",
    prompts={"official_eval": OFFICIAL},
    parsers={
        "official_eval_server": Parser(parse_point),
        "official_eval_local": Parser(parse_point, nothing_found="(-1, -1)"),
        "official_agent_999": Parser(parse_point_of_999),
    },
    limits=LIMITS,
    resize=({"factor": LIMITS.factor},),
    generate_cfg={"temperature": 0, "max_tokens": 256},
    figures=(
        *sources.AUTHORS.of(
            "MAI-UI-2B",
            l2=82.6,
            screenspot_pro=57.4,
            screenspot_v2=92.5,
            ui_vision=30.3,
            osworld_g=52.0,
        ),
        *sources.CLAWGUI.of(
            "MAI-UI-2B", l2=82.8, screenspot_pro=57.94, screenspot_v2=92.3, ui_vision=29.68
        ),
        *sources.CLAWGUI_563.of("MAI-UI-2B", osworld_g=54.17),
        *sources.AUTHORS_MICRO.of("MAI-UI-8B", l2=88.8),
        *sources.README_TRANSFORMERS.of("MAI-UI-8B", l2=88.9),
        *sources.README_VLLM.of("MAI-UI-8B", l2=88.7),
        *sources.LEADERBOARD.of("MAI-UI-8B", screenspot_pro=65.7),
        *sources.AUTHORS.of(
            "MAI-UI-8B", screenspot_pro=65.8, screenspot_v2=95.2, ui_vision=40.7, osworld_g=60.1
        ),
        *sources.CLAWGUI.of(
            "MAI-UI-8B", l2=88.81, screenspot_pro=64.07, screenspot_v2=94.34, ui_vision=40.23
        ),
        *sources.CLAWGUI_563.of("MAI-UI-8B", osworld_g=63.23),
        *sources.UI_VENUS_README.of("MAI-UI-8B", osworld_g_refined=68.6),
        *sources.AUTHORS.of("MAI-UI-32B", l2=91.3, screenspot_v2=96.5, ui_vision=47.1),
        *sources.LEADERBOARD.of("MAI-UI-32B", screenspot_pro=67.9),
        *sources.LEADERBOARD_ZOOM.of("MAI-UI-2B", screenspot_pro=62.8),
        *sources.LEADERBOARD_ZOOM.of("MAI-UI-8B", screenspot_pro=71.9),
        *sources.LEADERBOARD_ZOOM.of("MAI-UI-32B", screenspot_pro=73.5),
        *sources.UI_VENUS_README.of("MAI-UI-32B", osworld_g_refined=73.9),
    ),
    agent=Agent(
        prompt="models.recipes.agents.mai_ui.build_agent_prompt",
        parse="models.recipes.agents.mai_ui.parse_actions",
        source="Tongyi-MAI/MAI-UI @ 4dd07b9e src/prompt.py",
        generate_cfg={"temperature": 0, "max_tokens": 2048},
        note="phones only, as its authors made it; the tasks of other platforms are played with touches",
    ),
    steps=Steps(
        source="Tongyi-MAI/MAI-UI @ 4dd07b9e src/prompt.py",
        history="own",
        prompt="models.recipes.steps.mai_ui.build_step_prompt",
        parse="models.recipes.steps.mai_ui.parse_step",
        generate_cfg={"temperature": 0, "max_tokens": 2048},
        note="turns; the apps that it names are those of AndroidWorld; level low in words of OS-Atlas",
    ),
    verified="prompt, resizing, three parsers",
    note="The authors resize on the client (RGB, bicubic) and send a PNG.",
)
