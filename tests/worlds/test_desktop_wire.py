"""What the desktop's worlds read from an X server and its screen, without such a server."""

import contextlib
import socket
import struct
import threading

import pytest

from benchmarks.worlds.desktop import screen as module
from benchmarks.worlds.desktop.screen import LOOK_S, MAX_WAITING_S, Screen, settle
from benchmarks.worlds.desktop.x11 import (
    BUTTON_PRESS,
    BUTTON_RELEASE,
    CHANGE_KEYBOARD_MAPPING,
    GET_INPUT_FOCUS,
    GET_KEYBOARD_MAPPING,
    GET_PROPERTY,
    GET_SELECTION_OWNER,
    INTERN_ATOM,
    MOTION,
    QUERY_EXTENSION,
    XConnection,
)
from utils.contracts import WorldError

ROOT, XTEST, FIRST_KEY = 77, 140, 8
KEYS = ((97, 65), (98, 66), (0, 0))
EVENT = bytes([28]) + bytes(31)


class XServer:
    """Answers one connection by the protocol; keeps the requests that have no answer."""

    def __init__(self, path, *, refusal=b"", extensions=(b"XTEST",), lasts=1000, noise=b""):
        self.refusal, self.extensions, self.lasts = refusal, extensions, lasts
        self.noise = noise  # before each answer
        self.properties = {}  # by window, then by name
        self.owners = {}
        self.names = []
        self.requests = []
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(path))
        self._listener.listen(1)
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def close(self):
        self._listener.close()
        self._thread.join()

    def _serve(self):
        connection, _ = self._listener.accept()
        with connection, connection.makefile("rb") as requests, contextlib.suppress(OSError):
            assert requests.read(12)[:3] == b"l\0\x0b"
            connection.sendall(self._greeting())
            serial = 0
            while (head := requests.read(4)) and serial < self.lasts:
                opcode, detail, words = struct.unpack("<BBH", head)
                serial += 1
                answer = self._answer(opcode, detail, requests.read(4 * words - 4))
                if answer is not None:
                    kind, first, rest, body = answer
                    head = struct.pack("<BBHI", kind, first, serial, len(body) // 4)
                    message = self.noise + head + rest.ljust(24, b"\0") + body
                    connection.sendall(message[:5])
                    connection.sendall(message[5:])

    def _greeting(self):
        if self.refusal:
            body = self.refusal + bytes(-len(self.refusal) % 4)
            return struct.pack("<BBHHH", 0, len(self.refusal), 11, 0, len(body) // 4) + body
        body = struct.pack("<16xHHBB4xBB4x", 5, 0, 1, 1, FIRST_KEY, FIRST_KEY + len(KEYS) - 1)
        body += b"maker\0\0\0" + bytes(8) + struct.pack("<I", ROOT)  # vendor, a format, a screen
        return struct.pack("<BBHHH", 1, 0, 11, 0, len(body) // 4) + body

    def _answer(self, opcode, detail, content):
        if opcode == QUERY_EXTENSION:
            name = content[4 : 4 + content[0]]
            return 1, 0, bytes([name in self.extensions, XTEST]), b""
        if opcode == INTERN_ATOM:
            self.names.append(content[4 : 4 + content[0]].decode())
            return 1, 0, struct.pack("<I", len(self.names)), b""
        if opcode == GET_INPUT_FOCUS:
            return 1, 0, b"", b""
        if opcode == GET_KEYBOARD_MAPPING:
            assert content[:2] == bytes([FIRST_KEY, len(KEYS)])
            return 1, 2, b"", b"".join(struct.pack("<II", *symbols) for symbols in KEYS)
        if opcode == GET_SELECTION_OWNER:
            [atom] = struct.unpack("<I", content)
            return 1, 0, struct.pack("<I", self.owners.get(self.names[atom - 1], 0)), b""
        if opcode == GET_PROPERTY:
            window, atom = struct.unpack_from("<II", content)
            if window not in self.properties:
                return 0, 3, b"", b""  # an error: there is no such window
            bits, value = self.properties[window].get(self.names[atom - 1], (8, b""))
            rest = struct.pack("<III", 0, 0, len(value) * 8 // bits)
            return 1, bits, rest, value + bytes(-len(value) % 4)
        self.requests.append((opcode, detail, content))
        return None


def numbers(*values):
    return 32, struct.pack(f"<{len(values)}I", *values)


@pytest.fixture
def serve(tmp_path):
    """Starts a server and connects to it."""
    with contextlib.ExitStack() as opened:

        def connect(**settings):
            server = XServer(tmp_path / "X0", **settings)
            opened.callback(server.close)
            connection = XConnection(tmp_path / "X0")
            opened.callback(connection.close)
            server.properties[ROOT] = {}
            return server, connection

        yield connect


def test_a_key_has_its_symbols_alone_and_with_shift(serve):
    _, connection = serve()
    assert connection.first_key == FIRST_KEY
    assert connection.keyboard() == [[97, 65], [98, 66], [0, 0]]


def test_events_and_changes_of_keys_are_sent_as_the_protocol_has_them(serve):
    server, connection = serve()
    connection.change_key(10, [0x1004E2D, 0])
    connection.fake(BUTTON_PRESS, 3)
    connection.fake(MOTION, x=500, y=-1)
    connection.sync()  # now the server has got all of it
    change, press, move = server.requests
    assert change[:2] == (CHANGE_KEYBOARD_MAPPING, 1)
    assert change[2] == struct.pack("<BBxxII", 10, 2, 0x1004E2D, 0)
    assert press[0] == move[0] == XTEST
    assert struct.unpack_from("<BB", press[2]) == (BUTTON_PRESS, 3)
    assert struct.unpack_from("<hh", move[2], 20) == (500, -1)


def test_the_clicks_of_a_double_click_go_in_one_message_for_no_pause_may_part_them(serve):
    server, connection = serve()
    messages = []
    connection._socket = Recorded(connection._socket, messages)
    connection.click(1, 2)
    connection.sync()
    kinds = [struct.unpack_from("<BB", content) for _, _, content in server.requests]
    assert kinds == [(BUTTON_PRESS, 1), (BUTTON_RELEASE, 1)] * 2
    assert len(messages) == 2  # the second one is the question of `sync`


class Recorded:
    """A socket that writes down what is sent."""

    def __init__(self, socket, messages):
        self._socket, self._messages = socket, messages

    def sendall(self, content):
        self._messages.append(content)
        self._socket.sendall(content)

    def __getattr__(self, name):
        return getattr(self._socket, name)


def test_titles_of_windows_are_read_in_both_forms(serve):
    server, connection = serve()
    server.properties[ROOT]["_NET_CLIENT_LIST"] = numbers(1, 2, 3, 4)
    server.properties |= {
        1: {"_NET_WM_NAME": (8, "übung.ods".encode()), "WM_NAME": (8, b"?bung.ods")},
        2: {"WM_NAME": (8, b"old")},
        4: {"_NET_WM_NAME": (8, b"a\xff")},
    }  # 3 has just been closed
    assert connection.window_titles() == ["übung.ods", "old", "", "a\ufffd"]


@pytest.mark.parametrize(
    ("active", "title"), [(numbers(1), "a"), (numbers(0), ""), (numbers(9), ""), (None, "")]
)
def test_the_title_of_the_window_with_the_focus_is_empty_where_none_has_it(serve, active, title):
    server, connection = serve()
    server.properties[1] = {"_NET_WM_NAME": (8, b"a")}
    if active:
        server.properties[ROOT]["_NET_ACTIVE_WINDOW"] = active
    assert connection.active_title() == title


def test_selections_have_owners_and_the_root_has_properties(serve):
    server, connection = serve()
    server.owners["_XSETTINGS_S0"] = 5
    server.properties[ROOT]["_NET_SUPPORTING_WM_CHECK"] = numbers(1)
    assert connection.has_owner("_XSETTINGS_S0") and not connection.has_owner("CLIPBOARD")
    assert connection.has_property("_NET_SUPPORTING_WM_CHECK")
    assert not connection.has_property("WM_NAME")


def test_a_name_is_asked_for_once(serve):
    server, connection = serve()
    for _ in range(3):
        connection.has_owner("CLIPBOARD")
    assert server.names == ["CLIPBOARD"]


OLD_ERROR = struct.pack("<BBH28x", 0, 8, 9999)
OLD_REPLY = struct.pack("<BBHI24x", 1, 0, 9999, 1) + b"late"


@pytest.mark.parametrize("noise", [EVENT, OLD_ERROR, OLD_REPLY, EVENT + OLD_REPLY + OLD_ERROR])
def test_what_answers_no_request_is_passed_over(serve, noise):
    server, connection = serve(noise=noise)
    server.properties[ROOT]["_NET_CLIENT_LIST"] = numbers(1)
    server.properties[1] = {"WM_NAME": (8, b"a")}
    assert connection.window_titles() == ["a"]


def test_a_server_that_refuses_or_cannot_be_sent_events_is_named(serve):
    with pytest.raises(WorldError, match="refuses a connection") as caught:
        serve(refusal=b"No protocol")
    assert caught.value.trace.startswith("No protocol")


def test_a_server_that_takes_no_events_is_named(serve):
    with pytest.raises(WorldError, match="the X server has no XTEST"):
        serve(extensions=())


def test_a_server_that_ends_is_gone_and_one_that_is_not_there_is_no_server(serve, tmp_path):
    with pytest.raises(OSError, match="No such file"):
        XConnection(tmp_path / "X0")
    _, connection = serve(lasts=2)  # requests: for the extension, and one more
    connection.sync()
    with pytest.raises((WorldError, OSError), match=r"the X server is gone|Broken pipe|reset"):
        connection.sync()


# -- the screen ------------------------------------------------------------------------------------


def screen_file(folder, *, lines, line_bytes, colours=2, header=108, cut=0):
    """A file as an X server keeps its screen in it: header, table of colours, lines."""
    head = [0] * 25
    head[0], head[12], head[19] = header, line_bytes, colours
    content = struct.pack(">25I", *head).ljust(header, b"n") + bytes(12 * colours)
    content += b"".join(line.ljust(line_bytes, b"\xee") for line in lines)
    file = folder / "Xvfb_screen0"
    file.write_bytes(content[: len(content) - cut])
    return file


RED, BLUE = b"\0\0\xff\0", b"\xff\0\0\0"  # as the server has them: blue, green, red, nothing


def test_the_screen_is_an_array_of_red_green_and_blue(tmp_path):
    file = screen_file(tmp_path, lines=[RED + BLUE, BLUE + RED], line_bytes=12)
    screen = Screen(file, (2, 2))
    assert screen.pixels().tolist() == [
        [[255, 0, 0], [0, 0, 255]],
        [[0, 0, 255], [255, 0, 0]],
    ]
    assert len(screen.raw()) == 24


@pytest.mark.parametrize(
    "settings", [{"cut": 1}, {"header": 0}, {"lines": [RED]}, {"lines": [], "cut": 100}]
)
def test_a_screen_that_is_being_made_is_not_complete(tmp_path, settings):
    settings = {"lines": [RED, RED], "line_bytes": 4, **settings}
    with pytest.raises(ValueError, match="is not complete"):
        Screen(screen_file(tmp_path, **settings), (1, 2))


class Stage:
    """A screen, programs and a clock: what is seen in each look, in order; the last one stays."""

    def __init__(self, frames="", busy="", waited_s=()):
        self.frames, self.busy, self.waited_s = frames, busy, waited_s
        self.looks = 0

    def _at(self, values, default):
        return values[min(self.looks, len(values) - 1)] if values else default

    def raw(self):
        return self._at(self.frames, "a")

    def is_busy(self, pids):
        assert [*pids] == [1, 2]
        return self._at(self.busy, "-") == "b"

    def waiting_seconds(self, pids):
        return self._at(self.waited_s, 0.0)

    def monotonic(self):
        return self.looks * LOOK_S

    def sleep(self, seconds):
        assert seconds == LOOK_S
        self.looks += 1


@pytest.fixture
def wait(monkeypatch):
    def wait(stage, quiet_s, limit_s):
        for name in ("is_busy", "waiting_seconds"):
            monkeypatch.setattr(module, name, getattr(stage, name))
        for name in ("sleep", "monotonic"):
            monkeypatch.setattr(module.time, name, getattr(stage, name))
        is_quiet = settle(stage, lambda: [1, 2], quiet_s, limit_s)
        return is_quiet, round(stage.looks * LOOK_S, 6)

    return wait


@pytest.mark.parametrize(
    ("frames", "busy", "quiet_at_s"),
    [
        ("a", "-", 0.1),
        ("ab", "-", 0.12),  # it was seen to have changed in the first look
        ("aabbbc", "-", 0.2),
        ("a", "-bb-", 0.14),  # nothing moved, and a program ran
        ("abc", "bbbbbbbb-", 0.24),
    ],
)
def test_a_screen_is_quiet_when_for_some_time_nothing_moved_and_nothing_ran(
    wait, frames, busy, quiet_at_s
):
    assert wait(Stage(frames, busy), 0.095, 5.0) == (True, quiet_at_s)


def test_a_screen_that_never_rests_is_given_up_at_the_limit(wait):
    assert wait(Stage("ab" * 500), 0.1, 0.99) == (False, 1.0)
    assert wait(Stage(busy="b"), 0.1, 0.99) == (False, 1.0)


def test_time_in_which_programs_waited_for_a_processor_does_not_count(wait):
    waited_s = [0.0] + [3.0] * 1000  # in the meantime 3 s
    assert wait(Stage(busy="b", waited_s=waited_s), 0.1, 0.99) == (False, 4.0)
    assert wait(Stage(busy="b" * 150 + "-", waited_s=waited_s), 0.095, 0.99) == (True, 3.08)


def test_the_time_added_for_waiting_programs_has_a_limit(wait):
    waited_s = [0.0] + [9999.0] * 9999
    is_quiet, took_s = wait(Stage(busy="b", waited_s=waited_s), 0.1, 0.99)
    assert not is_quiet and took_s == pytest.approx(MAX_WAITING_S + 1.0)
