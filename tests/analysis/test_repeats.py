"""Several answers to each question: formulas and section by hand, intervals by simulation."""

import itertools
from math import comb

import numpy as np
import pytest

from tests.support.clicks import columns_of
from utils.analysis.intervals import lay_out, wilson_bounds
from utils.analysis.repeats import (
    agreement_of,
    pass_all,
    pass_at,
    repeats_section,
    table_with_means,
    with_means,
)
from utils.contracts import question_of, repeat_key, repeat_of, turn_key

OPTIONS = {"A": "no", "B": "yes", "C": "maybe"}


@pytest.mark.parametrize(
    ("right", "at_least_once", "always"),
    [
        (0, [0, 0, 0, 0], [0, 0, 0, 0]),
        (1, [1 / 4, 1 / 2, 3 / 4, 1], [1 / 4, 0, 0, 0]),  # 1 - 3/6 of two, 1 - 1/4 of three
        (3, [3 / 4, 1, 1, 1], [3 / 4, 3 / 6, 1 / 4, 0]),
        (4, [1, 1, 1, 1], [1, 1, 1, 1]),
    ],
)
def test_pass_at_j_and_pass_to_the_j_of_four_answers(right, at_least_once, always):
    assert [pass_at(j, right, 4) for j in (1, 2, 3, 4)] == pytest.approx(at_least_once)
    assert [pass_all(j, right, 4) for j in (1, 2, 3, 4)] == pytest.approx(always)


@pytest.mark.parametrize("j", [1, 2, 3])
def test_both_are_estimated_without_bias(j):
    """Over all outcomes of five answers, each right with a chance of 0.3."""
    chances = [comb(5, right) * 0.3**right * 0.7 ** (5 - right) for right in range(6)]
    at_least_once = sum(chance * pass_at(j, right, 5) for right, chance in enumerate(chances))
    always = sum(chance * pass_all(j, right, 5) for right, chance in enumerate(chances))
    assert (at_least_once, always) == pytest.approx((1 - 0.7**j, 0.3**j))


@pytest.mark.parametrize(
    ("labels", "share"),
    [
        (["B", "B", "B"], 1),
        (["B", "B", "A"], 1 / 3),
        (["B", "A", "C"], 0),
        (["B", "B", "A", "A"], 2 / 6),
        (["B", None, None], 0),  # what could not be read is like no other answer
        (["B", "B", None], 1 / 3),
    ],
)
def test_agreement_is_the_share_of_pairs_that_come_to_the_same(labels, share):
    assert agreement_of(labels) == pytest.approx(share)


@pytest.mark.parametrize(
    ("key", "number", "composed"),
    [
        ("ab12", 1, "ab12"),
        ("ab12", 3, "ab12+3"),
        ("ab12-2", 2, "ab12-2+2"),  # the second of two equal rows
        ("ab12~1", 2, "ab12+2~1"),  # a rotation
    ],
)
def test_keys_of_answers_name_their_question_and_number(key, number, composed):
    assert repeat_key(key, number) == composed
    for name in (composed, turn_key(composed.partition("~")[0], 4)):
        assert (question_of(name), repeat_of(name)) == (key.partition("~")[0], number)


def question(number, letters, *, split="easy", image=None):
    """The answers to a question whose right answer is B; None: unparsed."""
    for repeat, letter in enumerate(letters, 1):
        verdict = "unparsed" if letter is None else "hit" if letter == "B" else "miss"
        yield {
            "index": number,
            "image": f"{number if image is None else image}.png",
            "split": split,
            "options": OPTIONS,
            "chosen": letter,
            "hit": int(letter == "B"),
            "verdict": verdict,
            "repeat": repeat,
        }


def section_of(*questions):
    columns = columns_of(itertools.chain(*questions))
    answers = max(columns["repeat"])
    return repeats_section(columns, "L1", [{}] * answers)


def values_of(row):
    return {name: cell["value"] for name, cell in row.items() if isinstance(cell, dict)}


def test_the_section_of_four_questions_by_hand():
    section = section_of(
        question(0, "BBB"),
        question(1, "BBA", split="hard"),
        question(2, "ABC", split="hard"),
        question(3, ["A", None, None], split="hard"),
    )
    assert [row["name"] for row in section["rows"]] == ["easy", "hard", "Overall"]
    assert (section["answers"], section["questions"]) == (3, 4)
    overall = section["rows"][-1]
    assert values_of(overall) == pytest.approx(
        {
            "pass@1": 50,  # 6 of 12
            "pass@2": 100 * (1 + 1 + 2 / 3) / 4,
            "pass@3": 75,
            "pass^2": 100 * (1 + 1 / 3) / 4,
            "pass^3": 25,
            "agreement": 100 * (1 + 1 / 3) / 4,
        },
        abs=1e-5,
    )
    assert {cell["samples"] for cell in list(overall.values())[1:]} == {4}
    assert section["table"]["columns"] == [
        *("pass@1", "pass@2", "pass@3", "pass^2", "pass^3", "agreement")
    ]


def test_clicks_and_episodes_agree_by_their_verdict():
    facts = [
        {"image": "a", "verdict": verdict, "declined": declined, "hit": 0, "repeat": number}
        for number, (verdict, declined) in enumerate(
            [("miss", False), ("miss", False), ("miss", True), (None, None)], 1
        )
    ]
    assert values_of(section_of(facts)["rows"][-1])["agreement"] == pytest.approx(100 / 6, abs=1e-5)


def test_equal_answers_are_no_independent_ones():
    """Ten images with a question each, asked twice, five of them right both times.

    Worked out by hand: of 20 answers with a variance of 0.25/20, images make 2.222 times as much;
    over 5 informative images that is a correlation of (25 x 1.222 + 16 x 0.5) / 41 = 0.9404, so
    10.31 answers count, with t = 2.165.
    """
    section = section_of(*(question(n, "BB" if n < 5 else "AA") for n in range(10)))
    overall = section["rows"][-1]
    once, both_times = overall["pass@1"], overall["pass^2"]
    assert [once["value"], once["low"], once["high"]] == pytest.approx([50, 22.05, 77.95], abs=0.01)
    # Wilson's interval of 5 of 10; of 10 of 20 it would be 29.9 to 70.1.
    assert [both_times["value"], both_times["low"], both_times["high"]] == pytest.approx(
        [50, 23.66, 76.34], abs=0.01
    )


def test_the_table_of_many_answers_shows_some_and_the_section_all():
    section = section_of(question(0, "B" * 8))
    assert section["table"]["columns"] == [
        *("pass@1", "pass@2", "pass@4", "pass@8", "pass^2", "pass^4", "pass^8", "agreement")
    ]
    assert values_of(section["rows"][0]).keys() >= {"pass@3", "pass@7", "pass^5"}


def test_figures_of_a_score_file_are_means_and_counts_are_of_all_answers():
    singles = [
        {"SR": 100.0, "per success": 3.0, "num": 1, "who": "x", "by": {"a": {"EQA": 1.0}}},
        {"SR": 50.0, "per success": None, "num": 1, "who": "x", "by": {"a": {"EQA": 2.0}}},
    ]
    pooled = {"SR": 75.0, "per success": 4.0, "num": 2, "who": "x", "by": {"a": {"EQA": 9.0}}}
    assert with_means(pooled, singles) == {**pooled, "by": {"a": {"EQA": 1.5}}}


def test_a_figure_that_all_answers_together_do_not_have_is_the_mean_of_the_single_runs():
    singles = [{"macro SR": 100.0, "micro SR": None}, {"macro SR": 50.0, "micro SR": None}]
    pooled = {"macro SR": None, "micro SR": None}
    assert with_means(pooled, singles) == {"macro SR": 75.0, "micro SR": None}


def test_a_table_keeps_its_intervals_and_cells_that_single_runs_do_not_have():
    def table(*values):
        cells = [None if value is None else {"value": value, "low": 1} for value in values]
        return {"title": "t", "columns": ["a", "b"], "rows": [{"name": "EQA", "cells": cells}]}

    [row] = table_with_means(table(9.0, 7.0), [table(1.0, None), table(2.0, 3.0)])["rows"]
    assert row["cells"] == [{"value": 1.5, "low": 1}, {"value": 7.0, "low": 1}]


# -- coverage -------------------------------------------------------------------------------------

DRAWS, ANSWERS, PER_IMAGE = 1000, 3, 2


def moment(rate, rho, right, wrong):
    """Chance that so many answers to one question are right and so many wrong, in this order."""
    if not rho:
        return rate**right * (1 - rate) ** wrong
    a, b = rate * (1 / rho - 1), (1 - rate) * (1 / rho - 1)
    chance = 1.0
    for number in range(right + wrong):
        chance *= (a + number) if number < right else (b + number - right)
        chance /= a + b + number
    return chance


@pytest.mark.parametrize("rho", [0, 0.3, 0.95])
@pytest.mark.parametrize(("rate", "images"), itertools.product((0.1, 0.5, 0.9), (30, 100)))
def test_every_figure_of_repeats_is_covered(rate, images, rho):
    """Chances of questions are from a beta distribution; half of those on an image share theirs.

    With rho 0 all questions are alike and answers independent, with 0.95 answers hardly differ.
    """
    random = np.random.default_rng([20_261_124, round(1000 * rate), images, round(1000 * rho)])
    shape = (DRAWS, images, PER_IMAGE)
    chances = np.full(shape, rate)
    if rho:
        chances = random.beta(rate * (1 / rho - 1), (1 - rate) * (1 / rho - 1), shape)
        is_shared = random.random((DRAWS, images, 1)) < 0.5
        chances = np.where(is_shared, chances[:, :, :1], chances)
    hits = random.random((*shape, ANSWERS)) < chances[..., None]
    rights = hits.sum(axis=-1).reshape(DRAWS, -1)
    all_right, all_wrong = moment(rate, rho, 3, 0), moment(rate, rho, 0, 3)
    unlike = 2 * moment(rate, rho, 1, 1)
    agreements = np.array([agreement_of([n < right for n in range(3)]) for right in range(4)])
    figures = {
        "pass@1": (hits.reshape(DRAWS, -1), rate),
        "pass@3": (rights > 0, 1 - all_wrong),
        "pass^3": (rights == 3, all_right),
        "agreement": (agreements[rights], 1 - unlike),
    }
    for name, (values, truth) in figures.items():
        layout = lay_out(None, np.repeat(np.arange(images), values.shape[1] // images))
        low, high = wilson_bounds(layout.cells(values.astype(np.float64)), layout)
        share = ((low <= truth) & (truth <= high)).mean()
        assert share >= 0.9, name
        is_large = images * min(truth, 1 - truth) >= 9.999
        assert not is_large or share >= 0.93, name
        assert not (is_large and name == "pass@1") or share <= 0.98
