"""Recorded episodes as the rows of a benchmark: an episode's goal, and its steps in order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.steps.prompt import earlier_steps
from utils.contracts import Line
from utils.errors import UserError

OF_THE_JUDGE = ("candidate_bbox", "sam2_bbox", "ui_positions", "nodes", "judged")
"""Fields of an annotation beside the action itself; a model never sees them."""


@dataclass(frozen=True, slots=True)
class RecordedStep:
    """One recorded step: its screenshot, what it asks for, what a person did."""

    number: int  # from 0
    image_path: str
    instruction: str
    recorded: Mapping[str, Any]  # the action as the data set has it
    is_asked: bool = True  # otherwise it is history for others
    doubts: Sequence[str] = ()  # why the annotation may be wrong: codes of `doubtful.py`


@dataclass(frozen=True, slots=True)
class RecordedEpisode:
    """A recorded episode."""

    number: str  # as published
    goal: str
    steps: Sequence[RecordedStep]
    labels: Mapping[str, Any] = field(default_factory=dict)  # what all of its rows carry
    platform: str = "os_android"


def step_rows(episode: RecordedEpisode, *, level: str, history: str) -> Iterator[Line]:
    """Yield a row for each step of an episode that is asked.

    Args:
        level: "low": the step's own instruction is told; "high": the goal alone.
        history: what is told of the steps before: "none", "instructions", "actions" or "own".
    """
    step_facts = [
        {
            "step": step.number,
            "image_path": step.image_path,
            "instruction": step.instruction,
            "action": {
                name: value for name, value in step.recorded.items() if name not in OF_THE_JUDGE
            },
        }
        for step in episode.steps
    ]
    for position, step in enumerate(episode.steps):
        if not step.is_asked:
            continue
        yield {
            "id": f"episode_{episode.number}_screenshot_{step.number}",
            "episode": episode.number,
            "step": step.number,
            "step_count": len(episode.steps),
            "image_path": step.image_path,
            "goal": episode.goal,
            "level": level,
            "instruction": step.instruction if level == "low" else None,
            "history_kind": history,
            "history": earlier_steps(step_facts[:position], history),
            "step_instruction": step.instruction,
            "recorded": step.recorded,
            "doubts": list(step.doubts),
            "labels": dict(episode.labels),
            "platform": episode.platform,
        }


def check_order(position: str, episode: str, numbers: Sequence[Any]) -> None:
    """Check that the steps of an episode stand in their order and that none is missing.

    Args:
        position: of the episode, for messages.
        episode: as published.
        numbers: of its steps, from 0 or 1, in the order of the file.

    Raises:
        UserError: there is a gap, or a number that is none.
    """
    if not all(type(number) is int for number in numbers):
        raise UserError(f"{position}: the steps of episode {episode} must have numbers")
    first = numbers[0] if numbers and numbers[0] in (0, 1) else 0
    for expected, number in enumerate(numbers, first):
        if number != expected:
            raise UserError(
                f"{position}: episode {episode} has no step {expected} before step {number}. "
                "Steps are asked with those before them as history; fetch the file again"
            )
