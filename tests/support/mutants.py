"""Oracles spoiled in one place: a value, a target, an order, a step left out, one effect too many."""

from __future__ import annotations

import copy
import datetime
import re
from collections.abc import Iterator
from typing import Any

from tests.support.office_rows import file_path, find_row

READING = (
    "mail.read",
    "calendar.read",
    "calendar.show",
    "contacts.read",
    "chat.read",
    "files.read",
    "sheets.read",
    "shop.search",
    "shop.orders",
    "todo.show",
)
TABLES = {
    "mail": "mail",
    "calendar": "events",
    "contacts": "contacts",
    "chat": "messages",
    "files": "files",
    "todo": "todos",
}
CHOICES = {
    "list": ["Work", "Personal"],
    "priority": ["Low", "High"],
    "delivery": ["Standard", "Express"],
    "address": ["Home", "Office", "Warehouse"],
}
EXTRA: list[list[Any]] = [
    ["todo.new", {"title": "Something else"}],
    ["chat.post", "#random", "Hello"],
    ["mail.send", {"to": "olga.moreau@brightline.example", "subject": "Hello", "body": "Hello"}],
    ["sheets.set", "Sales", "J30", "1"],
    ["contacts.delete", "Olga Moreau"],
    ["files.rename", "Pictures/captions.txt", "titles.txt"],
]
Steps = list[list[Any]]


def mutants(steps: Steps, dump: dict[str, Any]) -> Iterator[tuple[str, Steps]]:
    """What was spoiled, and the steps; every one of them must fail."""
    for number, (verb, *args) in enumerate(steps):
        if verb in READING or verb in ("done", "fail"):
            continue
        if verb != "answer":
            yield f"without {verb}", steps[:number] + steps[number + 1 :]
        for what, spoiled in _spoiled(verb, args, dump):
            yield f"{verb}: {what}", [*steps[:number], [verb, *spoiled], *steps[number + 1 :]]
    for extra in EXTRA:
        yield f"and {extra[0]}", [*steps[:-1], extra, steps[-1]]
    other_end = "done" if steps[-1][0] == "fail" else "fail"
    yield other_end, [*steps[:-1], [other_end]]
    if steps[-1][0] == "answer":
        yield "done without an answer", [*steps[:-1], ["done"]]
    yield "no end", steps[:-1]


def _spoiled(verb: str, args: list[Any], dump: dict[str, Any]) -> Iterator[tuple[str, list[Any]]]:
    for place, value in enumerate(args):
        if isinstance(value, dict):
            for name, each in value.items():
                for spoiled in _values(name, each):
                    yield (
                        f"{name} {spoiled!r}",
                        [{**value, name: spoiled} if arg is value else arg for arg in args],
                    )
            if verb == "mail.send" and "cc" not in value:
                yield "one more copy", [{**value, "cc": "press@fair-news.example"}]
            continue
        for spoiled in _others(verb, place, value, dump):
            changed = copy.copy(args)
            changed[place] = spoiled
            yield f"{value!r} is {spoiled!r}", changed


def _others(verb: str, place: int, value: Any, dump: dict[str, Any]) -> list[Any]:
    app = verb.partition(".")[0]
    if verb == "chat.post" and place == 0:
        return ["#general" if value != "#general" else "#random"]
    if verb == "sheets.set" and place < 2:
        other_sheet = "Sales" if value != "Sales" else "Suppliers"
        return [other_sheet if place == 0 else f"{value[0]}{int(value[1:]) + 1}"]
    if verb == "shop.buy" and place == 0:
        there = (row["name"] for row in dump["products"].values() if row["stock"] > 3)
        return [next(name for name in there if name != value)]
    if verb == "shop.cancel":
        open_ = (row["id"] for row in dump["orders"].values() if row["status"] == "Processing")
        return [next(number for number in open_ if number != value)]
    if verb in ("files.move", "files.copy") and place == 1:
        return ["Pictures"]
    if verb in ("files.new", "files.folder") and place == 0:
        folder, _, own = value.rpartition("/")
        return [f"Pictures/{own}", *(f"{folder}/{name}" for name in _values("", own))]
    if place == 0 and app in TABLES and verb != "chat.post":
        return _other_rows(app, value, dump)
    if verb == "mail.forward" and place == 1:
        return ["olga.moreau@brightline.example"]
    return _values("", value)


def _other_rows(app: str, named: Any, dump: dict[str, Any]) -> list[Any]:
    table = TABLES[app]
    try:
        row = find_row(dump, table, named)
    except LookupError:
        return []  # the oracle makes it first
    others = [each for each in dump[table].values() if each["id"] not in (row["id"], 0)]
    if app == "chat":
        others = [x for x in others if x["author"] == row["author"] and not x["deleted"]]
    if app == "files":
        others = [each for each in others if each["kind"] == "text"]
        return [file_path(dump, others[0])]
    if app == "mail":
        others = [each for each in others if each["folder"] == row["folder"]]
    return [each["id"] for each in others[-1:]]


def _values(name: str, value: Any) -> list[Any]:
    if name in CHOICES:
        return [each for each in CHOICES[name] if each != value][:1]
    if name in ("to", "cc", "guests"):
        _, *others = value.split(", ")
        return [
            "olga.moreau@brightline.example",
            f"{value}, olga.moreau@brightline.example",
            *([", ".join(others)] if others else []),
        ]
    if name == "files":
        return [["Documents/keys.txt"], []]
    if isinstance(value, int):
        return [value + 1]
    if not value:
        return ["7"]
    if re.fullmatch(r"\d{4}-\d\d-\d\d", value):
        return [(datetime.date.fromisoformat(value) + datetime.timedelta(1)).isoformat()]
    if re.fullmatch(r"\d\d:\d\d", value):
        return [f"{value[:4]}{(int(value[4]) + 1) % 10}"]
    spoiled = [_one_letter(value)]
    if "\n" in value:
        spoiled.append("\n".join(reversed(value.split("\n"))))
    return spoiled


def _one_letter(text: str) -> str:
    """A digit, else the last letter, is another one."""
    digits = list(re.finditer(r"\d", text))
    if digits:
        place = digits[-1].start()
        return f"{text[:place]}{(int(text[place]) + 1) % 10}{text[place + 1 :]}"
    place = max(found.start() for found in re.finditer(r"[A-Za-z]", text))
    return f"{text[:place]}{'b' if text[place] != 'b' else 'c'}{text[place + 1 :]}"
