"""Recorded episodes as the rows of a benchmark: an episode's goal, and its steps in order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.steps.prompt import earlier_steps
from utils.contracts import Line

OF_THE_JUDGE = ("candidate_bbox",)
"""What an annotation has beside the action itself; never told to a model."""


@dataclass(frozen=True, slots=True)
class RecordedStep:
    """One recorded step: its screenshot, what it asks for, what a person did."""

    number: int  # from 0
    image_path: str
    instruction: str
    recorded: Mapping[str, Any]  # the action as the data set has it


@dataclass(frozen=True, slots=True)
class RecordedEpisode:
    """A recorded episode."""

    number: str  # as published
    goal: str
    steps: Sequence[RecordedStep]


def step_rows(episode: RecordedEpisode, *, level: str, history: str) -> Iterator[Line]:
    """Yield a row for each step of an episode.

    Args:
        level: "low": the step's own instruction is told; "high": the goal alone.
        history: what is told of the steps before: "none", "instructions", "actions" or "own".
    """
    told = [
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
            "history": earlier_steps(told[:position], history),
            "step_instruction": step.instruction,
            "recorded": step.recorded,
            "platform": "os_android",
        }
