"""How a value that a task wants is compared with the one that is there.

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
DIALLED = re.compile(r"\(?\+?[\d ()/.-]{8,}")  # the whole of a text that is a telephone number
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
    """A number, date, time or telephone number, whatever way it is written in."""

    kind: str  # "number", "date", "time", "phone"
    value: str | Decimal

    def is_same(self, other: Quantity) -> bool:
        """Whether both mean the same; a date without a year is that of any year."""
        if self.kind == other.kind == "date":
            dates = sorted((str(self.value), str(other.value)), key=len)
            return dates[1].endswith(dates[0])
        return self == other


def matches(wanted: Any, got: Any) -> bool:
    """Whether a value is what a task wants.

    Args:
        wanted: a value that is the same but for case, white space, quotation marks, a full stop or
            an exclamation mark at the end and the way a number, a time or a telephone number is
            written; or one of

            - {"contains": [...], "without": [...], "allows": [...]}: the text has all those parts
              (whole words; numbers, dates, times and telephone numbers as such) and none of
              `without`, but for those that it must have. With `allows`, it has no other number,
              date, ... of the kinds of its parts, but for those in this list.
            - {"lines": [...]}: these lines, each a value or one of these ways.
            - {"number": 20}: the only number in a text.
            - {"money": "12.30"}: an amount and nothing else, with or without "EUR" or "€".
            - {"pattern": regular expression}, of the whole text.
            - {"reply": wanted}: what stands above and below the text that a reply quotes. A text
              is what the reply begins with after a greeting; see `replies.begins_with`.
            - {"any_of": [wanted, ...]}, {"any": True}.
        got: what is there.

    Raises:
        ValueError: there is no such way to compare.
    """
    if not isinstance(wanted, Mapping):
        return _is_same(wanted, got)
    match dict(wanted):
        case {"any": True}:
            return True
        case {"contains": parts, **others} if set(others) <= {"without", "allows"}:
            return _contains(parts, others.get("without", ()), others.get("allows"), str(got))
        case {"lines": lines}:
            there = [line for line in str(got).splitlines() if line.strip()]
            pairs = zip(lines, there, strict=False)
            return len(lines) == len(there) and all(matches(one, line) for one, line in pairs)
        case {"number": number}:
            numbers = {_decimal(each) for each in ANY_NUMBER.findall(str(got))}
            return numbers == {_decimal(str(number))}
        case {"money": amount}:
            return _plain(CURRENCY.sub(" ", str(got))) == _plain(amount)
        case {"pattern": pattern}:
            return bool(re.fullmatch(pattern, str(got).strip(), re.IGNORECASE | re.DOTALL))
        case {"reply": Mapping() as inner}:
            return matches(inner, without_quote(str(got)))
        case {"reply": answer}:
            return begins_with(str(answer), without_quote(str(got))) and _no_other_number(
                str(answer), without_quote(str(got))
            )
        case {"any_of": several}:
            return any(matches(each, got) for each in several)
    raise ValueError(f"no way to compare with {wanted!r}")


def same_addresses(wanted: str, got: str) -> bool:
    """Whether two lists name the same mail addresses, in whatever order and case."""
    return _addresses(wanted) == _addresses(got)


def _addresses(text: str) -> set[str]:
    return {part.strip().casefold() for part in re.split(r"[,;]", text) if part.strip()}


def quantities(text: str) -> list[Quantity]:
    """Every number, date, time and telephone number of a text."""
    return [_quantity(found) for found in VALUES.finditer(_without_currency(text))]


def _without_currency(text: str) -> str:
    return " ".join(CURRENCY.sub(" ", text).split())


def _quantity(found: re.Match[str]) -> Quantity:
    groups = {name: value for name, value in found.groupdict().items() if value}
    if "phone" in groups:
        return Quantity("phone", _digits(groups["phone"]))
    if "date" in groups:
        return Quantity("date", groups["date"])
    if "time" in groups:
        return Quantity("time", groups["time"].zfill(5))
    if "number" in groups:
        return Quantity("number", _decimal(groups["number"]))
    month = groups.get("month") or groups["us_month"]
    number = next(at for at, name in enumerate(MONTHS, 1) if name[:3] == month[:3].casefold())
    day = int(groups.get("day") or groups["us_day"])
    year = groups.get("year") or groups.get("us_year")
    before = f"{year}-" if year else ""
    return Quantity("date", f"{before}{number:02d}-{day:02d}")


def _as_quantity(part: Any) -> Quantity | None:
    """What a wanted part is, where the whole of it is a number, date, ..."""
    text = _without_currency(str(part))
    found = VALUES.fullmatch(text)
    return _quantity(found) if found else None


def _contains(
    parts: Sequence[Any], unwanted: Sequence[Any], allowed: Sequence[Any] | None, text: str
) -> bool:
    plain = _text(text)
    there = quantities(text)
    for part in parts:
        if not _stands_in(part, plain, there):
            return False
    own = {_text(part) for part in parts}
    others = [part for part in _each(unwanted) if _text(part) not in own]
    if any(_stands_in(part, plain, there) for part in others):
        return False
    if allowed is None:
        return True
    needed = [found for part in parts if (found := _as_quantity(part))]
    right = needed + [found for part in allowed if (found := _as_quantity(part))]
    kinds = {each.kind for each in needed}
    in_names = [each for part in parts if not _as_quantity(part) for each in quantities(str(part))]
    return all(
        each.kind not in kinds or any(each.is_same(one) for one in right + in_names)
        for each in there
    )


def _each(values: Sequence[Any]) -> Iterable[Any]:
    """Values; those of rows that a query has found."""
    for value in values:
        if isinstance(value, Mapping):
            yield from value.values()
        else:
            yield value


def _stands_in(part: Any, plain: str, there: Sequence[Quantity]) -> bool:
    wanted = _as_quantity(part)
    if wanted is not None:
        return any(each.is_same(wanted) for each in there)
    return bool(re.search(rf"(?<!\w){re.escape(_text(part))}(?!\w)", plain))


def _no_other_number(answer: str, text: str) -> bool:
    """An answer that has a number stands beside no other of its kind."""
    needed = quantities(answer)
    kinds = {each.kind for each in needed}
    return all(
        each.kind not in kinds or any(each.is_same(one) for one in needed)
        for each in quantities(text)
    )


def _is_same(wanted: Any, got: Any) -> bool:
    if PHONE.fullmatch(str(wanted).strip()):
        text = str(got).strip(QUOTES + "\n\t.")
        return bool(DIALLED.fullmatch(text)) and _digits(text) == _digits(str(wanted))
    return _plain(wanted) == _plain(got)


def _digits(phone: str) -> str:
    """The digits of a telephone number; 0044 is +44."""
    digits = "".join(filter(str.isdigit, phone))
    return digits.removeprefix("00")


def _decimal(text: str) -> Decimal:
    return Decimal(text.replace(",", "")).normalize()


def _text(value: Any) -> str:
    """A text without what does not count."""
    text = " ".join(str(value).split()).casefold().replace("’", "'").strip(QUOTES)
    return text.rstrip(".!").strip(QUOTES)


def _plain(value: Any) -> str | Decimal:
    """One form for what people take as the same."""
    text = _text(value)
    if WHOLE_NUMBER.fullmatch(text):
        return _decimal(text)
    if re.fullmatch(r"\d:[0-5]\d", text):
        return text.zfill(5)
    return text
