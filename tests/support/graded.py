"""The boxes of `standin` with tiers, a task that cannot be done, and partial credit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from benchmarks.worlds.actions import Outcome
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
