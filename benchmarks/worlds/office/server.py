"""One loopback server for all episodes of a run; each episode has its own address and store."""

from __future__ import annotations

import functools
import json
import re
import secrets
import socket
import sqlite3
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from benchmarks.worlds.office.apps import APPS
from benchmarks.worlds.office.store import Dump, Refused, Store
from benchmarks.worlds.office.week import base_store

PAGES = Path(__file__).parent / "pages"
CONTENT_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}
POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"  # noqa: E501
MAX_BODY_BYTES = 1_000_000
MAX_SKIPPED_BYTES = 16_000_000  # of a longer body, read before it is refused
MAX_TEXT_LENGTH = 20_000  # characters; the fields of the pages refuse more by themselves
TOKEN_TIMEOUT_S = 10.0  # until a connection has sent an episode's token
MAX_WITHOUT_TOKEN = 64  # connections that have not sent one; beyond that the oldest is closed
IDLE_S = 300.0  # between two requests of an episode's page, and for the rest of one
BAD_REQUEST = (TypeError, KeyError, ValueError, IndexError, RecursionError, sqlite3.Error)


class Look(NamedTuple):
    """A layout of the office: a browser page that resembles such a system."""

    viewport_wh: tuple[int, int]
    platform: str  # name in the benchmark


LOOKS = {
    "web": Look((1280, 720), platform="os_web"),
    "windows": Look((1280, 720), platform="os_windows"),
    "macos": Look((1920, 1080), platform="os_mac"),
    "phone": Look((390, 844), platform="os_android"),
}


class EpisodeStore:
    """One episode's office: its address, its store, and a copy of the store at the start."""

    def __init__(self, url: str, store: Store, lab_url: str = "") -> None:
        self.url = url  # prefix of everything that a page of this episode may load
        self.lab_url = lab_url  # of a JupyterLab that belongs to it, shown as an application
        self.before = store.dump()
        self.store = store
        self.follow: Callable[[], object] = object  # after each answer, where no world acts

    def dump(self) -> Dump:
        """Return the present content of the store: {table: {id: row}}."""
        return self.store.dump()

    def answer(self, app: str, verb: str, arguments: Mapping[str, Any]) -> Any:
        """The answer of an application to its page; Refused: it does not do it."""
        if _longest_text(arguments) > MAX_TEXT_LENGTH:
            raise Refused(f"A text takes {MAX_TEXT_LENGTH:,} characters at most.")
        result = self.store.call(APPS[app][verb], arguments)
        self.follow()
        return result

    def close(self) -> None:
        """Free the memory."""
        self.store.close()


def _longest_text(value: Any) -> int:
    """Return the length of the longest text within JSON."""
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
        """Create a server.

        Args:
            idle_s: seconds without a request after which the connection of a page is closed.
        """
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
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
        for token in list(self.episodes):
            self.episodes.pop(token).close()

    def new_episode(
        self, task: Mapping[str, Any], seed: int = 0, look: str = "web", lab_url: str = ""
    ) -> EpisodeStore:
        """Start an episode with its own address and store.

        Args:
            task: "setup" changes the base world (see `Store`); with one entry in "apps", that
                application is open at the start, else the home screen.
            seed: of the base world.
            look: one of `LOOKS`.
            lab_url: of a JupyterLab that belongs to the episode; "": there is none.

        Raises:
            ValueError: the changes do not fit the base world.
        """
        token = secrets.token_hex(8)
        apps = task.get("apps", ())
        start = apps[0] if len(apps) == 1 else "home"
        url = f"{self.url}/e/{token}/{look}/{start}/"
        episode = EpisodeStore(url, Store(base_store(seed), task.get("setup")), lab_url)
        self.episodes[token] = episode
        return episode

    def end_episode(self, episode: EpisodeStore) -> None:
        """Forget an episode; its address is no longer served."""
        for token, open_episode in list(self.episodes.items()):
            if open_episode is episode:
                self.episodes.pop(token).close()


class _Server(ThreadingHTTPServer):
    request_queue_size = 64

    def __init__(self, office: Office) -> None:
        self.office = office
        self._lock = threading.Lock()
        self._without_token: dict[socket.socket, None] = {}  # connections, oldest first
        super().__init__(("127.0.0.1", 0), _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a connection in a thread; close the oldest of too many without a token."""
        oldest = None
        with self._lock:
            self._without_token[request] = None
            if len(self._without_token) > MAX_WITHOUT_TOKEN:
                oldest = next(iter(self._without_token))
                del self._without_token[oldest]
        if oldest is not None:
            with suppress(OSError):  # closed by its other end
                oldest.shutdown(socket.SHUT_RDWR)  # its thread reads the end of the stream
        super().process_request(request, client_address)

    def note_token(self, request: Any) -> None:
        """Remember that a connection has sent a token."""
        with self._lock:
            self._without_token.pop(request, None)

    def shutdown_request(self, request: Any) -> None:
        """Close a connection."""
        self.note_token(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: a browser may close a connection at any moment."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    timeout = TOKEN_TIMEOUT_S
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        match self._path_parts():
            case [token, look, start, ""] if look in LOOKS and (start in APPS or start == "home"):
                lab_url = self.server.office.episodes[token].lab_url
                page = (PAGES / "office.html").read_text(encoding="utf-8")
                for name, value in (("look", look), ("start", start), ("lab", lab_url)):
                    page = page.replace(f"{{{name}}}", value)
                self._send(200, page.encode(), ".html", frames=lab_url)
            case [_, look, _, name] if look in LOOKS and name in _files():
                self._send(200, _files()[name], Path(name).suffix)
            case path_parts:
                self.close_connection = not path_parts
                self._refuse(404, "Not found.")

    def do_POST(self) -> None:
        path_parts = self._path_parts()
        if not path_parts:
            self.close_connection = True  # its body is not read
            self._refuse(404, "Not found.")
            return
        body = self._body()
        if body is None:
            return
        match path_parts:
            case [token, _, _, "api", app, verb] if verb in APPS.get(app, {}):
                self._answer(token, app, verb, body)
            case _:
                self._refuse(404, "Not found.")

    def _answer(self, token: str, app: str, verb: str, body: bytes) -> None:
        """Send what an application answers to its page."""
        try:
            arguments = json.loads(body or b"{}")
            answer = self.server.office.episodes[token].answer(app, verb, arguments)
            self._send(200, json.dumps(answer).encode(), ".json")
        except Refused as refusal:
            self._refuse(409, str(refusal), refusal.field)
        except BAD_REQUEST:
            self._refuse(400, "Something went wrong. Please try again.")

    def _body(self) -> bytes | None:
        """Return the body of the request, or None after it was refused or cut off."""
        length_text = self.headers.get("Content-Length", "0").strip()
        is_number = length_text.isascii() and length_text.isdecimal()
        if not is_number or "Transfer-Encoding" in self.headers:
            self.close_connection = True
            self._refuse(400, "Say in Content-Length how long the request is.")
            return None
        length = int(length_text)
        if length > MAX_BODY_BYTES:
            self._skip(length)
            self._refuse(413, "This is too long.")
            return None
        body = self.rfile.read(length)
        if len(body) < length:
            self.close_connection = True
            return None
        return body

    def _skip(self, length: int) -> None:
        """Read a body that is too long: a client reads no reply before it has sent everything."""
        remaining = min(length, MAX_SKIPPED_BYTES)
        self.close_connection = remaining < length
        while remaining > 0:
            part = self.rfile.read(min(remaining, MAX_BODY_BYTES))
            if not part:
                return
            remaining -= len(part)

    def _path_parts(self) -> list[str]:
        """Return token and further path; [] unless the request is from an episode's own page."""
        origin = self.server.office.url
        if self.headers.get("Host") != origin.removeprefix("http://"):
            return []  # another host name that leads to this address (DNS rebinding)
        if self.headers.get("Origin", origin) != origin:
            return []
        match self.path.partition("?")[0].split("/"):
            case ["", "e", token, *rest] if token in self.server.office.episodes:
                self.server.note_token(self.request)
                self.connection.settimeout(self.server.office.idle_s)
                return [token, *rest]
            case _:
                return []

    def _refuse(self, code: int, text: str, field: str = "") -> None:
        self._send(code, json.dumps({"error": text, "field": field}).encode(), ".json")

    def _send(self, code: int, body: bytes, suffix: str, *, frames: str = "") -> None:
        self.send_response(code)
        content_type = CONTENT_TYPES.get(suffix, "application/json")
        self.send_header("Content-Type", f"{content_type}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        policy = f"{POLICY}; frame-src http://{urlsplit(frames).netloc}" if frames else POLICY
        self.send_header("Content-Security-Policy", policy)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(body)


@functools.cache
def _files() -> Mapping[str, bytes]:
    """One script and one style sheet for all applications.

    They are joined because every request makes the start of an episode slower.
    """
    styles = ((PAGES / name).read_text(encoding="utf-8") for name in ("office.css", "apps.css"))
    modules = "".join(_modules("./main.js", {}).values())
    return {
        "office.js": f'"use strict";\nconst modules = {{}};\n{modules}'.encode(),
        "office.css": "".join(styles).encode(),
    }


IMPORT = re.compile(r'^import (?:(\{[^}]*\}) from )?("(\./\w+\.js)");$', re.MULTILINE)
EXPORT = re.compile(r"^export ((?:async )?(?:function|const) (\w+))", re.MULTILINE)


def _modules(name: str, earlier: dict[str, str]) -> dict[str, str]:
    """A module behind those it needs, each within a function that returns its exports.

    Args:
        name: as other modules import it.
        earlier: what comes before, by name; what is missing is added.
    """
    text = (PAGES / name).read_text(encoding="utf-8")
    for match in IMPORT.finditer(text):
        if match[3] not in earlier:
            _modules(match[3], earlier)
    exports = ", ".join(match[2] for match in EXPORT.finditer(text))
    text = IMPORT.sub(_as_constants, EXPORT.sub(r"\1", text))
    earlier[name] = f'modules["{name}"] = (() => {{\n{text}return {{ {exports} }};\n}})();\n'
    return earlier


def _as_constants(match: re.Match[str]) -> str:
    """Return the constants that replace a module's import."""
    return f"const {match[1]} = modules[{match[2]}];" if match[1] else ""
