"""The authors' own agents: prompt and history to the byte, and how a reply becomes actions.

A recipe names one for L3 and L4; each is also a module to copy. What came of an action is told in no
words of their own, so only conversations have it, as a text of the user.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from models.recipes.reading import file_wh, from_pixels
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


def from_file_px(point_px: tuple[int, int], meta: Mapping[str, Any]) -> Point:
    """Return whole pixels of the screenshot, as the authors' code clicks them, as a point."""
    x, y = from_pixels(point_px, file_wh(meta), meta) or point_px
    return x, y


def each_between(reply: str, opening: str, closing: str) -> Iterator[str]:
    """Yield the text of each pair of tags that follow each other."""
    position = 0
    while (start := reply.find(opening, position)) >= 0:
        start += len(opening)
        end = reply.find(closing, start)
        if end < 0:
            return
        yield reply[start:end]
        position = end + len(closing)


def summary(step: Mapping[str, Any]) -> str:
    """Return the words of an earlier reply for its action; without any, the actions read in it."""
    for line in step["reply"].split("\n"):
        if line.strip().lower().startswith("action:"):
            return str(line.split("Action:")[-1].strip())
    return "; ".join(step["actions"]) or "no action"


def section(reply: str, title: str) -> str:
    """Return what stands below the first heading `## title`, up to the next one; "" without it."""
    heading = re.compile(rf"\s*+##\s*+{title}\s*+:?\s*+")
    lines = reply.split("\n")
    starts = [number for number, line in enumerate(lines) if heading.fullmatch(line)]
    if not starts:
        return ""
    below = lines[starts[0] + 1 :]
    ends = [number for number, line in enumerate(below) if line.lstrip().startswith("##")]
    return "\n".join(below[: ends[0]] if ends else below).strip()


def reasoning_of(step: Mapping[str, Any]) -> str:
    """Return the thoughts that a server has set apart from an earlier reply; "" without any."""
    message = step.get("message")
    if not isinstance(message, Mapping):
        return ""
    thoughts = message.get("reasoning_content") or message.get("reasoning")
    return thoughts.strip() if isinstance(thoughts, str) else ""
