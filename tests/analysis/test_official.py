"""The official figures, and the one rounding of what is shown."""

import pytest

from utils.protocol import official_figures, official_order
from utils.text import format_interval, format_number, format_percent
from utils.text import format_share as share


@pytest.mark.parametrize(
    ("value", "digits", "expected"),
    [
        (0.125, 2, "0.13"),
        (0.375, 2, "0.38"),
        (2.675, 2, "2.68"),
        (56.204999999999998, 2, "56.21"),
        (62.5, 0, "63"),
        (63.5, 0, "64"),
        (100.0, 2, "100.00"),
        (0.004, 2, "0.00"),
        (1e-12, 1, "0.0"),
    ],
)
def test_halves_are_rounded_up_whatever_the_arithmetic_made_of_them(value, digits, expected):
    assert format_number(value, digits) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [(7.25, "+7.3"), (-7.25, "-7.3"), (-0.04, "0.0"), (0.0, "0.0"), (-0.05, "-0.1")],
)
def test_a_difference_has_a_sign_unless_it_is_shown_as_none(value, expected):
    assert format_number(value, 1, signed=True) == expected


def analysis(*names):
    rows = [
        {"name": name, "cells": [None, {"value": position}]} for position, name in enumerate(names)
    ]
    return {"table": {"rows": rows}, "averages": {"overall": {"value": 9}}}


def test_figures_of_episodes_are_official_at_whatever_steps_and_stand_by_steps():
    rows = ["SR 15", "EQA 15", "EQA* 15", "SR 120", "EQA 120", "EQA* 120"]
    assert [*official_figures(analysis(*rows))] == ["SR 15", "EQA* 15", "SR 120", "EQA* 120"]
    mixed = [
        "EQA* 15",
        "EQA 120",
        "overall",
        "SR 120",
        "EQA 15",
        "SR 15",
        "easy",
        "EQA* 120",
        "other",
    ]
    assert sorted(mixed, key=official_order) == ["easy", "overall", *rows, "other"]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ("easy medium hard", {"easy": 0, "medium": 1, "hard": 2, "overall": 9}),
        ("hard", {"hard": 0}),
        ("advanced average", {"advanced": 0}),  # no average of one grounding type
        ("basic advanced average", {"basic": 0, "advanced": 1, "average": 2}),
        ("", {}),
    ],
)
def test_each_level_has_its_official_figures(rows, expected):
    official = official_figures(analysis(*rows.split()))
    assert {name: cell["value"] for name, cell in official.items()} == expected


def test_scores_shares_and_intervals_have_digits_of_their_own():
    assert (format_percent(6.125), format_percent(None), share(1, 16)) == ("6.13", "-", "6.3")
    assert format_interval({"value": 6.25, "low": 2.25, "high": 12.349}) == "2.3–12.3"
    assert format_interval({"low": -2.25, "high": -0.3}) == "-2.3 to -0.3"
    assert [format_interval(none) for none in (None, {}, {"low": None, "high": None})] == [""] * 3
