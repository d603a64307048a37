"""An OpenAI-style server on loopback that records every request and answers from a script."""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Request:
    """One request as it arrived."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def text(self) -> str:
        """All text parts of all messages, joined."""
        return "\n".join(part["text"] for part in self._parts() if part["type"] == "text")

    @property
    def pictures(self) -> list[str]:
        """The URLs of all pictures, in order."""
        return [part["image_url"]["url"] for part in self._parts() if part["type"] == "image_url"]

    def _parts(self) -> Iterator[dict[str, Any]]:
        for content in (message["content"] for message in self.body["messages"]):
            yield from [{"type": "text", "text": content}] if isinstance(content, str) else content


@dataclass(frozen=True)
class Reply:
    """An answer of the server: a chat completion with `text`, or any status and body."""

    text: str | None = "B"
    status: int = 200
    body: bytes | None = None
    headers: dict[str, str] = field(default_factory=dict)
    finish_reason: str = "stop"
    reset: bool = False  # drop the connection instead of answering

    def encoded(self) -> bytes:
        """The body to send."""
        if self.body is not None:
            return self.body
        message = {"role": "assistant", "content": self.text}
        choice = {"index": 0, "message": message, "finish_reason": self.finish_reason}
        usage = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
        return json.dumps(
            {
                "id": "x",
                "object": "chat.completion",
                "created": 0,
                "model": "mock",
                "choices": [choice],
                "usage": usage,
            }
        ).encode()


class _QuietServer(ThreadingHTTPServer):
    """A client that is killed or has had enough leaves no traceback in the test's output."""

    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Connections of killed clients break; that is what the tests are about."""


class MockServer:
    """Use as a context manager; `requests` holds what arrived, in order of arrival.

    Args:
        answer: called with each request; returns a `Reply`. It may block to hold a request, and
            a test may replace it.
        port: to listen on; 0: any.

    Attributes:
        models: what `GET /v1/models` lists; None: there is no such path.
    """

    models: list[str] | None = None

    def __init__(
        self, answer: Callable[[Request], Reply] = lambda _: Reply(), port: int = 0
    ) -> None:
        self.answer, self.requests = answer, list[Request]()
        self._lock = threading.Condition()
        self._connections: list[socket.socket] = []
        self._place = socket.socket()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # else a body waits 40 ms for its head's receipt

            def setup(self) -> None:
                super().setup()
                with outer._lock:
                    outer._connections.append(self.connection)

            def log_message(self, *_: object) -> None:
                """Keeps test output clean."""

            def do_GET(self) -> None:
                status, content = outer.offer(self.path)
                if status == 404:
                    self.send_error(404)
                    return
                data = json.dumps(content).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def do_POST(self) -> None:
                length = int(self.headers.get("content-length", 0))
                body = json.loads(self.rfile.read(length))
                request = Request(self.path, {k.lower(): v for k, v in self.headers.items()}, body)
                reply = outer.reply_to(request)
                if reply.reset:
                    # Lingering for 0 seconds closes with a reset, not with an end of stream.
                    linger = struct.pack("ii", 1, 0)
                    self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                    self.connection.close()
                    self.close_connection = True
                    return
                data = reply.encoded()
                self.send_response(reply.status)
                for name, value in {"content-type": "application/json", **reply.headers}.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        self._server = _QuietServer(("127.0.0.1", port), Handler)

    def offer(self, path: str) -> tuple[int, Any]:
        """Status and content of what is read with GET."""
        if self.models is None or path != "/v1/models":
            return 404, None
        return 200, {"data": [{"id": name, "object": "model"} for name in self.models]}

    def reply_to(self, request: Request) -> Reply:
        """Notes a request and answers it."""
        with self._lock:
            self.requests.append(request)
            self._lock.notify_all()
        return self.answer(request)

    @property
    def url(self) -> str:
        """The base URL, ending in /v1."""
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def wait_for(self, count: int, timeout_s: float = 120) -> None:
        """Blocks until so many requests have arrived."""
        with self._lock:
            arrived = self._lock.wait_for(lambda: len(self.requests) >= count, timeout_s)
        assert arrived, f"{len(self.requests)} of {count} requests arrived in {timeout_s} s"

    @property
    def port(self) -> int:
        """It listens on."""
        return self._server.server_port

    def go_away(self) -> None:
        """As a process that is killed does: nobody listens, and every connection is cut.

        The port is kept for a server that comes up there later.
        """
        self._server.shutdown()
        self._server.server_close()
        self._place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._place.bind(("127.0.0.1", self.port))
        with self._lock:
            for connection in self._connections:
                with contextlib.suppress(OSError):  # closed before
                    connection.shutdown(socket.SHUT_RDWR)

    def __enter__(self) -> MockServer:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
