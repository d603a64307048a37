"""One episode: screenshot → prompt → reply → actions → what they came to, until it is over."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from benchmarks.base import meta_of
from benchmarks.worlds.actions import ENDS, Action, NoAction, Observation, read_actions
from utils.contracts import (
    WH,
    Generation,
    Line,
    Prompt,
    PromptOf,
    ReplyParsing,
    UserFunctionError,
    World,
    WorldError,
)
from utils.images import read_header

DEATHS = 2  # of an episode's world by an action of the model: then it is the model's doing
UNREAD_IN_A_ROW = 3  # replies without an action: then the episode is over
LONGEST_REPLY = 4000  # characters that are shown to people, and to the model as its own words
NO_ACTION = "No action could be read in this reply"


@dataclass(frozen=True, slots=True)
class Read:
    """What a reply says: its actions, or why there are none."""

    actions: tuple[Action, ...] = ()
    why: str = ""  # it has none, in words for the model
    error: UserFunctionError | None = None  # of a function that should have read it


ReadActions = Callable[[Generation, Line, WH], Read]


@dataclass(frozen=True, slots=True)
class Played:
    """What came of an episode until it was over."""

    # "done", "answer", "fail", "budget", "unread", "world" (which ended it itself), or "crash" (it
    # has failed by an action of the model, twice)
    ended: str
    steps: list[dict[str, Any]] = field(default_factory=list)
    last: Observation | None = None  # what there was to see in the end
    error: UserFunctionError | None = None  # why replies could not be read


Turns = Generator[Prompt, Generation, Played]


def play(
    line: Line,
    first: Observation,
    world: World,
    prompt_of: PromptOf,
    read: ReadActions,
    max_steps: int,
) -> Turns:
    """The prompts of an episode that has begun, each sent what the model said to it.

    A step is one reply. Of a reply with several actions all are done, up to one that ends it.

    Args:
        line: what is told of the task; each prompt gets it with `image_path`, `image_size` of the
            screen now, `step` (from 1), `max_steps`, and `history`: of each earlier step its
            `image_path`, `reply`, `actions` (as texts), and the `note` on what came of them.
        first: what there is to see at the beginning.
    """
    seen, steps, unread = first, list[dict[str, Any]](), 0
    while len(steps) < max_steps:
        screen_wh = read_header(seen.image).wh
        here = {"image_path": str(seen.image), "image_size": list(screen_wh)}
        told = state_of(line, seen.image, screen_wh, steps, max_steps)
        said = yield replace(prompt_of(told), image=seen.image)
        found = read(said, told, screen_wh)
        steps.append(
            {
                **here,
                "app": seen.app,
                "reply": _cut(said.text),
                "note": "",
                "actions": [_fields(action) for action in found.actions],
                "said": [str(action) for action in found.actions],
            }
        )
        if not found.actions:
            steps[-1]["note"] = ": ".join(filter(None, (NO_ACTION, found.why)))
            unread += 1
            if unread == UNREAD_IN_A_ROW:
                return Played("unread", steps, seen, found.error)
            continue
        unread = 0
        for action in found.actions:
            try:
                seen = world.step(action)
            except WorldError as error:
                if error.deaths < DEATHS:
                    raise
                steps[-1] |= {"note": f"The world failed by this: {error}", "settled": False}
                return Played("crash", steps, seen)
            steps[-1] |= {"note": seen.note, "settled": seen.state_ok}
            if action.kind in ENDS or seen.has_ended:
                ended = action.kind if action.kind in ENDS else "world"
                return Played(ended, steps, seen)
    return Played("budget", steps, seen)


def state_of(
    line: Line, screen: Path, screen_wh: WH, steps: Sequence[dict[str, Any]], max_steps: int
) -> Line:
    """Return what prompt and parse functions get: the task's line with the state of its episode."""
    return {
        **line,
        "image_path": str(screen),
        "image_size": list(screen_wh),
        "step": len(steps) + 1,
        "max_steps": max_steps,
        "history": [_told(step) for step in steps],
    }


def _told(step: dict[str, Any]) -> dict[str, Any]:
    """A step as later prompts may show it."""
    kept = {name: step[name] for name in ("image_path", "image_size", "reply", "note")}
    return {**kept, "actions": step["said"]}


def read_turn(reading: ReplyParsing, said: Generation, told: Line, screen_wh: WH) -> Read:
    """Return the actions of a reply; a function that raises leaves it unread."""
    sizes = {
        "file_size": screen_wh,
        "sent_size": said.sizes.sent_wh,
        "seen_size": said.sizes.seen_wh,
    }
    try:
        reply = reading.postprocess(said.text) if said.reply is None else said.reply
        known = {name: size for name, size in sizes.items() if size}
        meta = meta_of({**told, **known, **reading.limits})
        return Read(read_actions(reading.parse(reply, meta), screen_wh) or ())
    except NoAction as nonsense:
        return Read(why=str(nonsense))
    except UserFunctionError as error:
        said_so = isinstance(error.__cause__, NoAction)
        return Read(why=str(error.__cause__)) if said_so else Read(error=error)


def history_text(history: Sequence[Line]) -> str:
    """What was done so far and what came of it, one line a step."""
    lines = []
    for number, step in enumerate(history, 1):
        done = "; ".join(step["actions"]) or "(no action)"
        lines.append(f"{number}. {done}" + (f" - {step['note']}" if step["note"] else ""))
    return "\n".join(lines)


def _fields(action: Action) -> dict[str, Any]:
    """An action without what it leaves open, as records have it."""
    plain, usual = asdict(action), asdict(Action(action.kind))
    return {name: value for name, value in plain.items() if name == "kind" or value != usual[name]}


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_REPLY else f"{text[:LONGEST_REPLY]}…"
