"""A model that points at the same place whatever it is asked."""

import random

import pytest

from tests.support.clicks import SETTINGS, Model, columns_of, simulated, texts_of
from utils.analysis.constant_answer import constant_answer
from utils.analysis.coordinate_audit import Interpretation
from utils.coordinates import Frame
from utils.misc import parser_response_into_coordinates


def sample(point, image, verdict="miss"):
    return {"verdict": verdict, "hit": 0, "image": f"os_web/{image}.png", "point_frac": point}


def grid_point(number):
    return [number % 10 / 10, number % 7 / 7]


@pytest.mark.parametrize(
    ("samples", "is_named"),
    [
        pytest.param([sample([0.5, 0.5], n) for n in range(40)], True, id="always the middle"),
        pytest.param([sample([0.5, 0.5], n % 5) for n in range(40)], False, id="on few images"),
        pytest.param(
            [sample([0.5, 0.5] if n % 3 else grid_point(n), n) for n in range(40)],
            True,
            id="two of three",
        ),
        pytest.param([sample(grid_point(n), n) for n in range(40)], False, id="many places"),
        pytest.param([sample([0.5, 0.5], n, "hit") for n in range(40)], False, id="all right"),
        pytest.param([sample(None, n, "unparsed") for n in range(40)], False, id="no points"),
        pytest.param([], False, id="nothing"),
    ],
)
def test_a_point_that_makes_up_half_of_the_answers_is_named(samples, is_named):
    warnings = texts_of(constant_answer(columns_of(samples), SETTINGS))
    assert bool(warnings) == is_named
    if is_named:
        assert "points are (0.5, 0.5) of the image" in warnings[0]


@pytest.mark.parametrize(
    ("replies", "verdict", "is_named"),
    [
        (["[400, 300]"] * 40, "miss", True),  # pixels of images of other sizes
        (["[400, 300]", "[1, 2]"] * 20, "miss", True),
        (["[400, 300]", "[1, 2]", "[3, 4]"] * 13, "miss", False),
        (["[400, 300]"] * 40, "hit", False),
    ],
)
def test_a_reply_that_makes_up_half_of_the_answers_is_named_though_its_points_differ(
    replies, verdict, is_named
):
    samples = [
        {**sample(grid_point(n), n, verdict), "prediction": reply}
        for n, reply in enumerate(replies)
    ]
    section = constant_answer(columns_of(samples), SETTINGS)
    warnings = texts_of(section)
    assert bool(warnings) == is_named
    if is_named:
        assert "replies with a point are the same text" in warnings[0]
        assert "'[400, 300]'" in warnings[0]
        assert [row["name"] for row in section["rows"]] == [*section["at"]]


@pytest.mark.parametrize(("images", "is_undecided"), [(5, True), (40, False)])
def test_few_images_are_not_judged(images, is_undecided):
    samples = [sample(grid_point(n), n % images) for n in range(40)]
    section = constant_answer(columns_of(samples), SETTINGS)
    assert section.get("is_undecided", False) == is_undecided


def test_models_that_look_are_never_named():
    dice = random.Random(20_261_123)
    model = Model(Interpretation(Frame.FRACTIONS), accuracy=0.6, spread=0.3)

    def parse(reply, sizes):
        return parser_response_into_coordinates(reply, {})

    for _ in range(100):
        samples = list(simulated(dice, model, parse, pictures=12))
        assert constant_answer(columns_of(samples), SETTINGS)["findings"] == []
