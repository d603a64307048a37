"""Tasks with files and folders."""

# Tasks of a benchmark, not to be trained on. Canary: 6f4f12ab-1b3f-45ea-bbe2-8e94ed0444e4

from __future__ import annotations

import random

from benchmarks.worlds.desktop.home import HOME
from benchmarks.worlds.desktop.tasks.calc import Row, Steps
from benchmarks.worlds.desktop.tasks.registry import task

WORDS = ("garden", "museum", "bridge", "harbour", "market", "station", "castle", "library")
DONE: Steps = [["done"]]


def notes(rng: random.Random, count: int) -> dict[str, str]:
    """Return texts in Documents with different names."""
    return {f"Documents/{word}.txt": f"About the {word}.\n" for word in rng.sample(WORDS, count)}


def select(pattern: str) -> Steps:
    """Return the steps that select files by a pattern."""
    return [["key", "ctrl+s"], ["type", pattern], ["key", "enter"], ["wait", 0.5]]


def go_to(path: str) -> Steps:
    """Return the steps that show a folder of the home."""
    return [
        ["key", "ctrl+l"],
        ["key", "ctrl+a"],
        ["type", f"/{HOME}/{path}"],
        ["key", "enter"],
        ["wait", 0.5],
    ]


def new_folder(name: str) -> Steps:
    """Return the steps that make a folder in the one that is shown."""
    steps = [["key", "ctrl+shift+n"], ["key", "ctrl+a"], ["type", name], ["key", "enter"]]
    return [*steps, ["wait", 0.5]]


@task("files", category="update")
def files_rename(rng: random.Random) -> Row:
    """A file with another name."""
    texts = notes(rng, 4)
    old = rng.choice(sorted(texts))
    new = rng.choice(["first draft.txt", "final.txt", "old version.txt"])
    name = old.rpartition("/")[2]
    rename: Steps = [
        ["key", "f2"],
        ["key", "ctrl+a"],
        ["type", new],
        ["key", "enter"],
        ["wait", 0.5],
    ]
    stem = new.removesuffix(".txt")
    return {
        "goal": [
            f"Rename {name} in the folder Documents to “{new}”.",
            f"The file {name} in Documents should be called “{new}”.",
        ],
        "files": texts,
        "open": ["Documents/"],
        "edits": [["rename", old, f"Documents/{new}"]],
        "ways": [
            [*select(name), *rename, *DONE],
            [*select(name), ["menu", "alt+e", "up 3", "enter"], *rename[1:], *DONE],
        ],
        "wrong_ways": [
            [
                *select(name),
                ["key", "f2"],
                ["key", "ctrl+a"],
                ["type", stem],
                ["key", "enter"],
                *DONE,
            ],
            [*select(name), ["key", "ctrl+c"], ["key", "ctrl+v"], ["wait", 0.5], *DONE],
        ],
    }


@task("files", category="update", tier="standard")
def files_move(rng: random.Random) -> Row:
    """Some files that go into a new folder."""
    texts = notes(rng, 3)
    others = {"Documents/list.csv": "a,b\n", "Documents/plan.ini": "[plan]\n"}
    folder = rng.choice(["Notes", "Texts", "Places"])
    moved = [path.rpartition("/")[2] for path in texts]
    cut: Steps = [*select("*.txt"), ["key", "ctrl+x"]]
    paste: Steps = [["key", "ctrl+v"], ["wait", 1.0]]
    by_menu: Steps = [["menu", "alt+e", "p"], ["wait", 1.0]]
    return {
        "goal": [
            f"Make a folder “{folder}” in Documents and move the files that end in .txt into it; "
            "the others stay where they are.",
            f"All .txt files of Documents belong into a new folder “{folder}” in Documents. Move "
            "them there, and nothing else.",
        ],
        "files": {**texts, **others},
        "open": ["Documents/"],
        "edits": [
            ["folder", f"Documents/{folder}/"],
            *(["rename", f"Documents/{name}", f"Documents/{folder}/{name}"] for name in moved),
        ],
        "ways": [
            [*new_folder(folder), *cut, *go_to(f"Documents/{folder}"), *paste, *DONE],
            [*new_folder(folder), *cut, *go_to(f"Documents/{folder}"), *by_menu, *DONE],
        ],
        "wrong_ways": [
            [
                *new_folder(folder),
                *select("*.txt"),
                ["key", "ctrl+c"],
                *go_to(f"Documents/{folder}"),
                *paste,
                *DONE,
            ],
            [
                *new_folder(folder.lower()),
                *cut,
                *go_to(f"Documents/{folder.lower()}"),
                *paste,
                *DONE,
            ],
        ],
    }


@task("files", category="create", tier="standard")
def files_copy(rng: random.Random) -> Row:
    """A copy of a file in another folder, under another name."""
    texts = notes(rng, 3)
    path = rng.choice(sorted(texts))
    name = path.rpartition("/")[2]
    new = f"{name.removesuffix('.txt')} {rng.randrange(2020, 2026)}.txt"
    copy: Steps = [*select(name), ["key", "ctrl+c"], *go_to("Desktop")]
    paste: Steps = [["key", "ctrl+v"], ["wait", 1.0]]
    rename: Steps = [
        *select(name),
        ["key", "f2"],
        ["key", "ctrl+a"],
        ["type", new],
        ["key", "enter"],
    ]
    return {
        "goal": [
            f"Put a copy of {name} from Documents on the desktop, with the name “{new}”. The "
            "original stays.",
            f"I need “{new}” on my desktop: a copy of {name} in Documents, which must stay as it "
            "is.",
        ],
        "files": texts,
        "open": ["Documents/"],
        "edits": [["copy", path, f"Desktop/{new}"]],
        "ways": [
            [*copy, *paste, *rename, ["wait", 0.5], *DONE],
            [
                *copy,
                ["menu", "alt+e", "p"],
                ["wait", 1.0],
                *rename,
                ["wait", 0.5],
                *DONE,
            ],
        ],
        "wrong_ways": [
            [*copy, *paste, *DONE],
            [
                *select(name),
                ["key", "ctrl+x"],
                *go_to("Desktop"),
                *paste,
                *rename,
                ["wait", 0.5],
                *DONE,
            ],
        ],
    }


@task("files", category="feasibility", twins=(0, 2))
def files_delete(rng: random.Random, feasible: bool) -> Row:
    """A file to delete that may not be there."""
    texts = notes(rng, 5)
    path = rng.choice(sorted(texts))
    name = path.rpartition("/")[2]
    if not feasible:
        del texts[path]
    other = rng.choice(sorted(set(texts) - {path})).rpartition("/")[2]
    fail = ["fail", f"there is no {name}"]
    yes: Steps = [["key", "enter"], ["wait", 0.5], *DONE]
    delete: Steps = [*select(name), ["key", "shift+delete"], *yes]
    other_deleted: Steps = [*select(other), ["key", "shift+delete"], *yes]
    return {
        "goal": [
            f"Delete the file {name} from Documents.",
            f"{name} in Documents is of no use any more: delete it.",
        ],
        "files": texts,
        "open": ["Documents/"],
        "edits": [["delete", path]] if feasible else [],
        "ways": (
            [delete, [*select(name), ["key", "delete"], *yes]]
            if feasible
            else [[fail], [*select(name), ["key", "escape"], fail]]
        ),
        "wrong_ways": [other_deleted, [fail] if feasible else [["done"]]],
    }
