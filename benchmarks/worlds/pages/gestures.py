"""Actions, carried out in a page."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from benchmarks.worlds.actions import Action
from benchmarks.worlds.pages.settle import requests_begun
from utils.contracts import WH, Point

if TYPE_CHECKING:
    from playwright.sync_api import Keyboard, Mouse, Page

Settle = Callable[[], bool]  # waits until the page is quiet; False: it does not become so

HELD_MS = 600.0  # a long press
NOTCH_PX = 100.0  # what a notch of the wheel scrolls
DRAG_MOVES = 10
LONG_PART, LONG_TEXT = 40, 200  # characters; more are put in at once, not key by key
NAMES = {
    "ctrl": "Control",
    "alt": "Alt",
    "shift": "Shift",
    "meta": "Meta",
    "up": "ArrowUp",
    "down": "ArrowDown",
    "left": "ArrowLeft",
    "right": "ArrowRight",
    "pageup": "PageUp",
    "pagedown": "PageDown",
    **{
        name: name.capitalize()
        for name in (
            "enter",
            "tab",
            "escape",
            "backspace",
            "delete",
            "insert",
            "space",
            "home",
            "end",
        )
    },
    **{f"f{number}": f"F{number}" for number in range(1, 13)},
}
TOWARDS = {"up": (0, -1), "down": (0, 1), "left": (-1, 0), "right": (1, 0)}


def perform(page: Page, action: Action, viewport_wh: WH, settle: Settle) -> None:
    """Does with mouse and keyboard what an action says; for all kinds that need no more than that.

    Args:
        viewport_wh: of the page in its own pixels, whatever the size of a screenshot.
        settle: called between the keys of a text, where one of them has set the page to work.
    """
    match action.kind:
        case "type":
            _type(page, action.text, settle)
        case "key":
            with _held(page.keyboard, action.keys):
                pass
        case "wait":
            page.wait_for_timeout(1000 * action.seconds)
        case _:
            with _held(page.keyboard, _beside_others(action.modifiers)):
                _point(page.mouse, action, viewport_wh)


def _point(mouse: Mouse, action: Action, viewport_wh: WH) -> None:
    at = _place(action.point, viewport_wh)
    match action.kind:
        case "click" | "double" | "triple":
            mouse.click(*at, click_count={"click": 1, "double": 2, "triple": 3}[action.kind])
        case "right" | "middle" as button:
            mouse.click(*at, button=button)
        case "long":
            mouse.click(*at, delay=HELD_MS)
        case "move":
            mouse.move(*at)
        case "drag":
            mouse.move(*at)
            mouse.down()
            mouse.move(*_place(action.to_point, viewport_wh), steps=DRAG_MOVES)
            mouse.up()
        case "scroll":
            mouse.move(*at)
            x, y = TOWARDS[action.direction]
            mouse.wheel(x * action.amount * NOTCH_PX, y * action.amount * NOTCH_PX)
        case kind:
            raise ValueError(f"no gesture does {kind}")


def _place(point: Point | None, viewport_wh: WH) -> Point:
    x, y = point or (0.5, 0.5)
    return x * viewport_wh[0], y * viewport_wh[1]


def _type(page: Page, text: str, settle: Settle) -> None:
    """Types a text; a line feed is the Enter key, a tab the Tab key.

    What a key sets off is waited for before the next one, or the outcome would depend on how fast
    page and machine are: after every Enter, and after any key at which the page asks its server.
    """
    typist = _Typist(page, settle)
    most = LONG_PART if len(text) <= LONG_TEXT else 0
    for part in re.split(r"([\n\t])", text.replace("\r\n", "\n")):
        if part == "\n":
            typist.press("Enter")
        elif part == "\t":
            typist.press("Tab")
        elif len(part) > most:
            typist.insert(part)
        else:
            for character in part:
                typist.type(character)


class _Typist:
    """The keyboard of one text, which waits for the page where it has to."""

    def __init__(self, page: Page, settle: Settle) -> None:
        self._page, self._settle = page, settle
        self._gets_quiet = True  # a page that did not once is not waited for again and again
        self._begun = requests_begun(page)

    def press(self, key: str) -> None:
        self._page.keyboard.press(key)
        self._wait(always=key == "Enter")

    def insert(self, text: str) -> None:
        self._page.keyboard.insert_text(text)
        self._wait()

    def type(self, character: str) -> None:
        self._page.keyboard.type(character)
        self._wait()

    def _wait(self, *, always: bool = False) -> None:
        if not self._gets_quiet:
            return
        begun = requests_begun(self._page)
        if always or begun != self._begun:
            self._gets_quiet = self._settle()
            self._begun = requests_begun(self._page)


def _beside_others(keys: Sequence[str]) -> list[str]:
    """Return the keys with Control in the place of the command key of macOS."""
    return ["ctrl" if key == "meta" else key for key in keys]


@contextmanager
def _held(keyboard: Keyboard, keys: Sequence[str]) -> Iterator[None]:
    """Hold keys down together."""
    if len(keys) > 1:
        keys = _beside_others(keys)
    down: list[str] = []
    try:
        for key in keys:
            name = _name_of(key, is_shifted="shift" in keys)
            if len(name) == 1 and not name.isascii():
                keyboard.insert_text(name)  # no key of this keyboard
            else:
                keyboard.down(name)
                down.append(name)
        yield
    finally:
        for name in reversed(down):
            keyboard.up(name)


def _name_of(key: str, *, is_shifted: bool) -> str:
    """Return what Playwright calls a key; with Shift its place, since "a" would stay "a"."""
    if is_shifted and len(key) == 1 and key.isascii():
        if key.isalpha():
            return f"Key{key.upper()}"
        if key.isdigit():
            return f"Digit{key}"
    return NAMES.get(key, key)
