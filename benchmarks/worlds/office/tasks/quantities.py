"""Read the numbers, dates, times and telephone numbers of a text, however people write them.

"16 March", "March 16th, 2026", "16.03.2026" and "2026-03-16" are one date; "13:00", "13.00" and
"1 pm" one time; "1,412.50", "1.412,50" and "1412.5" one number, and so are "thirty" and "30".
What can be read in several ways has several readings: "13.00" is a number and a time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

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
WEEKDAYS = r"\b(?:mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?|sun)(?:day)?\b[.,]?"
CURRENCY = re.compile(r"€|\beuros?\b|\beur\b|\beur(?=\d)|(?<=\d)eur(?:os?)?\b", re.IGNORECASE)
PHONE = re.compile(r"(?:\+|\b00)\d[\d ()/.-]{6,}\d")
YEAR = r"(?:19|20)\d\d"
FIGURES = r"\d+(?:[.,]\d+)*"
VALUES = re.compile(
    rf"""(?P<phone>(?:\+|\b00)\d[\d\ ()/.-]{{6,}}\d)
    | \b(?P<year_first>\d{{4}})[-/.](?P<then_month>\d\d)[-/.](?P<then_day>\d\d)\b
    | \b(?P<day>\d{{1,2}})(?:st|nd|rd|th|\.)?[ -](?:of\ )?(?P<month>{MONTH})
        (?:[ -](?P<year>{YEAR})\b(?!-\d))?
    | \b(?P<us_month>{MONTH})\ (?P<us_day>\d{{1,2}})(?:st|nd|rd|th)?\b(?!:)
        (?:,?\ (?P<us_year>{YEAR})\b(?!-\d))?
    | (?<![\d.,/])(?P<one>\d{{1,2}})(?P<sign>[./-])(?P<two>\d{{1,2}})(?P=sign)
        (?P<last_year>\d{{4}}|\d\d)\b
    | (?<![\d.,/])(?P<one_short>\d\d)/(?P<two_short>\d\d)(?![\d/])
    | (?<![\d:.,])(?P<hour12>1[0-2]|0?[1-9])(?:[:.](?P<minute12>[0-5]\d))?\ ?(?P<half>[ap])\.?m\b
    | (?<![\d:])(?P<hour>[01]?\d|2[0-3])[:h](?P<minute>[0-5]\d)(?::00\b)?(?!\d|:\d)
    | (?P<noon>\b(?:noon|midday)\b)
    | (?<!\w)(?<!\d[.,])(?P<number>(?:(?<![\w)])-)?{FIGURES})
        (?=(?:x|mins?|pcs)\b|(?!\w))(?![.,]\d)""",
    re.IGNORECASE | re.VERBOSE,
)
ANY_NUMBER = re.compile(rf"(?:(?<![\w)])-)?{FIGURES}")
GROUPED = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d{1,3}(?:\.\d{3})+(?:,\d+)?")
DECIMAL = re.compile(r"\d+[.,]\d+")
CLOCK = re.compile(r"([01]?\d|2[0-3])\.([0-5]\d)")
DAY_AND_MONTH = re.compile(r"(0?[1-9]|[12]\d|3[01])\.(0[1-9]|1[0-2])")
UNITS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
TEENS = ["ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen"]
TEENS += ["eighteen", "nineteen"]
TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
WORTH = {word: number for number, word in enumerate(["zero", *UNITS, *TEENS])}
WORTH |= {word: 10 * number for number, word in enumerate(TENS, 2)}
UNIT, TEN = "|".join(UNITS), "|".join(TENS)
BELOW_HUNDRED = rf"(?:(?:{TEN})(?:[- ](?:{UNIT}))?|{'|'.join(TEENS)}|{UNIT}|zero)"
IN_WORDS = re.compile(
    rf"\b(?:(?P<hundreds>{UNIT}|a)[- ]hundred(?:(?: and)? (?P<more>{BELOW_HUNDRED}))?"
    rf"|(?P<below>{BELOW_HUNDRED}))\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number, date, time or telephone number, however it is written."""

    kind: str  # "number", "date", "time", "phone"
    value: str | Decimal

    def is_same(self, other: Quantity) -> bool:
        """Whether both mean the same; a date without a year is that of any year."""
        if self.kind == other.kind == "date":
            dates = sorted((str(self.value), str(other.value)), key=len)
            return dates[1].endswith(dates[0])
        return self == other


@dataclass(frozen=True, slots=True)
class Mention:
    """A place in a text that names a quantity, and what it can be read as."""

    start: int
    readings: tuple[Quantity, ...]  # the plainest first

    def means(self, quantity: Quantity) -> bool:
        """Whether it can be read as a quantity."""
        return any(reading.is_same(quantity) for reading in self.readings)


def quantities(text: str) -> list[Quantity]:
    """Return every number, date, time and telephone number of a text, in its plainest reading."""
    return [mention.readings[0] for mention in mentions(text)]


def mentions(text: str) -> list[Mention]:
    """Return the places of a text that name quantities in figures, and months in words."""
    result = []
    plain = without_currency(text)
    for match in VALUES.finditer(plain):
        is_in_a_row = plain[: match.start()].endswith(",")  # of a table: Delta,14,16
        readings = [] if is_in_a_row and "," in match[0] else _readings(match)
        if readings:
            result.append(Mention(match.start(), tuple(readings)))
        elif match["number"]:  # a list without spaces, such as 7308,7310
            for part in re.finditer(r"[^,]+", match["number"]):
                numbers_of_part = [Quantity("number", value) for value in number_readings(part[0])]
                if numbers_of_part:
                    result.append(Mention(match.start() + part.start(), tuple(numbers_of_part)))
    return result


def mentions_in_words(text: str) -> list[Mention]:
    """Return the places of a text that name a number in words, below a thousand."""
    return [
        Mention(match.start(), (Quantity("number", Decimal(_worth(match)).normalize()),))
        for match in IN_WORDS.finditer(without_currency(text))
    ]


def in_figures(text: str) -> str:
    """Return a text whose numbers in words are written in figures."""
    return IN_WORDS.sub(lambda match: str(_worth(match)), text)


def as_quantity(part: object) -> Quantity | None:
    """Return the number, date, ... that is the whole of a text, or None."""
    text = without_currency(str(part))
    match = VALUES.fullmatch(text)
    return next(iter(_readings(match)), None) if match else None


def is_date(date: Quantity, text: str) -> bool:
    """Whether a text is a date, with or without its weekday, and nothing else."""
    alone = re.sub(WEEKDAYS, " ", text, flags=re.IGNORECASE).strip(" .,")
    match = VALUES.fullmatch(" ".join(alone.split()))
    return match is not None and any(reading.is_same(date) for reading in _readings(match))


def numbers(text: str) -> list[set[Decimal]]:
    """The readings of each number of a text; of numbers in words if there are no figures."""
    in_text = [set(number_readings(figures)) for figures in ANY_NUMBER.findall(text)]
    return in_text or [{Decimal(_worth(match)).normalize()} for match in IN_WORDS.finditer(text)]


def number_readings(figures: str) -> list[Decimal]:
    """Return the numbers that figures can stand for, the plainest first; none: no number.

    A comma before three figures groups them, and before one or two it is decimal; a point is
    decimal, and before three figures it may group them.
    """
    sign, unsigned = ("-", figures[1:]) if figures.startswith("-") else ("", figures)
    texts = []
    if unsigned.isdigit():
        texts.append(unsigned)
    if DECIMAL.fullmatch(unsigned) and not re.fullmatch(r"\d+,\d{3,}", unsigned):
        texts.append(unsigned.replace(",", "."))
    if GROUPED.fullmatch(unsigned):
        group = next(sign for sign in unsigned if not sign.isdigit())
        texts.append(unsigned.replace(group, "").replace(",", "."))
    return [Decimal(sign + text).normalize() for text in texts]


def without_currency(text: str) -> str:
    """Return a text without currencies and extra white space."""
    return " ".join(CURRENCY.sub(" ", text).split())


def phone_digits(phone: str) -> str:
    """Return the digits of a telephone number; 0044 is +44."""
    digits = "".join(filter(str.isdigit, phone))
    return digits.removeprefix("00")


def _readings(match: re.Match[str]) -> list[Quantity]:
    groups = {name: value for name, value in match.groupdict().items() if value}
    if "phone" in groups:
        return [Quantity("phone", phone_digits(groups["phone"]))]
    if "number" in groups:
        return list(_all_readings(groups["number"]))
    if "noon" in groups:
        return [Quantity("time", "12:00")]
    if "hour12" in groups:
        hour = int(groups["hour12"]) % 12 + (12 if groups["half"] in "pP" else 0)
        return [Quantity("time", f"{hour:02d}:{groups.get('minute12', '00')}")]
    if "hour" in groups:
        return [Quantity("time", f"{groups['hour'].zfill(2)}:{groups['minute']}")]
    return list(_dates(groups))


def _all_readings(figures: str) -> Iterator[Quantity]:
    for number in number_readings(figures):
        yield Quantity("number", number)
    clock = CLOCK.fullmatch(figures)
    if clock:
        yield Quantity("time", f"{clock[1].zfill(2)}:{clock[2]}")
    date = DAY_AND_MONTH.fullmatch(figures)
    if date:
        yield Quantity("date", f"{date[2]}-{date[1].zfill(2)}")


def _dates(groups: dict[str, str]) -> Iterator[Quantity]:
    """Yield the dates that a match can mean: of 03/04/2026 the one of April and that of March."""
    year = next((groups[name] for name in groups if "year" in name), "")
    if len(year) == 2:
        year = f"20{year}"
    if "then_month" in groups:
        days = [(groups["then_day"], groups["then_month"])]
    elif "sign" in groups or "one_short" in groups:
        one = groups.get("one") or groups["one_short"]
        two = groups.get("two") or groups["two_short"]
        days = [(one, two), (two, one)] if groups.get("sign") != "." else [(one, two)]
    else:
        name = (groups.get("month") or groups["us_month"])[:3].casefold()
        month = [month[:3] for month in MONTHS].index(name) + 1
        days = [(groups.get("day") or groups["us_day"], str(month))]
    for day, month_number in days:
        if 1 <= int(month_number) <= 12 and 1 <= int(day) <= 31:
            month_and_day = f"{int(month_number):02d}-{int(day):02d}"
            yield Quantity("date", f"{year}-{month_and_day}" if year else month_and_day)


def _worth(match: re.Match[str]) -> int:
    """Return the number that a match of IN_WORDS stands for."""
    below = match["below"] or match["more"] or ""
    total = sum(WORTH[word] for word in re.split(r"[- ]", below.casefold()) if word)
    hundreds = (match["hundreds"] or "zero").casefold()
    return total + 100 * WORTH.get(hundreds, 1)
