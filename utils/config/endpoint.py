"""The `model_path` of an API model: `base_url?api_key=...&model=...`.

Requests go to the base URL without the query. No message of this module quotes the query: it may
hold a key.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import SplitResult, parse_qsl, urlsplit

from utils.errors import UserError, did_you_mean, nearest

PLACEHOLDER_KEY = "api_key_placeholder"
"""Sent where no key is given: local servers want some key, whatever it is."""

DEFAULT_MODEL = "gpt-4o"
OPENAI_HOST = "api.openai.com"
_FORM = "base_url?api_key=...&model=..."
_KNOWN_KEYS = ("api_key", "model")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where requests go and under which names.

    Attributes:
        base_url: everything before the `?`, as it was written.
        api_key: the key of the query, or `PLACEHOLDER_KEY`; see `resolve_api_key`.
        model: the model name sent in each request.
        warnings: what was odd but not wrong.
    """

    base_url: str
    api_key: str = field(repr=False)
    model: str
    warnings: tuple[str, ...] = ()

    @property
    def host(self) -> str:
        """The host name in lower case."""
        return (urlsplit(self.base_url).hostname or "").rstrip(".")


def is_url(model_path: object) -> bool:
    """Whether a `model_path` names a server rather than a checkpoint or a class."""
    return isinstance(model_path, str) and model_path.lower().startswith(("http://", "https://"))


_NEARLY_URL = re.compile(
    r"h?t+ps?[:;]?/{1,2}|[\w.-]{2,}:\d+(/|\?|$)|[^?]+\?(.*&)?(api_key|model)=", re.IGNORECASE
)


def is_nearly_url(model_path: object) -> bool:
    """Whether a `model_path` that is no URL was evidently meant as one: `127.0.0.1:8000/v1`."""
    is_text = isinstance(model_path, str) and not is_url(model_path)
    return is_text and _NEARLY_URL.match(str(model_path)) is not None


def parse_endpoint(model_path: str) -> Endpoint:
    """Takes the endpoint text of a config apart.

    Raises:
        UserError: it is no URL, or its query was evidently meant otherwise.
    """
    if not is_url(model_path):
        raise UserError(f"must begin with http:// or https:// ({_FORM})")
    if re.search(r"[\s\x00-\x1f\x7f]", model_path):
        raise UserError("contains white space; write a blank as %20")
    if "#" in model_path:
        raise UserError('contains "#", which cuts a URL off; write it as %23')
    base_url, _, query = model_path.partition("?")
    _check_base(base_url)
    # parity: the first of several equal keys counts, "+" is a blank, only "&" separates
    given: dict[str, str] = {}
    warnings = []
    for name, value in parse_qsl(query):
        if name in given:
            if name in _KNOWN_KEYS:
                warnings.append(f'"{name}" is given twice; the first one counts')
            continue
        given[name] = value
        if name not in _KNOWN_KEYS:
            hint = did_you_mean(name, _KNOWN_KEYS) or "; known are api_key and model"
            warnings.append(f'"{_shortened(name)}" in the query is ignored{hint}')
    if "model" not in given:
        _check_run_together(query)
        warnings.append(
            f"names no model; {DEFAULT_MODEL} is asked for (add model=... to the query)"
        )
    elif re.search(r";\s*\w+=", given["model"]):
        warnings.append('";" does not separate parameters, it is part of the model name; write "&"')
    if base_url.rstrip("/").endswith("/chat/completions"):
        warnings.append("ends in /chat/completions, which is added to the base URL by itself")
    return Endpoint(
        base_url,
        given.get("api_key", PLACEHOLDER_KEY),
        given.get("model", DEFAULT_MODEL),
        tuple(warnings),
    )


def resolve_api_key(endpoint: Endpoint, environ: Mapping[str, str]) -> str:
    """The key to send.

    The endpoint's own; else the environment's, but only to OpenAI itself; else a placeholder.
    """
    if endpoint.api_key != PLACEHOLDER_KEY:
        return endpoint.api_key
    if endpoint.host == OPENAI_HOST:
        return environ.get("OPENAI_API_KEY", "").strip() or PLACEHOLDER_KEY
    return PLACEHOLDER_KEY


def _check_base(base_url: str) -> None:
    try:
        parts = urlsplit(base_url)
        port = parts.port
    except ValueError as error:
        wrong = "port" if "port" in str(error).lower() else "host"
        expected = " (a number from 1 to 65535)" if wrong == "port" else ""
        raise UserError(f"is not a valid URL: its {wrong} is malformed{expected}") from None
    if port == 0:
        raise UserError("is not a valid URL: its port is malformed (a number from 1 to 65535)")
    if not parts.hostname:
        raise UserError("is not a valid URL: it names no host (http://host:port/v1)")
    if not _is_host(parts):
        raise UserError("is not a valid URL: its host is malformed")


def _is_host(parts: SplitResult) -> bool:
    """Strict about signs that URL libraries read differently: a key must not reach another host."""
    host = (parts.hostname or "").removesuffix(".")
    if re.search(r"[\\\"<>^`{|}%,;!$&'()*+=~]", host) or "\\" in parts.netloc:
        return False
    if "[" in parts.netloc:
        return True  # an IPv6 address; urlsplit has checked it
    if re.fullmatch(r"[\d.]+", host):
        try:
            ipaddress.IPv4Address(host)
        except ValueError:
            return False
    return all(host.split("."))


def _check_run_together(query: str) -> None:
    """`?api_key=your-api-key=gpt-4o`, as the documentation once had it: "&model" was forgotten."""
    for pair in query.split("&"):
        name, _, value = pair.partition("=")
        # "=" at the end of a key is base64 padding; text after it is another value.
        if name == "api_key" and re.search(r"=[^=]", value):
            raise UserError(
                'has a second "=" inside api_key and no model; the form is '
                f'{_FORM}, so "&model" is missing before that "=" '
                '(if the "=" belongs to the key, write it as %3D)'
            )


def _shortened(name: str) -> str:
    """Names of parameters are quoted, but a key put in the place of a name is not."""
    return name if nearest(name, _KNOWN_KEYS) or len(name) <= 16 else f"{name[:4]}..."
