"""The `model_path` of an API model: `base_url?api_key=...&model=...`.

Requests go to the base URL without the query. No message of this module quotes the query: it may
hold a key.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlsplit

from utils.errors import UserError
from utils.geometry.images import is_url
from utils.text import did_you_mean

PLACEHOLDER_KEY = "api_key_placeholder"  # sent where no key is given: local servers want some
DEFAULT_MODEL = "gpt-4o"
OPENAI_HOST = "api.openai.com"
AZURE_HOSTS = (".azure.com", ".azure.us", ".azure.cn", ".azure-api.net")
ADDRESS_NOT_SET = "http://not-set"  # where scoring alone meets a variable that is not set
_FORM = "base_url?api_key=...&model=..."
_KNOWN = ("api_key", "model")
_ADDED = "/chat/completions"
# Other paths of servers, which are no base URLs; below Azure's /models there is one.
_ENDPOINTS = re.compile(
    r"/(completions|responses|embeddings|messages|api/(chat|generate))$"
    r"|((?<=/openai)|(?<=/v1beta)|(?<=/v\d))/models$"
)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The address, API key and model name of requests."""

    base_url: str  # as it was written, without `/chat/completions`
    api_key: str = field(repr=False)  # of the query, or `PLACEHOLDER_KEY`; see `resolve_api_key`
    model: str
    warnings: tuple[str, ...] = ()  # what was odd but not wrong
    problem: str | None = None  # what is missing for a run

    @property
    def host(self) -> str:
        """The host name in lower case."""
        return (urlsplit(self.base_url).hostname or "").rstrip(".")

    @property
    def place(self) -> str:
        """The host with its port, in lower case: `n3:8001`."""
        return urlsplit(self.base_url).netloc.rpartition("@")[2].lower()


def lacks_scheme(model_path: object) -> bool:
    """Whether a path is an endpoint without its http://: it has a port, or an endpoint's query."""
    return (
        isinstance(model_path, str)
        and re.match(r"[\w.-]+:\d+(/|$)|.*\?(.*&)?(model|api_key)=", model_path) is not None
    )


def begins_unset(model_path: object, environ: Mapping[str, str]) -> str | None:
    """The name of the variable that a path begins with, if it is not set."""
    name = re.match(r"\$\{([A-Za-z_]\w*)\}", model_path) if isinstance(model_path, str) else None
    return name[1] if name is not None and not environ.get(name[1]) else None


def with_stand_in(model_path: str) -> str:
    """An endpoint that begins with `${NAME}`, with an address that no server has in its place."""
    address = ADDRESS_NOT_SET + model_path.partition("}")[2]
    return address if "?" in address else f"{address}?model=not-set"


def parse_endpoint(model_path: str) -> Endpoint:
    """Take an endpoint apart; UserError: it is no URL, or its query was meant otherwise."""
    base_url, _, query = model_path.partition("?")
    _check(model_path, base_url)
    _check_ending(base_url)
    parameters: dict[str, str] = {}
    warnings: list[str] = []
    # parity: the first of several equal keys counts, "+" is a blank, only "&" separates
    for name, value in parse_qsl(query):
        if name not in _KNOWN:
            warnings.append(_ignored(name))
        elif not value.isprintable() or (name == "api_key" and not value.isascii()):
            what = "holds a character that cannot be sent (a line break?); was it read from a file?"
            raise UserError(f"its {name} {what}")
        elif value != value.strip():
            what = 'begins or ends with a space ("+" stands for one, %2B for itself)'
            raise UserError(f"its {name} {what}")
        parameters.setdefault(name, value)
    # "=" at the end of a key is base64 padding; text after it is another value, as in
    # "?api_key=your-api-key=gpt-4o", a typing error that the documentation once had.
    if "model" not in parameters and re.search(r"(?:^|&)api_key=[^&]*=[^=&]", query):
        what = 'has a second "=" inside api_key and no model; "&model" is missing before that "="'
        raise UserError(f"{what} (if it belongs to the key, write it as %3D)")
    if base_url.rstrip("/").endswith(_ADDED):
        base_url = base_url.rstrip("/").removesuffix(_ADDED)
        warnings.append(f"{_ADDED} at the end of the URL is left out: it is added automatically")
    problem = None if "model" in parameters else "names no model; add model=... to the query"
    if problem and urlsplit(base_url).hostname == OPENAI_HOST:
        warnings.append(f"{problem}; {DEFAULT_MODEL} is used instead")
        problem = None
    key = parameters.get("api_key", PLACEHOLDER_KEY)
    return Endpoint(base_url, key, parameters.get("model", DEFAULT_MODEL), tuple(warnings), problem)


def _ignored(name: str) -> str:
    """Return the warning about a name in the query that is not sent."""
    label = name if len(name) <= 16 else f"{name[:4]}..."  # it may be a key
    text = f'"{label}" in the query is ignored'
    suggestion = did_you_mean(name, _KNOWN)
    if suggestion:
        return text + suggestion
    if name.lower() == "api-version":
        return (
            f'{text}; set generate_cfg.extra_query: {{"{label}": "..."}} to send it (Azure takes '
            'keys as generate_cfg.extra_headers: {"api-key": "${NAME}"})'
        )
    return f"{text}; known are api_key and model. generate_cfg.extra_query sends others"


def resolve_api_key(endpoint: Endpoint, environ: Mapping[str, str]) -> str:
    """Return the endpoint's key, else the environment's (to OpenAI alone), else a placeholder."""
    if endpoint.api_key == PLACEHOLDER_KEY and endpoint.host == OPENAI_HOST:
        return environ.get("OPENAI_API_KEY", "").strip() or PLACEHOLDER_KEY
    return endpoint.api_key


def place_of_key(endpoint: Endpoint, environ: Mapping[str, str]) -> str:
    """Describe the source of the key in use; without a key, the way to give one."""
    key = resolve_api_key(endpoint, environ)
    if key == PLACEHOLDER_KEY:
        return (
            "no API key was given; write it into model_path as ?api_key=${NAME}&model=... and set "
            "NAME in the environment or in .env"
        )
    variables = [f"${name}" for name, value in environ.items() if value.strip() == key]
    origin = f", the value of {' and '.join(variables)} (environment or .env)" if variables else ""
    is_in_path = endpoint.api_key != PLACEHOLDER_KEY
    return f"the key is {'api_key in model_path' if is_in_path else 'not in model_path'}{origin}"


def _check(model_path: str, base_url: str) -> None:
    """Raise a UserError for what is no URL that can be asked."""
    host, is_odd = "", True
    with suppress(ValueError):
        parts = urlsplit(base_url)
        host = parts.hostname or ""
        name = host.encode("idna")  # in which "…" is three dots
        # URL libraries read a backslash differently: a key must not reach another host.
        is_odd = parts.port == 0 or "\\" in parts.netloc or b".." in name
    for is_wrong, what in (
        (not is_url(model_path), f"must begin with http:// or https:// ({_FORM})"),
        (re.search(r"[\s\x00-\x1f\x7f]", model_path), "contains white space; write a space as %20"),
        ("#" in model_path, 'contains "#", which cuts a URL off; write it as %23'),
        (is_odd, "is not a valid URL: its host or port is malformed"),
        (not host, "is not a valid URL: it names no host (http://host:port/v1)"),
    ):
        if is_wrong:
            raise UserError(what)


def _check_ending(base_url: str) -> None:
    """Raise a UserError for the address of something that a server offers, which is no base URL."""
    url = base_url.rstrip("/")
    path = _ENDPOINTS.search(url)
    if path is None or url.endswith(_ADDED):
        return
    what = f"ends in {path[0]}, which is no base URL: leave it out (http://host:port/v1)"
    if path[0] == "/responses":
        what += '; "api": "responses" in the model\'s entry sends requests there'
    elif path[0].startswith("/api/"):
        what += "; Ollama's ends in /v1"
    raise UserError(what)
