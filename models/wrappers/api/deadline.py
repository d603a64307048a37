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
    `tests/test_fault_storm.py` has a dripping server that tells if this one goes.
    """
    transports = [http_client._transport, *http_client._mounts.values()]
    for transport in transports:
        pool = getattr(transport, "_pool", None)
        if pool is not None:
            pool._network_backend = _Backend(pool._network_backend)


def _left_s(timeout: float | None) -> float | None:
    ends_s: float | None = getattr(_this_thread, "ends_s", None)
    if ends_s is None:
        return timeout
    left_s = ends_s - time.monotonic()
    if left_s <= 0:
        import httpcore2

        raise httpcore2.ReadTimeout("the time for this request is over")
    return left_s if timeout is None else min(timeout, left_s)


class _Backend:
    """A network backend whose streams keep deadlines."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def connect_tcp(
        self, host: str, port: int, timeout: float | None = None, **options: Any
    ) -> _Stream:
        return _Stream(self._inner.connect_tcp(host, port, timeout=_left_s(timeout), **options))

    def connect_unix_socket(
        self, path: str, timeout: float | None = None, **options: Any
    ) -> _Stream:
        return _Stream(self._inner.connect_unix_socket(path, timeout=_left_s(timeout), **options))

    def sleep(self, seconds: float) -> None:
        self._inner.sleep(seconds)


class _Stream:
    """A network stream that waits no longer than its thread may."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        data: bytes = self._inner.read(max_bytes, _left_s(timeout))
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._inner.write(buffer, _left_s(timeout))

    def start_tls(self, ssl_context: Any, server_hostname: str | None = None,
                  timeout: float | None = None) -> _Stream:  # fmt: skip
        return _Stream(self._inner.start_tls(ssl_context, server_hostname, _left_s(timeout)))

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)

    def close(self) -> None:
        self._inner.close()
