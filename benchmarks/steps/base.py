"""Recorded steps: at each step of a recorded episode, which action comes next?

The model sees the recorded screen of every step, whatever it answered before. A rule compares its
action with the recorded one. Figures depend more on the rule than on the model. All rules therefore
judge every answer, and the config names the rule of the score.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from benchmarks.actions.dialects import parse_actions
from benchmarks.matrics import Scores
from benchmarks.steps.action import StepAction
from benchmarks.steps.episodes import RecordedEpisode, step_rows
from benchmarks.steps.prompt import SYSTEM_PROMPT, in_words, step_text
from benchmarks.steps.published import published_section
from benchmarks.steps.reading import step_action
from benchmarks.steps.results import (
    StepResult,
    details_of,
    kind_name,
    size_of,
    step_scores,
    step_sections,
    worth_of,
)
from benchmarks.steps.rules import ALL_RULES, Rule, StepVerdict
from benchmarks.steps.section import StepSection
from benchmarks.steps.shown import ShownAction, shown_step
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
    Point,
    Sample,
    Sizes,
    UserFunctionError,
    Verdict,
)
from utils.errors import UserError
from utils.geometry.targets import Target

LEVELS = ("high", "low")
HISTORIES = ("none", "instructions", "actions", "own")
HEADLINE = "headline"
NOT_TOLD = ("recorded", "doubts", "problem")
"""Columns of a row that are of the truth."""
ANY_SIZE = (1000, 1000)  # whether a recorded action can be read does not depend on it


@dataclass(frozen=True, slots=True)
class JudgedAnswer:
    """The verdict of every rule on the answer to a step, with both actions."""

    verdicts: Mapping[str, StepVerdict]  # by rule
    recorded: Mapping[str, Any]  # the action in its JSON form; of several the kind of the first
    answered: Mapping[str, Any] | None  # the same; None: nothing could be read
    recorded_words: str
    answered_words: str | None
    target: Target  # candidate boxes in fractions
    point_frac: Point | None
    labels: Mapping[str, Any] = field(default_factory=dict)  # hashable, for the own figures


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
    groupings: ClassVar[tuple[str, ...]] = ()  # labels of its rows that have a figure each
    has_phone_actions: ClassVar[bool] = True  # one action a step
    default_parse = staticmethod(parse_actions)
    audits = (
        "benchmarks.steps.swipes.swipe_convention",
        "utils.analysis.server_audit.server_audit",
    )
    system_prompt = SYSTEM_PROMPT
    not_in_sheets = ("history", "recorded", "labels", "doubts", "problem")
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
        self._rules: dict[str, Rule] = {rule: ALL_RULES[rule] for rule in self.rules}
        self._chosen = self.rules[0]
        self._rule_of_user: Callable[..., Any] | None = None
        self._problems: list[str] = []

    def configure(self, settings: Mapping[str, Any]) -> None:
        """Take level, history, the benchmark's own keys, and by which rules to judge."""
        super().configure(settings)
        chosen = settings.get("rule") or self.rules[0]
        if callable(chosen):  # a function of the user's
            rule, self._rule_of_user = rule_of_user(chosen), chosen
            self._rules = {rule.name: rule, **self._rules}
            chosen = rule.name
        if chosen in self._rules:
            self._chosen = chosen
            if settings.get("rules") == HEADLINE:
                self._rules = {chosen: self._rules[chosen]}
        else:
            self._problems = [
                f'the rule "{chosen}" does not fit these rows; it must be one of '
                f"{', '.join(self.rules)}, or the dotted path of a function of yours"
            ]

    def problems(self) -> list[str]:
        """Say that there is no such rule."""
        return self._problems

    @property
    def protocol(self) -> str:
        """Rows, level and history in words, without which no figure says anything."""
        return f"level {self.settings['level']}, history {self.settings['history']}"

    def compared_with(self, count: int) -> dict[str, str]:
        """The settings that a published figure must share; see `published_section`.

        Args:
            count: number of scored rows.
        """
        return {
            "level": self.settings["level"],
            "history": self.settings["history"],
            "rule": self._chosen,
        }

    # -- rows ----

    @abstractmethod
    def read_episodes(self) -> Iterable[RecordedEpisode]:
        """Yield the recorded episodes of the rows that the config asks for."""

    @abstractmethod
    def truth_of(self, line: Line, size: WH) -> StepTruth:
        """The recorded action of a row, on an image of this size in pixels."""

    def read_rows(self) -> Iterator[Line]:
        """Yield a row for each step.

        Raises:
            UserError: there is no folder of images, or a file is another one than expected.
        """
        level, history = self.settings["level"], self.settings["history"]
        for episode in self.read_episodes():
            if not self.image_root.is_dir():
                raise UserError(
                    f"{self.image_root}: no such folder; put the screenshots there "
                    "(docs/steps.md says where they are published)"
                )
            for row in step_rows(episode, level=level, history=history):
                yield {**row, "problem": self._problem_of_recorded(row)}

    def _problem_of_recorded(self, row: Line) -> str | None:
        """Say that the recorded action of a row cannot be read."""
        try:
            self.truth_of(row, ANY_SIZE)
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            name = f"no {error}" if isinstance(error, KeyError) else str(error)
            return f"its recorded action cannot be read: {name}"
        return None

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
    ) -> tuple[Any, UserFunctionError | None]:
        """The action in a reply, and why there is none, if a function is to blame.

        A parse function is not told what was recorded.
        """
        visible_line = {name: value for name, value in line.items() if name not in NOT_TOLD}
        parsed, error = super().read(visible_line, sizes, reply, parse, meta_extra)
        try:
            return self.answer_of(parsed, size_of(line, sizes.file_wh)), error
        except ValueError as nonsense:
            return None, UserFunctionError("parse", str(nonsense), str(nonsense))

    def answer_of(self, parsed: Any, size: WH) -> Any:
        """The answer in the result of a parse function, as `judge_step` takes it; None: none.

        Raises:
            ValueError: nonsense.
        """
        return step_action(parsed, size)

    def judge_step(self, line: Line, answer: Any, size: WH) -> JudgedAnswer:
        """Judge what `answer_of` returned by every rule."""
        action: StepAction | None = answer
        truth = self.truth_of(line, size)
        return JudgedAnswer(
            verdicts={name: rule.judge(action, truth, size) for name, rule in self._rules.items()},
            recorded=truth.action.as_json(),
            answered=None if action is None else action.as_json(),
            recorded_words=in_words(truth.action),
            answered_words=None if action is None else in_words(action),
            target=Target(boxes=truth.candidate_boxes_frac(size)),
            point_frac=None if action is None else action.point,
        )

    def judged_by(self) -> list[Callable[..., Any]]:
        """The class, and a rule of the user's."""
        return [*super().judged_by(), *filter(None, [self._rule_of_user])]

    def try_scorer(self, sample: Sample) -> str:
        """Call a rule of the user's with the recorded action of a step, and without an answer."""
        if self._rule_of_user is None:
            return ""
        size = size_of(sample.line, sample.file_wh)
        self.judge_step(sample.line, None, size)
        if not self.has_phone_actions:
            return ""
        recorded = self.truth_of(sample.line, size).action
        verdict = self.judge_step(sample.line, recorded, size).verdicts[self._chosen]
        if verdict.success in (1, None):
            return ""
        return (
            f"{self._chosen} says that the recorded action is wrong at {sample.line['id']}: "
            f"{in_words(recorded)}"
        )

    def judge_parsed(self, line: Line, sizes: Sizes, parsed: Any, reply: str | None) -> Judgement:
        """Return a hit if the answer is right by the rule of the score."""
        size = size_of(line, sizes.file_wh)
        judged = self.judge_step(line, parsed, size)
        verdicts = judged.verdicts
        type_worth, grounding, success = worth_of(verdicts[self._chosen])
        verdict = Verdict.HIT if success == 1 else Verdict.MISS
        if parsed is None:
            verdict = Verdict.UNPARSED
        result = StepResult(
            episode=str(line["episode"]),
            step=line["step"],
            kind=judged.recorded["kind"],
            verdict=None if reply is None else verdict,
            worth=tuple(map(worth_of, verdicts.values())),
            doubts=tuple(line["doubts"]),
            labels=tuple({**line["labels"], **judged.labels}.items()),
        )
        columns = {
            "id": line["id"],
            "image_path": line["image_path"],
            "goal": line["goal"],
            "instruction": line["step_instruction"],
            "recorded": judged.recorded_words,
            "answer": judged.answered_words,
            "type": type_worth,
            "grounding": grounding,
            "success": success,
            "is_wrong_format": verdict is Verdict.UNPARSED,
            "index": line.get("index"),
        }
        bounds = judged.target.bounds
        labels = {name: [str(line["labels"].get(name))] for name in self.groupings}
        facts = {
            "text": f"{line['goal']} · step {line['step'] + 1}: {line['step_instruction']}",
            "id": line["id"],
            "image": f"{self.folder}/{self.images}/{line['image_path']}",
            "hit": int(success == 1),
            "credit": success,
            "split": kind_name(result.kind) if self.has_phone_actions else result.kind,
            "kind": None,
            "box_frac": None if bounds is None else list(bounds),
            "target": judged.target.as_json() or None,
            "point_frac": None if judged.point_frac is None else list(judged.point_frac),
            "groups": {"action": [result.kind], **labels},
            "episode": result.episode,
            "step": self._shown(line, size, judged, result.doubts),
            "details": details_of(
                result, judged.recorded, judged.answered, list(verdicts.values())
            ),
        }
        return Judgement(result.verdict, result, columns, facts)

    def _shown(
        self, line: Line, size: WH, judged: JudgedAnswer, doubts: Sequence[str]
    ) -> dict[str, Any]:
        """The step as pages show it, with where each rule takes a click for right."""
        truth = self.truth_of(line, size)
        answered = None
        if judged.answered is not None and judged.answered_words is not None:
            answered = ShownAction(judged.answered_words, judged.answered)
        return shown_step(
            ShownAction(judged.recorded_words, judged.recorded),
            answered,
            {
                name: (judged.verdicts[name], self._rules[name].area_in_json(truth, size))
                for name in (self._chosen, *(rule for rule in self._rules if rule != self._chosen))
            },
            self._rules,
            size,
            doubts,
        )

    # -- figures ----

    def summarise(self, results: Iterable[StepResult], settings: Mapping[str, str]) -> Scores:
        """Return the figures by the rule of the score and by all others, with their counts."""
        return step_scores(list(results), self._rules, self._chosen)

    def sections(self, columns: SampleColumns, settings: Mapping[str, str]) -> dict[str, Any]:
        """Return the figures with intervals, and by every rule if there are several."""
        sections = step_sections(
            columns,
            self.title,
            self._rules,
            self._chosen,
            self.protocol,
            groupings=self.groupings,
            has_phone_actions=self.has_phone_actions,
        )
        published = published_section(type(self).__name__, self.compared_with(len(columns)))
        return sections if published is None else {**sections, "published_steps": published}
