"""Tasks in several applications about files, settings and pictures."""

# Tasks of a benchmark, not to be trained on. Canary: 6f4f12ab-1b3f-45ea-bbe2-8e94ed0444e4

from __future__ import annotations

import random

from benchmarks.worlds.desktop.home import HOME
from benchmarks.worlds.desktop.tasks.calc import Row, Steps
from benchmarks.worlds.desktop.tasks.files import DONE, WORDS, go_to, new_folder, notes, select
from benchmarks.worlds.desktop.tasks.files_many import PASTE, rename
from benchmarks.worlds.desktop.tasks.gimp import EXPORT, OVERWRITE, PATH, photo
from benchmarks.worlds.desktop.tasks.registry import task
from benchmarks.worlds.desktop.tasks.settings import WORKSPACES_XY, show
from benchmarks.worlds.desktop.tasks.several_texts import LOOK, OTHER_WINDOW
from benchmarks.worlds.desktop.tasks.writer import sentences

NOTE = "Desktop/note.txt"
DELETE: Steps = [["key", "shift+delete"], ["wait", 0.5], ["key", "enter"], ["wait", 0.5]]


@task("editor", "files", category="update", tier="standard")
def files_of_note(rng: random.Random) -> Row:
    """Files that a note says are of no use."""
    texts = notes(rng, 6)
    names = [path.rpartition("/")[2] for path in texts]
    gone = names[:2]
    one, other = ([*select(name), *DELETE] for name in gone)
    note = f"No longer needed:\n{gone[0]}\n{gone[1]}\n\nTo be kept:\n{names[2]}\n"
    return {
        "goal": [
            "note.txt on the desktop names files of Documents that are no longer needed. Delete "
            "these, and no others.",
            "Delete the files in Documents that note.txt on the desktop has under “No longer "
            "needed”. All else stays.",
        ],
        "files": {**texts, NOTE: note},
        "open": [NOTE, "Documents/"],
        "edits": [["delete", f"Documents/{name}"] for name in gone],
        "ways": [[*one, *other, *DONE], [*LOOK, *other, *one, *DONE]],
        "wrong_ways": [[*one, *DONE], [*one, *other, *select(names[2]), *DELETE, *DONE]],
    }


@task("editor", "files", category="update", tier="standard")
def folder_of_note(rng: random.Random) -> Row:
    """Files that a note sends into a folder."""
    texts = notes(rng, 5)
    names = [path.rpartition("/")[2] for path in texts]
    folder, other = rng.sample(["Archive", "Plans", "Drafts"], 2)
    note = f"{names[0]} and {names[1]} belong into {folder}, nothing into {other}.\n"

    def move(name: str, to: str) -> Steps:
        steps: Steps = [*select(name), ["key", "ctrl+x"], *go_to(f"Documents/{to}"), *PASTE]
        return [*steps, *go_to("Documents")]

    first, second = move(names[0], folder), move(names[1], folder)
    return {
        "goal": [
            "Move two files of Documents where note.txt on the desktop says. The folders are "
            "there.",
            "note.txt on the desktop says into which folder two files of Documents belong. Move "
            "them there, and nothing else.",
        ],
        "files": {
            **texts,
            NOTE: note,
            f"Documents/{folder}/": "",
            f"Documents/{other}/": "",
        },
        "open": [NOTE, "Documents/"],
        "edits": [
            ["rename", f"Documents/{name}", f"Documents/{folder}/{name}"] for name in names[:2]
        ],
        "ways": [[*first, *second, *DONE], [*LOOK, *second, *first, *DONE]],
        "wrong_ways": [[*first, *DONE], [*move(names[0], other), *second, *DONE]],
    }


@task("calc", "files", category="update", tier="standard")
def names_of_sheet(rng: random.Random) -> Row:
    """A file that gets the name that a table has for it."""
    words = rng.sample(WORDS, 5)
    numbers = rng.sample(range(1, 30), 5)
    scans = [f"scan {number}.txt" for number in sorted(numbers)]
    pairs = zip(scans, words, strict=True)
    rows = [["File", "Name"], *([scan, f"{word}.txt"] for scan, word in pairs)]
    place = rng.choice([1, 2, 3])
    old, new, other = scans[place], f"{words[place]}.txt", f"{words[place + 1]}.txt"
    path = "Documents/names.ods"
    return {
        "goal": [
            f"Rename the file {old} in Documents: names.ods says how it is to be called.",
            f"In Documents, {old} should have the name that names.ods gives for it. Rename that "
            "file only.",
        ],
        "files": {
            path: {"sheets": {"Names": rows}},
            **{f"Documents/{scan}": f"Page {scan}\n" for scan in scans},
        },
        "open": [path, "Documents/"],
        "edits": [["rename", f"Documents/{old}", f"Documents/{new}"]],
        "ways": [
            [*select(old), *rename(new), *DONE],
            [*LOOK, *select(old), ["menu", "alt+e", "up 3", "enter"], *rename(new)[1:], *DONE],
        ],
        "wrong_ways": [
            [*select(old), *rename(other), *DONE],
            [*select(scans[place - 1]), *rename(new), *DONE],
        ],
    }


@task("pdf", "files", category="update", tier="standard")
def name_of_page(rng: random.Random) -> Row:
    """A document that gets its title as its name."""
    word, other = rng.sample(["Contract", "Invoice", "Certificate", "Ticket"], 2)
    number = rng.randrange(100, 999)
    old, new = f"scan{number}.pdf", f"{word} {rng.randrange(10, 99)}.pdf"
    path = f"Documents/{old}"
    pages = [[new.removesuffix(".pdf"), "Please keep this page."], [f"{other} 12", "The end."]]
    return {
        "goal": [
            f"Give {old} in Documents the heading of its first page as its name, with .pdf at the "
            "end.",
            f"Rename {old} in Documents to what stands at the top of its first page, and keep the "
            "ending .pdf.",
        ],
        "files": {path: {"pages": pages}, **notes(rng, 2)},
        "open": [path, "Documents/"],
        "edits": [["rename", path, f"Documents/{new}"]],
        "ways": [
            [*select(old), *rename(new), *DONE],
            [*LOOK, *select(old), ["menu", "alt+e", "up 3", "enter"], *rename(new)[1:], *DONE],
        ],
        "wrong_ways": [
            [*select(old), *rename(f"{other} 12.pdf"), *DONE],
            [*select(old), *rename(new.removesuffix(".pdf")), *DONE],
        ],
    }


@task("writer", "files", category="create", tier="standard")
def pdf_into_folder(rng: random.Random) -> Row:
    """A text as a PDF file in a new folder."""
    folder = rng.choice(["Out", "Sent", "To print"])
    path = "Documents/notes.odt"
    text = {path: {"blocks": sentences(rng, 5)}}
    make = new_folder(folder)

    def export(to: str) -> Steps:
        steps: Steps = [["menu", "alt+f", "up 9", "right", "down 1", "enter"], ["wait", 1.0]]
        name: Steps = [["key", "ctrl+a"], ["type", f"/{HOME}/{to}"], ["wait", 0.5]]
        return [*steps, *name, ["key", "enter"], ["wait", 1.5]]

    inside = f"Documents/{folder}/notes.pdf"
    move: Steps = [
        *OTHER_WINDOW,
        *select("notes.pdf"),
        ["key", "ctrl+x"],
        *go_to(f"Documents/{folder}"),
        *PASTE,
    ]
    return {
        "goal": [
            f"Make a folder “{folder}” in Documents, and export notes.odt into it as notes.pdf. "
            "notes.odt stays where it is.",
            f"There should be a new folder “{folder}” in Documents with notes.pdf in it, the PDF "
            "file of notes.odt.",
        ],
        "files": text,
        "open": [path, "Documents/"],
        "edits": [["folder", f"Documents/{folder}/"], ["write", inside, {"pages": 1}]],
        "ways": [
            [*make, *OTHER_WINDOW, *export(inside), *DONE],
            [*make, *OTHER_WINDOW, *export("Documents/notes.pdf"), *move, *DONE],
        ],
        "wrong_ways": [
            [*make, *OTHER_WINDOW, *export("Documents/notes.pdf"), *DONE],
            [*make, *DONE],
        ],
    }


@task("editor", "settings", category="update", tier="standard")
def workspaces_of_note(rng: random.Random) -> Row:
    """A setting that a note asks for."""
    count, other = rng.sample([5, 6, 7], 2)
    note = f"Screen of the office\nworkspaces: {count} (not {other}, as it was planned)\n"
    part = show(*WORKSPACES_XY)
    names = [f"Workspace {number}" for number in range(1, count + 1)]
    finish: Steps = [["wait", 0.5], ["done"]]

    def enter(number: int) -> Steps:
        return [["triple", 540, 197], ["type", f"{number}\t"]]

    return {
        "goal": [
            "Set the number of workspaces as note.txt on the desktop has it.",
            "note.txt on the desktop says how many workspaces there should be. Change that in the "
            "settings.",
        ],
        "files": {NOTE: note},
        "open": [NOTE, "settings"],
        "edits": [
            ["setting", "xfwm4/general/workspace_count", f"{count}"],
            ["setting", "xfwm4/general/workspace_names", names],
        ],
        "ways": [
            [*part, *enter(count), *finish],
            [*LOOK, *part, *([["click", 601, 197]] * (count - 4)), *finish],
        ],
        "wrong_ways": [[*part, *enter(other), *finish], [*part, *finish]],
    }


@task("editor", "gimp", category="update", tier="standard")
def photo_of_note(rng: random.Random) -> Row:
    """A picture that is turned as a note says."""
    angle, down = rng.choice([(90, 2), (180, 4), (270, 3)])
    words = {90: "by 90 degrees clockwise", 180: "by 180 degrees"}
    words[270] = "by 90 degrees counter-clockwise"
    turn: Steps = [["menu", "alt+i", "t", f"down {down}", "enter"]]
    other: Steps = [["menu", "alt+i", "t", "down 1", "enter"]]
    picture = photo(rng)
    return {
        "goal": [
            "note.txt on the desktop says how photo.png is to be turned. Do that, in the file "
            "itself.",
            "Turn photo.png as note.txt on the desktop has it, and have the result in photo.png.",
        ],
        "files": {**picture["files"], NOTE: f"photo.png: to be turned {words[angle]}\n"},
        "open": [NOTE, *picture["open"]],
        "edits": [["picture", PATH, [["rotate", angle]]]],
        "ways": [[*turn, *OVERWRITE], [*turn, *EXPORT]],
        "wrong_ways": [[*other, *OVERWRITE], [*turn, ["done"]]],
    }
