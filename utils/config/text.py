"""Config file → plain object: comments and trailing commas, duplicate keys, `${NAME}`."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import rapidjson

KeyPath = tuple[str | int, ...]
KeyProblem = tuple[KeyPath, str]  # where in a section of the config, and what is wrong there

_NAME = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_IN_QUERY = re.compile(r"(https?://|\$\{)\S*[?&][^?&]*=[^?&]*", re.IGNORECASE)

_ADVICE = (
    'is a quote, comma or bracket missing (or one too many) just before? JSON has " for quotes, '
    "\\\\ for a backslash, true, false and null; comments begin with //"
)
_COMMENTED = rapidjson.PM_COMMENTS | rapidjson.PM_TRAILING_COMMAS
_PARSE_ERROR = re.compile(r"Parse error at offset (\d+): (.*?)\.?")
_CLEARER = {  # what the library says, and what it means
    "Invalid encoding in string": "A text is not closed in its line, or holds a control character",
    "Unspecific syntax error": "A comment is not closed, or begins with a single /",
    "The surrogate pair in string is invalid": "A text holds half of a surrogate pair (\\uD800)",
}
DEEPEST = 200  # objects and lists in each other


@dataclass
class PlainConfig:
    """The content of a config file, before anything is known about its keys."""

    value: Any = field(default=None, repr=False)  # `${NAME}` replaced, so it may hold keys
    problems: list[str] = field(default_factory=list)  # `key path: what is wrong`
    texts: list[tuple[str, str]] = field(default_factory=list, repr=False)  # key path, as written
    unset: set[str] = field(default_factory=set)  # key paths of texts with a name without a value


def key_path(*parts: str | int) -> str:
    """Return a key path as messages have it: `model."aguvis-7B".kwargs.img_size`.

    Names of models are always quoted, others where needed.
    """
    path = ""
    for index, part in enumerate(parts):
        if isinstance(part, int):
            path += f"[{part}]"
            continue
        is_model_name = index == 1 and parts[0] == "model"
        is_plain = part.isidentifier() and part.isascii() and not is_model_name
        name = part if is_plain else json.dumps(part, ensure_ascii=False)
        path += f".{name}" if path else name
    return path


def brief(value: object) -> str:
    """Return a JSON value as a message shows it: only what is short is quoted."""
    if isinstance(value, (list, dict)) or (isinstance(value, str) and len(value) > 40):
        return {list: "a list", dict: "an object", str: "a long text"}[type(value)]
    return json.dumps(value, ensure_ascii=False)


def substitute(
    text: str, environ: Mapping[str, str], unset: str | None = None
) -> tuple[str, list[str]]:
    """Replace `${NAME}` from the environment, percent-encoded in the query of an endpoint.

    Returns the text, and the names that are unset or empty and stay in it where `unset` is None.
    """
    missing: list[str] = []

    def value_of(name: re.Match[str]) -> str:
        value = environ.get(name[1]) or unset
        if not value:
            missing.append(name[1])
            return name[0]
        return quote(value, safe="") if _IN_QUERY.fullmatch(text[: name.start()]) else value

    return _NAME.sub(value_of, text), list(dict.fromkeys(missing))


def names_in(text: str) -> list[str]:
    """Return the names of all `${NAME}` in a text."""
    return _NAME.findall(text)


def read_plain(
    text: str,
    environ: Mapping[str, str],
    unset: str | None = None,
    change: Callable[[Any], list[str]] = lambda _: [],
) -> PlainConfig:
    """Read the text of a config file: JSON with comments and trailing commas.

    Args:
        text: what the file says.
        environ: where `${NAME}` is looked up.
        unset: stands for a variable that is not set; None: that is a problem.
        change: changes the value in place before names are replaced; returns problems.

    Raises:
        ValueError: it is not JSON; says where and why, and quotes nothing, which could be a secret.
    """
    result = PlainConfig()
    try:
        value = _parsed(text)
        result.problems += change(value)
        result.value = _replaced(value, (), result, environ, unset)
    except RecursionError:
        raise ValueError("objects are nested too deeply") from None
    return result


def _parsed(text: str) -> Any:
    """The value of a text, with objects that know their repeated keys."""
    if not text.strip():
        raise ValueError("line 1, column 1: the file is empty")
    if "\0" in text:  # the parser would take it for the end of the text
        raise ValueError(f"{_place(text, text.index(chr(0)))}: this is a null character")
    try:
        return _Decoder(parse_mode=_COMMENTED)(text)
    except rapidjson.JSONDecodeError as error:
        match = _PARSE_ERROR.fullmatch(str(error))
        assert match is not None
        before = text.encode()[: int(match[1])].decode(errors="ignore")
        message = _CLEARER.get(match[2], match[2])
        raise ValueError(f"{_place(text, len(before))}: {message}; {_ADVICE}") from None


def _place(text: str, index: int) -> str:
    line_begin = text.rfind("\n", 0, index) + 1
    return f"line {text.count(chr(10), 0, index) + 1}, column {index - line_begin + 1}"


def _replaced(
    value: Any, path: KeyPath, result: PlainConfig, environ: Mapping[str, str], unset: str | None
) -> Any:
    """Return a value with `${NAME}` replaced in its texts; note problems in `result`."""
    if len(path) > DEEPEST:
        raise RecursionError
    if isinstance(value, dict):
        for name in value.repeated if isinstance(value, _Object) else ():
            problem = "this key is given more than once; keep one of them"
            result.problems.append(f"{key_path(*path, name)}: {problem}")
        return {
            name: _replaced(item, (*path, name), result, environ, unset)
            for name, item in value.items()
        }
    if isinstance(value, list):
        return [
            _replaced(item, (*path, index), result, environ, unset)
            for index, item in enumerate(value)
        ]
    key = key_path(*path)
    if isinstance(value, float) and not math.isfinite(value):
        result.problems.append(f"{key}: {brief(value)} is not a JSON number")
        return 1  # one problem is enough
    if not isinstance(value, str):
        return value
    result.texts.append((key, value))
    replaced, missing = substitute(value, environ, unset)
    for name in missing:
        state = "empty" if name in environ else "not set"
        problem = f"${{{name}}} stands for the environment variable {name}, which is {state}"
        result.problems.append(f"{key}: {problem}; set it in the environment or in .env")
        result.unset.add(key)
    return replaced


class _Object(dict[str, Any]):
    """A JSON object that remembers which of its keys were given more than once."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        counts = Counter(name for name, _ in pairs)
        self.repeated = [name for name, count in counts.items() if count > 1]


class _Decoder(rapidjson.Decoder):  # type: ignore[misc]
    """Reads objects as pairs first: a dict would have lost the keys that are repeated."""

    def start_object(self) -> list[tuple[str, Any]]:
        return []

    def end_object(self, pairs: list[tuple[str, Any]]) -> _Object:
        return _Object(pairs)
