"""Tasks in LibreOffice Writer: lists, spacing, pages, and what is made of a text."""

# Tasks of a benchmark, not to be trained on. Canary: 6f4f12ab-1b3f-45ea-bbe2-8e94ed0444e4

from __future__ import annotations

import random
from typing import Any

from benchmarks.worlds.desktop.tasks.calc import SAVE, Row, Steps
from benchmarks.worlds.desktop.tasks.registry import task
from benchmarks.worlds.desktop.tasks.writer import sentences

NOTES = "Documents/notes.odt"
BOOKS = ("Northern Light", "The Long Table", "Winter Garden", "A Small Harbour", "Stone and Rain")


@task("writer", category="update")
def writer_italic(rng: random.Random) -> Row:
    """A title inside a line, in italics."""
    title = rng.choice(BOOKS)
    first, *others = sentences(rng, 3)
    before, after = "In March we read ", " and talk about it."
    blocks = [first, f"{before}{title}{after}", *others]
    runs = [[before, {}], [title, {"italic": "italic"}], [after, {}]]
    find: Steps = [["key", "ctrl+f"], ["key", "ctrl+a"], ["type", f"{title}\n"], ["key", "escape"]]
    line: Steps = [["key", "ctrl+home"], ["key", "down"], ["key", "home"], ["key", "shift+end"]]
    return {
        "goal": [
            f"In notes.odt, set the title “{title}” in italics, and nothing else. Save the file.",
            f"The words “{title}” in notes.odt are the title of a book: make them italic, and save "
            "the file.",
        ],
        "files": {NOTES: {"blocks": blocks}},
        "open": [NOTES],
        "edits": [["update", NOTES, ["blocks", 1], {"runs": runs}]],
        "ways": [
            [*find, ["key", "ctrl+i"], *SAVE],
            [*find, ["menu", "alt+o", "right", "down 1", "enter"], *SAVE],
        ],
        "wrong_ways": [[*line, ["key", "ctrl+i"], *SAVE], [*find, ["key", "ctrl+b"], *SAVE]],
    }


@task("writer", category="update")
def writer_bullets(rng: random.Random) -> Row:
    """Lines that become a list."""
    count = rng.choice([2, 3])
    lines = sentences(rng, 5)
    first = 5 - count
    go: Steps = [["key", "ctrl+home"], *([["key", "down"]] * first), ["key", "home"]]
    select: Steps = [*go, ["key", "ctrl+shift+end"]]
    edits = [["update", NOTES, ["blocks", place], {"list": "bullet"}] for place in range(first, 5)]
    return {
        "goal": [
            f"Make a bulleted list of the last {count} lines of notes.odt. Save the file.",
            f"The last {count} lines of notes.odt should each begin with a bullet, as a list. Save "
            "the file.",
        ],
        "files": {NOTES: {"blocks": lines}},
        "open": [NOTES],
        "edits": edits,
        "ways": [
            [*select, ["key", "shift+f12"], *SAVE],
            [*go, *([["key", "shift+f12"], ["key", "down"]] * count), *SAVE],
        ],
        "wrong_ways": [
            [*select, ["key", "f12"], *SAVE],
            [["key", "ctrl+a"], ["key", "shift+f12"], *SAVE],
        ],
    }


@task("writer", category="update", tier="standard")
def writer_spacing(rng: random.Random) -> Row:
    """More room between lines."""
    height, down = rng.choice([("150%", 2), ("200%", 3)])
    words = {"150%": "1.5", "200%": "2"}[height]
    lines = sentences(rng, 4)
    set_spacing: Steps = [["menu", "alt+o", "down 1", "right", f"down {down}", "enter"]]
    other: Steps = [["menu", "alt+o", "down 1", "right", "down 1", "enter"]]
    one_by_one: Steps = [["key", "ctrl+home"]]
    for _ in lines:
        one_by_one += [*set_spacing, ["key", "down"]]
    by_style: Steps = [["key", "alt+p"], ["wait", 0.6], ["click", 474, 178], ["wait", 0.4]]
    by_style += [["click", 470, 515], ["menu", f"down {down}", "enter"], ["click", 989, 681]]
    edits = [["update", NOTES, ["blocks", place], {"line-height": height}] for place in range(4)]
    return {
        "goal": [
            f"Give all lines of notes.odt a line spacing of {words}, and save the file.",
            f"notes.odt is hard to read: set the line spacing of the whole text to {words}. Save "
            "the file.",
        ],
        "files": {NOTES: {"blocks": lines}},
        "open": [NOTES],
        "edits": edits,
        "ways": [
            [["key", "ctrl+a"], *set_spacing, *SAVE],
            [*one_by_one, *SAVE],
            [*by_style, ["wait", 0.4], *SAVE],
        ],
        "wrong_ways": [
            [["key", "ctrl+home"], *set_spacing, *SAVE],
            [["key", "ctrl+a"], *other, *SAVE],
        ],
    }


@task("writer", category="update", tier="standard")
def writer_landscape(rng: random.Random) -> Row:
    """Pages that lie."""
    dialog: Steps = [["key", "shift+alt+p"], ["wait", 0.6], ["click", 380, 148], ["wait", 0.4]]
    choose: Steps = [["click", 372, 325]]
    return {
        "goal": [
            "Turn the pages of notes.odt to landscape format, and save the file.",
            "notes.odt should have pages that are wider than high. Set their orientation to "
            "landscape, and save the file.",
        ],
        "files": {NOTES: {"blocks": sentences(rng, 4)}},
        "open": [NOTES],
        "edits": [["set", NOTES, ["page", "orientation"], "landscape"]],
        "ways": [
            [*dialog, *choose, ["key", "enter"], ["wait", 0.4], *SAVE],
            [*dialog, *choose, ["click", 978, 673], ["wait", 0.4], *SAVE],
        ],
        "wrong_ways": [
            [*dialog, *choose, ["key", "escape"], *SAVE],
            [*dialog, *choose, ["key", "enter"], ["wait", 0.4], ["done"]],
        ],
    }


@task("writer", category="create", tier="standard")
def writer_page_number(rng: random.Random) -> Row:
    """The number of the page in the footer."""
    footer: Steps = [["menu", "alt+i", "up 3", "right", "down 1", "right", "enter"], ["wait", 0.5]]
    number: Steps = [["menu", "alt+i", "up 5", "enter"]]
    field: Steps = [["menu", "alt+i", "up 4", "right", "enter"]]
    return {
        "goal": [
            "Give notes.odt a footer that shows the page number, and nothing else. Save the file.",
            "Each page of notes.odt should have its number in the footer (as a field that counts "
            "by itself). Save the file.",
        ],
        "files": {NOTES: {"blocks": sentences(rng, 5)}},
        "open": [NOTES],
        "edits": [["set", NOTES, ["footer"], ["<page-number>"]]],
        "ways": [[*footer, *number, *SAVE], [*footer, *field, *SAVE]],
        "wrong_ways": [[*footer, ["type", "1"], *SAVE], [*number, *SAVE]],
    }


@task("writer", category="create", tier="standard")
def writer_pdf(rng: random.Random) -> Row:
    """A text as a PDF file."""
    export: list[Any] = ["menu", "alt+f", "up 9", "right"]
    name = rng.choice(["notes", "plan", "minutes"])
    path = f"Documents/{name}.odt"
    accept: Steps = [["wait", 1.0], ["key", "enter"], ["wait", 1.5], ["done"]]
    other: Steps = [["wait", 1.0], ["key", "ctrl+a"], ["type", f"my {name}"]]
    return {
        "goal": [
            f"Export {name}.odt as {name}.pdf, into the same folder.",
            f"I need {name}.odt as a PDF file, {name}.pdf, beside it in Documents.",
        ],
        "files": {path: {"blocks": sentences(rng, 5)}},
        "open": [path],
        "edits": [["write", f"Documents/{name}.pdf", {"pages": 1}]],
        "ways": [
            [[*export, "down 1", "enter"], *accept],
            [[*export, "enter"], ["wait", 1.0], ["key", "enter"], *accept],
        ],
        "wrong_ways": [
            [[*export, "down 1", "enter"], *other, *accept],
            [["key", "ctrl+s"], ["done"]],
        ],
    }
