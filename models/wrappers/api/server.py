"""One server: what is sent to it, and what it says."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

from models.wrappers.api.connection import Connection
from models.wrappers.api.hints import add_request_hints
from models.wrappers.api.replies import read_reply
from models.wrappers.api.responses import read_response
from models.wrappers.api.sending import Sending
from models.wrappers.api.wire import data_url_wh
from models.wrappers.defaults import aligned
from utils.config.endpoint import PLACEHOLDER_KEY, Endpoint, place_of_key, resolve_api_key
from utils.contracts import WH, CallError, Generation, Prepared, Sizes
from utils.text import likeness, listed


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """The data to send: the body, with images still in their slots, and the envelope."""

    body: Mapping[str, Any]
    urls: Sequence[Any]  # of its images: slots, or what a user's function put there
    headers: Mapping[str, str]
    query: Mapping[str, Any]
    timeout_s: float


class ApiServer:
    """Sends requests to one address.

    Args:
        endpoint: of the server.
        connections: how many requests may be in flight.
        uses_proxies: the environment's; False for a server of the program's own.
        is_responses: it is asked through the Responses API.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        connections: int,
        *,
        uses_proxies: bool,
        is_responses: bool,
    ) -> None:
        self.endpoint = endpoint
        self.name = endpoint.place
        self.connection = Connection(endpoint, connections, uses_proxies=uses_proxies)
        self.is_responses = is_responses
        self._sending = Sending()
        self._takes_usage_option = True  # of a stream; until the server says that it does not
        self._offered_models: list[str] | None = None  # None: not requested yet

    def generate(self, prepared: Prepared) -> Generation:
        """Send the request once.

        Raises:
            CallError: no usable answer; says what kind of failure it was.
            UserError: an image cannot be sent as the settings ask.
        """
        request: ApiRequest = prepared.payload
        options = {
            "headers": self._headers(request),
            "params": dict(request.query),
            "timeout": request.timeout_s,
        }
        read = read_response if self.is_responses else read_reply
        try:
            response, sent_sizes = self._send(request, options)
            image_sizes = prepared.image_sizes or [Sizes()] * len(request.urls)
            if len(sent_sizes) != len(image_sizes):
                sent_sizes = aligned(sent_sizes, len(image_sizes))
            return read(
                response,
                [
                    replace(sizes, sent_wh=wh)
                    for sizes, wh in zip(image_sizes, sent_sizes, strict=True)
                ],
            )
        except CallError as error:
            self._explain(error, request, options)
            raise

    def _headers(self, request: ApiRequest) -> dict[str, Any]:
        """Return the headers of a request; with a key of its own it gets no placeholder of one."""
        headers: dict[str, Any] = {"content-type": "application/json", **request.headers}
        has_own_key = "api-key" in {name.lower() for name in request.headers}
        if has_own_key and resolve_api_key(self.endpoint, os.environ) == PLACEHOLDER_KEY:
            import openai

            headers["Authorization"] = openai.Omit()
        return headers

    def _send(
        self, request: ApiRequest, options: Mapping[str, Any]
    ) -> tuple[bytes, list[WH | None]]:
        """Return the body of the response, and the sizes of the images as they were sent.

        A stream is asked for its token counts, too.

        Raises:
            CallError: there is none.
        """
        if self.is_responses:
            return self._post("/responses", request.body, request.urls, options)
        path = "/chat/completions"
        if request.body.get("stream") is True and self._takes_usage_option:
            body = {"stream_options": {"include_usage": True}, **request.body}
            try:
                return self._post(path, body, request.urls, options)
            except CallError as error:
                if error.status_code not in (400, 422) or "stream_options" not in str(error):
                    raise
                self._takes_usage_option = False
        return self._post(path, request.body, request.urls, options)

    def _post(
        self, path: str, request: Mapping[str, Any], urls: Sequence[Any], options: Mapping[str, Any]
    ) -> tuple[bytes, list[WH | None]]:
        with closing(self._sending.body(request, urls)) as body:
            sent_sizes = [body.image_whs.get(id(url)) or data_url_wh(url) for url in urls]
            headers = {**options["headers"], "content-length": str(body.size)}
            options = {**options, "headers": headers}
            response = self.connection.request("post", path, options, content=body.content)
        return response, sent_sizes

    def _explain(self, error: CallError, request: ApiRequest, options: Mapping[str, Any]) -> None:
        """Add to an error what is known here and helps to mend it.

        Args:
            error: of a request.
            request: the request.
            options: that it was sent with.
        """
        add_request_hints(error, self.endpoint, request.body, options)
        if error.status_code == 401:
            error.message += f" - {place_of_key(self.endpoint, os.environ)}"
        if error.status_code == 404:
            error.message += self._offer(options)

    def _offer(self, options: Mapping[str, Any]) -> str:
        """Return ` - the server offers "a", "b"`, the likeliest first; "" if that is not known.

        Args:
            options: of the request that met with a 404.
        """
        if self._offered_models is None:
            self._offered_models = self.connection.list_models(options)
        requested = self.endpoint.model or ""
        if not self._offered_models or requested in self._offered_models:
            return ""
        names = sorted(self._offered_models, key=lambda name: -likeness(requested, name))
        return f" - the server offers {listed(names)}"

    def close(self) -> None:
        """Let go of the connection."""
        self.connection.close()
