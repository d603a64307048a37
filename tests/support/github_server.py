"""A loopback server that speaks as much of GitHub's API as fetching a folder takes."""

import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit


def sha_of(content: bytes) -> str:
    """The SHA-1 by which git knows a file."""
    return hashlib.sha1(f"blob {len(content)}\0".encode() + content).hexdigest()


class GitHubServer:
    """A mock GitHub: its files by path (None: listed, but not served), and the paths fetched."""

    def __init__(self) -> None:
        self.files: dict[str, bytes | None] = {}
        self.commit = "d" * 40
        self.fetched: list[str] = []
        self.address = ""

    def __enter__(self) -> "GitHubServer":
        handler = type("Handler", (_Handler,), {"state": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, path: str) -> bytes | None:
        """Return the body of an answer; None: there is no such thing."""
        if path.endswith("/commits/HEAD"):
            return json.dumps({"sha": self.commit}).encode()
        if path.endswith(f"/git/trees/{self.commit}"):
            tree = [
                {"path": name, "type": "blob", "sha": sha_of(content or b"")}
                for name, content in self.files.items()
            ]
            return json.dumps({"tree": tree}).encode()
        _, _, name = path.partition(f"/{self.commit}/")
        self.fetched.append(name)
        return self.files.get(name)


class _Handler(BaseHTTPRequestHandler):
    state: GitHubServer

    def log_message(self, *_: object) -> None:
        """Keeps test output clean."""

    def do_GET(self) -> None:
        body = self.state.answer(unquote(urlsplit(self.path).path))
        self.send_response(404 if body is None else 200)
        self.send_header("Content-Length", str(len(body or b"")))
        self.end_headers()
        self.wfile.write(body or b"")
