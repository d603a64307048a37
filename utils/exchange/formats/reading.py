"""Shared readers of cells: values that may be numbers, numbers as text, or missing."""

from __future__ import annotations

import ast
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from utils.contracts import WH, Point
from utils.geometry.targets import Bounds

LONGEST_LITERAL = 20_000  # characters of a list or dict that stands in a cell as text
CELL_LIMIT = 32_767  # characters that a cell of a spreadsheet holds
MOST_TURNS = 50  # lists within lists around a reply


def text_of(value: Any) -> str | None:
    """A value as text; None where there is none."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():  # an id that was read as a number
        return str(int(value))
    return str(value) if isinstance(value, (int, float)) else None


def first_text(row: Mapping[str, Any], names: Sequence[str]) -> str | None:
    """The text of the first of some columns that has one."""
    texts = (text_of(row.get(name)) for name in names)
    return next((text for text in texts if text is not None), None)


def literal(value: Any) -> Any:
    """A list or dict that stands in a cell as text, in JSON or Python; others as they are."""
    if not isinstance(value, str) or len(value) > LONGEST_LITERAL or value[:1] not in "[({":
        return value
    for read in (json.loads, ast.literal_eval):
        try:
            return read(value)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
    return value


def numbers_of(value: Any, count: int) -> tuple[float, ...] | None:
    """So many finite numbers of a list or its text; None where it is something else."""
    values = literal(value)
    if not isinstance(values, (list, tuple)) or len(values) != count:
        return None
    try:
        numbers = tuple(float(number) for number in values)
    except (TypeError, ValueError, OverflowError):
        return None
    return numbers if all(map(math.isfinite, numbers)) else None


def point_of(value: Any) -> Point | None:
    """A point; None where there is none."""
    numbers = numbers_of(value, 2)
    return None if numbers is None else (numbers[0], numbers[1])


def box_of(value: Any) -> Bounds | None:
    """Two corners; None where there are none."""
    numbers = numbers_of(value, 4)
    return None if numbers is None else (numbers[0], numbers[1], numbers[2], numbers[3])


def size_of(value: Any) -> WH | None:
    """Width and height in pixels; None where they are not known."""
    numbers = numbers_of(value, 2)
    if numbers is None or min(numbers) < 1:
        return None
    return round(numbers[0]), round(numbers[1])


def ids_of(*values: Any) -> tuple[str, ...]:
    """The values that may be the id of a sample, as texts, without missing ones."""
    return tuple(text for text in map(text_of, values) if text)


def reply_of(value: Any) -> str | None:
    """A reply as text; the first one of a list. Of objects None: they are no reply of a model."""
    for _ in range(MOST_TURNS):
        if not isinstance(value, list):
            break
        value = value[0] if value else None
    return text_of(value)


def verdict_of(value: Any) -> bool | None:
    """A verdict in the words that files have for it; None: none of them."""
    words = {"correct": True, "incorrect": False, "wrong": False, "wrong_format": False}
    words |= {"true": True, "false": False}
    if isinstance(value, str):
        return words.get(value.strip().lower())
    return value if isinstance(value, bool) else None


def verdict_in(row: Mapping[str, Any], name: str) -> bool | None:
    """The verdict of a number: right is 1; None where there is none."""
    value = row.get(name)
    return value == 1 if isinstance(value, (int, float)) else None


def error_text(value: Any) -> str:
    """The reason why a row has no answer, in one line; "" if none is given."""
    if not value:
        return ""
    if isinstance(value, Mapping):
        value = ": ".join(str(value[key]) for key in ("type", "message") if value.get(key))
    return " ".join(str(value).split())[:500]


def damage_of(reply: Any) -> str:
    """The damage that a spreadsheet may have done to a reply; "" if none shows."""
    text = reply if isinstance(reply, str) else ""
    if len(text) >= CELL_LIMIT:
        return "cut at 32,767 characters"
    if reply == 0 or text.startswith("="):
        return "began with ="
    return "has escapes of the file format (_x....)" if "_x00" in text else ""


def user_texts(messages: Any) -> Iterator[str]:
    """The texts that a user has written in a list of chat messages."""
    for message in messages if isinstance(messages, list) else ():
        if not isinstance(message, Mapping) or message.get("role") != "user":
            continue
        content = message.get("content")
        parts = content if isinstance(content, list) else [content]
        for part in parts:
            text = part.get("text") if isinstance(part, Mapping) else part
            if isinstance(text, str):
                yield text


def token_usage(usage: Any) -> dict[str, int]:
    """Token counts under the names that records have."""
    names = {"input_tokens": "prompt_tokens", "output_tokens": "completion_tokens"}
    counts: dict[str, int] = {}
    for name, count in usage.items() if isinstance(usage, Mapping) else ():
        known_name = names.get(str(name), str(name))
        if known_name in names.values() and isinstance(count, int):
            counts[known_name] = count
    return counts
