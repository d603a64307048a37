"""Parse functions for the ways in which models name actions, to be named in a config.

    parse_actions         the default prompt's: `Action: click(0.412, 0.090)`
    parse_uitars          UI-TARS: `Action: click(point='<point>735 512</point>')`
    parse_computer_use    JSON or XML: Qwen's `computer_use` calls, the computer tools of OpenAI
                          and Claude, written in the reply or as native tool calls
    parse_tool_calls      native tool calls; a reply without one ends the task, and is the answer
    parse_pyautogui       code: `pyautogui.click(0.412, 0.090)`, `computer.terminate(...)`
    parse_computer_13     OSWorld's JSON: `{"action_type": "CLICK", "parameters": {...}}`

Each reads points in the frame that is usual for it (the first and the last two take fractions,
or pixels of the screenshot where a coordinate is above 1). The functions at the end of this file
read them in the other frames of `utils.coordinates`. Pure: nothing of a reply is ever executed.
They return actions as mappings of their fields, None where a reply names no action, and raise
`NoAction` where it names one that does not exist.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from benchmarks.actions.action import NoAction
from benchmarks.actions.computer_13 import read_computer_13
from benchmarks.actions.computer_use import read_json, read_tool_calls
from benchmarks.actions.default_prompt import read_default
from benchmarks.actions.pyautogui_code import read_pyautogui
from benchmarks.actions.reading import read_actions
from benchmarks.actions.uitars import read_uitars
from benchmarks.actions.values import Actions, ToPoint, read_number
from utils.contracts import ParseFunction, Point
from utils.coordinates import Frame, in_frame
from utils.folding import fold_outside_quotes
from utils.thinking import after_thinking

LONGEST_READ = 100_000  # characters, from the end: what bounds the time that a reply takes
INFEASIBLE = "INFEASIBLE"  # how an agent without an action for it says that it gives up


def _point(frame: Frame | None, meta: Mapping[str, Any], x: Any, y: Any) -> Point:
    point = read_number(x), read_number(y)
    return point if frame is None else in_frame(frame, point, meta)


_DIALECTS: Mapping[str, tuple[Callable[[str, ToPoint], Actions], Frame | None]] = {
    "actions": (read_default, None),
    "uitars": (read_uitars, Frame.GRID_PIXELS),
    "computer_use": (read_json, Frame.PIXELS_SENT),
}
"""How each is read, and the frame of its points where none is named."""


def parser(dialect: str, frame: Frame | None = None) -> ParseFunction:
    """Return the parse function of "actions", "uitars" or "computer_use" for points in `frame`."""
    read, usual_frame = _DIALECTS[dialect]
    point_frame = usual_frame if frame is None else frame

    def parse(response: str, meta: Mapping[str, Any]) -> Actions:
        if dialect == "computer_use" and meta.get("tool_calls"):
            return read_tool_calls(meta["tool_calls"], partial(_point, point_frame, meta))
        reply = after_thinking(response)[-LONGEST_READ:]
        return _read_as_it_stands(read, reply, partial(_point, point_frame, meta))

    name = f"parse_{dialect}" if frame is None else f"parse_{dialect}_{frame}"
    parse.__name__ = parse.__qualname__ = name
    return parse


def _read_as_it_stands(
    read: Callable[[str, ToPoint], Actions], reply: str, to_point: ToPoint
) -> Actions:
    """Return the actions of a reply; where it has none, of the reply with its signs folded.

    Only in this order are texts to be typed left as they are.
    """
    folded = fold_outside_quotes(reply)
    if folded == reply:
        return read(reply, to_point)
    try:
        return read(reply, to_point) or read(folded, to_point)
    except NoAction:
        with suppress(NoAction):
            return read(folded, to_point)
        raise


def better_parser(replies: Sequence[str]) -> str:
    """Return the parse function that reads actions in most of these replies; "" if none does."""
    screen_wh = (1000, 1000)  # any: only whether there are actions counts
    meta = {"image_size": list(screen_wh)}
    counts: Counter[str] = Counter()
    for parse in (*map(parser, _DIALECTS), code_parser()):
        for reply in replies:
            with suppress(NoAction, ValueError):
                if read_actions(parse(reply, meta), screen_wh):
                    counts[f"{__name__}.{parse.__name__}"] += 1
    return max(counts, key=counts.__getitem__, default="")


def tool_call_parser(frame: Frame | None = None) -> ParseFunction:
    """Return the parse function of agents that end a task by a reply without a tool call.

    Its text is the answer or, behind the word INFEASIBLE, why the task cannot be done.
    """
    read_calls = parser("computer_use", frame)

    def parse(response: str, meta: Mapping[str, Any]) -> Any:
        if meta.get("tool_calls"):
            return read_calls(response, meta)
        text = after_thinking(response).strip()
        if not text:
            return None
        if text.upper().startswith(INFEASIBLE):
            return [{"kind": "fail", "text": text[len(INFEASIBLE) :].lstrip(" :")}]
        return [{"kind": "answer", "text": text}]

    name = "parse_tool_calls" if frame is None else f"parse_tool_calls_{frame}"
    parse.__name__ = parse.__qualname__ = name
    return parse


def plain_parser(
    dialect: str, read: Callable[[str, ToPoint], Actions], frame: Frame | None = None
) -> ParseFunction:
    """Return the parse function of a dialect that knows no native tool calls.

    Args:
        dialect: its name.
        read: gives the actions of a reply, as the readers of this room do.
        frame: of its points; None: fractions, or pixels where a coordinate is above 1.
    """

    def parse(response: str, meta: Mapping[str, Any]) -> Actions:
        reply = after_thinking(response)[-LONGEST_READ:]
        return _read_as_it_stands(read, reply, partial(_point, frame, meta))

    name = f"parse_{dialect}" if frame is None else f"parse_{dialect}_{frame}"
    parse.__name__ = parse.__qualname__ = name
    return parse


code_parser = partial(plain_parser, "pyautogui", read_pyautogui)
computer_13_parser = partial(plain_parser, "computer_13", read_computer_13)

parse_actions = parser("actions")
parse_actions_fractions = parser("actions", Frame.FRACTIONS)
parse_actions_pixels = parser("actions", Frame.PIXELS)
parse_actions_pixels_sent = parser("actions", Frame.PIXELS_SENT)
parse_actions_grid_pixels = parser("actions", Frame.GRID_PIXELS)
parse_actions_million_pixels = parser("actions", Frame.MILLION_PIXELS)
parse_actions_per_mille = parser("actions", Frame.PER_MILLE)
parse_actions_per_cent = parser("actions", Frame.PER_CENT)
parse_actions_width_1000 = parser("actions", Frame.WIDTH_1000)
parse_actions_longest_1024 = parser("actions", Frame.LONGEST_1024)
parse_actions_letterboxed = parser("actions", Frame.LETTERBOXED)

parse_uitars = parser("uitars")
parse_uitars_fractions = parser("uitars", Frame.FRACTIONS)
parse_uitars_pixels = parser("uitars", Frame.PIXELS)
parse_uitars_pixels_sent = parser("uitars", Frame.PIXELS_SENT)
parse_uitars_grid_pixels = parser("uitars", Frame.GRID_PIXELS)
parse_uitars_million_pixels = parser("uitars", Frame.MILLION_PIXELS)
parse_uitars_per_mille = parser("uitars", Frame.PER_MILLE)
parse_uitars_per_cent = parser("uitars", Frame.PER_CENT)
parse_uitars_width_1000 = parser("uitars", Frame.WIDTH_1000)
parse_uitars_longest_1024 = parser("uitars", Frame.LONGEST_1024)
parse_uitars_letterboxed = parser("uitars", Frame.LETTERBOXED)

parse_computer_use = parser("computer_use")
parse_computer_use_fractions = parser("computer_use", Frame.FRACTIONS)
parse_computer_use_pixels = parser("computer_use", Frame.PIXELS)
parse_computer_use_pixels_sent = parser("computer_use", Frame.PIXELS_SENT)
parse_computer_use_grid_pixels = parser("computer_use", Frame.GRID_PIXELS)
parse_computer_use_million_pixels = parser("computer_use", Frame.MILLION_PIXELS)
parse_computer_use_per_mille = parser("computer_use", Frame.PER_MILLE)
parse_computer_use_per_cent = parser("computer_use", Frame.PER_CENT)
parse_computer_use_width_1000 = parser("computer_use", Frame.WIDTH_1000)
parse_computer_use_longest_1024 = parser("computer_use", Frame.LONGEST_1024)
parse_computer_use_letterboxed = parser("computer_use", Frame.LETTERBOXED)

parse_tool_calls = tool_call_parser()
parse_tool_calls_fractions = tool_call_parser(Frame.FRACTIONS)
parse_tool_calls_per_mille = tool_call_parser(Frame.PER_MILLE)

parse_pyautogui = code_parser()
parse_pyautogui_fractions = code_parser(frame=Frame.FRACTIONS)
parse_pyautogui_pixels = code_parser(frame=Frame.PIXELS)
parse_pyautogui_pixels_sent = code_parser(frame=Frame.PIXELS_SENT)
parse_pyautogui_grid_pixels = code_parser(frame=Frame.GRID_PIXELS)
parse_pyautogui_million_pixels = code_parser(frame=Frame.MILLION_PIXELS)
parse_pyautogui_per_mille = code_parser(frame=Frame.PER_MILLE)
parse_pyautogui_per_cent = code_parser(frame=Frame.PER_CENT)
parse_pyautogui_width_1000 = code_parser(frame=Frame.WIDTH_1000)
parse_pyautogui_longest_1024 = code_parser(frame=Frame.LONGEST_1024)
parse_pyautogui_letterboxed = code_parser(frame=Frame.LETTERBOXED)

parse_computer_13 = computer_13_parser()
parse_computer_13_fractions = computer_13_parser(frame=Frame.FRACTIONS)
parse_computer_13_pixels = computer_13_parser(frame=Frame.PIXELS)
parse_computer_13_pixels_sent = computer_13_parser(frame=Frame.PIXELS_SENT)
parse_computer_13_per_mille = computer_13_parser(frame=Frame.PER_MILLE)
