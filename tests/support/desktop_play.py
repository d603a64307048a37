"""Play scripted steps on the desktop, as an agent would: by mouse, keyboard and the screen alone.

A step is an action (["key", "ctrl+s"], ["type", "text"], ["click", x, y], ["drag", x, y, x, y],
["open_app", "Files"], ["done"], ...) with points in pixels, or one of these, which stand for several:

    ["cell", "B9"]        go to a cell or a range of a spreadsheet, by the name box
    ["menu", "alt+o", "down 3", "enter"]   keys one after the other; "down 3" is a key three times
    ["look", "name"]      keep the screen under that name, for people (see `folder`)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from PIL import Image

from benchmarks.actions.action import Action
from benchmarks.actions.reading import read_keys
from benchmarks.worlds.desktop.looks import SCREEN_WH

FIELDS = {
    "type": "text",
    "wait": "seconds",
    "open_app": "app",
    "answer": "text",
    "fail": "text",
    "done": "text",
}
MOUSE = ("click", "double", "triple", "right", "middle", "long", "move", "drag", "scroll")


class Player:
    """Plays steps in a world; `actions` are all that it did."""

    def __init__(self, world, folder: Path | None = None) -> None:
        self.world = world
        self.folder = folder
        self.actions: list[Action] = []
        self.notes: list[str] = []
        self.images: list[str] = []  # hashes of the screenshots
        self.last = None

    def play(self, steps: Sequence[Sequence[Any]]) -> None:
        for step in steps:
            if step[0] == "look":
                self.look(step[1])
                continue
            if step[0] == "window":
                self.world.session.wait_for_window(step[1])
                self.world.session.settle(0.3)
                continue
            for action in actions_of(step):
                self.act(action)

    def act(self, action: Action) -> None:
        self.last = self.world.step(action)
        self.actions.append(action)
        self.images.append(self.last.image.stem)
        if self.last.note:
            self.notes.append(f"{action}: {self.last.note}")

    def look(self, name: str) -> None:
        if self.folder:
            pixels = self.world.session.screen.pixels()
            Image.fromarray(pixels).save(self.folder / f"{name}.png")


def actions_of(step: Sequence[Any]) -> Iterator[Action]:
    """Yield the actions of a step."""
    name, *arguments = step
    if name == "cell":
        yield Action("key", keys=("ctrl", "shift", "t"))
        yield Action("type", text=f"{arguments[0]}\n")
    elif name == "menu":
        for key in arguments:
            keys, _, times = key.partition(" ")
            for _ in range(int(times or 1)):
                yield key_action(keys)
    elif name == "key":
        yield key_action(arguments[0])
    elif name in FIELDS:
        yield Action(name, **dict(zip([FIELDS[name]], arguments, strict=False)))
    elif name in MOUSE:
        yield mouse_action(name, *arguments)
    else:
        raise ValueError(f"no step {name!r}")


def key_action(keys: str) -> Action:
    return Action("key", keys=read_keys(keys))


def mouse_action(kind: str, x: float, y: float, *rest: Any) -> Action:
    point = (x / SCREEN_WH[0], y / SCREEN_WH[1])
    if kind == "drag":
        return Action(kind, point, (rest[0] / SCREEN_WH[0], rest[1] / SCREEN_WH[1]))
    if kind == "scroll":
        return Action(kind, point, direction=rest[0], amount=rest[1])
    modifiers = tuple(rest[0].split("+")) if rest else ()
    return Action(kind, point, modifiers=modifiers)
