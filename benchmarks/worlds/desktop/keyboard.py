"""Mouse and keyboard of a world: gestures and texts as events of its X server."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from benchmarks.actions.action import Action
from benchmarks.worlds.desktop.x11 import (
    BUTTON_PRESS,
    BUTTON_RELEASE,
    KEY_PRESS,
    KEY_RELEASE,
    MOTION,
    XConnection,
)
from benchmarks.worlds.environment import in_pixels
from utils.contracts import WH

BUTTONS = {"click": 1, "double": 1, "triple": 1, "long": 1, "middle": 2, "right": 3}
TIMES = {"double": 2, "triple": 3}
WHEEL = {"up": 4, "down": 5, "left": 6, "right": 7}
LONG_PRESS_S = 0.6
DOUBLE_CLICK_S = 0.5  # clicks further apart are two
DRAG_MOVES = 12
DRAG_PAUSE_S = 0.012  # between its moves, so that programs see a drag and not a jump
DROP_PAUSE_S = 0.05
MAX_BURST = 40  # characters; programs lose keys of a longer one
SPARE_KEYS = 20  # kept free for characters of a burst that no key has, two on each
CONTROL_KEYS = {"\n": 0xFF0D, "\t": 0xFF09}
KEY_SYMBOLS = {
    "enter": 0xFF0D,
    "tab": 0xFF09,
    "escape": 0xFF1B,
    "backspace": 0xFF08,
    "delete": 0xFFFF,
    "insert": 0xFF63,
    "space": 0x20,
    "left": 0xFF51,
    "up": 0xFF52,
    "right": 0xFF53,
    "down": 0xFF54,
    "home": 0xFF50,
    "end": 0xFF57,
    "pageup": 0xFF55,
    "pagedown": 0xFF56,
    "shift": 0xFFE1,
    "ctrl": 0xFFE3,
    "alt": 0xFFE9,
    "meta": 0xFFEB,  # the Super key
    **{f"f{number}": 0xFFBD + number for number in range(1, 13)},
}
"""Symbols of X11 by the names of keys."""
MORE_CHARACTERS = (
    *(chr(code) for code in range(0xA1, 0x180)),
    *"€–—‘’‚“”„…•→←≤≥≠−×",
)
"""What the keyboard has not and is given at the start: Latin letters, signs of typography."""
EMPTY = 0


class Input:
    """Mouse and keyboard of one server."""

    def __init__(self, connection: XConnection) -> None:
        """Give free keys the characters that people need; clients must not have started yet."""
        self._x = connection
        self._keys: dict[int, tuple[int, bool]] = {}  # by symbol: the key, and whether with Shift
        self._last_click: tuple[float, int, int] = (0.0, -1, -1)  # when, and where
        table = connection.keyboard()
        codes = [connection.first_key + number for number in range(len(table))]
        for code, symbols in zip(codes, table, strict=True):
            self._learn(code, symbols[:2])
        free = [code for code, symbols in zip(codes, table, strict=True) if not any(symbols)]
        self._spare, free = free[:SPARE_KEYS], free[SPARE_KEYS:]
        missing = [
            char for char in dict.fromkeys(MORE_CHARACTERS) if _symbol(char) not in self._keys
        ]
        self._give(free, missing)
        connection.sync()

    def _learn(self, code: int, symbols: Sequence[int]) -> None:
        for level, symbol in enumerate(symbols):
            if symbol != EMPTY:
                self._keys.setdefault(symbol, (code, level == 1))

    def _give(self, codes: Sequence[int], characters: Sequence[str]) -> None:
        """Give two characters to each key, as far as there are keys."""
        pairs = zip(characters[::2], [*characters[1::2], ""], strict=False)
        for code, pair in zip(codes, pairs, strict=False):
            symbols = [_symbol(character) for character in pair if character]
            symbols *= 3 - len(symbols)  # one alone is on both levels
            self._x.change_key(code, symbols)
            self._learn(code, symbols)

    # -- actions ----------------------------------------------------------------------------------

    def perform(self, action: Action, screen_wh: WH, settle: Callable[[], object]) -> None:
        """Do an action of mouse or keyboard.

        Args:
            action: of any kind but the ends, "open_app", "home" and "back".
            screen_wh: of the screen.
            settle: called where what follows depends on what came before: around Enter and Tab of
                a text, after the mouse has moved, and before keys held with it are released.
        """
        match action.kind:
            case "type":
                self._type(action.text, settle)
            case "key":
                self._press(action.keys)
            case "wait":
                time.sleep(action.seconds)
            case _:
                self._use_mouse(action, screen_wh, settle)
        self._x.sync()

    def _use_mouse(self, action: Action, screen_wh: WH, settle: Callable[[], object]) -> None:
        x, y, to_x, to_y = in_pixels(action, screen_wh)
        self._x.fake(MOTION, 0, x, y)
        settle()
        if action.kind == "move":
            return
        with self._held(action.modifiers):
            match action.kind:
                case "drag":
                    self._drag(x, y, to_x, to_y)
                case "scroll":
                    self._x.click(WHEEL[action.direction], round(action.amount))
                case kind:
                    self._wait_for_new_click(x, y)
                    if kind == "long":
                        self._press_long(BUTTONS[kind])
                    else:
                        self._x.click(BUTTONS[kind], TIMES.get(kind, 1))
                    self._last_click = (time.monotonic(), x, y)
            if action.modifiers:
                settle()  # the file manager asks which keys are held when it gets to the click

    def _wait_for_new_click(self, x: int, y: int) -> None:
        """Wait where a click would be taken for the second one of a double click."""
        when, last_x, last_y = self._last_click
        remaining_s = when + DOUBLE_CLICK_S - time.monotonic()
        if remaining_s > 0 and max(abs(x - last_x), abs(y - last_y)) < 10:
            time.sleep(remaining_s)

    def _press_long(self, button: int) -> None:
        self._x.fake(BUTTON_PRESS, button)
        self._x.sync()
        time.sleep(LONG_PRESS_S)
        self._x.fake(BUTTON_RELEASE, button)

    def _drag(self, x: int, y: int, to_x: int, to_y: int) -> None:
        self._x.fake(BUTTON_PRESS, 1)
        for number in range(1, DRAG_MOVES + 1):
            share = number / DRAG_MOVES
            self._x.fake(MOTION, 0, round(x + (to_x - x) * share), round(y + (to_y - y) * share))
            self._x.sync()
            time.sleep(DRAG_PAUSE_S)
        time.sleep(DROP_PAUSE_S)
        self._x.fake(BUTTON_RELEASE, 1)

    # -- keys -------------------------------------------------------------------------------------

    def _press(self, keys: Sequence[str]) -> None:
        codes = [self._code(key) for key in keys]
        *held, (last, is_shifted) = codes
        shift = ["shift"] if is_shifted and "shift" not in keys else []
        with self._held(shift):
            for code, _ in held:
                self._x.fake(KEY_PRESS, code)
            self._x.fake(KEY_PRESS, last)
            self._x.fake(KEY_RELEASE, last)
            for code, _ in reversed(held):
                self._x.fake(KEY_RELEASE, code)

    @contextmanager
    def _held(self, keys: Iterable[str]) -> Iterator[None]:
        codes = [self._code(key)[0] for key in keys]
        for code in codes:
            self._x.fake(KEY_PRESS, code)
        yield
        for code in reversed(codes):
            self._x.fake(KEY_RELEASE, code)

    def _code(self, key: str) -> tuple[int, bool]:
        """Return the key of a name or character, and whether it needs Shift."""
        symbol = KEY_SYMBOLS.get(key) or _symbol(key)
        if symbol not in self._keys:
            self._lend([key])
        return self._keys[symbol]

    def _type(self, text: str, settle: Callable[[], object]) -> None:
        """Type a text; Enter and Tab wait for what came before, and are waited for.

        A dialog may not take them while it is busy with the text.
        """
        for part in re.split(r"([\n\t])", text.replace("\r\n", "\n")):
            if part in CONTROL_KEYS:
                settle()
                self._tap(CONTROL_KEYS[part])
                settle()
                continue
            for begin in range(0, len(part), MAX_BURST):
                burst = part[begin : begin + MAX_BURST]
                if self._lend(burst):
                    settle()  # programs have to hear of the new keys
                for character in burst:
                    self._tap(_symbol(character))
                self._x.sync()
                if begin + MAX_BURST < len(part):
                    settle()

    def _tap(self, symbol: int) -> None:
        code, is_shifted = self._keys[symbol]
        with self._held(["shift"] if is_shifted else []):
            self._x.fake(KEY_PRESS, code)
            self._x.fake(KEY_RELEASE, code)

    def _lend(self, characters: Iterable[str]) -> bool:
        """Give the spare keys to characters that no key has; whether there were any."""
        missing = [char for char in dict.fromkeys(characters) if _symbol(char) not in self._keys]
        if not missing:
            return False
        for symbol, (code, _) in [*self._keys.items()]:
            if code in self._spare:
                del self._keys[symbol]
        needed = dict.fromkeys(characters)
        self._give(self._spare, [char for char in needed if _symbol(char) not in self._keys])
        self._x.sync()
        return True


def _symbol(character: str) -> int:
    """Return the symbol of a character: its code, or in the range of Unicode."""
    code = ord(character)
    return code if code < 0x100 else 0x1000000 | code
