"""What makes an annotation doubtful, and the figures without such rows."""

import pytest

from benchmarks.steps.doubtful import VERSION, doubts_of_episode
from benchmarks.steps.results import StepResult, step_scores
from benchmarks.steps.rules import RULES
from utils.contracts import Verdict


@pytest.mark.parametrize(
    ("before", "instruction", "direction", "expected"),
    [
        ("open the shop", "tap search", "", ()),
        ("tap search", "tap search", "", ("repeats",)),
        ("tap search", " ", "", ("empty",)),
        ("", "", "", ("repeats", "empty")),
        ("tap search", "Swipe UP to see more", "down", ("opposite",)),
        ("tap search", "swipe up", "up", ()),
        ("tap search", "swipe up", "left", ("other_axis",)),
        ("tap search", "swipe up then down", "up", ()),  # the first word counts
        ("tap search", "look upwards", "down", ()),
        ("tap search", "go down", "", ()),  # only swipes have a direction
    ],
)
def test_a_row_is_doubtful_by_its_instruction_alone(before, instruction, direction, expected):
    assert doubts_of_episode([before, instruction], ["", direction])[1] == expected
    assert VERSION == 1


def result(step, kind, success, doubts=()):
    worth = ((1.0, None, success),)
    return StepResult("1", step, kind, Verdict.HIT if success else Verdict.MISS, worth, doubts)


def test_figures_without_doubtful_rows_and_without_wait_stand_beside_the_official_one():
    results = [
        result(0, "click", 1.0),
        result(1, "wait", 0.0, ("repeats",)),
        result(2, "swipe", 0.0, ("opposite",)),
        result(3, "click", 0.0),
    ]
    scores = step_scores(results, {"os_atlas": RULES["os_atlas"]}, "os_atlas")
    assert scores["SR"] == 25
    apart = {name: (block["SR"], block["num_SR"]) for name, block in scores["apart"].items()}
    assert apart == {
        "micro without doubtful rows": (50, 2),
        "micro without wait": (pytest.approx(100 / 3), 3),
    }


def test_nothing_stands_apart_where_no_row_is_doubtful():
    results = [result(0, "click", 1.0), result(1, "wait", 0.0)]
    assert step_scores(results, {"os_atlas": RULES["os_atlas"]}, "os_atlas")["apart"] == {}
