"""UI-TARS-1.5 (7B): `Action: click(point='<point>x y</point>')` in pixels of the resized image."""

from __future__ import annotations

import ast
import re
from typing import Any

from models.recipes import sources
from models.recipes.base import (
    GRID,
    Agent,
    ChatMessage,
    Limits,
    Parser,
    PromptForm,
    Recipe,
    Steps,
    image_and_text,
    prompt_function,
)
from models.recipes.reading import Numbers, centre, grid_parser
from utils.contracts import WH

LIMITS = Limits(factor=28, min_pixels=78400, max_pixels=12845056)
GROUNDING = """\
You are a GUI agent. You are given a task and your action history, with screenshots. You need to perform the next action to complete the task.\x20

## Output Format

Action: ...


## Action Space
click(point='<point>x1 y1</point>'')

## User Instruction
{instruction}"""
POINT_TAG = re.compile(r"<point>(\d+)\s+(\d+)</point>")
TYPED = "type(content='"


def messages(instruction: str, _: WH = (0, 0)) -> list[ChatMessage]:
    """Return the authors' grounding prompt; its odd `</point>''` is in the original."""
    text = GROUNDING.replace("{instruction}", instruction)
    return [image_and_text(text)]


def read_action(response: str) -> Any:
    """Return the centre of `start_box` of the last action, as the authors' action parser has it.

    It needs "Action:", reads what follows the last "Action: ", and fails as a whole where one of
    several actions cannot be read.
    """
    text = response.strip()
    if "<point>" in text:
        text = POINT_TAG.sub(r"(\1,\2)", text.replace("[EOS]", "")).strip()
    for old, new in (("start_point=", "start_box="), ("end_point=", "end_box=")):
        text = text.replace(old, new)
    text = text.replace("point=", "start_box=")
    if "Action:" not in text:
        return None
    boxes = [_start_box(action) for action in text.split("Action: ")[-1].split(")\n\n")]
    return boxes[-1]


def _start_box(action: str) -> Numbers | None:
    """Return the centre of an action's `start_box`; None: it has none.

    Raises:
        ValueError: it cannot be read.
    """
    if "type(content" in action:
        text = action if action.strip().endswith(")") else f"{action.strip()})"
        if not any("')" in line.partition(TYPED)[2] for line in text.split("\n")):
            raise ValueError("a text to type without an end")
        return None
    if not action.strip().endswith(")"):
        action = f"{action.strip()})"
    boxes = {
        name: [float(number) for number in re.sub(r"[()]", "", value).split(",")]
        for name, value in _arguments(action).items()
        if "start_box" in name or "end_box" in name
    }
    if "start_box" not in boxes:
        return None
    box = boxes["start_box"]
    if len(box) == 2:
        box = [*box, *box]
    if len(box) != 4:
        raise ValueError("neither a point nor a box")
    return centre(box)


def _arguments(action: str) -> dict[str, str]:
    """Return the named arguments of a call, all of them texts; empty ones are left out."""
    call = ast.parse(action.replace("\n", "\\n").lstrip(), mode="eval").body
    if not isinstance(call, ast.Call):
        raise ValueError("not a call")
    arguments = {}
    for keyword in call.keywords:
        value = keyword.value.value if isinstance(keyword.value, ast.Constant) else None
        if value == "":
            continue
        if not isinstance(value, str) or keyword.arg is None:
            raise ValueError("an argument that is no text")
        arguments[keyword.arg] = value
    return arguments


parse_point = grid_parser(read_action, LIMITS)
OFFICIAL = PromptForm(messages)
build_prompt = prompt_function(OFFICIAL)

RECIPE = Recipe(
    family="UI-TARS-1.5",
    hub_ids=("ByteDance-Seed/UI-TARS-1.5-7B",),
    frame=GRID,
    source="bytedance/UI-TARS @ 582f3a7e codes/ui_tars/prompt.py, action_parser.py",
    prompts={"grounding_doubao": OFFICIAL},
    parsers={"official_action_parser": Parser(parse_point)},
    limits=LIMITS,
    generate_cfg={"temperature": 0, "max_tokens": 400},
    figures=(
        *sources.MMBENCH_GUI_PAPER.of("UI-TARS-1.5-7B", l2=64.32),
        *sources.CLAWGUI.of(
            "UI-TARS-1.5-7B", l2=73.23, screenspot_pro=42.06, screenspot_v2=89.54, ui_vision=20.3
        ),
        *sources.CLAWGUI_510.of("UI-TARS-1.5-7B", osworld_g=58.24),
        *sources.UI_VENUS_2_PAGE.of("UI-TARS-1.5-7B", l2=64.3),
        *sources.AUTHORS.of("UI-TARS-1.5-7B", screenspot_pro=49.6),
        *sources.UI_VENUS_README.of("UI-TARS-1.5-7B", osworld_g_refined=64.2),
    ),
    agent=Agent(
        prompt="models.recipes.agents.ui_tars.build_agent_prompt",
        parse="benchmarks.actions.dialects.parse_uitars",
        source="bytedance/UI-TARS @ 582f3a7e codes/ui_tars/prompt.py",
        generate_cfg={"temperature": 0, "max_tokens": 1024},
        note="no words for a task that cannot be done; models/api_uitars.py adds some",
    ),
    steps=Steps(
        source="bytedance/UI-TARS @ 582f3a7e codes/ui_tars/prompt.py",
        history="own",
        prompt="models.recipes.steps.ui_tars.build_step_prompt",
        parse="models.recipes.steps.ui_tars.parse_step",
        generate_cfg={"temperature": 0, "max_tokens": 1024},
        note="turns; at level low the thought is begun, as AgentCPM-GUI does for 1.0",
    ),
    verified="prompt, resizing and parser",
    note="`models.api_uitars` is the example of the protocol and reads any two runs of digits.",
)
