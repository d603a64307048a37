"""AndroidControl: recorded episodes on Android phones, in the rows that papers report on.

The file is `android_control_test.jsonl`, an episode a line, as MobileAgent publishes it; images are
found by episode and step under any of the names in `images.py`. Papers leave out different rows, so
figures of different `rows` cannot be compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, cast

from benchmarks.steps.base import HISTORIES, LEVELS, StepBenchmark
from benchmarks.steps.episodes import RecordedEpisode, RecordedStep
from benchmarks.steps.files import read_json_lines
from benchmarks.steps.images import StepImages
from benchmarks.steps.truth import StepTruth, published_form, truth_of_step
from utils.contracts import WH, Line
from utils.errors import UserError

FILE = "android_control_test.jsonl"
_NOT_IN_OS_ATLAS = """
45 185 406 567 727 828 1089 1309 1329 1489 1569 1589 1809 1969 2269 3113 3373 3715 4216 4336
4516 4657 4979 5019 5199 5741 5806 5902 6048 6304 6404 6424 6449 6589 6689 6809 6930 7030 7045
7205 7430 7565 7585 7705 7765 8165 8271 8307 8532 9072 9112 9307 9609 9634 9935 10095 10235
10255 10612 10693 10738 11014 11135 11296 11501 11622 11682 12245 12642 12803 12823 12863 13108
13203 13228 13248 13428 13468 13651 13686 13731 13746 13806 13846 13886 14107 14172 14454 14495
14670 14735 14815 15017 15032 15057 15419 15594 15634 15801 15981 16002 16022 16579 16584 16705
17169 17325 17410 17510 17611 17712 17807 17953 18068 18173 18488 18513 18654 18875 18950 18991
19251 19551 19636 19657 19697 19812 19817 19877 19897 20033
"""
NOT_IN_OS_ATLAS = frozenset(map(int, _NOT_IN_OS_ATLAS.split()))
"""Episodes of the official test set that OS-Atlas leaves out, for a reason that is not stated."""
UI_R1_KINDS = ("click", "swipe", "type", "open", "system_button")
EXPECTED = {"official": 8444, "os_atlas": 7708, "ui_r1": 7868}


class AndroidControl(StepBenchmark):
    """The test set. `texts` and `points` are for rows as GUI-R1 and Curated publish them."""

    name = level = "AndroidControl"
    folder = "AndroidControl"
    options: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "level": LEVELS,
        "history": HISTORIES,
        "rows": ("os_atlas", "official", "ui_r1"),
        "texts": ("whole", "first_word"),
        "points": ("exact", "per_mille"),
    }
    rules = (
        "os_atlas",
        "qwen",
        "ui_s1",
        "infigui_r1",
        "agentcpm",
        "clawgui",
        "os_genesis",
        "gui_r1",
        "curated_point",
        "curated_box",
    )

    def files(self) -> Sequence[Path]:
        """Return the file of the episodes."""
        return [self.root / FILE]

    def read_episodes(self) -> Iterator[RecordedEpisode]:
        """Yield the episodes of the rows that the config asks for."""
        rows = self.settings["rows"]
        images = StepImages(self.image_root)
        for position, episode in read_json_lines(self.root / FILE):
            number = episode.get("episode_id")
            if rows == "os_atlas" and number in NOT_IN_OS_ATLAS:
                continue
            yield RecordedEpisode(
                number=str(number),
                goal=str(episode.get("goal") or ""),
                steps=_steps(position, episode, images),
            )

    def read_rows(self) -> Iterator[Line]:
        """Yield a row for each step; steps that UI-R1 leaves out are history all the same."""
        for row in super().read_rows():
            kind = row["recorded"].get("action")
            if self.settings["rows"] != "ui_r1" or kind in UI_R1_KINDS:
                yield row

    def truth_of(self, line: Line, size: WH) -> StepTruth:
        """The recorded action of a row."""
        prompt = " ".join(filter(None, (line["goal"], line["instruction"])))
        truth = truth_of_step({"check_options": line["recorded"]}, size, prompt)
        texts, points = cast(Any, self.settings["texts"]), cast(Any, self.settings["points"])
        return published_form(truth, size, texts=texts, points=points)

    @property
    def protocol(self) -> str:
        """Rows, level and history in words."""
        parts = [f"rows {self.settings['rows']}", super().protocol]
        if self.settings["texts"] == "first_word":
            parts.append("texts cut to their first word")
        if self.settings["points"] == "per_mille":
            parts.append("points through per mille")
        return ", ".join(parts)

    def notes(self, samples: Any, bad: Any, mode: str) -> list[str]:
        """Say where rows are missing beside the published number."""
        notes = super().notes(samples, bad, mode)
        count, expected = len(samples) + len(bad), EXPECTED[self.settings["rows"]]
        if count != expected:
            rows = self.settings["rows"]
            notes.append(f"{count:,} rows; the rows {rows} of the published file are {expected:,}")
        return notes


def _steps(position: str, episode: Mapping[str, Any], images: StepImages) -> list[RecordedStep]:
    """The steps of an episode.

    Raises:
        UserError: it has none, or one without its action.
    """
    steps = episode.get("steps")
    if not isinstance(steps, list) or not steps or not isinstance(episode.get("episode_id"), int):
        raise UserError(
            f"{position}: is no episode; expected an object with episode_id, goal and steps"
        )
    recorded = []
    for number, step in enumerate(steps):
        options = step.get("check_options") if isinstance(step, dict) else None
        if not isinstance(options, dict):
            raise UserError(
                f"{position}: step {number} of episode {episode['episode_id']} has no "
                "check_options; expected the file as MobileAgent publishes it"
            )
        recorded.append(
            RecordedStep(
                number=number,
                image_path=images.path_of(episode["episode_id"], number),
                instruction=step.get("step_instruction") or "",
                recorded=options,
            )
        )
    return recorded
