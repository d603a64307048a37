"""Small protocol pieces: the two default parsers and the reply cutter.

Two scores can be compared only if the replies are read the same way. The regular expressions below
are part of the protocol and stay as they are, with their oddities.
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

OPTION_LETTERS = "ABCDEF"  # all that these patterns know

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

# The same languages read in linear time: blanks are not given back, and the first number is taken
# whole or not at all, and never from its middle, because nothing that may follow it is a digit.
_LINEAR_OPTION_PATTERNS = tuple(
    re.compile(pattern.replace(r"\s*[:：]?\s*([A-F])", r"\s*+(?:[:：]\s*+)?([A-F])"), re.I | re.M)
    for pattern in OPTION_PATTERNS
)
_NUMBER = r"(?:\d+\.\d+|\.\d+|\d+)"
_LINEAR_POINT_PATTERN = re.compile(
    POINT_PATTERN.replace(_NUMBER, r"(?>(?<!\d)\d+\.\d+|\.\d+|(?<!\d)\d+)", 1), re.I | re.X
)


def parser_answers_into_option(text: str, meta: Mapping[str, Any] | None = None) -> str | None:  # noqa: ARG001
    """Return the letter A..F that a reply chooses, or None: the default parser of multiple choice.

    parity: case does not matter, and the first pattern that matches anywhere decides.
    """
    decisive = option_match(text)
    if decisive is None:
        return None
    _, match = decisive
    return match.group(1).upper()


def option_match(text: str) -> tuple[int, re.Match[str]] | None:
    """Return the index of the deciding pattern in `OPTION_PATTERNS`, and its match, or None."""
    for index, pattern in enumerate(_LINEAR_OPTION_PATTERNS):
        match = pattern.search(text)
        if match:
            return index, match
    return None


def parser_response_into_coordinates(
    text: str,
    meta: Mapping[str, Any] | None = None,  # noqa: ARG001
) -> Point | None:
    """Return the first pair of numbers of a reply, or None: the default parser of points.

    parity: numbers are taken as they stand; whether they are fractions or pixels of the image
    file is decided by the score (a coordinate above 1 means pixels).
    """
    # One blank for a run of them, which means the same: some models go on with blanks to the token
    # limit, and trying all ways to share 2,000 of them out takes minutes.
    match = _LINEAR_POINT_PATTERN.search(re.sub(r"\s{2,}", " ", text))
    return (float(match.group(1)), float(match.group(2))) if match else None
