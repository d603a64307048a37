"""As much of the X11 protocol as input and a look at windows need, over a server's socket file.

Libraries for it connect to the display of the machine; here every world has a server of its own.

Source: X Window System Protocol, version 11, appendix B; XTEST Extension Protocol, version 2.2.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Sequence
from pathlib import Path

from utils.contracts import WorldError

LITTLE_ENDIAN = 0x6C
REPLY_BYTES = 32
ERROR, REPLY = 0, 1
ANY_TYPE = 0
KEY_PRESS, KEY_RELEASE, BUTTON_PRESS, BUTTON_RELEASE, MOTION = 2, 3, 4, 5, 6
INTERN_ATOM, GET_PROPERTY, GET_SELECTION_OWNER, GET_INPUT_FOCUS = 16, 20, 23, 43
QUERY_EXTENSION, CHANGE_KEYBOARD_MAPPING, GET_KEYBOARD_MAPPING = 98, 100, 101
FAKE_INPUT = 2  # of XTEST
MAX_PROPERTY = 4096  # words of four bytes
TIMEOUT_S = 20.0


class XConnection:
    """One client of a server, used from one thread."""

    def __init__(self, path: Path) -> None:
        """Connect.

        Raises:
            OSError: there is no server yet.
        """
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(TIMEOUT_S)
        self._serial = 0  # of the last request
        self._atoms: dict[str, int] = {}
        try:
            self._socket.connect(str(path))
            self._set_up()
            self._xtest = self._extension("XTEST")
        except BaseException:
            self._socket.close()
            raise

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    # -- input ------------------------------------------------------------------------------------

    def fake(self, kind: int, detail: int = 0, x: int = 0, y: int = 0) -> None:
        """Send an event as if mouse or keyboard had made it; `detail` is a key or a button."""
        self._send(self._xtest, FAKE_INPUT, _event(kind, detail, x, y))

    def click(self, button: int, times: int) -> None:
        """Press and release a button, several times in one message.

        Programs know a double click by the time between the clicks, and a machine with much to do
        may put this process aside between two messages.
        """
        events = [_event(BUTTON_PRESS, button), _event(BUTTON_RELEASE, button)] * times
        self._socket.sendall(b"".join(_request(self._xtest, FAKE_INPUT, event) for event in events))
        self._count(len(events))

    def sync(self) -> None:
        """Wait until the server has done all that it was sent."""
        self._ask(GET_INPUT_FOCUS)

    def keyboard(self) -> list[list[int]]:
        """Return the symbols of each key, from `first_key` on."""
        count = self.last_key - self.first_key + 1
        head, body = self._ask(GET_KEYBOARD_MAPPING, 0, struct.pack("<BBxx", self.first_key, count))
        width = head[1]
        symbols = struct.unpack(f"<{len(body) // 4}I", body)
        return [list(symbols[begin : begin + width]) for begin in range(0, len(symbols), width)]

    def change_key(self, key: int, symbols: Sequence[int]) -> None:
        """Give symbols to a key: alone, and with Shift."""
        content = struct.pack("<BBxx", key, len(symbols)) + struct.pack(
            f"<{len(symbols)}I", *symbols
        )
        self._send(CHANGE_KEYBOARD_MAPPING, 1, content)

    # -- windows ----------------------------------------------------------------------------------

    def has_owner(self, selection: str) -> bool:
        """Whether a program holds a selection."""
        head, _ = self._ask(GET_SELECTION_OWNER, 0, struct.pack("<I", self._atom(selection)))
        return bool(struct.unpack_from("<I", head, 8)[0])

    def has_property(self, name: str) -> bool:
        """Whether the root window has a property."""
        return bool(self._property(self.root, name))

    def window_titles(self) -> list[str]:
        """Return the titles of all windows that the window manager knows."""
        windows = self._numbers(self._property(self.root, "_NET_CLIENT_LIST"))
        return [self._title(window) for window in windows]

    def active_title(self) -> str:
        """Return the title of the window that has the focus; "" if there is none."""
        windows = self._numbers(self._property(self.root, "_NET_ACTIVE_WINDOW"))
        return self._title(windows[0]) if windows and windows[0] else ""

    def _title(self, window: int) -> str:
        value = self._property(window, "_NET_WM_NAME") or self._property(window, "WM_NAME")
        return value.decode(errors="replace")

    @staticmethod
    def _numbers(value: bytes) -> tuple[int, ...]:
        return struct.unpack(f"<{len(value) // 4}I", value[: len(value) // 4 * 4])

    def _property(self, window: int, name: str) -> bytes:
        """Return the value of a property; b"" where the window or the property is not there."""
        content = struct.pack("<IIIII", window, self._atom(name), ANY_TYPE, 0, MAX_PROPERTY)
        try:
            head, body = self._ask(GET_PROPERTY, 0, content)
        except LookupError:  # the window has just been closed
            return b""
        length = struct.unpack_from("<I", head, 16)[0] * (head[1] // 8)
        return body[:length]

    def _atom(self, name: str) -> int:
        if name not in self._atoms:
            text = name.encode()
            padded = text + bytes(-len(text) % 4)
            head, _ = self._ask(INTERN_ATOM, 0, struct.pack("<Hxx", len(text)) + padded)
            self._atoms[name] = struct.unpack_from("<I", head, 8)[0]
        return self._atoms[name]

    # -- the wire ---------------------------------------------------------------------------------

    def _set_up(self) -> None:
        self._socket.sendall(struct.pack("<BxHHHHxx", LITTLE_ENDIAN, 11, 0, 0, 0))
        head = self._receive(8)
        body = self._receive(4 * struct.unpack_from("<H", head, 6)[0])
        if head[0] != 1:
            raise WorldError("the X server refuses a connection", body.decode(errors="replace"))
        vendor_bytes, _, _, format_count = struct.unpack_from("<HHBB", body, 16)
        self.first_key, self.last_key = body[26], body[27]
        screen = 32 + vendor_bytes + -vendor_bytes % 4 + 8 * format_count
        self.root = struct.unpack_from("<I", body, screen)[0]

    def _extension(self, name: str) -> int:
        text = name.encode()
        content = struct.pack("<Hxx", len(text)) + text + bytes(-len(text) % 4)
        head, _ = self._ask(QUERY_EXTENSION, 0, content)
        if not head[8]:
            raise WorldError(f"the X server has no {name}", "")
        return head[9]

    def _send(self, opcode: int, detail: int, content: bytes = b"") -> None:
        self._socket.sendall(_request(opcode, detail, content))
        self._count(1)

    def _count(self, requests: int) -> None:
        self._serial = (self._serial + requests) & 0xFFFF

    def _ask(self, opcode: int, detail: int = 0, content: bytes = b"") -> tuple[bytes, bytes]:
        """Send a request; return the reply's first 32 bytes, and the rest.

        Raises:
            LookupError: the server answers with an error, as about a window that is gone.
        """
        self._send(opcode, detail, content)
        while True:
            head = self._receive(REPLY_BYTES)
            is_ours = struct.unpack_from("<H", head, 2)[0] == self._serial
            if head[0] == REPLY:
                body = self._receive(4 * struct.unpack_from("<I", head, 4)[0])
                if is_ours:
                    return head, body
            elif head[0] == ERROR and is_ours:
                raise LookupError(f"X error {head[1]}")

    def _receive(self, count: int) -> bytes:
        parts = []
        while count:
            part = self._socket.recv(count)
            if not part:
                raise WorldError("the X server is gone", "")
            parts.append(part)
            count -= len(part)
        return b"".join(parts)


def _event(kind: int, detail: int, x: int = 0, y: int = 0) -> bytes:
    return struct.pack("<BBxxII8xhh8x", kind, detail, 0, 0, x, y)


def _request(opcode: int, detail: int, content: bytes) -> bytes:
    return struct.pack("<BBH", opcode, detail, 1 + len(content) // 4) + content
