"""A look at a server before it is used: is it there, what does it serve, and how does it read.

Two short requests tell how many tokens a text and a fixed image come to: servers with
other limits of the image's size, or another template, count otherwise.
"""

from __future__ import annotations

import functools
import io
import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

import pybase64

from models.wrappers.api.bodies import load_json
from models.wrappers.api.replies import token_counts
from models.wrappers.api.server import ApiServer
from utils.contracts import CallError
from utils.text import listed

LOOK_TIMEOUT_S = 5.0
PROBE_TIMEOUT_S = 120.0
PROBE_WH = (1920, 1080)  # above the limits that servers are usually given
NO_SUCH_PATH = {404, 405, 501}
NO_SUCH_REQUEST = {400, 413, 415, 422}
_VERSIONS = (  # path, the field, and whose server has it
    ("/version", "version", "vLLM"),
    ("/server_info", "version", "SGLang"),
    ("/get_server_info", "version", "SGLang"),  # of older ones
    ("/props", "build_info", "llama.cpp"),
)
WORDS = {
    "model": "model",
    "root": "root",
    "max_model_len": "max_model_len",
    "version": "version",
    "prompt_tokens": "prompt tokens of a test with an image",
    "picture_tokens": "tokens of the test image",
}
OF_LISTING = ("root", "max_model_len")
Facts = dict[str, str | int]


class OtherModel(Exception):
    """The server does not serve the model that is asked for."""


def look_at(server: ApiServer, envelope: Mapping[str, Any]) -> Facts:
    """The facts that a server tells about its model, by the keys of `WORDS`.

    Args:
        server: the server.
        envelope: headers and query of requests.

    Raises:
        CallError: the server cannot be reached, or refuses all requests.
        OtherModel: the server has another model.
    """
    options = {**envelope, "timeout": LOOK_TIMEOUT_S}
    with suppress(_Unknown):
        _get(server, _at_root(server, "/health"), options)
    facts = _model_facts(server, options)
    for path, field, kind in _VERSIONS:
        with suppress(_Unknown):
            version = _json(_get(server, _at_root(server, path), options)).get(field)
            if isinstance(version, str | int):
                facts["version"] = f"{kind} {version}"
                break
    return facts | _token_facts(server, {**envelope, "timeout": PROBE_TIMEOUT_S})


def version_of(server: ApiServer, envelope: Mapping[str, Any]) -> Facts:
    """The version of a server that is the only one, by a single GET; nothing where it is not told.

    It is vLLM's path alone: asking for those of others, too, would be a request more for each.

    Args:
        server: the server.
        envelope: headers and query of requests.
    """
    path, field, kind = _VERSIONS[0]
    options = {**envelope, "timeout": LOOK_TIMEOUT_S}
    with suppress(CallError, _Unknown):
        version = _json(_get(server, _at_root(server, path), options)).get(field)
        if isinstance(version, str):
            return {"version": f"{kind} {version}"}
    return {}


class _Unknown(Exception):
    """The server has no such path."""


def _at_root(server: ApiServer, path: str) -> str:
    """The URL of what servers have beside the API, which lies below `/v1`."""
    url = urlsplit(server.endpoint.base_url.rstrip("/").removesuffix("/v1"))
    return url._replace(path=f"{url.path}{path}").geturl()


def _get(server: ApiServer, path: str, options: Mapping[str, Any]) -> bytes:
    try:
        return server.connection.request("get", path, options)
    except CallError as error:
        if error.status_code is not None and error.status_code < 500:
            raise _Unknown from error
        raise


def _json(body: bytes) -> Mapping[str, Any]:
    """The object in a body; an empty one where there is none."""
    with suppress(ValueError, RecursionError):
        content = load_json(body)
        if isinstance(content, Mapping):
            return content
    return {}


def _model_facts(server: ApiServer, options: Mapping[str, Any]) -> Facts:
    """The facts that the server lists about its model; empty if it lists no models."""
    try:
        listing = _json(server.connection.request("get", "/models", options)).get("data")
    except CallError as error:
        if error.status_code in NO_SUCH_PATH:
            return {}
        raise
    models = [model for model in listing or () if isinstance(model, Mapping) and "id" in model]
    requested = server.endpoint.model
    for model in models:
        if model["id"] == requested:
            facts = {
                "model": requested,
                **{name: model.get(name) for name in WORDS if name in model},
            }
            return {name: value for name, value in facts.items() if isinstance(value, str | int)}
    if models:
        names = listed([str(model["id"]) for model in models])
        raise OtherModel(f'serves {names}, not "{requested}"')
    return {}


def _token_facts(server: ApiServer, options: Mapping[str, Any]) -> Facts:
    """The token counts of a test request; empty if the server does not accept or count it."""
    text = "Answer with one word: what is this?"
    with_image = _prompt_tokens(server, text, _image_url(), options)
    if with_image is None:
        return {}
    facts: Facts = {"prompt_tokens": with_image}
    text_alone = _prompt_tokens(server, text, None, options)
    if text_alone is not None:
        facts["picture_tokens"] = with_image - text_alone
    return facts


def _prompt_tokens(
    server: ApiServer, text: str, image_url: str | None, options: Mapping[str, Any]
) -> int | None:
    path, request = "/chat/completions", _chat_request(text, image_url)
    if server.is_responses:
        path, request = "/responses", _responses_request(text, image_url)
    body = json.dumps({"model": server.endpoint.model, **request}).encode("ascii")
    try:
        reply = _json(server.connection.request("post", path, options, content=body))
    except CallError as error:
        if error.status_code in NO_SUCH_REQUEST or error.kind == "bad_body":
            return None
        raise
    return token_counts(reply.get("usage")).get("prompt_tokens")


def _chat_request(text: str, image_url: str | None) -> dict[str, Any]:
    content: list[dict[str, Any]] = [{"type": "text", "text": text}]
    if image_url is not None:
        content.insert(0, {"type": "image_url", "image_url": {"url": image_url}})
    messages = [{"role": "user", "content": content}]
    return {"messages": messages, "max_tokens": 1, "temperature": 0}


def _responses_request(text: str, image_url: str | None) -> dict[str, Any]:
    content = [{"type": "input_text", "text": text}]
    if image_url is not None:
        content.insert(0, {"type": "input_image", "image_url": image_url})
    # OpenAI takes no smaller limit.
    return {"input": [{"role": "user", "content": content}], "max_output_tokens": 16}


@functools.cache
def _image_url() -> str:
    from PIL import Image

    png = io.BytesIO()
    Image.new("RGB", PROBE_WH, "white").save(png, "PNG")
    return f"data:image/png;base64,{pybase64.b64encode(png.getvalue()).decode('ascii')}"


def differences(facts: Mapping[str, Any], others: Mapping[str, Any]) -> list[str]:
    """The differences between two servers in words; facts that only one tells are left out."""
    return [
        f"{words} {facts[name]}, not {others[name]}"
        for name, words in WORDS.items()
        if name in facts and name in others and facts[name] != others[name]
    ]
