"""Text on a screen: lines with their places, their words, and when two words are the same.

Pure functions, total over their inputs. Places are fractions of the picture, origin top left.

rapidfuzz is imported inside the functions that need it, so that this module and those that import
it can be imported where it is missing.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

Point = tuple[float, float]
Box = tuple[float, float, float, float]

# From this likeness (0 to 1) on, an inflected or misread word is taken for the same one.
SAME_WORD = 0.82

_CJK = r"\u3040-\u30ff\u3400-\u9fff"
_WORD = re.compile(
    r"\d+(?:[.,:/]\d+)+"  # 12:30 and 4.99 are one word
    rf"|[{_CJK}]"  # no spaces to go by: one character each
    r"|[A-Z]?[a-z]+(?=[A-Z])"  # "CancelApply": narrow spaces get lost in OCR
    rf"|[^\W_{_CJK}]+"
)
# Straight and curly quotation marks; an apostrophe between letters neither opens nor closes.
_QUOTED = re.compile(
    r"[\"\u201c\u201e](.{1,80}?)[\"\u201c\u201d]"
    r"|(?<!\w)['\u2018](.{1,80}?)['\u2019](?!\w)"
    r"|\u300c(.{1,80}?)\u300d|`(.{1,80}?)`"
)

FUNCTION_WORDS = frozenset(
    word
    for words in (
        "a an the this that these those it its is are was were be been being am do does did of in",
        "on at to for from by with and or but if then than as into onto so such can could will",
        "would should may might must you your i my me we our they their them he she his her what",
        "which who whom when where how why there here s t ll re ve d m",
    )
    for word in words.split()
)
# Words with which instructions point at things. A label may consist of them: they keep some weight.
POINTING_WORDS = frozenset(
    word
    for words in (
        "click tap press select choose go use find locate open view show shows display displays",
        "displayed allow allows let lets indicate indicates represent represents button icon tab",
        "menu option link field box bar panel section page screen window app application element",
        "item items text label labeled labelled named titled user users current currently located",
        "corner side area top bottom left right upper lower first last",
    )
    for word in words.split()
)


@dataclass(frozen=True)
class Word:
    """A word of a text: its case-folded form and its characters, from `start` to before `end`."""

    form: str
    start: int
    end: int

    @property
    def weight(self) -> float:
        """How much the word of a prompt says about which text is meant, from 0 to 1."""
        if self.form in FUNCTION_WORDS:
            return 0.0
        return 0.3 if self.form in POINTING_WORDS else 1.0

    @property
    def line_weight(self) -> float:
        """How much it matters that the word of a line is not in the prompt."""
        # "Inbox 12": nobody asks for the 12.
        return 0.3 if self.form.isdecimal() else max(self.weight, 0.1)


@dataclass(frozen=True)
class TextLine:
    """A line of text on the screen.

    Attributes:
        text: as it was read.
        box_frac: x1, y1, x2, y2 as fractions of the picture.
    """

    text: str
    box_frac: Box

    @cached_property
    def words(self) -> tuple[Word, ...]:
        """The words of the line, see `split_words`."""
        return split_words(self.text)

    def point_frac(self, start: int, end: int) -> Point:
        """Centre of the characters from `start` to before `end`, taken as equally wide."""
        x1, y1, x2, y2 = self.box_frac
        middle = (_width(self.text[:start]) + _width(self.text[:end])) / 2
        return x1 + (x2 - x1) * middle / max(_width(self.text), 1), (y1 + y2) / 2


def split_words(text: str) -> tuple[Word, ...]:
    """The words of a text in any script, in order."""
    return tuple(Word(m.group().casefold(), m.start(), m.end()) for m in _WORD.finditer(text))


def quoted_phrases(text: str) -> list[str]:
    """What stands in quotation marks of any kind, in order."""
    phrases = ("".join(groups).strip() for groups in _QUOTED.findall(text))
    return [phrase for phrase in phrases if split_words(phrase)]


def closest_word(form: str, known: Collection[str]) -> tuple[str, float]:
    """The known word that is most like this one, and the likeness: 0 where none is the same."""
    from rapidfuzz import fuzz

    if form in known:
        return form, 1.0
    # Digits are not spelling: 15 is not nearly 16. And short words have too many neighbours.
    if len(form) < 4 or not form.isalpha():
        return form, 0.0
    stem = _stem(form)
    likeness, best = max(
        ((fuzz.ratio(stem, _stem(other)) / 100, other) for other in known if len(other) > 3),
        default=(0.0, form),
    )
    return (best, 0.95 * likeness) if likeness >= SAME_WORD else (form, 0.0)


def compact(text: str) -> str:
    """Without case and spaces, which OCR gets wrong, and with the dots of an ellipsis dropped."""
    return re.sub(r"[\s.\u2026]+", "", text).casefold()


def numbers(text: str) -> list[str]:
    """The runs of digits in a text, in order."""
    return re.findall(r"\d+", text)


def _stem(form: str) -> str:
    """Without the commonest English endings: "searching" and "search", "files" and "file" agree."""
    for ending in ("s", "ing", "ed", "e"):
        if len(form) - len(ending) >= 3 and form.isalpha():
            form = form.removesuffix(ending)
    return form


def _width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)
