"""A small world without a browser, named in a config as `environment`: a few boxes to click.

A server that plays it: `agent` answers each request by what it says of the task.
"""

from __future__ import annotations

import io
import re
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from PIL import Image, ImageDraw

from benchmarks.actions.action import Action
from benchmarks.worlds.environment import Observation, Outcome, save_screenshot
from tests.support.mock_server import Reply, Request

WH = (320, 180)
BOXES = {"red": (0.1, 0.1, 0.3, 0.3), "green": (0.4, 0.1, 0.6, 0.3), "blue": (0.7, 0.1, 0.9, 0.3)}
ENVIRONMENT = f"{__name__}.Boxes"


class Boxes:
    """Click the boxes of the task, in its order, and nothing else."""

    made_counts: ClassVar[Counter[str]] = (
        Counter()
    )  # worlds "opened" and "closed", tasks begun by id
    fails: ClassVar[Callable[[str, int], bool]] = lambda task, attempt: False
    failure: ClassVar[Exception] = RuntimeError("the page crashed")
    _lock = threading.Lock()

    def __init__(self, shots: Path) -> None:
        self._shots, self._task = shots, dict[str, Any]()
        self._clicked: list[str] = []
        self._end: Action | None = None
        self._count("opened")

    @staticmethod
    def tasks(level: str, seeds: Sequence[int]) -> list[dict[str, Any]]:
        """One box, two of them, a question, and what cannot be done."""
        new_tasks: list[dict[str, Any]] = []
        for seed in seeds:
            first, second = (list(BOXES)[(seed + number) % 3] for number in (0, 1))
            new_tasks += [
                {
                    "id": "one",
                    "goal": f"Click the {first} box.",
                    "boxes": [first],
                    "category": "update",
                },
                {
                    "id": "two",
                    "goal": f"Click the {first} box, then the {second} box.",
                    "boxes": [first, second],
                    "category": "update",
                    "platform": "os_android",
                    "apps": ["boxes", "paint"],
                },
                {
                    "id": "count",
                    "goal": "How many boxes are there?",
                    "boxes": [],
                    "answer": "3",
                    "category": "lookup",
                },
                {
                    "id": "none",
                    "goal": "Click the purple box.",
                    "boxes": [],
                    "end": "fail",
                    "category": "infeasible",
                },
            ]
            new_tasks[-4:] = [
                {"platform": "os_web", "apps": ["boxes"], "seed": seed, **task}
                for task in new_tasks[-4:]
            ]
        return new_tasks

    def reset(self, task: Mapping[str, Any]) -> Observation:
        self._task, self._clicked, self._end = dict(task), [], None
        self._count(str(task["id"]))
        return self._shown()

    def step(self, action: Action) -> Observation:
        begun = self.made_counts[str(self._task["id"])]
        if type(self).fails(self._task["id"], begun):
            raise type(self).failure
        if action.kind == "click" and action.point is not None:
            x, y = action.point
            self._clicked += [
                name for name, (x1, y1, x2, y2) in BOXES.items() if x1 <= x <= x2 and y1 <= y <= y2
            ]
        elif action.kind in ("done", "answer", "fail"):
            self._end = action
        elif action.kind == "open_app":
            return self._shown(f"There is no application {action.app}")
        return self._shown()

    def evaluate(self) -> Outcome:
        end = self._end.kind if self._end else "budget"
        expected_end = self._task.get("end", "answer" if "answer" in self._task else "done")
        lines = [(self._clicked == self._task["boxes"], f"clicked: {self._task['boxes']}")]
        if expected_end == "answer":
            answer_text = self._end.text if self._end else ""
            lines.append((answer_text == self._task["answer"], f"answer: {self._task['answer']}"))
        elif expected_end == "fail" or end == "fail":
            lines.append((end == expected_end, "cannot be done"))
        return Outcome(all(ok for ok, _ in lines), lines)

    def close(self) -> None:
        self._count("closed")

    def _shown(self, note: str = "") -> Observation:
        picture = Image.new("RGB", WH, "white")
        draw = ImageDraw.Draw(picture)
        for name, (x1, y1, x2, y2) in BOXES.items():
            corners = (x1 * WH[0], y1 * WH[1], x2 * WH[0], y2 * WH[1])
            draw.rectangle(corners, fill=name, outline="black", width=3 * (name in self._clicked))
        draw.text(
            (10, 150), f"{len(self._clicked)} {self._task['id']} {self._task['seed']}", "black"
        )
        png = io.BytesIO()
        picture.save(png, "PNG")
        return Observation(save_screenshot(self._shots, png.getvalue()), note, "boxes")

    @classmethod
    def _count(cls, what: str) -> None:
        with cls._lock:
            cls.made_counts[what] += 1


def middle(box: str) -> tuple[float, float]:
    """The middle of a box, where it is clicked."""
    x1, y1, x2, y2 = BOXES[box]
    return (x1 + x2) / 2, (y1 + y2) / 2


def solve(
    text: str, in_words: Callable[[str, tuple[float, float] | str], str] | None = None
) -> str:
    """The next action by what a prompt says, in the words of the default prompt."""
    goal = re.findall(r"Task: (.*)", text)[-1]
    step = len(re.findall(r"^Action: \w+\(", text, re.MULTILINE))
    boxes = re.findall("|".join(BOXES), goal)
    if "How many" in goal:
        return 'Thought: three.\nAction: answer("3")'
    if "purple" in goal:
        return 'Thought: there is none.\nAction: fail("no such box")'
    if step < len(boxes):
        x, y = middle(boxes[step])
        return f"Thought: the {boxes[step]} box.\nAction: click({x:.3f}, {y:.3f})"
    return "Thought: all done.\nAction: done()"


def agent(request: Request) -> Reply:
    """Solves every task."""
    return Reply(solve(request.text))
