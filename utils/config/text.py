"""Config file → plain object: comments and trailing commas, duplicate keys, `${NAME}`.

Why not the json5 package: with version 0.17.3 its errors for the mistakes that people
make name another character or only the end of the file (a forgotten quote is reported as an
unexpected line feed, an open comment as "end of input"), it keeps quiet about duplicate keys, takes
single quotes, hexadecimal numbers and NaN, and needs 100 ms for 5 KB. Here comments and trailing
commas become blanks, so that every position stays what it was, and the standard library does the
rest.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

_TOKEN = re.compile(
    r"""
      (?P<text>"(?:[^"\\\n\r]|\\[^\n\r])*")
    | (?P<comment>//[^\n\r]*|/\*.*?\*/)
    | (?P<open_comment>/\*)
    | (?P<open_text>")
    | (?P<blank>\s+)
    | (?P<sign>[{}\[\],:])
    | (?P<other>[^\s"{}\[\],:/]+|/)
    """,
    re.VERBOSE | re.DOTALL,
)
_PLACEHOLDER = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_PYTHON_WORDS = {"True": "true", "False": "false", "None": "null"}
_TYPOGRAPHIC = "“”„‟«»‘’"


class ConfigTextError(ValueError):
    """The text is no JSON; `str()` says where (line and column, from 1) and what is wrong."""

    def __init__(self, text: str, position: int, what: str) -> None:
        self.line, self.column = _line_column(text, position)
        super().__init__(f"line {self.line}, column {self.column}: {what}")


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


def substitute(text: str, environ: Mapping[str, str]) -> tuple[str, list[str]]:
    """Replaces `${NAME}` from the environment.

    In the query of an endpoint (`http://host/v1?api_key=${NAME}`) the value is percent-encoded,
    since it stands for itself there: a key may contain `+` or `&`.

    Returns:
        The text, and the names that are unset or empty; these stay in the text as they are.
    """
    missing: list[str] = []
    done, rest = "", 0
    for match in _PLACEHOLDER.finditer(text):
        done, rest = done + text[rest : match.start()], match.end()
        value = environ.get(match[1], "")
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


def read_plain(text: str, environ: Mapping[str, str]) -> PlainConfig:
    """Reads the text of a config file.

    Raises:
        ConfigTextError: it is not JSON (comments and trailing commas aside).
    """
    blanked = _blank_out(text)
    try:
        parsed = json.loads(blanked, object_pairs_hook=_Object)
    except json.JSONDecodeError as error:
        raise ConfigTextError(text, error.pos, _explain(blanked, error)) from None
    except RecursionError:
        raise ConfigTextError(text, 0, "the objects are nested too deeply") from None
    except ValueError:  # the only one left: more digits than Python converts
        raise ConfigTextError(text, 0, "a number in this file has too many digits") from None
    result = PlainConfig(None)
    result.value = _walk(parsed, (), environ, result)
    return result


class _Object(dict[str, Any]):
    """A JSON object that remembers which of its keys were given more than once."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        names = [name for name, _ in pairs]
        self.repeated = [name for name in self if names.count(name) > 1]


def _walk(
    value: Any, path: tuple[str | int, ...], environ: Mapping[str, str], result: PlainConfig
) -> Any:
    if isinstance(value, _Object):
        for name in value.repeated:
            place = key_path(*path, name)
            result.problems.append(f"{place}: this key is given more than once; keep one of them")
        return {name: _walk(item, (*path, name), environ, result) for name, item in value.items()}
    if isinstance(value, list):
        return [_walk(item, (*path, i), environ, result) for i, item in enumerate(value)]
    if isinstance(value, float) and not math.isfinite(value):
        result.problems.append(f"{key_path(*path)}: not a number that JSON can write")
    if isinstance(value, str):
        return _walk_text(value, key_path(*path), environ, result)
    return value


def _walk_text(text: str, place: str, environ: Mapping[str, str], result: PlainConfig) -> str:
    result.texts.append((place, text))
    replaced, missing = substitute(text, environ)
    for name in dict.fromkeys(missing):
        state = "empty" if name in environ else "not set"
        result.problems.append(
            f"{place}: ${{{name}}} stands for the environment variable {name}, which is {state}; "
            f"set it in the environment or in .env"
        )
        result.unset.add(place)
    return replaced


def _is_in_query(before: str) -> bool:
    """Whether what follows is the value of a query parameter of an http(s) address."""
    if not before.lower().startswith(("http://", "https://")) or "?" not in before:
        return False
    return "=" in re.split(r"[?&]", before)[-1]


def _blank_out(text: str) -> str:
    """Comments and trailing commas replaced by blanks; all positions stay.

    Raises:
        ConfigTextError: a comment or a text that is never closed.
    """
    pieces: list[str] = []
    comma: int | None = None  # index in `pieces` of a comma that may turn out to be a trailing one
    previous = ""  # the last sign, or "value" for anything else that is neither blank nor comment
    for token in _TOKEN.finditer(text):
        kind, word = token.lastgroup, token[0]
        if kind == "open_comment":
            raise ConfigTextError(text, token.start(), "this comment is never closed with */")
        if kind == "open_text":
            raise ConfigTextError(text, token.start(), _open_text(text, token.start()))
        if kind in ("comment", "blank"):
            pieces.append(re.sub(r"[^\n\r]", " ", word) if kind == "comment" else word)
            continue
        if word in "]}" and comma is not None:
            pieces[comma] = " "
        # A comma with nothing before it ("[,]", "[1,,]") is a mistake and stays for the parser.
        comma = len(pieces) if word == "," and previous in ("value", "]", "}") else None
        previous = word if kind == "sign" else "value"
        pieces.append(word)
    return "".join(pieces)


def _open_text(text: str, position: int) -> str:
    line = re.split(r"[\n\r]", text[position:], maxsplit=1)[0]
    if len(line) == 1 or not line[1:].strip(" ,]}"):
        return 'this quote opens a text that is not closed; is a " missing further left?'
    return (
        'the text that begins here is not closed with a " on its line (write a line break as \\n)'
    )


def _explain(text: str, error: json.JSONDecodeError) -> str:
    """The parser's message in words that help; `text` is what the parser saw."""
    rest = text[error.pos :]
    found = rest.lstrip(" \t\r\n")[:1]
    if not text.strip():
        return "the file is empty"
    if not rest.strip():
        return "the file ends too early: " + _still_open(text)
    if found == "'" or found in _TYPOGRAPHIC:
        return f'{found} is no quotation mark in JSON; write "'
    if found == "#":
        return "comments begin with // (or stand between /* and */)"
    if found.isspace() or found in "\u200b\ufeff":
        return f"the invisible character U+{ord(found):04X} stands here; write a blank"
    if error.msg.startswith("Invalid control character"):
        return "a tab or control character inside a text; write a tab as \\t"
    if error.msg.startswith("Invalid \\"):
        return "a single backslash inside a text; write \\\\ for a backslash, or / in paths"
    if error.msg.startswith("Extra data"):
        return f"{_shown(rest)} after the end of the config; is there a bracket too many?"
    if "delimiter" in error.msg and found == ":" and error.msg.startswith("Expecting ','"):
        return "a colon where a comma was expected; is a quote or a comma missing before it?"
    if error.msg.startswith("Expecting ',' delimiter"):
        if found in "]}":
            where = _still_open(text[: error.pos])
            return f'found "{found}" where something else is still open: {where}'
        return f"a comma is missing before {_shown(rest)} (perhaps at the end of the line before)"
    if error.msg.startswith("Expecting ':' delimiter"):
        return f"a colon is missing between a key and its value, before {_shown(rest)}"
    if error.msg.startswith("Expecting property name"):
        return f"a key in double quotes was expected, not {_shown(rest)}"
    word = (re.match(r"\w+", rest) or [""])[0]
    if word in _PYTHON_WORDS:
        return f"{word} is Python; JSON writes {_PYTHON_WORDS[word]}"
    return f"a value was expected, not {_shown(rest)}; texts stand in double quotes"


def _still_open(text: str) -> str:
    """Which bracket waits for its partner at the end of `text`."""
    stack: list[tuple[str, int]] = []
    for token in _TOKEN.finditer(text):
        if token[0] in ("{", "["):
            stack.append((token[0], token.start()))
        elif token[0] in ("}", "]") and stack:
            stack.pop()
    if not stack:
        return "something is missing here"
    sign, position = stack[-1]
    line, column = _line_column(text, position)
    return f'the "{sign}" of line {line}, column {column} is not closed'


def _shown(rest: str) -> str:
    """The beginning of what is left: a key or a plain word, nothing that could be a secret."""
    rest = rest.lstrip()
    if key := re.match(r'"\w{1,40}"(?=\s*:)', rest):
        return key[0]
    if rest.startswith('"'):
        return "the next text"
    word = re.match(r"[A-Za-z_]{1,24}(?!\w)", rest)
    return f'"{word[0] if word else rest[:1]}"'


def _line_column(text: str, position: int) -> tuple[int, int]:
    return text.count("\n", 0, position) + 1, position - text.rfind("\n", 0, position)
