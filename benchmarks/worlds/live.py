"""The common part of L3 and L4: tasks, prompts, episodes in worlds, judged by the world's state."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar

from benchmarks.actions.dialects import better_parser, parse_actions
from benchmarks.base import BadSample, Benchmark
from benchmarks.episode_figures import episode_sections
from benchmarks.matrics import ENVIRONMENT, Scores, score_episodes
from benchmarks.worlds.environment import Outcome
from benchmarks.worlds.episode import (
    EpisodeLimits,
    EpisodeResult,
    Trajectory,
    parse_response,
    play,
    state_of,
)
from benchmarks.worlds.judging import judgement_of
from benchmarks.worlds.section import LiveSection
from benchmarks.worlds.suites import (
    AnyWorld,
    Suite,
    Task,
    fits_pattern,
    ids_of,
    is_requested,
    no_applications,
    problems_of,
    suites_of,
    tasks_of,
    world_digest,
)
from utils.analysis.columns import SampleColumns
from utils.contracts import (
    ActingBenchmark,
    Episode,
    Generation,
    Judgement,
    Line,
    Message,
    ParseFunction,
    Prompt,
    PromptOf,
    ReadReply,
    ReplyParsing,
    Sample,
    Sizes,
    World,
)
from utils.errors import UserError
from utils.functions.fingerprints import READING, code_digest, digest
from utils.geometry.images import read_header
from utils.protocol import WORLD_FAILURE
from utils.text import did_you_mean

SYSTEM_PROMPT = """You operate a computer to do a task. You get a screenshot, say what to do, and get the next one, with a note on an action where there is something to say about it.

Reply with a thought and with one action or up to 8, each on a line of its own:
Thought: what you see, what of it you will need later, and what to do next
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

x and y are fractions of the width and height of the screenshot: 0.000 is its left or upper edge, 1.000 its right or lower edge. Keys are characters and ctrl, alt, shift, meta, enter, tab, escape, backspace, delete, insert, space, up, down, left, right, home, end, pageup, pagedown, f1 to f12.

Actions are done in order, up to the first that fails. You see the latest screenshots only, but all of your replies: what you will need later must stand in a thought."""  # noqa: E501
APPLICATIONS = "The applications: {names}."
OMITTED = "(The screenshot of this step is no longer shown.)"
NO_REPLY = "(no reply)"
NOT_PLAYED = "failed"  # how an episode ends to whose prompt there was no reply


@dataclass(frozen=True, slots=True)
class LiveSettings:
    """The config's settings for a live data set."""

    environment: Any = None  # the class that `environment` names
    environment_args: Mapping[str, Any] = field(default_factory=dict)  # what it is made with
    max_steps: int = 50
    seeds: Sequence[int] = (0,)
    platforms: Sequence[str] = ()  # none: all
    tasks: Sequence[str] = ()  # ids, with * for any text; none: all
    history_images: int = 2  # earlier screenshots that a default prompt shows
    tell_steps: bool = False  # whether a default prompt says how many steps are left
    max_tokens_per_episode: int | None = None  # of all its requests and replies; None: any number


class LiveBenchmark(Benchmark, ActingBenchmark):
    """Tasks for an agent in a live world, which must do what a task asks for and nothing else."""

    modes = ("all",)
    mode_column, text_key = "category", "instruction"
    result_columns = (
        "task_id",
        "seed",
        "instruction",
        "platform",
        "category",
        "apps",
        "tier",
        "feasible",
        "success",
        "partial",
        "steps",
        "action_count",
        "ended",
        "checks",
        "actions",
        "index",
    )
    system_prompt = SYSTEM_PROMPT
    config_section = LiveSection
    default_parse = staticmethod(parse_actions)
    audits = ("utils.analysis.constant_ending.constant_ending",)
    budgets: ClassVar[tuple[int, ...]] = (15, 50)  # steps, as the authors report them

    def __init__(self, annotation_dir: Path, image_root: Path) -> None:
        super().__init__(annotation_dir, image_root)
        self.settings = LiveSettings()

    def configure(self, requested: Mapping[str, Any]) -> None:
        """Take from the config which tasks there are, and how they are played."""
        names = LiveSettings.__dataclass_fields__
        self.settings = LiveSettings(
            **{name: requested[name] for name in names if name in requested}
        )

    # -- tasks ------------------------------------------------------------------------------------

    @cached_property
    def suites(self) -> dict[str, Suite]:
        """The suites that the tasks come from, by name."""
        settings = self.settings
        return suites_of(self.level, settings.environment, settings.environment_args)

    @cached_property
    def _tasks(self) -> dict[tuple[str, int], Task]:
        """The tasks that the config names, by id and seed; of an environment, all that it has."""
        return {
            (task["id"], task["seed"]): task
            for name, suite in self.suites.items()
            for task in tasks_of(name, suite, self.level, self.settings.seeds, self._is_requested)
        }

    def _is_requested(self, task_id: str) -> bool:
        """Whether the config's `tasks` have a task; `platforms` may still leave it out."""
        return is_requested(task_id, self.settings.tasks)

    def _ids(self) -> list[str]:
        """Return all tasks that the config could name."""
        ids: list[str] = []
        for name, suite in self.suites.items():
            suite_ids = ids_of(name, suite, self.level)
            if suite_ids is None:  # an environment, which is the only suite then
                return list(dict.fromkeys(task_id for task_id, _ in self._tasks))
            ids += suite_ids
        return ids

    @cached_property
    def _world_digests(self) -> dict[str, str]:
        """A hash for each suite of all that decides the end of an episode, besides its task."""
        used = {task["suite"] for task in self._tasks.values()}
        return {name: world_digest(suite) for name, suite in self.suites.items() if name in used}

    def rules_digest(self) -> str:
        """A hash of how every episode goes: the loop, and the default prompt in the midst of one.

        What the prompt says of a task is in the run's request hashes; what reads replies belongs to
        the model's run.
        """
        settings = self.settings
        steps = [
            {"image_path": "", "reply": reply, "note": note}
            for reply, note in (("", "A note."), ("A reply.", ""))
        ]
        history = steps * (settings.history_images + 1)  # one step at least without its image
        line = {"task_id": "", "instruction": "", "image_path": "", "history": history}
        rules = [settings.max_steps, settings.history_images, settings.tell_steps]
        code = code_digest(play, also=READING)
        return digest([code, self.build_prompt(line), rules, settings.max_tokens_per_episode])

    def load(self, mode: str, *, needs_images: bool = True) -> tuple[list[Sample], list[BadSample]]:
        """Return the tasks that the config asks for; none of them is bad.

        Raises:
            UserError: it names a task that does not exist or is not played, or none is left.
        """
        ids = self._ids() if self.settings.tasks else []
        for pattern in self.settings.tasks:
            self._check_pattern(pattern, ids)
        samples = [
            Sample(self._key_of(line), line, None, None)
            for line in self.rows(mode)
            if self.in_mode(line, mode)
        ]
        if not samples:
            raise UserError(f"data.{self.name}: no task matches all of its keys")
        return samples, []

    def _check_pattern(self, pattern: str, ids: Sequence[str]) -> None:
        """Raise a `UserError` if a pattern of the config's `tasks` gets none of the tasks."""
        key = f"data.{self.name}.tasks"
        fitting_ids = [task_id for task_id in ids if fits_pattern(task_id, pattern)]
        if not fitting_ids:
            hint = did_you_mean(pattern, ids) or f"; the first of {len(ids)} is {ids[0]}"
            raise UserError(f'{key}: there is no task "{pattern}"{hint}')
        if not any(is_requested(task_id, [pattern]) for task_id in fitting_ids):
            names = dict.fromkeys(task_id.partition("/")[0] for task_id in fitting_ids)
            beginnings = " or ".join(f'"{name}/"' for name in names)
            raise UserError(
                f'{key}: "{pattern}" fits only tasks of {" and ".join(names)}, and these need a '
                f'pattern that begins with {beginnings}, such as "{next(iter(names))}/*"'
            )

    def _key_of(self, line: Line) -> str:
        return digest([self.name, line["task_id"], line["seed"]])[:16]

    def rows(self, mode: str) -> Iterator[Line]:
        """Yield what models are told of each task; the rest stays with its world."""
        platforms = self.settings.platforms
        for index, task in enumerate(self._tasks.values()):
            if platforms and task["platform"] not in platforms:
                continue
            if not self._is_requested(task["id"]):
                continue
            tier = {"tier": task["tier"]} if task.get("tier") else {}
            yield {
                "index": index,
                "task_id": task["id"],
                "instruction": task["goal"],
                "platform": task["platform"],
                "category": task["category"],
                **tier,
                "apps": task["apps"],
                "seed": task["seed"],
                "app_name": ", ".join(task["apps"]),
                "max_steps": self.settings.max_steps,
                # Equal for two episodes only if the same actions have the same effect.
                "version": digest([task, self._world_digests[task["suite"]]])[:12],
            }

    def source(self) -> tuple[str, bytes]:
        """Return the requested tasks, in place of an annotation file."""
        lines = [json.dumps(line, sort_keys=True) for line in self.rows("all")]
        return f"{self.level}_tasks", "\n".join(lines).encode("ascii")

    def problems(self) -> list[str]:
        """All that the worlds of its tasks lack on this machine."""
        used = {line["task_id"].partition("/")[0] for line in self.rows("all")}
        suites = [suite for name, suite in self.suites.items() if name in used]
        return list(dict.fromkeys(problem for suite in suites for problem in problems_of(suite)))

    def user_text(self, line: Line) -> str:
        """Return the task."""
        return f"Task: {line['instruction']}"

    def build_prompt(
        self, line: Line, use_system: bool = True, custom_system_prompt: str | None = None
    ) -> list[Message]:
        """Return the episode as a conversation: screens, the model's own whole replies, notes."""
        messages = []
        if use_system:
            text = custom_system_prompt or self.system_prompt + self._applications(line)
            messages.append(_text("system", text))
        messages.append(_text("user", self.user_text(line)))
        history = line.get("history", ())
        for number, step in enumerate(history):
            if number >= len(history) - self.settings.history_images:
                messages.append(_image(step["image_path"]))
            else:
                messages.append(_text("user", OMITTED))
            messages.append(_text("assistant", step["reply"] or NO_REPLY))
            if step["note"]:
                messages.append(_text("user", step["note"]))
        if "image_path" in line:
            messages.append(_image(line["image_path"]))
        if self.settings.tell_steps:
            max_steps = line.get("max_steps", self.settings.max_steps)
            steps = f"This is step {line.get('step', 1)} of at most {max_steps}."
            messages.append(_text("user", steps))
        return messages

    def _applications(self, line: Line) -> str:
        """Return the sentence on the applications of a task's suite; "" if it names none."""
        suite = self.suites.get(str(line["task_id"]).partition("/")[0])
        names = getattr(suite, "applications", no_applications)(self.level)
        return f"\n\n{APPLICATIONS.format(names=', '.join(names))}" if names else ""

    # -- episodes ---------------------------------------------------------------------------------

    def open_world(self, shots: Path, number: int = 0) -> World:
        """Return a new world for the tasks of all suites; `number`: among those that are open."""
        shots.mkdir(parents=True, exist_ok=True)
        return AnyWorld(self.suites, shots, number)

    def episode(
        self,
        sample: Sample,
        prompt_of: PromptOf,
        world: World,
        reading: ReplyParsing,
    ) -> Episode:
        """Play one task; return its `EpisodeResult` in plain data, for `judge`."""
        line = sample.line
        task = self._tasks[line["task_id"], line["seed"]]
        observation = world.reset(task)
        parse_reply = partial(parse_response, reading)
        limits = EpisodeLimits(line["max_steps"], self.settings.max_tokens_per_episode)
        trajectory: Trajectory = yield from play(
            line, observation, world, prompt_of, parse_reply, limits
        )
        if trajectory.end_reason == "crash":
            outcome = Outcome(False, [(False, "the world goes on: an action made it fail, twice")])
        else:
            outcome = world.evaluate()
        feasible = task.get("feasible", True)
        return EpisodeResult.of(trajectory, outcome, feasible=feasible).to_json()

    def read_reply(
        self, reading: ReplyParsing, sample: Sample, prompt: Prompt, generation: Generation
    ) -> ReadReply:
        """The actions that the reply to an episode's first prompt asks for."""
        assert prompt.image is not None
        screen_wh = read_header(prompt.image).wh
        state = state_of(sample.line, prompt.image, screen_wh, [], sample.line["max_steps"])
        parsed = parse_response(reading, generation, state, screen_wh)
        if parsed.actions:
            return ReadReply([str(action) for action in parsed.actions])
        text = generation.response if generation.reply is None else generation.reply
        problem = str(parsed.error) if parsed.error else parsed.problem
        return ReadReply(problem=problem, better_parser=better_parser([text]))

    # -- judging ----------------------------------------------------------------------------------

    def judge(
        self, line: Line, sizes: Sizes, reply: Any, parse: ParseFunction, meta_extra: Line
    ) -> Judgement:
        """Judge what `episode` returned; None: it could not be played to its end."""
        if reply is None:
            is_of_world = meta_extra.get("failure") == WORLD_FAILURE
            end_reason = ENVIRONMENT if is_of_world else NOT_PLAYED
            result = EpisodeResult(False, line["max_steps"], end_reason)
        else:
            result = EpisodeResult.from_json(reply)
        return judgement_of(
            line,
            result,
            is_played=reply is not None,
            feasible=self._is_feasible(line) if result.feasible is None else result.feasible,
            cost=meta_extra.get("cost") or {},
        )

    def judge_parsed(self, line: Line, sizes: Sizes, parsed: Any, reply: str | None) -> Judgement:
        """Judge what `episode` returned, without its cost."""
        return self.judge(line, sizes, parsed, self.default_parse, {})

    def _is_feasible(self, line: Line) -> bool | None:
        """Whether a task can be done, by the tasks of today; None: it is none of them."""
        try:
            task = self._tasks.get((line["task_id"], line["seed"]))
        except Exception:  # noqa: BLE001 - an environment may raise anything
            return None
        return None if task is None else task.get("feasible", True)

    def summarise(self, counted: Iterable[Any], settings: Mapping[str, str]) -> Scores:
        """Return success rate and efficiency at each budget, in all and by platform."""
        return score_episodes(list(counted), self._budgets())

    def sections(self, columns: SampleColumns, settings: Mapping[str, str]) -> dict[str, Any]:
        """Return the same figures with intervals."""
        return episode_sections(columns, self.title, self._budgets())

    def _budgets(self) -> list[int]:
        """Return those of the authors that the episodes reach, and the episodes' own."""
        max_steps = self.settings.max_steps
        return [*(budget for budget in self.budgets if budget < max_steps), max_steps]


def _text(role: str, text: str) -> Message:
    return {"role": role, "type": "text", "value": text}


def _image(path: str) -> Message:
    return {"role": "user", "type": "image", "value": path}
