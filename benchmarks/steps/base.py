"""Recorded steps: at each step of a recorded episode, what would one do next?

The model sees the recorded screen of every step, whatever it has answered before, and its one
action is compared with the recorded one by a rule. Figures depend more on the rule than on the
model, so every answer is judged by all of them, and the config names the one of the score.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

from benchmarks.actions.dialects import parse_actions
from benchmarks.matrics import Scores
from benchmarks.steps.action import StepAction
from benchmarks.steps.episodes import RecordedEpisode, step_rows
from benchmarks.steps.prompt import SYSTEM_PROMPT, in_words, step_text
from benchmarks.steps.reading import step_action
from benchmarks.steps.results import (
    StepResult,
    details_of,
    size_of,
    step_scores,
    step_sections,
    worth_of,
)
from benchmarks.steps.rules import RULES, Rule
from benchmarks.steps.section import StepSection
from benchmarks.steps.truth import StepTruth
from benchmarks.steps.user_rules import rule_of_user
from benchmarks.tables import TableBenchmark
from utils.analysis.columns import SampleColumns
from utils.contracts import (
    WH,
    Answered,
    Judgement,
    Line,
    ParseFunction,
    Sizes,
    UserFunctionError,
    Verdict,
)
from utils.errors import UserError
from utils.targets import Target

LEVELS = ("high", "low")
HISTORIES = ("none", "instructions", "actions", "own")


class StepBenchmark(TableBenchmark):
    """A table of recorded steps. A subclass reads the episodes, and the recorded action of a row.

    A row has the step's `goal`, `instruction` (None at level "high"), `history` and `recorded`
    action; `history` holds what its kind tells of the steps before, and nothing else.
    """

    text_key = "goal"
    recipe_form = "steps"
    config_section = StepSection
    options: ClassVar[Mapping[str, tuple[str, ...]]] = {"level": LEVELS, "history": HISTORIES}
    rules: ClassVar[tuple[str, ...]] = ()  # the rules for its rows by name; first: default
    default_parse = staticmethod(parse_actions)
    system_prompt = SYSTEM_PROMPT
    result_columns = (
        "id",
        "image_path",
        "goal",
        "instruction",
        "recorded",
        "answer",
        "type",
        "grounding",
        "success",
        "is_wrong_format",
        "index",
    )

    def __init__(self, folder: Path, name: str) -> None:
        super().__init__(folder, name)
        self._rules: dict[str, Rule] = {rule: RULES[rule] for rule in self.rules}
        self._chosen = self.rules[0]
        self._problems: list[str] = []

    def configure(self, settings: Mapping[str, Any]) -> None:
        """Take level, history, the benchmark's own keys, and the rule of the score."""
        super().configure(settings)
        chosen = settings.get("rule") or self.rules[0]
        if chosen not in self._rules and "." not in chosen:
            self._problems = [
                f'the rule "{chosen}" is not for its rows; it must be one of '
                f"{', '.join(self.rules)}, or the dotted path of a function of yours"
            ]
            return
        if chosen not in self._rules:
            try:
                self._rules = {chosen: rule_of_user(chosen), **self._rules}
            except UserError as error:
                self._problems = list(error.problems)
                return
        self._chosen = chosen

    def problems(self) -> list[str]:
        """Say that there is no such rule."""
        return self._problems

    @property
    def protocol(self) -> str:
        """Rows, level and history in words, without which no figure says anything."""
        return f"level {self.settings['level']}, history {self.settings['history']}"

    # -- rows ----

    @abstractmethod
    def read_episodes(self) -> Iterable[RecordedEpisode]:
        """Yield the recorded episodes of the rows that the config asks for."""

    @abstractmethod
    def truth_of(self, line: Line, size: WH) -> StepTruth:
        """The recorded action of a row, on an image of this size in pixels."""

    def read_rows(self) -> Iterator[Line]:
        """Yield a row for each step."""
        level, history = self.settings["level"], self.settings["history"]
        for episode in self.read_episodes():
            yield from step_rows(episode, level=level, history=history)

    def identity_of(self, row: Line) -> list[Any]:
        """Return episode and step."""
        return [row.get("episode"), row.get("step")]

    # -- asking ----

    def user_text(self, line: Line) -> str:
        """Return the text of the default prompt."""
        return step_text(line)

    def chain_of(self, line: Line) -> str:
        """The episode of a step whose prompt holds the model's own replies so far."""
        return str(line["episode"]) if self.settings["history"] == "own" else ""

    def line_after(self, line: Line, answered: Answered) -> Line:
        """The line of a step with the replies to the steps before it."""
        replies = {earlier["step"]: reply for earlier, reply in answered}
        history = [{**step, "reply": replies.get(step["step"])} for step in line["history"]]
        return {**line, "history": history}

    # -- judging ----

    def read(
        self, line: Line, sizes: Sizes, reply: str, parse: ParseFunction, meta_extra: Line
    ) -> tuple[StepAction | None, UserFunctionError | None]:
        """The action in a reply, and why there is none, if a function is to blame."""
        parsed, error = super().read(line, sizes, reply, parse, meta_extra)
        try:
            return step_action(parsed, size_of(line, sizes.file_wh)), error
        except ValueError as nonsense:
            return None, UserFunctionError("parse", str(nonsense), str(nonsense))

    def judge_parsed(self, line: Line, sizes: Sizes, parsed: Any, reply: str | None) -> Judgement:
        """Return a hit if the answer is right by the rule of the score."""
        action: StepAction | None = parsed
        size = size_of(line, sizes.file_wh)
        truth = self.truth_of(line, size)
        verdicts = {name: rule.judge(action, truth, size) for name, rule in self._rules.items()}
        type_worth, grounding, success = worth_of(verdicts[self._chosen])
        verdict = Verdict.HIT if success == 1 else Verdict.MISS
        if action is None:
            verdict = Verdict.UNPARSED
        result = StepResult(
            episode=str(line["episode"]),
            step=line["step"],
            kind=truth.action.kind,
            verdict=None if reply is None else verdict,
            worth=tuple(map(worth_of, verdicts.values())),
        )
        columns = {
            "id": line["id"],
            "image_path": line["image_path"],
            "goal": line["goal"],
            "instruction": line["step_instruction"],
            "recorded": in_words(truth.action),
            "answer": None if action is None else in_words(action),
            "type": type_worth,
            "grounding": grounding,
            "success": success,
            "is_wrong_format": verdict is Verdict.UNPARSED,
            "index": line.get("index"),
        }
        boxes = Target(boxes=truth.candidate_boxes_frac(size))
        facts = {
            "text": f"{line['goal']} · step {line['step'] + 1}: {line['step_instruction']}",
            "id": line["id"],
            "image": f"{self.folder}/{self.images}/{line['image_path']}",
            "hit": int(success == 1),
            "split": result.kind,
            "kind": None,
            "box_frac": None if boxes.bounds is None else list(boxes.bounds),
            "target": boxes.as_json(),
            "point_frac": None if action is None or action.point is None else list(action.point),
            "groups": {"action": [result.kind]},
            "details": details_of(
                result.episode, result.step, action, truth, list(verdicts.values())
            ),
        }
        return Judgement(result.verdict, result, columns, facts)

    # -- figures ----

    def summarise(self, results: Iterable[StepResult], settings: Mapping[str, str]) -> Scores:
        """Return the figures by the rule of the score and by all others, with their counts."""
        return step_scores(list(results), self._rules, self._chosen)

    def sections(self, columns: SampleColumns, settings: Mapping[str, str]) -> dict[str, Any]:
        """Return the figures with intervals, and the same answers under every rule."""
        return step_sections(columns, self.title, self._rules, self._chosen, self.protocol)
