"""The baseline as an agent (L3, L4): clicks what a task names, types what it quotes, then submits.

It goes through the names and quoted texts of the task in their order, one a step, and says that it
is done when there is nothing left. It has no memory but the list of its actions, and no plan.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from models.ocr_baseline.matching import Point, TextLine, content_matches, phrase_matches

# A quoted text, a file's name, an address, or a run of words with capitals inside a sentence.
_NAMED = re.compile(
    r"[“\"](?P<quoted>.{1,200}?)[”\"]|(?P<file>[\w-]+\.\w{2,4}\b(?!@))|(?P<address>[\w.]+@[\w.]+\w)"
    r"|(?<![.:?!]\s)(?<!^)(?P<name>\b[A-Z][\w-]+(?: [A-Z][\w-]+)+)"
)
_TYPED = re.compile(
    r"\b(enter|type|write|text|subject|title|name|called|message|note|say\w*|search for|to)\W*"
    r"(?:\w+\W+){0,2}$",
    re.IGNORECASE,
)
_ENDS = ("submit", "ok", "save", "send", "create", "login", "search", "add", "done", "next")
_OPENERS = {
    "event": "New event",
    "contact": "New contact",
    "to-do": "New task",
    "task": "New task",
    "text file": "New text file",
    "folder": "New folder",
    "mail": "Compose",
}
_LABEL_GAP = 0.12  # from the middle of a label to the field beside it, of the width


class Item(NamedTuple):
    """Something that a task names."""

    text: str
    before: str  # what the task says right before it
    is_typed: bool


def answer_task(text: str, lines: Sequence[TextLine]) -> str:
    """Reply to a prompt of L3 or L4: its texts and the replies so far, in the default words."""
    task, _, history = text.partition("Task: ")[2].partition("\n")
    step = len(re.findall("^Action: ", history, re.MULTILINE))
    # A long line that repeats the task is the task itself, as some environments show it.
    screen = [line for line in lines if line.text not in task or len(line.words) < 3]
    for item in [*_openers(task), *items_of(task)][step:]:
        reply = _type_item(item, screen) if item.is_typed else _click_phrase(item.text, screen)
        if reply:
            return reply
    if step == 0:
        matches = content_matches(task, screen)
        if matches:
            return _click(max(matches)[1], "what reads most like the task")
    first_word = task.partition(" ")[0].casefold()
    for button in (first_word, *_ENDS):
        point = _find_phrase(button, screen, is_whole_line=True)
        if point and _action_at(point) not in history:
            return _click(point, "the button that ends it")
    return "Thought: nothing is left that the task names.\nAction: done()"


def _openers(task: str) -> list[Item]:
    """Return the button with which one begins what the task asks to be made, if it does."""
    if not re.match("add|create|write|send|make", task, re.IGNORECASE):
        return []
    unquoted = re.split('[“"]', task.casefold())[0]
    buttons = [button for word, button in _OPENERS.items() if word in unquoted]
    return [Item(button, "", False) for button in buttons[:1]]


def items_of(task: str) -> list[Item]:
    """The items that a task names, in its order, each once."""
    items: dict[str, Item] = {}
    for match in _NAMED.finditer(task):
        text = next(filter(None, match.groups())).rstrip(".,")
        before = task[: match.start()]
        is_typed = bool(match["quoted"] or match["address"]) and bool(_TYPED.search(before))
        items.setdefault(text, Item(text, before, is_typed))
    return list(items.values())


def _click_phrase(phrase: str, lines: Sequence[TextLine]) -> str | None:
    point = _find_phrase(phrase, lines)
    return _click(point, phrase) if point else None


def _type_item(item: Item, lines: Sequence[TextLine]) -> str | None:
    """Type the item beside the nearest label before it in the task."""
    labels = re.findall(r"\w+", item.before)[-4:]
    for label in reversed(labels):
        point = _find_phrase(label, lines, is_whole_line=True)
        if point:
            field = min(point[0] + _LABEL_GAP, 0.97), point[1]
            text = item.text.replace("\\", "\\\\").replace('"', '\\"')
            return _click(field, f'the field "{label}"') + f'; type("{text}")'
    return None


def _find_phrase(
    phrase: str, lines: Sequence[TextLine], *, is_whole_line: bool = False
) -> Point | None:
    if is_whole_line:
        lines = [line for line in lines if line.text.strip(" :*").casefold() == phrase.casefold()]
    matches = phrase_matches(phrase, lines)
    return max(matches)[1] if matches else None


def _action_at(point: Point) -> str:
    return f"click({point[0]:.3f}, {point[1]:.3f})"


def _click(point: Point, thought: str) -> str:
    return f"Thought: {thought}.\nAction: {_action_at(point)}"
