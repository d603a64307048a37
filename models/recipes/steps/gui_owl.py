"""GUI-Owl-1.5 at recorded steps: its own `mobile_use` with `open`, per mille.

The authors' instruction begins with the date of the run, which is left out here: a recorded step
has none, and prompts stay the same from day to day.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from models.recipes.agents import text
from models.recipes.agents.gui_owl import EARLIER_IMAGES, PHONE, TASK
from models.recipes.steps import (
    StepFields,
    as_parsed,
    conversation,
    filled,
    of_scale,
    task_of,
    told_step,
    told_steps,
)
from models.recipes.steps.mobile_use import OPENING, parse_call, written_call
from utils.contracts import Line, Message

FULL_SCALE = 1000
LABEL = "Action:"


def build_step_prompt(line: Line, dataset: str, **settings: Any) -> list[Message]:
    """Return the tool, the task, the last four steps as turns, and the screen.

    Of older steps the task has a line each.
    """
    older = {**line, "history": line["history"][:-EARLIER_IMAGES]}
    recent = {**line, "history": line["history"][-EARLIER_IMAGES:]}
    told = told_steps(older, written, _action_line, settings)
    lines = [f"Step {number}: {words}" for number, words in enumerate(told, 1)]
    slots = {"{instruction}": task_of(line), "{previous_actions}": "\n".join(lines) or "None"}

    def words(step: Mapping[str, Any]) -> str:
        if line["history_kind"] == "instructions":
            return f"{LABEL} {step['instruction']}"
        return told_step(line, step, written, str, settings)

    turns = conversation(recent, words, EARLIER_IMAGES)
    return [text(PHONE, "system"), text(filled(TASK, slots)), *turns]


def written(action: StepFields) -> str:
    """A recorded action in the words of GUI-Owl."""
    return written_call(action, (FULL_SCALE, FULL_SCALE))


def _action_line(reply: str) -> str:
    """The reply's own words for its action."""
    if LABEL in reply and OPENING in reply:
        return reply.split(LABEL)[1].split(OPENING)[0].strip()
    return reply


def parse_step(response: str, meta: Mapping[str, Any]) -> StepFields | None:
    """Return the action of the first call behind the thinking."""
    return as_parsed(parse_call(response, of_scale(FULL_SCALE)), meta)
