"""One filter for what leaves the program: records, files, prints, tracebacks.

A secret is the value of a place that is named like one (config, query of a URL, environment), of a
`${NAME}` named like one, a URL's password or lone user name, every value of `extra_headers` and
`extra_query` but for well-known ones, and what the user's own `"secrets"` list. It is hidden in the
forms in which servers and libraries quote it back: in URLs, JSON, HTML, base64 and the like, each
once. Of one form within another nothing is known.
A common text ("1234", "local") serves local servers as a key, is no secret of anybody's, and occurs
in any reply: it is hidden in the config alone.
"""

from __future__ import annotations

import base64
import binascii
import html
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
NOT_QUIET = ("warning: ", "problem: ", "left out: ", "Interrupted. ")  # printed with --quiet, too
_DUMMIES = (PLACEHOLDER_KEY, "lm-studio", "not-needed", "sk-no-key-required")

_QUERY = re.compile(r"(?:[?&;]|\A--)(?P<name>[^=&;]*)=(?P<value>(?:(?!;[\w-]+=)[^&#])+)")
_USER = re.compile(r"(?<=//)(?P<user>[^/?@:\s]*)(?::(?P<password>[^/?\s]*))?@")
_PLAIN = re.compile(r"[A-Za-z0-9]+")
_IN_HEADER = re.compile(r"(?P<scheme>[A-Za-z-]+) +(?P<value>\S+)")
_SECRET_NAME = re.compile(
    r"secret|passw|credential|authorization|api[_-]?key|access[_-]?key|subscription-key|\Akey\Z"
    r"|(access|bearer|refresh|hf|hub)[_-]?token|(\A|[_-])(auth|token)\Z|(?<!public)[_ -]key\Z"
    r"|(\A|[_-])(pat|jwt|signature|cookie|bearer|sas)\Z",
    re.IGNORECASE,
)
_LATER_SECRET_NAME = re.compile(r"passphrase|(\A|[_-])(pwd|sig)\Z", re.IGNORECASE)
_TOKENIZER = re.compile(r"(eos|bos|pad|unk|sep|cls|mask|image|video|vision)_[tT]oken\Z")
_FOLDERS = ("PWD", "OLDPWD")  # of every shell
_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")  # that begins a word
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
        self._secrets = frozenset(secrets)
        plain = {
            form
            for secret in self._secrets
            for form in (secret.strip(), unquote(secret), unquote_plus(secret))
        }
        hidden = [secret for secret in plain if not is_common(secret)]
        forms = {form for secret in hidden for form in _forms_of(secret)}
        encoded = {form for secret in hidden for form in _in_base64(secret)}
        # No way of quoting changes ASCII letters and digits, so each form holds one of these.
        self._marks = {
            max(_PLAIN.findall(form), key=len, default="") for form in {*hidden, *encoded}
        }
        # Longest first: a secret that begins like another must not leave its tail behind.
        self._forms = sorted(forms, key=lambda form: (-len(form), form))
        self._pattern = re.compile("|".join(map(re.escape, self._forms)))

    def __or__(self, other: SecretFilter) -> SecretFilter:
        """Return a filter of the secrets of both."""
        return SecretFilter(self._secrets | other._secrets)

    def clean(self, text: str) -> str:
        """Return the text without secrets."""
        # Most texts hold none, and a substring search is ten times faster than the pattern.
        has_mark = any(mark in text for mark in self._marks)
        if not has_mark or not any(form in text for form in self._forms):
            return text
        return self._pattern.sub(MASK, text)

    def clean_object(self, value: Any) -> Any:
        """Return the same for plain data: dicts (keys too), lists, texts; others stay."""
        text = json.dumps(value, ensure_ascii=False, default=str)  # one search for all its texts
        has_mark = any(mark in text for mark in self._marks)
        return with_texts(value, self.clean) if has_mark else value


def with_texts(value: Any, change: Callable[[str], str]) -> Any:
    """Return a copy of plain data with every text in it changed, keys and paths too."""
    if isinstance(value, Mapping):
        return {change(str(key)): with_texts(item, change) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [with_texts(item, change) for item in value]
    return change(str(value)) if isinstance(value, (str, Path)) else value


class OutputStream:
    """A standard stream that raises no error and shows no secret and no terminal command.

    Hours of answers must not end at a progress line: because its reader left (`| head`), the disk
    of a console log is full, or the encoding lacks a character, which is spelt out then. With a
    `prefix` before each line, only the last state of a progress bar is shown; with `is_quiet`,
    only lines that say that something is wrong.
    """

    def __init__(
        self,
        stream: TextIO,
        secrets: SecretFilter | None = None,
        prefix: str = "",
        *,
        is_quiet: bool = False,
    ) -> None:
        self._stream, self.prefix, self._rest = stream, prefix, ""
        self._is_quiet = is_quiet
        self._secrets = secrets or SecretFilter()

    def hide(self, secrets: SecretFilter) -> None:
        """Hide these secrets from now on, too."""
        self._secrets |= secrets

    def write(self, text: str) -> int:
        """Write a text without secrets; return its length as it was given."""
        visible = _CONTROL.sub(lambda char: repr(char[0])[1:-1], self._secrets.clean(text))
        if self.prefix:
            *lines, self._rest = (self._rest + visible).split("\n")
            visible = "".join(f"{self.prefix}{line.rpartition(chr(13))[2]}\n" for line in lines)
        elif self._is_quiet:
            *lines, self._rest = (self._rest + visible).split("\n")
            visible = "".join(f"{line}\n" for line in lines if line.startswith(NOT_QUIET))
        with suppress(OSError, ValueError):  # ValueError: it is closed
            try:
                self._stream.write(visible)
            except UnicodeEncodeError:
                encoding = self._stream.encoding
                self._stream.write(visible.encode(encoding, "backslashreplace").decode(encoding))
            if "\n" in visible:  # so that stdout and stderr keep their order in one place
                self._stream.flush()
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write lines without secrets."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Flush the stream; one that is closed or gone is no error."""
        with suppress(OSError, ValueError):
            self._stream.flush()

    def isatty(self) -> bool:
        """Whether the stream is a terminal; False with a prefix, for one process of several."""
        return not self.prefix and self._stream.isatty()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def protect_output(secrets: SecretFilter | None = None) -> None:
    """Make stdout and stderr an `OutputStream` that hides secrets.

    Those of several calls add up: code of one config may still print while another one is read.
    """
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is not None and not isinstance(stream, OutputStream):
            stream = OutputStream(stream)
            setattr(sys, name, stream)
        if stream is not None and secrets is not None:
            stream.hide(secrets)


def quieten() -> None:
    """Let stdout show only what is wrong from now on; stderr shows nothing else anyway."""
    sys.stdout = OutputStream(sys.stdout, is_quiet=True)  # type: ignore[assignment]


def is_common(secret: str) -> bool:
    """Whether a key is so ordinary a text that prompts and replies may contain it."""
    signs = "".join(filter(str.isalnum, secret))
    is_word = secret.isalpha() and (secret[1:].islower() or secret.isupper())
    is_short = len(secret) < 8 or ((signs.isdigit() or is_word) and len(signs) < 16)
    return is_short or secret.lower() in _DUMMIES


def secrets_in(texts: Iterable[tuple[str, str]], environ: Mapping[str, str]) -> set[str]:
    """Return every secret that a config (`ConfigReading.texts`) and the environment bring along."""
    secrets = {v for name, v in environ.items() if is_secret_name(name) and not is_common(v)}
    for value in environ.values():  # a proxy or a database may be named with a password
        secrets |= {secret for secret in _secrets_of_users(value) if not is_common(secret)}
    for value_path, text in texts:
        secrets |= {environ.get(name, "") for name in names_in(text) if is_secret_name(name)}
        replaced, _ = substitute(text, environ)
        if is_secret_place(value_path):
            secrets |= {replaced, *_secrets_of_header(replaced)}
        for query in _QUERY.finditer(replaced):
            if is_secret_name(unquote_plus(query["name"])):
                # For "a=b", a typing error, the part before the second "=" too.
                secrets |= {query["value"], query["value"].partition("=")[0]}
        secrets |= _secrets_of_users(replaced)
    # An unset ${NAME} is no secret, and the message that reports it must stay readable.
    return {secret for secret in secrets if secret and not names_in(secret)}


def mask_config(value: Any, value_path: str = "") -> Any:
    """Return plain config data with everything masked that its place says is secret."""
    if isinstance(value, Mapping):
        return {
            key: mask_config(item, f"{value_path}.{key_path(key)}") for key, item in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [mask_config(item, value_path) for item in value]
    if isinstance(value, str) and value and is_secret_place(value_path):
        return MASK
    # An address holds no blank; a prompt may well hold "?key=".
    is_text = not isinstance(value, str) or re.search(r"\s", value)
    return value if is_text else mask_endpoint(value)


def mask_endpoint(url: str) -> str:
    """Return an address with its keys and password masked, whatever they are."""
    for query in reversed([*_QUERY.finditer(url)]):
        if is_secret_name(unquote_plus(query["name"])):
            url = f"{url[: query.start('value')]}{MASK}{url[query.end('value') :]}"
    return _USER.sub(_masked_user, url)


def _masked_user(url: re.Match[str]) -> str:
    if url["password"]:
        return f"{url['user']}:{MASK}@"
    return f"{MASK}@"  # a user name alone is a token


def _secrets_of_users(text: str) -> set[str]:
    """Return the secrets of `//user:password@` or `//token@` in a text, also as they are sent."""
    secrets = set()
    for url in _USER.finditer(text):
        user, password = url["user"], url["password"] or ""
        if user or password:
            secrets.add(password or user)
            sent = f"{unquote(user)}:{unquote(password)}".encode("utf-8", "surrogatepass")
            secrets.add(base64.b64encode(sent).decode("ascii"))
    return secrets


def _secrets_of_header(value: str) -> set[str]:
    """Return the secrets in a header's value without its scheme: `Bearer TOKEN`, `Basic BASE64`."""
    header = _IN_HEADER.fullmatch(value.strip())
    if header is None:
        return {value.rpartition(" ")[2]}
    secrets = {header["value"]}
    if header["scheme"].lower() == "basic":
        with suppress(binascii.Error, ValueError):
            user, _, password = base64.b64decode(header["value"]).decode("utf-8").partition(":")
            secrets.add(password or user)
    return secrets


def is_secret_name(name: str) -> bool:
    """Whether a name is one of a secret: `API_KEY`, `x-auth`, `apiToken`; not `max_tokens`."""
    words = _CAPITAL.sub("_", name)
    is_later = bool(_LATER_SECRET_NAME.search(words)) and name not in _FOLDERS
    return is_later or was_secret_name(name) or was_secret_name(words)


def was_secret_name(name: str) -> bool:
    """Whether the first versions took a name for one of a secret.

    Fingerprints of requests leave out these values alone, so that stored answers hold.
    """
    return bool(_SECRET_NAME.search(name)) and not _TOKENIZER.search(name)


def is_secret_place(value_path: str) -> bool:
    """Whether the value at a key path is secret, by its name or as an unusual header."""
    name = re.split(r"[.\[]", re.sub(r"\[\d+\]", "", value_path))[-1].strip('"')
    if re.search(r"(\A|\.)generate_cfg\.extra_(headers|query)\.", value_path):
        return name.lower().replace("_", "-") not in _ORDINARY_HEADERS
    return is_secret_name(name)


def _forms_of(secret: str) -> set[str]:
    """A secret as it may come back: raw, in URLs, JSON, HTML, repr() or base64."""
    return {secret, *_quoted(secret), *_in_base64(secret)}


def _quoted(text: str) -> set[str]:
    """Return the text as URLs, JSON, HTML and repr() quote it."""
    in_json = json.dumps(text)[1:-1]
    in_html = html.escape(text)
    in_urls = {quote(text, safe=safe, errors="surrogatepass") for safe in ("", "/")}
    in_urls.add(quote_plus(text, errors="surrogatepass"))
    in_urls |= {re.sub(r"%..", lambda code: code[0].lower(), form) for form in in_urls}
    return {
        *in_urls,
        in_json,
        in_json.replace("/", "\\/"),
        json.dumps(text, ensure_ascii=False)[1:-1],
        re.sub(r"[<>&'+/]", lambda char: f"\\u{ord(char[0]):04x}", in_json),  # Go, PHP, .NET
        re.sub(r"[<>&]", lambda char: f"\\u{ord(char[0]):04x}", in_json),
        re.sub(r"[<>&'+]", lambda char: f"\\u{ord(char[0]):04X}", in_json),
        repr(text)[1:-1],
        in_html,
        in_html.replace("&#x27;", "&#39;").replace("&quot;", "&#34;"),
        in_html.replace("&#x27;", "&apos;"),
        html.escape(text, quote=False),
    }


def _in_base64(secret: str) -> set[str]:
    """Return the secret in base64, alone and as what it makes of a longer text that holds it."""
    plain = secret.encode("utf-8", "surrogatepass")
    alone = base64.b64encode(plain).decode("ascii")
    forms = {alone, alone.rstrip("=")}
    for before in range(3):  # bytes that share a group of four characters with its beginning
        encoded = base64.b64encode(bytes(before) + plain).decode("ascii")
        first, last = -(-before * 8 // 6), (before + len(plain)) * 8 // 6
        forms.add(encoded[first:last])  # each of these characters depends on the secret alone
    return forms | {form.replace("+", "-").replace("/", "_") for form in forms}
