"""What a reply answers, apart from the thinking around it; and parse functions that read only that.

Models that think before they answer write it between marks (`<think>`, `<thinking>`, `◁think▷`,
`[THINK]`), unless their server takes it out. The protocol's parsers know no marks: they read the
first letter or the first pair of numbers, which then is a thought. The two parse functions here can
be named in a config instead; the audits say when that is called for.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Mapping
from typing import Any

from utils.contracts import Point
from utils.misc import parser_answers_into_option, parser_response_into_coordinates
from utils.reply_letters import strict_option

PARSE_OPTION = f"{__name__}.parse_option"
"""What a config's `parse_function` says for L1."""

_MARK = re.compile(
    r"<(?P<end>/)?(?:seed:)?think(?:ing)?>|◁(?P<end2>/)?think(?:ing)?▷|\[(?P<end3>/)?think\]",
    re.IGNORECASE,
)
_PROTOCOL_LETTERS = "ABCDEF"


def answer_span(reply: str) -> tuple[int, int]:
    """Where the answer of a reply stands: the last text outside of its thinking.

    A closing mark alone ends a thinking that the chat template has opened; an opening one alone
    starts a thinking that was cut off. Without marks it is the whole reply, and empty where a
    reply is nothing but thinking.

    Returns:
        Start and end in `reply`.
    """
    answer = 0, 0
    start: int | None = 0  # of the text outside; None within a thinking
    for mark in _MARK.finditer(reply):
        if mark["end"] or mark["end2"] or mark["end3"]:
            start = mark.end()
        elif start is not None:
            answer = _unless_blank(reply, start, mark.start()) or answer
            start = None
    if start is not None:
        answer = _unless_blank(reply, start, len(reply)) or answer
    return answer


def _unless_blank(reply: str, start: int, end: int) -> tuple[int, int] | None:
    return (start, end) if reply[start:end].strip() else None


def after_thinking(reply: str) -> str:
    """A reply without its thinking, as `answer_span` has it."""
    start, end = answer_span(reply)
    return reply[start:end]


def option_after_thinking(reply: str, letters: Collection[str]) -> str | None:
    """The letter that a reply answers, thoughts aside; None where it has none.

    The one that it plainly states, where it does; else the one that the protocol's parser reads.

    Args:
        letters: of the sample's options; no other one can be stated.
    """
    answer = after_thinking(reply)
    return strict_option(answer, letters) or parser_answers_into_option(answer)


def parse_option(response: str, meta: Mapping[str, Any]) -> str | None:
    """L1, ready-made: the letter of the answer, whatever letters stand in the thinking.

    Args:
        response: the model's reply.
        meta: the sample's fields; `options` is a mapping or its text.
    """
    return option_after_thinking(response, _letters(meta.get("options")))


def parse_point(response: str, meta: Mapping[str, Any] | None = None) -> Point | None:
    """L2, ready-made: the protocol's own parser over what follows the thinking.

    For a model that answers in one frame throughout, `utils.coordinates.parse_fractions` and its
    like are the better choice: they look past the thinking too.
    """
    return parser_response_into_coordinates(after_thinking(response), meta)


def _letters(options: Any) -> Collection[str]:
    if isinstance(options, str):
        try:
            options = ast.literal_eval(options)
        except (ValueError, SyntaxError):
            options = None
    if not isinstance(options, Mapping):
        return _PROTOCOL_LETTERS
    return [letter for letter, text in options.items() if text is not None]
