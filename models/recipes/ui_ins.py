"""UI-Ins: thinks, then calls `grounding` with a point in pixels of the resized image."""

from __future__ import annotations

from models.recipes import sources
from models.recipes.base import (
    GRID,
    HELPFUL,
    ChatMessage,
    Limits,
    Parser,
    PromptForm,
    Recipe,
    image_and_text,
    prompt_function,
    system_turn,
)
from models.recipes.reading import call_parser, grid_parser, read_bare_pair
from utils.contracts import WH

LIMITS = Limits(factor=28, min_pixels=784, max_pixels=12845056)
SYSTEM = """\
You are a GUI agent. You are given a task and your action history, with screenshots. You need to perform the next action to complete the task.

## Output Format
Return a json object with a reasoning process in <think></think> tags, a function name and arguments within <tool_call></tool_call> XML tags:
```
<think>
...
</think>
<tool_call>
{"name": "grounding", "arguments": <args-json-object>}
</tool_call>
```
<args-json-object> represents the following item of the action space:
## Action Space{"action": "click", "coordinate": [x, y]}
Your task is to accurately locate a UI element based on the instruction. You should first analyze instruction in <think></think> tags and finally output the function in <tool_call></tool_call> tags.
"""


def messages(instruction: str, _: WH = (0, 0)) -> list[ChatMessage]:
    """Return the authors' messages; the chat template joins the system's two parts."""
    return [system_turn(HELPFUL, SYSTEM), image_and_text(instruction)]


parse_point = grid_parser(read_bare_pair, LIMITS)
parse_call = call_parser(LIMITS)
OFFICIAL = PromptForm(messages)
build_prompt = prompt_function(OFFICIAL)

RECIPE = Recipe(
    family="UI-Ins",
    hub_ids=("Tongyi-MiA/UI-Ins-7B", "Tongyi-MiA/UI-Ins-32B"),
    frame=GRID,
    source="alibaba/UI-Ins @ 1953bbc5 evaluation/eval/model.py",
    prompts={"official": OFFICIAL},
    parsers={
        "official_eval": Parser(parse_point, nothing_found="(-1, -1)"),
        "any_written_call": Parser(parse_call),
    },
    limits=LIMITS,
    generate_cfg={"temperature": 0.01, "max_tokens": 256},
    figures=(*sources.AUTHORS.of("UI-Ins-32B", l2=84.9),),
    verified="prompt and parser",
    note="A point with a blank after the comma is not read; the authors' README reads it.",
)
