"""A loopback server of made pages, and what it was asked for."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Pages:
    """Serves pages by path; `asked` holds the paths of all requests.

    Attributes:
        slow_s: how long some of the paths take.
        redirects: where some of the paths lead.
    """

    def __init__(
        self,
        pages: Mapping[str, str],
        slow_s: Mapping[str, float] | None = None,
        redirects: Mapping[str, str] | None = None,
    ) -> None:
        self.pages, self.slow_s, self.redirects = dict(pages), slow_s or {}, redirects or {}
        self.asked: list[str] = []
        self._closed = threading.Event()
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                owner.asked.append(self.path)
                owner._closed.wait(owner.slow_s.get(self.path, 0))
                body = owner.pages.get(self.path, "").encode()
                if self.path in owner.redirects:
                    self.send_response(302)
                    self.send_header("Location", owner.redirects[self.path])
                else:
                    self.send_response(200 if self.path in owner.pages else 404)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.send_header("Access-Control-Allow-Origin", "*")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_POST = do_GET

            def log_message(self, *args):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/"

    def __enter__(self) -> Pages:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._closed.set()
        self._server.shutdown()
        self._server.server_close()
