"""The boxes of `standin` with tiers, a task that cannot be done, and partial credit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from benchmarks.worlds.environment import Outcome
from tests.support.standin import Boxes

ENVIRONMENT = f"{__name__}.Graded"
TIERS = {"one": "basic", "two": "long", "count": "standard", "none": "basic"}


class Graded(Boxes):
    """Gives the share of the boxes that were clicked, 0 as soon as another one was."""

    @staticmethod
    def tasks(level: str, seeds: Sequence[int]) -> list[dict[str, Any]]:
        """Return the tasks of the boxes, each with its tier; nobody can click the purple box."""
        tasks = [{**task, "tier": TIERS[task["id"]]} for task in Boxes.tasks(level, seeds)]
        return [{**task, "feasible": False} if task["id"] == "none" else task for task in tasks]

    def evaluate(self) -> Outcome:
        """Judge as the boxes do, with the share of those that were to be clicked."""
        boxes = self._task["boxes"]
        has_others = any(box not in boxes for box in self._clicked)
        share = 0.0
        if boxes and not has_others:
            share = sum(box in self._clicked for box in boxes) / len(boxes)
        return replace(super().evaluate(), partial=share)


class Furnished(Graded):
    """Is made with arguments: notes which, and has as many tasks as one of them says."""

    version: ClassVar[str] = "image 1"
    made_with: ClassVar[list[tuple[int, str]]] = []

    def __init__(self, shots: Path, *, machine: str, most: int = 4, world_number: int = 0) -> None:
        super().__init__(shots)
        self.made_with.append((world_number, machine))

    @staticmethod
    def tasks(level: str, seeds: Sequence[int], most: int = 4) -> list[dict[str, Any]]:
        """Return the first of the boxes' tasks."""
        return [task for seed in seeds for task in Graded.tasks(level, [seed])[:most]]

    @staticmethod
    def problems(machine: str = "") -> list[str]:
        """Return that a machine is missing."""
        return ["there is no machine 'none'; name another one"] if machine == "none" else []
