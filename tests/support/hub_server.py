"""A loopback server that speaks as much of the hub's protocol as fetching a file takes.

Large files (here: the zip) are redirected to a second host, as the real hub does with its storage;
"localhost" stands for it, so that a token sent there would be seen.
"""

import hashlib
import json
import threading
from collections import namedtuple
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

Seen = namedtuple("Seen", "method name headers at_storage")


@dataclass
class HubServer:
    """A mock hub: its files, its faults, and the requests it received."""

    files: dict[str, bytes]
    commit: str = "c" * 40
    refusals: dict[str, tuple[int, dict[str, str]]] = field(default_factory=dict)
    closes_after: dict[str, list[int]] = field(default_factory=dict)  # bytes of one reply each
    stalls_after: dict[str, int] = field(default_factory=dict)
    ignores_ranges: bool = False
    requests: list[Seen] = field(default_factory=list)
    port: int = 0
    released: threading.Event = field(default_factory=threading.Event)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def transfers(self, name: str = "") -> list[Seen]:
        return [s for s in self.requests if s.method == "GET" and name in s.name]

    def etag(self, name: str) -> str:
        data = self.files[name]
        if name.endswith(".zip"):
            return hashlib.sha256(data).hexdigest()
        return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()

    def __enter__(self) -> "HubServer":
        handler = type("Handler", (_Handler,), {"server_state": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    server_state: HubServer
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Keeps test output clean."""

    def do_GET(self) -> None:
        hub = self.server_state
        parts = [unquote(part) for part in urlsplit(self.path).path.split("/")]
        at_storage = parts[1] == "storage"
        if parts[1] == "api":
            return self._api(parts)
        first = parts.index("resolve") + 2 if "resolve" in parts else len(parts) - 1
        name = "/".join(parts[first:])
        hub.requests.append(Seen(self.command, name, dict(self.headers.items()), at_storage))
        if name in hub.refusals and not at_storage:
            status, headers = hub.refusals[name]
            return self._head(status, {**headers, "Content-Length": "0"})
        if not at_storage:
            if parts[first - 1] not in ("main", hub.commit) or name not in hub.files:
                return self._head(404, {"X-Error-Code": "EntryNotFound", "Content-Length": "0"})
            if name.endswith(".zip"):
                return self._head(
                    302,
                    {
                        "Location": f"http://localhost:{hub.port}/storage/{name}",
                        "X-Repo-Commit": hub.commit,
                        "X-Linked-Etag": f'"{hub.etag(name)}"',
                        "X-Linked-Size": str(len(hub.files[name])),
                        "Content-Length": "0",
                    },
                )
        data = hub.files[name]
        start = 0
        if (byte_range := self.headers.get("Range")) and not hub.ignores_ranges:
            start = int(byte_range.removeprefix("bytes=").split("-")[0])
        headers = {
            "X-Repo-Commit": hub.commit,
            "ETag": f'"{hub.etag(name)}"',
            "Content-Length": str(len(data) - start),
        }
        if start:
            headers["Content-Range"] = f"bytes {start}-{len(data) - 1}/{len(data)}"
        self._head(206 if start else 200, headers)
        if self.command == "GET":
            self._send(name, data[start:])
        return None

    do_HEAD = do_GET

    def _api(self, parts: list[str]) -> None:
        """Send the commit and the files of the repository."""
        hub = self.server_state
        files = [
            {"type": "file", "path": name, "size": len(data), "oid": hub.etag(name)}
            for name, data in hub.files.items()
        ]
        info = {"id": "/".join(parts[3:5]), "sha": hub.commit}
        info["siblings"] = [{"rfilename": name} for name in hub.files]
        body = json.dumps(files if "tree" in parts else info).encode()
        self._head(200, {"Content-Type": "application/json", "Content-Length": str(len(body))})
        self.wfile.write(body)

    def _send(self, name: str, body: bytes) -> None:
        hub = self.server_state
        if cuts := hub.closes_after.get(name):
            self.wfile.write(body[: cuts.pop(0)])
            self.close_connection = True
        elif name in hub.stalls_after:
            self.wfile.write(body[: hub.stalls_after[name]])
            self.wfile.flush()
            hub.released.wait()
            self.close_connection = True
        else:
            self.wfile.write(body)

    def _head(self, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for key, value in headers.items():
            self.send_header(key, value)
        self.end_headers()
