"""Spoil scripted solutions in one place: a value, a target, a step left out, an effect too many."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from typing import Any

from tests.support.office_rows import file_path, find_row

READING = (
    "mail.read",
    "mail.view",
    "mail.search",
    "mail.through",
    "calendar.read",
    "calendar.show",
    "calendar.search",
    "calendar.through",
    "contacts.read",
    "contacts.search",
    "chat.read",
    "chat.search",
    "chat.pinned",
    "files.read",
    "files.search",
    "sheets.read",
    "shop.search",
    "shop.show",
    "shop.category",
    "shop.look",
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
OTHER_ADDRESS = "olga.moreau@brightline.example"
UNKNOWN_ADDRESS = "press@fair-news.example"
Steps = list[list[Any]]


def mutants_of(task: Any, dump: dict[str, Any]) -> Iterator[tuple[str, Steps]]:
    """Yield the same of a task's first solution; the subject of mails where it is not left free."""
    mails = [effect["row"] for effect in task["expect"] if effect.get("add") == "mail"]
    is_free = any(mail.get("subject") == {"any": True} for mail in mails)
    for what, steps in mutants(task["oracle"], dump):
        if not (is_free and what.startswith("mail.send: subject")):
            yield what, steps


def mutants(steps: Steps, dump: dict[str, Any]) -> Iterator[tuple[str, Steps]]:
    """Yield what was spoiled, and the steps; all of them must fail."""
    for number, (verb_and_way, *args) in enumerate(steps):
        verb = verb_and_way.partition(" by ")[0]
        if verb in READING or verb in ("done", "fail"):
            continue
        if verb != "answer":
            yield f"without {verb}", steps[:number] + steps[number + 1 :]
        for what, spoiled in _spoiled(verb, args, dump):
            yield (
                f"{verb}: {what}",
                [*steps[:number], [verb_and_way, *spoiled], *steps[number + 1 :]],
            )
    for extra in EXTRA:
        yield f"and {extra[0]}", [*steps[:-1], extra, steps[-1]]
    other_end = "done" if steps[-1][0] == "fail" else "fail"
    yield other_end, [*steps[:-1], [other_end]]
    if steps[-1][0] == "answer":
        yield "done without an answer", [*steps[:-1], ["done"]]
    yield "no end", steps[:-1]


def _spoiled(verb: str, args: list[Any], dump: dict[str, Any]) -> Iterator[tuple[str, list[Any]]]:
    for index, value in enumerate(args):
        if isinstance(value, dict):
            variants = list(_spoiled_fields(verb, value))
        else:
            variants = [
                (f"{value!r} is {spoiled!r}", spoiled)
                for spoiled in _others(verb, index, value, dump)
            ]
        for what, spoiled in variants:
            yield what, [*args[:index], spoiled, *args[index + 1 :]]


def _spoiled_fields(verb: str, fields: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, value in fields.items():
        for spoiled in _values(name, value):
            yield f"{name} {spoiled!r}", {**fields, name: spoiled}
    if verb == "mail.send" and "cc" not in fields:
        yield "one more copy", {**fields, "cc": UNKNOWN_ADDRESS}


def _others(verb: str, index: int, value: Any, dump: dict[str, Any]) -> list[Any]:
    """Return other values of an argument of a step."""
    app = verb.partition(".")[0]
    match verb, index:
        case "chat.post", 0:
            return ["#general" if value != "#general" else "#random"]
        case (("sheets.set" | "sheets.row" | "sheets.column"), 0):
            return ["Sales" if value != "Sales" else "Suppliers"]
        case (("sheets.set" | "sheets.row" | "sheets.column"), 1):
            return [f"{value[0]}{int(value[1:]) + 1}"]
        case "shop.buy", 0:
            products = [row["name"] for row in dump["products"].values() if row["stock"] > 3]
            return [name for name in products if name != value][:1]
        case "shop.cancel", _:
            orders = dump["orders"].values()
            open_orders = [row["id"] for row in orders if row["status"] == "Processing"]
            return [number for number in open_orders if number != value][:1]
        case (("files.move" | "files.copy"), 1):
            return ["Pictures"]
        case (("files.new" | "files.folder"), 0):
            folder, _, name = value.rpartition("/")
            return [f"Pictures/{name}", *(f"{folder}/{other}" for other in _values("", name))]
        case "mail.forward", 1:
            return [OTHER_ADDRESS]
    if index == 0 and app in TABLES and verb != "chat.post":
        return _other_rows(app, value, dump)
    return _values("", value)


def _other_rows(app: str, name: Any, dump: dict[str, Any]) -> list[Any]:
    table = TABLES[app]
    try:
        row = find_row(dump, table, name)
    except LookupError:
        return []  # the solution makes it first
    others = [other for other in dump[table].values() if other["id"] not in (row["id"], 0)]
    if app == "chat":
        others = [
            other for other in others if other["author"] == row["author"] and not other["deleted"]
        ]
    if app == "files":
        texts = [other for other in others if other["kind"] == "text"]
        return [file_path(dump, texts[0])]
    if app == "mail":
        others = [other for other in others if other["folder"] == row["folder"]]
    return [other["id"] for other in others[-1:]]


def _values(name: str, value: Any) -> list[Any]:
    """Return other values of a field."""
    if name in CHOICES:
        return [choice for choice in CHOICES[name] if choice != value][:1]
    if name in ("to", "cc", "guests"):
        other = OTHER_ADDRESS if OTHER_ADDRESS not in value else UNKNOWN_ADDRESS
        spoiled = [other, f"{value}, {other}"]
        _, *others = value.split(", ")
        if others:
            spoiled.append(", ".join(others))
        return spoiled
    if name == "files":
        return [["Documents/keys.txt"], []]
    if isinstance(value, list):
        return [
            [*value[:index], spoiled, *value[index + 1 :]]
            for index, item in enumerate(value)
            for spoiled in _values("", item)
        ]
    return [value + 1] if isinstance(value, int) else _other_texts(value)


def _other_texts(value: str) -> list[Any]:
    """Return texts beside a text, a date or a time of day."""
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
    """Return a text with another last digit or, without digits, another last letter."""
    digits = list(re.finditer(r"\d", text))
    if digits:
        position = digits[-1].start()
        other = str((int(text[position]) + 1) % 10)
    else:
        letters = list(re.finditer(r"[A-Za-z]", text))
        if not letters:
            return f"{text}b"
        position = letters[-1].start()
        other = "b" if text[position] != "b" else "c"
    return text[:position] + other + text[position + 1 :]
