"""Tasks in the settings of the desktop, and more in the text editor."""

# Tasks of a benchmark, not to be trained on. Canary: 6f4f12ab-1b3f-45ea-bbe2-8e94ed0444e4

from __future__ import annotations

import random

from benchmarks.worlds.desktop.home import HOME
from benchmarks.worlds.desktop.tasks.calc import SAVE, Row, Steps
from benchmarks.worlds.desktop.tasks.registry import task

DONE: Steps = [["wait", 0.5], ["done"]]
ROOMS = ("kitchen", "office", "garage", "library", "garden", "cellar")
APPEARANCE_XY, DESKTOP_XY, WORKSPACES_XY = (362, 202), (545, 202), (362, 312)
THEMES = {"Adwaita": 187, "Adwaita-dark": 224, "Greybird": 262, "Greybird-dark": 303}
"""Styles, and where each stands in the list (y)."""


def notes_text(rng: random.Random) -> dict[str, str]:
    """Return a text that has to stay as it is, another one under each seed."""
    return {"Documents/notes.txt": "\n".join(rng.sample(ROOMS, 5)) + "\n"}


def show(x: int, y: int) -> Steps:
    """Return the steps that open a part of the settings."""
    return [["double", x, y], ["wait", 1.0]]


@task("settings", category="update")
def settings_workspaces(rng: random.Random) -> Row:
    """More workspaces."""
    count = rng.choice([5, 6, 7])
    names = [f"Workspace {number}" for number in range(1, count + 1)]
    part = show(*WORKSPACES_XY)
    enter: Steps = [["triple", 540, 197], ["type", f"{count}\t"]]
    plus: Steps = [["click", 601, 197]]
    return {
        "goal": [
            f"Have {count} workspaces from now on; there are 4.",
            f"In the settings, raise the number of workspaces from 4 to {count}.",
        ],
        "files": notes_text(rng),
        "open": ["settings"],
        "edits": [
            ["setting", "xfwm4/general/workspace_count", f"{count}"],
            ["setting", "xfwm4/general/workspace_names", names],
        ],
        "ways": [[*part, *enter, *DONE], [*part, *(plus * (count - 4)), *DONE]],
        "wrong_ways": [[*part, *(plus * (count - 3)), *DONE], [*part, *DONE]],
    }


@task("settings", category="update")
def settings_theme(rng: random.Random) -> Row:
    """Another style of windows and buttons."""
    theme = rng.choice(["Adwaita", "Adwaita-dark", "Greybird-dark"])
    other = rng.choice([name for name in THEMES if name not in (theme, "Greybird")])
    part = show(*APPEARANCE_XY)
    choose: Steps = [["click", 500, THEMES[theme]]]
    choose_other: Steps = [["click", 500, THEMES[other]], ["wait", 0.6]]
    return {
        "goal": [
            f"Change the style of the desktop's appearance to {theme}.",
            f"In the settings, choose the style “{theme}” under Appearance.",
        ],
        "files": notes_text(rng),
        "open": ["settings"],
        "edits": [["setting", "xsettings/Net/ThemeName", theme]],
        "ways": [[*part, *choose, *DONE], [*part, *choose_other, *choose, *DONE]],
        "wrong_ways": [[*part, *choose_other, *DONE], [*part, *choose, *choose_other, *DONE]],
    }


@task("settings", category="update")
def settings_single_click(rng: random.Random) -> Row:
    """The click that opens icons of the desktop."""
    key = "xfce4-desktop/desktop-icons/single-click"
    part: Steps = [*show(*DESKTOP_XY), ["click", 542, 138], ["wait", 0.6]]
    return {
        "goal": [
            "Let a single click open the icons on the desktop.",
            "I do not want to click twice on the icons of the desktop: one click should activate "
            "them. Set that in the settings.",
        ],
        "files": notes_text(rng),
        "open": ["settings"],
        "edits": [["setting", key, "true"]],
        "ways": [
            [*part, ["click", 369, 457], *DONE],
            [*part, ["click", 430, 457], *DONE],
        ],
        "wrong_ways": [
            [*part, ["click", 369, 457], ["wait", 0.6], ["click", 369, 457], *DONE],
            [*part, ["click", 369, 428], *DONE],
        ],
    }


@task("editor", category="update", tier="standard")
def editor_replace(rng: random.Random) -> Row:
    """A word of a text that is replaced wherever it stands."""
    old, new, *others = rng.sample(ROOMS, 5)
    lines = [
        f"The {old} is open from nine to five.",
        f"The {others[0]} is next to the {old}.",
        f"The {others[1]} is closed.",
        f"Ask in the {old} for the key of the {others[2]}.",
    ]
    path = "Documents/rooms.txt"
    changed = [line.replace(old, new) for line in lines]
    dialog: Steps = [["key", "ctrl+r"], ["wait", 0.5], ["type", f"{old}\t{new}"]]
    replace: Steps = [["click", 399, 434], ["wait", 0.5]]
    leave: Steps = [["key", "escape"], ["wait", 0.3]]
    return {
        "goal": [
            f"In rooms.txt, write {new} wherever {old} stands, and save the file.",
            f"The {old} is the {new} now. Replace the word everywhere in rooms.txt, and save it.",
        ],
        "files": {path: "\n".join(lines) + "\n"},
        "open": [path],
        "edits": [["write", path, "\n".join(changed)]],
        "ways": [
            [*dialog, ["click", 140, 394], *replace, *leave, *SAVE],
            [["key", "ctrl+a"], ["type", "\n".join(changed) + "\n"], *SAVE],
        ],
        "wrong_ways": [
            [*dialog, *replace, *leave, *SAVE],
            [*dialog, ["click", 140, 394], *replace, *leave, ["done"]],
        ],
    }


@task("editor", category="create")
def editor_save_as(rng: random.Random) -> Row:
    """A text under another name."""
    texts = notes_text(rng)
    [path] = texts
    name = rng.choice(["list", "backup", "second"])
    dialog: Steps = [["key", "ctrl+shift+s"], ["wait", 0.8]]
    accept: Steps = [["key", "enter"], ["wait", 0.5]]
    return {
        "goal": [
            f"Save the text of notes.txt a second time as {name}.txt in Documents; notes.txt "
            "stays.",
            f"Make a copy of notes.txt by saving it as {name}.txt in the folder Documents.",
        ],
        "files": texts,
        "open": [path],
        "edits": [["copy", path, f"Documents/{name}.txt"]],
        "ways": [
            [*dialog, ["type", name], *accept, ["done"]],
            [*dialog, ["type", f"/{HOME}/Documents/{name}"], *accept, ["done"]],
        ],
        "wrong_ways": [
            [*dialog, ["type", f"/{HOME}/Desktop/{name}"], *accept, ["done"]],
            [["key", "ctrl+end"], ["type", "more"], *dialog, ["type", name], *accept, ["done"]],
        ],
    }
