"""Intervals, paired comparison and many comparisons: what must hold whatever the data."""

import itertools
import math
import random

import numpy as np
import pytest

from utils.analysis.intervals import Interval, interval, t_quantile, t_tails
from utils.analysis.paired import compare_paired, holm, mcnemar_p, sign_flip_p

TWENTY = [number // 3 for number in range(60)]  # images of sixty samples, three on each


def length_of(*run):
    bounds = interval(*run)
    return bounds.high - bounds.low


@pytest.mark.parametrize("seed", range(40))
def test_an_interval_has_a_length_stays_in_range_and_holds_the_mean(seed):
    chance = random.Random(seed)
    rate = chance.choice([0, 0.01, 0.5, 0.99, 1])
    pictures = [chance.randrange(chance.choice([30, 200])) for _ in range(chance.choice([60, 400]))]
    hits = [chance.random() < rate for _ in pictures]
    weights = [chance.choice([0, 0.5, 1, 3]) for _ in pictures]
    bounds = interval(hits, weights, pictures)
    mean = np.average(hits, weights=weights)
    assert 0 <= bounds.low <= mean + 1e-12 and mean - 1e-12 <= bounds.high <= 1
    assert bounds.high - bounds.low > 0.001
    assert bounds == Interval(bounds.low, bounds.high)
    assert {type(bounds.low), type(bounds.high)} == {float}


@pytest.mark.parametrize(
    ("samples", "weights", "is_there"),
    [(18, None, False), (20, None, True), (20, [1.0] * 18 + [0.0] * 2, False), (0, None, False)],
)
def test_ten_pictures_with_a_weight_are_needed(samples, weights, is_there):
    hits, pictures = [1, 0] * (samples // 2), [number // 2 for number in range(samples)]
    assert (interval(hits, weights, pictures) is not None) is is_there


def test_with_one_sample_a_picture_it_is_the_interval_of_wilson():
    z, p, n = 1.959964, 12 / 40, 40
    middle = (p + z**2 / (2 * n)) / (1 + z**2 / n)
    reach = z / (1 + z**2 / n) * math.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    bounds = interval([1] * 12 + [0] * 28, None, range(40))
    assert (bounds.low, bounds.high) == pytest.approx((middle - reach, middle + reach), abs=1e-4)


def test_answers_that_agree_within_pictures_say_less():
    agreeing = [number // 3 % 2 for number in range(60)]
    mixed = [(number + number // 3) % 2 for number in range(60)]
    assert length_of(agreeing, None, TWENTY) > 1.4 * length_of(mixed, None, TWENTY)


def test_names_and_order_of_pictures_and_the_scale_of_weights_do_not_matter():
    hits = [number % 7 == 0 for number in range(60)]
    weights = [1 + number % 2 for number in range(60)]
    expected = interval(hits, weights, TWENTY)
    order = random.Random(3).sample(range(60), 60)
    names = [f"os_web/{TWENTY[i]}.png" for i in order]
    shuffled_interval = interval(
        [hits[i] for i in order], [1000 * weights[i] for i in order], names
    )
    assert (shuffled_interval.low, shuffled_interval.high) == pytest.approx(
        (expected.low, expected.high)
    )


def test_what_lies_between_the_groups_of_an_average_is_no_noise():
    groups = [number // 30 for number in range(60)]
    hits = [number % 10 < (9 if group else 1) for number, group in enumerate(groups)]
    assert length_of(hits, None, TWENTY, groups) < 0.8 * length_of(hits, None, TWENTY)
    for hits in ([0, 1] * 30, [1, 0] * 30):  # no spread within groups: still an interval
        assert length_of(hits, None, TWENTY, [0, 1] * 30) > 0.05


@pytest.mark.parametrize(
    ("df", "quantile"), [(3, 3.18245), (4, 2.77645), (10, 2.22814), (30, 2.04227), (1e6, 1.95997)]
)
def test_quantiles_of_students_t(df, quantile):
    t_value = float(t_quantile(np.array([df], dtype=float))[0])
    assert quantile * 0.9999 <= t_value <= quantile * (1 + 0.04 / df)
    assert t_tails(t_value, df) == pytest.approx(0.05)


def test_what_a_comparison_counts_and_that_its_difference_is_of_weighted_means():
    comparison = compare_paired([1, 1, 0, 1] * 10, [1, 0, 1, 0] * 10, [n // 2 for n in range(40)])
    assert (comparison.difference, comparison.only_first, comparison.only_second) == (
        pytest.approx(0.25),
        20,
        10,
    )
    assert comparison.pictures == 20
    of_several = compare_paired([1, 1, 2 / 3, 1 / 2], [2 / 3, 1 / 2, 1 / 3, 0], [1, 2, 3, 4])
    assert (of_several.only_first, of_several.only_second) == (2, 0)
    assert comparison.interval.low < 0.25 < comparison.interval.high
    first, second, weights = [1, 0, 1] * 20, [0, 0, 1] * 20, [3, 1, 1] * 20
    assert compare_paired(first, second, TWENTY, weights).difference == pytest.approx(0.6)


def test_equal_systems_differ_by_zero_within_an_interval():
    comparison = compare_paired([1, 0] * 30, [1, 0] * 30, TWENTY)
    assert (comparison.difference, comparison.p_value, comparison.p_mcnemar) == (0, 1, 1)
    assert comparison.interval.low == pytest.approx(-comparison.interval.high)
    assert comparison.interval.high > 0.01


@pytest.mark.parametrize(
    ("pictures", "ahead", "least_p"), [(18, 3, 1e-3), (60, 1, 1e-6), (18, 1, 0.01)]
)
def test_a_system_that_is_better_on_every_image_is_told_apart(pictures, ahead, least_p):
    """By so many of 8 samples on each; and the more images the other one wins, the less."""

    def won_by_first(lost):
        sums = [-ahead if n < lost else ahead for n in range(pictures)]
        first = [float(k < comparison) for comparison in sums for k in range(8)]
        second = [float(k < -comparison) for comparison in sums for k in range(8)]
        return compare_paired(first, second, [n // 8 for n in range(8 * pictures)])

    comparisons = [won_by_first(lost) for lost in range(0, pictures // 2, 2)]
    assert comparisons[0].p_value < least_p
    assert comparisons[0].interval.low > 0.4 * comparisons[0].difference
    assert [comparison.p_value for comparison in comparisons] == sorted(
        comparison.p_value for comparison in comparisons
    )


def test_ten_pictures_are_needed_for_the_interval_not_for_the_test():
    comparison = compare_paired([1] * 18, [0] * 18, [number // 2 for number in range(18)])
    assert (comparison.interval, comparison.p_value) == (None, pytest.approx(2 / 2**9))


@pytest.mark.parametrize(
    ("hits", "pictures", "p"),
    [
        ([1] * 40 + [0] * 20, [n // 20 for n in range(60)], 0.5),  # many samples on few images
        # all differences of one sign, few images of many samples: sign flips alone are too sure
        ([0] * 90 + [1] * 10, [*(n // 10 for n in range(90)), *range(90, 100)], 0.05),
    ],
)
def test_what_mcnemar_sees_need_be_no_evidence(hits, pictures, p):
    comparison = compare_paired(hits, [0] * len(hits), pictures)
    assert comparison.p_value >= p > 0.01 > comparison.p_mcnemar
    assert comparison.interval is None or comparison.interval.low < 0 < comparison.interval.high


@pytest.mark.parametrize(
    "sums",
    [
        [1, 1, 1, -1, 2, 3],
        [0.5, -0.25, 0.125, 1, 1, 1, 0],
        [1],
        [3, -3],
        [0.2, 0.3, -0.5, 0.4],
        [0.1, 0.2, 0.3, 0.6],
        [1 / 3, 1 / 7, -1 / 3, 2 / 7, 2 / 3],
        np.sqrt(np.arange(2.0, 16)),
        np.sqrt(np.arange(2.0, 16)) * np.where(np.arange(14) % 3, 1, -1),
    ],
)
def test_the_test_is_the_share_of_sign_patterns_that_reach_the_sum(sums):
    """To 0.002 where no smallest sum divides the others."""
    patterns = np.array(list(itertools.product([1, -1], repeat=len(sums))))
    reached = np.abs(patterns @ sums) >= abs(sum(sums)) - 1e-9
    assert sign_flip_p(np.array(sums, dtype=float)) == pytest.approx(reached.mean(), abs=0.002)


@pytest.mark.parametrize(
    ("only_first", "only_second", "p"),
    [
        (0, 0, 1.0),
        (5, 5, 1.0),
        (0, 6, 2 / 64),
        (6, 0, 2 / 64),
        (1, 9, 22 / 1024),
        (530, 470, 0.062),
        (900, 1100, 8.5e-6),
    ],
)
def test_mcnemar_agrees_with_sign_flips_of_pictures_that_weigh_alike(only_first, only_second, p):
    sums = np.array([1.0] * only_first + [-1.0] * only_second)
    assert mcnemar_p(only_first, only_second) == pytest.approx(p, rel=0.02)
    assert sign_flip_p(sums) == pytest.approx(mcnemar_p(only_first, only_second), rel=1e-9)


@pytest.mark.parametrize(
    ("p_values", "adjusted"),
    [
        ([0.01, 0.04, 0.03], [0.03, 0.06, 0.06]),
        ([0.01, None, 0.02], [0.02, None, 0.02]),
        ([0.5, 0.9], [1.0, 1.0]),
        ([], []),
    ],
)
def test_holm(p_values, adjusted):
    assert holm(p_values) == [
        value if value is None else pytest.approx(value) for value in adjusted
    ]


def by_enumeration(parts):
    """The sign-flip p of whole numbers, by going through all signs."""
    total = abs(sum(parts))
    draws = itertools.product((1, -1), repeat=len(parts))
    at_least = sum(abs(sum(map(int.__mul__, parts, signs))) >= total for signs in draws)
    return at_least / 2 ** len(parts)


@pytest.mark.parametrize(
    ("values", "unit"),
    [
        ([2, 3], 3),  # of three answers to each question
        ([1, 2, 3, 4, 5], 5),
        ([6, 15, 10, 30], 30),  # runs with two and with five answers, and with three
        ([30, 40, 45, 48, 50], 60),  # weights of L1, of questions with two to six options
        ([60, 80, 90, 96, 100, 120, 160], 180),  # the same of three answers
        ([7, 11, 13, 29], 1001),
        ([1, 997], 7),
    ],
)
def test_sums_with_a_unit_in_common_keep_their_ties(values, unit):
    dice = random.Random(unit)
    for _ in range(40):
        parts = [dice.choice(values) * dice.choice([1, 1, -1]) for _ in range(dice.randint(3, 10))]
        assert sign_flip_p(np.array(parts) / unit) == pytest.approx(by_enumeration(parts))
        scaled = np.array(parts) / unit / sum(map(abs, parts))
        assert sign_flip_p(scaled) == pytest.approx(by_enumeration(parts))


@pytest.mark.parametrize("seed", range(20))
def test_sums_without_a_unit_in_common_are_never_too_sure(seed):
    dice = random.Random(seed)
    roots = [dice.choice([2, 3, 5, 7]) ** 0.5 * dice.choice([1, 1, -1]) for _ in range(10)]
    total = abs(sum(roots))
    exact = [
        abs(sum(map(float.__mul__, roots, signs))) >= total - 1e-9
        for signs in itertools.product((1.0, -1.0), repeat=len(roots))
    ]
    p_value = sign_flip_p(np.array(roots))
    share = sum(exact) / len(exact)
    assert share - 1e-9 <= p_value <= share + 0.03
