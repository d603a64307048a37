"""InfiGUI-R1: Qwen2.5-VL's `mobile_use`, thinking in tags, pixels of the resized image."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from models.recipes.base import GRID, Limits, Recipe, Steps
from models.recipes.steps import StepFields, as_parsed, grid_wh, of_grid
from models.recipes.steps.mobile_use import parse_call
from models.recipes.steps.qwen2_5_vl import TOOLS, messages
from utils.contracts import Line, Message

LIMITS = Limits(factor=28, min_pixels=3136, max_pixels=5017600)
THINKING = """\
You FIRST think about the reasoning process as an internal monologue and then provide the final answer.
The reasoning process MUST BE enclosed within <think> </think> tags.
During the reasoning process, identify and state the sub-goal of the current step by enclosing it within <step> </step> tags."""
SYSTEM = THINKING + TOOLS


def build_step_prompt(line: Line, dataset: str, **settings: Any) -> list[Message]:
    """Return the tool, the task with what was done, and the screen."""
    return messages(SYSTEM, line, grid_wh(line, settings, LIMITS))


def parse_step(response: str, meta: Mapping[str, Any]) -> StepFields | None:
    """Return the action of the first call behind the thinking."""
    return as_parsed(parse_call(response, of_grid(meta, LIMITS)), meta)


RECIPE = Recipe(
    family="InfiGUI-R1",
    hub_ids=("InfiX-ai/InfiGUI-R1-3B", "Reallm-Labs/InfiGUI-R1-3B"),
    frame=GRID,
    source="InfiXAI/InfiGUI-R1 @ a4fca17 eval/android_control/android_control.py",
    steps=Steps(
        source="InfiXAI/InfiGUI-R1 @ a4fca17 eval/android_control/android_control.py",
        history="actions",
        note="the authors' history has the recorded actions as JSON",
    ),
    limits=LIMITS,
    generate_cfg={"temperature": 0, "max_tokens": 1024},
    verified="prompts, resizing; replies of the authors' evaluation",
)
