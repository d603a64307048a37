"""The letter that a reply plainly gives as its answer, as a reader would see it.

The protocol's option parser takes the first letter that any of its patterns finds. This reader
wants to be told: a lone letter, a statement in words, a single list item.
"""

from __future__ import annotations

import re
from collections.abc import Collection

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
            r"(?i:\bI(?:\s+would|'d|’d|\s+will|'ll|’ll)?\s+(?:choose|select|pick|go\s+with))"
            + _LETTER,
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
    """The letter that a reply plainly gives as its answer; None where it does not.

    The reply is nothing but a letter; or it states an answer ("the correct answer is B"), of
    several statements the last; or a line starts with one letter as a list item ("B. Settings")
    and no line with another.

    Args:
        letters: those of the sample's options; others are no answer.
    """
    text = reply.strip()
    if len(text) <= 100 and (alone := _ONLY_A_LETTER.fullmatch(text)):
        letter = alone.group(1).upper()
        return letter if letter in letters else None
    if stated := last_statement(text):
        letter = stated[1]
        return letter if letter in letters else None
    items = {found.group(1) for found in _LINE.finditer(text)} & set(letters)
    return items.pop() if len(items) == 1 else None


def last_statement(reply: str) -> tuple[int, str] | None:
    """The last place where a reply says in words which letter is its answer.

    Returns:
        Position of the letter and the letter.
    """
    lowered = reply.lower()
    found = [
        (match.start(1), match.group(1))
        for words, form in _STATEMENTS
        if any(word in lowered for word in words)
        for match in form.finditer(reply)
        if not (match.group(1) in "AI" and ARTICLE.match(reply, match.end(1)))
    ]
    return max(found, default=None)
