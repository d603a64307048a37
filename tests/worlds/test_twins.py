"""Twins: a task that cannot be done under half of the seeds, and can be under the others."""

from collections import Counter

import pytest

from benchmarks.worlds.jupyterlab import tasks as jupyterlab
from benchmarks.worlds.office import tasks as office
from benchmarks.worlds.office.tasks.variants import phrasing_of, variant, with_side
from tests.support.office_store import StoreHand
from tests.support.office_tasks import tasks_of
from utils.protocol import TIERS

LEVELS = ("L3", "L4")
SUITES = pytest.mark.parametrize("suite", [office, jupyterlab], ids=["office", "jupyterlab"])
ADDED = {"draw", "setup", "facts", "expect", "oracle", "ways", "files", "edits"}


def twins(suite, level):
    return [task for task in suite.written(level) if "can" in task]


def feasible(task, seed):
    return with_side(task, seed)["feasible"]


@SUITES
@pytest.mark.parametrize("level", LEVELS)
def test_whatever_cannot_be_done_can_be_done_under_two_of_four_seeds(suite, level):
    variants = [task for seed in range(4) for task in tasks_of(level, seed, suite)]
    counts = Counter(task["id"] for task in variants if not task.get("feasible", True))
    assert counts == {task["id"]: 2 for task in twins(suite, level)}


@SUITES
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_under_each_seed_about_half_of_the_twins_of_a_tier_can_be_done(suite, level, seed):
    for tier in TIERS:
        sides = [feasible(task, seed) for task in twins(suite, level) if task["tier"] == tier]
        assert abs(sides.count(True) - sides.count(False)) <= 1, tier


@pytest.mark.parametrize("seeds", [(0, 1, 2, 3), (8, 5, 14, 3), (196, 1, 98, 199), (4, 133, 2, 7)])
def test_seeds_that_are_announced_afterwards_show_both_sides_twice(seeds):
    for task in [task for level in LEVELS for task in twins(office, level)]:
        assert Counter(feasible(task, seed) for seed in seeds) == {True: 2, False: 2}


def test_both_phrasings_of_a_goal_are_seen_on_both_sides():
    for task in [task for level in LEVELS for task in twins(office, level)]:
        seen = {(phrasing_of(task["id"], seed), feasible(task, seed)) for seed in range(4)}
        assert len(seen) == 4, task["id"]


@SUITES
@pytest.mark.parametrize("level", LEVELS)
def test_the_sides_of_a_task_have_no_goal_of_their_own(suite, level):
    for task in twins(suite, level):
        assert {*task["can"], *task["cannot"]} <= ADDED, task["id"]
        assert task["category"] == "feasibility"


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_to_give_up_at_once_is_right_where_a_task_cannot_be_done_and_nowhere_else(level, seed):
    names = [task["id"] for task in twins(office, level)]
    for task in [task for task in tasks_of(level, seed) if task["id"] in names]:
        outcome = StoreHand(task).play([["fail"]])
        assert outcome.success is not task["feasible"], task["id"]


MADE = {
    "id": "made",
    "apps": [],
    "category": "feasibility",
    "goal": "Tick {what}.",
    "draw": {"what": ["{kind} stamps"]},
    "setup": {"add": {"todos": [{"title": "Rope"}]}},
    "oracle": [["todo.show"]],
    "can_under": [0, 1],
    "can": {
        "draw": {"kind": ["new"]},
        "setup": {"add": {"todos": [{"title": "{what}"}], "sheets": [{"name": "A"}]}},
        "expect": [{"change": "todos", "where": {"title": "{what}"}, "to": {"done": 1}}],
        "oracle": [["todo.tick", "{what}"], ["done"]],
    },
    "cannot": {"draw": {"kind": ["old"]}, "oracle": [["fail"]]},
}


def test_entries_of_a_side_are_added_to_those_of_the_task_and_drawn_first():
    made = variant(MADE, 5)
    assert made["setup"]["add"] == {
        "todos": [{"title": "Rope"}, {"title": "new stamps"}],
        "sheets": [{"name": "A"}],
    }
    assert made["oracle"] == [["todo.show"], ["todo.tick", "new stamps"], ["done"]]
    assert (made["goal"], made["feasible"], len(made["expect"])) == ("Tick new stamps.", True, 1)
    made = variant(MADE, 7)
    assert made["setup"]["add"] == {"todos": [{"title": "Rope"}]}
    assert made["oracle"] == [["todo.show"], ["fail"]]
    assert (made["goal"], made["feasible"], made["expect"]) == ("Tick old stamps.", False, [])
