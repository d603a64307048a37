"""Tasks with many files and folders, and with links."""

# Tasks of a benchmark, not to be trained on. Canary: 6f4f12ab-1b3f-45ea-bbe2-8e94ed0444e4

from __future__ import annotations

import random

from benchmarks.worlds.desktop.home import HOME
from benchmarks.worlds.desktop.tasks.calc import Row, Steps
from benchmarks.worlds.desktop.tasks.files import DONE, WORDS, go_to, new_folder, notes, select
from benchmarks.worlds.desktop.tasks.registry import task

PASTE: Steps = [["key", "ctrl+v"], ["wait", 1.0]]
FIRST_ICON_XY, ICON_STEP_X = (215, 165), 75


def rename(new: str) -> Steps:
    """Return the steps that rename the selected file."""
    return [["key", "f2"], ["key", "ctrl+a"], ["type", new], ["key", "enter"], ["wait", 0.5]]


@task("files", category="create", tier="standard")
def files_link(rng: random.Random) -> Row:
    """A link to a file."""
    texts = notes(rng, 3)
    path = rng.choice(sorted(texts))
    name = path.rpartition("/")[2]
    new = rng.choice(["latest", "current", "favourite"])
    x = FIRST_ICON_XY[0] + ICON_STEP_X * sorted(texts).index(path)
    make: Steps = [["menu", "alt+e", "up 4", "enter"], ["wait", 0.5]]
    finish: Steps = [*select("link to *"), *rename(new), *DONE]
    target = {"link": {"one_of": [f"-> /{HOME}/{path}", f"-> {name}"]}}
    return {
        "goal": [
            f"Make a link to {name} in Documents, in the same folder, and call the link “{new}”.",
            f"“{new}” in Documents should be a link to {name} there, not a copy of it.",
        ],
        "files": texts,
        "open": ["Documents/"],
        "edits": [["write", f"Documents/{new}", target]],
        "ways": [
            [*select(name), *make, *finish],
            [["click", x, FIRST_ICON_XY[1]], *make, *finish],
        ],
        "wrong_ways": [
            [
                *select(name),
                ["menu", "alt+e", "up 5", "enter"],
                ["wait", 0.5],
                *select("*copy*"),
                *rename(new),
                *DONE,
            ],
            [*select(name), *make, *DONE],
        ],
    }


@task("files", category="create", tier="standard")
def files_folders(rng: random.Random) -> Row:
    """Folders in a new folder."""
    outer = rng.choice(["Trip", "House", "Course"])
    one, other = rng.sample(["Photos", "Letters", "Plans", "Bills"], 2)
    into: Steps = go_to(f"Documents/{outer}")
    edits = [["folder", f"Documents/{name}/"] for name in (outer, f"{outer}/{one}")]
    return {
        "goal": [
            f"Make a folder “{outer}” in Documents, and in it two folders “{one}” and “{other}”.",
            f"I need a new folder “{outer}” in Documents with two empty folders inside: “{one}” "
            f"and “{other}”.",
        ],
        "files": notes(rng, 2),
        "open": ["Documents/"],
        "edits": [*edits, ["folder", f"Documents/{outer}/{other}/"]],
        "ways": [
            [*new_folder(outer), *into, *new_folder(one), *new_folder(other), *DONE],
            [*new_folder(outer), *into, *new_folder(other), *new_folder(one), *DONE],
        ],
        "wrong_ways": [
            [*new_folder(outer), *new_folder(one), *new_folder(other), *DONE],
            [*new_folder(outer), *into, *new_folder(one), *DONE],
        ],
    }


@task("files", category="update", tier="standard")
def files_clean(rng: random.Random) -> Row:
    """All files of a kind that go."""
    words = rng.sample(WORDS, 6)
    ending = rng.choice(["log", "ini"])
    gone = [f"Documents/{word}.{ending}" for word in words[:3]]
    texts = {f"Documents/{word}.txt": f"About the {word}.\n" for word in words[2:]}
    delete: Steps = [["key", "shift+delete"], ["wait", 0.5], ["key", "enter"], ["wait", 0.5]]
    by_menu: Steps = [["key", "delete"], ["wait", 0.5], ["key", "enter"], ["wait", 0.5]]
    return {
        "goal": [
            f"Delete all files in Documents that end in .{ending}; the others stay.",
            f"Nobody needs the .{ending} files in Documents any more. Delete them, and nothing "
            "else.",
        ],
        "files": {**texts, **dict.fromkeys(gone, "old = 1\n")},
        "open": ["Documents/"],
        "edits": [["delete", path] for path in gone],
        "ways": [
            [*select(f"*.{ending}"), *delete, *DONE],
            [*select(f"*.{ending}"), *by_menu, *DONE],
        ],
        "wrong_ways": [
            [*select(f"{words[0]}.{ending}"), *delete, *DONE],
            [["key", "ctrl+a"], *delete, *DONE],
        ],
    }


@task("files", category="update", tier="standard")
def files_sort(rng: random.Random) -> Row:
    """Files of two kinds that go into two folders."""
    words = rng.sample(WORDS, 5)
    texts = [f"{word}.txt" for word in words[:3]]
    tables = [f"{word}.csv" for word in words[3:]]
    files = {f"Documents/{name}": f"About {name}.\n" for name in [*texts, *tables]}
    places = dict.fromkeys(texts, "Texts") | dict.fromkeys(tables, "Tables")

    def move(ending: str, folder: str) -> Steps:
        steps: Steps = [*select(f"*.{ending}"), ["key", "ctrl+x"], *go_to(f"Documents/{folder}")]
        return [*steps, *PASTE, *go_to("Documents")]

    return {
        "goal": [
            "Sort the files of Documents: those that end in .txt into the folder Texts, those that "
            "end in .csv into the folder Tables. Both folders are there.",
            "Move the .txt files of Documents into its folder Texts, and the .csv files into its "
            "folder Tables.",
        ],
        "files": {**files, "Documents/Texts/": "", "Documents/Tables/": ""},
        "open": ["Documents/"],
        "edits": [
            ["rename", f"Documents/{name}", f"Documents/{folder}/{name}"]
            for name, folder in places.items()
        ],
        "ways": [
            [*move("txt", "Texts"), *move("csv", "Tables"), *DONE],
            [*move("csv", "Tables"), *move("txt", "Texts"), *DONE],
        ],
        "wrong_ways": [
            [*move("txt", "Tables"), *move("csv", "Texts"), *DONE],
            [*move("txt", "Texts"), *DONE],
        ],
    }


@task("files", category="create", tier="standard")
def files_copy_folder(rng: random.Random) -> Row:
    """A copy of a folder with all that is in it."""
    folder = rng.choice(["Letters", "Recipes", "Reports"])
    words = rng.sample(WORDS, 4)
    files = {f"Documents/{folder}/{word}.txt": f"About the {word}.\n" for word in words[:3]}
    files |= {f"Documents/{folder}/": "", f"Documents/{words[3]}.txt": "Not in the folder.\n"}
    target = rng.choice(["Downloads", "Desktop"])
    take: Steps = [*select(folder), ["key", "ctrl+c"]]
    by_menu: Steps = [["menu", "alt+e", "p"], ["wait", 1.0]]
    return {
        "goal": [
            f"Copy the folder {folder} of Documents, with all that is in it, into the folder "
            f"{target}. The original stays.",
            f"There should be a copy of Documents/{folder} in {target}, with the same files. "
            "Documents stays as it is.",
        ],
        "files": files,
        "open": ["Documents/"],
        "edits": [["copy", f"Documents/{folder}/", f"{target}/{folder}/"]],
        "ways": [
            [*take, *go_to(target), *PASTE, *DONE],
            [*take, *go_to(target), *by_menu, *DONE],
        ],
        "wrong_ways": [
            [*select(folder), ["key", "ctrl+x"], *go_to(target), *PASTE, *DONE],
            [
                *go_to(f"Documents/{folder}"),
                ["key", "ctrl+a"],
                ["key", "ctrl+c"],
                *go_to(target),
                *PASTE,
                *DONE,
            ],
        ],
    }
