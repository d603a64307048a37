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
    """Reply to a prompt of L3 or L4, in the words of the default one."""
    task = text.rpartition("Task: ")[2].partition("\n\n")[0]
    so_far = text.rpartition("Your actions so far:\n")[2] if "so far:\n" in text else ""
    number = len(re.findall(r"^\d+\. ", so_far, re.MULTILINE))
    screen = [line for line in lines if line.text not in task or len(line.words) < 3]
    for item in [*_openers(task), *items_of(task)][number:]:
        if reply := _go_about(item, screen):
            return reply
    if number == 0 and (found := content_matches(task, screen)):
        return _click(max(found)[1], "what reads most like the task")
    for end in (task.partition(" ")[0].casefold(), *_ENDS):
        if at := _at(end, screen, whole=True):
            reply = _click(at, "the button that ends it")
            if reply.rpartition("Action: ")[2] not in so_far:
                return reply
    return "Thought: nothing is left that the task names.\nAction: done()"


def _openers(task: str) -> list[Item]:
    """The button with which one begins what the task wants to be made, if it wants that."""
    if not re.match("add|create|write|send|make", task, re.IGNORECASE):
        return []
    words = re.split('[“"]', task.casefold())[0]
    return [Item(button, "", False) for word, button in _OPENERS.items() if word in words][:1]


def items_of(task: str) -> list[Item]:
    """What a task names, in its order, each once."""
    found: dict[str, Item] = {}
    for match in _NAMED.finditer(task):
        text = next(filter(None, match.groups())).rstrip(".,")
        before = task[: match.start()]
        is_typed = bool(match["quoted"] or match["address"]) and bool(_TYPED.search(before))
        found.setdefault(text, Item(text, before, is_typed))
    return list(found.values())


def _go_about(item: Item, lines: Sequence[TextLine]) -> str | None:
    """Clicks the item where it stands on the screen; else types it beside a label before it."""
    if (at := _at(item.text, lines)) and not item.is_typed:
        return _click(at, item.text)
    if not item.is_typed:
        return None
    labels = re.findall(r"\w+", item.before)[-4:]
    for label in reversed(labels):
        if place := _at(label, lines, whole=True):
            x, y = min(place[0] + _LABEL_GAP, 0.97), place[1]
            typed = item.text.replace("\\", "\\\\").replace('"', '\\"')
            return _click((x, y), f'the field "{label}"') + f'; type("{typed}")'
    return None


def _at(phrase: str, lines: Sequence[TextLine], *, whole: bool = False) -> Point | None:
    """Where the phrase stands; `whole`: as a line of its own."""
    if whole:
        lines = [line for line in lines if line.text.strip(" :*").casefold() == phrase.casefold()]
    found = phrase_matches(phrase, lines)
    return max(found)[1] if found else None


def _click(at: Point, what: str) -> str:
    return f"Thought: {what}.\nAction: click({at[0]:.3f}, {at[1]:.3f})"
