"""A model behind an OpenAI-style server."""

# ruff: noqa: ARG001 - functions in the documented form, which take what they need not

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from models.wrappers.api.arguments import envelope_findings
from models.wrappers.api.deadline import deadline, keep_deadlines
from models.wrappers.api.replies import as_call_error, keep_small, read_reply
from models.wrappers.api.wire import (
    PictureSlot,
    PictureStyle,
    chat_messages,
    encode_body,
    sent_wh,
    shown_messages,
    taken_apart,
)
from models.wrappers.defaults import WrapperDefaults, aligned
from utils.config.endpoint import OPENAI_HOST, parse_endpoint, place_of_key, resolve_api_key
from utils.config.secret_filter import is_secret_name
from utils.config.text import key_path
from utils.contracts import WH, Generation, Message, Prepared, Sizes, UserFunctionError
from utils.errors import StopRun
from utils.functions.calling import call_user_function, one_at_a_time, private_copy
from utils.functions.fingerprints import code_digest, digest
from utils.images import read_header
from utils.import_utils import no_collecting

if TYPE_CHECKING:
    from utils.config.schema import Api, Vllm

DEFAULT_TIMEOUT_S = 600.0
CONNECTING = "the environment's ALL_PROXY, HTTP_PROXY, HTTPS_PROXY, SSL_CERT_FILE or SSL_CERT_DIR"
# Of generate_cfg: they say how to send a request, not what it asks.
TRANSPORT_PARAMETERS = frozenset({"timeout", "extra_headers", "extra_query", "extra_body"})


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """What goes over the wire: the body with pictures still in their slots, and the envelope."""

    body: Mapping[str, Any]
    urls: Sequence[Any]  # of its pictures: slots, or what a user's function put there
    headers: Mapping[str, str]
    query: Mapping[str, Any]
    timeout_s: float


def default_preprocess_function(
    message: list[Message], model: None, processor: None, **kwargs: Any
) -> list[dict[str, Any]]:
    """Messages → chat messages with base64 pictures, for users who want to start from them."""
    chat = chat_messages(message, PictureStyle.from_kwargs(kwargs))
    decoded: list[dict[str, Any]] = json.loads(encode_body({"messages": chat}))["messages"]
    return decoded


def default_postprocess_function(response: str, model: None, processor: None, **kwargs: Any) -> str:
    """The reply as it came."""
    return response


class APIModelWrapper(WrapperDefaults):
    """Asks an OpenAI-style server; knows nothing of benchmarks but the name in `kwargs`.

    `entry` is a model entry of a config; `connections`: how many requests may be in flight;
    `address`: where it is asked, None: at the entry's `model_path`; `proxies`: whether those that
    the environment names are used.
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
        proxies: bool = True,
    ) -> None:
        self.name, self.entry = name, entry
        self._endpoint = parse_endpoint(address or entry.model_path)
        self._body = {"model": self._endpoint.model, **_body_part(entry.generate_cfg)}
        self._style = PictureStyle.from_kwargs(entry.kwargs)
        self._connections, self._proxies = connections, proxies
        lock = threading.Lock()  # one for both functions: they may share globals
        self._user_preprocess = preprocess_function
        self._preprocess = preprocess_function and one_at_a_time(
            preprocess_function, lock, copy_result=True
        )
        self._postprocess = postprocess_function and one_at_a_time(postprocess_function, lock)
        self._client: Any = None
        self._client_lock = threading.Lock()

    def move_to(self, address: str) -> None:
        """Another address of the same model, before the first request is sent."""
        self._endpoint = parse_endpoint(address)

    def warm_up(self) -> None:
        """Imports the client library, which takes longer than all else before the first request."""
        self._connected()

    def settings_digest(self) -> str:
        """Hash of where requests go, their parameters, and what makes them of messages."""
        asked = self._asked(taken_apart(self._body, []), _envelope(self.entry.generate_cfg))
        kwargs = {k: v for k, v in self.entry.kwargs.items() if k != "timeout_s"}
        own = [code_digest(self._user_preprocess), kwargs] if self._user_preprocess else None
        return digest([*asked, asdict(self._style), own])

    def request(
        self, messages: list[Message], dataset: str, *, is_custom_prompt: bool = False
    ) -> Prepared:
        """Builds the request and its fingerprint.

        Raises:
            UserFunctionError: the user's preprocess function raised or returned no payload.
            UserError: a picture cannot be read.
        """
        payload = self._payload(messages, dataset, is_custom_prompt)
        parameters = {**self.entry.generate_cfg, **payload}
        body, (headers, query) = {**self._body, **_body_part(payload)}, _envelope(parameters)
        pictures: list[Any] = []
        said = taken_apart(body, pictures)
        words, sent = said.pop("messages"), taken_apart(pictures, [])
        asked = self._asked(said, [headers, query])
        urls = [each.get("url") if isinstance(each, Mapping) else each for each in pictures]
        files = [
            each.source if isinstance(each, PictureSlot) else sent[number]
            for number, each in enumerate(urls)
        ]
        # How pictures are sent is a setting; whether that changes one is seen in `sent`.
        style = asdict(self._style) if files != sent else None
        parts = {
            "prompt": digest(words),
            "picture": digest(files),
            "settings": digest([*asked, style]),
        }
        images = [message["value"] for message in messages if message["type"] == "image"]
        timeout_s = parameters.get("timeout") or self.entry.kwargs.get(
            "timeout_s", DEFAULT_TIMEOUT_S
        )
        return Prepared(
            dataset,
            fingerprint=digest([asked, words, sent]),
            parts=parts,
            payload=ApiRequest(body, urls, headers, query, float(timeout_s)),
            image_sizes=[Sizes(file_wh=_file_wh(image)) for image in images],
            prompt=shown_messages(body["messages"]),
        )

    @cached_property
    def identity(self) -> str | list[str]:
        """What stands for the model in fingerprints: a name of its weights, or an address."""
        return self.entry.model_identity or [_address(self._endpoint.base_url)]

    def _asked(self, said: Mapping[str, Any], envelope: Sequence[Mapping[str, Any]]) -> list[Any]:
        """What is asked for and of whom, apart from the messages; nothing of who is asking."""
        if isinstance(self.identity, str):  # the same weights under another name
            said = {key: value for key, value in said.items() if key != "model"}
        keyless = [
            {name.lower(): value for name, value in each.items() if not is_secret_name(name)}
            for each in envelope
        ]
        return [self.identity, said, *keyless]

    def _payload(
        self, messages: list[Message], dataset: str, is_custom_prompt: bool
    ) -> dict[str, Any]:
        if self._preprocess is None:
            chat = chat_messages(messages, self._style, is_custom_prompt=is_custom_prompt)
            return {"messages": chat}
        kwargs = {**private_copy(self.entry.kwargs), "dataset_name": dataset}
        payload = call_user_function(
            "preprocess", self._preprocess, private_copy(messages), None, None, **kwargs
        )
        payload = {"messages": payload} if isinstance(payload, list) else payload
        if problem := _problem_of(payload):
            raise UserFunctionError("preprocess", f"returned {problem}", f"returned {problem}")
        return dict(payload)

    def wire_size(self, prepared: Prepared) -> int:
        """Bytes of the request body."""
        return len(encode_body(prepared.payload.body))

    def generate(self, prepared: Prepared) -> Generation:
        """Sends the request once.

        Raises:
            CallError: no usable answer; says what kind of failure it was.
            UserError: a picture cannot be sent as the settings ask.
        """
        import httpx2

        request: ApiRequest = prepared.payload
        options = {
            "headers": {"content-type": "application/json", **request.headers},
            "params": dict(request.query),
            "timeout": request.timeout_s,
        }
        body = encode_body(request.body)
        image_sizes = prepared.image_sizes or [Sizes()] * len(request.urls)
        sent = aligned([sent_wh(url) for url in request.urls], len(image_sizes))
        client, began_s = self._connected(), time.monotonic()
        try:
            with deadline(request.timeout_s):
                response = client.post(
                    "/chat/completions", content=body, cast_to=httpx2.Response, options=options
                )
        except Exception as error:
            key_place = place_of_key(self._endpoint, os.environ)
            raise as_call_error(error, time.monotonic() - began_s, key_place) from error
        image_sizes = [
            replace(sizes, sent_wh=wh) for sizes, wh in zip(image_sizes, sent, strict=True)
        ]
        return read_reply(response.content, image_sizes)

    def _connected(self) -> Any:
        """The one pooled client, made when the first request is due."""
        with self._client_lock:
            if self._client is None:
                with no_collecting():
                    import httpx2
                    import openai

                most = self._connections + 8
                try:
                    http_client = openai.DefaultHttpxClient(
                        limits=httpx2.Limits(max_connections=most, max_keepalive_connections=most),
                        trust_env=self._proxies,
                        follow_redirects=False,  # they would take key and image elsewhere
                        event_hooks={"response": [keep_small]},
                    )
                except (ImportError, OSError, ValueError, httpx2.InvalidURL) as error:
                    # Of a broken URL no part is told: it may be that of a password.
                    why = "" if isinstance(error, httpx2.InvalidURL) else f": {error}"
                    raise StopRun(f"no connection can be set up with {CONNECTING}{why}") from None
                keep_deadlines(http_client)
                client = openai.OpenAI(
                    base_url=self._endpoint.base_url,
                    api_key=resolve_api_key(self._endpoint, os.environ),
                    max_retries=0,  # the engine decides about retries, with the whole run in view
                    http_client=http_client,
                )
                if self._endpoint.host != OPENAI_HOST:
                    # The environment's (OPENAI_ORG_ID, ...) are meant for OpenAI alone.
                    client.organization = client.project = None
                    client._custom_headers = {}  # OPENAI_CUSTOM_HEADERS, which may hold a key
                self._client = client
            return self._client

    def close(self) -> None:
        """Lets go of the client; whoever still asks with it keeps it until then.

        Closing its sockets under a thread that waits on one would give the number of the socket to
        the next file that is opened, and the thread would wait on that.
        """
        with self._client_lock:
            self._client = None


def _file_wh(image: str) -> WH | None:
    """Return the size of an image file; None for what only a user's function reads, as a URL."""
    try:
        return read_header(Path(image)).wh
    except (OSError, ValueError):
        return None


def _body_part(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """What of the parameters stands in the request's body, on top of it what `extra_body` has."""
    plain = {k: v for k, v in parameters.items() if k not in TRANSPORT_PARAMETERS}
    return {**plain, **(parameters.get("extra_body") or {})}


def _envelope(parameters: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Headers and query."""
    return [dict(parameters.get(name) or {}) for name in ("extra_headers", "extra_query")]


def _problem_of(payload: Any) -> str | None:
    """Why a preprocess function's payload cannot be sent."""
    made = payload.get("messages") if isinstance(payload, dict) else None
    if (
        not made
        or not isinstance(made, list)
        or not all(isinstance(message, Mapping) and "role" in message for message in made)
    ):
        expected = 'a list of chat messages ({"role", "content"}), or a dict with "messages"'
        return f"{payload!r:.200}; expected {expected}"
    try:
        json.dumps(payload, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        return f"a payload that is not JSON: {error}"
    return next(
        (
            f"a payload whose {key_path(*place)} {problem}"
            for place, problem in envelope_findings(payload)
        ),
        None,
    )


def _address(base_url: str) -> str:
    """Where requests go, whoever sends them: without user and password, `/v1/` is `/v1`."""
    url = urlsplit(base_url.rstrip("/"))
    return url._replace(netloc=url.netloc.rpartition("@")[2].lower()).geturl()
