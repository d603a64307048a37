"""Hints on a failed request, if its settings show a possible cause."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from typing import Any

from utils.config.endpoint import AZURE_HOSTS, Endpoint
from utils.config.proxies import Proxy
from utils.contracts import CallError

# A proxy may have said so itself.
_STATUS_OF_PROXIES = {403, 407, 502, 503, 504}
_KINDS_OF_PROXIES = {
    "refused_connection",
    "dns",
    "unreachable",
    "connection",
    "scheme",
    "certificate",
}
_NO_SYSTEM_ROLE = re.compile(
    r"system.{0,30}(not|un)[ -]?(be )?(supported|allowed)|not support.{0,30}system"
    r"|roles must alternate|only.{0,20}user and assistant roles",
    re.IGNORECASE,
)

_STREAMS_ONLY = re.compile(
    r"only.{0,30}stream|stream(ing)?\W.{0,20}(is |be )?(required|enabled|set to true|true\b)"
    r"|must be streamed|enable.{0,20}stream",
    re.IGNORECASE,
)
_STATUS_OF_IMPATIENT_GATEWAYS = {504, 524}


def add_proxy_hint(error: CallError, proxy: Proxy, host: str) -> None:
    """Say of an error that the request went through a proxy, which may be what failed."""
    if error.status_code not in _STATUS_OF_PROXIES and error.kind not in _KINDS_OF_PROXIES:
        return
    _add(
        error,
        f"through the proxy {proxy.address} of {proxy.origin}; NO_PROXY={host} goes round it",
    )
    advice = f"If the server needs no proxy, set NO_PROXY={host}."
    if error.status_code == 407:
        user = "http://user:password@host:port"
        error.advice = f"The proxy wants a user and a password: {user} in {proxy.origin}. {advice}"
    elif error.status_code == 403:
        error.advice = f"The key may not use this model, or the proxy refuses it. {advice}"
    elif error.status_code is None:
        error.advice = f"Is the proxy running, and does it reach the server? {advice}"


def add_request_hints(
    error: CallError, endpoint: Endpoint, body: Mapping[str, Any], options: Mapping[str, Any]
) -> None:
    """Say which setting may cure an error: one that a request with other settings would not meet.

    Args:
        error: of a request.
        endpoint: that it went to.
        body: of the request.
        options: its headers and query.
    """
    beginning = str(error)[:2000]
    is_refused = error.status_code in (400, 422, 500)
    if is_refused and _NO_SYSTEM_ROLE.search(beginning):
        roles = [message.get("role") for message in body.get("messages") or ()]
        if "system" in roles:
            _add(error, 'kwargs.system_prompt: "model_default" leaves the system message out')
        elif any(role == following for role, following in itertools.pairwise(roles)):
            _add(error, 'kwargs.wire_format: "documented" joins the messages of one role')
    if not body.get("stream"):
        if is_refused and _STREAMS_ONLY.search(beginning):
            _add(error, "generate_cfg.stream: true asks for a stream")
        if error.status_code in _STATUS_OF_IMPATIENT_GATEWAYS:
            _add(
                error,
                "generate_cfg.stream: true helps if a gateway has a short time limit",
            )
    if endpoint.host.endswith(AZURE_HOSTS):
        _add_azure_hint(error, options)


def _add_azure_hint(error: CallError, options: Mapping[str, Any]) -> None:
    headers = {name.lower() for name in options["headers"]}
    if error.status_code == 401 and "api-key" not in headers:
        _add(error, 'Azure takes keys as generate_cfg.extra_headers: {"api-key": "${NAME}"}')
    if error.status_code == 404 and "api-version" not in options["params"]:
        _add(error, 'Azure wants generate_cfg.extra_query: {"api-version": "..."}')


def _add(error: CallError, hint: str) -> None:
    """Put a hint in front of what the server said, of which only the beginning is told."""
    head, colon, rest = error.message.partition(": ")  # addresses have colons, too
    if error.status_code is not None and colon:
        error.message = f"{head} ({hint}): {rest}"
    else:
        error.message = f"{error.message} ({hint})"
