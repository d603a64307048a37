"""Which text on a screen does an instruction, or an answer option, talk about?

String similarity between a prompt and the lines on the screen, nothing more: no reasoning, no
icons, no layout. Pure functions, total over their inputs; places are fractions of the image.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

Point = tuple[float, float]
Match = tuple[float, Point]  # a part of a line: how well it fits, from 0 to 1, and its centre

SAME_PHRASE, SAME_WORD = 0.8, 0.82  # likeness (0 to 1) from which on they are taken as found
SOME_EVIDENCE = 0.1  # below, a match is the accident of one common word
# 12:30 and 4.99 are one word, "CancelApply" is two: narrow spaces get lost in OCR.
_WORD = re.compile(r"\d+(?:[.,:/]\d+)+|[A-Z]?[a-z]+(?=[A-Z])|[^\W_]+")
# Straight and curly quotation marks; an apostrophe between letters neither opens nor closes.
_QUOTED = re.compile(
    r"[\"\u201c\u201e](.{1,80}?)[\"\u201c\u201d]|(?<!\w)['\u2018](.{1,80}?)['\u2019](?!\w)"
)
_NEGATED = re.compile(r"\b(?:which|what)\b[^.?!]*\b(?:not|isn't|aren't|except)\b", re.IGNORECASE)
# Words for a side: which coordinate, and its value.
_SIDES = {"left": (0, 0), "right": (0, 1), "top": (1, 0), "bottom": (1, 1), "lower": (1, 1)}
_FUNCTION = (
    "a an the this that these those it its is are was were be been being am do does did of in on "
    "at to for from by with and or but if then than as into onto so such can could will would "
    "should may might must you your i my me we our they their them he she his her what which who "
    "whom when where how why there here s t ll re ve d m"
)
_POINTING = (  # words with which instructions point at things; a label may consist of them
    "click tap press select choose go open view show button icon tab menu option link field box "
    "bar panel section page window app item text top bottom left right upper lower first last"
)
_WEIGHTS = dict.fromkeys(_FUNCTION.split(), 0.0) | dict.fromkeys(_POINTING.split(), 0.3)


class Word(NamedTuple):
    """A word of a text: its case-folded form, its place, how much it says from 0 to 1."""

    form: str
    start: int
    end: int
    weight: float


class TextLine:
    """A line of text on the screen: as it was read, its words, and x1, y1, x2, y2 of its box."""

    def __init__(self, text: str, box_frac: Sequence[float]) -> None:
        self.text, self.box_frac, self.words = text, box_frac, split_words(text)


def split_words(text: str) -> list[Word]:
    """The words of a text in any script, in order."""
    found = ((match.group().casefold(), match.span()) for match in _WORD.finditer(text))
    return [Word(form, *span, _WEIGHTS.get(form, 1.0)) for form, span in found]


def find_target(instruction: str, lines: Sequence[TextLine]) -> Point | None:
    """Centre of the text on the screen that an instruction most likely points at, if there is any.

    The first quoted phrase that stands on the screen wins; else the part of a line that shares the
    most telling words with the instruction. Among equal ones words such as "bottom" and "last"
    decide, then nearness to what the rest of the instruction names, then reading order.
    """
    phrases = ["".join(groups).strip() for groups in _QUOTED.findall(instruction)]
    for phrase in phrases:
        if found := phrase_matches(phrase, lines):
            rest = instruction.replace(phrase, " ")
            named = [m for p in phrases if p != phrase for m in phrase_matches(p, lines)]
            return _by_place(rest, found, named or content_matches(rest, lines))
    found = content_matches(instruction, lines)
    return _by_place(instruction, found, []) if found else None


def _by_place(instruction: str, found: Sequence[Match], others: Sequence[Match]) -> Point:
    """Of the best matches the one where words, or what else is named, point."""
    # Rounded: words of one row differ a little in height, as their letters do.
    best = sorted((point for score, point in found if score == max(found)[0]),
                  key=lambda point: (round(point[1], 2), point[0]))  # fmt: skip
    forms = [word.form for word in split_words(instruction)]
    if sides := [_SIDES[form] for form in forms if form in _SIDES]:
        return min(best, key=lambda point: sum(abs(point[axis] - side) for axis, side in sides))
    if others and not {"first", "last"} & set(forms):
        anchor = max(others, key=lambda match: match[0])[1]
        return min(best, key=lambda point: _distance(point, anchor))
    return best[-1 if "last" in forms else 0]


def _distance(one: Point, other: Point) -> float:
    """0 for the same place, 1 for opposite corners; a row's ends are nearer than a column's."""
    return math.hypot(one[0] - other[0], 3 * (one[1] - other[1])) / math.hypot(1, 3)


def choose_option(
    question: str, options: Mapping[str, str], lines: Sequence[TextLine]
) -> str | None:
    """The letter of the option that the text on the screen supports best, None if it does none.

    What counts is how many of an option's own words are on the screen, and how near to what the
    question is about. Asked which option is *not* there, the least supported one is taken.
    """
    screen = {word.form for line in lines for word in line.words}
    forms = {letter: {w.form: w.weight for w in split_words(o)} for letter, o in options.items()}
    anchor, support = find_target(question, lines), {}
    for letter, weights in forms.items():
        # What every option says tells none of them apart.
        own = {form: max(weight, 0.05) / sum(form in other for other in forms.values())
               for form, weight in weights.items()}  # fmt: skip
        covered = sum(weight * closest_word(form, screen)[1] for form, weight in own.items())
        found = phrase_matches(options[letter], lines) or content_matches(options[letter], lines)
        near = [score * (1 - _distance(anchor, point)) for score, point in found if anchor]
        support[letter] = 0.7 * covered / (sum(own.values()) or 1) + 0.3 * max(near, default=0)
    if max(support.values(), default=0.0) < SOME_EVIDENCE:
        return None
    return (min if _NEGATED.search(question) else max)(support, key=support.__getitem__)


def phrase_matches(phrase: str, lines: Sequence[TextLine]) -> list[Match]:
    """For each line that contains the phrase, or nearly, the part of it that does."""
    from rapidfuzz import fuzz

    def likeness(line: TextLine, part: Sequence[Word]) -> float:
        # A whole line keeps the signs at its ends: "C++", "Save as...".
        is_whole = len(part) == len(line.words)
        text = line.text if is_whole else line.text[part[0].start : part[-1].end]
        alike = fuzz.ratio(_compact(phrase), _compact(text)) / 100
        same_numbers = re.findall(r"\d+", phrase) == re.findall(r"\d+", text)
        return alike if alike >= SAME_PHRASE and same_numbers else 0.0

    return _best_parts(lines, likeness) if split_words(phrase) else []


def content_matches(instruction: str, lines: Sequence[TextLine]) -> list[Match]:
    """Of each line the part that shares most with the instruction (F-measure, beta 0.5)."""
    query = _query(instruction, lines)
    kin = {word.form: closest_word(word.form, query) for line in lines for word in line.words}

    def likeness(_: TextLine, part: Sequence[Word]) -> float:
        # With a foreign word at an end, a part is never better than without it.
        if not kin[part[0].form][1] or not kin[part[-1].form][1]:
            return 0.0
        weights = {word.form: max(word.weight, 0.1) for word in part}
        precision = sum(weights[form] * kin[form][1] for form in weights) / sum(weights.values())
        shared = dict(kin[form] for form in weights)
        recall = sum(query.get(form, 0.0) * alike for form, alike in shared.items())
        return 1.25 * precision * recall / (0.25 * precision + recall)

    return [match for match in _best_parts(lines, likeness) if match[0] >= SOME_EVIDENCE]


def _best_parts(
    lines: Sequence[TextLine], likeness_of: Callable[[TextLine, Sequence[Word]], float]
) -> list[Match]:
    """The best run of words of each line that has one; all characters taken as equally wide."""
    best = []
    for line in lines:
        words, (x1, y1, x2, y2), found = line.words, line.box_frac, []
        for start in range(len(words)):
            for end in range(start + 1, min(start + 12, len(words)) + 1):
                part = words[start:end]
                # A label that is a whole line is meant more often than its words in a sentence.
                score = likeness_of(line, part) * (0.7 + 0.3 * len(part) / len(words))
                middle = (part[0].start + part[-1].end) / 2 / len(line.text)
                found.append((score, (x1 + (x2 - x1) * middle, (y1 + y2) / 2)))
        best += sorted(found, key=lambda match: -match[0])[:1]
    return [match for match in best if match[0] > 0]


def _query(instruction: str, lines: Sequence[TextLine]) -> dict[str, float]:
    """The words of an instruction and their shares of its meaning: early, exact, rare ones more."""
    query: dict[str, float] = {}
    for word in split_words(instruction):
        if word.weight and word.form not in query:
            on_lines = sum(any(w.form == word.form for w in line.words) for line in lines)
            is_name = word.start > 0 and instruction[word.start].isupper()
            is_exact = is_name or any(char.isdigit() for char in word.form)
            weight = word.weight * (1 + is_exact)
            query[word.form] = weight / (1 + 0.1 * len(query)) / math.sqrt(max(on_lines, 1))
    return {form: weight / sum(query.values()) for form, weight in query.items()}


def closest_word(form: str, known: Collection[str]) -> tuple[str, float]:
    """The known word that is most like this one, and the likeness: 0 where none is the same."""
    from rapidfuzz import fuzz

    if form in known:
        return form, 1.0
    # Digits are not spelling: 15 is not nearly 16. And short words have too many neighbours.
    others = [other for other in known if len(other) > 3 and len(form) > 3 and form.isalpha()]
    alike = ((fuzz.ratio(_stem(form), _stem(other)) / 100, other) for other in others)
    likeness, best = max(alike, default=(0.0, form))
    return (best, 0.95 * likeness) if likeness >= SAME_WORD else (form, 0.0)


def _compact(text: str) -> str:
    """Without case and spaces, which OCR gets wrong, and with the dots of an ellipsis dropped."""
    return re.sub(r"[\s.\u2026]+", "", text).casefold()


def _stem(form: str) -> str:
    """Without the commonest English endings: "searching" and "search", "files" and "file" agree."""
    for ending in ("s", "ing", "ed", "e"):
        if len(form) - len(ending) >= 3:
            form = form.removesuffix(ending)
    return form
