"""Config file → plain object: comments and trailing commas, duplicate keys, `${NAME}`.

Own code, because the json5 packages are slow and report the mistakes that people make badly: with
json5 0.17 an open comment is the end of the input, and duplicate keys are passed over.
Here comments and trailing commas become blanks, so that every position stays what it was.
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
Finding = tuple[KeyPath, str]
"""Where in a section of the config, and what is wrong there."""

DEEPEST = 60
"""Levels of objects and lists; nobody writes more, and what reads the config recurses."""

_COMMENT = r"//[^\n\r]*+|/\*(?:[^*]|\*(?!/))*+\*/"
_TOKEN = re.compile(  # possessive: a bracket inside a comment must not end the comment early
    rf'"(?:[^"\\\n\r]|\\.)*+"|{_COMMENT}|,(?=(?:\s|{_COMMENT})*+[\]}}])', re.DOTALL
)
_PLACEHOLDER = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")

# By what stands at the place that the parser names, else by what the parser says of it. Nothing of
# the file is quoted but a key: it could be a secret.
_BY_TEXT = (
    (r"\s*\Z", "the file ends here, but a bracket, comment or text is not closed"),
    (r"['“”„‟«»‘’]", 'this is no quotation mark in JSON; write "'),
    (r"/\*", "this comment is never closed with */"),
    (r"[#/]", "comments begin with // (or stand between /* and */)"),
    (r"[\n\r]", 'the text before is not closed with a " on its line (write a line break as \\n)'),
    (r"True|False|None", "this is Python; JSON writes true, false, null"),
)
_BY_ERROR = (
    ("Invalid control", "a tab or control character inside a text; write a tab as \\t"),
    ("Invalid \\", "a single backslash inside a text; write \\\\ for a backslash, or / in paths"),
    ("Extra data", "there is text after the end of the config; is there a bracket too many?"),
    ("Expecting ':'", "a colon is missing between a key and its value"),
    ("Expecting ','", "a comma is missing before{key} (or a quote or a bracket, further left)"),
    ("Expecting prop", "a key in double quotes was expected"),
    ("", "a value was expected; texts stand in double quotes"),
)


class ConfigTextError(ValueError):
    """The text is no JSON; `str()` says where (line and column, from 1) and what is wrong."""

    def __init__(self, text: str, position: int, what: str) -> None:
        line = text.count("\n", 0, position) + 1
        column = position - text.rfind("\n", 0, position)
        super().__init__(f"line {line}, column {column}: {what}")


@dataclass
class PlainConfig:
    """What a config file says, before anything is known about its keys.

    Attributes:
        value: the object, `${NAME}` replaced.
        problems: lines of the form `key path: what is wrong`.
        texts: key path and text of each string value, `${NAME}` still in it.
        unset: key paths of texts in which a name could not be replaced.
    """

    value: Any = field(repr=False)  # may hold keys
    problems: list[str] = field(default_factory=list)
    texts: list[tuple[str, str]] = field(default_factory=list, repr=False)
    unset: set[str] = field(default_factory=set)


def key_path(*parts: str | int) -> str:
    """`model."aguvis-7B".kwargs.img_size`; model names are always quoted, others where needed."""
    shown = ""
    for place, part in enumerate(parts):
        if isinstance(part, int):
            shown += f"[{part}]"
            continue
        is_model_name = place == 1 and parts[0] == "model"
        plain = _IDENTIFIER.match(part) and not is_model_name
        shown += ("." if shown else "") + (part if plain else json.dumps(part, ensure_ascii=False))
    return shown


def kind_of(value: object) -> str:
    """A JSON value's type in plain words."""
    names = {type(None): "null", bool: str(value).lower(), str: "a text", int: "a number",
             float: "a number", list: "a list", dict: "an object"}  # fmt: skip
    return names.get(type(value), type(value).__name__)


def substitute(
    text: str, environ: Mapping[str, str], unset: str | None = None
) -> tuple[str, list[str]]:
    """Replaces `${NAME}` from the environment.

    In the query of an endpoint (`http://host/v1?api_key=${NAME}`) the value is percent-encoded,
    since it stands for itself there: a key may contain `+` or `&`.

    Args:
        unset: what stands for a name that is unset or empty.

    Returns:
        The text, and the names that are unset or empty; without `unset` they stay in the text.
    """
    missing: list[str] = []
    done, rest = "", 0
    for match in _PLACEHOLDER.finditer(text):
        done, rest = done + text[rest : match.start()], match.end()
        value = environ.get(match[1]) or unset
        if not value:
            missing.append(match[1])
            value = match[0]
        elif _is_in_query(done):
            value = quote(value, safe="")
        done += value
    return done + text[rest:], missing


def names_in(text: str) -> list[str]:
    """The names of all `${NAME}` in a text."""
    return _PLACEHOLDER.findall(text)


def read_plain(text: str, environ: Mapping[str, str], unset: str | None = None) -> PlainConfig:
    """Reads the text of a config file.

    Args:
        unset: what stands for a variable that is not set; by default that is a problem.

    Raises:
        ConfigTextError: it is not JSON (comments and trailing commas aside).
    """
    plain = _TOKEN.sub(lambda token: _blank(token[0]), text)
    result = PlainConfig(None)
    try:
        parsed = json.loads(plain, object_pairs_hook=_Object)
        result.value = _walk(parsed, (), environ, unset, result)
    except json.JSONDecodeError as error:
        raise ConfigTextError(text, error.pos, _explain(plain, error)) from None
    except (RecursionError, ValueError):
        what = "objects are nested too deeply in this file, or a number in it has too many digits"
        raise ConfigTextError(text, 0, what) from None
    return result


class _Object(dict[str, Any]):
    """A JSON object that remembers which of its keys were given more than once."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        names = [name for name, _ in pairs] if len(self) < len(pairs) else []
        self.repeated = [name for name in self if names.count(name) > 1]


def _blank(token: str) -> str:
    return token if token[0] == '"' else re.sub(r"[^\n\r]", " ", token)


def _explain(plain: str, error: json.JSONDecodeError) -> str:
    """The parser's message in words that help."""
    if not plain.strip():
        return "the file is empty"
    rest = plain[error.pos :]
    known = next((what for start, what in _BY_TEXT if re.match(start, rest)), None)
    if known is not None:
        return known
    if (not rest[0].isprintable() and not rest[0].isspace()) or rest[0] in "\u00a0\u200b\ufeff":
        return f"the invisible character U+{ord(rest[0]):04X} stands here; write a blank"
    key = re.match(r'"\w{1,40}"(?=\s*:)', rest)
    what = next(what for start, what in _BY_ERROR if error.msg.startswith(start))
    return what.replace("{key}", f" {key[0]}" if key else " this")


def _walk(
    value: Any,
    path: KeyPath,
    environ: Mapping[str, str],
    unset: str | None,
    result: PlainConfig,
) -> Any:
    if len(path) > DEEPEST:
        raise RecursionError
    if isinstance(value, _Object):
        for name in value.repeated:
            place = key_path(*path, name)
            result.problems.append(f"{place}: this key is given more than once; keep one of them")
    if isinstance(value, (dict, list)):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        walked = {at: _walk(item, (*path, at), environ, unset, result) for at, item in items}
        return walked if isinstance(value, dict) else list(walked.values())
    if isinstance(value, float) and not math.isfinite(value):
        result.problems.append(f"{key_path(*path)}: not a number that JSON can write")
    if not isinstance(value, str):
        return value
    place = key_path(*path)
    result.texts.append((place, value))
    replaced, missing = substitute(value, environ, unset)
    for name in dict.fromkeys(missing):
        state = "empty" if name in environ else "not set"
        result.problems.append(
            f"{place}: ${{{name}}} stands for the environment variable {name}, which is {state}; "
            "set it in the environment or in .env"
        )
        result.unset.add(place)
    return replaced


def _is_in_query(before: str) -> bool:
    """Whether what follows is the value of a query parameter of an http(s) address."""
    if not before.lower().startswith(("http://", "https://")) or "?" not in before:
        return False
    return "=" in re.split(r"[?&]", before)[-1]
