"""The authors' own agents: prompt and history to the byte, and how a reply becomes actions.

A recipe names one for L3 and L4; each is also a module to copy. What came of an action is told in no
words of their own, so only conversations have it, as a text of the user.
"""

from __future__ import annotations

from collections.abc import Sequence

from utils.contracts import Line, Message, Point
from utils.geometry.images import image_path_of

OTHER_WAY = {"up": "down", "down": "up", "left": "right", "right": "left"}
"""Which way what is seen moves when a finger swipes, and the reverse."""


def is_phone(line: Line) -> bool:
    """Whether a task is on a phone."""
    return line["platform"] in ("os_android", "os_ios")


def text(value: str, role: str = "user") -> Message:
    """Return a text of a prompt."""
    return {"role": role, "type": "text", "value": value}


def image(path: str) -> Message:
    """Return a screenshot of a prompt."""
    return {"role": "user", "type": "image", "value": path}


def screen(line: Line) -> Message:
    """Return the screen as it is now."""
    return image(image_path_of(line))


def conversation(line: Line, earlier_images: int) -> list[Message]:
    """Return the episode so far: all replies, the last few screenshots, and the screen now."""
    messages: list[Message] = []
    first_with_image = len(line["history"]) - earlier_images
    for number, step in enumerate(line["history"]):
        if number >= first_with_image:
            messages.append(image(step["image_path"]))
        messages.append(text(step["reply"], "assistant"))
        if step["note"]:
            messages.append(text(step["note"]))
    return [*messages, screen(line)]


def whole_point(numbers: Sequence[float | str], full_scale: float = 1000) -> Point:
    """Return numbers of which `full_scale` is the far edge as fractions of the screenshot."""
    x, y = (float(number) / full_scale for number in numbers)
    return x, y
