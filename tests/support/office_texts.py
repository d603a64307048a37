"""The texts that tasks of the office ask for, and other usual forms of them."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from benchmarks.worlds.office.tasks.quantities import PHONE
from benchmarks.worlds.office.tasks.values import matches
from benchmarks.worlds.office.week import WORDS

MONTHS = "January February March April May June July August September October November December"
DATE = re.compile(
    rf"\b(?:(\d{{4}})-(\d\d)-(\d\d)|(\d{{1,2}}) ({'|'.join(MONTHS.split())})(?: (\d{{4}}))?)\b"
)
TIME = re.compile(r"(?<![\d:])(\d{1,2}):(\d\d)(?![\d:])")
DECIMAL = re.compile(r"(?<![\d.,])(\d+)\.(\d\d)(?![\d.,]*\d)")
WHOLE = re.compile(r"(?<![\w.,:/#+-])(\d{1,3})(?![\w:/-]|[.,]\d)")
ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen"
)
TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
WAYS = {"contains", "number", "money", "pattern", "all_of"}
KINDS = [kind for kinds in WORDS["products"].values() for kind in kinds]
PRODUCT = re.compile(rf"\b({'|'.join(KINDS)})(?!s)\b")
Form = Callable[[str], str]


class Asked(NamedTuple):
    """A text that a task asks for, as its first solution writes it."""

    where: str  # a table and a column
    expected: Any  # a way to compare, without `reply`
    text: str


def asked_texts(task: Mapping[str, Any]) -> Iterator[Asked]:
    """Yield the texts of a task that may be written in several ways."""
    written = list(dict.fromkeys(texts_in(task["oracle"])))
    for where, expected in expected_values(task):
        yield from (Asked(where, expected, text) for text in written if matches(expected, text))


def texts_in(value: Any) -> Iterator[str]:
    """Yield all texts and numbers of a solution."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from texts_in(item)
    else:
        yield str(value)


def expected_values(task: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the ways to compare that a task names, each with the place of the value."""
    if isinstance(task.get("answer"), Mapping):
        yield "answer", task["answer"]
    for effect in task["expect"]:
        for choice in effect.get("any_of", [[effect]]):
            for part in choice:
                table = part.get("add") or part.get("change")
                values = {**part.get("row", {}), **part.get("to", {})}
                yield from ((f"{table}.{name}", way) for name, way in _ways(values, table))


def _ways(values: Mapping[str, Any], table: str) -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        way = value["reply"] if isinstance(value, Mapping) and "reply" in value else value
        is_date = re.fullmatch(r"\d{4}-\d\d-\d\d", str(way))
        if (is_date and table == "cells") or (isinstance(way, Mapping) and WAYS & set(way)):
            yield name, way


# -- forms -----------------------------------------------------------------------------------------


def _day(match: re.Match[str]) -> datetime.date:
    if match[1]:
        return datetime.date(int(match[1]), int(match[2]), int(match[3]))
    return datetime.date(int(match[6] or 2026), MONTHS.split().index(match[5]) + 1, int(match[4]))


def _dates(write: Callable[[datetime.date], str]) -> Form:
    return lambda text: DATE.sub(lambda match: write(_day(match)), text)


def _twelve_hours(match: re.Match[str]) -> str:
    hour, minute = int(match[1]), match[2]
    half = "pm" if hour >= 12 else "am"
    return f"{(hour - 1) % 12 + 1}{'' if minute == '00' else ':' + minute} {half}"


def _capital_twelve_hours(match: re.Match[str]) -> str:
    hour = int(match[1])
    return f"{(hour - 1) % 12 + 1}:{match[2]} {'PM' if hour >= 12 else 'AM'}"


def in_words(number: int) -> str:
    """A number below a thousand, in words."""
    if number >= 100:
        rest = f" and {in_words(number % 100)}" if number % 100 else ""
        return f"{ONES.split()[number // 100]} hundred{rest}"
    if number < 20:
        return ONES.split()[number]
    unit = f"-{ONES.split()[number % 10]}" if number % 10 else ""
    return f"{TENS.split()[number // 10 - 2]}{unit}"


def _number_words(text: str) -> str:
    whole_spans = [match.span() for pattern in (DATE, PHONE) for match in pattern.finditer(text)]

    def written(match: re.Match[str]) -> str:
        if text[: match.start()].endswith("Pier "):
            return match[0]
        is_of_another = any(start <= match.start() < end for start, end in whole_spans)
        return match[0] if is_of_another else in_words(int(match[1]))

    return WHOLE.sub(written, text)


def _plural(match: re.Match[str]) -> str:
    return f"{match[1]}{'es' if match[1].endswith('x') else 's'}"


def _decimal_comma(match: re.Match[str]) -> str:
    return f"{int(match[1]):,}".replace(",", ".") + f",{match[2]}"


def _grouped(match: re.Match[str]) -> str:
    return f"{int(match[1]):,}.{match[2]}"


ANYWHERE: Mapping[str, Form] = {
    "in capitals": str.upper,
    "in small letters": str.lower,
    "date as 16 March": _dates(lambda day: f"{day.day} {day:%B}"),
    "date as 16.03.2026": _dates(lambda day: f"{day:%d.%m.%Y}"),
    "date as March 16th, 2026": _dates(lambda day: f"{day:%B} {day.day}th, {day.year}"),
    "date as 16/03/2026": _dates(lambda day: f"{day:%d/%m/%Y}"),
    "decimal comma": lambda text: DECIMAL.sub(_decimal_comma, text),
    "grouped": lambda text: DECIMAL.sub(_grouped, text),
}
"""Forms of a value alone, in a cell or a title, and of a longer text."""
OF_ANSWERS: Mapping[str, Form] = {
    "as a sentence": lambda text: f"It is {text.rstrip('.')}.",
    "in bold": lambda text: f"**{text}**",
}
"""Forms of a text in which one number is asked for, and of a longer one."""
OF_TEXTS: Mapping[str, Form] = {
    "number words": _number_words,
    "products in the plural": lambda text: PRODUCT.sub(_plural, text),
    "with greeting and sign-off": lambda text: f"Hi Ana,\n\n{text}\n\nBest regards\nRobin",
    "time as 1 pm": lambda text: TIME.sub(_twelve_hours, text),
    "time as 1:00 PM": lambda text: TIME.sub(_capital_twelve_hours, text),
    "time as 13.00": lambda text: TIME.sub(r"\1.\2", text),
    "weekday before the date": _dates(lambda day: f"{day:%A}, {day.day} {day:%B} {day.year}"),
}
"""Forms of a whole text."""
OF_FREE_TEXTS: Mapping[str, Form] = {
    "numbered list": lambda text: "\n".join(
        f"{number}. {line}" for number, line in enumerate(text.splitlines(), 1)
    ),
    "with a sum": lambda text: f"{text}\n\nTogether: 98765.43 EUR",
    "with what stays": lambda text: f"{text}\nAll the rest stays as it is, for 77 days.",
}
"""Forms of a text of which is said what must stand in it and what must not."""


def forms_of(asked: Asked) -> Iterator[tuple[str, str]]:
    """Yield the name of each form that is another one of a text, and the text in it."""
    forms = dict(ANYWHERE)
    is_text = asked.where in ("mail.body", "messages.text", "answer")
    if is_text and {"contains", "number"} & set(asked.expected):
        forms |= OF_ANSWERS
    if is_text and "number" in asked.expected:
        forms["number words"] = _number_words
    if is_text and not {"money", "number"} & set(asked.expected):
        forms |= OF_TEXTS
    if is_text and "contains" in asked.expected:
        forms |= OF_FREE_TEXTS
    for name, form in forms.items():
        text = form(asked.text)
        if text != asked.text:
            yield name, text


def unwanted_of(asked: Asked) -> Iterator[str]:
    """Yield what a text must not say."""
    if not isinstance(asked.expected, Mapping) or "contains" not in asked.expected:
        return
    for trap in asked.expected.get("without", ()):
        for value in trap.values() if isinstance(trap, Mapping) else [trap]:
            if not matches({"contains": [value]}, asked.text):
                yield str(value)
