"""The proxy that the environment sets for requests, and what is wrong with such settings.

Their user and password are never told.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import getproxies

SCHEMES = ("http", "https", "socks5", "socks5h")
_KINDS = ("http", "https", "all")  # the first that fits a URL counts


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy, and where it is set."""

    address: str  # without user and password
    origin: str  # name of the variable


def proxy_for(url: str) -> Proxy | None:
    """Return the proxy that is set for a URL's scheme; NO_PROXY may still lead round it."""
    scheme = urlsplit(url).scheme
    settings = dict(_settings())
    for kind in (scheme, "all"):
        if kind in settings:
            parts = urlsplit(settings[kind])
            netloc = parts.netloc.rpartition("@")[2]
            return Proxy(f"{parts.scheme}://{netloc}", _origin_of(kind))
    return None


def connection_problems() -> Iterator[str]:
    """Yield what in the environment stands in the way of any connection."""
    for kind, address in _settings():
        problem = _problem_of(address)
        if problem:
            yield f"{_origin_of(kind)} {problem}"
    certificates = os.environ.get("SSL_CERT_FILE")
    if certificates and not Path(certificates).is_file():
        yield f"SSL_CERT_FILE: there is no such file: {certificates}"


def _settings() -> Iterator[tuple[str, str]]:
    """Yield kind and address of the proxies that are set; http:// may be left out of one."""
    settings = getproxies()
    if "*" in [entry.strip() for entry in settings.get("no", "").split(",")]:
        return
    for kind in _KINDS:
        address = settings.get(kind)
        if address:
            yield kind, address if "://" in address else f"http://{address}"


def _problem_of(address: str) -> str | None:
    try:
        parts = urlsplit(address)
        is_whole = bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_whole = False
    if not is_whole:  # no part of it is told: it may be that of a password
        return "is no valid address of a proxy; write http://host:port (%2F for a / in a password)"
    if parts.scheme not in SCHEMES:
        kinds = ", ".join(f"{scheme}://" for scheme in SCHEMES)
        advice = "write socks5://" if parts.scheme == "socks" else f"known are {kinds}"
        return f"begins with {parts.scheme}://, which is no kind of proxy that is known; {advice}"
    if parts.scheme.startswith("socks") and find_spec("socksio") is None:
        return f"is a {parts.scheme}:// proxy, which needs the package socksio: pip install socksio"
    return None


def _origin_of(kind: str) -> str:
    """Return the name of the variable that sets a kind of proxy; the lower-case one counts."""
    names = (f"{kind}_proxy", f"{kind}_proxy".upper())
    return next((name for name in names if os.environ.get(name)), "the system's settings")
