"""UI-Venus-1.5 at recorded steps: `<action>Click(box=(540,500))</action>`, per mille."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from models.recipes.agents import text
from models.recipes.agents.ui_venus import PHONE, call_of, parts_of
from models.recipes.reading import NOT_READ
from models.recipes.steps import (
    DRAGS,
    StepFields,
    as_parsed,
    drag,
    filled,
    finish,
    of_scale,
    point_of,
    press,
    screen,
    task_of,
    texts,
    told_steps,
    whole,
)
from utils.contracts import Line, Message, Point

FULL_SCALE = (1000, 1000)
PROMPT = f"\n{PHONE}\n"


def build_step_prompt(line: Line, dataset: str, **settings: Any) -> list[Message]:
    """Return the screen, and the prompt with a line for each step before, numbered from 0."""
    told = told_steps(line, written, _own, settings)
    if line["history_kind"] == "instructions":
        told = [f"<think>{instruction}</think>" for instruction in told]
    lines = [f"Step {number}: {words}" for number, words in enumerate(told)]
    slots = {"{user_task}": task_of(line), "{previous_actions}": "\n".join(lines)}
    return [screen(line), text(filled(PROMPT, slots))]


def _own(reply: str) -> str:
    think, action = (part.strip("\n") for part in parts_of(reply))
    return f"<think>{think}</think><action>{action}</action>"


def written(action: StepFields) -> str:
    """A recorded action in the words of UI-Venus."""
    return f"<action>{_call(action)}</action>"


def _call(action: StepFields) -> str:
    kind = action["kind"]
    if kind in ("click", "long_press"):
        name = "Click" if kind == "click" else "LongPress"
        return f"{name}(box={_pair(action['point'])})"
    if kind == "swipe":
        start, end = DRAGS[action["direction"]]
        return f"Scroll(start={_pair(start)}, end={_pair(end)})"
    if kind == "type":
        return f"Type(content='{action['text']}')"
    if kind == "open_app":
        return f"Launch(app='{action['text']}')"
    return f"Press{action['button'].capitalize()}()" if kind == "press" else "Wait()"


def _pair(point: Sequence[float]) -> str:
    x, y = whole(point, FULL_SCALE)
    return f"({x},{y})"


def parse_step(response: str, meta: Mapping[str, Any]) -> StepFields | None:
    """Return the call between the last action tags."""
    try:
        return as_parsed(_action(*call_of(response)), meta)
    except NOT_READ:
        return None


def _action(name: str, values: Mapping[str, Any]) -> StepFields | None:
    if name in ("Click", "LongPress"):
        return {
            "kind": "click" if name == "Click" else "long_press",
            "point": _point(values["box"]),
        }
    if name in ("Drag", "Scroll"):
        return drag(_point(values["start"]), _point(values["end"]))
    if name == "Type":
        return texts("type", values["content"])
    if name == "Launch":
        return texts("open_app", values["app"])
    if name in ("PressBack", "PressHome", "PressEnter", "PressRecent"):
        return press(name.removeprefix("Press"))
    if name == "Wait":
        return {"kind": "wait"}
    if name in ("Finished", "CallUser"):  # it is told to answer questions with the latter
        return finish(is_success=True, words=values.get("content"))
    return None


def _point(numbers: Any) -> Point:
    return point_of(numbers, of_scale(FULL_SCALE[0]))
