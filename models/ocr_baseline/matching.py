"""Find the text on a screen that an instruction, or an answer option, is about.

String similarity between a prompt and the lines on the screen, nothing more: no reasoning, no
icons, no layout. Pure functions, total over their inputs; places are fractions of the image.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

Point = tuple[float, float]
Match = tuple[float, Point]  # a part of a line: how well it fits, from 0 to 1, and its centre

SAME_PHRASE = 0.8  # likeness (0 to 1) from which on two phrases are taken for the same
SAME_WORD = 0.82
SOME_EVIDENCE = 0.1  # below, a match is the accident of one common word
# 12:30 and 4.99 are one word, "CancelApply" is two: narrow spaces get lost in OCR.
_WORD = re.compile(r"\d+(?:[.,:/]\d+)+|[A-Z]?[a-z]+(?=[A-Z])|[^\W_]+")
# Straight and curly quotation marks; an apostrophe between letters neither opens nor closes.
_QUOTED = re.compile(
    r"[\"\u201c\u201e](.{1,80}?)[\"\u201c\u201d]|(?<!\w)['\u2018](.{1,80}?)['\u2019](?!\w)"
)
# Words for a side: which coordinate, and its value.
_SIDES = {"left": (0, 0), "right": (0, 1), "top": (1, 0), "bottom": (1, 1), "lower": (1, 1)}
_FUNCTION = (
    "a an the this that these those it its is are was were be been being am do does did of in on "
    "at to for from by with and or but if then than as into onto so such can could will would "
    "should may might must you your i my me we our they their them he she his her what which who "
    "whom when where how why there here s t ll re ve d m"
)
_FUNCTION_WORDS = frozenset(_FUNCTION.split())


class Word(NamedTuple):
    """A word of a text: its case-folded form and its place."""

    form: str
    start: int
    end: int


class TextLine:
    """A line of text on the screen: as it was read, its words, and x1, y1, x2, y2 of its box."""

    def __init__(self, text: str, box_frac: Sequence[float]) -> None:
        self.text = text
        self.box_frac = box_frac
        self.words = split_words(text)


def split_words(text: str) -> list[Word]:
    """Return the words of a text in any script, in order."""
    return [Word(match.group().casefold(), *match.span()) for match in _WORD.finditer(text)]


def find_target(instruction: str, lines: Sequence[TextLine]) -> Point | None:
    """Return the centre of the text that an instruction most likely points at, None without one.

    The first quoted phrase that stands on the screen wins; else the part of a line that shares the
    most telling words with the instruction. Among equal ones words such as "bottom" decide, then
    nearness to what the rest of the instruction names, then reading order.
    """
    phrases = ["".join(groups).strip() for groups in _QUOTED.findall(instruction)]
    for phrase in phrases:
        matches = phrase_matches(phrase, lines)
        if matches:
            rest = instruction.replace(phrase, " ")
            others = [m for p in phrases if p != phrase for m in phrase_matches(p, lines)]
            return _best_placed(rest, matches, others or content_matches(rest, lines))
    return _best_placed(instruction, content_matches(instruction, lines), [])


def _best_placed(
    instruction: str, matches: Sequence[Match], others: Sequence[Match]
) -> Point | None:
    """Return of the best matches the one where words, or what else is named, point."""
    best_score = max(matches)[0] if matches else 0.0
    # Rounded: words of one row differ a little in height, as their letters do.
    candidates = sorted(
        (point for score, point in matches if score == best_score),
        key=lambda point: (round(point[1], 2), point[0]),
    )
    sides = [_SIDES[word.form] for word in split_words(instruction) if word.form in _SIDES]
    anchor = max(others)[1] if others else None

    def distance(point: Point) -> float:
        if sides or anchor is None:
            return sum(abs(point[axis] - side) for axis, side in sides)
        return _distance(point, anchor)

    return min(candidates, key=distance, default=None)


def _distance(a: Point, b: Point) -> float:
    """Return 0 for the same place, 1 for opposite corners; rows count more than columns."""
    return math.hypot(a[0] - b[0], 3 * (a[1] - b[1])) / math.hypot(1, 3)


def choose_option(
    question: str, options: Mapping[str, str], lines: Sequence[TextLine]
) -> str | None:
    """Return the letter of the option that the text on the screen supports best, if it does one.

    What counts is how many of an option's words are on the screen, and how near to what the
    question is about.
    """
    screen = {word.form for line in lines for word in line.words}
    forms = {letter: {word.form for word in split_words(o)} for letter, o in options.items()}
    counts = Counter(word for words in forms.values() for word in words)
    anchor = find_target(question, lines)
    support: dict[str, float] = {}
    for letter, words in forms.items():
        # What every option says tells none of them apart.
        weights = {word: (0.05 if word in _FUNCTION_WORDS else 1) / counts[word] for word in words}
        # Exact sums: those of a set come in another order in every process.
        covered = math.fsum(w * closest_word(word, screen)[1] for word, w in weights.items())
        coverage = covered / (math.fsum(weights.values()) or 1)
        nearness = 0.0
        if anchor:
            for score, point in content_matches(options[letter], lines):
                nearness = max(nearness, score * (1 - _distance(anchor, point)))
        support[letter] = 0.7 * coverage + 0.3 * nearness
    best = max(support, key=support.__getitem__, default=None)
    return best if best is not None and support[best] >= SOME_EVIDENCE else None


def phrase_matches(phrase: str, lines: Sequence[TextLine]) -> list[Match]:
    """Return for each line that contains the phrase, or nearly, the part of it that does."""
    from rapidfuzz import fuzz

    def likeness(line: TextLine, part: Sequence[Word]) -> float:
        text = line.text[part[0].start : part[-1].end].casefold()
        ratio = fuzz.ratio(phrase.casefold(), text) / 100
        return ratio if ratio >= SAME_PHRASE else 0.0

    return _best_parts(lines, likeness) if split_words(phrase) else []


def content_matches(instruction: str, lines: Sequence[TextLine]) -> list[Match]:
    """Return of each line the part that shares most with the instruction (F-measure, beta 0.5)."""
    query = {word.form for word in split_words(instruction)} - _FUNCTION_WORDS
    closest = {word.form: closest_word(word.form, query) for line in lines for word in line.words}

    def likeness(_: TextLine, part: Sequence[Word]) -> float:
        # With a foreign word at an end, a part is never better than without it.
        if not closest[part[0].form][1] or not closest[part[-1].form][1]:
            return 0.0
        weights = {word.form: 0.1 if word.form in _FUNCTION_WORDS else 1.0 for word in part}
        shared = sum(weight * closest[form][1] for form, weight in weights.items())
        precision = shared / sum(weights.values())
        recall = sum(dict(closest[form] for form in weights).values()) / len(query)
        return 1.25 * precision * recall / (0.25 * precision + recall)

    return [match for match in _best_parts(lines, likeness) if match[0] >= SOME_EVIDENCE]


def _best_parts(
    lines: Sequence[TextLine], likeness_of: Callable[[TextLine, Sequence[Word]], float]
) -> list[Match]:
    """Return the best run of words of each line; all characters are taken as equally wide."""
    best_parts = []
    for line in lines:
        x1, y1, x2, y2 = line.box_frac
        best: Match = (0.0, (0.0, 0.0))
        for start in range(len(line.words)):
            for end in range(start + 1, min(start + 12, len(line.words)) + 1):
                part = line.words[start:end]
                # A label that is a whole line is meant more often than its words in a sentence.
                score = likeness_of(line, part) * (0.7 + 0.3 * len(part) / len(line.words))
                if score > best[0]:
                    middle = (part[0].start + part[-1].end) / 2 / len(line.text)
                    best = score, (x1 + (x2 - x1) * middle, (y1 + y2) / 2)
        if best[0] > 0:
            best_parts.append(best)
    return best_parts


def closest_word(form: str, candidates: Collection[str]) -> tuple[str, float]:
    """Return the candidate that is most like a word, and the likeness: 0 where none is the same."""
    from rapidfuzz import fuzz

    if form in candidates:
        return form, 1.0
    likeness, best = max(((fuzz.ratio(form, c) / 100, c) for c in candidates), default=(0, ""))
    return (best, 0.95 * likeness) if likeness >= SAME_WORD else (form, 0.0)
