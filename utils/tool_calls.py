"""Tool calls that a model has written into its reply, as JSON, XML or a Python dictionary.

    {"name": "computer_use", "arguments": {"action": "left_click", "coordinate": [512, 384]}}
    <function=computer_use><parameter=action>left_click</parameter></function>     Qwen3-Coder
    <tool_call>computer_use<arg_key>action</arg_key><arg_value>left_click</arg_value>    GLM
    <invoke name="computer_use"><parameter name="action">left_click</parameter></invoke>  MiniMax

Servers with a tool-call parser take them out of the reply; others leave them where they are.
Nothing of a reply is ever executed.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

MOST_BRACES = 200  # of which a JSON object is tried to be read

_NAME = r"[^<>\"'\n]{1,200}"
_PREFIX = r"(?:[|｜]DSML[|｜]|[a-z]{1,10}:)?"
_XML_SIGN = re.compile(
    rf"<function=[\"']?(?P<function>{_NAME})[\"']?>"
    rf"|<{_PREFIX}invoke\s+name=[\"']?(?P<invoke>{_NAME})[\"']?\s*>"
    r"|<tool_call>\s*+(?P<bare>[\w.-]{1,200})\s*+(?=<arg_key>)"
    rf"|<parameter=[\"']?(?P<parameter>{_NAME})[\"']?>"
    rf"|<{_PREFIX}parameter\s+name=[\"']?(?P<named>{_NAME})[\"']?[^<>]{{0,100}}>"
    rf"|<arg_key>(?P<key>{_NAME})</arg_key>\s*+<arg_value>"
    rf"|</(?P<end>arg_value|function|tool_call|{_PREFIX}(?:parameter|invoke))>"
)
_BRACE_SIGN = re.compile(r"\\.|['\"{}]", re.DOTALL)


def written_calls(text: str) -> list[Mapping[str, Any]]:
    """Return the calls and other objects of a text, outermost first, in order.

    A call in XML comes as `{"name": ..., "arguments": {...}}`, with texts for arguments. Where a
    text has one, its JSON is part of arguments; where it has JSON, other braces are not read.
    """
    return xml_calls(text) or list(json_objects(text)) or list(_python_objects(text))


def json_objects(text: str) -> Iterator[Mapping[str, Any]]:
    """Yield the JSON objects of a text, outermost first, in order."""
    decoder = json.JSONDecoder(strict=False)  # models write line feeds into texts as they are
    position = text.find("{")
    for _ in range(MOST_BRACES):
        if position < 0:
            return
        try:
            value, end = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            end = position + 1
        else:
            if isinstance(value, dict):
                yield value
        position = text.find("{", end)


def xml_calls(text: str) -> list[Mapping[str, Any]]:
    """Return the calls of a text in XML; one whose last argument is cut off is none."""
    calls: list[Mapping[str, Any]] = []
    arguments: dict[str, str] | None = None
    name = ""  # of the argument that is open
    start = 0
    for sign in _XML_SIGN.finditer(text):
        if arguments is not None and name:
            # Models put a line feed behind an opening tag and before a closing one.
            arguments[name] = text[start : sign.start()].removeprefix("\n").removesuffix("\n")
            name = ""
        called = sign["function"] or sign["invoke"] or sign["bare"]
        argument = sign["parameter"] or sign["named"] or sign["key"]
        if called:
            arguments = {}
            calls.append({"name": called.strip(), "arguments": arguments})
        elif argument:
            name = argument.strip()
            start = sign.end()
        elif sign["end"] in ("function", "tool_call") or sign["end"].endswith("invoke"):
            arguments = None
    return calls[:-1] if name and arguments is not None else calls


def _python_objects(text: str) -> Iterator[Mapping[str, Any]]:
    """Yield the outermost dictionaries of a text in Python's words: `{'action': 'wait'}`."""
    depth = 0
    start = 0
    quote = ""
    for sign in _BRACE_SIGN.finditer(text):
        match sign[0]:
            case "'" | '"' as mark if depth and quote in ("", mark):
                quote = "" if quote else mark
            case "{" if not quote:
                start = sign.start() if depth == 0 else start
                depth += 1
            case "}" if depth and not quote:
                depth -= 1
                if depth == 0 and isinstance(value := _literal(text[start : sign.end()]), dict):
                    yield value


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return None
