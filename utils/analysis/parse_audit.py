"""Are the letters that were read out of the replies the letters that were meant? (L1)

The protocol's parser takes the first letter of a line even inside a word ("Based on ..." gives B),
the first of several, and letters out of a model's thinking. It stays the score; this says how often
that matters, and warns where the ready-made parse function would score clearly better.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

from utils.analysis.columns import LARGEST_P, Row, SampleColumns, lead_over, percent, share
from utils.misc import OPTION_PATTERNS
from utils.thinking import (
    ARTICLE,
    PARSE_OPTION,
    answer_span,
    last_statement,
    option_after_thinking,
    strict_option,
)

TITLE = "Parse audit: how letters were read"
LARGEST_DOUBTFUL_SHARE = 0.05
MOST_DOUBTFUL = 10  # fewer are not warned of
EXAMPLES = 3

PATTERN_NAMES = (
    "a letter before . or :",
    'after "Option"',
    'after "Answer"',
    "the first letter of a line",
    "a letter in quotes",
    "a letter on its own",
)
"""In the order of `OPTION_PATTERNS`."""
NO_LETTER, OTHER_PARSER = "no letter found", "read otherwise than by the default parser"

DOUBTS = {  # as a row of the table names it, and a warning
    "first letter of a word, or the article": "are the first letter of a word or an article",
    "no option of the question": "are no option of the question",
    "another letter is stated later": "contradict an answer that is stated later",
    "read out of the thinking, another letter is answered": "are read out of the thinking and are "
    "not the answer that follows",
}
OF_WORD, OUTSIDE, CONTRADICTED, THOUGHT = DOUBTS

NOTE = (
    "share: of the answered questions, in percent; value: how many of them are right. The strict "
    "parser takes a reply that is only a letter, the last plain statement of an answer, or a "
    "single list item, only letters of the question's options, and only what follows any thinking. "
    f"{PARSE_OPTION} takes the protocol's letter of that where nothing is stated plainly."
)

# The same matches without giving back blanks: as written, a reply of blanks takes quadratic time.
_IN_LINEAR_TIME = (r"\s*[:：]?\s*([A-F])", r"\s*+(?:[:：]\s*+)?([A-F])")
_COMPILED = tuple(
    re.compile(pattern.replace(*_IN_LINEAR_TIME), re.IGNORECASE | re.MULTILINE)
    for pattern in OPTION_PATTERNS
)


@dataclass(frozen=True, slots=True)
class Decision:
    """What the protocol's parser did with a reply."""

    pattern: int  # that decided, from 0
    letter: str
    start: int  # where in the reply it stands
    is_of_word: bool  # of an ordinary word, an abbreviation, or the article "a"


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


@dataclass(frozen=True, slots=True)
class _Read:
    """How one reply was read, and how it could have been."""

    decided_by: str
    strict: str | None
    answered: str | None
    doubts: frozenset[str]


def _read(reply: str, chosen: str | None, letters: list[str]) -> _Read:
    start, end = answer_span(reply)
    strict = strict_option(reply[start:end], letters)
    answered = option_after_thinking(reply, letters)
    decision = decide(reply)
    is_default = chosen == (decision.letter if decision else None)
    decided_by = OTHER_PARSER
    if is_default:
        decided_by = PATTERN_NAMES[decision.pattern] if decision else NO_LETTER
    doubts = set()
    if chosen is not None:
        read_at = decision.start if is_default and decision else -1
        if is_default and decision and decision.is_of_word:
            doubts.add(OF_WORD)
        if chosen not in letters:
            doubts.add(OUTSIDE)
        if 0 <= read_at < start or read_at >= end:
            doubts |= {THOUGHT} if answered not in (None, chosen) else set()
        elif strict not in (None, chosen) and (stated := last_statement(reply[start:end])):
            doubts |= {CONTRADICTED} if start + stated[0] > read_at else set()
    return _Read(decided_by, strict, answered, frozenset(doubts))


def parse_audit(columns: SampleColumns) -> dict[str, Any]:
    """The section."""
    import numpy as np

    columns = columns.answered()
    section: dict[str, Any] = {"title": TITLE, "rows": [], "notes": [], "warnings": []}
    if not len(columns):
        return section | {"notes": ["No reply to look at."]}
    samples = zip(columns["prediction"], columns["chosen"], columns["options"], strict=True)
    read = [_read(reply, chosen, [x for x, text in options.items() if text is not None])
            for reply, chosen, options in samples]  # fmt: skip
    hits, pictures = columns.hits(), columns.pictures()

    def row(name: str, of: list[bool], right: Any = hits) -> Row:
        mask = np.array(of, dtype=np.bool_)
        shares = share(right[mask], pictures[mask])
        return {"name": name, "share": percent(mask.mean()), **shares}

    def right_if(letters: list[str | None]) -> Any:
        return np.array([a == b for a, b in zip(letters, columns["answer"], strict=True)])

    everything = [True] * len(read)
    answered = right_if([each.answered for each in read])
    decided = Counter(each.decided_by for each in read)
    own = "the parse function" if decided[OTHER_PARSER] else "the default parser"
    rows = [
        row(f"{own} (the score)", everything),
        row("a strict parser", everything, right_if([each.strict for each in read])),
        row(PARSE_OPTION, everything, answered),
    ]
    for name in (*PATTERN_NAMES, *(name for name in (NO_LETTER, OTHER_PARSER) if decided[name])):
        rows.append(row(f"decided by: {name}", [each.decided_by == name for each in read]))
    for doubt in DOUBTS:
        rows.append(row(f"doubtful: {doubt}", [doubt in each.doubts for each in read]))
    rows.append(row("doubtful in all", [bool(each.doubts) for each in read]))
    section["rows"] = rows
    differ = sum(each.strict != a for each, a in zip(read, columns["chosen"], strict=True))
    section["notes"] = [
        NOTE,
        f"The score and the strict parser disagree on {differ} replies; in "
        f"{sum(each.strict is None for each in read)} the strict parser finds no answer.",
    ]
    if decided[OTHER_PARSER]:
        section["notes"].append(
            f"The configured parse function is not the default one: it reads "
            f"{decided[OTHER_PARSER]} replies otherwise. No pattern decided those; the strict "
            "parser is compared with what the configured one chose."
        )
    looked_at = zip(columns["key"], columns["chosen"], read, strict=True)
    section["examples"] = [
        {"key": key, "chosen": chosen, "stated": each.answered}
        for key, chosen, each in looked_at if each.doubts
    ][:EXAMPLES]  # fmt: skip
    doubts = Counter(doubt for each in read for doubt in each.doubts)
    better = _better(rows, *lead_over(answered, hits, pictures)[1:])
    if warning := _warning(rows, doubts, better):
        section["warnings"].append(f"parse audit: {warning}")
    return section


def _warning(rows: list[Row], doubts: Counter[str], better: str) -> str:
    """What is doubtful, if it is much, and what to do about it."""
    total, count = rows[0]["samples"], rows[-1]["samples"]
    if count < MOST_DOUBTFUL or count <= LARGEST_DOUBTFUL_SHARE * total:
        return better
    kinds = ", ".join(f"{doubts[doubt]} {text}" for doubt, text in DOUBTS.items() if doubts[doubt])
    words = f"{count} of {total} letters are doubtful ({kinds})"
    if better:
        return f"{words}. {better}"
    official, strict, ready_made = (row["value"] for row in rows[:3])
    words += f"; a strict parser scores {strict:.1f} % instead of {official:.1f} %. "
    if official == ready_made:
        return words + "Ask for the letter alone, or set a parse_function for these replies"
    return words + (
        f'Ask for the letter alone, or set "parse_function": "{PARSE_OPTION}", which scores '
        f"{ready_made:.1f} %, and run --mode eval; no request is made"
    )


def _better(rows: list[Row], discordant: int, p: float | None) -> str:
    """What to do, where the ready-made parse function is better than chance allows."""
    if p is None or p >= LARGEST_P:
        return ""
    own, ready_made = rows[0], rows[2]
    return (
        f"Read as the answer that follows any thinking, these replies score "
        f"{_with_bounds(ready_made)} instead of {_with_bounds(own)} ({own['samples']} replies, "
        f"{discordant} discordant images, p {p:.2g}). If that is what the model means, set "
        f'"parse_function": "{PARSE_OPTION}" and run --mode eval; no request is made'
    )


def _with_bounds(row: Row) -> str:
    bounds = "" if row["low"] is None else f" ({row['low']:.0f} to {row['high']:.0f})"
    return f"{row['value']:.1f} %{bounds}"
