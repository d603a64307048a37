"""Shared code of the agents of 2026: whole pixels, parts of replies, and earlier replies."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from models.recipes.reading import NOT_READ, file_wh, from_pixels
from utils.contracts import Point
from utils.pyautogui_code import ToPoint, actions_of_code


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
    """Return the text below the first heading `## title`, up to the next one; "" without it."""
    heading = re.compile(rf"\s*+##\s*+{title}\s*+:?\s*+")
    lines = reply.split("\n")
    starts = [number for number, line in enumerate(lines) if heading.fullmatch(line)]
    if not starts:
        return ""
    below = lines[starts[0] + 1 :]
    ends = [number for number, line in enumerate(below) if line.lstrip().startswith("##")]
    return "\n".join(below[: ends[0]] if ends else below).strip()


def end_in_words(code: str) -> list[dict[str, Any]] | None:
    """Return the end of a task, or the wait, that code names without being a call in Python.

    Such as `{"name": "computer.terminate", "arguments": {"status": "success"}}`.
    """
    lowered = code.lower()
    if "computer.terminate" in lowered:
        if "fail" in lowered:
            return [{"kind": "fail"}]
        return [{"kind": "done"}] if "success" in lowered else None
    return [{"kind": "wait"}] if "computer.wait" in lowered else None


def actions_or_end(code: str, to_point: ToPoint) -> list[dict[str, Any]] | None:
    """Return the actions of code; where it is none that is known, the end that it names in words.

    Args:
        code: for pyautogui.
        to_point: as for `actions_of_code`.
    """
    try:
        return actions_of_code(code, to_point) or None
    except NOT_READ:
        return end_in_words(code)


def reasoning_of(step: Mapping[str, Any]) -> str:
    """Return the thoughts that a server has set apart from an earlier reply; "" without any."""
    message = step.get("message")
    if not isinstance(message, Mapping):
        return ""
    thoughts = message.get("reasoning_content") or message.get("reasoning")
    return thoughts.strip() if isinstance(thoughts, str) else ""
