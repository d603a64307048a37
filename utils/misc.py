"""Small protocol pieces: the two default parsers and the reply cutter.

A score is comparable with a published one only if answers are read the same way, so the regular
expressions below are part of the protocol and stay as they are, oddities included.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from utils.contracts import Point

# parity: the order decides, and so does the fourth pattern: it takes the first letter of a line
# even inside a word ("Based on ..." gives B). The sign after the ASCII colon in the third one is
# the full-width colon U+FF1A.
OPTION_PATTERNS = (
    r"\b([A-F])[\.:](?!\w)",
    r"\bOption\s+([A-F])\b",
    r"\bAnswer\s*[:：]?\s*([A-F])\b",
    r"^[ \t]*([A-F])[\.:]?",
    r"[\'\"]([A-F])[\'\"]",
    r"\b([A-F])\b(?!\s+\w)",
)

OPTION_LETTERS = "ABCDEF"
"""All that these patterns know."""

# parity: verbose notation, so blanks and line breaks in the pattern itself mean nothing.
POINT_PATTERN = r"""
        (?:x\s*[:=]?\s*)?                 
        [\(\[\{]?              
        \s*([-+]?(?:\d+\.\d+|\.\d+|\d+))\s* 
        [,\s;]+                       
        (?:y\s*[:=]?\s*)?        
        \s*([-+]?(?:\d+\.\d+|\.\d+|\d+))\s* 
        [\)\]\}]?    
    """  # noqa: W291

_NUMBER = r"(?:\d+\.\d+|\.\d+|\d+)"
# The same language read in linear time: the first number is taken whole or not at all, and never
# from its middle, because nothing that may follow it is a digit.
_LINEAR_POINT_PATTERN = re.compile(
    POINT_PATTERN.replace(_NUMBER, r"(?>(?<!\d)\d+\.\d+|\.\d+|(?<!\d)\d+)", 1),
    re.IGNORECASE | re.VERBOSE,
)
_LINE_START = "^"

REPLY_MARKERS = {
    "GUIElementGrounding": "assistantos\n",
    "GUIContentUnderstanding": "assistantall\n",
}
OTHER_REPLY_MARKER = "assistant"


def parser_answers_into_option(text: str, meta: Mapping[str, Any] | None = None) -> str | None:  # noqa: ARG001
    """The default parser of L1: the letter A..F that a reply chooses, or None.

    parity: case does not matter, and the first pattern that matches anywhere decides.

    Args:
        text: the model's reply.
        meta: not used; parse functions take it.

    Raises:
        TypeError: `text` is no text.
    """
    condensed = _condensed(text)
    for pattern in OPTION_PATTERNS:
        searched = text if pattern.startswith(_LINE_START) else condensed
        if found := re.search(pattern, searched, re.IGNORECASE | re.MULTILINE):
            return found.group(1).upper()
    return None


def parser_response_into_coordinates(
    text: str,
    meta: Mapping[str, Any] | None = None,  # noqa: ARG001
) -> Point | None:
    """The default parser of L2: the first pair of numbers of a reply, or None.

    parity: numbers are taken as they stand; whether they are fractions or pixels of the image
    file is decided by the score (a coordinate above 1 means pixels).

    Args:
        text: the model's reply.
        meta: not used; parse functions take it.

    Raises:
        TypeError: `text` is no text.
    """
    found = _LINEAR_POINT_PATTERN.search(_condensed(text))
    return (float(found.group(1)), float(found.group(2))) if found else None


def _condensed(text: str) -> str:
    """One blank for every run of blanks and line breaks, which mean the same to the patterns.

    Some models go on with blanks to the token limit. The patterns have up to four places that may
    take them, and trying all ways to share 2,000 out takes minutes.
    """
    return re.sub(r"\s{2,}", " ", text)


def cut_reply(text: str, dataset: str) -> str:
    """What a model said, out of a text that may hold the prompt before it and debris behind it.

    parity: keeps what follows the last marker of the data set and ends before the first closing
    brace that was never opened; a text with nothing behind its marker comes back whole.

    Args:
        text: decoded without special tokens, so a turn of the model starts with `assistantos` or
            `assistantall` (role and recipient) or plainly `assistant`.
        dataset: name of the benchmark, e.g. "GUIElementGrounding".

    Raises:
        AttributeError: `text` is no text.
    """
    marker = REPLY_MARKERS.get(dataset, OTHER_REPLY_MARKER)
    reply = text.rpartition(marker)[2] or text
    open_braces = 0
    for position, sign in enumerate(reply):
        open_braces += (sign == "{") - (sign == "}")
        if open_braces < 0:
            return reply[:position]
    return reply
