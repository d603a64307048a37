"""The rule of AgentNetBench: a step on a desktop has several actions and scores between 0 and 1.

Source: xlang-ai/OpenCUA 1d70f20, evaluation/agentnetbench/eval.py.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from benchmarks.steps.action import Corners
from benchmarks.steps.rules.area import Area
from benchmarks.steps.rules.matching import distance, edit_similarity, is_inside
from benchmarks.steps.rules.rule import Rule, StepVerdict
from utils.contracts import WH, Point

POINTED = ("click", "doubleclick", "rightclick", "tripleclick", "moveto", "dragto")
FULL_SCORE_DISTANCE = 0.01 * math.sqrt(2)  # fractions of the screen
DECAY = 120  # of the score with the distance beyond that
FULL_SCORE_SIMILARITY = 0.8
ENTER_KEYS = ("enter", "return")
COLUMNS = {
    "coordinate": POINTED,
    "content": ("write", "press", "hotkey"),
    "function": ("scroll", "terminate"),
}
"""The columns of the published table, with the types of actions in each."""


@dataclass(frozen=True, slots=True)
class DesktopAction:
    """One action of a step; which fields count depends on its type."""

    type: str  # in small letters: click, doubleclick, write, press, hotkey, scroll, terminate, ...
    point: Point | None = None  # fractions of the screen
    boxes_frac: tuple[Corners, ...] = ()  # of a recorded action: where a click is right
    text: str = ""
    keys: tuple[str, ...] = ()
    status: str = ""

    def __str__(self) -> str:
        """Write the action as a call: `click(0.412, 0.090)`, `hotkey("ctrl", "c")`."""
        if self.type in POINTED:
            values = [f"{value:.3f}" for value in self.point or ()]
        elif self.type == "write":
            values = [json.dumps(self.text, ensure_ascii=False)]
        elif self.type in ("press", "hotkey"):
            values = [json.dumps(key) for key in self.keys]
        else:
            values = [json.dumps(self.status)] if self.status else []
        return f"{self.type}({', '.join(values)})"

    @classmethod
    def of_record(cls, record: Mapping[str, Any]) -> DesktopAction:
        """A recorded action from its published form."""
        parameters = record.get("params") or {}
        position = parameters.get("position")
        boxes = (record.get("metadata") or {}).get("bboxes") or ()
        return cls(
            type=record["type"].lower(),
            point=(position["x"], position["y"]) if position else None,
            boxes_frac=tuple(_corners(box["rel_bbox"]) for box in boxes),
            text=parameters.get("text") or parameters.get("content") or "",
            keys=tuple(parameters.get("keys") or ()),
            status=parameters.get("status") or "",
        )


@dataclass(frozen=True, slots=True)
class DesktopScore:
    """The score of one step, and the mean score of each type of its recorded actions."""

    total: float
    by_type: Mapping[str, float] = field(default_factory=dict)


def judge(
    actions: Sequence[DesktopAction], alternatives: Sequence[Sequence[DesktopAction]]
) -> DesktopScore:
    """The best score of the answered actions against the alternatives that were recorded."""
    return max(
        (_score_against(actions, recorded) for recorded in alternatives),
        key=lambda score: score.total,
    )


def _score_against(
    actions: Sequence[DesktopAction], recorded: Sequence[DesktopAction]
) -> DesktopScore:
    actions, recorded = _with_enter(actions), _with_enter(recorded)
    if not actions:
        return DesktopScore(0.0)
    scores: dict[str, list[float]] = {}
    is_known = actions[0].type in {action.type for action in recorded}
    for index, truth in enumerate(recorded):
        answered = actions[index] if is_known and index < len(actions) else None
        scores.setdefault(truth.type, []).append(_score(answered, truth))
    by_type = {name: sum(values) / len(values) for name, values in scores.items()}
    return DesktopScore(sum(by_type.values()) / len(by_type), by_type)


def _with_enter(actions: Sequence[DesktopAction]) -> list[DesktopAction]:
    """The actions with Enter after a text as a line feed of the text."""
    merged: list[DesktopAction] = []
    for action in actions:
        is_enter = action.type == "press" and [key.lower() for key in action.keys] in (
            [key] for key in ENTER_KEYS
        )
        if is_enter and merged and merged[-1].type == "write":
            merged[-1] = replace(merged[-1], text=f"{merged[-1].text}\n")
        else:
            merged.append(action)
    return merged


def _score(action: DesktopAction | None, truth: DesktopAction) -> float:
    if action is None or action.type != truth.type:
        return 0.0
    if truth.type in POINTED:
        return _score_point(action.point, truth)
    if truth.type == "write":
        return _score_text(action.text, truth.text)
    if truth.type in ("press", "hotkey"):
        return float(_key_set(action) == _key_set(truth))
    if truth.type == "terminate":
        return float(action.status == truth.status)
    return float(truth.type == "scroll")


def _score_point(point: Point | None, truth: DesktopAction) -> float:
    if point is None or truth.point is None:
        return 0.0
    if any(is_inside(box, point) for box in truth.boxes_frac):
        return 1.0
    beyond = distance(point, truth.point) - FULL_SCORE_DISTANCE
    return 1.0 if beyond <= 0 else math.exp(-DECAY * beyond)


def _score_text(text: str, true_text: str) -> float:
    similarity = edit_similarity(text.lower().strip(), true_text.lower().strip())
    if similarity >= FULL_SCORE_SIMILARITY:
        return 1.0
    return similarity / FULL_SCORE_SIMILARITY


def _key_set(action: DesktopAction) -> set[str]:
    return {key.lower() for key in action.keys}


def _corners(rel_bbox: Sequence[float]) -> Corners:
    x, y, width, height = rel_bbox
    return x, y, x + width, y + height


def official_figures(scores: Sequence[DesktopScore]) -> dict[str, float | None]:
    """The mean of all steps, and of the actions in each column of the published table."""
    figures = {"Average": _mean([score.total for score in scores])}
    for column, types in COLUMNS.items():
        values = [
            value for score in scores for name, value in score.by_type.items() if name in types
        ]
        figures[column] = _mean(values)
    return figures


Alternatives = Sequence[Sequence[DesktopAction]]


def judge_step(
    actions: Sequence[DesktopAction] | None, alternatives: Alternatives, _size: WH
) -> StepVerdict:
    """The score as the verdict of a rule: a type is right if the first action's was recorded."""
    score = judge(actions or (), alternatives)
    first_type = actions[0].type if actions else ""
    recorded_types = {action.type for recorded in alternatives for action in recorded}
    return StepVerdict(
        type=first_type in recorded_types,
        grounding=None,
        success=score.total,
        counts=score.by_type,
    )


def area(alternatives: Alternatives, _size: WH) -> Area | None:
    """The area of full score in the first alternative; other alternatives may have other areas."""
    pointed = [action for action in alternatives[0] if action.type in POINTED and action.point]
    if not pointed:
        return None
    return Area(
        boxes=tuple(box for action in pointed for box in action.boxes_frac),
        ellipses=tuple(
            (*action.point, FULL_SCORE_DISTANCE, FULL_SCORE_DISTANCE)
            for action in pointed
            if action.point is not None
        ),
    )


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


RULE = Rule(
    name="agentnetbench",
    judge=judge_step,
    clicks="in a box of the target or within 0.014; beyond, its score falls with the distance",
    description=(
        "Several actions a step are compared by position: texts by edit distance, keys as sets; "
        "any scroll is right."
    ),
    area=area,
    grounding="",
    convention=None,
    source="xlang-ai/OpenCUA 1d70f20",
)
