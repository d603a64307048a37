"""Tasks in the text editor, the document viewer and the settings."""

# Tasks of a benchmark, not to be trained on. Canary: 6f4f12ab-1b3f-45ea-bbe2-8e94ed0444e4

from __future__ import annotations

import random

from benchmarks.worlds.desktop.tasks.calc import SAVE, Row, Steps
from benchmarks.worlds.desktop.tasks.registry import task

KEYS = ("limit", "rooms", "floors", "seats", "lamps", "doors")
THINGS = ("bread", "milk", "apples", "soap", "stamps", "batteries", "rice", "tea")


@task("editor", category="update")
def editor_value(rng: random.Random) -> Row:
    """A value in a file of settings."""
    names = rng.sample(KEYS, 5)
    values = {name: rng.randrange(2, 60) for name in names}
    place = rng.choice([1, 2, 3])
    name, new = names[place], values[names[place]] + rng.randrange(3, 30)
    path = "Documents/building.ini"
    lines = [f"{key} = {value}" for key, value in values.items()]
    changed = [*lines[:place], f"{name} = {new}", *lines[place + 1 :]]
    go: Steps = [["key", "ctrl+home"], *([["key", "down"]] * place)]
    return {
        "goal": [
            f"Set {name} to {new} in building.ini, and save the file.",
            f"In building.ini, {name} should be {new} instead of {values[name]}. Save the file.",
        ],
        "files": {path: "\n".join(lines) + "\n"},
        "open": [path],
        "edits": [["write", path, "\n".join(changed)]],
        "ways": [
            [*go, ["key", "shift+end"], ["type", f"{name} = {new}"], *SAVE],
            [["key", "ctrl+a"], ["type", "\n".join(changed) + "\n"], *SAVE],
        ],
        "wrong_ways": [
            [*go, ["key", "end"], ["type", f"{new}"], *SAVE],
            [*go, ["key", "shift+end"], ["type", f"{name} = {new}"], ["done"]],
        ],
    }


@task("editor", category="update")
def editor_delete_line(rng: random.Random) -> Row:
    """A line that goes from a list."""
    lines = rng.sample(THINGS, 6)
    place = rng.choice([1, 2, 3, 4])
    path = "Desktop/shopping.txt"
    go: Steps = [["key", "ctrl+home"], *([["key", "down"]] * place)]
    left = [*lines[:place], *lines[place + 1 :]]
    return {
        "goal": [
            f"Take “{lines[place]}” off the list in shopping.txt, with its line, and save it.",
            f"We have {lines[place]} now. Remove its line from shopping.txt and save the file.",
        ],
        "files": {path: "\n".join(lines) + "\n"},
        "open": [path],
        "edits": [["write", path, "\n".join(left)]],
        "ways": [
            [*go, ["key", "ctrl+shift+delete"], *SAVE],
            [*go, ["key", "home"], ["key", "shift+down"], ["key", "delete"], *SAVE],
        ],
        "wrong_ways": [
            [*go, ["key", "home"], ["key", "shift+end"], ["key", "delete"], *SAVE],
            [*go, ["key", "down"], ["key", "ctrl+shift+delete"], *SAVE],
        ],
    }


@task("editor", category="update")
def editor_line_numbers(rng: random.Random) -> Row:
    """A setting of the editor."""
    path = "Documents/notes.txt"
    key = "org/xfce/mousepad/preferences/view/show-line-numbers"
    return {
        "goal": [
            "Have the text editor show line numbers from now on. The text stays as it is.",
            "I want to see line numbers in the text editor. Switch them on; leave notes.txt alone.",
        ],
        "files": {path: "\n".join(rng.sample(THINGS, 5)) + "\n"},
        "open": [path],
        "edits": [["setting", key, "true"]],
        "ways": [
            [["menu", "alt+v", "down 2", "enter"], ["done"]],
            [["menu", "alt+e", "up 1", "enter"], ["click", 188, 162], ["done"]],
        ],
        "wrong_ways": [[["key", "home"], ["type", "1 "], *SAVE], [["done"]]],
    }


@task("pdf", category="question")
def pdf_page(rng: random.Random) -> Row:
    """A question that one page of a document answers."""
    rooms = rng.sample(["Aurora", "Birch", "Cedar", "Delta", "Elm"], 4)
    numbers = rng.sample(range(100, 999), 4)
    pages = [
        [f"Room {room}", f"Its key has the number {number}.", "It is open from nine to five."]
        for room, number in zip(rooms, numbers, strict=True)
    ]
    path = "Documents/rooms.pdf"
    return {
        "goal": [
            f"Which number does the key of room {rooms[3]} have, according to rooms.pdf?",
            f"Look into rooms.pdf: what is the number of the key of room {rooms[3]}?",
        ],
        "files": {path: {"pages": pages}},
        "open": [path],
        "edits": [],
        "answer": {"number": numbers[3]},
        "ways": [
            [["key", "ctrl+end"], ["answer", f"{numbers[3]}"]],
            [*([["key", "pagedown"]] * 4), ["answer", f"It has the number {numbers[3]}."]],
        ],
        "wrong_ways": [[["answer", f"{numbers[0]}"]], [["key", "ctrl+end"], ["done"]]],
    }
