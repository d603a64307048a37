"""An OpenAI-style server that costs next to nothing, in a process of its own.

python -m tools.mock_server [--latency S] [--admit N [--then M --after K]] [--other-model]

Prints its port, answers every POST with one fixed chat completion after the latency, and answers
`GET /stats` with what it has counted so far. With `--admit N`, requests beyond N in flight get 429;
with `--then M --after K` it admits only M after K answers. With `--other-model` it knows no
model of the name that is asked for.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from typing import ClassVar

REPLY = json.dumps(
    {
        "id": "x",
        "object": "chat.completion",
        "created": 0,
        "model": "mock",
        "choices": [
            {
                "index": 0,
                "finish_reason": "stop",
                "message": {"role": "assistant", "content": "(0.5, 0.5)"},
            }
        ],
        "usage": {"prompt_tokens": 1000, "completion_tokens": 8, "total_tokens": 1008},
    }
).encode()


def _response(status: str, body: bytes, extra: str = "") -> bytes:
    head = f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\n{extra}"
    return f"{head}content-length: {len(body)}\r\n\r\n".encode() + body


OK = _response("200 OK", REPLY)
BUSY = _response("429 Too Many Requests", b'{"error": {"message": "busy"}}', "retry-after: 0.1\r\n")


NOT_FOUND = _response("404 Not Found", b'{"error": {"message": "The model does not exist."}}')


class Connection(asyncio.Protocol):
    """One keep-alive connection; bodies are counted and thrown away."""

    stats: ClassVar[dict[str, int]] = {
        "requests": 0,
        "bytes": 0,
        "in_flight": 0,
        "most_in_flight": 0,
        "refused": 0,
    }
    latency_s = 0.0
    admit = then = after = 1 << 30
    is_other_model = False

    def __init__(self) -> None:
        self._head = b""
        self._body_left = -1

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keeps the transport."""
        self._transport: asyncio.Transport = transport  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        """Reads head, then body, then answers."""
        if self._body_left < 0:
            self._head += data
            end = self._head.find(b"\r\n\r\n")
            if end < 0:
                return
            head, data, self._head = self._head[:end].lower(), self._head[end + 4 :], b""
            if head.startswith(b"get"):
                self._transport.write(_response("200 OK", json.dumps(self.stats).encode()))
                return
            length = head.split(b"content-length:")[1].split(b"\r\n")[0]
            self._body_left = int(length)
        self._body_left -= len(data)
        self.stats["bytes"] += len(data)
        if self._body_left == 0:
            self._body_left = -1
            self._answer()

    def _answer(self) -> None:
        if self.is_other_model:
            self._transport.write(NOT_FOUND)
            return
        stats = self.stats
        stats["requests"] += 1
        answered = stats["requests"] - 1 - stats["in_flight"] - stats["refused"]
        if stats["in_flight"] >= (self.admit if answered < self.after else self.then):
            stats["refused"] += 1
            self._transport.write(BUSY)
            return
        if not self.latency_s:
            self._transport.write(OK)
            return
        stats["in_flight"] += 1
        stats["most_in_flight"] = max(stats["most_in_flight"], stats["in_flight"])
        asyncio.get_running_loop().call_later(self.latency_s, self._finish)

    def _finish(self) -> None:
        self.stats["in_flight"] -= 1
        self._transport.write(OK)


async def serve(options: argparse.Namespace) -> None:
    """Listens on a free port of the loopback interface until it is killed."""
    Connection.latency_s, Connection.admit = options.latency, options.admit
    Connection.then, Connection.after = options.then, options.after
    Connection.is_other_model = options.other_model
    server = await asyncio.get_running_loop().create_server(
        Connection, "127.0.0.1", 0, backlog=1024
    )
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--latency", type=float, default=0.0)
    for name in ("--admit", "--then", "--after"):
        parser.add_argument(name, type=int, default=1 << 30)
    parser.add_argument("--other-model", action="store_true")
    asyncio.run(serve(parser.parse_args()))
