"""One loopback server for all episodes of a run; each has an address and a store of its own."""

from __future__ import annotations

import functools
import json
import secrets
import socket
import sqlite3
import threading
from collections.abc import Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

from benchmarks.worlds.office.apps import APPS
from benchmarks.worlds.office.store import Dump, Refused, Store
from benchmarks.worlds.office.week import base_store

PAGES = Path(__file__).parent / "pages"
TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}
POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"  # noqa: E501
LARGEST_REQUEST = 1_000_000  # bytes
LARGEST_SKIPPED = 16_000_000  # bytes of a longer one that are read
LONGEST_TEXT = 20_000  # characters; the fields of the pages refuse more by themselves
STRANGER_S = 10.0  # for a connection to show a token
MOST_STRANGERS = 64  # connections that have not shown one; beyond that the oldest has to go
IDLE_S = 300.0  # between two requests of an episode's page, and for what is left of one
WRONG_REQUEST = (TypeError, KeyError, ValueError, IndexError, RecursionError, sqlite3.Error)


class Look(NamedTuple):
    """How the office is dressed: a browser page in the layout of such a system, not the system."""

    viewport_wh: tuple[int, int]
    platform: str  # as the benchmark names it


LOOKS = {
    "web": Look((1280, 720), platform="os_web"),
    "windows": Look((1280, 720), platform="os_windows"),
    "macos": Look((1920, 1080), platform="os_mac"),
    "phone": Look((390, 844), platform="os_android"),
}


class EpisodeStore:
    """One episode's office: where it is, what it held at the start and what it holds now."""

    def __init__(self, url: str, store: Store) -> None:
        self.url = url  # prefix of all that a page of this episode may load
        self.before = store.dump()
        self._store = store

    def dump(self) -> Dump:
        """What the store holds now: {table: {id: row}}."""
        return self._store.dump()

    def answer(self, app: str, verb: str, arguments: Mapping[str, Any]) -> Any:
        """What an application says to its page."""
        if _longest_text(arguments) > LONGEST_TEXT:
            raise Refused(f"A text takes {LONGEST_TEXT:,} characters at most.")
        return self._store.call(APPS[app][verb], arguments)

    def close(self) -> None:
        """Frees the memory."""
        self._store.close()


def _longest_text(value: Any) -> int:
    """The length of the longest text within JSON."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, Mapping):
        return max(map(_longest_text, value.values()), default=0)
    if isinstance(value, list):
        return max(map(_longest_text, value), default=0)
    return 0


class Office:
    """The server, as a context manager."""

    def __init__(self, idle_s: float = IDLE_S) -> None:
        """Makes a server that hangs up when an episode's page says nothing for so long."""
        self.idle_s = idle_s
        self.episodes: dict[str, EpisodeStore] = {}
        self._server = _Server(self)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.05,), daemon=True, name="office"
        )

    def __enter__(self) -> Office:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
        for token in list(self.episodes):
            self.episodes.pop(token).close()

    def new_episode(
        self, task: Mapping[str, Any], seed: int = 0, look: str = "web"
    ) -> EpisodeStore:
        """An office of its own for one episode.

        Args:
            task: "setup" changes the base world (see `Store`); with one entry in "apps", that
                application is open at the start, else the home screen.
            seed: of the base world.
            look: one of `LOOKS`.

        Raises:
            ValueError: the changes do not fit the base world.
        """
        token = secrets.token_hex(8)
        apps = task.get("apps", ())
        start = apps[0] if len(apps) == 1 else "home"
        url = f"{self.url}/e/{token}/{look}/{start}/"
        self.episodes[token] = EpisodeStore(url, Store(base_store(seed), task.get("setup")))
        return self.episodes[token]

    def end_episode(self, episode: EpisodeStore) -> None:
        """Forgets an episode; its address is no more."""
        for token, known in list(self.episodes.items()):
            if known is episode:
                self.episodes.pop(token).close()


class _Server(ThreadingHTTPServer):
    request_queue_size = 64

    def __init__(self, office: Office) -> None:
        self.office = office
        self._lock = threading.Lock()
        self._strangers: dict[socket.socket, None] = {}  # oldest first
        super().__init__(("127.0.0.1", 0), _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serves a connection in a thread; of too many strangers the oldest is cut off."""
        with self._lock:
            self._strangers[request] = None
            oldest = next(iter(self._strangers)) if len(self._strangers) > MOST_STRANGERS else None
            if oldest is not None:
                del self._strangers[oldest]
        if oldest is not None:
            with suppress(OSError):  # it has gone by itself
                oldest.shutdown(socket.SHUT_RDWR)  # its thread reads an end
        super().process_request(request, client_address)

    def greet(self, request: Any) -> None:
        """Says that a connection has shown a token."""
        with self._lock:
            self._strangers.pop(request, None)

    def shutdown_request(self, request: Any) -> None:
        """Closes a connection."""
        self.greet(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that hangs up in the middle is nobody's news."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    timeout = STRANGER_S  # until a token has been shown
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        match self._asked():
            case [_, look, start, ""] if look in LOOKS and (start in APPS or start == "home"):
                page = (PAGES / "office.html").read_text(encoding="utf-8")
                page = page.replace("{look}", look).replace("{start}", start)
                self._send(200, page.encode(), ".html")
            case [_, look, _, name] if look in LOOKS and name in _files():
                self._send(200, _files()[name], Path(name).suffix)
            case asked:
                self.close_connection = not asked
                self._refuse(404, "Not found.")

    def do_POST(self) -> None:
        asked = self._asked()
        if not asked:
            self.close_connection = True  # what else it sends is not read
            self._refuse(404, "Not found.")
            return
        length = self._body_length()
        if length is None:
            self.close_connection = True
            self._refuse(400, "Say in Content-Length how long the request is.")
            return
        if length > LARGEST_REQUEST:
            self._skip(length)
            self._refuse(413, "This is too long.")
            return
        body = self.rfile.read(length)
        if len(body) < length:
            self.close_connection = True
            return
        match asked:
            case [token, _, _, "api", app, verb] if verb in APPS.get(app, {}):
                try:
                    arguments = json.loads(body or b"{}")
                    said = self.server.office.episodes[token].answer(app, verb, arguments)
                    self._send(200, json.dumps(said).encode(), ".json")
                except Refused as refusal:
                    self._refuse(409, str(refusal), refusal.field)
                except WRONG_REQUEST:
                    self._refuse(400, "Something went wrong. Please try again.")
            case _:
                self._refuse(404, "Not found.")

    def _body_length(self) -> int | None:
        """How many bytes follow the headers; None: they do not say it."""
        text = self.headers.get("Content-Length", "0").strip()
        has_length = text.isascii() and text.isdecimal() and "Transfer-Encoding" not in self.headers
        return int(text) if has_length else None

    def _skip(self, length: int) -> None:
        """Reads a body that is too long: a refusal is only heard once all has been said."""
        left = min(length, LARGEST_SKIPPED)
        self.close_connection = left < length
        while left > 0:
            part = self.rfile.read(min(left, LARGEST_REQUEST))
            if not part:
                return
            left -= len(part)

    def _asked(self) -> list[str]:
        """Token and path behind it; nothing if the request is not of an episode's own page."""
        home = self.server.office.url
        if self.headers.get("Host") != home.removeprefix("http://"):
            return []  # another name that was made to lead here
        if self.headers.get("Origin", home) != home:
            return []
        match self.path.partition("?")[0].split("/"):
            case ["", "e", token, *rest] if token in self.server.office.episodes:
                self.server.greet(self.request)
                self.connection.settimeout(self.server.office.idle_s)
                return [token, *rest]
            case _:
                return []

    def _refuse(self, code: int, text: str, field: str = "") -> None:
        self._send(code, json.dumps({"error": text, "field": field}).encode(), ".json")

    def _send(self, code: int, body: bytes, suffix: str) -> None:
        self.send_response(code)
        kind = TYPES.get(suffix, "application/json")
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Security-Policy", POLICY)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(body)


@functools.cache
def _files() -> Mapping[str, bytes]:
    """Script and style sheet of all applications: every request costs an episode's start time."""
    read = {path.name: path.read_bytes() for path in sorted(PAGES.iterdir())}
    scripts = ["core.js", *(name for name in read if name.endswith(".js") and name != "core.js")]
    return {
        "office.js": b"\n".join(read[name] for name in scripts),
        "office.css": read["office.css"] + read["apps.css"],
    }
