"""A wall-clock limit for one request, whatever phase it hangs in and however slowly a reply drips.

The client's own timeouts are per phase: a server that sends a byte now and then is waited for
without end. Here every wait on the network is cut to what is left until the thread's deadline.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_this_thread = threading.local()


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Network waits of this thread end after so many seconds from now, all together."""
    _this_thread.ends_s = time.monotonic() + seconds
    try:
        yield
    finally:
        _this_thread.ends_s = None


def keep_deadlines(http_client: Any) -> None:
    """Makes the connections of an `httpx2.Client` keep this module's deadlines.

    There is no public way to the network streams of a client with proxies from the environment;
    the tests have a dripping server that tells if this one goes.
    """
    for transport in (http_client._transport, *http_client._mounts.values()):
        pool = getattr(transport, "_pool", None)
        if pool is not None:
            pool._network_backend = _Within(pool._network_backend)


class _Within:
    """A network backend, or a stream of one, whose calls end at the deadline of their thread."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def connect_tcp(self, *, timeout: float | None = None, **options: Any) -> _Within:
        return _Within(self._inner.connect_tcp(timeout=_left_s(timeout), **options))

    def start_tls(
        self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None
    ) -> _Within:
        return _Within(self._inner.start_tls(ssl_context, server_hostname, _left_s(timeout)))

    def read(self, max_bytes: int, timeout: float | None = None) -> Any:
        return self._inner.read(max_bytes, _left_s(timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._inner.write(buffer, _left_s(timeout))


def _left_s(timeout: float | None) -> float | None:
    ends_s: float | None = getattr(_this_thread, "ends_s", None)
    if ends_s is None:
        return timeout
    left_s = ends_s - time.monotonic()
    if left_s <= 0:
        import httpcore2

        raise httpcore2.ReadTimeout("the time limit of this request has passed")
    return left_s if timeout is None else min(timeout, left_s)
