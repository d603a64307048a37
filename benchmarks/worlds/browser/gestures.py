"""Do actions in a page with mouse and keyboard."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from benchmarks.actions.action import Action
from benchmarks.worlds.browser.settle import requests_started
from utils.contracts import WH, Point

if TYPE_CHECKING:
    from playwright.sync_api import Keyboard, Mouse, Page

Settle = Callable[[], bool]  # waits until the page is quiet; False: it does not become quiet

LONG_PRESS_MS = 600.0
NOTCH_PX = 100.0  # scrolled by a notch of the wheel
DRAG_MOVES = 10
MAX_TYPED_PART = 40  # characters; longer parts are inserted at once, not key by key
MAX_TYPED_TEXT = 200  # characters; all parts of longer texts are inserted at once
TYPED_KEYS = {"\n": "Enter", "\t": "Tab"}
KEY_NAMES = {
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
PUNCTUATION_KEYS = {
    ";": "Semicolon",
    "=": "Equal",
    ",": "Comma",
    "-": "Minus",
    ".": "Period",
    "/": "Slash",
    "`": "Backquote",
    "[": "BracketLeft",
    "\\": "Backslash",
    "]": "BracketRight",
    "'": "Quote",
}
"""Playwright's names of the physical keys of a US keyboard, by the character without Shift."""
DIRECTIONS_XY = {"up": (0, -1), "down": (0, 1), "left": (-1, 0), "right": (1, 0)}


def perform(page: Page, action: Action, viewport_wh: WH, settle: Settle) -> None:
    """Do an action that needs mouse and keyboard alone.

    Args:
        page: where to do it.
        action: of any kind but the ends, "open_app", "home" and "back".
        viewport_wh: of the page in its own pixels, whatever the size of a screenshot.
        settle: called between the keys of a text, where the page reacts to one of them.
    """
    match action.kind:
        case "type":
            _type(page, action.text, settle)
        case "key":
            with _keys_down(page.keyboard, action.keys):
                pass
        case "wait":
            page.wait_for_timeout(1000 * action.seconds)
        case _:
            with _keys_down(page.keyboard, _with_control(action.modifiers)):
                _use_mouse(page.mouse, action, viewport_wh)


def _use_mouse(mouse: Mouse, action: Action, viewport_wh: WH) -> None:
    x, y = _point_px(action.point, viewport_wh)
    match action.kind:
        case "click" | "double" | "triple":
            mouse.click(x, y, click_count={"click": 1, "double": 2, "triple": 3}[action.kind])
        case "right" | "middle" as button:
            mouse.click(x, y, button=button)
        case "long":
            mouse.click(x, y, delay=LONG_PRESS_MS)
        case "move":
            mouse.move(x, y)
        case "drag":
            mouse.move(x, y)
            mouse.down()
            to_x, to_y = _point_px(action.to_point, viewport_wh)
            mouse.move(to_x, to_y, steps=DRAG_MOVES)
            mouse.up()
        case "scroll":
            mouse.move(x, y)
            x_sign, y_sign = DIRECTIONS_XY[action.direction]
            length_px = action.amount * NOTCH_PX
            mouse.wheel(x_sign * length_px, y_sign * length_px)
        case kind:
            raise ValueError(f"no gesture does {kind}")


def _point_px(point: Point | None, viewport_wh: WH) -> Point:
    """Return a point in pixels; the middle of the page if there is none."""
    x, y = point or (0.5, 0.5)
    width, height = viewport_wh
    return x * width, y * height


def _type(page: Page, text: str, settle: Settle) -> None:
    """Type a text; a line feed is the Enter key, a tab the Tab key.

    After every Enter, and after any key at which the page sends a request, it waits until the page
    is quiet: else the outcome would depend on how fast page and machine are.
    """
    keyboard = page.keyboard
    typist = _Typist(page, settle)
    max_typed = MAX_TYPED_PART if len(text) <= MAX_TYPED_TEXT else 0
    for part in re.split(r"([\n\t])", text.replace("\r\n", "\n")):
        if part in TYPED_KEYS:
            typist.send(keyboard.press, TYPED_KEYS[part], waits=part == "\n")
        elif len(part) > max_typed:
            typist.send(keyboard.insert_text, part)
        else:
            for character in part:
                typist.send(keyboard.type, character)


class _Typist:
    """Sends the parts of one text, and waits for the page where needed."""

    def __init__(self, page: Page, settle: Settle) -> None:
        self._page = page
        self._settle = settle
        self._gets_quiet = True  # after a page did not, it is not waited for again
        self._request_count = requests_started(page)

    def send(self, do: Callable[[str], None], part: str, *, waits: bool = False) -> None:
        """Do something with a part; wait where it `waits`, or the page sends a request."""
        do(part)
        if not self._gets_quiet:
            return
        if waits or requests_started(self._page) != self._request_count:
            self._gets_quiet = self._settle()
            self._request_count = requests_started(self._page)


def _with_control(keys: Sequence[str]) -> list[str]:
    """Return the keys with Control in place of the command key of macOS."""
    return ["ctrl" if key == "meta" else key for key in keys]


@contextmanager
def _keys_down(keyboard: Keyboard, keys: Sequence[str]) -> Iterator[None]:
    """Hold keys down together."""
    if len(keys) > 1:
        keys = _with_control(keys)
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
    """Return Playwright's name of a key; with Shift the physical key, since "a" would stay "a"."""
    if is_shifted and len(key) == 1 and key.isascii():
        if key.isalpha():
            return f"Key{key.upper()}"
        if key.isdigit():
            return f"Digit{key}"
        return PUNCTUATION_KEYS.get(key, key)
    return KEY_NAMES.get(key, key)
