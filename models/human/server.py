"""The page's server: on this machine only, and only for who knows the address.

Its first path segment is a secret. Every request needs it, names this server as its host (so that
no other name can be made to lead here) and, where it changes something, comes from the page itself.
Nothing is served but the page's files, read once, and the images of the present question.
"""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Mapping
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

from models.human.desk import Desk
from models.human.replies import BadAnswer, reply_of
from utils import PROJECT
from utils.geometry.images import as_sent

PAGES = Path(__file__).parent / "pages"
ELEMENTS = PROJECT / "utils" / "pages" / "assets" / "core" / "elements.js"
MEDIA_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
LONGEST_BODY = 100_000  # bytes
MOST_DIGITS = 15  # of a number in a request; Python itself refuses some thousands
POLL_S = 20.0  # after which the page asks anew whether there is something new
IDLE_S = 60.0  # of a connection
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; img-src 'self'; style-src 'self'; script-src 'self'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class PageServer(ThreadingHTTPServer):
    """Serves the page of one desk in threads of its own, until it is closed."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, desk: Desk) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.desk = desk
        self.token = secrets.token_urlsafe(24)
        self.hosts = tuple(f"{name}:{self.server_port}" for name in ("127.0.0.1", "localhost"))
        self.files = {
            path.name: (MEDIA_TYPES[path.suffix], path.read_bytes())
            for path in (*PAGES.iterdir(), ELEMENTS)
            if path.suffix in MEDIA_TYPES
        }
        threading.Thread(target=self.serve_forever, args=(0.1,), daemon=True).start()

    @property
    def address(self) -> str:
        """The address of the page, with the secret that opens it."""
        return f"http://{self.hosts[0]}/{self.token}/"

    def close(self) -> None:
        """Tell an open page that the run is over, and serve no longer."""
        self.desk.say_goodbye()
        self.shutdown()
        self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: the page went away in the middle of a reply."""


class _Refused(Exception):
    """The status of a request that gets nothing."""

    def __init__(self, status: HTTPStatus, text: str = "") -> None:
        super().__init__(text)
        self.status = status


def _number(text: str) -> int | None:
    """Return a whole number of a request; None of what is none, or has more digits than any."""
    is_number = text.isascii() and text.isdecimal() and len(text) <= MOST_DIGITS
    return int(text) if is_number else None


class _Handler(BaseHTTPRequestHandler):
    server: PageServer
    server_version = "human"
    sys_version = ""
    protocol_version = "HTTP/1.1"
    timeout: ClassVar[float] = IDLE_S

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: the address would stand in every line."""

    def do_GET(self) -> None:
        """Serve the page, its files, images and state."""
        try:
            name, query = self._path()
            if name == "state":
                self._send_state(query)
            elif name.startswith("image/"):
                self._send_image(name.removeprefix("image/"))
            elif (name or "index.html") in self.server.files:
                self._send(HTTPStatus.OK, *self.server.files[name or "index.html"])
            else:
                raise _Refused(HTTPStatus.NOT_FOUND)
        except _Refused as refused:
            self._send_text(refused)

    def do_POST(self) -> None:
        """Take what the person does."""
        try:
            name, _ = self._path()
            if self.headers.get("Origin") not in [f"http://{host}" for host in self.server.hosts]:
                raise _Refused(HTTPStatus.FORBIDDEN)
            body = self._body()
            number = body.get("number")
            if type(number) is not int:
                raise _Refused(HTTPStatus.BAD_REQUEST, "expected the number of the question")
            is_open = True
            if name == "clock":
                self.server.desk.set_clock(number, body.get("is_running") is True)
            elif name == "skip":
                is_open = self.server.desk.answer(number, None)
            elif name == "answer":
                is_open = self._take_answer(number, body)
            else:
                raise _Refused(HTTPStatus.NOT_FOUND)
            if not is_open:
                raise _Refused(HTTPStatus.CONFLICT, "this question is not open any more")
            self._send(HTTPStatus.OK, "application/json", b"{}")
        except _Refused as refused:
            self.close_connection = True  # the body may be unread
            self._send_text(refused)

    def _path(self) -> tuple[str, str]:
        """The path below the secret, and the query."""
        if self.headers.get("Host") not in self.server.hosts:
            raise _Refused(HTTPStatus.FORBIDDEN)
        path, _, query = self.path.partition("?")
        token, slash, name = path.removeprefix("/").partition("/")
        is_known = secrets.compare_digest(token.encode(), self.server.token.encode())
        if not is_known or not slash or not path.startswith("/"):
            raise _Refused(HTTPStatus.NOT_FOUND)
        return name, query

    def _body(self) -> Mapping[str, Any]:
        length = _number(self.headers.get("Content-Length", ""))
        if length is None or length > LONGEST_BODY:
            raise _Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        try:
            body = json.loads(self.rfile.read(length))
        except (ValueError, RecursionError):
            body = None
        if not isinstance(body, dict):
            raise _Refused(HTTPStatus.BAD_REQUEST, "expected an object")
        return body

    def _take_answer(self, number: int, body: Mapping[str, Any]) -> bool:
        question = self.server.desk.question(number)
        if question is None:
            return False
        try:
            return self.server.desk.answer(number, reply_of(question, body))
        except BadAnswer as error:
            raise _Refused(HTTPStatus.BAD_REQUEST, str(error)) from None

    def _send_state(self, query: str) -> None:
        known_version = _number(query.removeprefix("known=")) if query else 0
        if known_version is None:
            raise _Refused(HTTPStatus.BAD_REQUEST, "expected the number of a state")
        state = self.server.desk.state(known_version, POLL_S)
        self._send(HTTPStatus.OK, "application/json", json.dumps(state).encode("ascii"))
        self.server.desk.note_version(state["version"])

    def _send_image(self, name: str) -> None:
        """Serve an image of the present question: its number, and which of its images."""
        number, index = (_number(text) for text in name.partition("/")[::2])
        question = None if number is None else self.server.desk.question(number)
        if question is None or index is None or index >= len(question.pictures):
            raise _Refused(HTTPStatus.NOT_FOUND)
        picture = question.pictures[index]
        try:
            content, media_type = as_sent(picture.path)
        except OSError:
            raise _Refused(HTTPStatus.NOT_FOUND) from None
        self._send(HTTPStatus.OK, media_type, content)

    def _send_text(self, refused: _Refused) -> None:
        text = str(refused) or refused.status.phrase
        self._send(refused.status, "text/plain; charset=utf-8", text.encode())

    def _send(self, status: HTTPStatus, media_type: str, content: bytes) -> None:
        with suppress(OSError):  # the page has gone
            self.send_response(status)
            for name, value in {**HEADERS, "Content-Type": media_type}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)
