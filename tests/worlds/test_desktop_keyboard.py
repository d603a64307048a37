"""Actions as events of mouse and keyboard, on a server that only writes them down."""

import pytest

from benchmarks.actions.action import Action
from benchmarks.worlds.desktop import keyboard
from benchmarks.worlds.desktop.keyboard import KEY_SYMBOLS, MAX_BURST, SPARE_KEYS, Input
from benchmarks.worlds.desktop.x11 import (
    BUTTON_PRESS,
    BUTTON_RELEASE,
    KEY_PRESS,
    KEY_RELEASE,
    MOTION,
)

FIRST_KEY = 8
FREE_KEYS = 150
SCREEN_WH = (1000, 500)
NAMES = {MOTION: "move", BUTTON_PRESS: "press", BUTTON_RELEASE: "release"}
NAMES |= {KEY_PRESS: "down", KEY_RELEASE: "up"}


class RecordedServer:
    """A server with letters, digits and named keys on its keyboard, and many free keys."""

    first_key = FIRST_KEY

    def __init__(self):
        self.table = [[ord(low), ord(low.upper())] for low in "abcdefghijklmnopqrstuvwxyz"]
        self.table += [[ord(digit), ord(sign)] for digit, sign in zip("123", "!@#", strict=True)]
        self.table += [[symbol, 0] for symbol in KEY_SYMBOLS.values()]
        self.table += [[0, 0] for _ in range(FREE_KEYS)]
        self.events = []

    def keyboard(self):
        return self.table

    def change_key(self, code, symbols):
        self.table[code - FIRST_KEY] = [*symbols]

    def fake(self, event, detail, x=0, y=0):
        place = (x, y) if event == MOTION else (detail,)
        self.events.append((NAMES[event], *place))

    def click(self, button, times):
        self.events += [("press", button), ("release", button)] * times

    def sync(self):
        pass

    def typed(self):
        """The text and the named keys that programs have read from the keyboard."""
        shift = self.code_of(KEY_SYMBOLS["shift"])
        held, text = set(), ""
        for name, *place in self.events:
            if name == "down":
                symbol = self.table[place[0] - FIRST_KEY][int(shift in held)]
                held.add(place[0])
                if place[0] != shift:
                    text += chr(symbol & 0xFFFFFF) if symbol < 0xFF00 or symbol > 0xFFFF else "·"
            elif name == "up":
                held.remove(place[0])
        assert not held
        return text

    def code_of(self, symbol):
        [code] = [number for number, symbols in enumerate(self.table) if symbols[0] == symbol]
        return FIRST_KEY + code


@pytest.fixture
def server():
    return RecordedServer()


@pytest.fixture
def slept_s(monkeypatch):
    """The seconds of each pause; nothing waits."""
    pauses_s = []
    monkeypatch.setattr(keyboard.time, "sleep", pauses_s.append)
    monkeypatch.setattr(keyboard.time, "monotonic", lambda: 100.0 + sum(pauses_s))
    return pauses_s


@pytest.fixture
def perform(server, slept_s):
    """Performs actions one after the other; counts how often it has waited for the screen."""
    keys = Input(server)
    settled = []

    def perform(*actions):
        for action in actions:
            keys.perform(action, SCREEN_WH, lambda: settled.append(len(server.events)))
        return settled

    return perform


def test_a_click_moves_the_mouse_and_presses_a_button_there(server, perform):
    perform(Action("right", point=(0.5, 0.1)))
    assert server.events == [("move", 500, 50), ("press", 3), ("release", 3)]


@pytest.mark.parametrize(("kind", "clicks"), [("click", 1), ("double", 2), ("triple", 3)])
def test_a_click_is_as_many_as_its_name_says(server, perform, kind, clicks):
    perform(Action(kind, point=(0.5, 0.1)))
    assert server.events[1:] == [("press", 1), ("release", 1)] * clicks


def test_two_clicks_at_one_place_are_not_taken_for_a_double_click(server, perform, slept_s):
    perform(Action("click", point=(0.5, 0.1)), Action("click", point=(0.501, 0.1)))
    assert slept_s == [keyboard.DOUBLE_CLICK_S]
    perform(Action("click", point=(0.9, 0.1)))
    assert len(slept_s) == 1


def test_a_long_press_holds_the_button(perform, slept_s):
    perform(Action("long", point=(0.5, 0.1)))
    assert slept_s == [keyboard.LONG_PRESS_S]


def test_a_move_presses_nothing(server, perform):
    perform(Action("move", point=(1.0, 1.0)))
    assert [name for name, *_ in server.events] == ["move"]


def test_a_scroll_turns_the_wheel_as_far_as_it_says(server, perform):
    perform(Action("scroll", point=(0.5, 0.5), direction="up", amount=3))
    assert server.events[1:] == [("press", 4), ("release", 4)] * 3


def test_a_drag_holds_the_button_on_its_whole_way(server, perform):
    perform(Action("drag", point=(0.1, 0.2), to_point=(0.7, 0.8)))
    start, press, *moves, release = server.events
    assert (start, press, release) == (("move", 100, 100), ("press", 1), ("release", 1))
    assert moves[-1] == ("move", 700, 400)
    assert [x for _, x, _ in moves] == sorted(x for _, x, _ in moves)


def test_keys_held_with_a_click_are_released_when_the_screen_has_settled(server, perform):
    settled = perform(Action("click", point=(0.5, 0.1), modifiers=("ctrl", "shift")))
    names = [name for name, *_ in server.events]
    assert names == ["move", "down", "down", "press", "release", "up", "up"]
    assert settled == [1, 5]
    assert server.events[1][1] == server.events[-1][1] == server.code_of(KEY_SYMBOLS["ctrl"])


def test_keys_together_are_pressed_in_order_and_released_in_the_other(server, perform):
    perform(Action("key", keys=("ctrl", "alt", "a")))
    ctrl, alt = (server.code_of(KEY_SYMBOLS[name]) for name in ("ctrl", "alt"))
    a = server.code_of(ord("a"))
    downs = [("down", ctrl), ("down", alt), ("down", a)]
    assert server.events == [*downs, ("up", a), ("up", alt), ("up", ctrl)]


def test_a_sign_that_needs_shift_gets_it_unless_it_is_held(server, perform):
    perform(Action("key", keys=("!",)))
    assert server.typed() == "!"
    server.events.clear()
    perform(Action("key", keys=("shift", "!")))
    assert [name for name, *_ in server.events] == ["down", "down", "up", "up"]


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("Cab 1!", "Cab 1!"),
        ("über ŝ €", "über ŝ €"),  # on keys that were free
        ("日本語と한국어", "日本語と한국어"),  # on keys lent for the burst
        ("a\r\nb\tc", "a·b·c"),
    ],
)
def test_a_text_arrives_as_it_is(server, perform, text, read):
    perform(Action("type", text=text))
    assert server.typed() == read


def test_enter_waits_for_the_text_before_it_and_is_waited_for(server, perform):
    settled = perform(Action("type", text="ab\ncd"))
    assert settled == [4, 6]


def test_a_long_text_is_typed_in_bursts_that_programs_can_follow(server, perform):
    settled = perform(Action("type", text="x" * (2 * MAX_BURST + 1)))
    assert settled == [2 * MAX_BURST, 4 * MAX_BURST]
    assert server.typed() == "x" * (2 * MAX_BURST + 1)


def test_more_unknown_characters_than_there_are_spare_keys_are_lent_one_burst_after_the_other(
    server, perform
):
    characters = "".join(chr(0x4E00 + number) for number in range(3 * MAX_BURST))
    assert 2 * SPARE_KEYS >= MAX_BURST
    read = ""
    for begin in range(0, len(characters), MAX_BURST):
        server.events.clear()
        perform(Action("type", text=characters[begin : begin + MAX_BURST]))
        read += server.typed()
    assert read == characters


def test_a_wait_waits(perform, slept_s):
    perform(Action("wait", seconds=2.5))
    assert slept_s == [2.5]
