"""AgentNetBench: recorded episodes on desktops, several actions a step, with alternatives.

Files: `single_data/<task>.json`, an episode each, and `single_data/images/`. Points and boxes are
fractions. A step scores between 0 and 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from benchmarks.actions.action import Action, NoAction
from benchmarks.actions.reading import read_actions, read_keys
from benchmarks.matrics import Scores
from benchmarks.steps.base import HISTORIES, LEVELS, JudgedAnswer, StepBenchmark
from benchmarks.steps.episodes import RecordedEpisode, RecordedStep
from benchmarks.steps.files import check_columns, read_step_json
from benchmarks.steps.results import StepResult, official_rows
from benchmarks.steps.rules import agentnetbench
from benchmarks.steps.rules.agentnetbench import DesktopAction, DesktopScore
from utils.analysis.columns import SampleColumns
from utils.contracts import WH, Line
from utils.errors import UserError
from utils.geometry.targets import Target

EPISODE_COLUMNS = ("task_id", "steps")
STEP_COLUMNS = ("image", "ground_truth_actions")
GOALS = ("high_level_task_description", "user_task_description", "instruction")
CLICKS = {
    "click": "click",
    "double": "doubleclick",
    "triple": "tripleclick",
    "right": "rightclick",
    "move": "moveto",
}
SYSTEM_PROMPT = """You operate a desktop computer to do a task. You get the task and a screenshot, and say what to do next.

Reply with a thought and with one action, or with several that belong together, each on a line of its own:
Thought: what you see, and what to do next
Action: one of the actions below

click(x, y)    double_click(x, y)    triple_click(x, y)    right_click(x, y)
move(x, y)
drag(x1, y1, x2, y2)
scroll(x, y, "down")  # shows what is further down; or "up", "left", "right"
type("text")          # into the field that has the focus
press("ctrl+a")       # a key, or keys held together
wait(1)               # seconds
done()                # the task is completed
fail("why")           # the task cannot be completed

x and y are fractions of the width and height of the screenshot: 0.000 is its left or upper edge, 1.000 its right or lower edge."""  # noqa: E501


class AgentNetBench(StepBenchmark):
    """The episodes of `single_data`; an answer is a list of actions."""

    name = level = "AgentNetBench"
    folder = "AgentNetBench"
    images = "single_data/images"
    system_prompt = SYSTEM_PROMPT
    recipe_form = "desktop_steps"
    options: ClassVar[Mapping[str, tuple[str, ...]]] = {"level": LEVELS, "history": HISTORIES}
    rules = ("agentnetbench",)
    has_phone_actions = False

    def files(self) -> Sequence[Path]:
        """Return the files of all episodes."""
        return sorted((self.root / "single_data").glob("*.json"))

    def read_episodes(self) -> Iterator[RecordedEpisode]:
        """Yield an episode for each file."""
        paths = self.files()
        if not paths:
            raise UserError(
                f"{self.root / 'single_data'}: has no files *.json; docs/steps.md says where they "
                f"are published. LMUData must name the folder that holds {self.folder}/"
            )
        for path in paths:
            yield self._episode(path)

    def _episode(self, path: Path) -> RecordedEpisode:
        episode = read_step_json(path)
        columns = episode if isinstance(episode, dict) else ()
        check_columns(str(path), columns, EPISODE_COLUMNS, "an episode of AgentNetBench")
        for number, step in enumerate(episode["steps"]):
            check_columns(f"{path}, step {number}", step, STEP_COLUMNS, "a step of AgentNetBench")
        goals = (episode.get(name) for name in GOALS)
        return RecordedEpisode(
            number=str(episode["task_id"]),
            goal=next((str(goal) for goal in goals if goal), ""),
            steps=[self._step(path, number, step) for number, step in enumerate(episode["steps"])],
            platform="desktop",
        )

    def _step(self, path: Path, number: int, step: Mapping[str, Any]) -> RecordedStep:
        instruction = (step.get("inner_monologue") or {}).get("low_level_instruction")
        if self.settings["level"] == "low" and not instruction:
            raise UserError(
                f"{path}: step {number} has no inner_monologue.low_level_instruction, so there is "
                'no level "low"'
            )
        return RecordedStep(
            number=number,
            image_path=str(step["image"]),
            instruction=str(instruction or ""),
            recorded={
                "actions": [
                    {name: value for name, value in action.items() if name != "metadata"}
                    for action in step["ground_truth_actions"]
                ],
                "judged": [
                    step["ground_truth_actions"],
                    *map(_actions_of, step.get("alternative_options") or ()),
                ],
            },
        )

    def truth_of(self, line: Line, size: WH) -> Any:
        """The recorded lists of actions of a row: what was done, then the alternatives."""
        lists = [
            [_with_key_names(DesktopAction.of_record(record)) for record in records]
            for records in line["recorded"]["judged"]
        ]
        if not lists[0]:
            raise ValueError("ground_truth_actions is empty")
        return lists

    def user_text(self, line: Line) -> str:
        """Return the text of the default prompt, with earlier actions as calls."""
        if line["history_kind"] != "actions":
            return super().user_text(line)
        history = [
            {
                **step,
                "action": [
                    str(DesktopAction.of_record(record)) for record in step["action"]["actions"]
                ],
            }
            for step in line["history"]
        ]
        return super().user_text({**line, "history": history})

    def answer_of(self, parsed: Any, size: WH) -> tuple[DesktopAction, ...] | None:
        """The actions in the result of a parse function; None: there is none.

        It returns what the functions of `benchmarks.actions.dialects` do, or `DesktopAction`s.

        Raises:
            ValueError: nonsense.
        """
        is_list = isinstance(parsed, (list, tuple)) and bool(parsed)
        if is_list and all(isinstance(action, DesktopAction) for action in parsed):
            return tuple(map(_with_key_names, parsed))
        actions = _without_ways(read_actions(parsed, size, stay_on_screen=False) or ())
        return tuple(one for action in actions for one in _desktop_actions(action)) or None

    def judge_step(self, line: Line, answer: Any, size: WH) -> JudgedAnswer:
        """Judge a list of actions by every rule."""
        actions: tuple[DesktopAction, ...] | None = answer
        recorded = self.truth_of(line, size)
        first, *_ = recorded[0]
        score = agentnetbench.judge(actions or (), recorded)
        return JudgedAnswer(
            verdicts={
                name: rule.judge(actions, recorded, size) for name, rule in self._rules.items()
            },
            recorded={"kind": first.type},
            answered={"kind": actions[0].type} if actions else None,
            recorded_words=_in_words(recorded[0]),
            answered_words=None if actions is None else _in_words(actions),
            target=Target(boxes=first.boxes_frac),
            point_frac=actions[0].point if actions else None,
            labels={"total": score.total, "by_type": tuple(score.by_type.items())},
        )

    def summarise(self, results: Iterable[StepResult], settings: Mapping[str, str]) -> Scores:
        """Return our figures, and the columns of the authors' table."""
        results = list(results)
        official = _official([dict(result.labels) for result in results])
        return {**super().summarise(results, settings), "official": official}

    def sections(self, columns: SampleColumns, settings: Mapping[str, str]) -> dict[str, Any]:
        """Return the figures with intervals, and the columns of the authors' table."""
        sections = super().sections(columns, settings)
        official = _official([details["labels"] for details in columns["details"]])
        sections["official"]["rows"] = official_rows(agentnetbench.RULE.name, official)
        return sections


def _official(labels: Sequence[Mapping[str, Any]]) -> dict[str, float | None]:
    scores = [DesktopScore(values["total"], dict(values["by_type"])) for values in labels]
    figures = agentnetbench.official_figures(scores)
    return {name: None if value is None else 100 * value for name, value in figures.items()}


def _actions_of(alternative: Any) -> list[Any]:
    """The actions of an alternative: a list, an object that holds one, or a single action."""
    if isinstance(alternative, Mapping):
        for name in ("ground_truth_actions", "actions"):
            if name in alternative:
                return list(alternative[name])
        return [alternative]
    return list(alternative)


def _with_key_names(action: DesktopAction) -> DesktopAction:
    """An action whose keys have the names of `benchmarks.actions`: "Esc" is "escape"."""
    names: list[str] = []
    for key in action.keys:
        try:
            names += read_keys([key.lower()])
        except NoAction:
            names.append(key)
    return replace(action, keys=tuple(names))


def _in_words(actions: Sequence[DesktopAction]) -> str:
    return "; ".join(map(str, actions))


def _without_ways(actions: Sequence[Action]) -> list[Action]:
    """The actions without a move to where the drag behind it begins: the drag has it already."""
    following = [*actions[1:], None]
    return [
        action
        for action, after in zip(actions, following, strict=False)
        if not (
            action.kind == "move"
            and after is not None
            and after.kind == "drag"
            and after.point == action.point
        )
    ]


def _desktop_actions(action: Action) -> list[DesktopAction]:
    """An action of the live worlds as those of AgentNetBench."""
    kind = action.kind
    if kind in CLICKS:
        return [DesktopAction(CLICKS[kind], point=action.point)]
    if kind == "drag":
        return [
            DesktopAction("moveto", point=action.point),
            DesktopAction("dragto", point=action.to_point),
        ]
    if kind == "type":
        return [DesktopAction("write", text=action.text)]
    if kind == "key":
        return [DesktopAction("press" if len(action.keys) == 1 else "hotkey", keys=action.keys)]
    if kind in ("done", "answer", "fail"):
        status = "failure" if kind == "fail" else "success"
        return [DesktopAction("terminate", status=status)]
    return [DesktopAction(kind)]  # scroll is judged by its type; others are no recorded types
