"""Circular evaluation of L1: each question is asked once for every rotation of its options.

A model that picks letters by habit, or guesses, is right now and then; it is hardly ever right in
all rotations. Rotation 0 is the question itself, under the same key, so that a plain run and a
circular one share its answer; rotation k has the key `<key>~k`: the text of
the i-th listed letter is that of the (i+k)-th in the annotation, and the right letter moves along.
Options without a text are neither listed nor moved.

Source: Liu et al. (2023), MMBench: Is Your Multi-modal Model an All-around Player?, section 4.2.
"""

from __future__ import annotations

import functools
import re
import string
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, NamedTuple

from benchmarks.base import index_list
from benchmarks.matrics import in_order
from utils.analysis.columns import Row, SampleColumns, in_percent, share
from utils.contracts import Line, Sample, Status, question_of, turn_key
from utils.findings import Finding, note, warning
from utils.misc import OPTION_LETTERS
from utils.protocol import DIFFICULTIES
from utils.text import format_percent

MAX_NAMED = 20  # questions in a note
MANY_UNPARSED = 0.05  # of the replies to all rotations
TITLE = "L1 GUIContentUnderstanding circular"
COLUMNS = {  # of the table, and the fields of a row that they show
    "plain": "plain",
    "circular": "circular",
    "circular*": "circular_unflagged",
    "consistent": "consistent",
    "blind, plain": "blind_plain",
    "blind, circular": "blind_circular",
}
MEANING = (
    "circular: right in every rotation of the options. consistent: the same text chosen in every "
    "rotation, right or wrong. blind: a random letter for each rotation; this figure is exact and "
    "has no interval"
)


# -- rotating -------------------------------------------------------------------------------------

Options = Mapping[str, str | None]
"""Letter → text; None for a letter that is not listed."""

_CLAIM = r"(?i:options?|choices?|answers?)"
# "above" that goes on ("above the line") belongs to the picture, not to the list of options.
_GOES_ON = r"\s+(?i:the|its?|them|an?|this|that|these|those)\b"
_PLACE = rf"(?i:above|below|preceding|foregoing)\b(?!{_GOES_ON})"
_PLACES = (
    rf"\b(?i:all|none|any|both|either|neither|some|one|two|each)(?i:\s+of)?(?i:\s+the)?"
    rf"(?:\s+{_CLAIM})?(?i:\s+(?:given|listed|mentioned))?\s+{_PLACE}",
    rf"\b(?i:above|preceding|foregoing)(?i:\s+(?:two|three|four|five))?\s+{_CLAIM}\b",
    rf"\b{_CLAIM}\s+{_PLACE}",
)


def listed_letters(options: Options) -> list[str]:
    """Return the letters that a prompt shows, in its order."""
    return [letter for letter in string.ascii_uppercase if options.get(letter) is not None]


def rotated(line: Line, rotation: int) -> Line:
    """Return a copy of the line as it is asked in one rotation; the 0th one is equal to it."""
    options: Options = line["options"]
    letters = listed_letters(options)
    shift = rotation % max(1, len(letters))
    sources = dict(zip(letters, letters[shift:] + letters[:shift], strict=True))
    answers = {source: letter for letter, source in sources.items()}
    # In the annotation's own order of letters: a prompt function may go through them as they come.
    texts = {letter: options[sources.get(letter, letter)] for letter in options}
    return {**line, "options": texts, "answer": answers[line["answer"]]}


def names_other_options(options: Options) -> list[str]:
    """Return the texts that name letters or places among the options: rotating breaks them.

    "A and B", "Only C", "Option D", "all of the above"; but not "Drive C" or "the folder above".
    """
    letters = listed_letters(options)
    texts = [str(options[letter]) for letter in letters]
    patterns = _patterns("".join(letters)) if letters else ()
    return [text for text in texts if any(pattern.search(text) for pattern in patterns)]


@functools.cache
def _patterns(letters: str) -> tuple[re.Pattern[str], ...]:
    one = rf"(?:{_CLAIM}\s+)?\(?[{letters}]\)?"
    joint = r"\s*(?:,\s*(?i:and|or|nor)\b|,|/|&|\+|\b(?i:and|or|nor)\b)\s*"
    lead = r"^\W*(?:(?i:both|either|neither|only|all of|not)\s+)?"
    tail = r"(?:\s+(?i:only|alone|above|both|together|are|is)\b.*)?\W*$"
    return tuple(
        re.compile(pattern)
        for pattern in (
            *_PLACES,
            rf"{lead}{one}(?:{joint}{one})+{tail}",
            rf"^\W*(?i:only|just)\s+{one}\W*$",
            rf"^\W*{one}\s+(?i:only|alone)\W*$",
            rf"\b(?i:except|but)(?i:\s+for)?\s+{one}\W*$",
            rf"\b{_CLAIM}\s+\(?[{letters}]\b",
        )
    )


# -- evaluating -----------------------------------------------------------------------------------


class _Question(NamedTuple):
    """One question in all its rotations."""

    key: str  # the same in each of several answers
    index: Any
    split: str
    picture: int
    hits: list[int]  # of each rotation
    letters: list[str | None]  # that were chosen, likewise
    answers: list[str]  # letters of the right option, likewise
    is_consistent: bool  # the same text was chosen in every rotation
    is_flagged: bool  # an option names letters or places


@dataclass(frozen=True, slots=True)
class Circular:
    """Asks every rotation of every question.

    The protocol's own parser knows the letters A to F; with that one, questions with further
    letters are asked once and left out of the section.
    """

    reads_all_letters: bool = False  # the parse function is another one

    def rotations_of(self, samples: Sequence[Sample]) -> list[Sample]:
        """Return each sample in all its rotations, which are samples of their own."""
        return [
            replace(sample, key=turn_key(sample.key, number), line=rotated(sample.line, number))
            for sample in samples
            for number in range(self.count(sample.line))
        ]

    def count(self, line: Mapping[str, Any]) -> int:
        """The number of rotations of a line, whichever of them it is."""
        letters = listed_letters(line["options"])
        return max(1, len(letters)) if self._can_rotate(letters) else 1

    def _can_rotate(self, letters: Sequence[str]) -> bool:
        return self.reads_all_letters or set(letters) <= set(OPTION_LETTERS)

    def section(self, columns: SampleColumns) -> dict[str, Any]:
        """Return the section "circular" of an analysis, of all rotations in file order.

        Each question counts once, weighted scores or not. Those of which a rotation has not been
        asked yet are left out of every figure, so that plain and circular accuracy are of the same
        questions. A rotation that failed or was refused counts as not right. `rows` are for
        programs (see `_row`), `table` is for people.
        """
        counts: Counter[str] = Counter()
        questions: list[_Question] = []
        unsupported: dict[str, Any] = {}  # with letters that the parser does not know: their index
        incomplete, not_rotated = set(), set()
        pictures = columns.pictures()
        for _, group in groupby(range(len(columns)), columns["question"].__getitem__):
            rotations = list(group)
            first = rotations[0]
            key = question_of(columns["question"][first])
            counts.update(columns["status"][rotation] for rotation in rotations[1:])
            if not self._can_rotate(listed_letters(columns["options"][first])):
                unsupported[key] = columns["index"][first]
            elif len(rotations) < columns["rotations"][first]:
                incomplete.add(key)
            else:
                questions.append(_question(columns, rotations, int(pictures[first])))
                counts["replies"] += len(rotations)
                counts["unparsed"] += sum(_is_unparsed(columns, row) for row in rotations)
                if _has_equal_requests(columns, rotations):
                    not_rotated.add(key)
        counts["incomplete"], counts["not_rotated"] = len(incomplete), len(not_rotated)
        splits = in_order({question.split for question in questions}, DIFFICULTIES)
        rows = [
            _row(split, [question for question in questions if question.split == split])
            for split in splits
        ]
        if questions:
            rows.append(_row("Overall", questions))
        return {
            "title": TITLE,
            "rows": rows,
            "notes": [
                *_notes([*unsupported.values()], questions, rows),
                *_repeats_note(columns),
            ],
            "findings": _findings(counts),
            "table": _table(rows),
        }


def _question(columns: SampleColumns, rotations: Sequence[int], picture: int) -> _Question:
    """Return one question in all its rotations, which are given by their rows in `columns`."""
    first = rotations[0]
    options = [columns["options"][rotation] for rotation in rotations]
    letters = [columns["chosen"][rotation] for rotation in rotations]
    # Of an option that is not listed, or no letter at all, there is no text.
    texts = {listed.get(str(letter)) for listed, letter in zip(options, letters, strict=True)}
    return _Question(
        key=question_of(columns["question"][first]),
        index=columns["index"][first],
        split=str(columns["split"][first]),
        picture=picture,
        hits=[columns["hit"][rotation] for rotation in rotations],
        letters=letters,
        answers=[str(columns["answer"][rotation]) for rotation in rotations],
        is_consistent=len(texts) == 1 and None not in texts,
        is_flagged=bool(names_other_options(options[0])),
    )


def _is_unparsed(columns: SampleColumns, row: int) -> bool:
    return columns["status"][row] == Status.OK and columns["chosen"][row] is None


def _has_equal_requests(columns: SampleColumns, rotations: Sequence[int]) -> bool:
    """Whether two rotations were one and the same request, though their options differ."""
    requests = {
        (columns["fingerprint"][rotation], str(columns["options"][rotation]))
        for rotation in rotations
        if columns["fingerprint"][rotation]
    }
    return len({fingerprint for fingerprint, _ in requests}) < len(requests)


def _notes(
    unsupported: Sequence[Any], questions: Sequence[_Question], rows: Sequence[Row]
) -> list[str]:
    notes = [MEANING, *_letters_note(questions)]
    if unsupported:
        notes.append(
            "left out, because the protocol's parser knows only the options A to F: "
            f"{len(unsupported)} questions, {index_list(unsupported, MAX_NAMED)}"
        )
    flagged = {question.key: question.index for question in questions if question.is_flagged}
    if flagged:
        count = len({question.key for question in questions})
        accuracy = rows[-1]["circular_unflagged"]["value"]
        notes.append(
            'rotating breaks options that refer to letters or places ("A and B", "all of the '
            f'above"): {len(flagged)} of {count} questions, '
            f"{index_list([*flagged.values()], MAX_NAMED)}; circular accuracy without them: "
            f"{format_percent(accuracy)} %"
        )
    return notes


def _letters_note(questions: Sequence[_Question]) -> list[str]:
    """Say how often each letter was chosen and is right, over all rotations."""
    chosen = Counter(letter for question in questions for letter in question.letters if letter)
    right = Counter(letter for question in questions for letter in question.answers)
    if not chosen:
        return []
    letters = ", ".join(
        f"{letter} {chosen[letter]} ({right[letter]})" for letter in sorted({*chosen, *right})
    )
    return [f"letters chosen in all rotations (in brackets: how often each is right): {letters}"]


def _repeats_note(columns: SampleColumns) -> list[str]:
    """Say that questions were asked several times, if they were."""
    repeats = max((number or 1 for number in columns["repeat"]), default=1)
    if repeats == 1:
        return []
    return [
        f"each question was asked {repeats} times in all its rotations, and counts {repeats} times"
    ]


def _row(name: str, group: Sequence[_Question]) -> Row:
    """Return a row of cells with intervals; `questions`, `flagged`, `blind_...` are numbers."""
    unflagged = [question for question in group if not question.is_flagged]
    counts = [len(question.hits) for question in group]

    def cell(questions: Sequence[_Question], right: Callable[[_Question], int]) -> Row:
        pictures = [question.picture for question in questions]
        return share([right(question) for question in questions], pictures)

    row = {
        "name": name,
        "questions": len(group),
        "flagged": len(group) - len(unflagged),
        "plain": cell(group, lambda question: question.hits[0]),
        "circular": cell(group, lambda question: min(question.hits)),
        "circular_unflagged": None,
        "consistent": cell(group, lambda question: question.is_consistent),
        "blind_plain": round(100 * sum(1 / count for count in counts) / len(group), 4),
        "blind_circular": round(100 * sum(count**-count for count in counts) / len(group), 4),
    }
    if len(unflagged) < len(group):
        row["circular_unflagged"] = cell(unflagged, lambda question: min(question.hits))
    return row


def _table(rows: Sequence[Row]) -> dict[str, Any]:
    """Return the rows for people; "circular*", without flagged questions, where there are any."""
    names = [name for name in COLUMNS if name != "circular*" or any(row["flagged"] for row in rows)]

    def cell(figure: Any) -> Any:  # a chance that was worked out has no interval
        return {"value": figure, **in_percent(None)} if isinstance(figure, float) else figure

    table_rows = [
        {"name": row["name"], "cells": [cell(row[COLUMNS[name]]) for name in names]} for row in rows
    ]
    return {"title": TITLE, "columns": names, "rows": table_rows}


def _findings(counts: Counter[str]) -> list[Finding]:
    besides = "not counting the questions themselves"
    is_much = counts["unparsed"] >= MANY_UNPARSED * counts["replies"]
    possible = [
        (warning if is_much else note)(
            "circular.unparsed",
            f"replies without a letter that could be read: {counts['unparsed']} of "
            f"{counts['replies']} in all rotations",
            detail="one such reply makes its question wrong in the circular accuracy, which then "
            "says less about a preference for letters",
        ),
        note(
            "circular.incomplete",
            f"questions with rotations not queried yet: {counts['incomplete']}",
            detail="they are left out of the circular accuracy; the same command without "
            "--mode queries them",
        ),
        note(
            "circular.failed",
            f"rotations failed, {besides}: {counts['failed']}",
            detail="they count as wrong; the same command queries them again",
        ),
        note(
            "circular.refused",
            f"rotations refused, {besides}: {counts['refused']}",
            detail="they count as wrong",
        ),
        warning(
            "circular.not_rotated",
            f"questions queried in the same words in several rotations: {counts['not_rotated']}",
            detail='a prompt function must take the options from line["options"]',
        ),
    ]
    return [finding for finding in possible if counts[finding.code.removeprefix("circular.")]]
