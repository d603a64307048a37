"""How the protocol's option parser comes to its letter, and whether that letter is one at all."""

from __future__ import annotations

import re
from dataclasses import dataclass

from utils.misc import OPTION_PATTERNS
from utils.reply_letters import ARTICLE

PATTERN_NAMES = (
    "a letter before . or :",
    'after "Option"',
    'after "Answer"',
    "the first letter of a line",
    "a letter in quotes",
    "a letter on its own",
)
"""In the order of `OPTION_PATTERNS`."""

# The same matches without giving back blanks: as written, a reply of blanks takes quadratic time.
_IN_LINEAR_TIME = (r"\s*[:：]?\s*([A-F])", r"\s*+(?:[:：]\s*+)?([A-F])")
_COMPILED = tuple(
    re.compile(pattern.replace(*_IN_LINEAR_TIME), re.IGNORECASE | re.MULTILINE)
    for pattern in OPTION_PATTERNS
)


@dataclass(frozen=True, slots=True)
class Decision:
    """What the protocol's parser did with a reply.

    Attributes:
        pattern: number of the pattern that decided, from 0.
        letter: that came of it.
        start: where in the reply it stands.
        is_of_word: it is part of an ordinary word, an abbreviation, or the article "a".
    """

    pattern: int
    letter: str
    start: int
    is_of_word: bool


def decide(reply: str) -> Decision | None:
    """How the protocol's parser comes to its letter; None where it finds none."""
    for number, pattern in enumerate(_COMPILED):
        if found := pattern.search(reply):
            start, end = found.span(1)
            return Decision(number, found.group(1).upper(), start, _is_of_word(reply, start, end))
    return None


def _is_of_word(reply: str, start: int, end: int) -> bool:
    before, after = reply[max(0, start - 2) : start], reply[end : end + 2]
    if before[-1:].isalnum() or after[:1].isalnum():
        return True
    joined = after[:1] in ("'", "’", "-") and after[1:2].isalpha()  # I'd, A-frame, B's
    abbreviated = after[:1] == "." and (
        after[1:2].isalpha() or (len(before) == 2 and before[1] == "." and before[0].isalpha())
    )
    is_article = reply[start] in "aA" and ARTICLE.match(reply, end) is not None
    return joined or abbreviated or is_article
