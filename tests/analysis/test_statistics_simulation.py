"""Coverage of the intervals and type-I error of the paired test, by simulation with a fixed seed.

The functions simulated are those that the program calls, with many rows in place of one. Cells are
what an image and a group have in common; their hits are drawn as sums.
"""

import itertools

import numpy as np
import pytest

from utils.analysis.intervals import interval, lay_out, wilson_bounds
from utils.analysis.paired import compare_paired, difference_bounds, sign_flip_p


def unequal_pictures(pictures, random):
    """The picture of each sample: 1 to 10 samples a picture, 3.3 on average."""
    how_often = (0.2, 0.2, 0.25, 0.15, 0.12, 0.08)
    return np.repeat(np.arange(pictures), random.choice((1, 2, 3, 4, 6, 10), pictures, p=how_often))


def beta_rates(rate, rho, random, shape):
    """Each picture has a rate of its own, from a beta distribution (beta-binomial hits)."""
    means = np.broadcast_to(rate, shape)
    return random.beta(means * (1 / rho - 1), (1 - means) * (1 / rho - 1)) if rho else means


def copied_rates(rate, rho, random, shape):
    """Each picture is easy or hard, and an answer follows that with probability sqrt(rho)."""
    means, follows = np.broadcast_to(rate, shape), np.sqrt(rho)
    return np.where(random.random(shape) < means, follows, 0) + (1 - follows) * means


def hits_of(rates, random):
    """Ones and zeros with these chances."""
    return (random.random(rates.shape) < rates).astype(np.float64)


DRAWS = 3000
RATES, PICTURES, CORRELATIONS = (0.03, 0.1, 0.5, 0.9), (30, 100, 400), (0, 0.05, 0.5)
CELLS = list(itertools.product(RATES, PICTURES, CORRELATIONS))
MODELS = {"beta": beta_rates, "copied": copied_rates}


def is_large(rate, pictures):
    return pictures * min(rate, 1 - rate) >= 9.999


def seeded(*what):
    return np.random.default_rng([20_251_107, *(round(1000 * value) for value in what)])


def sizes_of(layout):
    """How many samples each cell has, and the image of each."""
    ends = np.append(layout.cell_starts[1:], len(layout.order))
    cells = np.diff(np.append(layout.picture_starts, len(ends)))  # of each image
    return ends - layout.cell_starts, np.repeat(np.arange(layout.pictures), cells)


def coverage(layout, rates, random, truth):
    """Share of the draws whose interval holds the truth; `rates` of each cell, (draws, cells)."""
    sizes, _ = sizes_of(layout)
    low, high = wilson_bounds(random.binomial(sizes, rates) * (layout.cell_weights / sizes), layout)
    assert (high - low).min() > 0.005
    assert low.min() >= 0 and high.max() <= 1
    return ((low <= truth) & (truth <= high)).mean()


@pytest.mark.parametrize(
    ("rate", "pictures", "rho", "model"),
    [(*cell, model) for cell in CELLS for model in MODELS if cell[2] or model == "beta"],
)
def test_an_accuracy_is_covered(rate, pictures, rho, model):
    random = seeded(rate, pictures, rho)
    layout = lay_out(None, unequal_pictures(pictures, random))
    share = coverage(layout, MODELS[model](rate, rho, random, (DRAWS, pictures)), random, rate)
    assert share >= 0.9
    assert not is_large(rate, pictures) or 0.93 <= share <= 0.97


@pytest.mark.parametrize(("pictures", "samples"), [(12, 3), (20, 3), (12, 10)])
@pytest.mark.parametrize("rate", [0.03, 0.05, 0.07, 0.1, 0.3])
def test_an_accuracy_of_few_images_whose_answers_all_agree_is_covered(rate, pictures, samples):
    random = seeded(rate, pictures, samples)
    layout = lay_out(None, np.repeat(np.arange(pictures), samples))
    assert coverage(layout, copied_rates(rate, 1, random, (DRAWS, pictures)), random, rate) >= 0.9


@pytest.mark.parametrize(
    ("rate", "rho", "shape", "model"),
    itertools.product((0.05, 0.3, 0.9), (0.05, 0.3, 0.9), (1.1, 1.5), MODELS),
)
def test_an_accuracy_of_images_of_very_unequal_size_is_covered(rate, rho, shape, model):
    """Up to 200 samples on an image, most have one or two."""
    random = seeded(rate, rho, shape)
    sizes = np.minimum(1 + np.floor(random.pareto(shape, 200)), 200).astype(int)
    layout = lay_out(None, np.repeat(np.arange(200), sizes))
    assert coverage(layout, MODELS[model](rate, rho, random, (DRAWS, 200)), random, rate) >= 0.9


def test_the_rows_of_a_simulation_are_what_the_program_computes():
    random = seeded(1)
    picture = unequal_pictures(30, random)
    hits = hits_of(beta_rates(0.1, 0.05, random, (20, 30))[:, picture], random)
    layout = lay_out(None, picture)
    low, high = wilson_bounds(layout.cells(hits), layout)
    below, above, *_ = difference_bounds(hits[:10] - hits[10:], layout)
    names = [f"pic{number}" for number in picture]
    single = [interval(list(row), None, names) for row in hits]
    rows = zip(hits[:10], hits[10:], strict=True)
    paired = [compare_paired(*simulated_row, names).interval for simulated_row in rows]
    for intervals, bounds in ((single, (low, high)), (paired, (below, above))):
        assert [simulated_row.low for simulated_row in intervals] == pytest.approx(list(bounds[0]))
        assert [simulated_row.high for simulated_row in intervals] == pytest.approx(list(bounds[1]))


@pytest.mark.parametrize("gap", [0, 0.3])
@pytest.mark.parametrize(("rate", "pictures", "rho"), CELLS)
def test_the_average_of_two_splits_of_unequal_size_is_covered(rate, pictures, rho, gap):
    """Each image has samples of both splits, which differ in difficulty."""
    random = seeded(rate, pictures, rho, gap)
    first, second = unequal_pictures(pictures, random), np.arange(0, pictures, 2)
    split = np.repeat([0, 1], [len(first), len(second)])
    weights = np.where(split == 0, 0.5 / len(first), 0.5 / len(second))
    layout = lay_out(weights, np.concatenate([first, second]), split)
    half = min(gap, 1.6 * min(rate, 1 - rate)) / 2
    means = rate + np.array([half, -half])[layout.cell_group]
    follows, common = np.sqrt(rho), random.random((DRAWS, pictures))[:, sizes_of(layout)[1]]
    rates = np.where(common < means, follows, 0) + (1 - follows) * means
    share = coverage(layout, rates, random, rate)
    assert share >= 0.9
    assert not is_large(rate, pictures) or 0.92 <= share <= 0.98


@pytest.mark.parametrize(("rate", "pictures", "rho"), CELLS)
def test_the_macro_average_of_six_unequal_platforms_is_covered(rate, pictures, rho):
    random = seeded(rate, pictures, rho, 2)
    picture = unequal_pictures(pictures, random)
    few = [platform for platform in range(6) for _ in range(3)]
    rest = random.choice(6, size=pictures - len(few), p=(0.35, 0.25, 0.15, 0.1, 0.1, 0.05))
    platform = np.concatenate([few, rest])
    group = platform[picture]
    spread = min(0.3, 1.6 * min(rate, 1 - rate)) / 2
    means = rate + np.linspace(-spread, spread, 6)
    layout = lay_out(1 / np.bincount(group)[group], picture, group)
    rates = beta_rates(means[platform], rho, random, (DRAWS, pictures))
    assert coverage(layout, rates, random, rate) >= 0.9


@pytest.mark.parametrize("rhos", [(0, 0), (0.05, 0.05), (0.5, 0.5), (0.5, 0), (1, 0)], ids=str)
@pytest.mark.parametrize(("rate", "pictures"), itertools.product(RATES, PICTURES))
def test_systems_that_are_equally_good_are_seldom_told_apart(rate, pictures, rhos):
    """Half of the images are equally hard for both systems; or one correlates, the other does not."""
    random = seeded(rate, pictures, *rhos)
    picture = unequal_pictures(pictures, random)
    shape = (DRAWS // 2, pictures)
    first, second = (
        (copied_rates if rho == 1 else beta_rates)(rate, rho, random, shape) for rho in rhos
    )
    if rhos[0] == rhos[1]:
        second = np.where(random.random(shape) < 0.5, first, second)
    differences = hits_of(first[:, picture], random) - hits_of(second[:, picture], random)
    layout = lay_out(None, picture)
    low, high, *_ = difference_bounds(differences, layout)
    apart = (low > 0) | (high < 0)  # as the t test says; the p-value is the larger of the two
    flips = np.array([sign_flip_p(sums) for sums in layout.cells(differences[apart])])
    assert (flips <= 0.05).sum() / len(differences) <= 0.065
    assert apart.mean() <= 0.075
    assert (high - low).min() > 0.005
