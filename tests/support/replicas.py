"""Several servers of one model on loopback, each of which may die, hang, or serve something else."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from tests.support.mock_server import MockServer, Reply, Request
from tests.support.stage import some_right

KEY = "test-key-123456"
PATIENCE_S = 60


class Replica(MockServer):
    """One server of a model: what vLLM's has besides the API, and the look at it in `looks`.

    Attributes:
        served: what it says of its model.
        version: of the server.
        image_tokens: that it counts for the image of a look.
        is_well: its health check passes, and it answers a look.
        looks: requests of one token that are no sample's.
        gets: the paths that were read with GET.
    """

    def __init__(self, answer: Callable[[Request], Reply] = some_right, **served: Any) -> None:
        super().__init__(answer)
        self.served = {"id": "mock", "root": "/weights", "max_model_len": 32768, **served}
        self.version = "0.11.0"
        self.image_tokens = 2691
        self.is_well = True
        self.looks: list[Request] = []
        self.gets: list[str] = []
        self._deaths = threading.Lock()
        self._is_dead = False

    @property
    def place(self) -> str:
        """The host with its port."""
        return f"127.0.0.1:{self.port}"

    def offer(self, path: str) -> tuple[int, Any]:
        self.gets.append(path)
        if not self.is_well:
            return 503, {"error": "not well"}
        if path == "/health":
            return 200, {}
        if path == "/version":
            return 200, {"version": self.version}
        if path == "/v1/models":
            return 200, {"object": "list", "data": [{"object": "model", **self.served}]}
        return 404, None

    def reply_to(self, request: Request) -> Reply:
        if request.body.get("max_tokens") != 1:
            return super().reply_to(request)
        if not self.is_well:
            return Reply(status=503, body=b'{"error": "not well"}')
        self.looks.append(request)
        tokens = 20 + self.image_tokens * len(request.pictures)
        body = '{"choices": [{"message": {"content": "A"}}], "usage": {"prompt_tokens": %d}}'
        return Reply(body=(body % tokens).encode())

    def die(self) -> Reply:
        """Ends without a word, as a process that is killed does; for an `answer` to return."""
        with self._deaths:
            if not self._is_dead:
                self._is_dead = True
                self.go_away()
        return Reply(reset=True)

    def __exit__(self, *_: object) -> None:
        if not self._is_dead:
            super().__exit__()


@contextmanager
def running(*servers: Replica) -> Iterator[list[str]]:
    """Runs servers; gives their addresses as a `model_path` has them."""
    with ExitStack() as stack:
        for server in servers:
            stack.enter_context(server)
        yield [address(server) for server in servers]


def address(server: MockServer) -> str:
    """The address of a server with key and model."""
    return f"{server.url}?api_key={KEY}&model=mock"


def asked(*servers: MockServer) -> list[str]:
    """The texts of the requests that servers received."""
    return [request.text for server in servers for request in server.requests]
