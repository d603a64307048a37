"""Which text on a screen does an instruction, or an answer option, talk about?

String similarity between a prompt and the lines on the screen, nothing more: no reasoning, no
icons, no layout. Pure functions, total over their inputs.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from models.ocr_baseline.text import (
    Point,
    TextLine,
    Word,
    closest_word,
    compact,
    numbers,
    quoted_phrases,
    split_words,
)

# From this likeness (0 to 1) on, a quoted phrase is taken as found.
SAME_PHRASE = 0.8
# Candidates this close to the best, as a share of its score, are told apart by their place.
NEARLY_EQUAL = 0.93
# Below this a match is the accident of one common word.
SOME_EVIDENCE = 0.1
# Parts of a line are compared up to this length: a page of prose must not cost quadratic time.
LONGEST_PART_WORDS = 12

_SENTENCE_START = re.compile(r"(?:^|[.!?:])\W*$")
_NEGATED = re.compile(r"\b(?:which|what)\b[^.?!]*\b(?:not|isn't|aren't|except)\b", re.IGNORECASE)
_X_OF_WORD = {"left": 0.0, "leftmost": 0.0, "right": 1.0, "rightmost": 1.0}
_Y_OF_WORD = {"top": 0.0, "upper": 0.0, "topmost": 0.0, "bottom": 1.0, "lower": 1.0}


@dataclass(frozen=True)
class Match:
    """A part of a line that may be meant.

    Attributes:
        likeness: to what was looked for, from 0 to 1.
        share: of the line's words that the part has, from 0 to 1.
        point_frac: its centre.
    """

    likeness: float
    share: float
    point_frac: Point

    @property
    def score(self) -> float:
        """A label that is a whole line is meant more often than its words inside a sentence."""
        return self.likeness * (0.7 + 0.3 * self.share)


def find_target(instruction: str, lines: Sequence[TextLine]) -> Match | None:
    """The text on the screen that an instruction most likely points at.

    The first quoted phrase that stands on the screen wins; else the part of a line that shares the
    most telling words with the instruction. Among nearly equal ones words such as "bottom" and
    "last" decide, then nearness to what the rest of the instruction names, then reading order.

    Returns:
        None if no text on the screen has anything to do with the instruction.
    """
    phrases = quoted_phrases(instruction)
    for phrase in phrases:
        candidates = _nearly_best(phrase_matches(phrase, lines))
        if candidates:
            rest = instruction.replace(phrase, " ")
            named = [m for p in phrases if p != phrase for m in phrase_matches(p, lines)]
            anchor = max(named or content_matches(rest, lines), key=_score, default=None)
            return _choose_by_place(rest, candidates, anchor)
    candidates = _nearly_best(content_matches(instruction, lines))
    return _choose_by_place(instruction, candidates, None) if candidates else None


def phrase_matches(phrase: str, lines: Sequence[TextLine]) -> list[Match]:
    """For each line that contains the phrase, or nearly, the part of it that does."""
    from rapidfuzz import fuzz

    wanted = compact(phrase)
    if not wanted:
        return []
    matches = []
    for line in lines:
        found = []
        for part in _parts(line.words):
            # A whole line keeps the signs at its ends: "C++", "Save as...".
            is_whole = len(part) == len(line.words)
            text = line.text if is_whole else line.text[part[0].start : part[-1].end]
            if not 0.5 <= len(text) / len(phrase) <= 2:  # cheap, and spares most of the work
                continue
            likeness = fuzz.ratio(wanted, compact(text)) / 100
            if likeness >= SAME_PHRASE and numbers(phrase) == numbers(text):
                found.append(_match(likeness, line, part))
        matches += sorted(found, key=_score, reverse=True)[:1]
    return matches


def content_matches(instruction: str, lines: Sequence[TextLine]) -> list[Match]:
    """For each line that shares telling words with the instruction, the part that fits it best.

    How much of the part is in the instruction counts more than how much of the instruction is in
    the part (an F-measure with beta 0.5): labels are short, and descriptions of them are long.
    """
    query = _query(instruction, lines)
    matches = []
    for line in lines:
        kin = {word: closest_word(word.form, query) for word in line.words}
        found = []
        for part in _parts(line.words):
            # With a foreign word at an end, a part is never better than without it.
            if not kin[part[0]][1] or not kin[part[-1]][1]:
                continue
            weight = sum(word.line_weight for word in part)
            precision = sum(word.line_weight * kin[word][1] for word in part) / weight
            shared = dict(kin[word] for word in part)
            recall = sum(query.get(form, 0.0) * likeness for form, likeness in shared.items())
            likeness = 1.25 * precision * recall / (0.25 * precision + recall)
            found.append(_match(likeness, line, part))
        matches += sorted(found, key=_score, reverse=True)[:1]
    return [match for match in matches if match.score >= SOME_EVIDENCE]


def choose_option(
    question: str, options: Mapping[str, str], lines: Sequence[TextLine]
) -> str | None:
    """The letter of the option that the text on the screen supports best.

    What counts is how many of an option's own telling words are on the screen, then whether they
    stand together in one line, then how near to what the question is about. Asked which option is
    *not* there, the least supported one is taken.

    Args:
        question: the question's text.
        options: letter to option text.
        lines: the text on the screen.

    Returns:
        None if the screen supports no option.
    """
    anchor = find_target(question, lines)
    support = {
        letter: _support(text, [t for o, t in options.items() if o != letter], anchor, lines)
        for letter, text in options.items()
    }
    if not support or max(support.values()) < SOME_EVIDENCE:
        return None
    pick = min if _NEGATED.search(question) else max
    return pick(support, key=lambda letter: support[letter])


def _support(
    option: str, others: Sequence[str], anchor: Match | None, lines: Sequence[TextLine]
) -> float:
    """How well the screen supports an option, from 0 to 1."""
    screen = {word.form: 1.0 for line in lines for word in line.words}
    other_forms = [{word.form for word in split_words(other)} for other in others]
    weights: dict[str, float] = {}
    for word in split_words(option):
        rivals = sum(word.form in forms for forms in other_forms)
        # What every option says tells none of them apart.
        weights[word.form] = max(word.weight, 0.05) / (1 + rivals)
    if not weights or not screen:
        return 0.0
    covered = sum(w * closest_word(form, screen)[1] for form, w in weights.items())
    coverage = covered / sum(weights.values())
    matches = phrase_matches(option, lines) or content_matches(option, lines)
    together = max((match.likeness for match in matches), default=0.0)
    nearness = 0.0
    if anchor is not None:
        nearness = max(
            (
                match.likeness * (1 - _distance(anchor.point_frac, match.point_frac))
                for match in matches
            ),
            default=0.0,
        )
    return 0.6 * coverage + 0.2 * together + 0.2 * nearness


def _distance(a: Point, b: Point) -> float:
    """0 for the same place, 1 for opposite corners; a row's ends are nearer than a column's."""
    return math.hypot(a[0] - b[0], 3 * (a[1] - b[1])) / math.hypot(1, 3)


def _query(instruction: str, lines: Sequence[TextLine]) -> dict[str, float]:
    """The instruction's words and their shares of its meaning, which add up to 1.

    Early words (the subject), words capitalised inside a sentence (labels, names), words with
    digits and words that are rare on this screen say more.
    """
    query: dict[str, float] = {}
    for word in split_words(instruction):
        if word.weight == 0 or word.form in query:
            continue
        on_lines = sum(any(w.form == word.form for w in line.words) for line in lines)
        before = instruction[: word.start]
        is_name = instruction[word.start].isupper() and not _SENTENCE_START.search(before)
        is_exact = is_name or any(char.isdigit() for char in word.form)
        weight = word.weight * (2.0 if is_exact else 1.0)
        query[word.form] = weight / (1 + 0.1 * len(query)) / math.sqrt(max(on_lines, 1))
    total = sum(query.values())
    return {form: weight / total for form, weight in query.items()}


def _score(match: Match) -> float:
    return match.score


def _match(likeness: float, line: TextLine, part: Sequence[Word]) -> Match:
    point_frac = line.point_frac(part[0].start, part[-1].end)
    return Match(likeness, len(part) / len(line.words), point_frac)


def _parts(words: Sequence[Word]) -> Iterator[Sequence[Word]]:
    """Every run of words, longer ones first, up to the length that is still compared."""
    for length in range(min(len(words), LONGEST_PART_WORDS), 0, -1):
        for start in range(len(words) - length + 1):
            yield words[start : start + length]


def _nearly_best(matches: Sequence[Match]) -> list[Match]:
    best = max(map(_score, matches), default=0.0)
    return [match for match in matches if match.score >= best * NEARLY_EQUAL]


def _choose_by_place(instruction: str, matches: Sequence[Match], anchor: Match | None) -> Match:
    """The match at the place that words ("top", "last") or the anchor name; else the best one."""
    forms = [word.form for word in split_words(instruction)]
    x_frac = next((_X_OF_WORD[form] for form in forms if form in _X_OF_WORD), None)
    y_frac = next((_Y_OF_WORD[form] for form in forms if form in _Y_OF_WORD), None)
    # Rounded: words of one row differ a little in height, as their letters do.
    in_reading_order = sorted(matches, key=lambda m: (round(m.point_frac[1], 2), m.point_frac[0]))
    if x_frac is not None or y_frac is not None:
        return min(
            in_reading_order,
            key=lambda m: _off(m.point_frac[0], x_frac) + _off(m.point_frac[1], y_frac),
        )
    if "last" in forms:
        return in_reading_order[-1]
    if "first" in forms:
        return in_reading_order[0]
    if anchor is not None:
        near = anchor.point_frac
        return min(in_reading_order, key=lambda m: _distance(m.point_frac, near))
    return max(in_reading_order, key=_score)


def _off(value_frac: float, wanted_frac: float | None) -> float:
    return 0.0 if wanted_frac is None else abs(value_frac - wanted_frac)
