"""The frame of the conformance files: reading them, comparing, counting what was replayed.

A case is one of three kinds: ordinary (must come out as the file says), a departure (named in the
README of the data; must come out as said there), a crash of the reference (`upstream_crashes`).
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

FOLDER = Path(__file__).resolve().parent
FILES = sorted(path.name for path in FOLDER.glob("*.json"))
ORDINARY, DEPARTURE, CRASH = "ordinary", "departure", "crash"


class World(NamedTuple):
    """What a replay may use of pytest."""

    folder: Path
    patch: pytest.MonkeyPatch


class Case(NamedTuple):
    """One case as it stands in its file."""

    number: int
    input: Any
    expected: Any
    is_crash: bool = False


class Departs(NamedTuple):
    """What must come out instead of `expected`, where this project departs from the reference."""

    expected: Any


class Replay(NamedTuple):
    """How the cases of one file are run through this project.

    Attributes:
        run: the case's input → what comes out; may raise where the reference raises.
        departs: None for an ordinary case, else what must come out here.
        same: whether what came out is what was expected.
    """

    run: Callable[[Case, World], Any]
    departs: Callable[[Case], Departs | None] = lambda case: None
    same: Callable[[Any, Any], bool] = lambda got, expected: equal(got, expected)


def read_cases(name: str) -> Iterator[Case]:
    """All cases of a file; those of `upstream_crashes` have `proposed` as their expectation."""
    frame = json.loads((FOLDER / name).read_text(encoding="ascii"), object_hook=_number)
    for part, expected in (("cases", "expected"), ("upstream_crashes", "proposed")):
        for number, item in enumerate(frame.get(part, [])):
            yield Case(number, item["input"], item[expected], is_crash=part != "cases")


def replay(name: str, how: Replay, world: World) -> tuple[Counter[str], list[str]]:
    """Runs every case of a file: how many there are of each kind, and those that came out wrong."""
    counts: Counter[str] = Counter()
    mismatches = []
    for case in read_cases(name):
        departure = how.departs(case)
        expected = case.expected if departure is None else departure.expected
        kind = CRASH if case.is_crash else ORDINARY if departure is None else DEPARTURE
        counts[kind] += 1
        try:
            got = how.run(case, world)
        except Exception as error:  # noqa: BLE001 - a case may expect any failure
            got = error
        if not _agrees(how, got, expected):
            report = {"input": case.input, "expected": expected, "got": got}
            values = (f"\n   {what:8} {value!r:.600}" for what, value in report.items())
            mismatches.append(f"{kind} {case.number}{''.join(values)}")
    return counts, mismatches


def _agrees(how: Replay, got: Any, expected: Any) -> bool:
    # Only the fact that it fails has to be reproduced, not the type; a failed assertion is the
    # replay's own failure.
    if isinstance(expected, Mapping) and set(expected) == {"raises"}:
        return isinstance(got, Exception) and not isinstance(got, AssertionError)
    return not isinstance(got, Exception) and how.same(got, expected)


def equal(got: Any, expected: Any) -> bool:
    """Floats to 1e-9, tuples as lists, everything else exactly; key order does not matter."""
    if isinstance(expected, bool) or isinstance(got, bool):
        return got is expected
    if isinstance(expected, (int, float)) and isinstance(got, (int, float)):
        if math.isnan(expected) or math.isnan(got):
            return math.isnan(expected) and math.isnan(got)
        return math.isclose(got, expected, rel_tol=1e-9)
    if isinstance(expected, Mapping) and isinstance(got, Mapping):
        return set(got) == set(expected) and all(equal(got[key], expected[key]) for key in expected)
    if isinstance(expected, (list, tuple)) and isinstance(got, (list, tuple)):
        return len(got) == len(expected) and all(map(equal, got, expected))
    return type(got) is type(expected) and got == expected


def summary(replayed: Iterable[tuple[Mapping[str, int], int]]) -> str:
    """What the end of a pytest run says about the files that were replayed."""
    counts: Counter[str] = Counter()
    for run, wrong in replayed:
        counts += Counter(run) + Counter(wrong=wrong)
    return (
        f"conformance: {counts[ORDINARY]:,} cases like the reference, {counts[DEPARTURE]:,} departures, "
        f"{counts[CRASH]:,} crashes of the reference; {counts['wrong']:,} came out wrong"
    )


def _number(value: dict[str, Any]) -> Any:
    """`{"float": "nan"}` → the number."""
    return float(value["float"]) if set(value) == {"float"} else value
