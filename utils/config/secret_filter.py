"""One filter for what leaves the program: records, files, prints, tracebacks.

A secret is the value of a place that is named like one (config, query of a URL, environment), of a
`${NAME}` named like one, a URL's password, and every value of `extra_headers` and `extra_query` but
for well-known ones. It is hidden in the forms in which servers and URL libraries quote it back.
A common text ("1234", "local") serves local servers as a key, is no secret of anybody's, and occurs
in any reply: it is hidden in the config alone.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO
from urllib.parse import quote, quote_plus, unquote, unquote_plus

from utils.config.endpoint import PLACEHOLDER_KEY
from utils.config.text import key_path, names_in, substitute

MASK = "[secret]"
_DUMMIES = (PLACEHOLDER_KEY, "lm-studio", "not-needed", "sk-no-key-required")

_QUERY = re.compile(r"(?:[?&;]|\A--)(?P<name>[^=&;]*)=(?P<value>(?:(?!;[\w-]+=)[^&#])+)")
_PASSWORD = re.compile(r"(?<=//)(?P<user>[^/?@:]*):(?P<value>[^/?\s]*)@")
_SECRET_NAME = re.compile(
    r"secret|passw|credential|authorization|api[_-]?key|access[_-]?key|subscription-key|\Akey\Z"
    r"|(access|bearer|refresh|hf|hub)[_-]?token|(\A|[_-])(auth|token)\Z|(?<!public)[_ -]key\Z",
    re.IGNORECASE,
)
_TOKENIZER = re.compile(r"(eos|bos|pad|unk|sep|cls|mask|image|video|vision)_token\Z")
_ORDINARY_HEADERS = {
    "accept",
    "anthropic-beta",
    "anthropic-version",
    "api-version",
    "content-type",
    "http-referer",
    "openai-beta",
    "user-agent",
    "x-api-version",
    "x-title",
}
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


class SecretFilter:
    """Replaces secrets by `[secret]`."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        plain = {
            form for each in secrets for form in (each.strip(), unquote(each), unquote_plus(each))
        }
        forms = {form for secret in plain if not is_common(secret) for form in _forms_of(secret)}
        # Longest first: a secret that begins like another must not leave its tail behind.
        self._forms = sorted(forms, key=lambda form: (-len(form), form))
        self._pattern = re.compile("|".join(map(re.escape, self._forms)))
        self._in_json = [json.dumps(form, ensure_ascii=False)[1:-1] for form in forms]

    def clean(self, text: str) -> str:
        """The text without secrets."""
        # Most texts hold none, and a substring search is ten times faster than the pattern.
        is_clean = not any(form in text for form in self._forms)
        return text if is_clean else self._pattern.sub(MASK, text)

    def clean_object(self, value: Any) -> Any:
        """The same for plain data: dicts (keys too), lists, texts; others stay."""
        text = json.dumps(value, ensure_ascii=False, default=str)  # one search for all its texts
        has_secrets = any(form in text for form in self._in_json)
        return with_texts(value, self.clean) if has_secrets else value


def with_texts(value: Any, change: Callable[[str], str]) -> Any:
    """A copy of plain data with every text in it changed, keys and paths too."""
    if isinstance(value, Mapping):
        return {change(str(key)): with_texts(each, change) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [with_texts(each, change) for each in value]
    return change(str(value)) if isinstance(value, (str, Path)) else value


class OutputStream:
    """A standard stream that raises no error and shows no secret and no terminal command.

    Hours of answers must not end at a progress line: because its reader left (`| head`), the disk
    of a console log is full, or the encoding lacks a character, which is spelt out then. With a
    `prefix` before each line, only the last state of a progress bar is shown.
    """

    def __init__(self, stream: TextIO, clean: Callable[[str], str] = str, prefix: str = "") -> None:
        self._stream, self.clean, self.prefix, self._rest = stream, clean, prefix, ""

    def write(self, text: str) -> int:
        shown = _CONTROL.sub(lambda found: repr(found[0])[1:-1], self.clean(text))
        if self.prefix:
            *lines, self._rest = (self._rest + shown).split("\n")
            shown = "".join(f"{self.prefix}{line.rpartition(chr(13))[2]}\n" for line in lines)
        with suppress(OSError, ValueError):  # ValueError: it is closed
            try:
                self._stream.write(shown)
            except UnicodeEncodeError:
                known = self._stream.encoding
                self._stream.write(shown.encode(known, "backslashreplace").decode(known))
            if "\n" in shown:  # so that stdout and stderr keep their order in one place
                self._stream.flush()
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        with suppress(OSError, ValueError):
            self._stream.flush()

    def isatty(self) -> bool:
        return not self.prefix and self._stream.isatty()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def protect_output(clean: Callable[[str], str] = str) -> None:
    """Makes stdout and stderr an `OutputStream`; a later call replaces `clean`."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if isinstance(stream, OutputStream):
            stream.clean = clean
        elif stream is not None:
            setattr(sys, name, OutputStream(stream, clean))


def is_common(secret: str) -> bool:
    """Whether a key is a text that occurs in what models are asked and say."""
    signs = "".join(filter(str.isalnum, secret))
    is_word = secret.isalpha() and (secret[1:].islower() or secret.isupper())
    is_short = len(secret) < 8 or ((signs.isdigit() or is_word) and len(signs) < 16)
    return is_short or secret.lower() in _DUMMIES


def secrets_in(texts: Iterable[tuple[str, str]], environ: Mapping[str, str]) -> set[str]:
    """Every secret that a config (`ConfigReading.texts`) and the environment bring along."""
    found = {v for name, v in environ.items() if is_secret_name(name) and not is_common(v)}
    for place, text in texts:
        found |= {environ.get(name, "") for name in names_in(text) if is_secret_name(name)}
        replaced, _ = substitute(text, environ)
        if is_secret_place(place):
            found |= {replaced, replaced.rpartition(" ")[2]}  # "Bearer ..."
        for query in _QUERY.finditer(replaced):
            if is_secret_name(unquote_plus(query["name"])):
                # For "a=b", a typing error, the part before the second "=" too.
                found |= {query["value"], query["value"].partition("=")[0]}
        found |= {url["value"] for url in _PASSWORD.finditer(replaced)}
    # An unset ${NAME} is no secret, and the message that reports it must stay readable.
    return {secret for secret in found if secret and not names_in(secret)}


def mask_config(value: Any, place: str = "") -> Any:
    """Plain config data with everything masked that its place says is secret."""
    if isinstance(value, Mapping):
        return {key: mask_config(item, f"{place}.{key_path(key)}") for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [mask_config(item, place) for item in value]
    if isinstance(value, str) and value and is_secret_place(place):
        return MASK
    # An address holds no blank; a prompt may well hold "?key=".
    is_text = not isinstance(value, str) or re.search(r"\s", value)
    return value if is_text else mask_endpoint(value)


def mask_endpoint(url: str) -> str:
    """An address with its keys and password masked, whatever they are."""
    for query in reversed([*_QUERY.finditer(url)]):
        if is_secret_name(unquote_plus(query["name"])):
            url = f"{url[: query.start('value')]}{MASK}{url[query.end('value') :]}"
    return _PASSWORD.sub(rf"\g<user>:{MASK}@", url)


def is_secret_name(name: str) -> bool:
    """Whether what bears this name is a secret: `OPENAI_API_KEY`, `x-auth`; not `max_tokens`."""
    return bool(_SECRET_NAME.search(name)) and not _TOKENIZER.search(name)


def is_secret_place(place: str) -> bool:
    name = re.split(r"[.\[]", re.sub(r"\[\d+\]", "", place))[-1].strip('"')
    if re.search(r"(\A|\.)generate_cfg\.extra_(headers|query)\.", place):
        return name.lower().replace("_", "-") not in _ORDINARY_HEADERS
    return is_secret_name(name)


def _forms_of(secret: str) -> set[str]:
    """The secret as it may come back: raw, in URLs, in JSON, in repr()."""
    quoted = {quote(secret, safe=safe, errors="surrogatepass") for safe in ("", "/")}
    quoted |= {quote_plus(secret, errors="surrogatepass")}
    quoted |= {re.sub(r"%..", lambda code: code[0].lower(), form) for form in quoted}
    return {secret, repr(secret)[1:-1], json.dumps(secret)[1:-1], *quoted}
