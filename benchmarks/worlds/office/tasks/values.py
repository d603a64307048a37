"""Compare the value that a task expects with the one in the store.

Numbers, amounts of money, telephone numbers, dates and times are compared as such, exactly, and
within longer texts too: "15,300 EUR", "EUR 15300" and "15300.00" are one amount (`quantities`).

One rule for a text that a task asks for: it says what must stand in it and what must not. All else
is free: a greeting, a list with numbers, a sum, what was there before.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from benchmarks.worlds.office.tasks.quantities import (
    PHONE,
    WEEKDAYS,
    Mention,
    Quantity,
    as_quantity,
    in_figures,
    is_date,
    mentions,
    mentions_in_words,
    number_readings,
    numbers,
    phone_digits,
    without_currency,
)
from benchmarks.worlds.office.tasks.replies import begins_with, without_quote

QUOTES = " \"'“”‘’"
STRAIGHT_QUOTES = str.maketrans({"“": '"', "”": '"', "‘": "'", "’": "'"})
WHOLE_NUMBER = re.compile(r"-?(?:\d{1,3}(?:,\d{3})+|0|[1-9]\d*)(?:\.\d+)?")
PHONE_ONLY = re.compile(r"\(?\+?[\d ()/.-]{8,}")  # for a text that is nothing else
MAX_MENTIONS = 60  # of numbers, dates, ... in a text: one with more says everything, and so nothing
DENIED = re.compile(
    r"\b(?:not|no longer|instead of|rather than|replac\w+|formerly|previously|originally|wrongly"
    r"|from|was|were|been|said|overwritten)\b"
    rf"(?: (?!(?:and|but|or|so)\b)(?:{WEEKDAYS}|[\w'-]+)){{0,3}} ?\W?$",
    re.IGNORECASE,
)
"""Before what a text names only to say that it does not hold: "30 (not 33)", "it was Room Elm"."""


def matches(expected: Any, actual: Any) -> bool:
    """Whether a value is what a task expects.

    Args:
        expected: a value that is the same but for case, white space, quotation marks, a full stop
            or an exclamation mark at the end and the way a number, a date, a time or a telephone
            number is written; or one of

            - {"contains": [...], "without": [...]}: the text has all those parts (whole words,
              in the plural, too; numbers, dates, times and telephone numbers as such) and says
              none of `without`, but for those that it must have. A part may be
              {"any_of": [...]}. What is said not to hold ("not 33") is not said. A text with more
              than MAX_MENTIONS numbers, dates, ... says none of them.
            - {"lines": [...]}: these lines, each a value or one of these ways.
            - {"number": 20}: the only number in a text.
            - {"money": "12.30"}: an amount and nothing else, with or without "EUR" or "€".
            - {"pattern": regular expression}, of the whole text; its numbers may be words.
            - {"reply": expected}: what stands above and below the text that a reply quotes. A text
              is what the reply begins with after a greeting; see `replies.begins_with`.
            - {"any_of": [expected, ...]}, {"all_of": [expected, ...]}, {"any": True}.
        actual: the value to judge.

    Raises:
        ValueError: `expected` is a mapping of another form.
    """
    if not isinstance(expected, Mapping):
        return _is_same(expected, actual)
    if "contains" in expected and set(expected) <= {"contains", "without"}:
        return _contains(expected["contains"], expected.get("without", ()), str(actual))
    for name, is_fulfilled in WAYS.items():
        if set(expected) == {name}:
            return is_fulfilled(expected[name], actual)
    raise ValueError(f"no way to compare with {expected!r}")


def _is_reply(expected: Any, actual: Any) -> bool:
    reply = without_quote(str(actual))
    if isinstance(expected, Mapping):
        return matches(expected, reply)
    answer = str(expected)
    return begins_with(answer, reply) and _has_no_other(answer, reply)


def _has_no_other(answer: str, reply: str) -> bool:
    """Whether a reply has no numbers, dates, ... of the kinds of a short answer but its."""
    needed = mentions(answer)
    kinds = {mention.readings[0].kind for mention in needed}
    return all(
        any(mention.means(other.readings[0]) for other in needed)
        for mention in mentions(reply)
        if mention.readings[0].kind in kinds
    )


def _fits_pattern(pattern: str, actual: Any) -> bool:
    text = str(actual).strip()
    flags = re.IGNORECASE | re.DOTALL
    return any(re.fullmatch(pattern, form, flags) for form in (text, in_figures(text)))


def _is_the_only_number(number: Any, actual: Any) -> bool:
    in_text = numbers(str(actual))
    return bool(in_text) and all(_decimal(number) in readings for readings in in_text)


def _is_amount(amount: Any, actual: Any) -> bool:
    figures = without_currency(str(actual)).strip(QUOTES + ".!")
    return _decimal(amount) in number_readings(figures)


def _fits_any(choices: Iterable[Any], actual: Any) -> bool:
    return any(matches(choice, actual) for choice in choices)


def _fits_all(conditions: Iterable[Any], actual: Any) -> bool:
    return all(matches(condition, actual) for condition in conditions)


def same_addresses(one: str, other: str) -> bool:
    """Whether two lists have the same mail addresses, in any order and case."""
    return _addresses(one) == _addresses(other)


def _addresses(text: str) -> set[str]:
    return {part.strip().casefold() for part in re.split(r"[,;]", text) if part.strip()}


# -- what must stand in a text, and what must not --------------------------------------------------


def _contains(parts: Sequence[Any], unwanted: Iterable[Any], text: str) -> bool:
    if len(mentions(text)) > MAX_MENTIONS:
        return False
    needed = list(_choices(parts))
    others = [part for part in _flat(unwanted) if _text(part) not in map(_text, needed)]
    return all(_stands_in(part, text) for part in parts) and not any(
        _is_said(part, text, needed) for part in others
    )


def _choices(parts: Iterable[Any]) -> Iterable[Any]:
    """Yield parts, and all choices of those that leave one."""
    for part in parts:
        yield from part["any_of"] if isinstance(part, Mapping) else [part]


def _flat(values: Iterable[Any]) -> Iterable[Any]:
    """Yield values, and the values of rows."""
    for value in values:
        if isinstance(value, Mapping):
            yield from value.values()
        else:
            yield value


def _stands_in(part: Any, text: str) -> bool:
    """Whether a text contains a part, not within a longer word or number."""
    if isinstance(part, Mapping):
        return any(_stands_in(choice, text) for choice in part["any_of"])
    quantity = as_quantity(part)
    if quantity is None:
        return _words(part).search(_text(text)) is not None
    return any(mention.means(quantity) for mention in [*mentions(text), *mentions_in_words(text)])


def _is_said(part: Any, text: str, needed: Sequence[Any]) -> bool:
    """Whether a text says something that it must not, as what holds."""
    quantity = as_quantity(part)
    if quantity is None:
        plain = _text(text)
        starts = [match.start() for match in _words(part).finditer(plain)]
    else:
        plain = without_currency(text)
        quantities = [needed_one for needed_one in map(as_quantity, needed) if needed_one]
        starts = [
            mention.start
            for mention in [*mentions(text), *mentions_in_words(text)]
            if mention.means(quantity) and not _means_any(mention, quantities)
        ]
    return not all(DENIED.search(plain[:start]) for start in starts)


def _means_any(mention: Mention, quantities: Iterable[Quantity]) -> bool:
    return any(mention.means(quantity) for quantity in quantities)


def _words(part: Any) -> re.Pattern[str]:
    """Return a pattern for a name or phrase; the last word of a name may be in the plural."""
    words = r"[\s-]+".join(re.escape(word) for word in _text(part).split())
    plural = ""
    if re.search(r"[^\W\d_]{3}$", _text(part)):
        plural = "(?:e?s)?"
    return re.compile(rf"(?<!\w){words}{plural}(?!\w)(?![.,]\d)")


def _has_lines(lines: Sequence[Any], actual: Any) -> bool:
    actual_lines = [line for line in str(actual).splitlines() if line.strip()]
    if len(actual_lines) != len(lines):
        return False
    pairs = zip(lines, actual_lines, strict=True)
    return all(matches(expected, actual) for expected, actual in pairs)


# -- single values ---------------------------------------------------------------------------------


def _is_same(expected: Any, actual: Any) -> bool:
    wanted = str(expected).strip()
    if PHONE.fullmatch(wanted):
        text = str(actual).strip(QUOTES + "\n\t.")
        return bool(PHONE_ONLY.fullmatch(text)) and phone_digits(text) == phone_digits(wanted)
    if re.fullmatch(r"\d{4}-\d\d-\d\d", wanted):
        date = as_quantity(wanted)
        return date is not None and is_date(date, _text(actual))
    return _plain(expected) == _plain(actual)


def _decimal(number: Any) -> Decimal:
    return Decimal(str(number).replace(",", "")).normalize()


def _text(value: Any) -> str:
    """Return a text without case, extra spaces, quotation marks around it and a final full stop.

    All quotation marks within it are straight.
    """
    text = " ".join(str(value).split()).casefold().translate(STRAIGHT_QUOTES).strip(QUOTES)
    return text.rstrip(".!").strip(QUOTES)


def _plain(value: Any) -> str | Decimal:
    """Return the same value for texts that people read as the same."""
    text = _text(value)
    if WHOLE_NUMBER.fullmatch(text):
        return _decimal(text)
    if re.fullmatch(r"\d:[0-5]\d", text):
        return text.zfill(5)
    return text


WAYS: Mapping[str, Callable[[Any, Any], bool]] = {
    "any": lambda _, __: True,
    "lines": _has_lines,
    "number": _is_the_only_number,
    "money": _is_amount,
    "pattern": _fits_pattern,
    "reply": _is_reply,
    "any_of": _fits_any,
    "all_of": _fits_all,
}
"""By name, whether an actual value is as one of the ways to compare says."""
