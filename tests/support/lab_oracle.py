"""Play scripted solutions of JupyterLab with mouse and keyboard.

An oracle finds elements in the page's document, where an agent has to look; it acts through
actions alone, as an agent does. Its steps:

    ["file", name]                 clicks a file of the file browser
    ["open", path]                 opens a file, folder by folder
    ["file.menu", name, item]      chooses from the menu of a file
    ["menu", title, item, ...]     chooses from a menu of the menu bar, and its submenus
    ["click.<kind>", text]         clicks an element of `KINDS` by its text, or its number
    ["double.<kind>", text], ["right.<kind>", text]
    ["cell", number]               selects a cell of a notebook
    ["keys", "ctrl+s"], ["type", text], ["drag.<kind>", text, to kind, to text]
    ["done"], ["answer", text], ["fail"]

and those of the office (`office_oracle`), where the task has one: ["mail.read", subject].
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.actions.action import Action
from benchmarks.worlds.jupyterlab.world import NAME
from benchmarks.worlds.office.world import APPS
from tests.support.office_oracle import Oracle

KINDS = {
    "file": ".jp-DirListing-item",
    "listing": ".jp-DirListing-content",
    "line": ".jp-FileEditor .cm-line",
    "cell": ".jp-Notebook .jp-Cell",
    "heading": ".jp-Notebook .jp-RenderedMarkdown h1",
    "prompt": ".jp-Notebook .jp-Cell .jp-InputPrompt",
    "codeline": ".jp-Notebook .cm-line",
    "menu": ".lm-MenuBar-item",
    "item": ".lm-Menu-item",
    "button": ".jp-Dialog-button",
    "home": ".jp-BreadCrumbs-home",
    "search": ".jp-DocumentSearch-overlay textarea, .jp-DocumentSearch-overlay button",
    "command": ".lm-CommandPalette-item",
    "section": ".jp-Collapse-header",
    "tab": "#jp-main-dock-panel .lm-TabBar-tab",
    "field": "input, select, textarea",
    "labelled": "button, jp-button, a, label, [role=tab], [title], [aria-label]",
}
FIND = """([selector, text]) => {
  const isVisible = (item) => item.checkVisibility({visibilityProperty: true})
    && item.getBoundingClientRect().width > 0;
  const textsOf = (item) => [item.innerText, item.textContent, item.title, item.ariaLabel, item.placeholder]
    .map((value) => (value ?? "").trim());
  const items = [...document.querySelectorAll(selector)].filter(isVisible);
  const hits = typeof text === "number" ? items.slice(text - 1, text) : [
    ...items.filter((item) => textsOf(item).includes(text)),
    ...items.filter((item) => textsOf(item).some((own) => own.split("\\n")[0] === text)),
    ...items.filter((item) => textsOf(item).some((own) => own.startsWith(text))),
  ];
  if (!hits.length) return null;
  const box = hits[0].getBoundingClientRect();
  return {x: box.left + box.width / 2, y: box.top + box.height / 2};
}"""
"""Finds an element by selector and text or number: its middle, in pixels of the frame."""


class LabOracle:
    """Plays steps in an episode that has begun."""

    def __init__(self, world: Any) -> None:
        self.world = world
        self.office = Oracle(world)
        self.actions = self.office.actions  # all so far

    def play(self, steps: Sequence[Sequence[Any]]) -> None:
        """Do one step after the other; LookupError: an element is missing."""
        for verb, *arguments in steps:
            gesture, _, kind = verb.partition(".")
            if verb in ("answer", "done", "fail") or gesture in APPS:
                self.office.play([[verb, *arguments]])
                continue
            if self.world.app_of(self.world.tab) != self.world.apps[NAME]:
                self.office._open(NAME)
            if verb == "file.menu":
                self._point("right", "file", arguments[0])
                for item in arguments[1:]:
                    self._point("click", "item", item)
            elif kind:
                self._point(gesture, kind, *arguments)
            else:
                getattr(self, f"_{verb}")(*arguments)

    def _act(self, action: Action) -> None:
        self.actions.append(action)
        self.world.step(action)

    def _find(self, kind: str, text: str | int) -> tuple[float, float]:
        tab = self.world.tab
        frame = self.world.lab_frame(tab)
        element = frame.evaluate(FIND, [KINDS[kind], text])
        if element is None:
            raise LookupError(f"{kind} {text!r} is not to be seen")
        frame_x, frame_y = 0.0, 0.0
        if frame.parent_frame:
            box = frame.frame_element().bounding_box()
            frame_x, frame_y = box["x"], box["y"]
        width, height = tab.viewport_wh
        return (frame_x + element["x"]) / width, (frame_y + element["y"]) / height

    def _point(self, gesture: str, kind: str, text: str | int, *to: str) -> None:
        to_point = self._find(to[0], to[1]) if to else None
        self._act(Action(gesture, self._find(kind, text), to_point=to_point))

    def _file(self, name: str) -> None:
        self._point("click", "file", name)

    def _cell(self, number: int) -> None:
        """Select a cell, in command mode."""
        self._point("click", "cell", number)
        self._keys("escape")

    def _open(self, path: str) -> None:
        for name in path.strip("/").split("/"):
            self._point("double", "file", name)

    def _menu(self, title: str, *items: str) -> None:
        self._point("click", "menu", title)
        for item in items:
            self._point("click", "item", item)

    def _keys(self, keys: str) -> None:
        self._act(Action("key", keys=tuple(keys.split("+"))))

    def _type(self, text: Any) -> None:
        self._act(Action("type", text=str(text)))
