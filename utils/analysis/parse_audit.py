"""Are the letters that were read out of the replies the letters that were meant? (L1)

The protocol's parser takes the first letter of a line even inside a word ("Based on ..." gives B),
the first of several, and letters out of a model's thinking. It stays the score; this says how often
that matters, and warns where the ready-made parse function would score clearly better.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any, NamedTuple

from utils.analysis.columns import LARGEST_P, Row, SampleColumns, lead_over, percent, share
from utils.misc import option_match
from utils.text import format_interval, format_percent
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
SETTING = "data.GUIContentUnderstanding.parse_function"
AGAIN = "--mode eval; no request is made"
MOST_DOUBTFUL = 10  # fewer are not warned of
PATTERN_NAMES = (  # in the order of `utils.misc.OPTION_PATTERNS`
    "a letter before . or :",
    'after "Option"',
    'after "Answer"',
    "the first letter of a line",
    "a letter in quotes",
    "a letter on its own",
)
NO_LETTER, OTHER_PARSER = "no letter found", "read otherwise than by the default parser"
DOUBTS = {  # as a row of the table names it, and a warning
    "first letter of a word, or the article": "are the first letter of a word or an article",
    "no option of the question": "are not options of the question",
    "another letter is stated later": "contradict an answer that is stated later",
    "read out of the thinking, another letter is answered": "are read out of the thinking and are "
    "not the answer that follows",
}
OF_WORD, OUTSIDE, CONTRADICTED, THOUGHT = DOUBTS
_GOES_ON = re.compile(r"[^\W_]|['’.-][^\W\d_]")  # Based, I'd, A-frame, a.m
_ABBREVIATED = re.compile(r"[^\W\d_]\..\.")  # e.g.
NOTE = (
    "share: of the answered questions, in percent; right: how many of them are. The strict parser "
    "takes a reply that is only a letter, the last plain statement of an answer, or a "
    "single list item, only letters of the question's options, and only what follows any thinking. "
    f"{PARSE_OPTION} falls back on the protocol's letter where nothing is stated plainly."
)


class Read(NamedTuple):
    """How one reply was read, and how it could have been."""

    decided_by: str
    strict: str | None
    answered: str | None
    doubts: set[str]


def read(reply: str, chosen: str | None, letters: list[str]) -> Read:
    """How the configured parse function came to its letter."""
    start, end = answer_span(reply)
    strict = strict_option(reply[start:end], letters)
    answered = option_after_thinking(reply, letters)
    found = option_match(reply)
    if chosen != (found[1].group(1).upper() if found else None):
        doubts = set() if chosen in (None, *letters) else {OUTSIDE}
        return Read(OTHER_PARSER, strict, answered, doubts)
    if found is None:
        return Read(NO_LETTER, strict, answered, set())
    number, match = found
    read_at = match.start(1)
    doubts = {OF_WORD} if _is_of_word(reply, *match.span(1)) else set()
    doubts |= {OUTSIDE} if chosen not in letters else set()
    if not start <= read_at < end:
        doubts |= {THOUGHT} if answered not in (None, chosen) else set()
    elif strict not in (None, chosen) and (stated := last_statement(reply[start:end])):
        doubts |= {CONTRADICTED} if start + stated[0] > read_at else set()
    return Read(PATTERN_NAMES[number], strict, answered, doubts)


def _is_of_word(reply: str, start: int, end: int) -> bool:
    """Whether a letter is part of an ordinary word, an abbreviation, or the article "a"."""
    is_article = reply[start] in "aA" and ARTICLE.match(reply, end) is not None
    is_joined = reply[start - 1 : start].isalnum() or _GOES_ON.match(reply, end) is not None
    abbreviated = _ABBREVIATED.fullmatch(reply, max(0, start - 2), end + 1)
    return is_article or is_joined or abbreviated is not None


def parse_audit(columns: SampleColumns) -> dict[str, Any]:
    """The section."""
    import numpy as np

    columns = columns.answered()
    if not len(columns):
        return {"title": TITLE, "rows": [], "notes": ["No replies to look at."], "warnings": []}
    listed = ([x for x, text in each.items() if text is not None] for each in columns["options"])
    samples = zip(columns["prediction"], columns["chosen"], listed, strict=True)
    replies = [read(*sample) for sample in samples]
    hits, pictures = columns.hits(), columns.pictures()

    at: dict[str, str] = {}

    def row(name: str, of: list[bool], right: Any = hits) -> Row:
        mask = np.array(of, dtype=np.bool_)
        at[name] = columns.spans(mask)
        shares = share(right[mask], pictures[mask])
        return {"name": name, "share": percent(mask.mean()), **shares}

    def right_if(letters: list[str | None]) -> Any:
        return np.array([a == b for a, b in zip(letters, columns["answer"], strict=True)])

    answered = right_if([each.answered for each in replies])
    every, decided = [True] * len(replies), Counter(each.decided_by for each in replies)
    own = "the parse function" if decided[OTHER_PARSER] else "the default parser"
    kinds = (*PATTERN_NAMES, *(name for name in (NO_LETTER, OTHER_PARSER) if decided[name]))
    rows = [
        row(f"{own} (the score)", every),
        row("a strict parser", every, right_if([each.strict for each in replies])),
        row(PARSE_OPTION, every, answered),
        *(row(f"decided by: {x}", [each.decided_by == x for each in replies]) for x in kinds),
        *(row(f"doubtful: {x}", [x in each.doubts for each in replies]) for x in DOUBTS),
        row("doubtful in all", [bool(each.doubts) for each in replies]),
    ]
    differ = sum(each.strict != a for each, a in zip(replies, columns["chosen"], strict=True))
    notes = [
        NOTE,
        f"The score and the strict parser disagree on {differ} replies; in "
        f"{sum(each.strict is None for each in replies)} the strict parser finds no answer.",
    ]
    if decided[OTHER_PARSER]:
        notes.append(
            f"The configured parse function is not the default one: it reads "
            f"{decided[OTHER_PARSER]} replies differently. No pattern decided those; the strict "
            "parser is compared with what the configured one chose."
        )
    doubts = Counter(doubt for each in replies for doubt in each.doubts)
    better = _better(rows, *lead_over(answered, hits, pictures)[1:])
    warning = _warning(rows, doubts, better)
    warnings = [f"parse audit: {warning}"] if warning else []
    section = {"title": TITLE, "rows": rows, "notes": notes, "warnings": warnings, "at": at}
    if columns["chosen"].count(None) == len(columns):
        section["clear"] = "no reply has a letter that could be examined"
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
    official, strict, ready_made = (format_percent(row["value"]) for row in rows[:3])
    words += (
        f"; a strict parser scores {strict} % instead of {official} %. Ask for the letter "
        f"alone, or set {SETTING}"
    )
    if official == ready_made:
        return f"{words} for these replies"
    return f'{words}: "{PARSE_OPTION}", which scores {ready_made} %, and run {AGAIN}'


def _better(rows: list[Row], discordant: int, p: float | None) -> str:
    """What to do, where the ready-made parse function is better than chance allows."""
    if p is None or p >= LARGEST_P:
        return ""

    def shown(row: Row) -> str:
        bounds = format_interval(row)
        return f"{format_percent(row['value'])} %" + f" ({bounds})" * bool(bounds)

    return (
        f"Read as the answer that follows any thinking, these replies score {shown(rows[2])} "
        f"instead of {shown(rows[0])} ({rows[0]['samples']} replies, {discordant} discordant "
        f"images, p {p:.2g}). If that is what the model means, set "
        f'{SETTING}: "{PARSE_OPTION}" and run {AGAIN}'
    )
