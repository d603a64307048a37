"""Replies in one width and punctuation: `（５１２，３８４）` is read like `(512,384)`.

Models that think in Chinese or Japanese write full-width signs, and some write typographic quotes
and minus signs or signs that nobody sees (zero-width space). Readers fold a reply before they read
it. Each sign becomes one sign or none, so that a place in the folded text has a place in the reply.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

# What Unicode does not count as another width of the same sign.
_OTHER_SIGNS = {
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2212", "-"),  # hyphens, dashes, the minus sign
    **dict.fromkeys("\u3001\u060c", ","),  # ideographic and Arabic comma
    **dict.fromkeys("\u201c\u201d\u201e\u201f", '"'),
    **dict.fromkeys("\u2018\u2019\u201b", "'"),
    "\u066b": ".",  # Arabic decimal separator
    **dict.fromkeys("\u3010\u3014", "["),
    **dict.fromkeys("\u3011\u3015", "]"),
}
# Scripts that put no spaces between words: 选C has the letter C.
_UNSPACED = "\u0e00-\u0eff\u1100-\u11ff\u2e80-\ua4cf\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff"
WORD = rf"(?-i:[^\W{_UNSPACED}])"
"""A sign of a word, as part of a regular expression; those of unspaced scripts bound words.

The set has both cases of each letter. Without `-i`, `re` takes three times as long to compile it.
"""

_QUOTED = re.compile(
    r"'(?:[^'\\\n]|\\.)*+'"
    r'|"(?:[^"\\\n]|\\.)*+"'
    r"|\u201c(?P<curly>[^\u201c\u201d\n]*+)\u201d"
)


class FoldedText(NamedTuple):
    """A text with folded signs, and where each of them stands in the original."""

    text: str
    places: Sequence[int]  # one more than signs: the last is the end of the original


def fold(text: str) -> FoldedText:
    """Return a text with its signs folded: width and punctuation, nothing that is only shown."""
    if text.isascii():
        return FoldedText(text, range(len(text) + 1))
    signs = [_folded(sign) for sign in text]
    indexes: Sequence[int] = range(len(text) + 1)
    if not all(signs):
        indexes = [index for index, sign in enumerate(signs) if sign] + [len(text)]
    return FoldedText("".join(signs), indexes)


def fold_outside_quotes(text: str) -> str:
    """Return a text whose signs are folded but for those in quotes: texts to be typed."""
    if text.isascii():
        return text
    parts = []
    end = 0
    for quoted in _QUOTED.finditer(text):
        curly = quoted["curly"]
        inside = quoted[0] if curly is None else '"' + curly.replace('"', '\\"') + '"'
        parts += [fold(text[end : quoted.start()]).text, inside]
        end = quoted.end()
    return "".join([*parts, fold(text[end:]).text])


@lru_cache(maxsize=4096)
def _folded(sign: str) -> str:
    category = unicodedata.category(sign)
    if category == "Cf":  # nobody sees it: zero-width signs, marks of direction
        return ""
    same = unicodedata.normalize("NFKC", sign)
    # A superscript or a circled digit is of another category: 10² is not 102.
    if len(same) != 1 or unicodedata.category(same) != category:
        same = sign
    return _OTHER_SIGNS.get(same, same)
