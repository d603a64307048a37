"""Short answers in a reply: greetings and politeness are allowed, contradictions are not."""

from __future__ import annotations

import re

GREETING = re.compile(
    r"(?:hi|hello|hey|dear|good (?:morning|day|afternoon|evening))\b"
    r"(?: [a-z.'-]+){0,3} ?(?:[,!.:\n]+\s*|$)",
)
THANKS = re.compile(r"(?:many thanks|thanks|thank you)\b[^.!\n]*[.!\n]\s*")
QUOTED = re.compile(r"^(?:>.*|on .*\bwrote:)$", re.IGNORECASE | re.MULTILINE)
POLITE = re.compile(
    r"\bno (?:problem|worries|objections?|doubt|question|trouble)\b|\bnot at all\b|\bwhy not\b",
    re.IGNORECASE,
)
"""Phrases with a "no" that do not mean no."""
ENDS = r"\b(?=\s*(?:[-.,;:!?)/\n]|$|(?:and|or|but|thanks|thank)\b))"
BEGINS = r"(?:^|[-.,;:!?(/\n–—]\s*|\b(?:and|or|but)\s+)"
NEGATED = re.compile(r"\b(?:not|never|cannot|nor|if)\b|n't\b")
CLAUSE_END = re.compile(r"[.;!?\n]")
YES = re.compile(
    r"^\s*(?:yes|yeah|yep|accepted)\b|"
    rf"{BEGINS}(?:yes|yeah|yep|ok|okay|sure|accepted|approved|gladly|with pleasure){ENDS}"
    rf"|{BEGINS}(?:please |just )?(?:go ahead|book it|do it)\b"
    r"|\byou (?:can|may|could) (?:go ahead|(?:book|use|take|have) (?:it|this|that|the room)\b)"
)
NO = re.compile(
    r"^\s*(?:no|nope|declined)\b|"
    rf"{BEGINS}(?:no|nope|declined|rejected|refused|impossible){ENDS}"
    r"|\b(?:must|have to) (?:decline|refuse|reject)\b"
    r"|\b(?:cannot|can't|can not|may not|must not|mustn't|should not|shouldn't|do not|don't)\s+"
    r"(?:\w+ )?(?:book|use|take|have|come|attend|accept|do|make) (?:it|this|that|the room)\b"
    r"|\bnot (?:possible|allowed|accepted|approved|available|permitted|ok|okay)\b"
)
UNDECIDED = re.compile(
    r"\b(?:or not|maybe|perhaps|not sure|(?:and|or) (?:yes|no|accepted|declined))\b"
    r"|\b(?:yes|accepted)\W+(?:no|declined)\b|\b(?:no|declined)\W+(?:yes|accepted)\b"
)
MAX_WORDS = 80  # of a reply that should be a short answer
OPPOSITE = {
    "yes": NO,
    "accepted": NO,
    "no": YES,
    "declined": YES,
}
"""What contradicts an answer. Other answers are contradicted by another number alone."""


def without_quote(body: str) -> str:
    """Return the text of a mail without the lines of the mail that it replies to."""
    return QUOTED.sub("", body).strip()


def begins_with(answer: str, text: str) -> bool:
    r"""Whether a reply begins with an answer and does not contradict it.

    A greeting and thanks may stand before it, anything after it that does not say the opposite:
    "Hi Ana,\n\nYes, gladly." is "Yes", but "Yes and no" is not, and "No problem, book it!" is not
    "No". A text of more than MAX_WORDS words is no short answer.

    Args:
        answer: what the reply should begin with.
        text: the reply, without what it quotes.
    """
    plain = text.replace("’", "'").casefold().strip(" \"'“”‘\n\t")
    for opening in (GREETING, THANKS):
        match = opening.match(plain)
        if match:
            plain = plain[match.end() :].lstrip(" \"'“”‘\n\t-–—")
    words = answer.casefold().split()
    spaced = r"\s+".join(re.escape(word) for word in words)
    match = re.match(rf"{spaced}(?!\w)(?![.,]\d)", plain)
    if not match:
        return False
    if UNDECIDED.search(POLITE.sub("", plain)) or len(plain.split()) > MAX_WORDS:
        return False
    rest = plain[match.end() :]
    opposite = OPPOSITE.get(" ".join(words))
    if opposite is None:
        return True
    if opposite is YES:
        return not POLITE.match(plain) and not _says(YES, rest)
    return not _says(NO, POLITE.sub("", rest))


def _says(meaning: re.Pattern[str], text: str) -> bool:
    """Whether a text has a meaning; one of `YES` must not be negated in its clause."""
    for match in meaning.finditer(text):
        clause = CLAUSE_END.split(text[: match.start()])[-1]
        if meaning is NO or not NEGATED.search(clause):
            return True
    return False
