"""Coverage of the intervals and type-I error of the paired test, by simulation with a fixed seed.

The functions simulated are those that the program calls, with many rows in place of one.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tests.support.simulated import beta_rates, copied_rates, hits_of, unequal_pictures
from utils.analysis.clusters import by_cell, lay_out
from utils.analysis.intervals import interval, wilson_bounds
from utils.analysis.paired import difference_bounds
from utils.analysis.signs import sign_flip_p

DRAWS = 3000
RATES, PICTURES, CORRELATIONS = (0.03, 0.1, 0.5, 0.9), (30, 100, 400), (0, 0.05, 0.5)
CELLS = list(itertools.product(RATES, PICTURES, CORRELATIONS))
MODELS = {"beta": beta_rates, "copied": copied_rates}


def is_large(rate, pictures):
    return pictures * min(rate, 1 - rate) >= 9.999


def seeded(*what):
    return np.random.default_rng([20_251_107, *(round(1000 * value) for value in what)])


def covered(bounds, truth):
    low, high = bounds
    assert (high - low).min() > 0.005
    assert low.min() >= 0 and high.max() <= 1
    return ((low <= truth) & (truth <= high)).mean()


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("rate", "pictures", "rho"), CELLS)
def test_an_accuracy_is_covered(rate, pictures, rho, model):
    random = seeded(rate, pictures, rho)
    picture = unequal_pictures(pictures, random)
    rates = MODELS[model](rate, rho, random, (DRAWS, pictures))
    hits = hits_of(rates[:, picture], random)

    share = covered(wilson_bounds(hits, lay_out(None, picture)), rate)

    assert share >= 0.9
    assert not is_large(rate, pictures) or 0.93 <= share <= 0.97


def test_the_rows_of_a_simulation_are_what_the_program_computes():
    random = seeded(1)
    picture = unequal_pictures(30, random)
    hits = hits_of(beta_rates(0.1, 0.05, random, (20, 30))[:, picture], random)

    low, high = wilson_bounds(hits, lay_out(None, picture))

    names = [f"pic{number}" for number in picture]
    single = [interval(list(row), None, names) for row in hits]
    assert [each.low for each in single] == pytest.approx(list(low))
    assert [each.high for each in single] == pytest.approx(list(high))


@pytest.mark.parametrize("gap", [0, 0.3])
@pytest.mark.parametrize(("rate", "pictures", "rho"), CELLS)
def test_the_average_of_two_splits_of_unequal_size_is_covered(rate, pictures, rho, gap):
    """Each picture has samples of both splits, which differ in difficulty."""
    random = seeded(rate, pictures, rho, gap)
    first, second = unequal_pictures(pictures, random), np.arange(0, pictures, 2)
    picture = np.concatenate([first, second])
    split = np.repeat([0, 1], [len(first), len(second)])
    half = min(gap, 1.6 * min(rate, 1 - rate)) / 2
    means = np.array([rate + half, rate - half])[split]
    follows, common = np.sqrt(rho), random.random((DRAWS, pictures))[:, picture]
    hits = hits_of(
        np.where(common < means, follows + (1 - follows) * means, (1 - follows) * means), random
    )

    weights = np.where(split == 0, 0.5 / len(first), 0.5 / len(second))
    share = covered(wilson_bounds(hits, lay_out(weights, picture, split)), rate)

    assert share >= 0.9
    assert not is_large(rate, pictures) or 0.92 <= share <= 0.975


@pytest.mark.parametrize(("rate", "pictures", "rho"), CELLS)
def test_the_macro_average_of_six_unequal_platforms_is_covered(rate, pictures, rho):
    random = seeded(rate, pictures, rho, 2)
    picture = unequal_pictures(pictures, random)
    few = [platform for platform in range(6) for _ in range(3)]
    rest = random.choice(6, size=pictures - len(few), p=(0.35, 0.25, 0.15, 0.1, 0.1, 0.05))
    platform = np.concatenate([few, rest])
    spread = min(0.3, 1.6 * min(rate, 1 - rate)) / 2
    means = rate + np.linspace(-spread, spread, 6)
    rates = beta_rates(means[platform], rho, random, (DRAWS, pictures))
    hits = hits_of(rates[:, picture], random)

    group = platform[picture]
    weights = 1 / np.bincount(group)[group]
    share = covered(wilson_bounds(hits, lay_out(weights, picture, group)), rate)

    assert share >= 0.9


@pytest.mark.parametrize(("rhos", "most"), [
    ((0, 0), 0.06), ((0.05, 0.05), 0.06), ((0.5, 0.5), 0.06),
    ((0.5, 0), 0.075),  # equal accuracies, but answers that could not be exchanged
], ids=str)  # fmt: skip
@pytest.mark.parametrize(("rate", "pictures"), itertools.product(RATES, PICTURES))
def test_systems_that_are_equally_good_are_seldom_told_apart(rate, pictures, rhos, most):
    """Half of the pictures are equally hard for both systems."""
    random = seeded(rate, pictures, *rhos)
    picture = unequal_pictures(pictures, random)
    shape = (DRAWS, pictures)
    first, second = (beta_rates(rate, rho, random, shape) for rho in rhos)
    if rhos[0] == rhos[1]:
        second = np.where(random.random(shape) < 0.5, first, second)
    differences = hits_of(first[:, picture], random) - hits_of(second[:, picture], random)

    layout = lay_out(None, picture)
    low, high = difference_bounds(differences, layout)
    told_apart = np.mean([sign_flip_p(sums) <= 0.05 for sums in by_cell(differences, layout)])

    assert told_apart <= most
    assert ((low <= 0) & (high >= 0)).mean() >= 0.92
    assert (high - low).min() > 0.005
