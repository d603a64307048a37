"""OS-Atlas-Pro, the action model: `CLICK <point>[[x,y]]</point>` per mille behind "actions:"."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from models.recipes.agents import text
from models.recipes.base import Recipe, Steps
from models.recipes.reading import NOT_READ
from models.recipes.steps import (
    StepFields,
    as_parsed,
    filled,
    finish,
    numbers_in,
    of_scale,
    press,
    screen,
    swipe,
    task_of,
    told_steps,
    whole,
)
from utils.contracts import Line, Message

FULL_SCALE = (1000, 1000)
BEFORE_IMAGE = """\

You are a foundational action model capable of automating tasks across various digital environments, including desktop systems like Windows, macOS, and Linux, as well as mobile platforms such as Android and iOS. You also excel in web browser environments. You will interact with digital devices in a human-like manner: by reading screenshots, analyzing them, and taking appropriate actions.

Your expertise covers two types of digital tasks:
    - Grounding: Given a screenshot and a description, you assist users in locating elements mentioned. Sometimes, you must infer which elements best fit the description when they aren't explicitly stated.
    - Executable Language Grounding: With a screenshot and task instruction, your goal is to determine the executable actions needed to complete the task.


You are now operating in Executable Language Grounding mode. Your goal is to help users accomplish tasks by suggesting executable actions that best fit their needs. Your skill set includes both basic and custom actions:

1. Basic Actions
Basic actions are standardized and available across all platforms. They provide essential functionality and are defined with a specific format, ensuring consistency and reliability.\x20
Basic Action 1: CLICK\x20
    - purpose: Click at the specified position.
    - format: CLICK <point>[[x-axis, y-axis]]</point>
    - example usage: CLICK <point>[[101, 872]]</point>
      \x20
Basic Action 2: TYPE
    - purpose: Enter specified text at the designated location.
    - format: TYPE [input text]
    - example usage: TYPE [Shanghai shopping mall]

Basic Action 3: SCROLL
    - purpose: Scroll in the specified direction.
    - format: SCROLL [direction (UP/DOWN/LEFT/RIGHT)]
    - example usage: SCROLL [UP]
   \x20
2.Custom Actions
Custom actions are unique to each user's platform and environment. They allow for flexibility and adaptability, enabling the model to support new and unseen actions defined by users. These actions extend the functionality of the basic set, making the model more versatile and capable of handling specific tasks.


Custom Action 1: PRESS_BACK
    - purpose: Press a back button to navigate to the previous screen.
    - format: PRESS_BACK
    - example usage: PRESS_BACK

Custom Action 2: PRESS_HOME
    - purpose: Press a home button to navigate to the home page.
    - format: PRESS_HOME
    - example usage: PRESS_HOME

Custom Action 3: OPEN_APP
    - purpose: Open the specified application.
    - format: OPEN_APP [app_name]
    - example usage: OPEN_APP [Google Chrome]

Custom Action 4: WAIT
    - purpose: Wait for the screen to load.
    - format: WAIT
    - example usage: WAIT

Custom Action 5: COMPLETE
    - purpose: Indicate the task is finished.
    - format: COMPLETE
    - example usage: COMPLETE


In most cases, task instructions are high-level and abstract. Carefully read the instruction and action history, then perform reasoning to determine the most appropriate next action. Ensure you strictly generate two sections: Thoughts and Actions.
Thoughts: Clearly outline your reasoning process for current step.
Actions: Specify the actual actions you will take based on your reasoning.

Your current task instruction, action history, and associated screenshot are as follows:
Screenshot:\x20"""
AFTER_IMAGE = """\

Task: {task}
History:\x20
{history}
"""
ACTIONS = "actions:\n"
BRACKETS = re.compile(r"\[(.*)\]", re.DOTALL)
END_TOKEN = "<|im_end|>"


def build_step_prompt(line: Line, dataset: str, **settings: Any) -> list[Message]:
    """Return the text with the screenshot in it, and a line for each step before."""
    told = told_steps(line, written, lambda reply: _call_of(reply) or reply, settings)
    lines = [f"Step {number}: {words}\n" for number, words in enumerate(told, 1)]
    slots = {"{task}": task_of(line), "{history}": "".join(lines) or "None"}
    return [text(BEFORE_IMAGE), screen(line), text(filled(AFTER_IMAGE, slots))]


def written(action: StepFields) -> str:
    """A recorded action in the words of OS-Atlas."""
    kind = action["kind"]
    if kind in ("click", "long_press"):
        x, y = whole(action["point"], FULL_SCALE)
        return f"{kind.upper()} <point>[[{x},{y}]]</point>"
    if kind == "swipe":
        return f"SCROLL [{action['direction'].upper()}]"
    if kind in ("type", "open_app"):
        return f"{kind.upper()} [{action['text']}]"
    return f"PRESS_{action['button'].upper()}" if kind == "press" else "WAIT"


def _call_of(reply: str) -> str:
    """The action behind the first "actions:" without what ends a reply; "": there is none."""
    return reply.partition(ACTIONS)[2].strip().removesuffix(END_TOKEN).strip()


def parse_step(response: str, meta: Mapping[str, Any]) -> StepFields | None:
    """Return the action behind "actions:"; the direction of SCROLL is where the content goes."""
    try:
        name, _, rest = _call_of(response).partition(" ")
        return as_parsed(_action(name.rstrip("."), rest.strip()), meta)
    except NOT_READ:
        return None


def _action(name: str, rest: str) -> StepFields | None:
    if name in ("CLICK", "LONG_PRESS"):
        numbers = numbers_in(rest)
        point = of_scale(FULL_SCALE[0])(*numbers[:2]) if len(numbers) > 1 else None
        return {"kind": name.lower(), "point": point}
    if name == "SCROLL":
        return swipe(_inside(rest).strip().lower(), "content")
    if name in ("TYPE", "OPEN_APP"):
        return {"kind": name.lower(), "text": _inside(rest)} if rest else None
    if name == "ENTER" or name.startswith("PRESS_"):
        return press(name.removeprefix("PRESS_"))
    if name == "WAIT":
        return {"kind": "wait"}
    if name in ("COMPLETE", "IMPOSSIBLE"):
        return finish(is_success=name == "COMPLETE")
    return None


def _inside(rest: str) -> str:
    """The text between the first and the last bracket; without any, all of it."""
    match = BRACKETS.search(rest)
    return match[1] if match else rest


RECIPE = Recipe(
    family="OS-Atlas-Pro",
    hub_ids=("OS-Copilot/OS-Atlas-Pro-4B", "OS-Copilot/OS-Atlas-Pro-7B"),
    frame="per mille",
    source="OS-Copilot/OS-Atlas @ bad08407 eval/data, "
    "eval/eval_scripts/android_control/evaluation_unify.py",
    steps=Steps(
        source="OS-Copilot/OS-Atlas @ bad08407 eval/data/ac_test.jsonl",
        history="instructions",
        note='the authors published the text of level low; high leaves out its "You need to"',
    ),
    generate_cfg={"temperature": 0, "max_tokens": 512},
    verified="prompt; replies of the authors' evaluation",
    note="LONG_PRESS is read, and not offered by the authors' prompt. The 4B needs a server or a "
    "class that can load it.",
)
