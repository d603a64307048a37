"""One episode: screenshot → prompt → reply → actions → next screenshot, until it is over."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from benchmarks.actions.action import ENDS, Action, NoAction
from benchmarks.actions.reading import pointer_after, read_actions
from benchmarks.base import meta_of
from benchmarks.worlds.environment import Observation, Outcome
from utils.contracts import (
    WH,
    Generation,
    Line,
    Point,
    Prompt,
    PromptOf,
    ReplyParsing,
    ToolCall,
    UserFunctionError,
    World,
    WorldError,
)
from utils.geometry.images import read_header
from utils.text import cut

MAX_CRASHES = 2  # of a world by one action: then the model has done it, and the episode is over
MAX_UNPARSED_IN_A_ROW = 3  # replies without an action: then the episode is over
LONGEST_REPLY = 4000  # characters that are shown to people
LONGEST_QUOTE = 160  # characters of a reply without an action, where an episode is shown
TOKENS = ("prompt_tokens", "completion_tokens")
NO_ACTION = "No action could be read in this reply"
UNCHANGED = "The screen did not change."
STILL_THE_SAME = "The screen is still the same."  # after a wait, which was done all the same
NOT_DONE = "Not done, because the action before it failed."


@dataclass(frozen=True, slots=True)
class EpisodeLimits:
    """The maximum numbers of steps and tokens of an episode."""

    max_steps: int
    max_tokens: int | None = None  # of all requests and replies; None: any number


@dataclass(frozen=True, slots=True)
class ParsedReply:
    """The actions of a reply, or why it has none."""

    actions: tuple[Action, ...] = ()
    problem: str = ""  # why it has no action, in words for the model
    error: UserFunctionError | None = None  # of a function that should have read it


@dataclass(slots=True)
class Step:
    """One reply of an episode: the screen it was given, its actions, what came of them."""

    observation: Observation  # before the actions
    screen_wh: WH
    reply: str
    actions: tuple[Action, ...]
    notes: list[str] = field(default_factory=list)  # on each action that was to be done
    done_count: int = 0  # of the actions, tried ones; those behind one that failed were not
    problem: str = ""  # why there are no actions
    is_settled: bool | None = None  # the screen was quiet in time; None: nothing was done
    tool_calls: Sequence[ToolCall] = ()  # native ones of the reply
    message: Any = None  # the reply in the form of the model's own API

    @property
    def calls(self) -> list[str]:
        """The actions in the default prompt's words."""
        return [str(action) for action in self.actions]

    @property
    def note(self) -> str:
        """The feedback on the reply in words for the model; "" if there is none."""
        if not self.actions:
            return f"{NO_ACTION}: {self.problem}" if self.problem else NO_ACTION
        if len(self.actions) == 1:
            return "".join(self.notes)
        pairs = zip(self.calls, self.notes, strict=False)
        return "\n".join(f"{call}: {note}" for call, note in pairs if note)

    def history_entry(self) -> dict[str, Any]:
        """The entry of this step in the history that later prompts get."""
        return {
            "image_path": str(self.observation.image),
            "image_size": list(self.screen_wh),
            "reply": self.reply,
            "note": self.note,
            "notes": self.notes,
            "actions": self.calls,
            "tool_calls": list(self.tool_calls),
            "message": self.message,
        }

    def record(self) -> dict[str, Any]:
        """Return the step as logs have it; its image lies with the run's screenshots."""
        fields: dict[str, Any] = {
            "image_path": self.observation.image.name,
            "image_size": list(self.screen_wh),
            "app": self.observation.app,
            "reply": _shortened(self.reply),
            "note": self.note,
            "actions": [_without_defaults(action) for action in self.actions[: self.done_count]],
            "said": self.calls,
        }
        if self.is_settled is not None:
            fields["settled"] = self.is_settled
        return fields


@dataclass(frozen=True, slots=True)
class Trajectory:
    """An episode that is over."""

    # "done", "answer", "fail", "budget", "unread", "world" (which ended it itself), or "crash" (it
    # has failed by an action of the model, twice)
    end_reason: str
    steps: list[Step]
    last: Observation
    error: UserFunctionError | None = None  # why replies could not be read

    def __str__(self) -> str:
        """Write a line for each step; a reply without an action is quoted."""
        texts = [
            "; ".join(step.calls) or f"(no action in: {cut(step.reply, LONGEST_QUOTE)})"
            for step in self.steps
        ]
        lines = [f"{number}. {text}" for number, text in enumerate(texts, 1)]
        return "\n".join([*lines, f"ended: {self.end_reason}"])


@dataclass(frozen=True, slots=True)
class EpisodeResult:
    """The result of an episode for scores and pages; `to_json` is its form in logs."""

    success: bool
    step_count: int
    end_reason: str
    checks: Sequence[Sequence[Any]] = ()  # pairs: whether it holds, what was checked
    trajectory: Sequence[Mapping[str, Any]] = ()  # `Step.record` of each step
    last_image: str | None = None
    text: str = ""  # of the trajectory, for people
    error: UserFunctionError | None = None
    partial: float | None = None  # as in `Outcome`; 1 for a success
    feasible: bool | None = None  # whether the task can be done; None: not known

    @property
    def action_count(self) -> int:
        """The number of actions that were done."""
        return sum(len(step["actions"]) for step in self.trajectory)

    @classmethod
    def of(cls, trajectory: Trajectory, outcome: Outcome, *, feasible: bool) -> EpisodeResult:
        """Return the result of an episode; `outcome` is what its world was judged to be."""
        partial = outcome.partial
        if partial is not None and outcome.success:
            partial = 1.0
        return cls(
            success=bool(outcome.success),
            step_count=len(trajectory.steps),
            end_reason=trajectory.end_reason,
            checks=[[bool(is_met), str(text)] for is_met, text in outcome.lines],
            trajectory=[step.record() for step in trajectory.steps],
            last_image=trajectory.last.image.name,
            text=str(trajectory),
            error=trajectory.error,
            partial=partial,
            feasible=feasible,
        )

    def to_json(self) -> dict[str, Any]:
        """Return the result in plain data."""
        fields: dict[str, Any] = {
            "success": self.success,
            "steps": self.step_count,
            "ended": self.end_reason,
            "checks": self.checks,
            "trajectory": self.trajectory,
            "last_image": self.last_image,
            "shown": self.text,
            "feasible": self.feasible,
        }
        if self.partial is not None:
            fields["partial"] = self.partial
        if self.error:
            fields["error"] = [self.error.stage, self.error.summary, self.error.trace]
        return fields

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> EpisodeResult:
        """Return the result that `to_json` wrote."""
        error = fields.get("error")
        return cls(
            success=bool(fields["success"]),
            step_count=fields["steps"],
            end_reason=fields["ended"],
            checks=fields["checks"],
            trajectory=fields["trajectory"],
            last_image=fields.get("last_image"),
            text=fields.get("shown", ""),
            error=UserFunctionError(*error) if error else None,
            partial=fields.get("partial"),
            feasible=fields.get("feasible"),
        )


def play(
    line: Line,
    observation: Observation,
    world: World,
    prompt_of: PromptOf,
    parse_reply: Callable[[Generation, Line, WH], ParsedReply],
    limits: EpisodeLimits,
) -> Generator[Prompt, Generation, Trajectory]:
    """Yield the prompts of an episode that has begun; `send` takes the response to each.

    A step is one reply.

    Args:
        line: the task's; each prompt gets it with the state of the episode, see `state_of`.
        observation: the first screen.
        world: where to act.
        prompt_of: makes the prompt of a line.
        parse_reply: reads a response, given the line of its prompt and the size of the screen.
        limits: after which the episode is over.
    """
    steps: list[Step] = []
    unparsed_in_a_row = 0
    token_count = 0
    max_tokens = math.inf if limits.max_tokens is None else limits.max_tokens
    while len(steps) < limits.max_steps and token_count < max_tokens:
        screen_wh = read_header(observation.image).wh
        state = state_of(line, observation.image, screen_wh, steps, limits.max_steps)
        generation = yield replace(prompt_of(state), image=observation.image)
        token_count += sum(generation.usage.get(kind) or 0 for kind in TOKENS)
        parsed = parse_reply(generation, state, screen_wh)
        step = Step(
            observation,
            screen_wh,
            generation.response,
            parsed.actions,
            problem=parsed.problem,
            tool_calls=generation.tool_calls,
            message=generation.message,
        )
        steps.append(step)
        if parsed.actions:
            unparsed_in_a_row = 0
            observation, end_reason = _act(world, step)
            if end_reason:
                return Trajectory(end_reason, steps, observation)
            continue
        unparsed_in_a_row += 1
        if unparsed_in_a_row == MAX_UNPARSED_IN_A_ROW:
            return Trajectory("unread", steps, observation, parsed.error)
    return Trajectory("budget", steps, observation)


def _act(world: World, step: Step) -> tuple[Observation, str]:
    """Do the actions of a reply in order, up to one that fails or that ends the episode.

    An action has failed if the world has a note on it. Notes and counts go into `step`. Returns the
    screen after the last action, and why the episode is over ("": it goes on).
    """
    observation = step.observation
    for action in step.actions:
        image_before = observation.image
        step.done_count += 1
        try:
            observation = world.step(action)
        except WorldError as error:
            if error.deaths < MAX_CRASHES:
                raise
            step.notes.append(f"The world failed by this: {error}")
            step.is_settled = False
            return observation, "crash"
        step.is_settled = observation.state_ok
        is_end = action.kind in ENDS
        note = observation.note
        if step.notes[-1:] == [STILL_THE_SAME]:  # only of the last of what was done
            step.notes[-1] = ""
        if not note and not is_end and observation.image == image_before:
            note = STILL_THE_SAME if action.kind == "wait" else UNCHANGED
        step.notes.append(" ".join(filter(None, [action.remark, note])))
        if is_end:
            return observation, action.kind
        if observation.has_ended:
            return observation, "world"
        if observation.note:
            break
    step.notes += [NOT_DONE] * (len(step.actions) - step.done_count)
    return observation, ""


def state_of(
    line: Line, screenshot: Path, screen_wh: WH, steps: Sequence[Step], max_steps: int
) -> Line:
    """The line that prompt and parse functions get: the task's, with the state of its episode.

    That is `image_path` and `image_size` of the screen now, `pointer` (where the mouse is, in
    fractions; None before it was moved), `step` (from 1), `max_steps`, and `history`: of each
    earlier step its `image_path`, `image_size`, `reply`, `actions` (as texts), the `notes` on what
    came of each of them and, in one text, `note`; its native `tool_calls`, and `message`: the whole
    reply in the form of the model's own API, None where there is none.
    """
    return {
        **line,
        "image_path": str(screenshot.absolute()),  # `image_path_of` leaves it as it is
        "image_size": list(screen_wh),
        "pointer": _pointer(steps),
        "step": len(steps) + 1,
        "max_steps": max_steps,
        "history": [step.history_entry() for step in steps],
    }


def _pointer(steps: Sequence[Step]) -> Point | None:
    """Return the position of the mouse after all actions; None: none has moved it."""
    done = [action for step in steps for action in step.actions[: step.done_count]]
    return next(filter(None, map(pointer_after, reversed(done))), None)


def parse_response(
    reading: ReplyParsing, generation: Generation, state: Line, screen_wh: WH
) -> ParsedReply:
    """Return the actions of a response; a function that raises leaves it unparsed."""
    sizes = {
        "file_size": screen_wh,
        "sent_size": generation.sizes.sent_wh,
        "seen_size": generation.sizes.seen_wh,
    }
    known_sizes = {name: size for name, size in sizes.items() if size}
    try:
        reply = generation.reply
        if reply is None:
            reply = reading.postprocess(generation.response)
        fields = {**state, **known_sizes, **reading.limits}
        if generation.tool_calls:
            fields["tool_calls"] = list(generation.tool_calls)
        try:
            meta = meta_of(fields)
        except RecursionError:
            return ParsedReply(problem="the arguments of a tool call are nested too deep")
        parsed = reading.parse(reply, meta)
        return ParsedReply(read_actions(parsed, screen_wh, state.get("pointer")) or ())
    except NoAction as error:
        return ParsedReply(problem=str(error))
    except UserFunctionError as error:
        if isinstance(error.__cause__, NoAction):
            return ParsedReply(problem=str(error.__cause__))
        return ParsedReply(error=error)


def _without_defaults(action: Action) -> dict[str, Any]:
    defaults = asdict(Action(action.kind))
    return {
        name: value
        for name, value in asdict(action).items()
        if name != "remark" and (name == "kind" or value != defaults[name])
    }


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST_REPLY else f"{text[:LONGEST_REPLY]}…"
