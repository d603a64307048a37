"""Rotating the options of an L1 question; telling those apart that do not bear it.

In rotation k the text of the i-th listed letter is that of the (i+k)-th in the annotation, and the
right letter moves along. Options without a text are neither listed nor moved.
"""

from __future__ import annotations

import functools
import re
import string
from collections.abc import Mapping

from utils.contracts import Line

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
    """The letters that a prompt shows, in its order."""
    return [letter for letter in string.ascii_uppercase if options.get(letter) is not None]


def rotated(line: Line, rotation: int) -> Line:
    """A copy of the line as it is asked in one rotation; the 0th one is equal to it."""
    options: Options = line["options"]
    letters = listed_letters(options)
    shift = rotation % max(1, len(letters))
    sources = dict(zip(letters, letters[shift:] + letters[:shift], strict=True))
    answers = {source: letter for letter, source in sources.items()}
    # In the annotation's own order of letters: a prompt function may go through them as they come.
    texts = {letter: options[sources.get(letter, letter)] for letter in options}
    return {**line, "options": texts, "answer": answers[line["answer"]]}


def names_other_options(options: Options) -> list[str]:
    """The texts that speak of letters or places among the options, so that rotating breaks them.

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
