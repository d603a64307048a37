"""GUI-R1: `<answer>[{'action': 'click', 'point': [x, y], ...}]</answer>`, resized pixels."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from models.recipes.agents import text
from models.recipes.base import GRID, Limits, Recipe, Steps
from models.recipes.reading import NOT_READ, between
from models.recipes.steps import (
    StepFields,
    as_parsed,
    filled,
    finish,
    grid_wh,
    of_grid,
    press,
    screen,
    swipe,
    told_steps,
    whole,
)
from utils.contracts import WH, Line, Message

LIMITS = Limits(factor=28, min_pixels=3136, max_pixels=12845056)
TEXT = """\
<image>
You are GUI-R1, a reasoning GUI Agent Assistant. In this UI screenshot <image>, I want you to continue executing the command '{instruction}', with the action history being '{history}'.
Please provide the action to perform (enumerate from ['wait', 'long_press', 'click', 'press_back', 'type', 'open_app', 'scroll']), the point where the cursor is moved to (integer) if a click is performed, and any input text required to complete the action.
Output the thinking process in <think> </think> tags, and the final answer in <answer> </answer> tags as follows:
<think> ... </think> <answer>[{'action': enum['wait', 'long_press', 'click', 'press_back', 'type', 'open_app', 'scroll'], 'point': [x, y], 'input_text': 'no input text [default]'}]</answer>
Note:
 specific input text (no default) is necessary for actions enum['type', 'open_app', 'scroll']\x20
 Example:
[{'action': enum['wait', 'press_back'], 'point': [-100, -100], 'input_text': 'no input text'}]
[{'action': enum['click', 'long_press'], 'point': [123, 300], 'input_text': 'no input text'}]
[{'action': enum['type', 'open_app'], 'point': [-100, -100], 'input_text': 'shanghai shopping mall'}]
[{'action': enum['scroll'], 'point': [-100, -100], 'input_text': enum['up', 'left', 'right', 'down']}]"""
ACTION = re.compile(r"'action':\s*'(\w+)'")
TYPED = re.compile(r"'input_text':\s*'(.*?)'\s*(?:\}|,\s*'\w+':)", re.DOTALL)
POINT = re.compile(r"\[\s*(-?\d+),\s*(-?\d+)\s*\]")
NO_TEXT = "no input text"


def build_step_prompt(line: Line, dataset: str, **settings: Any) -> list[Message]:
    """Return the screen, and the text; at level "low" the command is the step's own."""

    def write(action: StepFields) -> str:
        return written(action, grid_wh(line, settings, LIMITS))

    told = told_steps(line, write, _own, settings)
    steps = "\n".join(f"Step {number}: {words}" for number, words in enumerate(told, 1))
    slots = {
        "{instruction}": line["instruction"] if line["level"] == "low" else line["goal"],
        "{history}": f" \n{steps}\n\n" if steps else "None",
    }
    return [screen(line), text(filled(TEXT, slots))]


def _own(reply: str) -> str:
    """The answer in a reply, without its thinking."""
    try:
        return between(reply, "<answer>", "</answer>")
    except ValueError:
        return reply


def written(action: StepFields, full_scale: WH) -> str:
    """A recorded action in the words of GUI-R1."""
    kind = action["kind"]
    point = whole(action["point"], full_scale) if "point" in action else (-100, -100)
    name = "scroll" if kind == "swipe" else kind
    if kind == "press":
        name = f"press_{action['button']}"
    words = action.get("text") or action.get("direction") or NO_TEXT
    return f"[{{'action': '{name}', 'point': [{point[0]}, {point[1]}], 'input_text': '{words}'}}]"


def parse_step(response: str, meta: Mapping[str, Any]) -> StepFields | None:
    """Return the action in the answer tags; a direction is where the content goes."""
    try:
        answer = between(response, "<answer>", "</answer>")
        found = ACTION.search(answer)
        return as_parsed(_action(found[1], answer, meta), meta) if found else None
    except NOT_READ:
        return None


def _action(name: str, answer: str, meta: Mapping[str, Any]) -> StepFields | None:
    if name in ("click", "long_press"):
        points = POINT.findall(answer)
        if not points:
            return {"kind": name, "point": None}
        x, y = points[-1]
        return {"kind": name, "point": of_grid(meta, LIMITS)(float(x), float(y))}
    if name == "scroll":
        return swipe(_typed(answer).strip().lower(), "content")
    if name in ("type", "open_app"):
        return {"kind": name, "text": _typed(answer)}
    if name in ("press_back", "press_home", "press_recent", "press_enter", "press_menu"):
        return press(name.removeprefix("press_"))
    if name == "wait":
        return {"kind": "wait"}
    if name in ("complete", "impossible"):
        return finish(is_success=name == "complete")
    return None


def _typed(answer: str) -> str:
    match = TYPED.search(answer)
    return match[1] if match else NO_TEXT


RECIPE = Recipe(
    family="GUI-R1",
    hub_ids=("ritzzai/GUI-R1-3B", "ritzzai/GUI-R1-7B"),
    frame=GRID,
    source="ritzz-ai/GUI-R1 @ d43eea2 guir1/inference/inference_vllm_android.py",
    steps=Steps(
        source="ritzz-ai/GUI-R1 @ d43eea2 guir1/inference/inference_vllm_android.py",
        history="instructions",
        note="at level low the command is the step's instruction, without the goal",
    ),
    limits=LIMITS,
    generate_cfg={
        "temperature": 0,
        "top_p": 0.001,
        "max_tokens": 1024,
        "extra_body": {"repetition_penalty": 1.05},
    },
    verified="prompt, resizing; replies of the authors' evaluation",
    note="The words <image> in the text are the authors'. A text is read up to the end of its "
    "field; the authors' evaluation ends it at the first apostrophe.",
)
