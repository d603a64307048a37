"""A server's bad night: faults that depend on sample and attempt alone."""

from __future__ import annotations

import hashlib
import itertools
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.support.mock_server import Reply, Request

MOST_IN_A_ROW = 4
SHARES = (("429", 0.20), ("500", 0.10), ("reset", 0.05), ("hang", 0.05), ("garbage", 0.05))
GARBAGE = (
    Reply(body=b"<html><body>(0.2, 0.15) B</body></html>", headers={"content-type": "text/html"}),
    Reply(body=b'{"choices": [{"message": {"content": "B'),
    Reply(body=b'{"object": "chat.completion", "choices": []}'),
)


def fault(sample: str, attempt: int) -> str | None:
    """Name of what happens to an attempt (from 0); None: it is answered."""
    if attempt >= MOST_IN_A_ROW:
        return None
    chance = _fraction(f"{sample} {attempt}")
    limits = itertools.accumulate(share for _, share in SHARES)
    upper = zip(SHARES, limits, strict=True)
    return next((name for (name, _), upper_bound in upper if chance < upper_bound), None)


def _fraction(text: str) -> float:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6], "big") / 2**48


@dataclass
class Storm:
    """An answer function of a mock server that has faults.

    Attributes:
        calm: what is answered in the end.
        retry_after_s: that a 429 asks for.
        over: set at the end; lets go of what hangs.
        met: how many faults of each kind there were.
    """

    calm: Callable[[Request], Reply]
    retry_after_s: float = 0.2
    over: threading.Event = field(default_factory=threading.Event)
    met: Counter[str] = field(default_factory=Counter)
    _attempts: Counter[str] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, request: Request) -> Reply:
        with self._lock:
            attempt = self._attempts[request.text]
            self._attempts[request.text] += 1
            name = fault(request.text, attempt)
            if name is not None:
                self.met[name] += 1
        match name:
            case "429":
                return Reply(
                    status=429,
                    body=b'{"error": {"message": "busy: B (0.2, 0.15)"}}',
                    headers={"retry-after": str(self.retry_after_s)},
                )
            case "500":
                return Reply(status=500, body=b'{"error": {"message": "oops: B (0.2, 0.15)"}}')
            case "reset":
                return Reply(reset=True)
            case "hang":
                self.over.wait(120)
                return Reply(reset=True)
            case "garbage":
                return GARBAGE[int(_fraction(request.text) * len(GARBAGE))]
        return self.calm(request)

    @property
    def most_attempts(self) -> int:
        """Of any sample."""
        return max(self._attempts.values(), default=0)
