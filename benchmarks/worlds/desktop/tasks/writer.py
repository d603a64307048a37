"""Tasks in LibreOffice Writer."""

# Tasks of a benchmark, not to be trained on. Canary: 6f4f12ab-1b3f-45ea-bbe2-8e94ed0444e4

from __future__ import annotations

import random

from benchmarks.worlds.desktop.tasks.calc import SAVE, Row, Steps
from benchmarks.worlds.desktop.tasks.registry import task

NAMES = ("Smith", "Young", "Baker", "Clark", "Lewis", "Moore", "Scott", "Walker")
SENTENCES = (
    "The room is open from nine to five.",
    "The key lies at the front desk.",
    "Coffee is served at eleven.",
    "The lift was repaired last week.",
    "Two windows are still broken.",
    "The next meeting is in April.",
    "Please bring your own cup.",
    "The printer stands in the corridor.",
)


def sentences(rng: random.Random, count: int) -> list[str]:
    """Return different sentences."""
    return rng.sample(SENTENCES, count)


def replace_all(old: str, new: str) -> Steps:
    """Return the steps that replace a text by the dialog."""
    return [
        ["key", "ctrl+h"],
        ["type", old],
        ["click", 674, 300],
        ["type", new],
        ["click", 878, 350],
        ["key", "escape"],
        ["key", "escape"],
    ]


@task("writer", category="update", tier="standard")
def writer_name(rng: random.Random) -> Row:
    """A name that is replaced wherever it stands."""
    old, new, other = rng.sample(NAMES, 3)
    path = "Documents/minutes.odt"
    blocks = [
        "Minutes",
        f"Ms {old} opened the meeting at nine.",
        f"The budget was read by Mr {other}. Ms {old} asked for an estimate.",
        rng.choice(SENTENCES),
        f"Signed: {old}",
    ]
    find_each: Steps = []
    for _ in range(3):
        find_each += [["key", "ctrl+f"], ["key", "ctrl+a"], ["type", f"{old}\n"]]
        find_each += [["key", "escape"], ["type", new], ["key", "ctrl+home"]]
    return {
        "goal": [
            f"Ms {old} is called Ms {new} now. Change her name everywhere in minutes.odt and save "
            "the file.",
            f"In minutes.odt, write {new} wherever {old} stands, and save the file.",
        ],
        "files": {path: {"blocks": blocks}},
        "open": [path],
        "edits": [["replace", path, old, new]],
        "ways": [[*replace_all(old, new), *SAVE], [*find_each, *SAVE]],
        "wrong_ways": [
            [*find_each[:6], *SAVE],
            [*replace_all(old, new), ["done"]],
        ],
    }


@task("writer", category="update")
def writer_heading(rng: random.Random) -> Row:
    """A first line that becomes a heading."""
    title = rng.choice(["House rules", "Summer plan", "Open questions"])
    path = "Documents/notes.odt"
    level = rng.choice([1, 2])
    style = f"Heading {level}"
    return {
        "goal": [
            f"Give the first line of notes.odt the paragraph style “{style}”, and save the file.",
            f"The line “{title}” in notes.odt should be a {style} by its paragraph style. Save the "
            "file.",
        ],
        "files": {path: {"blocks": [title, *sentences(rng, 4)]}},
        "open": [path],
        "edits": [["update", path, ["blocks", 0], {"style": style}]],
        "ways": [
            [["key", "ctrl+home"], ["key", f"ctrl+{level}"], *SAVE],
            [
                ["key", "ctrl+home"],
                ["click", 85, 136],
                ["key", "ctrl+a"],
                ["type", f"{style}\n"],
                *SAVE,
            ],
        ],
        "wrong_ways": [
            [["key", "ctrl+home"], ["key", f"ctrl+{3 - level}"], *SAVE],
            [["key", "ctrl+a"], ["key", f"ctrl+{level}"], *SAVE],
        ],
    }


@task("writer", category="update")
def writer_centre(rng: random.Random) -> Row:
    """A title in the middle of its line, and bold."""
    title = rng.choice(["Invitation", "Programme", "Opening hours"])
    path = "Documents/poster.odt"
    look = {"align": "center", "runs": [[title, {"bold": "bold"}]]}
    select: Steps = [["key", "ctrl+home"], ["key", "shift+end"]]
    return {
        "goal": [
            "Centre the first line of poster.odt and make it bold; all other lines stay as they "
            "are. Save the file.",
            f"“{title}”, the first line of poster.odt, should be centred and bold. Save the file.",
        ],
        "files": {path: {"blocks": [title, *sentences(rng, 3)]}},
        "open": [path],
        "edits": [["update", path, ["blocks", 0], look]],
        "ways": [
            [*select, ["key", "ctrl+b"], ["key", "ctrl+e"], *SAVE],
            [*select, ["menu", "alt+o", "right", "enter"], ["key", "ctrl+e"], *SAVE],
        ],
        "wrong_ways": [
            [["key", "ctrl+a"], ["key", "ctrl+b"], ["key", "ctrl+e"], *SAVE],
            [*select, ["key", "ctrl+b"], ["key", "ctrl+r"], *SAVE],
        ],
    }


@task("writer", category="update", tier="standard")
def writer_move(rng: random.Random) -> Row:
    """A paragraph that moves to the end."""
    lines = sentences(rng, 5)
    place = rng.choice([1, 2])
    path = "Documents/notes.odt"
    go: Steps = [["key", "ctrl+home"], *([["key", "down"]] * place)]
    again: Steps = [["key", "delete"], ["key", "ctrl+end"], ["type", f"\n{lines[place]}"]]
    cut: Steps = [*go, ["key", "home"], ["key", "shift+down"], ["key", "ctrl+x"]]
    paste: Steps = [["key", "ctrl+end"], ["key", "enter"], ["key", "ctrl+v"], ["key", "backspace"]]
    return {
        "goal": [
            f"In notes.odt, move the line “{lines[place]}” to the very end. Save the file.",
            f"The last line of notes.odt should be “{lines[place]}”; move it there from where it "
            "stands, and save the file.",
        ],
        "files": {path: {"blocks": lines}},
        "open": [path],
        "edits": [["move", path, ["blocks", place], 4]],
        "ways": [[*cut[:-1], *again, *SAVE], [*cut, *paste, *SAVE]],
        "wrong_ways": [
            [*cut, *SAVE],
            [["key", "ctrl+end"], ["type", f"\n{lines[place]}"], *SAVE],
        ],
    }


@task("writer", category="create")
def writer_page_break(rng: random.Random) -> Row:
    """A new page before a paragraph."""
    place = rng.choice([1, 2, 3])
    lines = sentences(rng, 5)
    path = "Documents/notes.odt"
    go: Steps = [["key", "ctrl+home"], *([["key", "down"]] * place), ["key", "home"]]
    return {
        "goal": [
            f"In notes.odt, let a new page begin right before the line “{lines[place]}”, by a page "
            "break and not by empty lines. Save the file.",
            f"The line “{lines[place]}” of notes.odt should be the first one of page 2. Use a page "
            "break and save the file.",
        ],
        "files": {path: {"blocks": lines}},
        "open": [path],
        "edits": [
            [
                "any_of",
                [["update", path, ["blocks", place], {"break-before": "page"}]],
                [  # Writer leaves an empty line where the new page was inserted
                    ["insert", path, ["blocks", place], {"style": "Standard", "runs": []}],
                    ["update", path, ["blocks", place + 1], {"break-before": "page"}],
                ],
            ]
        ],
        "ways": [
            [*go, ["key", "ctrl+enter"], *SAVE],
            [*go, ["menu", "alt+i", "enter"], *SAVE],
        ],
        "wrong_ways": [
            [*go, ["key", "down"], ["key", "home"], ["key", "ctrl+enter"], *SAVE],
            [*go, ["type", "\n\n\n"], *SAVE],
        ],
    }


@task("writer", category="feasibility", twins=(2, 3))
def writer_delete_line(rng: random.Random, feasible: bool) -> Row:
    """A line to delete that may not be there."""
    lines = sentences(rng, 5)
    gone = lines[2]
    if not feasible:
        del lines[2]
    path = "Documents/notes.odt"
    cut: Steps = [["key", "ctrl+home"], ["key", "down"], ["key", "down"], ["key", "home"]]
    delete: Steps = [*cut, ["key", "shift+down"], ["key", "delete"], *SAVE]
    blocks: Steps = [
        ["key", "ctrl+f"],
        ["key", "ctrl+a"],
        ["type", f"{gone}\n"],
        ["key", "escape"],
        ["key", "delete"],
        ["key", "delete"],
        *SAVE,
    ]
    fail = ["fail", "there is no such line"]
    return {
        "goal": [
            f"Delete the line “{gone}” from notes.odt, and save the file.",
            f"The line “{gone}” must go from notes.odt, without leaving an empty one. Save it.",
        ],
        "files": {path: {"blocks": lines}},
        "open": [path],
        "edits": [["remove", path, ["blocks", 2]]] if feasible else [],
        "ways": [delete, blocks] if feasible else [[fail], [["key", "ctrl+end"], fail]],
        "wrong_ways": [[fail], blocks[:5] + SAVE] if feasible else [delete, [["done"]]],
    }
