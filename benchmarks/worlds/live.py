"""What L3 and L4 share: tasks, prompts and episodes in live worlds, judged by the world's state."""

from __future__ import annotations

import fnmatch
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar

from benchmarks.base import BadSample, Benchmark
from benchmarks.figures import episode_sections
from benchmarks.matrics import Scores, TaskResult, score_episodes
from benchmarks.worlds.actions import Outcome
from benchmarks.worlds.dialects import better_parser, parse_actions
from benchmarks.worlds.episode import history_text, play, read_turn, state_of
from benchmarks.worlds.suites import (
    AnyWorld,
    Suite,
    Task,
    ids_of,
    problems_of,
    suites_of,
    tasks_of,
    world_digest,
)
from utils.analysis.columns import SampleColumns
from utils.contracts import (
    Episode,
    Generation,
    Judgement,
    Line,
    ParseFunction,
    Prompt,
    PromptOf,
    ReadReply,
    ReplyParsing,
    Sample,
    Sizes,
    UserFunctionError,
    Verdict,
    World,
)
from utils.errors import UserError
from utils.functions.fingerprints import READING, code_digest, digest
from utils.images import read_header
from utils.text import cut, did_you_mean

SYSTEM_PROMPT = """You operate a computer. You are given a task and a screenshot of the screen as it is now, and you say what to do next. The next screenshot shows what came of it.

Reply with two lines:
Thought: what you see and what to do next, in one or two sentences.
Action: one of the actions below

click(x, y)    double_click(x, y)    triple_click(x, y)    right_click(x, y)    long_press(x, y)
move(x, y)
drag(x1, y1, x2, y2)
scroll(x, y, "down", 5)    # or "up", "left", "right"; 5 notches of the wheel
type("text")               # into what has the focus; "\\n" presses Enter
press("ctrl+a")            # one key, or several held together
wait(1)                    # seconds
back()    home()
open_app("Mail")
answer("text")             # the answer to a question; ends the task
done()                     # the task is completed; ends it
fail("why")                # the task cannot be completed; ends it

x and y are fractions of the width and height of the screenshot: 0.000 is its left or upper edge, 1.000 its right or lower edge."""  # noqa: E501
LONGEST_QUOTE = 160  # characters of a reply without an action, where an episode is shown


@dataclass(frozen=True, slots=True)
class LiveSettings:
    """What the config says of a live data set."""

    environment: Any = None  # the class that `environment` names
    max_steps: int = 50
    seeds: Sequence[int] = (0,)
    platforms: Sequence[str] = ()  # none: all
    tasks: Sequence[str] = ()  # ids, with * for any text; none: all
    history_images: int = 0  # earlier screenshots that a default prompt shows


class LiveBenchmark(Benchmark):
    """An agent in a live world: did it come to what the task asks for, and to nothing else?"""

    modes = ("all",)
    mode_column, text_key = "category", "instruction"
    result_suffix, score_suffix = "result", "score"
    result_columns = (
        "task_id",
        "seed",
        "instruction",
        "platform",
        "category",
        "apps",
        "success",
        "steps",
        "ended",
        "checks",
        "actions",
        "index",
    )
    result_has_line = False
    system_prompt = SYSTEM_PROMPT
    acts = True
    default_parse = staticmethod(parse_actions)
    budgets: ClassVar[tuple[int, ...]] = (15, 50)  # steps, as the authors report them

    def __init__(self, annotation_dir: Path, image_root: Path) -> None:
        super().__init__(annotation_dir, image_root)
        self.settings = LiveSettings()

    def configure(self, asked: Mapping[str, Any]) -> None:
        """Which tasks, and how they are played."""
        known = LiveSettings.__dataclass_fields__
        self.settings = LiveSettings(**{name: asked[name] for name in known if name in asked})

    # -- tasks ------------------------------------------------------------------------------------

    @cached_property
    def suites(self) -> dict[str, Suite]:
        """Where the tasks come from."""
        return suites_of(self.level, self.settings.environment)

    @cached_property
    def _tasks(self) -> dict[tuple[str, int], Task]:
        """The tasks that the config names, by id and seed; of an environment, all that it has."""
        return {
            (task["id"], task["seed"]): task
            for name, suite in self.suites.items()
            for task in tasks_of(name, suite, self.level, self.settings.seeds, self._is_wanted)
        }

    def _is_wanted(self, task_id: str) -> bool:
        """Whether the config asks for a task; it may still ask for other platforms alone."""
        patterns = self.settings.tasks
        return not patterns or any(fnmatch.fnmatch(task_id, pattern) for pattern in patterns)

    def _ids(self) -> list[str]:
        """All tasks that the config could name."""
        ids = [ids_of(name, suite, self.level) for name, suite in self.suites.items()]
        if None in ids:
            return list(dict.fromkeys(task_id for task_id, _ in self._tasks))
        return [task_id for of_suite in ids for task_id in of_suite or ()]

    @cached_property
    def _world_digests(self) -> dict[str, str]:
        """What decides, besides the task, how an episode ends in the worlds of each suite."""
        used = {task["suite"] for task in self._tasks.values()}
        return {name: world_digest(suite) for name, suite in self.suites.items() if name in used}

    def rules_digest(self) -> str:
        """Return a hash of how every episode goes: the loop, the default prompt's text and images.

        What the prompt says besides is in the run's request hashes; what reads replies belongs to
        the model's run.
        """
        codes = [
            code_digest(function, also=READING)
            for function in (play, read_turn, type(self).user_text, type(self).images_of)
        ]
        return digest([codes, self.settings.max_steps, self.settings.history_images])

    def load(self, mode: str) -> tuple[list[Sample], list[BadSample]]:
        """The tasks that the config asks for.

        Raises:
            UserError: it names a task that does not exist, or none is left.
        """
        ids = self._ids() if self.settings.tasks else []
        place = f"data.{self.name}.tasks"
        for pattern in self.settings.tasks:
            if not fnmatch.filter(ids, pattern):
                hint = did_you_mean(pattern, ids) or f"; the first of {len(ids)} is {ids[0]}"
                raise UserError(f'{place}: there is no task "{pattern}"{hint}')
        asked = [line for line in self.rows([], mode) if self.in_mode(line, mode)]
        if not asked:
            raise UserError(f"data.{self.name}: no task matches all of its keys")
        return [Sample(_key_of(self.name, line), line, None, None) for line in asked], []

    def rows(self, annotations: Iterable[Mapping[str, Any]], mode: str) -> Iterator[Line]:
        """What is told of each task; the rest stays with the world."""
        wanted = self.settings
        for number, task in enumerate(self._tasks.values()):
            if wanted.platforms and task["platform"] not in wanted.platforms:
                continue
            if not self._is_wanted(task["id"]):
                continue
            copied = {name: task[name] for name in ("platform", "category", "apps", "seed")}
            yield {
                "index": number,
                "task_id": task["id"],
                "instruction": task["goal"],
                **copied,
                "app_name": ", ".join(task["apps"]),
                "max_steps": wanted.max_steps,
                # Equal for two episodes only if the same actions come to the same.
                "version": digest([task, self._world_digests[task["suite"]]])[:12],
            }

    def source(self) -> tuple[str, bytes]:
        """The tasks as they are asked, in place of an annotation file."""
        lines = [json.dumps(line, sort_keys=True) for line in self.rows([], "all")]
        return f"{self.level}_tasks", "\n".join(lines).encode("ascii")

    def problems(self) -> list[str]:
        """What the worlds of its tasks miss on this machine."""
        used = {line["task_id"].partition("/")[0] for line in self.rows([], "all")}
        found = [
            problem
            for name, suite in self.suites.items()
            if name in used
            for problem in problems_of(suite)
        ]
        return list(dict.fromkeys(found))

    def user_text(self, line: Line) -> str:
        """The task, what was done so far, and the question."""
        said = history_text(line.get("history", ()))
        so_far = f"Your actions so far:\n{said}\n\n" if said else ""
        step, last = line.get("step", 1), line.get("max_steps", self.settings.max_steps)
        now = f"This is the screen now (step {step} of at most {last}). What do you do next?"
        return f"Task: {line['instruction']}\n\n{so_far}{now}"

    def images_of(self, line: Line) -> list[str]:
        """Earlier screenshots, as many as the config says, and the one of now."""
        kept = self.settings.history_images
        shown = [step["image_path"] for step in line.get("history", ())[-kept:]] if kept else []
        return shown + ([line["image_path"]] if "image_path" in line else [])

    # -- episodes ---------------------------------------------------------------------------------

    def open_world(self, shots: Path) -> World:
        """A world for the tasks of all suites."""
        shots.mkdir(parents=True, exist_ok=True)
        return AnyWorld(self.suites, shots)

    def episode(
        self,
        sample: Sample,
        prompt_of: PromptOf,
        world: World | None = None,
        reading: ReplyParsing | None = None,
    ) -> Episode:
        """Plays one task; returns what it came to, for `judge`."""
        assert world is not None and reading is not None
        line = sample.line
        first = world.reset(self._tasks[line["task_id"], line["seed"]])
        read = partial(read_turn, reading)
        played = yield from play(line, first, world, prompt_of, read, line["max_steps"])
        outcome: Outcome
        if played.ended == "crash":
            outcome = Outcome(False, [(False, "the world goes on: an action made it fail, twice")])
        else:
            outcome = world.evaluate()
        steps = [{**step, "image_path": Path(step["image_path"]).name} for step in played.steps]
        last = None if played.last is None else played.last.image.name
        error = played.error
        return {
            "success": bool(outcome.success),
            "steps": len(steps),
            "ended": played.ended,
            "checks": [[bool(ok), str(text)] for ok, text in outcome.lines],
            "trajectory": steps,
            "last_image": last,
            "shown": _shown(played.ended, played.steps),
            **({"error": [error.stage, error.summary, error.trace]} if error else {}),
        }

    def read_reply(
        self, reading: ReplyParsing, sample: Sample, prompt: Prompt, generation: Generation
    ) -> ReadReply:
        """What the reply to an episode's first prompt asks for."""
        assert prompt.image is not None
        screen_wh = read_header(prompt.image).wh
        state = state_of(sample.line, prompt.image, screen_wh, [], sample.line["max_steps"])
        read = read_turn(reading, generation, state, screen_wh)
        if read.actions:
            return ReadReply([str(action) for action in read.actions])
        text = generation.text if generation.reply is None else generation.reply
        problem = str(read.error) if read.error else read.why
        return ReadReply(problem=problem, better_parser=better_parser([text]))

    # -- judging ----------------------------------------------------------------------------------

    def accept(self, parsed: Any) -> Any:
        """Actions are read while the episode goes on."""
        return parsed

    def judge(
        self, line: Line, sizes: Sizes, reply: Any, parse: ParseFunction, meta_extra: Line
    ) -> Judgement:
        """What an episode came to; None: it could not be played to its end."""
        return self.judge_parsed(line, sizes, reply, None)

    def judge_parsed(self, line: Line, sizes: Sizes, parsed: Any, reply: str | None) -> Judgement:
        """A hit if the world is as the task asks for."""
        came = parsed or {
            "success": False,
            "steps": line["max_steps"],
            "ended": "environment",
            "checks": [],
            "trajectory": [],
        }
        hit = bool(came["success"])
        verdict = (
            Verdict.HIT
            if hit
            else Verdict.UNPARSED
            if came["ended"] == "unread"
            else (Verdict.MISS)
        )
        counted = TaskResult(
            hit, came["steps"], line["platform"], line["category"], tuple(line["apps"])
        )
        columns = {
            **{
                name: line[name]
                for name in ("task_id", "seed", "instruction", "platform", "category", "index")
            },
            "apps": ", ".join(line["apps"]),
            "success": int(hit),
            "steps": came["steps"],
            "ended": came["ended"],
            "actions": came.get("shown", ""),
            "checks": "\n".join(f"{'✓' if ok else '✗'} {text}" for ok, text in came["checks"]),
        }
        facts = {
            "split": line["category"],
            "kind": None,
            "text": line["instruction"],
            "hit": int(hit),
            "image": line["task_id"],  # what variants share, as questions share an image
            "task": line["task_id"],
            "apps": line["apps"],
            "steps": came["steps"],
            "ended": came["ended"],
            "checks": came["checks"],
            "trajectory": came["trajectory"],
            "last_image": came.get("last_image"),
        }
        error = UserFunctionError(*came["error"]) if came.get("error") else None
        better = ""
        if verdict is Verdict.UNPARSED:
            unread = [step["reply"] for step in came["trajectory"] if not step["actions"]]
            better = better_parser(unread)
        verdict_or_none = None if parsed is None else verdict
        return Judgement(verdict_or_none, counted, columns, facts, error, better)

    def summarise(self, counted: Iterable[Any], settings: Mapping[str, str]) -> Scores:
        """Success rate and efficiency at each budget, in all and by platform."""
        return score_episodes(list(counted), self._budgets())

    def sections(self, columns: SampleColumns, settings: Mapping[str, str]) -> dict[str, Any]:
        """The same figures with intervals."""
        return episode_sections(columns, self.title, self._budgets())

    def _budgets(self) -> list[int]:
        """Those of the authors that the episodes reach, and their own."""
        own = self.settings.max_steps
        return sorted({own, *(each for each in self.budgets if each < own)})


def _key_of(name: str, line: Line) -> str:
    return digest([name, line["task_id"], line["seed"]])[:16]


def _shown(end_reason: str, steps: Sequence[Mapping[str, Any]]) -> str:
    """An episode in one text, a line a step; a reply without an action is quoted."""
    lines = []
    for number, step in enumerate(steps, 1):
        actions = "; ".join(step["said"])
        if not actions:
            actions = f"(no action in: {cut(step['reply'], LONGEST_QUOTE)})"
        lines.append(f"{number}. {actions}")
    return "\n".join([*lines, f"ended: {end_reason}"])
