"""The connection to a server: one pooled client for all threads, and what may fail on the way."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

from models.wrappers.api.bodies import note_start, read_body
from models.wrappers.api.failures import as_call_error
from models.wrappers.api.hints import add_proxy_hint
from utils.config.endpoint import OPENAI_HOST, Endpoint, resolve_api_key
from utils.config.proxies import proxy_for
from utils.errors import StopRun
from utils.import_utils import no_collecting

if TYPE_CHECKING:
    import ssl

LISTING_TIMEOUT_S = 5.0
CONNECTING = "the environment's ALL_PROXY, HTTP_PROXY, HTTPS_PROXY, SSL_CERT_FILE or SSL_CERT_DIR"


@cache
def _tls_context(certificates: tuple[str | None, ...] | None) -> ssl.SSLContext:
    """The TLS context that checks certificates; cached, because making one takes 20 ms.

    Args:
        certificates: SSL_CERT_FILE and SSL_CERT_DIR; None: those of the environment are ignored.
    """
    import httpx2

    return httpx2.create_ssl_context(trust_env=certificates is not None)


class Connection:
    """Sends requests to one server.

    Args:
        endpoint: of the server.
        connections: how many requests may be in flight.
        uses_proxies: the environment's; False for a server of the program's own.
    """

    def __init__(self, endpoint: Endpoint, connections: int, *, uses_proxies: bool) -> None:
        self._endpoint = endpoint
        self._connections = connections
        self._uses_proxies = uses_proxies
        self._lock = threading.Lock()
        self._client: Any = None
        self._requests: Counter[int] = Counter()  # under way, by the id of their client
        self._http_client: Any = None  # that the client sends with

    def open(self) -> Any:
        """Return the client, made when the first request is due; StopRun: it cannot be made."""
        with self._lock:
            return self._opened()

    def _opened(self) -> Any:
        if self._client is None:
            self._client = self._new_client()
        return self._client

    def request(self, method: str, path: str, options: Mapping[str, Any], **content: Any) -> bytes:
        """Return the body of a 200 response.

        Args:
            method: "post" or "get".
            path: below the base URL, or a whole URL at the same server.
            options: headers, query, time limit.
            content: the body to send as `content`, whole or in pieces.

        Raises:
            CallError: there is none.
        """
        import httpx2

        began_s = time.monotonic()
        try:
            with self._in_use() as client:
                send = getattr(client, method)
                response = send(path, cast_to=httpx2.Response, options=options, **content)
        except StopRun:
            raise
        except Exception as error:
            call_error = as_call_error(error, time.monotonic() - began_s)
            proxy = proxy_for(self._endpoint.base_url)
            if proxy is not None and self._is_proxied():
                add_proxy_hint(call_error, proxy, self._endpoint.host)
            raise call_error from error
        reply: bytes = response.content
        return reply

    def _is_proxied(self) -> bool:
        """Whether requests go through a proxy; the client alone knows all of NO_PROXY."""
        import httpx2

        http_client = self._http_client
        transport = http_client._transport_for_url(httpx2.URL(self._endpoint.base_url))
        return transport is not http_client._transport

    def list_models(self, options: Mapping[str, Any]) -> list[str]:
        """Return the names of the models that the server offers; none where it does not say."""
        import httpx2

        options = {**options, "timeout": LISTING_TIMEOUT_S}
        try:
            with self._in_use() as client:
                response = client.get("/models", cast_to=httpx2.Response, options=options)
            return [str(model["id"]) for model in response.json()["data"]]
        except Exception:  # noqa: BLE001  it is the 404 that is reported, whatever comes of this
            return []

    def _new_client(self) -> Any:
        with no_collecting():
            import httpx2
            import openai

        connections = self._connections + 8
        certificates = (os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))
        try:
            http_client = openai.DefaultHttpxClient(
                limits=httpx2.Limits(
                    max_connections=connections, max_keepalive_connections=connections
                ),
                verify=_tls_context(certificates if self._uses_proxies else None),
                trust_env=self._uses_proxies,
                follow_redirects=False,  # they would take key and image elsewhere
                event_hooks={"request": [note_start], "response": [read_body]},
            )
        except (ImportError, OSError, ValueError, httpx2.InvalidURL) as error:
            # Of a broken URL no part is told: it may be that of a password.
            reason = "" if isinstance(error, httpx2.InvalidURL) else f": {error}"
            raise StopRun(f"no connection can be set up with {CONNECTING}{reason}") from None
        self._http_client = http_client
        client = openai.OpenAI(
            base_url=self._endpoint.base_url,
            api_key=resolve_api_key(self._endpoint, os.environ),
            max_retries=0,  # the engine decides about retries, with the whole run in view
            http_client=http_client,
        )
        if self._endpoint.host != OPENAI_HOST:
            # The environment's (OPENAI_ORG_ID, ...) are meant for OpenAI alone.
            client.organization = None
            client.project = None
            client._custom_headers = {}  # OPENAI_CUSTOM_HEADERS, which may hold a key
        return client

    def close(self) -> None:
        """Close the client, at once or with the last of the requests that are under way.

        Closing its sockets under a thread that waits on one would give the number of the socket to
        the next file that is opened, and the thread would wait on that.
        """
        with self._lock:
            client, self._client = self._client, None
            self._close_if_unused(client)

    @contextmanager
    def _in_use(self) -> Iterator[Any]:
        """Hand out the client for one request."""
        with self._lock:
            client = self._opened()
            self._requests[id(client)] += 1
        try:
            yield client
        finally:
            with self._lock:
                self._requests[id(client)] -= 1
                if client is not self._client:
                    self._close_if_unused(client)

    def _close_if_unused(self, client: Any) -> None:
        if client is not None and not self._requests[id(client)]:
            client.close()
