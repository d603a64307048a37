"""The pure scorer where it is odd; `tests/conformance` has ordinary boxes, clicks and scores."""

import json
import math

import pytest

from benchmarks import matrics
from benchmarks.matrics import Box, OptionResult
from utils.contracts import Verdict
from utils.coordinates import point_as_fractions

WH = (1000, 500)


def options(difficulty="easy", platform="os_web", hit=True, options_num=4):
    return OptionResult(difficulty, platform, hit, options_num)


@pytest.mark.parametrize(
    ("bbox", "expected"),
    [
        ([0.5, 0.5, 2, 2], Box(0.0005, 0.001, 0.002, 0.004)),  # one value above 1 makes all pixels
        ([-1, -1, 200, 250], Box(0, 0, 0.2, 0.5)),
        ([-1, -1, -1, -1], Box(0, 0, 0, 0)),
        ([0.4, 0.4, 0.2, 0.2], Box(0.4, 0.4, 0.2, 0.2)),  # crossed: left as annotated
        ([0, 0, 1001, 500], "outside the image of 1000x500 pixels"),
        ([0, 0, 1000, 501], "outside the image"),
        ([-2, 0, 10, 10], "outside the image"),
        ([-0.001, 0, 0.5, 0.5], "outside the image"),
        ([0.5, 0.5, -0.2, 1], "outside the image"),
        *(
            (bad, "expected four numbers")
            for bad in (
                [],
                [0.1, 0.2, 0.3],
                [0.1, 0.2, 0.3, 0.4, 0.5],
                [math.nan, 0, 1, 1],
                [0, 0, math.inf, 1],
                ["0", "0", "1", "1"],
                [None, 0, 1, 1],
                [True, 0, 1, 1],
                [0, 0, 1, 10**400],
            )
        ),
    ],
)
def test_a_box_becomes_fractions_of_the_image_or_is_refused_with_its_numbers(bbox, expected):
    if isinstance(expected, Box):
        assert matrics.box_as_fractions(bbox, WH) == expected
        return
    with pytest.raises(ValueError, match=expected) as refused:
        matrics.box_as_fractions(bbox, WH)
    assert str(bbox) in str(refused.value)


POINT, CROSSED = Box(0.3, 0.3, 0.3, 0.3), Box(0.4, 0.4, 0.2, 0.2)


@pytest.mark.parametrize(
    ("box", "point", "verdict"),
    [
        (Box(0, 0, 1, 1), (-5, 0.5), Verdict.MISS),  # below 0 says nothing about pixels
        (Box(0, 0, 1, 1), (2000, 250), Verdict.MISS),
        (Box(0, 0, 1, 1), (math.inf, 0.3), Verdict.MISS),
        (POINT, (0.3, 0.3), Verdict.HIT),  # a box of size zero is hit at its point alone
        (POINT, (0.3, 0.30001), Verdict.MISS),
        (CROSSED, (0.3, 0.3), Verdict.MISS),  # never hit
        (CROSSED, (0.4, 0.4), Verdict.MISS),
        (CROSSED, (0.2, 0.2), Verdict.MISS),
    ],
)
def test_odd_boxes_and_points(box, point, verdict):
    assert matrics.score_click(box, point_as_fractions(point, WH)) is verdict


def test_difficulties_and_platforms_come_in_their_usual_order_and_unknown_names_behind():
    rows = [options("hard", "os_web"), options("easy", "os_windows"), options("medium", "os_mac")]
    scores = matrics.score_content_understanding(rows, weighted=False)
    assert list(scores) == ["easy", "medium", "hard", "total_sample_num"]
    assert list(scores["easy"])[:3] == ["os_windows", "os_mac", "os_web"]
    assert matrics.in_order({"b", "known", "a"}, ("known", "absent")) == ["known", "a", "b"]


@pytest.mark.parametrize(
    "scores",
    [
        matrics.score_content_understanding([], weighted=True),
        matrics.score_content_understanding([options(options_num=1)], weighted=True),
        matrics.score_content_understanding(
            [options("easy", "os_web"), options("hard", "os_mac")], weighted=True
        ),
        matrics.score_element_grounding({}),
        matrics.score_element_grounding({"basic": {}}),
        matrics.score_element_grounding({"basic": {"os_web": {}}}),
        matrics.score_element_grounding(
            {"basic": {"os_web": {"icon": []}}, "advanced": {"os_mac": {"text": [1]}}}
        ),
    ],
)
def test_scores_can_always_be_written_as_strict_json(scores):
    json.dumps(scores, allow_nan=False)
