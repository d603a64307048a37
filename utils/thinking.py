"""The answer of a reply without the thinking around it, and parse functions that read only that.

Models that think before they answer write it between marks (`<think>`, `<thinking>`, `◁think▷`,
`[THINK]`), unless their server takes it out. The protocol's parsers know no marks: they read the
first letter or the first pair of numbers, which then is a thought. The two parse functions here can
be named in a config instead; the audits say when that is called for.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Any

from utils.contracts import Point
from utils.misc import OPTION_LETTERS, parser_answers_into_option, parser_response_into_coordinates

PARSE_OPTION = f"{__name__}.parse_option"
"""What a config's `parse_function` says for L1."""

_MARK = re.compile(r"</?(?:seed:)?think(?:ing)?>|◁/?think(?:ing)?▷|\[/?think\]", re.IGNORECASE)


def answer_span(reply: str) -> tuple[int, int]:
    """Return where the answer of a reply starts and ends: the last text outside of its thinking.

    A closing mark alone ends a thinking that the chat template has opened; an opening one alone
    starts a thinking that was cut off. Without marks it is the whole reply, and empty where a
    reply is nothing but thinking.
    """
    spans_outside = []
    start = 0
    is_outside = True
    for mark in _MARK.finditer(reply):
        if "/" in mark[0]:
            start = mark.end()
            is_outside = True
        elif is_outside:
            spans_outside.append((start, mark.start()))
            is_outside = False
    if is_outside:
        spans_outside.append((start, len(reply)))
    for start, end in reversed(spans_outside):
        if reply[start:end].strip():
            return start, end
    return 0, 0


def after_thinking(reply: str) -> str:
    """Return a reply without its thinking, as `answer_span` has it."""
    start, end = answer_span(reply)
    return reply[start:end]


def option_after_thinking(reply: str, letters: Collection[str]) -> str | None:
    """Return the letter that a reply plainly states after its thinking, else the protocol's."""
    answer = after_thinking(reply)
    return strict_option(answer, letters) or parser_answers_into_option(answer)


def parse_option(response: str, meta: Mapping[str, Any]) -> str | None:
    """Return the letter of the answer, whatever letters stand in the thinking (L1)."""
    return option_after_thinking(response, _letters(meta.get("options")))


def parse_point(response: str, meta: Mapping[str, Any] | None = None) -> Point | None:
    """Return the point that the protocol's own parser reads in what follows the thinking (L2).

    For a model that answers in one frame throughout, `utils.coordinates.parse_fractions` and its
    like are the better choice: they look past the thinking too.
    """
    return parser_response_into_coordinates(after_thinking(response), meta)


def _letters(options: Any) -> Collection[str]:
    if isinstance(options, str):
        with suppress(ValueError, SyntaxError):
            options = ast.literal_eval(options)
    if not isinstance(options, Mapping):
        return OPTION_LETTERS
    return [letter for letter, text in options.items() if text is not None]


# -- the letter that a reply plainly gives --------------------------------------------------------
# The protocol's option parser takes the first letter that any of its patterns finds. This reader
# wants it said: a lone letter, a statement in words, a single list item.

# Before these words a single "A" is the subject of a sentence, not an article.
_VERBS = (
    "is|was|are|would|will|can|could|should|may|might|must|does|has|because|since|as|and|or|but|"
    "seems?|appears?|looks?|fits?|matches|describes?|shows?|says|states|represents|refers|means|"
    "corresponds|best|correctly|the|this|that|it|from|for|in|on|to|with|by|not"
)
ARTICLE = re.compile(rf"[ \t]+(?!(?:{_VERBS})\b)[^\W\d_]", re.IGNORECASE)
"""What follows an article "a"."""

_LETTER = r"[\W_]{0,8}(?i:option\s+)?[\W_]{0,8}([A-Z])(?![\w'’])(?!\.\w)"
_RIGHT = r"(?:correct|right|best)"
# Words of which a statement has one, and its form; most replies have none, and are done quickly.
_STATEMENTS = tuple(
    (words.split(), re.compile(form))
    for words, form in (
        # "the correct answer is **B**", "Answer: B", "final answer would be option C"
        (
            "answer",
            r"(?i:\banswer\b(?:\s+(?:choice|option))?(?:\s+(?:is|would be|should be|must be))?"
            r"(?:\s+therefore)?\s*[:：=]?)" + _LETTER,
        ),
        (
            "option choice one",
            rf"(?i:\b{_RIGHT}\s+(?:option|choice|one)\s+(?:is|would be)\s*[:：]?)" + _LETTER,
        ),
        (
            "choose select pick go",
            r"(?i:\bI(?:\s+would|'d|’d|\s+will|'ll|’ll)?"
            r"\s+(?:choose|select|pick|go\s+with))" + _LETTER,
        ),
        (
            "option",
            rf"(?i:\boption)\s+[\W_]{{0,4}}([A-Z])(?![\w'’])\s+(?i:is\s+(?:the\s+)?{_RIGHT})",
        ),
        (
            "correct right best",
            rf"(?<![\w'’])([A-Z])[\W_]{{0,3}}\s+(?i:is\s+(?:the\s+)?{_RIGHT})\b",
        ),
        ("boxed", r"(?i:boxed\s*\{)\s*(?:\\text\s*\{)?" + _LETTER),
        ("<answer> begin_of_box", r"(?i:<answer>|<\|begin_of_box\|>)" + _LETTER),
    )
)
_ONLY_A_LETTER = re.compile(r"[\W_]{0,40}(?:(?i:option)[\W_]{0,4})?([A-Za-z])[\W_]{0,40}")
_LINE = re.compile(  # "B. Settings", "(B)", "**B**", "B, because ..."
    r"^[ \t*_#>\-\"'(\[]{0,8}([A-Z])[*_\"']{0,2}(?:[.:)\],;](?!\w)|[ \t]*$|[ \t]+[–—-][ \t])",
    re.MULTILINE,
)


def strict_option(reply: str, letters: Collection[str]) -> str | None:
    """Return the letter that a reply plainly gives as its answer; None where it does not.

    The reply is nothing but a letter; or it states an answer ("the correct answer is B"), of
    several statements the last; or a line starts with one letter as a list item ("B. Settings")
    and no line with another. Other letters than those of the sample's options are no answer.
    """
    text = reply.strip()
    alone = _ONLY_A_LETTER.fullmatch(text) if len(text) <= 100 else None
    stated = (0, alone[1].upper()) if alone else last_statement(text)
    if stated:
        return stated[1] if stated[1] in letters else None
    items = {match.group(1) for match in _LINE.finditer(text)} & set(letters)
    return items.pop() if len(items) == 1 else None


def last_statement(reply: str) -> tuple[int, str] | None:
    """Return position and letter of the last statement of a reply which letter is its answer."""
    lowered = reply.lower()
    statements = []
    for words, form in _STATEMENTS:
        if not any(word in lowered for word in words):
            continue
        for match in form.finditer(reply):
            letter = match.group(1)
            is_word = letter in "AI" and ARTICLE.match(reply, match.end(1))
            if not is_word:
                statements.append((match.start(1), letter))
    return max(statements, default=None)
