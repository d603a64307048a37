"""Cohen's kappa: by image, never of length 0, and none on too few images."""

import random

import numpy as np
import pytest

from utils.analysis.agreement import agreement

AB = ["A", "B"]


@pytest.mark.parametrize(
    ("first", "second", "kappa"),
    [
        ("A", "B", 0),
        ("AB", "AB", 1),
        ("AB", "BA", -1),
        ("AAAA", "AAAB", 0),
        ("ABABABABA", "ABABABABA", 1),
    ],
)
def test_under_ten_images_there_is_no_interval(first, second, kappa):
    agreed = agreement(list(first), list(second))
    assert (agreed.kappa, agreed.low, agreed.high) == (kappa, None, None)


def test_fifty_replies_on_nine_images_are_too_few():
    letters = AB * 25
    pictures = [number % 9 for number in range(50)]
    assert agreement(letters, letters, pictures).low is None
    assert agreement(letters, letters).low is not None


@pytest.mark.parametrize("count", [10, 20, 60, 200, 1000])
def test_readers_that_always_agree_have_a_lower_bound(count):
    letters = AB * (count // 2)
    agreed = agreement(letters, letters)
    assert (agreed.kappa, agreed.high) == (1, 1)
    # About three in so many may be read apart where none was, of which chance explains half.
    assert 1 - 10 / count < agreed.low < 1 - 4 / count


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (AB * 10, AB[::-1] * 10),
        (["A"] * 19 + ["B"], ["A"] * 20),
        (["A"] * 10 + ["B"] * 10, AB * 10),
        ([None, "A"] * 10, [None, "A"] * 9 + ["A", None]),
        (list("ABCDE") * 4, list("ABCDE") * 4),
    ],
)
def test_an_interval_has_a_length_and_holds_kappa(first, second):
    agreed = agreement(first, second)
    assert -1 <= agreed.low <= agreed.kappa <= agreed.high <= 1
    assert agreed.high - agreed.low > 0.05


def test_where_both_name_one_letter_alone_there_is_no_kappa():
    agreed = agreement(["A"] * 30, ["A"] * 30)
    assert (agreed.share, agreed.kappa, agreed.low) == (1, None, None)


@pytest.mark.parametrize("copies", [2, 3, 5, 10])
def test_equal_answers_to_a_question_teach_nothing(copies):
    dice = random.Random(copies)
    first = [dice.choice("ABC") for _ in range(40)]
    second = [letter if dice.random() < 0.8 else dice.choice("ABC") for letter in first]
    pictures = [number for number in range(40) for _ in range(copies)]
    single = agreement(first, second)
    repeated = agreement(
        [letter for letter in first for _ in range(copies)],
        [letter for letter in second for _ in range(copies)],
        pictures,
    )
    assert repeated.kappa == pytest.approx(single.kappa)
    length = single.high - single.low
    assert repeated.high - repeated.low == pytest.approx(length, rel=0.15)


def test_names_and_order_of_images_do_not_matter():
    dice = random.Random(4)
    rows = [(dice.choice("AB"), dice.choice("AB"), f"os_web/{number // 2}") for number in range(60)]
    bounds = {}
    for _ in range(3):
        agreed = agreement(*(list(column) for column in zip(*rows, strict=True)))
        bounds[round(agreed.low, 9), round(agreed.high, 9)] = True
        dice.shuffle(rows)
    assert len(bounds) == 1


@pytest.mark.parametrize("images", [12, 30, 100])
@pytest.mark.parametrize("share", [0.6, 0.9, 0.98])
@pytest.mark.parametrize("per_image", [1, 3])
def test_the_interval_holds_the_true_kappa_in_95_of_100_draws(images, share, per_image):
    """Readers agree on an image or not; what the second one reads instead is by chance."""
    dice = np.random.default_rng(images)
    rates = np.array([0.4, 0.3, 0.2, 0.1])
    chance = float(np.square(rates).sum())
    kappa = (share + (1 - share) * chance - chance) / (1 - chance)
    pictures = np.repeat(np.arange(images), per_image)
    held = 0
    for _ in range(100):
        first, other = dice.choice(4, size=(2, len(pictures)), p=rates)
        is_alike = dice.random(images)[pictures] < share
        agreed = agreement(first.tolist(), np.where(is_alike, first, other).tolist(), pictures)
        held += agreed.low <= kappa <= agreed.high
    assert held >= 91
