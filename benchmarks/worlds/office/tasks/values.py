"""Compare the value that a task expects with the one in the store.

Numbers, amounts of money, telephone numbers, dates and times are compared as such, exactly, and
within longer texts too: "15,300 EUR", "EUR 15300" and "15300.00" are one amount.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from benchmarks.worlds.office.tasks.replies import begins_with, without_quote

QUOTES = " \"'“”‘’"
MONTHS = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
MONTH = rf"(?:{'|'.join(f'{month}|{month[:3]}' for month in MONTHS)})\b\.?"
CURRENCY = re.compile(r"€|\beuros?\b|\beur\b|\beur(?=\d)|(?<=\d)eur(?:os?)?\b", re.IGNORECASE)
GROUPED = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?"
NUMBER = rf"(?:{GROUPED}|\d+(?:\.\d+)?)"
WHOLE_NUMBER = re.compile(rf"-?(?:{GROUPED}|(?:0|[1-9]\d*)(?:\.\d+)?)")
ANY_NUMBER = re.compile(rf"(?:(?<![\w)])-)?{NUMBER}")
PHONE = re.compile(r"(?:\+|\b00)\d[\d ()/.-]{6,}\d")
PHONE_ONLY = re.compile(r"\(?\+?[\d ()/.-]{8,}")  # for a text that is nothing else
VALUES = re.compile(
    rf"""(?P<phone>(?:\+|\b00)\d[\d\ ()/.-]{{6,}}\d)
    | \b(?P<date>\d{{4}}-\d\d-\d\d)\b
    | \b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\ (?:of\ )?(?P<month>{MONTH})
        (?:,?\ (?P<year>\d{{4}})\b)?
    | \b(?P<us_month>{MONTH})\ (?P<us_day>\d{{1,2}})(?:st|nd|rd|th)?\b(?!:)
        (?:,?\ (?P<us_year>\d{{4}})\b)?
    | (?<![\d:])(?P<time>(?:[01]?\d|2[0-3]):[0-5]\d)(?![\d:])
    | (?<!\w)(?<!\d[.,])(?P<number>(?:(?<![\w)])-)?{NUMBER})(?!\w)(?![.,]\d)""",
    re.IGNORECASE | re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number, date, time or telephone number, however it is written."""

    kind: str  # "number", "date", "time", "phone"
    value: str | Decimal

    def is_same(self, other: Quantity) -> bool:
        """Return whether both mean the same; a date without a year is that of any year."""
        if self.kind == other.kind == "date":
            dates = sorted((str(self.value), str(other.value)), key=len)
            return dates[1].endswith(dates[0])
        return self == other


def matches(expected: Any, actual: Any) -> bool:
    """Return whether a value is what a task expects.

    Args:
        expected: a value that is the same but for case, white space, quotation marks, a full stop
            or an exclamation mark at the end and the way a number, a time or a telephone number is
            written; or one of

            - {"contains": [...], "without": [...], "allows": [...]}: the text has all those parts
              (whole words; numbers, dates, times and telephone numbers as such) and none of
              `without`, but for those that it must have. With `allows`, it has no other number,
              date, ... of the kinds of its parts, but for those in this list.
            - {"lines": [...]}: these lines, each a value or one of these ways.
            - {"number": 20}: the only number in a text.
            - {"money": "12.30"}: an amount and nothing else, with or without "EUR" or "€".
            - {"pattern": regular expression}, of the whole text.
            - {"reply": expected}: what stands above and below the text that a reply quotes. A text
              is what the reply begins with after a greeting; see `replies.begins_with`.
            - {"any_of": [expected, ...]}, {"any": True}.
        actual: the value to judge.

    Raises:
        ValueError: `expected` is a mapping of another form.
    """
    if not isinstance(expected, Mapping):
        return _is_same(expected, actual)
    text = str(actual)
    match dict(expected):
        case {"any": True}:
            return True
        case {"contains": parts, **others} if set(others) <= {"without", "allows"}:
            return _contains(parts, others.get("without", ()), others.get("allows"), text)
        case {"lines": lines}:
            return _has_lines(lines, text)
        case {"number": number}:
            return _numbers(text) == {_decimal(str(number))}
        case {"money": amount}:
            return _plain(CURRENCY.sub(" ", text)) == _plain(amount)
        case {"pattern": pattern}:
            return bool(re.fullmatch(pattern, text.strip(), re.IGNORECASE | re.DOTALL))
        case {"reply": expected_reply}:
            return _is_reply(expected_reply, without_quote(text))
        case {"any_of": choices}:
            return any(matches(choice, actual) for choice in choices)
    raise ValueError(f"no way to compare with {expected!r}")


def _is_reply(expected: Any, reply: str) -> bool:
    if isinstance(expected, Mapping):
        return matches(expected, reply)
    answer = str(expected)
    return begins_with(answer, reply) and _has_no_other(quantities(answer), reply)


def same_addresses(one: str, other: str) -> bool:
    """Return whether two lists have the same mail addresses, in any order and case."""
    return _addresses(one) == _addresses(other)


def _addresses(text: str) -> set[str]:
    return {part.strip().casefold() for part in re.split(r"[,;]", text) if part.strip()}


def quantities(text: str) -> list[Quantity]:
    """Return every number, date, time and telephone number of a text."""
    return [_quantity(match) for match in VALUES.finditer(_without_currency(text))]


def _without_currency(text: str) -> str:
    return " ".join(CURRENCY.sub(" ", text).split())


def _quantity(match: re.Match[str]) -> Quantity:
    groups = {name: value for name, value in match.groupdict().items() if value}
    if "phone" in groups:
        return Quantity("phone", _digits(groups["phone"]))
    if "date" in groups:
        return Quantity("date", groups["date"])
    if "time" in groups:
        return Quantity("time", groups["time"].zfill(5))
    if "number" in groups:
        return Quantity("number", _decimal(groups["number"]))
    month = (groups.get("month") or groups["us_month"])[:3].casefold()
    month_number = [name[:3] for name in MONTHS].index(month) + 1
    day = int(groups.get("day") or groups["us_day"])
    year = groups.get("year") or groups.get("us_year")
    month_and_day = f"{month_number:02d}-{day:02d}"
    return Quantity("date", f"{year}-{month_and_day}" if year else month_and_day)


def _as_quantity(part: Any) -> Quantity | None:
    """Return the number, date, ... that is the whole of a part, or None."""
    match = VALUES.fullmatch(_without_currency(str(part)))
    return _quantity(match) if match else None


def _as_quantities(parts: Iterable[Any]) -> list[Quantity]:
    quantities_or_none = [_as_quantity(part) for part in parts]
    return [quantity for quantity in quantities_or_none if quantity is not None]


def _contains(
    parts: Sequence[Any], unwanted: Sequence[Any], allowed: Sequence[Any] | None, text: str
) -> bool:
    needed = {_text(part) for part in parts}
    others = [part for part in _flat(unwanted) if _text(part) not in needed]
    if not all(_stands_in(part, text) for part in parts):
        return False
    if any(_stands_in(part, text) for part in others):
        return False
    if allowed is None:
        return True
    in_names = [quantity for part in parts for quantity in quantities(str(part))]
    return _has_no_other(_as_quantities(parts), text, [*in_names, *_as_quantities(allowed)])


def _flat(values: Iterable[Any]) -> Iterable[Any]:
    """Yield values, and the values of rows."""
    for value in values:
        if isinstance(value, Mapping):
            yield from value.values()
        else:
            yield value


def _stands_in(part: Any, text: str) -> bool:
    """Return whether a text contains a part, not within a longer word or number."""
    quantity = _as_quantity(part)
    if quantity is not None:
        return any(quantity.is_same(other) for other in quantities(text))
    words = re.escape(_text(part))
    return bool(re.search(rf"(?<!\w){words}(?!\w)(?![.,]\d)", _text(text)))


def _has_no_other(needed: Sequence[Quantity], text: str, allowed: Sequence[Quantity] = ()) -> bool:
    """Return whether all numbers, dates, ... of the needed kinds are needed or allowed."""
    kinds = {quantity.kind for quantity in needed}
    accepted = [*needed, *allowed]
    for quantity in quantities(text):
        if quantity.kind in kinds and not any(quantity.is_same(other) for other in accepted):
            return False
    return True


def _has_lines(lines: Sequence[Any], text: str) -> bool:
    actual_lines = [line for line in text.splitlines() if line.strip()]
    if len(actual_lines) != len(lines):
        return False
    pairs = zip(lines, actual_lines, strict=True)
    return all(matches(expected, actual) for expected, actual in pairs)


def _is_same(expected: Any, actual: Any) -> bool:
    if PHONE.fullmatch(str(expected).strip()):
        text = str(actual).strip(QUOTES + "\n\t.")
        return bool(PHONE_ONLY.fullmatch(text)) and _digits(text) == _digits(str(expected))
    return _plain(expected) == _plain(actual)


def _digits(phone: str) -> str:
    """Return the digits of a telephone number; 0044 is +44."""
    digits = "".join(filter(str.isdigit, phone))
    return digits.removeprefix("00")


def _numbers(text: str) -> set[Decimal]:
    return {_decimal(digits) for digits in ANY_NUMBER.findall(text)}


def _decimal(text: str) -> Decimal:
    return Decimal(text.replace(",", "")).normalize()


def _text(value: Any) -> str:
    """Return a text without case, extra spaces, quotation marks and a final full stop."""
    text = " ".join(str(value).split()).casefold().replace("’", "'").strip(QUOTES)
    return text.rstrip(".!").strip(QUOTES)


def _plain(value: Any) -> str | Decimal:
    """Return the same value for texts that people read as the same."""
    text = _text(value)
    if WHOLE_NUMBER.fullmatch(text):
        return _decimal(text)
    if re.fullmatch(r"\d:[0-5]\d", text):
        return text.zfill(5)
    return text
