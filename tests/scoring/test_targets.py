"""Targets: closed boxes, polygons by the rule of OSWorld-G, elements that are not there."""

import random

import pytest

from utils.geometry.targets import Target, is_in_polygon, means_declined


def in_polygon_by_the_rule(px, py, flat):
    """The rule as it is written down: toggle at each edge (i, j) that the ray crosses."""
    xs, ys = flat[0::2], flat[1::2]
    inside = False
    j = len(xs) - 1
    for i in range(len(xs)):
        if (ys[i] > py) != (ys[j] > py) and px < (xs[j] - xs[i]) * (py - ys[i]) / (
            ys[j] - ys[i]
        ) + xs[i]:
            inside = not inside
        j = i
    return inside


def random_case(rng):
    """Corners on a coarse grid, so that many points lie on corners and on horizontal edges."""
    corner_count = rng.randint(3, 21)
    flat = [rng.randint(0, 8) * 10.0 for _ in range(2 * corner_count)]
    if rng.random() < 0.5:
        point = (rng.randint(0, 8) * 10.0, rng.randint(0, 8) * 10.0)
    else:
        point = (rng.uniform(-5, 85), rng.uniform(-5, 85))
    return flat, point


def test_polygons_follow_the_rule_on_10000_random_cases():
    rng = random.Random(7)
    insides = 0
    for _ in range(10_000):
        flat, (x, y) = random_case(rng)
        expected = in_polygon_by_the_rule(x, y, flat)
        assert is_in_polygon((x, y), list(zip(flat[0::2], flat[1::2], strict=True))) == expected
        insides += expected
    assert 1_000 < insides < 9_000


@pytest.mark.parametrize(
    ("point", "is_inside"),
    [
        ((10, 20), True),
        ((30, 40), True),
        ((20, 20), True),
        ((9.999, 20), False),
        ((30, 40.001), False),
    ],
)
def test_bounds_belong_to_a_box(point, is_inside):
    assert Target(boxes=((10, 20, 30, 40),)).contains(point) == is_inside


def test_a_concave_polygon_is_not_its_bounds():
    arrow = Target(polygons=(((0, 0), (10, 0), (10, 10), (5, 2), (0, 10)),))
    assert arrow.bounds == (0, 0, 10, 10)
    assert arrow.contains((1, 3))
    assert not arrow.contains((5, 8))


def test_any_of_several_places_is_right():
    target = Target(boxes=((0, 0, 1, 1), (5, 5, 6, 6)), polygons=(((8, 8), (9, 8), (8, 9)),))
    assert [target.contains(point) for point in [(0.5, 0.5), (5, 6), (8.2, 8.2), (3, 3)]] == [
        True,
        True,
        True,
        False,
    ]
    assert Target.from_json(target.as_json()) == target


def test_an_element_that_is_not_there_contains_nothing():
    absent = Target()
    assert absent.is_absent
    assert absent.bounds is None
    assert not absent.contains((0, 0))


@pytest.mark.parametrize(
    ("point", "declines"),
    [((-1, -1), True), ((-0.5, -3), True), ((0, 0), False), ((-1, 5), False), ((5, -1), False)],
)
def test_two_negative_coordinates_decline(point, declines):
    assert means_declined(point) == declines


def test_pixels_become_fractions():
    target = Target(boxes=((10, 20, 30, 40),), polygons=(((100, 50), (0, 0), (50, 25)),))
    assert target.as_fractions((100, 50)) == Target(
        boxes=((0.1, 0.4, 0.3, 0.8),), polygons=(((1, 1), (0, 0), (0.5, 0.5)),)
    )
