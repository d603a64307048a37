"""MAI-UI: thinks in tags, answers `{"coordinate": [x,y]}` per mille; the text comes first."""

from __future__ import annotations

import json
from typing import Any

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
from models.recipes.sources import (
    AUTHORS,
    AUTHORS_MICRO,
    CLAWGUI,
    CLAWGUI_563,
    L2,
    LEADERBOARD,
    LEADERBOARD_ZOOM,
    OSWORLD_G,
    OSWORLD_G_REFINED,
    README_TRANSFORMERS,
    README_VLLM,
    SCREENSPOT_PRO,
    SCREENSPOT_V2,
    UI_VENUS_README,
    UI_VISION,
)
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
        *AUTHORS.of(
            "MAI-UI-2B",
            {L2: 82.6, SCREENSPOT_PRO: 57.4, SCREENSPOT_V2: 92.5, UI_VISION: 30.3, OSWORLD_G: 52.0},
        ),
        *CLAWGUI.of(
            "MAI-UI-2B", {L2: 82.8, SCREENSPOT_PRO: 57.94, SCREENSPOT_V2: 92.3, UI_VISION: 29.68}
        ),
        *CLAWGUI_563.of("MAI-UI-2B", {OSWORLD_G: 54.17}),
        *AUTHORS_MICRO.of("MAI-UI-8B", {L2: 88.8}),
        *README_TRANSFORMERS.of("MAI-UI-8B", {L2: 88.9}),
        *README_VLLM.of("MAI-UI-8B", {L2: 88.7}),
        *LEADERBOARD.of("MAI-UI-8B", {SCREENSPOT_PRO: 65.7}),
        *AUTHORS.of(
            "MAI-UI-8B",
            {SCREENSPOT_PRO: 65.8, SCREENSPOT_V2: 95.2, UI_VISION: 40.7, OSWORLD_G: 60.1},
        ),
        *CLAWGUI.of(
            "MAI-UI-8B", {L2: 88.81, SCREENSPOT_PRO: 64.07, SCREENSPOT_V2: 94.34, UI_VISION: 40.23}
        ),
        *CLAWGUI_563.of("MAI-UI-8B", {OSWORLD_G: 63.23}),
        *UI_VENUS_README.of("MAI-UI-8B", {OSWORLD_G_REFINED: 68.6}),
        *AUTHORS.of("MAI-UI-32B", {L2: 91.3, SCREENSPOT_V2: 96.5, UI_VISION: 47.1}),
        *LEADERBOARD.of("MAI-UI-32B", {SCREENSPOT_PRO: 67.9}),
        *LEADERBOARD_ZOOM.of("MAI-UI-2B", {SCREENSPOT_PRO: 62.8}),
        *LEADERBOARD_ZOOM.of("MAI-UI-8B", {SCREENSPOT_PRO: 71.9}),
        *LEADERBOARD_ZOOM.of("MAI-UI-32B", {SCREENSPOT_PRO: 73.5}),
        *UI_VENUS_README.of("MAI-UI-32B", {OSWORLD_G_REFINED: 73.9}),
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
