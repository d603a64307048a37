"""Compare plain data with what is expected of it."""

from __future__ import annotations

import math
import re
from typing import Any

from benchmarks.worlds.desktop.documents.sheets import cells_of_formula

WAYS = ("uses", "one_of", "any", "text", "about", "near")


def matches(expected: Any, actual: Any) -> bool:
    """Whether data is as expected.

    Args:
        expected: equal data, with numbers that may differ in their last digits; at any depth one of

            - {"uses": "B2:B8"}: a formula that refers to all of these cells.
            - {"one_of": [expected, ...]}, {"any": True}.
            - {"text": "Rent"}: that text, whatever its case and the spaces around it.
            - {"about": 20, "by": 1}: a number that is so near.
            - {"near": [20, 30], "by": 1}: numbers that are so near.
            - a mapping with a list of names under "*": values that may be there or not, as they
              please.
        actual: the data to judge.
    """
    if isinstance(expected, dict):
        if expected.keys() & set(WAYS):
            return _fits(expected, actual)
        return isinstance(actual, dict) and _same_items(expected, actual)
    if isinstance(expected, (list, tuple)):
        return (
            isinstance(actual, (list, tuple))
            and len(expected) == len(actual)
            and all(map(matches, expected, actual))
        )
    if isinstance(expected, float) or isinstance(actual, float):
        numbers = (int, float)
        if not (isinstance(expected, numbers) and isinstance(actual, numbers)):
            return False
        return math.isclose(expected, actual, rel_tol=1e-9, abs_tol=1e-9)
    return bool(expected == actual)


def _fits(expected: dict[str, Any], actual: Any) -> bool:
    match expected:
        case {"uses": cells}:
            used = cells_of_formula(str(actual)) if actual else set()
            return cells_of_formula(f"[.{cells.replace(':', ':.')}]") <= used
        case {"one_of": choices}:
            return any(matches(choice, actual) for choice in choices)
        case {"text": text}:
            return _folded(text) == _folded(str(actual))
        case {"about": number, "by": distance}:
            return isinstance(actual, (int, float)) and abs(actual - number) <= distance
        case {"near": numbers, "by": distance}:
            pairs = [{"about": number, "by": distance} for number in numbers]
            return matches(pairs, actual)
    return True


def _folded(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip().casefold()


def _same_items(expected: dict[str, Any], actual: dict[str, Any]) -> bool:
    free = {*expected.get("*", ()), "*", "content"}
    names = {*expected, *actual} - free
    return all(
        name in expected and name in actual and matches(expected[name], actual[name])
        for name in names
    )
