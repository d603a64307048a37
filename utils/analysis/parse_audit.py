"""Are the letters that were read out of the replies the letters that were meant?

The protocol's parser takes the first letter of a line even inside a word ("Based on ..." gives B),
the first of several, and letters out of a model's thinking. It stays the score; this says how often
that matters, and warns where the ready-made parse function would score clearly better.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from utils.analysis.columns import AuditSettings, Row, SampleColumns, Section, percent, share
from utils.analysis.intervals import Floats
from utils.analysis.paired import LARGEST_P, Lead, lead_over
from utils.findings import Finding, warning
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
AGAIN = "run --mode eval, which sends no request"
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
DOUBTFUL = "doubtful in all"  # row of the table
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
    "share: percentage of the answered questions; right: percentage of right answers among them. "
    "The strict parser reads only the text after any thinking, and accepts only letters of the "
    "question's options. It accepts a reply that is only a letter, the last plain statement of an "
    "answer, a first or last line that is only a letter, or a single list item. "
    f"{PARSE_OPTION} uses the protocol's letter where the reply has no plain statement."
)


class LetterParsing(NamedTuple):
    """The parsing of one reply, with the results of other ways to parse it."""

    decided_by: str  # a name of `PATTERN_NAMES`, `NO_LETTER` or `OTHER_PARSER`
    strict: str | None  # the letter that a strict parser finds
    after_thinking: str | None  # the letter of the answer that follows any thinking
    doubts: set[str]  # keys of `DOUBTS`


def examine(reply: str, chosen: str | None, letters: list[str]) -> LetterParsing:
    """The way in which the configured parse function came to its letter.

    Args:
        reply: the whole of it, with any thinking.
        chosen: the letter that it chose; None: none.
        letters: those that the question offers.
    """
    start, end = answer_span(reply)
    strict = strict_option(reply[start:end], letters)
    after_thinking = option_after_thinking(reply, letters)
    match = option_match(reply)
    default_letter = match[1].group(1).upper() if match else None
    if chosen != default_letter:
        doubts = set() if chosen in (None, *letters) else {OUTSIDE}
        return LetterParsing(OTHER_PARSER, strict, after_thinking, doubts)
    if match is None:
        return LetterParsing(NO_LETTER, strict, after_thinking, set())
    pattern_index, letter_match = match
    letter_start, letter_end = letter_match.span(1)
    doubts = set()
    if _is_of_word(reply, letter_start, letter_end):
        doubts.add(OF_WORD)
    if chosen not in letters:
        doubts.add(OUTSIDE)
    if not start <= letter_start < end:
        if after_thinking not in (None, chosen):
            doubts.add(THOUGHT)
    elif strict not in (None, chosen):
        statement = last_statement(reply[start:end])
        if statement and start + statement[0] > letter_start:
            doubts.add(CONTRADICTED)
    return LetterParsing(PATTERN_NAMES[pattern_index], strict, after_thinking, doubts)


def _is_of_word(reply: str, start: int, end: int) -> bool:
    """Whether a letter is part of a word or an abbreviation, or the article "a"."""
    is_article = reply[start] in "aA" and ARTICLE.match(reply, end) is not None
    is_joined = reply[start - 1 : start].isalnum() or _GOES_ON.match(reply, end) is not None
    abbreviated = _ABBREVIATED.fullmatch(reply, max(0, start - 2), end + 1)
    return is_article or is_joined or abbreviated is not None


class _Table:
    """The rows of the section, each over some of the answered questions."""

    def __init__(self, columns: SampleColumns) -> None:
        self._columns = columns
        self.hits = columns.hits()
        self.pictures = columns.pictures()
        self.spans: dict[str, str] = {}

    def row(self, name: str, is_in_row: Sequence[bool], right: Floats | None = None) -> Row:
        """Return a row over some questions; `right`: what counts, 0 or 1; None: the score."""
        mask = np.array(is_in_row, dtype=np.bool_)
        values = self.hits if right is None else right
        self.spans[name] = self._columns.spans(mask)
        cells = share(values[mask], self.pictures[mask])
        return {"name": name, "share": percent(mask.mean()), **cells}

    def right_with(self, letters: Sequence[str | None]) -> Floats:
        """Return 1 for each question whose answer is the given letter, else 0."""
        answers = self._columns["answer"]
        is_right = [letter == answer for letter, answer in zip(letters, answers, strict=True)]
        return np.array(is_right, dtype=np.float64)


def parse_audit(columns: SampleColumns, settings: AuditSettings) -> Section:
    """Return the section: how letters were decided, what is doubtful, what would score better."""
    columns = columns.answered()
    if not len(columns):
        return {"title": TITLE, "rows": [], "notes": ["No replies to look at."], "findings": []}
    parsings = [
        examine(reply, chosen, [letter for letter, text in options.items() if text is not None])
        for reply, chosen, options in zip(
            columns["prediction"], columns["chosen"], columns["options"], strict=True
        )
    ]
    table = _Table(columns)
    everything = [True] * len(parsings)
    decided = Counter(parsing.decided_by for parsing in parsings)
    parser = "the parse function" if decided[OTHER_PARSER] else "the default parser"
    right_if_strict = table.right_with([parsing.strict for parsing in parsings])
    right_after_thinking = table.right_with([parsing.after_thinking for parsing in parsings])
    score = table.row(f"{parser} (the score)", everything)
    strict = table.row("a strict parser", everything, right_if_strict)
    ready_made = table.row(PARSE_OPTION, everything, right_after_thinking)
    rows = [score, strict, ready_made]
    for kind in (*PATTERN_NAMES, NO_LETTER, OTHER_PARSER):
        if kind in PATTERN_NAMES or decided[kind]:
            is_kind = [parsing.decided_by == kind for parsing in parsings]
            rows.append(table.row(f"decided by: {kind}", is_kind))
    rows += [
        table.row(f"doubtful: {doubt}", [doubt in parsing.doubts for parsing in parsings])
        for doubt in DOUBTS
    ]
    doubtful = table.row(DOUBTFUL, [bool(parsing.doubts) for parsing in parsings])
    rows.append(doubtful)
    finding = _finding(
        rows[:3],
        doubtful["samples"],
        Counter(doubt for parsing in parsings for doubt in parsing.doubts),
        lead_over(right_after_thinking, table.hits, table.pictures),
        settings.parser_setting,
    )
    section: Section = {
        "title": TITLE,
        "rows": rows,
        "notes": _notes(parsings, columns["chosen"], decided[OTHER_PARSER]),
        "findings": [] if finding is None else [finding],
        "at": table.spans,
    }
    if all(letter is None for letter in columns["chosen"]):
        section["clear"] = "no reply has a letter that could be examined"
    return section


def _notes(
    parsings: Sequence[LetterParsing], chosen: Sequence[str | None], by_other_parser: int
) -> list[str]:
    pairs = zip(parsings, chosen, strict=True)
    differing = sum(parsing.strict != letter for parsing, letter in pairs)
    without_strict = sum(parsing.strict is None for parsing in parsings)
    notes = [
        NOTE,
        f"The score and the strict parser disagree on {differing} replies; in {without_strict} the "
        "strict parser finds no answer.",
    ]
    if by_other_parser:
        notes.append(
            f"The configured parse function is not the default one: it reads {by_other_parser} "
            "replies differently. These replies belong to no pattern; the strict parser is "
            "compared with the configured one."
        )
    return notes


def _finding(
    scores: Sequence[Row], doubtful: int, doubts: Counter[str], lead: Lead, setting: str
) -> Finding | None:
    """The finding on doubtful readings and their cure, if there are many.

    Args:
        scores: rows over all questions: the score, the strict and the ready-made parser.
        doubtful: how many letters are doubtful.
        doubts: how many for each of `DOUBTS`.
        lead: of the ready-made parser over the score.
        setting: the key path of the parse function.
    """
    score, strict, ready_made = scores
    total = score["samples"]
    better = _better_text(score, ready_made, lead)
    is_much = doubtful >= MOST_DOUBTFUL and doubtful > LARGEST_DOUBTFUL_SHARE * total
    if not is_much:
        return _better_finding(better, "", setting) if better else None
    kinds = ", ".join(f"{doubts[doubt]} {text}" for doubt, text in DOUBTS.items() if doubts[doubt])
    summary = f"{doubtful} of {total} letters are doubtful ({kinds})"
    if better:
        return _better_finding(summary, better, setting)
    strict_text = format_percent(strict["value"])
    score_text = format_percent(score["value"])
    ready_made_text = format_percent(ready_made["value"])
    fix = f"ask the model for the letter alone, or set {setting} for these replies"
    if score_text != ready_made_text:
        fix = (
            f'ask the model for the letter alone, or set {setting}: "{PARSE_OPTION}", which scores '
            f"{ready_made_text} %, and {AGAIN}"
        )
    return warning(
        "parse_audit.doubtful",
        summary,
        detail=f"a strict parser scores {strict_text} % instead of {score_text} %",
        fix=fix,
        topic="parse audit",
        setting=setting,
        row=DOUBTFUL,
    )


def _better_text(score: Row, ready_made: Row, lead: Lead) -> str:
    """The score of the ready-made parse function, if it is better than chance allows."""
    if lead.p_value is None or lead.p_value >= LARGEST_P:
        return ""
    return (
        f"read as the answer after any thinking, these replies score {_score_text(ready_made)} "
        f"instead of {_score_text(score)}. {lead.discordant} images decide "
        f"(p = {lead.p_value:.2g})"
    )


def _better_finding(summary: str, detail: str, setting: str) -> Finding:
    return warning(
        "parse_audit.better_parser",
        summary,
        detail=detail,
        fix=f'if the model means this answer, set {setting}: "{PARSE_OPTION}" and {AGAIN}',
        topic="parse audit",
        setting=setting,
        row=DOUBTFUL,
    )


def _score_text(row: Row) -> str:
    bounds = format_interval(row)
    text = f"{format_percent(row['value'])} %"
    return f"{text} ({bounds})" if bounds else text
