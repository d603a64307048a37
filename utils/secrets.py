"""One filter for everything that leaves the program: records, files, prints, tracebacks.

A secret is looked for in every form in which servers, URL libraries and Python quote it back.
"""

from __future__ import annotations

import base64
import html
import json
import re
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Any, TextIO
from urllib.parse import quote, quote_plus, unquote, unquote_plus, urlsplit

from utils.config_text import names_in, substitute
from utils.endpoint import PLACEHOLDER_KEY

MASK = "[secret]"
SHORTEST = 4
"""Shorter texts occur in every reply; hiding them would spoil answers and hide nothing."""

_NO_SECRETS = {
    PLACEHOLDER_KEY,  # and what servers without keys tell their users to send
    "empty", "none", "null", "dummy", "ollama", "lm-studio", "no-key", "not-needed",
    "sk-no-key-required",
}  # fmt: skip
_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD", re.IGNORECASE)
_SECRET_VARIABLES = {
    "OPENAI_API_KEY",
    "HF_TOKEN",
    "HUGGING_FACE_HUB_TOKEN",
    "ANTHROPIC_API_KEY",
}
_SECRET_SUFFIX = re.compile(r"_(API_KEY|TOKEN|SECRET)\Z")
# Narrower than _SECRET_NAME: "eos_token" and the like hold texts that occur in replies.
_SECRET_CONFIG_KEY = re.compile(
    r"(api[-_]?key|password|secret|authorization|(access|auth)[-_]token)\"?\Z", re.IGNORECASE
)
_QUERY_SECRET = re.compile(r"[?&;][^=&;]*(?:key|token|secret|password)[^=&;]*=([^&#]+)", re.I)
_QUOTINGS = ("", "/", "!$'()*,/:;?@", "!$&'()*+,;=:/?@")  # what URL libraries leave as it is


class SecretFilter:
    """Replaces secrets by `[secret]`; usable from many threads once all secrets are added."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._forms: tuple[str, ...] = ()
        self._pattern: re.Pattern[str] | None = None
        for secret in secrets:
            self.add(secret)

    def add(self, secret: str) -> None:
        """Hides `secret` from now on; very short texts and well-known dummies are left alone."""
        found = set(self._forms)
        for plain in {secret, unquote(secret), unquote_plus(secret)}:
            if len(plain) >= SHORTEST and plain.lower() not in _NO_SECRETS and plain not in MASK:
                found |= _forms_of(plain)
        if found == set(self._forms):
            return
        # Longest first: a secret that begins like another must not leave its tail behind.
        self._forms = tuple(sorted(found, key=lambda form: (-len(form), form)))
        self._pattern = re.compile("|".join(map(_as_pattern, self._forms)))

    def clean(self, text: str) -> str:
        """The text without secrets."""
        # Most texts hold none, and a substring search is ten times faster than the pattern.
        if self._pattern is None or not any(form in text for form in self._forms):
            return text
        return self._pattern.sub(MASK, text)

    def clean_object(self, value: Any) -> Any:
        """The same for plain data: dicts (keys too), lists, tuples, texts; others stay."""
        if isinstance(value, str):
            return self.clean(value)
        if isinstance(value, bytes):
            return self.clean(value.decode("utf-8", "surrogateescape")).encode(
                "utf-8", "surrogateescape"
            )
        if isinstance(value, Mapping):
            return {self.clean_object(key): self.clean_object(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            items = [self.clean_object(item) for item in value]
            if isinstance(value, list):
                return items
            return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
        return value

    def install(self) -> Callable[[], None]:
        """Puts the filter before stdout, stderr and both exception hooks.

        Returns:
            A function that takes it off again.
        """
        before = (sys.stdout, sys.stderr, sys.excepthook, threading.excepthook)
        sys.stdout = self._wrapped(sys.stdout)
        sys.stderr = self._wrapped(sys.stderr)
        sys.excepthook = self._show_exception
        threading.excepthook = self._show_thread_exception

        def restore() -> None:
            sys.stdout, sys.stderr, sys.excepthook, threading.excepthook = before

        return restore

    def _wrapped(self, stream: TextIO) -> Any:
        if stream is None or (isinstance(stream, FilteredStream) and stream.filter is self):
            return stream
        return FilteredStream(stream, self)

    def _show_exception(
        self, kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        # In one piece: the interpreter's own hook writes a line in several.
        text = "".join(traceback.format_exception(kind, error, trace))
        if sys.stderr is not None:
            sys.stderr.write(self.clean(text))

    def _show_thread_exception(self, args: threading.ExceptHookArgs) -> None:
        if args.exc_type is SystemExit:  # as the interpreter does
            return
        name = args.thread.name if args.thread else "?"
        error = args.exc_value if args.exc_value is not None else args.exc_type()
        text = "".join(traceback.format_exception(args.exc_type, error, args.exc_traceback))
        if sys.stderr is not None:
            sys.stderr.write(self.clean(f"Exception in thread {name}:\n{text}"))


class FilteredStream:
    """A text stream whose writes pass the filter; everything else is the stream's own.

    A secret that is split over two writes is not found.
    """

    def __init__(self, stream: TextIO, secret_filter: SecretFilter) -> None:
        self._stream = stream
        self.filter = secret_filter

    def write(self, text: str) -> int:
        """Writes the cleaned text; returns the length of what it was given, as callers expect."""
        self._stream.write(self.filter.clean(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Writes each line cleaned."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def __iter__(self) -> Any:
        return iter(self._stream)

    def __enter__(self) -> FilteredStream:
        self._stream.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._stream.__exit__(*error)


def secrets_in(texts: Iterable[tuple[str, str]], environ: Mapping[str, str]) -> set[str]:
    """Every secret that a config and the environment bring along.

    Args:
        texts: key path and text of each string value of the config, `${NAME}` not yet replaced
            (`ConfigReading.texts`).
        environ: the environment, `.env` included.
    """
    found = {value for name, value in environ.items() if _is_secret_variable(name, value)}
    for place, text in texts:
        names = [name for name in names_in(text) if _SECRET_NAME.search(name)]
        found |= {environ[name] for name in names if environ.get(name)}
        replaced, _ = substitute(text, environ)
        if _SECRET_CONFIG_KEY.search(place):
            found |= {replaced, re.sub(r"^(Bearer|Basic)\s+", "", replaced)}
        found |= _url_secrets(replaced)  # a mistyped scheme hides no key either
    # An unset ${NAME} is no secret, and the message that reports it must stay readable.
    return {secret for secret in found if secret.strip() and not names_in(secret)}


def mask_endpoint(model_path: str) -> str:
    """An endpoint text with its keys and password masked, whatever they are."""
    masked = _QUERY_SECRET.sub(lambda m: m[0][: m.start(1) - m.start()] + MASK, model_path)
    return re.sub(r"(?<=//)([^/?@]*):[^/?@]*@", rf"\1:{MASK}@", masked)


def _is_secret_variable(name: str, value: str) -> bool:
    if name in _SECRET_VARIABLES:
        return bool(value)
    return bool(_SECRET_SUFFIX.search(name)) and len(value) >= 8


def _url_secrets(url: str) -> set[str]:
    found = set()
    for match in _QUERY_SECRET.finditer(url):
        # As written, decoded, and (for "a=b", a typing error) the part before the second "=".
        found |= {match[1], unquote_plus(match[1]), match[1].split("=")[0]}
    try:
        password = urlsplit(url).password
    except ValueError:  # not a URL; reported elsewhere
        password = None
    return found | ({password, unquote(password)} if password else set())


def _forms_of(secret: str) -> set[str]:
    """The secret as it may come back: raw, in URLs, in JSON, in repr(), in HTML, in base64."""
    forms = {secret, html.escape(secret), repr(secret)[1:-1], secret.strip()}
    for safe in _QUOTINGS:
        once = quote(secret, safe=safe, errors="surrogatepass")
        forms |= {once, _lower_hex(once), quote(once, safe="")}
    plus = quote_plus(secret, errors="surrogatepass")
    forms |= {plus, _lower_hex(plus)}
    for ascii_only in (True, False):
        once = json.dumps(secret, ensure_ascii=ascii_only)[1:-1]
        forms |= {once, once.replace("/", "\\/"), json.dumps(once)[1:-1]}
    for text in (secret, f":{secret}", f"{secret}:"):  # the others: HTTP basic authentication
        data = text.encode("utf-8", "surrogatepass")
        for encoded in (base64.b64encode(data), base64.urlsafe_b64encode(data)):
            forms |= {encoded.decode("ascii"), encoded.decode("ascii").rstrip("=")}
    return {form for form in forms if len(form) >= SHORTEST and form not in MASK}


def _lower_hex(quoted: str) -> str:
    return re.sub(r"%[0-9A-F]{2}", lambda match: match[0].lower(), quoted)


def _as_pattern(form: str) -> str:
    """Short secrets count only as whole words: "test" must not turn "latest" into "la[secret]"."""
    if len(form) >= 8:
        return re.escape(form)
    start = r"(?:(?<![A-Za-z0-9])|(?<=%[0-9A-Fa-f]{2}))"
    return f"{start}{re.escape(form)}(?![A-Za-z0-9])"
