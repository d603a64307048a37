"""Formulas of sheets: their values, as the page shows them, and whether two mean the same."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence

CELL = re.compile(r"[A-J]\d{1,2}")
TOKEN = re.compile(r"[A-J]\d{1,2}|[A-Z]+|\d+\.?\d*|\.\d+|\S")
NUMBER = re.compile(r"\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\s*")
LONGEST = 2000  # characters of a formula that is looked at
DIGITS = 6  # after the point, of what a cell shows
Cells = Mapping[str, str]  # what the cells of one sheet hold: {"A1": "Name", "B2": "=A2+1"}


class FormulaError(Exception):
    """A formula has no value; the text is what its cell shows, like "#DIV/0!"."""


def shown(cells: Cells, cell: str) -> str:
    """What a cell of a sheet shows."""
    return _Sheet(cells).shown(cell)


def is_same_formula(expected: str, actual: str, cells: Cells, cell: str) -> bool:
    """Whether a cell holds a formula with the values of another one, whatever its cells hold.

    Both are worked out for the sheet as it is, and again with each of the cells that one of them
    names, and with all of them, changed.

    Args:
        expected: a formula that is right.
        actual: what has been written into the cell.
        cells: the sheet, with or without the cell itself.
        cell: where the formula stands.
    """
    if not actual.startswith("=") or len(actual) > LONGEST:
        return False
    inputs = sorted({*_named(expected), *_named(actual)})
    if cell in inputs:
        return False
    changes: list[dict[str, str]] = [{}]
    for number, name in enumerate(inputs):
        changes.append({name: str(1009 + 13 * number)})
    changes.append({name: str(3 + number * number) for number, name in enumerate(inputs)})
    changes.append({name: str(-(7**number % 1013)) for number, name in enumerate(inputs)})
    for change in changes:
        changed = {**cells, **change}
        results = [shown({**changed, cell: text}, cell) for text in (expected, actual)]
        if results[0] != results[1] or results[1].startswith("#"):
            return False
    return True


def between(one: str, other: str) -> list[str]:
    """All cells of a rectangle, row by row."""
    columns = sorted((ord(one[0]), ord(other[0])))
    rows = sorted((int(one[1:]), int(other[1:])))
    return [
        f"{chr(column)}{row}"
        for row in range(rows[0], rows[1] + 1)
        for column in range(columns[0], columns[1] + 1)
    ]


def _tokens(formula: str) -> list[str]:
    return TOKEN.findall(formula[1:].upper().replace("$", ""))


def _named(formula: str) -> set[str]:
    """The cells that a formula names, those of its ranges too."""
    tokens = _tokens(formula)
    named = {token for token in tokens if CELL.fullmatch(token)}
    for number, token in enumerate(tokens[1:-1], 1):
        one, other = tokens[number - 1], tokens[number + 1]
        if token == ":" and CELL.fullmatch(one) and CELL.fullmatch(other):
            named.update(between(one, other))
    return named


class _Sheet:
    """A sheet whose cells are worked out once."""

    def __init__(self, cells: Cells) -> None:
        self._cells = cells
        self._results: dict[str, str] = {}

    def shown(self, cell: str) -> str:
        text = self._cells.get(cell, "")
        if not text.startswith("="):
            return text
        if cell not in self._results:
            self._results[cell] = "#CIRCLE!"  # should it be met again on the way
            self._results[cell] = self._worked_out(text)
        return self._results[cell]

    def _worked_out(self, text: str) -> str:
        try:
            value = _Formula(_tokens(text), self._number).value()
        except FormulaError as error:
            return str(error)
        except (OverflowError, RecursionError):
            return "#ERROR!"
        rounded = round(value, DIGITS) + 0.0  # no "-0"
        return f"{rounded:.{DIGITS}f}".rstrip("0").rstrip(".")

    def _number(self, cell: str) -> float | None:
        text = self.shown(cell)
        if text.startswith("#"):
            raise FormulaError(text)
        return float(text) if NUMBER.fullmatch(text) else None


class _Formula:
    """One formula while it is read."""

    def __init__(self, tokens: Sequence[str], number: Callable[[str], float | None]) -> None:
        self._tokens = tokens
        self._number = number  # of a cell; None: it holds none
        self._at = 0

    def value(self) -> float:
        result = self._sum()
        if self._at < len(self._tokens):
            raise FormulaError("#ERROR!")
        return result

    def _next(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _take(self, token: str) -> None:
        if self._next() != token:
            raise FormulaError("#ERROR!")
        self._at += 1

    def _sum(self) -> float:
        left = self._product()
        while self._next() in ("+", "-"):
            sign = self._next()
            self._at += 1
            right = self._product()
            left = left + right if sign == "+" else left - right
        return left

    def _product(self) -> float:
        left = self._one()
        while self._next() in ("*", "/"):
            sign = self._next()
            self._at += 1
            right = self._one()
            if sign == "/" and right == 0:
                raise FormulaError("#DIV/0!")
            left = left * right if sign == "*" else left / right
        return left

    def _one(self) -> float:
        token = self._next()
        self._at += 1
        if token == "-":
            return -self._one()
        if token == "+":
            return self._one()
        if token == "(":
            inside = self._sum()
            self._take(")")
            return inside
        if token and (token[0].isdigit() or (token[0] == "." and len(token) > 1)):
            return float(token)
        if CELL.fullmatch(token):
            return self._number(token) or 0.0
        if token.isalpha():
            return self._function(token)
        raise FormulaError("#ERROR!")

    def _function(self, name: str) -> float:
        if name not in ("SUM", "AVERAGE", "COUNT", "MIN", "MAX", "ROUND"):
            raise FormulaError("#NAME?")
        numbers = self._list()
        match name:
            case "SUM":
                return sum(numbers)
            case "COUNT":
                return len(numbers)
            case "MIN":
                return min(numbers, default=0)
            case "MAX":
                return max(numbers, default=0)
            case "AVERAGE" if numbers:
                return sum(numbers) / len(numbers)
            case "ROUND" if numbers:
                factor = 10.0 ** (numbers[1] if len(numbers) > 1 else 0)
                return math.floor(numbers[0] * factor + 0.5) / factor  # as JavaScript rounds
        raise FormulaError("#DIV/0!")

    def _list(self) -> list[float]:
        """The numbers between the brackets of a function."""
        numbers: list[float] = []
        self._take("(")
        while True:
            token = self._next()
            if CELL.fullmatch(token) and self._tokens[self._at + 1 : self._at + 2] == [":"]:
                self._at += 2
                last = self._next()
                if not CELL.fullmatch(last):
                    raise FormulaError("#ERROR!")
                self._at += 1
                inside = [self._number(cell) for cell in between(token, last)]
                numbers += [number for number in inside if number is not None]
            else:
                numbers.append(self._sum())
            if self._next() not in (",", ";"):
                break
            self._at += 1
        self._take(")")
        return numbers
