"""AgentCPM-GUI at recorded steps: one compact JSON object, points per mille.

It is asked without a history, and at level "low" with the step's instruction alone: the prompt has
no place for the goal or for what was done.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from models.recipes.agents import text
from models.recipes.agents.agentcpm import SYSTEM, TASK
from models.recipes.reading import NOT_READ
from models.recipes.steps import (
    StepFields,
    drag,
    finish,
    of_scale,
    point_of,
    press,
    screen,
    swipe,
    texts,
)
from utils.contracts import Line, Message, Point

ENDS = {
    "finish": True,
    "satisfied": True,
    "impossible": False,
    "interrupt": False,
    "need_feedback": False,
}
KEYS = {"thought", "POINT", "to", "duration", "PRESS", "TYPE", "STATUS"}
BUTTONS = {"BACK": "back", "HOME": "home", "ENTER": "enter", "APPSELECT": "recent"}
TOUCH_MS = 200
"""What the authors' code takes for a click; more is a long press, less is a wait."""
FARTHEST = 1000


def build_step_prompt(line: Line, dataset: str, **settings: Any) -> list[Message]:
    """Return the system text, the question, and the screen."""
    question = line["instruction"] if line["level"] == "low" else line["goal"]
    task = TASK.replace("{task}", question)
    return [text(SYSTEM, "system"), text(task), screen(line)]


def parse_step(response: str, meta: Mapping[str, Any]) -> StepFields | None:
    """Return the action of a reply that is one object of the schema, and nothing else."""
    try:
        reply = json.loads(response)
        return _action(reply) if _is_of_schema(reply) else None
    except NOT_READ:
        return None


def _is_of_schema(reply: Any) -> bool:
    """Whether a reply is an object of the schema with one action at most."""
    if not isinstance(reply, dict) or not reply.keys() <= KEYS:
        return False
    return sum(key in reply for key in ("POINT", "PRESS", "TYPE")) <= 1


def _action(reply: Mapping[str, Any]) -> StepFields | None:
    """The action of a reply in the authors' evaluation; an end has priority over all else."""
    if reply.get("STATUS") in ENDS:
        return finish(is_success=ENDS[reply["STATUS"]])
    if "TYPE" in reply:
        return texts("type", reply["TYPE"])
    duration = reply.get("duration", TOUCH_MS)
    if "POINT" in reply and duration >= TOUCH_MS:
        return _touch(_point(reply["POINT"]), reply.get("to"), is_long=duration > TOUCH_MS)
    if "PRESS" in reply:
        return press(BUTTONS[reply["PRESS"]])
    return {"kind": "wait"} if "duration" in reply else None


def _touch(point: Point, to: Any, *, is_long: bool) -> StepFields:
    if is_long:
        return {"kind": "long_press", "point": point}
    if isinstance(to, str):
        return swipe(to, "finger")
    return {"kind": "click", "point": point} if to is None else drag(point, _point(to))


def _point(numbers: Any) -> Point:
    """A point of two whole numbers from 0 to 1000.

    Raises:
        ValueError, TypeError: it is something else.
    """
    x, y = numbers
    if not all(isinstance(number, int) and 0 <= number <= FARTHEST for number in (x, y)):
        raise ValueError(f"{numbers!r:.60} is outside of the image")
    return point_of([x, y], of_scale(FARTHEST))
