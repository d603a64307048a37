"""The default prompt for one recorded step of a phone."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.actions.action import quoted
from benchmarks.steps.action import StepAction
from utils.contracts import Line

SYSTEM_PROMPT = """You operate a phone to do a task. You get the task and a screenshot, and say what to do next.

Reply with a thought and with one action:
Thought: what you see, and what to do next
Action: one of the actions below

click(x, y)
long_press(x, y)
scroll("down")       # shows what is further down; or "up", "left", "right"
type("text")         # into the field that has the focus
open_app("Mail")
back()    home()
press("enter")
wait(1)              # seconds
done()               # the task is completed
fail("why")          # the task cannot be completed

x and y are fractions of the width and height of the screenshot: 0.000 is its left or upper edge, 1.000 its right or lower edge."""  # noqa: E501
NO_REPLY = "(no reply)"


def step_text(line: Line) -> str:
    """The question about one step: the task, what was done before, what the step asks for."""
    parts = [f"Task: {line['goal']}"]
    done = [
        f"{number}. {_earlier_step(step, line['history_kind'])}"
        for number, step in enumerate(line["history"], 1)
    ]
    if line["history_kind"] != "none":
        parts.append("Steps before this one:\n" + ("\n".join(done) if done else "none"))
    if line["level"] == "low":
        parts.append(f"The next step: {line['instruction']}")
    return "\n\n".join(parts)


def _earlier_step(step: Mapping[str, Any], kind: str) -> str:
    """An earlier step in one line, or the model's own reply to it."""
    if kind == "instructions":
        return str(step["instruction"])
    if kind == "actions":
        return json.dumps(step["action"], ensure_ascii=False)
    return step.get("reply") or NO_REPLY


def in_words(action: StepAction) -> str:
    """An action as the default prompt writes it."""
    point = "" if action.point is None else ", ".join(f"{value:.3f}" for value in action.point)
    calls = {
        "click": f"click({point})",
        "long_press": f"long_press({point})",
        "swipe": f'scroll("{action.direction}")' if action.direction else f"drag({_way(action)})",
        "type": f"type({quoted(action.text)})",
        "open_app": f"open_app({quoted(action.text)})",
        "press": f"{action.button}()" if action.button in ("back", "home") else "",
        "wait": "wait()" if action.seconds is None else f"wait({action.seconds:g})",
        "finish": "done()" if action.status != "failure" else f"fail({quoted(action.text)})",
    }
    return calls[action.kind] or f'press("{action.button}")'


def _way(action: StepAction) -> str:
    """The start and the end of a drag, as text."""
    return ", ".join(
        f"{value:.3f}" for point in (action.start, action.end) for value in point or ()
    )


def earlier_steps(steps: Sequence[Mapping[str, Any]], kind: str) -> list[dict[str, Any]]:
    """The earlier steps with the fields that a history of this kind shows.

    Args:
        steps: in order, each with `step`, `image_path`, `instruction`, `action` (as recorded).
        kind: "none", "instructions", "actions" or "own".
    """
    fields_of_kind: Mapping[str, tuple[str, ...]] = {
        "none": (),
        "instructions": ("step", "image_path", "instruction"),
        "actions": ("step", "image_path", "instruction", "action"),
        "own": ("step", "image_path"),
    }
    if kind == "none":
        return []
    return [{name: step[name] for name in fields_of_kind[kind]} for step in steps]
