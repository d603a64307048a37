"""UI-S1: a conversation, `<action>{"action": "click", "coordinate": [x, y]}</action>`, resized pixels."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from models.recipes.agents import text
from models.recipes.base import GRID, Limits, Recipe, Steps
from models.recipes.reading import NOT_READ, between
from models.recipes.steps import (
    StepFields,
    as_parsed,
    conversation,
    filled,
    grid_wh,
    of_grid,
    task_of,
    told_step,
)
from models.recipes.steps.mobile_use import action_of, arguments_for
from utils.contracts import Line, Message

LIMITS = Limits(factor=28, min_pixels=3136, max_pixels=10035200)
SYSTEM = """\
You are a GUI agent. You are given a task and your action history, with screenshots. You need to perform the next action to complete the task.\x20
## Output Format

```
<think> ... </think>

<action> ... </action>
```

## Action Space

You can perform the following actions:
- key: Perform a key event on the mobile device using adb's `keyevent` syntax.
- click: Click the point on the screen with specified (x, y) coordinates.
- long_press: Press the point on the screen with specified (x, y) coordinates for a specified number of seconds.
- swipe: Swipe from starting point with specified (x, y) coordinates to endpoint with specified (x2, y2) coordinates.
- type: Input the specified text into the activated input box.
- answer: Output the specified answer.
- system_button: Press the specified system button: Back, Home, Menu, or Enter.
- open: Open an application on the device specified by text.
- wait: Wait for a specified number of seconds for changes to occur.
- terminate: Terminate the current task and report its completion status: success or failure.

The arguments you can use are:
- coordinate: (x, y): The x and y pixels coordinates from the left and top edges.
- coordinate2: (x, y): The x and y pixels coordinates from the left and top edges for the endpoint of a swipe.
- text: Text input required by actions like `key`, `type`, `answer`, and `open`.
- time: The time in seconds required by actions like `long_press` and `wait`.
- button: System buttons available for pressing: Back, Home, Menu, or Enter. Possible values: Back, Home, Menu, Enter.
- status: The completion status of a terminated task. Possible values: success, failure.

Format your output as a JSON object with the selected action and its arguments at the same level.

Example outputs:
<action>
{"action": "key", "text": "<value>"}
</action>
<action>
{"action": "click", "coordinate": "<value>"}
</action>

## Note

- Planing the task and explain your reasoning step-by-step in `think` part.
- Write your action in the `action` part according to the action space.
"""
FORMAT = """\
Output Format: ```
<think> ... </think>

<action> ... </action>
```"""
FIRST = "User Instruction: {goal}\n" + FORMAT
QUESTIONS = """\
If the query asks a question, please answer the question through the answer action before terminating the process.
"""
EARLIER_IMAGES = 1  # with the screen now the model sees two


def build_step_prompt(line: Line, dataset: str, **settings: Any) -> list[Message]:
    """Return the system text, and each step as a turn: what to answer, the screen, the reply."""

    def write(action: StepFields) -> str:
        scale = grid_wh(line, settings, LIMITS)
        arguments = json.dumps(arguments_for(action, scale), ensure_ascii=False)
        return f"<action>\n{arguments}\n</action>"

    def words(step: Mapping[str, Any]) -> str:
        if line["history_kind"] == "instructions":
            return f"<think>\n{step['instruction']}\n</think>"
        return told_step(line, step, write, str, settings)

    messages = [text(SYSTEM, "system"), text(filled(FIRST, {"{goal}": task_of(line)}))]
    messages.append(text(QUESTIONS))
    for turn in conversation(line, words, EARLIER_IMAGES):
        if messages[-1]["role"] == "assistant":
            messages.append(text(FORMAT))
        messages.append(turn)
    return messages


def parse_step(response: str, meta: Mapping[str, Any]) -> StepFields | None:
    """Return the action in the action tags."""
    try:
        arguments = json.loads(between(response, "<action>", "</action>"), strict=False)
        return as_parsed(action_of(arguments, of_grid(meta, LIMITS)), meta)
    except NOT_READ:
        return None


RECIPE = Recipe(
    family="UI-S1",
    hub_ids=("mPLUG/UI-S1-7B",),
    frame=GRID,
    source="X-PLUG/MobileAgent @ 11cea575 UI-S1/x/data/agent/json.py, std_space.py",
    steps=Steps(
        source="X-PLUG/MobileAgent @ 11cea575 UI-S1/x/data/agent/json.py",
        history="own",
        note="turns; level low in words of OS-Atlas; the authors end an episode at its first miss",
    ),
    limits=LIMITS,
    generate_cfg={"temperature": 0, "max_tokens": 1024},
    verified="prompt, resizing; replies of the authors' evaluation",
)
