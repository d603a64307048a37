"""Recorded steps in the words of the families: what their prompts and replies have in common.

A recipe names a prompt function and a parse function for recorded steps (`models.recipes.base.Steps`);
those of the families that have other forms, too, lie here. A prompt is filled from a row: `goal`,
`instruction` (None at level "high") and `history`, which holds what its kind tells of the steps
before. Nothing else of a row may be told: it has the recorded action, too.

A parse function returns an action as a mapping, whose points are fractions of the image; a point
beyond the right or lower edge is in pixels of the file (`as_parsed`):

    {"kind": "click" | "long_press", "point": [x, y]}        None in the place of a point: not read
    {"kind": "swipe", "direction": "up", "convention": "content" | "finger"}
    {"kind": "swipe", "start": [x, y], "end": [x, y], "convention": "finger"}
    {"kind": "type" | "open_app", "text": "..."}   {"kind": "press", "button": "back"}
    {"kind": "wait"}   {"kind": "finish", "status": "success" | "failure", "text": "..."}

The convention of a swipe belongs to the family: whether its word is where the content goes or where
the finger goes.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from models.recipes.agents import image, text
from models.recipes.base import Limits
from models.recipes.reading import as_point, centre
from utils.contracts import WH, Line, Message, Point
from utils.coordinates import UNKNOWN, model_grid_wh, read_size

StepFields = dict[str, Any]
"""An action in the form of the module's docstring."""
ToPoint = Callable[[float, float], Point]
"""Numbers of a reply as fractions of the image."""

NO_REPLY = "(no reply)"
ANNOTATED = ("click", "long_press", "swipe", "type", "open", "system_button", "wait")
BUTTONS = ("back", "home", "recent", "enter", "menu")
DRAGS: Mapping[str, tuple[Point, Point]] = {
    "down": ((0.5, 0.75), (0.5, 0.25)),
    "up": ((0.5, 0.25), (0.5, 0.75)),
    "right": ((0.75, 0.5), (0.25, 0.5)),
    "left": ((0.25, 0.5), (0.75, 0.5)),
}
"""What the finger does where the content goes in a direction, for families whose swipes are drags."""
POINTS = ("point", "start", "end")
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


# -- prompts --------------------------------------------------------------------------------------


def task_of(line: Line) -> str:
    """The task; at level "low" with the step's instruction, as OS-Atlas puts it.

    For families whose authors have published no words for this level.
    """
    if line["level"] == "low":
        return f"{line['goal']} You need to: {line['instruction']}"
    return str(line["goal"])


def told_steps(
    line: Line,
    write: Callable[[StepFields], str],
    own: Callable[[str], str],
    settings: Mapping[str, Any],
) -> list[str]:
    """The texts of the earlier steps in the history, in a family's words.

    Args:
        line: the row.
        write: writes a recorded action in the family's words.
        own: returns the part of an own reply that the family repeats.
        settings: settings of a prompt function, with `file_size`.
    """
    return [told_step(line, step, write, own, settings) for step in line["history"]]


def told_step(
    line: Line,
    step: Mapping[str, Any],
    write: Callable[[StepFields], str],
    own: Callable[[str], str],
    settings: Mapping[str, Any],
) -> str:
    """The text of one earlier step in the history; see `told_steps`."""
    if line["history_kind"] == "instructions":
        return str(step["instruction"])
    if line["history_kind"] == "actions":
        return written_action(line, step["action"], write, settings)
    return own(step.get("reply") or NO_REPLY)


def written_action(
    line: Line,
    annotated: Mapping[str, Any],
    write: Callable[[StepFields], str],
    settings: Mapping[str, Any],
) -> str:
    """A recorded action in a family's words; as it is annotated, where not as on AndroidControl."""
    if annotated.get("action") not in ANNOTATED:
        return json.dumps(annotated, ensure_ascii=False)
    return write(recorded(annotated, image_wh(line, settings)))


def conversation(
    line: Line, words: Callable[[Mapping[str, Any]], str], earlier_images: int
) -> list[Message]:
    """The steps before as turns, the last few with their screenshots, and the screen of this one.

    Args:
        line: the row.
        words: the assistant's words at a step of the history.
        earlier_images: how many of them have a screenshot.
    """
    messages: list[Message] = []
    first_with_image = len(line["history"]) - earlier_images
    for number, step in enumerate(line["history"]):
        if number >= first_with_image:
            messages.append(image(step["image_path"]))
        messages.append(text(words(step), "assistant"))
    return [*messages, screen(line)]


def screen(line: Line) -> Message:
    """The screenshot of the step, relative to the images of the data set."""
    return image(line["image_path"])


def image_wh(line: Line, settings: Mapping[str, Any]) -> WH:
    """Width and height of the screenshot's file."""
    size = settings.get("file_size")
    return read_size(line["image_size"] if size in UNKNOWN else size)


def grid_wh(line: Line, settings: Mapping[str, Any], limits: Limits) -> WH:
    """Width and height of the screenshot as the model resizes it."""
    if settings.get("seen_size") not in UNKNOWN:
        return read_size(settings["seen_size"])
    sent = settings.get("sent_size")
    sent_wh = image_wh(line, settings) if sent in UNKNOWN else read_size(sent)
    return limits.with_settings(settings).grid_wh(sent_wh)


def filled(template: str, slots: Mapping[str, str]) -> str:
    """A text with values in the places of its slots, also where a value looks like a slot."""
    names = re.compile("|".join(map(re.escape, slots)))
    return names.sub(lambda match: slots[match[0]], template)


# -- recorded actions -----------------------------------------------------------------------------


def recorded(annotated: Mapping[str, Any], size: WH) -> StepFields:
    """An earlier recorded action of AndroidControl, one of `ANNOTATED`, as parsers return one."""
    name = annotated["action"]
    if name in ("click", "long_press"):
        x_px, y_px = annotated["coordinate"]
        return {"kind": name, "point": (x_px / size[0], y_px / size[1])}
    if name == "swipe":
        return {"kind": "swipe", "direction": annotated["direction"], "convention": "content"}
    if name in ("type", "open"):
        return {"kind": "type" if name == "type" else "open_app", "text": annotated["text"]}
    if name == "system_button":
        return {"kind": "press", "button": annotated["button"].lower()}
    return {"kind": "wait"}


def whole(point: Sequence[float], full_scale: WH) -> tuple[int, int]:
    """A point in whole numbers of which `full_scale` are the far edges, rounded down."""
    return math.floor(point[0] * full_scale[0]), math.floor(point[1] * full_scale[1])


# -- replies --------------------------------------------------------------------------------------


def of_scale(full_scale: float) -> ToPoint:
    """Numbers of which `full_scale` is the far edge as fractions."""
    return lambda x, y: (x / full_scale, y / full_scale)


def of_grid(meta: Mapping[str, Any], limits: Limits) -> ToPoint:
    """Pixels of the image as the model resized it as fractions."""
    size = meta.get("image_size")
    width, height = model_grid_wh(
        {**meta, "image_size": meta.get("file_size") if size in UNKNOWN else size},
        factor=limits.factor,
        min_pixels=limits.min_pixels,
        max_pixels=limits.max_pixels,
    )
    return lambda x, y: (x / width, y / height)


def point_of(numbers: Any, to_point: ToPoint) -> Point:
    """A point, or the centre of a box, as fractions of the image.

    Raises:
        ValueError: it is neither two nor four numbers.
    """
    is_read = isinstance(numbers, (list, tuple)) and all(map(_is_number, numbers))
    if not is_read or len(numbers) not in (2, 4):
        raise ValueError(f"{numbers!r:.60} is no point")
    x, y = centre(numbers) if len(numbers) == 4 else numbers
    return to_point(x, y)


def as_parsed(action: StepFields | None, meta: Mapping[str, Any]) -> StepFields | None:
    """An action of fractions as a parse function returns it.

    A point beyond the right or lower edge comes in pixels of the file: the score takes every
    coordinate above 1 for pixels.
    """
    if action is None:
        return None
    points = {name: as_point(action[name], meta) for name in POINTS if name in action}
    return {**action, **points}


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def numbers_in(written: str) -> list[float]:
    """All numbers of a text, in order."""
    return [float(number) for number in NUMBER.findall(written)]


def drag(start: Point, end: Point) -> StepFields:
    """A swipe of which the drag is known."""
    return {"kind": "swipe", "start": start, "end": end, "convention": "finger"}


def swipe(direction: str, convention: str) -> StepFields:
    """A swipe of which the direction is known.

    Raises:
        ValueError: there is no such direction.
    """
    if direction not in DRAGS:
        raise ValueError(f"{direction!r:.60} is no direction")
    return {"kind": "swipe", "direction": direction, "convention": convention}


def press(button: str, names: Mapping[str, str] | None = None) -> StepFields:
    """A button of the system, whatever the case of its name.

    Raises:
        ValueError: there is no such button.
    """
    name = button.strip().lower()
    name = (names or {}).get(name, name)
    if name not in BUTTONS:
        raise ValueError(f"{button!r:.60} is no button")
    return {"kind": "press", "button": name}


def finish(*, is_success: bool, words: Any = "") -> StepFields:
    """The end of the task."""
    fields: StepFields = {"kind": "finish", "status": "success" if is_success else "failure"}
    if words:
        fields["text"] = str(words)
    return fields


def texts(kind: str, words: Any) -> StepFields:
    """A text to type, or the name of an app.

    Raises:
        ValueError: it is no text.
    """
    if not isinstance(words, str):
        raise ValueError(f"{words!r:.60} is no text")
    return {"kind": kind, "text": words}
