"""A model behind an OpenAI-style server."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from models.wrappers.api.arguments import envelope_problems
from models.wrappers.api.connection import Connection
from models.wrappers.api.hints import add_request_hints
from models.wrappers.api.replies import read_reply
from models.wrappers.api.responses import input_items, read_response
from models.wrappers.api.wire import (
    ImageSlot,
    ImageStyle,
    chat_messages,
    data_url_wh,
    encode_body,
    plain_messages,
    without_images,
)
from models.wrappers.defaults import WrapperDefaults, aligned
from utils.config.endpoint import (
    PLACEHOLDER_KEY,
    parse_endpoint,
    place_of_key,
    resolve_api_key,
)
from utils.config.proxies import connection_problems
from utils.config.secret_filter import is_secret_name
from utils.config.text import key_path
from utils.contracts import CallError, Generation, Message, Prepared, Sizes, UserFunctionError
from utils.functions.calling import call_user_function, one_at_a_time, private_copy
from utils.functions.fingerprints import code_digest, digest
from utils.geometry.images import read_header
from utils.text import likeness, listed

if TYPE_CHECKING:
    from utils.config.schema import Api, Vllm

DEFAULT_TIMEOUT_S = 600.0
# Of generate_cfg: they say how to send a request, not what it asks.
TRANSPORT_PARAMETERS = frozenset({"timeout", "extra_headers", "extra_query", "extra_body"})


@dataclass(frozen=True, slots=True)
class _Parameters:
    """What a request carries beside the messages."""

    body: Mapping[str, Any]
    images: Sequence[Any]  # under "image_url" in the body: a tool's schema may have that
    headers: Mapping[str, str]
    query: Mapping[str, Any]
    timeout_s: float
    settings: Sequence[Any]  # what of it decides the answer, for fingerprints


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """What goes over the wire: the body with images still in their slots, and the envelope."""

    body: Mapping[str, Any]
    urls: Sequence[Any]  # of its images: slots, or what a user's function put there
    headers: Mapping[str, str]
    query: Mapping[str, Any]
    timeout_s: float


def default_preprocess_function(
    message: list[Message], model: None, processor: None, **kwargs: Any
) -> list[dict[str, Any]]:
    """Return chat messages with base64 images, for users who want to start from them."""
    payload: dict[str, list[dict[str, Any]]] = json.loads(
        encode_body({"messages": chat_messages(message, ImageStyle.from_kwargs(kwargs))})
    )
    return payload["messages"]


def default_postprocess_function(response: str, model: None, processor: None, **kwargs: Any) -> str:
    """Return the response as it came."""
    return response


class APIModelWrapper(WrapperDefaults):
    """Queries an OpenAI-style server; knows nothing of benchmarks but the name in `kwargs`.

    Args:
        name: of the model in the config.
        entry: the model entry of the config.
        preprocess_function: the user's; makes the payload of messages.
        postprocess_function: the user's; makes the reply of a response.
        connections: how many requests may be in flight.
        address: of a server of the program's own, which no proxy leads to; None: the entry's
            `model_path`.
    """

    def __init__(
        self,
        name: str,
        entry: Api | Vllm,
        *,
        preprocess_function: Callable[..., Any] | None,
        postprocess_function: Callable[..., str] | None,
        connections: int,
        address: str | None = None,
    ) -> None:
        self.name = name
        self.entry = entry
        self._endpoint = parse_endpoint(address or entry.model_path)
        self._style = ImageStyle.from_kwargs(entry.kwargs)
        self._style_settings = self._style.as_settings()
        self._is_responses = getattr(entry, "api", None) == "responses"
        self._key = "input" if self._is_responses else "messages"  # of a request's body
        self._uses_proxies = address is None
        self._connections = connections
        self._connection = self._new_connection()
        lock = threading.Lock()  # one for both functions: they may share globals
        self._user_preprocess = preprocess_function
        self._preprocess = preprocess_function and one_at_a_time(
            preprocess_function, lock, copy_result=True
        )
        self._postprocess = postprocess_function and one_at_a_time(postprocess_function, lock)
        self._takes_usage_option = True  # of a stream; until the server says that it does not
        self._offered_models: list[str] | None = None  # of the server; None: not requested yet

    def move_to(self, address: str) -> None:
        """Set another address of the same model, before the first request is sent."""
        self._endpoint = parse_endpoint(address)
        self._connection = self._new_connection()

    def _new_connection(self) -> Connection:
        return Connection(self._endpoint, self._connections, uses_proxies=self._uses_proxies)

    def problems(self) -> list[str]:
        """Problems of the environment that stand in the way of any connection."""
        return [*connection_problems()] if self._uses_proxies else []

    def warm_up(self) -> None:
        """Import the client library, which takes longer than all else before the first request."""
        self._connection.open()

    def settings_digest(self) -> str:
        """Return a hash of where requests go, their parameters, and what makes them of messages."""
        preprocess = None
        if self._user_preprocess:
            kwargs = {k: v for k, v in self.entry.kwargs.items() if k != "timeout_s"}
            preprocess = [code_digest(self._user_preprocess), kwargs]
        return digest([*self._usual_parameters.settings, self._style_settings, preprocess])

    def request(
        self, messages: list[Message], dataset: str, *, is_custom_prompt: bool = False
    ) -> Prepared:
        """Build the request and its fingerprint.

        Raises:
            UserFunctionError: the user's preprocess function raised or returned no payload.
            UserError: an image cannot be read.
        """
        if self._preprocess is not None:
            payload = self._payload_by(self._preprocess, messages, dataset)
        elif self._is_responses:
            payload = {"input": input_items(messages, self._style)}
        else:
            chat = chat_messages(messages, self._style, is_custom_prompt=is_custom_prompt)
            is_continued = chat[-1]["role"] == "assistant"
            payload = self._continued(chat) if is_continued else {"messages": chat}
        inputs = payload.pop(self._key)
        parameters = self._parameters_with(payload) if payload else self._usual_parameters
        images = [*parameters.images]
        texts = without_images(inputs, images)
        sent_images = without_images(images, [])
        urls = [image.get("url") if isinstance(image, Mapping) else image for image in images]
        image_contents = [
            url.source if isinstance(url, ImageSlot) else sent_image
            for url, sent_image in zip(urls, sent_images, strict=True)
        ]
        # How images are sent is a setting; whether it has an effect shows in `sent_images`.
        style = self._style_settings if image_contents != sent_images else None
        image_sizes = []
        for message in messages:
            if message["type"] == "image":
                file_wh = None
                with suppress(OSError, ValueError):  # what only a user's function reads, as a URL
                    file_wh = read_header(Path(message["value"])).wh
                image_sizes.append(Sizes(file_wh))
        return Prepared(
            dataset,
            fingerprint=digest([parameters.settings, texts, sent_images]),
            parts={
                "prompt": digest(texts),
                "picture": digest(image_contents),
                "settings": digest([*parameters.settings, style]),
            },
            payload=ApiRequest(
                {**parameters.body, self._key: inputs},
                urls,
                parameters.headers,
                parameters.query,
                parameters.timeout_s,
            ),
            image_sizes=image_sizes,
            prompt=plain_messages(inputs),
            image_changes=sorted(
                {url.change for url in urls if isinstance(url, ImageSlot) and url.change}
            ),
        )

    @cached_property
    def identity(self) -> str | list[str]:
        """What stands for the model in fingerprints: a name of its weights, or an address."""
        return self.entry.model_identity or [_address(self._endpoint.base_url)]

    @cached_property
    def _usual_parameters(self) -> _Parameters:
        """The parameters of every request whose payload has messages alone."""
        return self._parameters_with({})

    def _parameters_with(self, payload: Mapping[str, Any]) -> _Parameters:
        """Return the parameters of `generate_cfg`, with those of a payload in their place."""
        body: dict[str, Any] = {"model": self._endpoint.model}
        for block in (self.entry.generate_cfg, payload):
            body |= {k: v for k, v in block.items() if k not in TRANSPORT_PARAMETERS}
            body |= block.get("extra_body") or {}
        parameters = {**self.entry.generate_cfg, **payload}
        headers, query = (
            dict(parameters.get(name) or {}) for name in ("extra_headers", "extra_query")
        )
        timeout_s = parameters.get("timeout") or self.entry.kwargs.get("timeout_s")
        images: list[Any] = []
        deciding_body = without_images(body, images)
        if isinstance(self.identity, str):  # the same weights under another name
            del deciding_body["model"]
        if deciding_body.get("stream") is True:  # says how the reply comes, not what it is
            del deciding_body["stream"]
        keyless = [  # secrets decide nothing
            {name.lower(): value for name, value in part.items() if not is_secret_name(name)}
            for part in (headers, query)
        ]
        settings = [self.identity, deciding_body, *keyless]
        return _Parameters(
            body, images, headers, query, float(timeout_s or DEFAULT_TIMEOUT_S), settings
        )

    def _payload_by(
        self, preprocess: Callable[..., Any], messages: list[Message], dataset: str
    ) -> dict[str, Any]:
        """The payload that the user's preprocess function makes of messages."""
        kwargs = {**private_copy(self.entry.kwargs), "dataset_name": dataset}
        payload = call_user_function(
            "preprocess", preprocess, private_copy(messages), None, None, **kwargs
        )
        if isinstance(payload, list):
            payload = {self._key: payload}
        problem = _payload_problem(payload, self._key)
        if problem:
            raise UserFunctionError("preprocess", f"returned {problem}", f"returned {problem}")
        return dict(payload)

    def _continued(self, chat: list[dict[str, Any]]) -> dict[str, Any]:
        """Return the payload of chat messages that begin a reply: the server goes on with it."""
        beginning = "".join(part["text"] for part in chat[-1]["content"])
        extra_body = {
            "add_generation_prompt": False,
            "continue_final_message": True,
            **(self.entry.generate_cfg.get("extra_body") or {}),
        }
        return {
            "messages": [*chat[:-1], {"role": "assistant", "content": beginning}],
            "extra_body": extra_body,
        }

    def wire_size(self, prepared: Prepared) -> int:
        """Return the number of bytes of the request body."""
        return len(encode_body(prepared.payload.body))

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
        image_sizes = prepared.image_sizes or [Sizes()] * len(request.urls)
        sent_sizes = [
            url.encoded()[1] if isinstance(url, ImageSlot) else data_url_wh(url)
            for url in request.urls
        ]
        if len(sent_sizes) != len(image_sizes):
            sent_sizes = aligned(sent_sizes, len(image_sizes))
        image_sizes = [
            replace(sizes, sent_wh=wh) for sizes, wh in zip(image_sizes, sent_sizes, strict=True)
        ]
        read = read_response if self._is_responses else read_reply
        try:
            return read(self._send(request, options), image_sizes)
        except CallError as error:
            self._explain(error, request, options)
            raise

    def _headers(self, request: ApiRequest) -> dict[str, Any]:
        """Return the headers of a request; with a key of its own it gets no placeholder of one."""
        headers: dict[str, Any] = {"content-type": "application/json", **request.headers}
        has_own_key = "api-key" in {name.lower() for name in request.headers}
        if has_own_key and resolve_api_key(self._endpoint, os.environ) == PLACEHOLDER_KEY:
            import openai

            headers["Authorization"] = openai.Omit()
        return headers

    def _send(self, request: ApiRequest, options: Mapping[str, Any]) -> bytes:
        """Return the body of the response; a stream is asked for its token counts, too.

        Raises:
            CallError: there is none.
        """
        if self._is_responses:
            return self._connection.post("/responses", encode_body(request.body), options)
        path = "/chat/completions"
        if request.body.get("stream") is True and self._takes_usage_option:
            body = {"stream_options": {"include_usage": True}, **request.body}
            try:
                return self._connection.post(path, encode_body(body), options)
            except CallError as error:
                if error.status_code not in (400, 422) or "stream_options" not in str(error):
                    raise
                self._takes_usage_option = False
        return self._connection.post(path, encode_body(request.body), options)

    def _explain(self, error: CallError, request: ApiRequest, options: Mapping[str, Any]) -> None:
        """Add to an error what is known here and helps to mend it.

        Args:
            error: of a request.
            request: the request.
            options: that it was sent with.
        """
        add_request_hints(error, self._endpoint, request.body, options)
        if error.status_code == 401:
            error.message += f" - {place_of_key(self._endpoint, os.environ)}"
        if error.status_code == 404:
            error.message += self._offer(options)

    def _offer(self, options: Mapping[str, Any]) -> str:
        """Return ` - the server offers "a", "b"`, the likeliest first; "" if that is not known.

        Args:
            options: of the request that met with a 404.
        """
        if self._offered_models is None:
            self._offered_models = self._connection.list_models(options)
        requested = self._endpoint.model or ""
        if not self._offered_models or requested in self._offered_models:
            return ""
        names = sorted(self._offered_models, key=lambda name: -likeness(requested, name))
        return f" - the server offers {listed(names)}"

    def close(self) -> None:
        """Let go of the connection."""
        self._connection.close()


def _payload_problem(payload: Any, key: str) -> str | None:
    """The reason why a preprocess function's payload cannot be sent."""
    messages = payload.get(key) if isinstance(payload, dict) else None
    marks = {"role"} if key == "messages" else {"role", "type"}
    if (
        not isinstance(messages, list)
        or not messages
        or not all(isinstance(message, Mapping) and marks & set(message) for message in messages)
    ):
        return (
            f'{payload!r:.200}; expected a list of chat messages ({{"role", "content"}}), or a '
            f'dict with "{key}"'
        )
    try:
        json.dumps(payload, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        return f"a payload that is not JSON: {error}"
    for path, problem in envelope_problems(payload):
        return f"a payload whose {key_path(*path)} {problem}"
    return None


def _address(base_url: str) -> str:
    """Return where requests go, whoever sends them: no user and password, `/v1/` is `/v1`."""
    url = urlsplit(base_url.rstrip("/"))
    return url._replace(netloc=url.netloc.rpartition("@")[2].lower()).geturl()
