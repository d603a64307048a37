"""UI-TARS at recorded steps: `Action: click(point='<point>540 1200</point>')`.

1.5 counts pixels of the resized image, 1.0 per mille. The direction of `scroll` is where the
content goes. At level "low" the reply is begun with the step's instruction as the thought.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from models.recipes.agents import text
from models.recipes.agents.ui_tars import PHONE
from models.recipes.base import HELPFUL
from models.recipes.reading import NOT_READ
from models.recipes.steps import (
    NO_REPLY,
    StepFields,
    ToPoint,
    as_parsed,
    conversation,
    drag,
    filled,
    finish,
    grid_wh,
    numbers_in,
    of_grid,
    of_scale,
    point_of,
    press,
    swipe,
    texts,
    whole,
    written_action,
)
from models.recipes.ui_tars_1_5 import LIMITS
from utils.contracts import WH, Line, Message

PHONE_1_0 = """\
You are a GUI agent. You are given a task and your action history, with screenshots. You need to perform the next action to complete the task.\x20

## Output Format

Thought: ...
Action: ...


## Action Space
click(start_box='<|box_start|>(x1,y1)<|box_end|>')
long_press(start_box='<|box_start|>(x1,y1)<|box_end|>', time='')
type(content='')
scroll(direction='down or up or right or left')
press_back()
press_home()
wait()
finished() # Submit the task regardless of whether it succeeds or fails.

## Note
- Use English in Thought part.

- Summarize your next action (with its target element) in one sentence in Thought part.

## User Instruction
{goal}"""
EARLIER_IMAGES = 4  # with the screen now the model sees five
LABEL = "Action:"
CALL = re.compile(r"[\s*`]*(\w+)\s*\(")
NEXT_CALL = re.compile(r"\)\s*\n\s*\w+\(")
VALUE = re.compile(r"""\b(\w+)\s*=\s*(['"])(.*?)(?<!\\)\2""", re.DOTALL)
TEXT_START = re.compile(r"""(?:content|app_name)\s*=\s*(['"])""")
TEXT_END = re.compile(r"""(['"])\s*\)""")
STARTS = ("point", "start_point", "start_box")
ENDS = ("end_point", "end_box")
ESCAPED = re.compile(r"\\(.)", re.DOTALL)
MEANT = {"n": "\n", "t": "\t"}


def build_step_prompt(line: Line, dataset: str, **settings: Any) -> list[Message]:
    """Return the prompt of UI-TARS-1.5, earlier steps as turns, and the screen."""
    slots = {"{language}": "English", "{instruction}": line["goal"]}

    def write(action: StepFields) -> str:
        return written(action, grid_wh(line, settings, LIMITS), POINT_1_5)

    def words(step: Mapping[str, Any]) -> str:
        return _words(line, step, write, settings)

    turns = conversation(line, words, EARLIER_IMAGES)
    return [text(filled(PHONE, slots)), *turns, *_beginning(line)]


def build_step_prompt_1_0(line: Line, dataset: str, **settings: Any) -> list[Message]:
    """Return the messages for UI-TARS-1.0, which sees no more than the last four steps."""
    recent = {**line, "history": line["history"][-EARLIER_IMAGES:]}

    def write(action: StepFields) -> str:
        return written(action, (1000, 1000), POINT_1_0)

    def words(step: Mapping[str, Any]) -> str:
        return _words(line, step, write, settings)

    first, *others = conversation(recent, words, EARLIER_IMAGES)
    first["turn"] = "new"
    task = filled(PHONE_1_0, {"{goal}": line["goal"]})
    return [text(HELPFUL, "system"), text(task), first, *others, *_beginning(line)]


def _beginning(line: Line) -> list[Message]:
    """The beginning of the reply that the prompt gives; only at level "low"."""
    if line["level"] != "low":
        return []
    return [text(f"Thought: {line['instruction']}\n{LABEL}", "assistant")]


def _words(
    line: Line,
    step: Mapping[str, Any],
    write: Callable[[StepFields], str],
    settings: Mapping[str, Any],
) -> str:
    """The assistant's words at a step before: an instruction is told as its thought."""
    if line["history_kind"] == "own":
        reply = (step.get("reply") or NO_REPLY).strip()
        return reply if LABEL in reply or not CALL.match(reply) else f"{LABEL} {reply}"
    thought = f"Thought: {step['instruction']}"
    if line["history_kind"] == "instructions":
        return thought
    action = written_action(line, step["action"], write, settings)
    return f"{thought}\n{LABEL} {action}"


POINT_1_5 = "point='<point>{x} {y}</point>'"
POINT_1_0 = "start_box='<|box_start|>({x},{y})<|box_end|>'"


def written(action: StepFields, full_scale: WH, point_form: str) -> str:
    """A recorded action in the words of UI-TARS."""
    kind = action["kind"]
    if kind in ("click", "long_press"):
        x, y = whole(action["point"], full_scale)
        point = point_form.replace("{x}", str(x)).replace("{y}", str(y))
        if kind == "long_press" and point_form == POINT_1_0:
            point += ", time=''"
        return f"{kind}({point})"
    if kind == "swipe":
        return f"scroll(direction='{action['direction']}')"
    if kind in ("type", "open_app"):
        escaped = action["text"].replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
        name = "type(content" if kind == "type" else "open_app(app_name"
        return f"{name}='{escaped}')"
    return f"press_{action['button']}()" if kind == "press" else "wait()"


def parse_step(response: str, meta: Mapping[str, Any]) -> StepFields | None:
    """Return the first action of a reply of UI-TARS-1.5."""
    return as_parsed(parse_call(response, of_grid(meta, LIMITS)), meta)


def parse_step_1_0(response: str, meta: Mapping[str, Any]) -> StepFields | None:
    """Return the first action of a reply of UI-TARS-1.0."""
    return as_parsed(parse_call(response, of_scale(1000)), meta)


def parse_call(reply: str, to_point: ToPoint) -> StepFields | None:
    """Return the first call behind the last "Action:", or of a reply that begins with a call."""
    starts = [label.end() for label in re.finditer(LABEL, reply)] or [0]
    called = next(filter(None, (CALL.match(reply, start) for start in reversed(starts))), None)
    if called is None:
        return None
    following = NEXT_CALL.search(reply, called.end())
    call = reply[called.end() : following.start() + 1 if following else len(reply)]
    try:
        return _action(called[1], call, to_point)
    except NOT_READ:
        return None


def _action(name: str, call: str, to_point: ToPoint) -> StepFields | None:
    values = {key: value for key, _, value in VALUE.findall(call)}
    if name in ("click", "long_press"):
        return {"kind": name, "point": _point(values, STARTS, to_point)}
    if name == "scroll" and "direction" in values:
        return swipe(values["direction"], "content")
    if name in ("scroll", "drag"):
        return drag(_point(values, STARTS, to_point), _point(values, ENDS, to_point))
    if name == "type":
        # A line feed at the end submits the text, and is no part of it.
        return texts("type", _text(call).removesuffix("\n"))
    if name == "open_app":
        return texts("open_app", _text(call))
    if name in ("press_back", "press_home", "press_enter"):
        return press(name.removeprefix("press_"))
    if name == "wait":
        return {"kind": "wait"}
    if name == "finished":
        return finish(is_success=True, words=_text(call) if "content" in call else "")
    return finish(is_success=False) if name == "call_user" else None


def _point(values: Mapping[str, str], names: tuple[str, ...], to_point: ToPoint) -> Any:
    return point_of(numbers_in(next(values[name] for name in names if name in values)), to_point)


def _text(call: str) -> str:
    """The quoted text of a call, up to the last such quote: its own need not be escaped."""
    last_ends = {end[1]: end.start() for end in TEXT_END.finditer(call)}
    for start in TEXT_START.finditer(call):
        end = last_ends.get(start[1], -1)
        if end >= start.end():
            text = call[start.end() : end]
            return ESCAPED.sub(lambda escaped: MEANT.get(escaped[1], escaped[1]), text)
    raise ValueError("no text")
