"""GUI-Odyssey: recorded episodes across apps on Android phones, in four splits.

Files: `annotations/*.json`, an episode each, `screenshots/*.png`, `splits/<split>_split.json` with
the names of the annotations of its `train` and `test` part. Points and boxes are per mille.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from benchmarks.matrics import Scores
from benchmarks.steps.base import HISTORIES, LEVELS, StepBenchmark
from benchmarks.steps.episodes import RecordedEpisode, RecordedStep, check_order
from benchmarks.steps.files import check_columns, read_step_json
from benchmarks.steps.results import StepResult, judged_by_rules, official_rows
from benchmarks.steps.rules import odyssey_official
from benchmarks.steps.rules.rule import HasVerdict
from benchmarks.steps.truth import StepTruth, truth_of_odyssey_step
from utils.analysis.columns import SampleColumns
from utils.contracts import WH, Line
from utils.errors import UserError

EPISODE_COLUMNS = ("episode_id", "task_info", "step_length", "steps")
STEP_COLUMNS = ("step", "screenshot", "action", "info")
RECORDED_COLUMNS = ("action", "info", "sam2_bbox")


class GUIOdyssey(StepBenchmark):
    """The test part of a split."""

    name = level = "GUIOdyssey"
    folder = "GUIOdyssey"
    images = "screenshots"
    options: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "level": LEVELS,
        "history": HISTORIES,
        "split": ("random", "task", "device", "app"),
    }
    rules = ("odyssey_official", "odyssey_os_atlas", "odyssey_agentcpm")
    groupings = ("category",)

    @property
    def _split_file(self) -> Path:
        return self.root / "splits" / f"{self.settings['split']}_split.json"

    def _annotations(self) -> list[Path]:
        """The annotation files of the test part, in the order of the split.

        Raises:
            UserError: the split is not there, or has no test part.
        """
        split = read_step_json(self._split_file)
        names = split.get("test") if isinstance(split, dict) else None
        if not isinstance(names, list) or not names:
            columns = split if isinstance(split, dict) else ()
            check_columns(str(self._split_file), columns, ("train", "test"), "a split")
            raise UserError(f"{self._split_file}: test must be a list of names of annotations")
        return [self.root / "annotations" / str(name) for name in names]

    def files(self) -> Sequence[Path]:
        """Return the file of the split and the annotations of its test part that are there."""
        annotations = [path for path in self._annotations() if path.is_file()]
        return [self._split_file, *annotations]

    def read_episodes(self) -> Iterator[RecordedEpisode]:
        """Yield the episodes of the test part."""
        for path in self._annotations():
            annotation = read_step_json(path)
            columns = annotation if isinstance(annotation, dict) else ()
            check_columns(str(path), columns, EPISODE_COLUMNS, "an episode of GUI-Odyssey")
            steps = annotation["steps"]
            for number, step in enumerate(steps):
                check_columns(f"{path}, step {number}", step, STEP_COLUMNS, "a step of GUI-Odyssey")
            episode = str(annotation["episode_id"])
            check_order(str(path), episode, [step["step"] for step in steps])
            task = annotation["task_info"]
            yield RecordedEpisode(
                number=episode,
                goal=str(task.get("instruction") or ""),
                steps=[_step(step) for step in steps],
                labels={
                    "category": task.get("category"),
                    "step_length": annotation["step_length"],
                },
            )

    def truth_of(self, line: Line, size: WH) -> StepTruth:
        """The recorded action of a row."""
        return truth_of_odyssey_step(line["recorded"])

    def compared_with(self, count: int) -> dict[str, str]:
        """The settings that a published figure must share, with the split."""
        return {**super().compared_with(count), "rows": self.settings["split"]}

    @property
    def protocol(self) -> str:
        """Split, level and history in words."""
        return f"{self.settings['split']} split, {super().protocol}"

    def summarise(self, results: Iterable[StepResult], settings: Mapping[str, str]) -> Scores:
        """Return our figures, and those that the authors' script prints, under their names.

        Without the authors' rule (`rules` is "headline"), there are no figures of their script.
        """
        results = list(results)
        scores = super().summarise(results, settings)
        if odyssey_official.RULE.name not in self._rules:
            return scores
        steps = [result.by(self._official_number) for result in results]
        labels = {result.episode: dict(result.labels) for result in results}
        return {**scores, "official": self._official(steps, labels)}

    def sections(self, columns: SampleColumns, settings: Mapping[str, str]) -> dict[str, Any]:
        """Return the figures with intervals, and the authors' figures if their rule judges."""
        sections = super().sections(columns, settings)
        if odyssey_official.RULE.name not in self._rules:
            return sections
        steps = judged_by_rules(columns, self._rules)[odyssey_official.RULE.name]
        labels = {
            step.episode: details["labels"]
            for step, details in zip(steps, columns["details"], strict=True)
        }
        official = self._official(steps, labels)
        sections["official"]["rows"] = [
            *official_rows(odyssey_official.RULE.name, official),
            *sections["official"]["rows"],
        ]
        return sections

    @property
    def _official_number(self) -> int:
        return list(self._rules).index(odyssey_official.RULE.name)

    def _official(
        self, steps: Sequence[HasVerdict], labels: Mapping[str, Mapping[str, Any]]
    ) -> dict[str, float | None]:
        """AMS and SR of the authors' script in percent; `labels` by episode."""
        scores = odyssey_official.official_scores(
            steps,
            {episode: str(values["category"]) for episode, values in labels.items()},
            {episode: values["step_length"] for episode, values in labels.items()},
        )
        if self.settings["split"] != "random":  # elsewhere the script has no `micro`
            scores |= {"micro AMS": None, "micro SR": None}
        return scores


def _step(step: Mapping[str, Any]) -> RecordedStep:
    return RecordedStep(
        number=step["step"],
        image_path=str(step["screenshot"]),
        instruction=str(step.get("low_level_instruction") or ""),
        recorded={name: step[name] for name in RECORDED_COLUMNS if name in step},
    )
