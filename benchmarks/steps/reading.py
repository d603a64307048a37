"""Conversion of the result of a parse function into the canonical action of a recorded step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from benchmarks.actions.action import Action, NoAction
from benchmarks.actions.reading import read_actions
from benchmarks.steps.action import KINDS, StepAction
from utils.contracts import WH, Point

BUTTONS = ("enter", "menu", "recent", "home", "back")


def step_action(parsed: Any, size: WH) -> StepAction | None:
    """The first action in the result of a parse function; None: there is none.

    Args:
        parsed: a `StepAction`, whose points are fractions; a mapping in its JSON form; or what the
            parse functions of `benchmarks.actions.dialects` return. In a mapping and in these, a
            coordinate above 1 declares pixels.
        size: of the screenshot in pixels.

    Raises:
        ValueError: nonsense.
    """
    if parsed is None or isinstance(parsed, StepAction):
        return parsed
    if isinstance(parsed, Mapping) and parsed.get("kind") in KINDS and "app" not in parsed:
        return _in_fractions(StepAction.from_json(parsed), size)
    actions = read_actions(parsed, size, stay_on_screen=False)
    return _of_live(actions[0]) if actions else None


def _in_fractions(action: StepAction, size: WH) -> StepAction:
    """An action whose points may be in pixels, with fractions."""
    return replace(
        action,
        point=_fractions(action.point, size),
        start=_fractions(action.start, size),
        end=_fractions(action.end, size),
    )


def _fractions(point: Point | None, size: WH) -> Point | None:
    """A point in fractions; a coordinate above 1 declares pixels."""
    if point is None or max(point) <= 1:
        return point
    return point[0] / size[0], point[1] / size[1]


def _of_live(action: Action) -> StepAction:
    """An action of the live worlds as that of a recorded step.

    Raises:
        NoAction: no recorded step has such an action.
    """
    kind = action.kind
    if kind in ("click", "double", "triple"):
        return StepAction("click", point=action.point)
    if kind == "long":
        return StepAction("long_press", point=action.point)
    if kind == "scroll":
        return StepAction("swipe", direction=action.direction)
    if kind == "drag":
        return StepAction("swipe", start=action.point, end=action.to_point)
    if kind in ("type", "open_app"):
        return StepAction(kind, text=action.app if kind == "open_app" else action.text)
    if kind in ("back", "home"):
        return StepAction("press", button=kind)
    if kind == "key" and len(action.keys) == 1 and action.keys[0] in BUTTONS:
        return StepAction("press", button=action.keys[0])
    if kind == "wait":
        return StepAction("wait", seconds=action.seconds)
    if kind in ("done", "answer", "fail"):
        status = "failure" if kind == "fail" else "success"
        return StepAction("finish", status=status, text=action.text)
    raise NoAction(f"{action} is no action of a recorded step")
