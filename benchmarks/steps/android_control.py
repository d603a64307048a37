"""AndroidControl: recorded episodes on Android phones, in the rows that papers report on.

File: `android_control_test.jsonl`, an episode a line, as MobileAgent publishes it, or one of the
other forms of `android_control_forms.py`; images by episode and step in any of the names of
`images.py`. `rows` names the set of rows: papers leave out different ones, so figures of different
sets cannot be compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, cast

from benchmarks.steps.android_control_forms import (
    ANY,
    COLUMNS,
    FILE,
    FORMS,
    GUI_R1,
    INFIGUI_R1,
    OFFICIAL,
    UGROUND,
    Found,
    StepFile,
    find_source,
    find_steps,
    infigui_r1_episodes,
    uground_options,
)
from benchmarks.steps.base import HISTORIES, LEVELS, StepBenchmark
from benchmarks.steps.doubtful import doubts_of_episode
from benchmarks.steps.episodes import RecordedEpisode, RecordedStep, check_order
from benchmarks.steps.files import check_columns, read_json_lines, take_out_images
from benchmarks.steps.images import StepImages, step_of
from benchmarks.steps.rules import RULES
from benchmarks.steps.truth import StepTruth, published_form, truth_of_step
from utils.contracts import WH, Line
from utils.errors import UserError
from utils.text import counted, listed

_NOT_IN_OS_ATLAS = """
45 185 406 567 727 828 1089 1309 1329 1489 1569 1589 1809 1969 2269 3113 3373 3715 4216 4336
4516 4657 4979 5019 5199 5741 5806 5902 6048 6304 6404 6424 6449 6589 6689 6809 6930 7030
7045 7205 7430 7565 7585 7705 7765 8165 8271 8307 8532 9072 9112 9307 9609 9634 9935 10095
10235 10255 10612 10693 10738 11014 11135 11296 11501 11622 11682 12245 12642 12803 12823
12863 13108 13203 13228 13248 13428 13468 13651 13686 13731 13746 13806 13846 13886 14107
14172 14454 14495 14670 14735 14815 15017 15032 15057 15419 15594 15634 15801 15981 16002
16022 16579 16584 16705 17169 17325 17410 17510 17611 17712 17807 17953 18068 18173 18488
18513 18654 18875 18950 18991 19251 19551 19636 19657 19697 19812 19817 19877 19897 20033
"""
NOT_IN_OS_ATLAS = frozenset(map(int, _NOT_IN_OS_ATLAS.split()))
"""Episodes of the official test set that OS-Atlas leaves out, for a reason that is not stated."""
UI_R1_KINDS = ("click", "swipe", "type", "open", "system_button")
EXPECTED = {"official": 8444, "os_atlas": 7708, "ui_r1": 7868}
STEP_COLUMNS = ("check_options", "step_instruction", "screenshot")
UGROUND_ROWS = 500
UGROUND_HISTORIES = ("none", "instructions")  # of sampled steps no more is known


class AndroidControl(StepBenchmark):
    """The test set. `texts` and `points` are for rows as GUI-R1 and Curated publish them."""

    name = level = "AndroidControl"
    folder = "AndroidControl"
    options: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "level": LEVELS,
        "history": HISTORIES,
        "rows": ("os_atlas", "official", "ui_r1"),
        "form": (ANY, *FORMS),
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

    def configure(self, settings: Mapping[str, Any]) -> None:
        """Take the settings; rows of UGround, which have trees, can be judged by its rule."""
        if UGROUND in (settings.get("form"), settings.get("rule")):
            self._rules[UGROUND] = RULES[UGROUND]
        super().configure(settings)

    @cached_property
    def _source(self) -> StepFile:
        return find_source(self.root, self.settings["form"], self.settings["level"])

    def _official_file(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the episodes of the official file beside rows that have no ids.

        Raises:
            UserError: it is not there.
        """
        if not (self.root / FILE).is_file():
            raise UserError(
                f"{self._source.path}: its rows have no ids. The program looks for them in "
                f"{FILE}, which must be in {self.root} (docs/steps.md says where it is published)"
            )
        return read_json_lines(self.root / FILE)

    @cached_property
    def _found(self) -> Found:
        """The steps of rows that have no ids."""
        episodes = [
            episode
            for _, episode in self._official_file()
            if episode.get("episode_id") not in NOT_IN_OS_ATLAS  # which this form has, neither
        ]
        return find_steps(self._source.rows, episodes, self.settings["level"])

    def files(self) -> Sequence[Path]:
        """Return the file of the rows, and the official one where ids come from it."""
        path = self._source.path
        return [path, self.root / FILE] if self._source.form == GUI_R1 else [path]

    def read_episodes(self) -> Iterator[RecordedEpisode]:
        """Yield the episodes of the rows that the config asks for."""
        if self._source.path.suffix == ".parquet" and self._source.form == GUI_R1:
            rows = [row for _, row in self._source.rows]
            take_out_images(self._source.path, rows, self.image_root)
        images = StepImages(self.image_root)
        if self._source.form == UGROUND:
            yield from self._sampled_steps(images)
            return
        for position, episode in self._official_episodes():
            number = episode.get("episode_id")
            if self.settings["rows"] == "os_atlas" and number in NOT_IN_OS_ATLAS:
                continue
            yield RecordedEpisode(
                number=str(number),
                goal=str(episode.get("goal") or ""),
                steps=self._asked(number, _steps(position, episode, images)),
            )

    def _official_episodes(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the episodes in the official form, each with its place."""
        if self._source.form == INFIGUI_R1:
            yield from infigui_r1_episodes(self._source.rows)
        elif self._source.form == GUI_R1:
            yield from self._official_file()
        else:
            yield from self._source.rows

    def _asked(self, episode: Any, steps: Sequence[RecordedStep]) -> list[RecordedStep]:
        """The steps, of which those that are not rows are history all the same."""
        if self._source.form == GUI_R1:
            steps = [self._as_published(episode, step) for step in steps]
        if self.settings["rows"] == "ui_r1":
            kinds = UI_R1_KINDS
            steps = [
                replace(step, is_asked=step.is_asked and step.recorded.get("action") in kinds)
                for step in steps
            ]
        return list(steps)

    def _as_published(self, episode: Any, step: RecordedStep) -> RecordedStep:
        """A step with the action and the image of its row without id, if there is one."""
        step_id = (episode, step.number)
        recorded = self._found.recorded.get(step_id)
        if recorded is None:
            return replace(step, is_asked=False)
        image = self._found.images[step_id]
        has_image = (self.image_root / image).is_file()
        image_path = image if has_image else step.image_path
        return replace(step, recorded=recorded, image_path=image_path)

    def _sampled_steps(self, images: StepImages) -> Iterator[RecordedEpisode]:
        """Yield each step of UGround as the last one of an episode."""
        history = self.settings["history"]
        if history not in UGROUND_HISTORIES:
            raise UserError(
                f'{self._source.path}: its steps are sampled, so they have no history "{history}"; '
                f"it must be one of {listed([*UGROUND_HISTORIES])}"
            )
        for position, row in self._source.rows:
            check_columns(position, row, COLUMNS[UGROUND], f"the form {UGROUND}")
            episode, number = row["episode_id"], row["step"]
            earlier = [
                RecordedStep(index, images.path_of(episode, index), text, {}, is_asked=False)
                for index, text in enumerate(row.get("previous_actions") or ())
            ]
            step = RecordedStep(
                number,
                images.path_of(episode, number),
                row["step_instruction"] or "",
                uground_options(position, row),
            )
            yield RecordedEpisode(str(episode), row["goal"], [*earlier, step])

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
        if self._form not in (OFFICIAL, ANY):
            parts.append(f"file of the form {self._form}")
        if self.settings["texts"] == "first_word":
            parts.append("texts cut to their first word")
        if self.settings["points"] == "per_mille":
            parts.append("points through per mille")
        return ", ".join(parts)

    @property
    def _form(self) -> str:
        """The form of the file; for scoring without it what the config says."""
        try:
            return self._source.form
        except UserError:
            return str(self.settings["form"])

    def compared_with(self, count: int) -> dict[str, str]:
        """The settings that a published figure must share, with rows and texts."""
        rows = self.settings["rows"]
        if count != EXPECTED[rows]:
            rows = f"{rows}, {count:,} of {EXPECTED[rows]:,}"
        return {**super().compared_with(count), "rows": rows, "texts": self.settings["texts"]}

    def notes(self, samples: Any, bad: Any, mode: str) -> list[str]:
        """Say where rows are missing beside the published number."""
        notes = super().notes(samples, bad, mode)
        rows = self.settings["rows"]
        count, expected = len(samples) + len(bad), EXPECTED[rows]
        if self._source.form == UGROUND:
            rows, expected = "of UGround", UGROUND_ROWS
        if count != expected:
            notes.append(f"{count:,} rows; the published file has {expected:,} ({rows})")
        if self._source.form == GUI_R1 and self._found.left_out:
            left_out = self._found.left_out
            notes.append(
                f"{self._source.path}: {counted(len(left_out), 'row')} cannot be found in {FILE} "
                f"and are left out: {listed(left_out, 20)}"
            )
        return notes


def _steps(position: str, episode: Mapping[str, Any], images: StepImages) -> list[RecordedStep]:
    """The steps of an episode.

    Raises:
        UserError: it has none, or one without its action.
    """
    check_columns(position, episode, COLUMNS[OFFICIAL], "the official file")
    steps = episode["steps"]
    if not isinstance(steps, list) or not steps or not isinstance(episode["episode_id"], int):
        raise UserError(
            f"{position}: is no episode; episode_id must be a number, steps a list of one or more"
        )
    step_position = f"{position}: step {{}} of episode {episode['episode_id']}"
    for number, step in enumerate(steps):
        options = step.get("check_options") if isinstance(step, dict) else None
        if not isinstance(options, dict):
            columns = step if isinstance(step, dict) else ()
            check_columns(step_position.format(number), columns, STEP_COLUMNS, "the official file")
            raise UserError(f"{step_position.format(number)}: check_options must be an object")
    numbers = [step_of(str(step.get("screenshot"))) for step in steps]
    if None not in numbers:
        check_order(position, str(episode["episode_id"]), numbers)
    instructions = [str(step.get("step_instruction") or "") for step in steps]
    directions = [step["check_options"].get("direction") or "" for step in steps]
    doubts = doubts_of_episode(instructions, directions)
    return [
        RecordedStep(
            number=number,
            image_path=images.path_of(episode["episode_id"], number),
            instruction=instructions[number],
            recorded=step["check_options"],
            doubts=doubts[number],
        )
        for number, step in enumerate(steps)
    ]
