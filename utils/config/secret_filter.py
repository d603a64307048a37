"""One filter for everything that leaves the program: records, files, prints, tracebacks.

A secret is looked for in every form in which servers, URL libraries and Python quote it back. What
counts as one, and where it is hidden:

- by name (`secret_names`): variables of the environment, `${NAME}` in the config, keys of the
  config, parameters of a URL's query; by place: a URL's password, and every text of `extra_headers`
  and `extra_query` but for a few well-known ones (content-type, api-version, ...)
- a secret proper is hidden wherever it turns up, in what a model said too
- a common text serves local servers as a key and occurs in any reply: "local", "1234", "password".
  That is one shorter than 8 characters, or a word of letters or digits alone, shorter than 16
  (`is_common`). What a model was asked and what it said never changes for its sake, nor does a
  table or a file made of that. It is hidden where it stands for the key: in the config as it is
  written down, by its place, and in what servers and tracebacks say
- well-known dummies and texts of less than 4 characters are no secrets
"""

from __future__ import annotations

import base64
import html
import json
import re
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import TracebackType
from typing import Any, TextIO
from urllib.parse import quote, quote_plus, unquote, unquote_plus, urlsplit

from utils.config.endpoint import PLACEHOLDER_KEY
from utils.config.secret_names import is_ordinary_header, is_secret_name
from utils.config.text import key_path, names_in, substitute

MASK = "[secret]"
SHORTEST = 4
"""Shorter texts occur in every message; hiding them would spoil it and hide nothing."""
SHORTEST_SECRET = 8
SHORTEST_PLAIN_SECRET = 16
"""Of letters or of digits alone."""

_NO_SECRETS = {
    PLACEHOLDER_KEY,  # and what servers without keys tell their users to send
    "empty", "none", "null", "dummy", "ollama", "lm-studio", "no-key", "not-needed",
    "sk-no-key-required",
}  # fmt: skip
_SECRET_VARIABLES = {
    "OPENAI_API_KEY",
    "HF_TOKEN",
    "HUGGING_FACE_HUB_TOKEN",
    "ANTHROPIC_API_KEY",
}
_QUERY_NAME = re.compile(r"(?:[?&;]|\A--)([^=&;]*)=")  # of a URL, or an argument of a server
_LAST_NAME = re.compile(r"""("(?:[^"\\]|\\.)*"|[^."\[\]]+)(?:\[\d+\])*\Z""")
_ENVELOPE = re.compile(r"(?:\A|\.)generate_cfg\.extra_(?:headers|query)[.\[]")
_SCHEME = re.compile(r"\A[A-Za-z][\w-]*\s+(?=\S+\Z)")  # "Bearer ", "Token "
_QUOTINGS = ("", "/", "!$'()*,/:;?@", "!$&'()*+,;=:/?@")  # what URL libraries leave as it is


class SecretFilter:
    """Replaces secrets by `[secret]`; usable from many threads once all secrets are added."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets, self._common = _Forms(), _Forms()
        for secret in secrets:
            self.add(secret)

    def add(self, secret: str) -> None:
        """Hides `secret` from now on; very short texts and well-known dummies are left alone."""
        for plain in {secret, unquote(secret), unquote_plus(secret)}:
            if len(plain) >= SHORTEST and plain.lower() not in _NO_SECRETS and plain not in MASK:
                (self._common if is_common(plain) else self._secrets).add(_forms_of(plain))

    def clean(self, text: str) -> str:
        """The text without secrets; common texts stay, see above."""
        return self._secrets.replaced(text)

    def clean_told(self, text: str) -> str:
        """What a server or a traceback said, without secrets, common texts included."""
        return self._common.replaced(self._secrets.replaced(text))

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
            sys.stderr.write(self.clean_told(text))

    def _show_thread_exception(self, args: threading.ExceptHookArgs) -> None:
        if args.exc_type is SystemExit:  # as the interpreter does
            return
        name = args.thread.name if args.thread else "?"
        error = args.exc_value if args.exc_value is not None else args.exc_type()
        text = "".join(traceback.format_exception(args.exc_type, error, args.exc_traceback))
        if sys.stderr is not None:
            sys.stderr.write(self.clean_told(f"Exception in thread {name}:\n{text}"))


class _Forms:
    """Texts to hide, in all their forms."""

    def __init__(self) -> None:
        self._forms: tuple[str, ...] = ()
        self._pattern: re.Pattern[str] | None = None

    def add(self, forms: set[str]) -> None:
        """Hides these too."""
        found = forms | set(self._forms)
        if found == set(self._forms):
            return
        # Longest first: a secret that begins like another must not leave its tail behind.
        self._forms = tuple(sorted(found, key=lambda form: (-len(form), form)))
        self._pattern = re.compile("|".join(map(_as_pattern, self._forms)))

    def replaced(self, text: str) -> str:
        """The text with the mask in place of each."""
        # Most texts hold none, and a substring search is ten times faster than the pattern.
        if self._pattern is None or not any(form in text for form in self._forms):
            return text
        return self._pattern.sub(MASK, text)


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


def is_common(secret: str) -> bool:
    """Whether a key is a text that occurs in what models are asked and say."""
    signs = "".join(sign for sign in secret if sign.isalnum())
    if len(secret.strip()) < SHORTEST_SECRET:
        return True
    is_word = secret.isalpha() and (secret[1:].islower() or secret.isupper())
    return (signs.isdigit() or is_word) and len(signs) < SHORTEST_PLAIN_SECRET


def secrets_in(texts: Iterable[tuple[str, str]], environ: Mapping[str, str]) -> set[str]:
    """Every secret that a config and the environment bring along.

    Args:
        texts: key path and text of each string value of the config, `${NAME}` not yet replaced
            (`ConfigReading.texts`).
        environ: the environment, `.env` included.
    """
    found = {value for name, value in environ.items() if _is_secret_variable(name, value)}
    for place, text in texts:
        names = [name for name in names_in(text) if is_secret_name(name)]
        found |= {environ[name] for name in names if environ.get(name)}
        replaced, _ = substitute(text, environ)
        if _is_secret_place(place):
            found |= {replaced, _SCHEME.sub("", replaced)}
        found |= _url_secrets(replaced)  # a mistyped scheme hides no key either
    # An unset ${NAME} is no secret, and the message that reports it must stay readable.
    return {secret for secret in found if secret.strip() and not names_in(secret)}


def mask_endpoint(model_path: str) -> str:
    """An endpoint text with its keys and password masked, whatever they are."""
    masked, done = "", 0
    for start, end in _query_secrets(model_path):
        if start >= done:  # else it is a part of the one before
            masked, done = masked + model_path[done:start] + MASK, end
    masked += model_path[done:]
    return re.sub(r"(?<=//)([^/?@]*):[^/?@]*@", rf"\1:{MASK}@", masked)


def mask_config(value: Any, place: str = "") -> Any:
    """Plain config data with everything masked that its place says is secret, whatever it is.

    Args:
        place: key path of `value`.
    """
    if isinstance(value, Mapping):
        inner = ((key, key_path(key)) for key in value)
        return {key: mask_config(value[key], f"{place}.{name}") for key, name in inner}
    if isinstance(value, (list, tuple)):
        return [mask_config(item, f"{place}[{number}]") for number, item in enumerate(value)]
    if not isinstance(value, str) or not value:
        return value
    if _is_secret_place(place):
        return MASK
    # An address holds no blank; a prompt may well hold "?key=".
    return value if re.search(r"\s", value) else mask_endpoint(value)


def _is_secret_variable(name: str, value: str) -> bool:
    if name in _SECRET_VARIABLES:
        return bool(value)
    return is_secret_name(name) and not is_common(value)


def _is_secret_place(place: str) -> bool:
    """Whether the text at a key path of the config is a secret."""
    last = _LAST_NAME.search(place)
    name = last[1].strip('"') if last else place
    if _ENVELOPE.search(place):
        return not is_ordinary_header(name)
    return is_secret_name(name)


def _query_secrets(url: str) -> Iterator[tuple[int, int]]:
    """Where the values of secret parameters begin and end."""
    for match in _QUERY_NAME.finditer(url):
        value = re.compile(r"[^&#]+").match(url, match.end())
        if value is not None and is_secret_name(unquote_plus(match[1])):
            yield value.span()


def _url_secrets(url: str) -> set[str]:
    found = set()
    for start, end in _query_secrets(url):
        value = url[start:end]
        # As written, decoded, and (for "a=b", a typing error) the part before the second "=".
        found |= {value, unquote_plus(value), value.split("=")[0]}
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
