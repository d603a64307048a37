"""Formulas of sheets: their values, as the page shows them, and whether two are equivalent."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence

CELL = re.compile(r"[A-J]\d{1,2}")
TOKEN = re.compile(r"[A-J]\d{1,2}|[A-Z]+|\d+\.?\d*|\.\d+|\S")
NUMBER = re.compile(r"\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\s*")
MAX_LENGTH = 2000  # characters of a formula that is read
DIGITS = 6  # after the decimal point, in the text of a cell
Cells = Mapping[str, str]  # content of the cells of one sheet: {"A1": "Name", "B2": "=A2+1"}


class FormulaError(Exception):
    """A formula has no value; the message is what its cell shows, like "#DIV/0!"."""


def cell_text(cells: Cells, cell: str) -> str:
    """Return the text that a cell of a sheet shows."""
    return _Sheet(cells).text(cell)


def is_same_formula(expected: str, actual: str, cells: Cells, cell: str) -> bool:
    """Whether two formulas have the same value, also when the cells they use change.

    Both are evaluated on the sheet as it is, then with each of the cells that one of them uses
    changed, then with all of them changed.

    Args:
        expected: a right formula.
        actual: the content of the cell.
        cells: the sheet, with or without the cell itself.
        cell: the address of the formula.
    """
    if not actual.startswith("=") or len(actual) > MAX_LENGTH:
        return False
    inputs = sorted(_inputs(expected) | _inputs(actual))
    if cell in inputs:
        return False
    changes: list[dict[str, str]] = [{}]
    for number, name in enumerate(inputs):
        changes.append({name: str(1009 + 13 * number)})
    changes.append({name: str(3 + number * number) for number, name in enumerate(inputs)})
    changes.append({name: str(-(7**number % 1013)) for number, name in enumerate(inputs)})
    for change in changes:
        changed = {**cells, **change}
        expected_text = cell_text({**changed, cell: expected}, cell)
        actual_text = cell_text({**changed, cell: actual}, cell)
        if expected_text != actual_text or actual_text.startswith("#"):
            return False
    return True


def between(one: str, other: str) -> list[str]:
    """Return all cells of a rectangle, given two of its corners, row by row."""
    columns = sorted((ord(one[0]), ord(other[0])))
    rows = sorted((int(one[1:]), int(other[1:])))
    return [
        f"{chr(column)}{row}"
        for row in range(rows[0], rows[1] + 1)
        for column in range(columns[0], columns[1] + 1)
    ]


def _tokens(formula: str) -> list[str]:
    return TOKEN.findall(formula[1:].upper().replace("$", ""))


def _inputs(formula: str) -> set[str]:
    """Return the cells that a formula uses, those of its ranges too."""
    tokens = _tokens(formula)
    inputs = {token for token in tokens if CELL.fullmatch(token)}
    for first, separator, last in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if separator == ":" and CELL.fullmatch(first) and CELL.fullmatch(last):
            inputs.update(between(first, last))
    return inputs


class _Sheet:
    """A sheet whose formulas are evaluated once each."""

    def __init__(self, cells: Cells) -> None:
        self._cells = cells
        self._results: dict[str, str] = {}

    def text(self, cell: str) -> str:
        content = self._cells.get(cell, "")
        if not content.startswith("="):
            return content
        if cell not in self._results:
            self._results[cell] = "#CIRCLE!"  # for a formula that uses this cell
            self._results[cell] = self._result(content)
        return self._results[cell]

    def _result(self, formula: str) -> str:
        try:
            value = _Formula(_tokens(formula), self._number).value()
        except FormulaError as error:
            return str(error)
        except (OverflowError, RecursionError):
            return "#ERROR!"
        rounded = round(value, DIGITS) + 0.0  # no "-0"
        return f"{rounded:.{DIGITS}f}".rstrip("0").rstrip(".")

    def _number(self, cell: str) -> float | None:
        text = self.text(cell)
        if text.startswith("#"):
            raise FormulaError(text)
        return float(text) if NUMBER.fullmatch(text) else None


class _Formula:
    """A recursive descent parser that evaluates one formula."""

    def __init__(self, tokens: Sequence[str], number: Callable[[str], float | None]) -> None:
        self._tokens = tokens
        self._number = number  # of a cell; None: it has none
        self._position = 0

    def value(self) -> float:
        result = self._sum()
        if self._position < len(self._tokens):
            raise FormulaError("#ERROR!")
        return result

    def _next(self) -> str:
        return self._tokens[self._position] if self._position < len(self._tokens) else ""

    def _take(self, token: str) -> None:
        if self._next() != token:
            raise FormulaError("#ERROR!")
        self._position += 1

    def _sum(self) -> float:
        total = self._product()
        while self._next() in ("+", "-"):
            sign = self._next()
            self._position += 1
            term = self._product()
            total += term if sign == "+" else -term
        return total

    def _product(self) -> float:
        product = self._factor()
        while self._next() in ("*", "/"):
            sign = self._next()
            self._position += 1
            factor = self._factor()
            if sign == "*":
                product *= factor
            elif factor == 0:
                raise FormulaError("#DIV/0!")
            else:
                product /= factor
        return product

    def _factor(self) -> float:
        token = self._next()
        self._position += 1
        if token == "-":
            return -self._factor()
        if token == "+":
            return self._factor()
        if token == "(":
            value = self._sum()
            self._take(")")
            return value
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
        numbers = self._arguments()
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

    def _arguments(self) -> list[float]:
        """Return the numbers between the parentheses of a function, those of ranges too."""
        numbers: list[float] = []
        self._take("(")
        while True:
            token = self._next()
            if CELL.fullmatch(token) and self._tokens[self._position + 1 : self._position + 2] == [
                ":"
            ]:
                self._position += 2
                last = self._next()
                if not CELL.fullmatch(last):
                    raise FormulaError("#ERROR!")
                self._position += 1
                in_range = [self._number(cell) for cell in between(token, last)]
                numbers += [number for number in in_range if number is not None]
            else:
                numbers.append(self._sum())
            if self._next() not in (",", ";"):
                break
            self._position += 1
        self._take(")")
        return numbers
