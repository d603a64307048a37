"""AITZ (Android in the Zoo) and CAGUI: recorded episodes on Android phones, in one format.

Files: `<part>/<episode>/<episode>.json`, a list of steps, with its screenshots beside it as
`<episode>_<step>.jpeg` or `.png`, or named by `image_path`. Touches are fractions; boxes are pixels
as AITZ publishes them, and fractions after the script of AgentCPM-GUI.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from benchmarks.steps.base import HISTORIES, LEVELS, StepBenchmark
from benchmarks.steps.episodes import RecordedEpisode, RecordedStep, check_order
from benchmarks.steps.files import check_columns, read_rows_of
from benchmarks.steps.truth import StepTruth, truth_of_aitz_step
from utils.contracts import WH, Line
from utils.errors import UserError

COLUMNS = (
    "episode_id",
    "step_id",
    "instruction",
    "result_action_type",
    "result_touch_yx",
    "result_lift_yx",
)
RECORDED_COLUMNS = (
    "result_action_type",
    "result_action_text",
    "result_touch_yx",
    "result_lift_yx",
    "ui_positions",
    "duration",
)
SUFFIXES = (".jpeg", ".png", ".jpg")


class AITZ(StepBenchmark):
    """The test set; at level "low" a step's instruction is its `coat_action_desc`."""

    name = level = "AITZ"
    folder = "AITZ"
    images = "test"
    options: ClassVar[Mapping[str, tuple[str, ...]]] = {"level": LEVELS, "history": HISTORIES}
    rules: ClassVar[tuple[str, ...]] = ("aitz_agentcpm", "aitz_coat_broken")
    groupings = ("part",)

    def files(self) -> Sequence[Path]:
        """Return the files of all episodes."""
        return sorted(self.image_root.glob("*/*/*.json"))

    def read_episodes(self) -> Iterator[RecordedEpisode]:
        """Yield an episode for each file."""
        paths = self.files()
        if not paths:
            raise UserError(
                f"{self.image_root}: has no files <part>/<episode>/<episode>.json; docs/steps.md "
                "says where they are published. LMUData must name the folder that holds "
                f"{self.folder}/"
            )
        for path in paths:
            yield self._episode(path)

    def _episode(self, path: Path) -> RecordedEpisode:
        rows = read_rows_of(path)
        for position, row in rows:
            check_columns(position, row, COLUMNS, f"a step of {self.folder}")
        steps = [row for _, row in rows]
        if not steps:
            raise UserError(f"{path}: is empty; expected a list of steps")
        episode = str(steps[0]["episode_id"])
        check_order(str(path), episode, [step["step_id"] for step in steps])
        if self.settings["level"] == "low" and not steps[0].get("coat_action_desc"):
            raise UserError(f'{path}: has no coat_action_desc, so there is no level "low"')
        return RecordedEpisode(
            number=episode,
            goal=str(steps[0]["instruction"] or ""),
            steps=[self._step(path, step) for step in steps],
            labels={"part": path.parents[1].name},
        )

    def _step(self, path: Path, step: Mapping[str, Any]) -> RecordedStep:
        return RecordedStep(
            number=step["step_id"],
            image_path=self._image_path(path, step),
            instruction=str(step.get("coat_action_desc") or ""),
            recorded={name: step[name] for name in RECORDED_COLUMNS if name in step},
        )

    def _image_path(self, path: Path, step: Mapping[str, Any]) -> str:
        """The screenshot beside the file of an episode; otherwise what the step names."""
        beside = [path.with_name(f"{path.stem}_{step['step_id']}{suffix}") for suffix in SUFFIXES]
        image = next((image for image in beside if image.is_file()), None)
        if image is None and step.get("image_path"):
            return str(step["image_path"])
        return (image or beside[0]).relative_to(self.image_root).as_posix()

    def truth_of(self, line: Line, size: WH) -> StepTruth:
        """The recorded action of a row."""
        recorded = line["recorded"]
        positions = recorded.get("ui_positions") or []
        if isinstance(positions, str):
            positions = json.loads(positions)
        if any(value > 1 for position in positions for value in position):
            width, height = size
            positions = [
                [y / height, x / width, box_height / height, box_width / width]
                for y, x, box_height, box_width in positions
            ]
        return truth_of_aitz_step({**recorded, "ui_positions": positions})


class CAGUI(AITZ):
    """The test set of Chinese apps; its steps have no instructions of their own."""

    name = level = "CAGUI"
    folder = "CAGUI"
    images = "CAGUI_agent"
    options: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "level": ("high",),
        "history": ("none", "actions", "own"),
    }
    rules = ("aitz_agentcpm",)
