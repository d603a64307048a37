"""A model behind an OpenAI-style server."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from models.wrappers.api.addresses import Addresses, addresses_in, as_of
from models.wrappers.api.arguments import envelope_problems
from models.wrappers.api.looking import version_of
from models.wrappers.api.responses import input_items
from models.wrappers.api.server import ApiRequest, ApiServer
from models.wrappers.api.servers import ServerPool
from models.wrappers.api.wire import (
    ASSISTANT_IMAGE,
    ImageSlot,
    ImageStyle,
    chat_messages,
    encode_body,
    plain_messages,
    without_images,
)
from models.wrappers.defaults import WrapperDefaults
from utils.config.endpoint import Endpoint, parse_endpoint
from utils.config.proxies import connection_problems
from utils.config.secret_filter import was_secret_name
from utils.config.text import key_path
from utils.contracts import Generation, Message, Prepared, Sizes, UserFunctionError
from utils.errors import UserError
from utils.functions.calling import call_user_function, one_at_a_time, private_copy
from utils.functions.fingerprints import code_digest, digest
from utils.geometry.images import expand_home, is_url, read_header

if TYPE_CHECKING:
    from utils.config.schema import Api, Vllm

DEFAULT_TIMEOUT_S = 600.0
ANY_ADDRESS: list[str] = []  # in the place of an address in fingerprints, of several servers
# Of generate_cfg: they say how to send a request, not what it asks.
TRANSPORT_PARAMETERS = frozenset({"timeout", "extra_headers", "extra_query", "extra_body"})


@dataclass(frozen=True, slots=True)
class _Parameters:
    """The parts of a request beside the messages."""

    body: Mapping[str, Any]
    images: Sequence[Any]  # under "image_url" in the body: a tool's schema may have that
    headers: Mapping[str, str]
    query: Mapping[str, Any]
    timeout_s: float
    settings: Sequence[Any]  # what of it decides the answer, for fingerprints


def default_preprocess_function(
    message: list[Message], model: None, processor: None, **kwargs: Any
) -> list[dict[str, Any]]:
    """Return chat messages with base64 images, as a start for a preprocess function."""
    payload: dict[str, list[dict[str, Any]]] = json.loads(
        encode_body({"messages": chat_messages(message, ImageStyle.from_kwargs(kwargs))})
    )
    return payload["messages"]


def default_postprocess_function(response: str, model: None, processor: None, **kwargs: Any) -> str:
    """Return the response as it came."""
    return response


class APIModelWrapper(WrapperDefaults):
    """Queries an OpenAI-style server, or several; of benchmarks it knows the name in `kwargs`.

    Args:
        name: of the model in the config.
        entry: the model entry of the config.
        preprocess_function: the user's; makes the payload of messages.
        postprocess_function: the user's; makes the reply of a response.
        connections: how many requests may be in flight at each server.
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
        self._server = self._new_server(self._endpoint)
        self.servers: ServerPool | None = None
        if getattr(entry, "servers", None):
            self.servers = self._new_pool(entry)
        self._earlier_identities: list[list[str]] = []  # of other servers of this model
        lock = threading.Lock()  # one for both functions: they may share globals
        self._user_preprocess = preprocess_function
        self._preprocess = preprocess_function and one_at_a_time(
            preprocess_function, lock, copy_result=True
        )
        self._postprocess = postprocess_function and one_at_a_time(postprocess_function, lock)

    def move_to(self, address: str) -> None:
        """Set another address of the same model, before the first request is sent."""
        self._endpoint = parse_endpoint(address)
        self._server = self._new_server(self._endpoint)

    def _new_server(self, endpoint: Endpoint) -> ApiServer:
        return ApiServer(
            endpoint,
            self._connections,
            uses_proxies=self._uses_proxies,
            is_responses=self._is_responses,
        )

    def _new_pool(self, entry: Any) -> ServerPool:
        """The servers of an entry that names several, or where their addresses lie."""
        model_path, servers = self._endpoint, entry.servers
        source: Callable[[], Addresses] = partial(addresses_in, servers, model_path)
        if isinstance(servers, list):
            source = partial(Addresses, [as_of(address, model_path) for address in servers])
        pool = ServerPool(
            self.name,
            source,
            self._new_server,
            envelope=self._envelope(),
            may_differ=entry.servers_may_differ,
            may_come=lambda: not isinstance(servers, list),
        )
        if not isinstance(servers, list):
            pool.know(source())
        return pool

    def _envelope(self) -> dict[str, Any]:
        """Headers and query of requests that are no sample's."""
        parameters = self.entry.generate_cfg
        return {
            "headers": dict(parameters.get("extra_headers") or {}),
            "params": dict(parameters.get("extra_query") or {}),
        }

    def served(self) -> Mapping[str, str | int]:
        """The facts that servers tell about their model; a single server is asked only once."""
        return self._version if self.servers is None else self.servers.served()

    @cached_property
    def _version(self) -> Mapping[str, str | int]:
        return version_of(self._server, self._envelope())

    def problems(self) -> list[str]:
        """Problems of the environment that stand in the way of any connection."""
        problems = [*connection_problems()] if self._uses_proxies else []
        servers = getattr(self.entry, "servers", None)
        if isinstance(servers, str) and not expand_home(servers).exists():
            start = "" if expand_home(servers).is_absolute() else f" in {Path.cwd()}"
            problems.append(
                f"servers: {expand_home(servers)} does not exist{start}; expected a file with one "
                "address per line, or a folder of files with one address each (it may start empty)"
            )
        return problems

    def warm_up(self) -> None:
        """Import the client library, which takes longer than all else before the first request.

        Of several servers each is looked at.

        Raises:
            StopRun: they do not serve the same.
        """
        self._server.connection.open()
        if self.servers is not None:
            self.servers.start()

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
            is_continued = chat[-1].get("role") == "assistant"
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
            earlier_fingerprints=[
                digest([[identity, *parameters.settings[1:]], texts, sent_images])
                for identity in self._earlier_identities
            ],
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
        """The identity of the model in fingerprints: a name of its weights, or an address.

        Several servers have no address in common. The model's name identifies it, and the program
        compares the servers before it sends requests.
        """
        if self.entry.model_identity:
            return self.entry.model_identity
        return ANY_ADDRESS if self.servers is not None else [_address(self._endpoint.base_url)]

    def know_runs(self, entries: Iterable[Mapping[str, Any]]) -> None:
        """Have answers of earlier runs count that were asked of other servers of this model.

        Several servers take the answers of any address, one takes those of several servers.

        Args:
            entries: the model's entry in the config of each earlier run.
        """
        if self.entry.model_identity or self.entry.imp_type != "openai":
            return
        for entry in entries:
            path = str(entry.get("model_path") or "")
            if entry.get("model_identity") or not is_url(path):
                continue
            identity = ANY_ADDRESS
            if not entry.get("servers"):
                identity = [_address(path.partition("?")[0])]
            is_ours = self.servers is not None or identity == ANY_ADDRESS
            if is_ours and identity not in [self.identity, *self._earlier_identities]:
                self._earlier_identities.append(identity)

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
            {name.lower(): value for name, value in part.items() if not was_secret_name(name)}
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
        """Return the payload of chat messages that begin a reply: the server goes on with it.

        Raises:
            UserError: the reply begins with an image.
        """
        if any("text" not in part for part in chat[-1]["content"]):
            raise UserError(ASSISTANT_IMAGE)
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
        server = self._server if self.servers is None else self.servers.first()
        return server.generate(prepared)

    def close(self) -> None:
        """Let go of the connections."""
        self._server.close()
        if self.servers is not None:
            self.servers.close()


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
    """Return the address of requests without user and password; `/v1/` becomes `/v1`.

    A masked user, as in a log, is removed before the URL is parsed.
    """
    url = urlsplit(re.sub(r"(?<=//)[^/?#]*@", "", base_url.rstrip("/")))
    return url._replace(netloc=url.netloc.lower()).geturl()
