"""Config file → plain object: comments and trailing commas, duplicate keys, `${NAME}`.

Own code: the json5 packages are slow, take an open comment for the end of the input, and pass over
duplicate keys. Comments and trailing commas become blanks here, so that every position stays.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

KeyPath = tuple[str | int, ...]
Finding = tuple[KeyPath, str]  # where in a section of the config, and what is wrong there

# A line comment ends with its line, whatever brackets stand in it. Nothing possessive: 3.11.2 errs.
_COMMENT = r"//[^\n\r]*(?=[\n\r]|\Z)|/\*[^*]*\*+(?:[^/*][^*]*\*+)*/"
_TOKEN = re.compile(rf'("(?:[^"\\\n\r]|\\.)*")|{_COMMENT}|,(?=(?:\s|{_COMMENT})*[\]}}])', re.DOTALL)
_NAME = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_IN_QUERY = re.compile(r"(https?://|\$\{)\S*[?&][^?&]*=[^?&]*", re.IGNORECASE)

_HINT = (  # what stands there is not quoted: it could be a secret
    'is a quote, comma or bracket missing (or one too many) just before? JSON has " for quotes, '
    "\\\\ for a backslash, true, false and null; comments begin with //"
)


@dataclass
class PlainConfig:
    """What a config file says, before anything is known about its keys."""

    value: Any = field(default=None, repr=False)  # `${NAME}` replaced, so it may hold keys
    problems: list[str] = field(default_factory=list)  # `key path: what is wrong`
    texts: list[tuple[str, str]] = field(default_factory=list, repr=False)  # key path, as written
    unset: set[str] = field(default_factory=set)  # key paths of texts with a name without a value


def key_path(*parts: str | int) -> str:
    """`model."aguvis-7B".kwargs.img_size`; model names are always quoted, others where needed."""
    shown = ""
    for place, part in enumerate(parts):
        if isinstance(part, int):
            shown += f"[{part}]"
            continue
        is_plain = part.isidentifier() and part.isascii() and (place, parts[0]) != (1, "model")
        name = part if is_plain else json.dumps(part, ensure_ascii=False)
        shown += f".{name}" if shown else name
    return shown


def shown(value: object) -> str:
    """A JSON value as a message shows it: only what is short is quoted."""
    if isinstance(value, (list, dict)) or (isinstance(value, str) and len(value) > 40):
        return {list: "a list", dict: "an object", str: "a long text"}[type(value)]
    return json.dumps(value, ensure_ascii=False)


def substitute(
    text: str, environ: Mapping[str, str], unset: str | None = None
) -> tuple[str, list[str]]:
    """Replaces `${NAME}` from the environment, percent-encoded in the query of an endpoint.

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
    return _NAME.findall(text)


def read_plain(text: str, environ: Mapping[str, str], unset: str | None = None) -> PlainConfig:
    """Reads the text of a config file; ValueError says where and why it is not JSON."""
    plain = _TOKEN.sub(lambda token: token[1] or re.sub(r"[^\n\r]", " ", token[0]), text)
    result = PlainConfig()

    def walk(value: Any, path: KeyPath) -> Any:
        if isinstance(value, _Object):
            for name in value.repeated:
                what = "this key is given more than once; keep one of them"
                result.problems.append(f"{key_path(*path, name)}: {what}")
            return {name: walk(each, (*path, name)) for name, each in value.items()}
        if isinstance(value, list):
            return [walk(each, (*path, place)) for place, each in enumerate(value)]
        place = key_path(*path)
        if isinstance(value, float) and not math.isfinite(value):
            result.problems.append(f"{place}: {shown(value)} is not a JSON number")
            return 1  # one problem is enough
        if not isinstance(value, str):
            return value
        result.texts.append((place, value))
        replaced, missing = substitute(value, environ, unset)
        for name in missing:
            state = "empty" if name in environ else "not set"
            what = f"${{{name}}} stands for the environment variable {name}, which is {state}"
            result.problems.append(f"{place}: {what}; set it in the environment or in .env")
            result.unset.add(place)
        return replaced

    try:
        result.value = walk(json.loads(plain, object_pairs_hook=_Object), ())
    except json.JSONDecodeError as error:
        what = f"{error.msg.removesuffix(' at')}; {_HINT}" if plain.strip() else "the file is empty"
        raise ValueError(f"line {error.lineno}, column {error.colno}: {what}") from None
    except RecursionError:
        raise ValueError("objects are nested too deeply") from None
    return result


class _Object(dict[str, Any]):
    """A JSON object that remembers which of its keys were given more than once."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        names = [name for name, _ in pairs] if len(self) < len(pairs) else []
        self.repeated = [name for name in self if names.count(name) > 1]
