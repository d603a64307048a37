"""Tiers of tasks, two phrasings of goals, and the partial score of an end."""

from collections import Counter

import pytest

from benchmarks.worlds.jupyterlab import tasks as jupyterlab
from benchmarks.worlds.office import tasks as office
from benchmarks.worlds.office.server import LOOKS
from benchmarks.worlds.office.tasks.checks import StateComparison, check
from benchmarks.worlds.office.tasks.variants import look_of, phrasing_of, variant, written
from tests.support.office_lengths import feasible_tasks, lengths, tier_of
from utils.protocol import TIERS

LEVELS = ("L3", "L4")
SUITES = pytest.mark.parametrize("suite", [office, jupyterlab], ids=["office", "jupyterlab"])


@SUITES
@pytest.mark.parametrize("level", LEVELS)
def test_the_tier_of_a_task_follows_from_its_shortest_solution_and_its_applications(suite, level):
    counted = {
        task["id"]: tier_of(min(lengths(task)), len(task["apps"]))
        for task in feasible_tasks(suite, level, 0)
    }
    stated = {task["id"]: task.get("tier") for task in suite.written(level)}
    assert counted == stated
    assert set(stated.values()) <= set(TIERS)


@pytest.mark.parametrize(
    ("length", "applications", "tier"),
    [
        (7, 1, "basic"),
        (8, 1, "standard"),
        (7, 2, "standard"),
        (24, 3, "standard"),
        (25, 1, "long"),
        (12, 4, "long"),
    ],
)
def test_a_tier_has_bounds_that_are_written_down(length, applications, tier):
    assert tier_of(length, applications) == tier


@pytest.mark.parametrize("name", ["a", "month_end", "calendar_decline"])
def test_phrasings_alternate_so_that_every_look_meets_both(name):
    phrasings = [phrasing_of(name, seed) for seed in range(8)]
    assert Counter(phrasings[:4]) == Counter(phrasings[4:]) == {0: 2, 1: 2}
    assert all(phrasings[seed] != phrasings[seed + 4] for seed in range(4))


def test_phrasings_are_not_tied_to_looks():
    tasks = [task for level in LEVELS for task in written(level)]
    for seed in range(4):
        pairs = Counter(
            (look_of(task, seed, list(LOOKS)), phrasing_of(task["id"], seed)) for task in tasks
        )
        assert len(pairs) == 8
        assert min(pairs.values()) > len(tasks) / 20


def test_a_goal_in_two_phrasings_has_its_variables_replaced_in_both():
    task = {
        "id": "odd",
        "apps": [],
        "category": "update",
        "goal": ["Call {who}.", "{who} waits for a call."],
        "draw": {"who": ["Ana"]},
        "expect": [],
        "oracle": [],
    }
    goals = {variant(task, seed)["goal"] for seed in range(4)}
    assert goals == {"Call Ana.", "Ana waits for a call."}


ROW = {"id": 1, "title": "Stamps", "list": "Work", "due": "", "done": 0, "priority": "Low"}
ROWS = {number: {**ROW, "id": number, "title": f"Stamps {number}"} for number in (1, 2, 3)}
TICKED = [
    {"change": "todos", "where": {"title": f"Stamps {number}"}, "to": {"done": 1}}
    for number in (1, 2)
]


def outcome(done_ids, end="done", text="", **task):
    after = {id: {**row, "done": int(id in done_ids)} for id, row in ROWS.items()}
    task = {"expect": TICKED, **task}
    return check(task, {"todos": ROWS}, {"todos": after}, end, text)


@pytest.mark.parametrize(
    ("done_ids", "end", "partial"),
    [
        ([], "done", 0.0),
        ([], "fail", 0.0),
        ([1], "done", 0.5),
        ([1, 2], "done", 1.0),
        ([1, 2], "", 2 / 3),
        ([1, 2], "fail", 2 / 3),
        ([1, 2, 3], "done", 0.0),
        ([3], "done", 0.0),
    ],
)
def test_the_partial_score_is_the_share_of_effects_while_nothing_else_has_changed(
    done_ids, end, partial
):
    result = outcome(done_ids, end)
    assert result.partial == pytest.approx(partial)
    assert result.success is (partial == 1)


@pytest.mark.parametrize(
    ("done_ids", "answer", "partial"),
    [([1, 2], "7", 1.0), ([1, 2], "8", 2 / 3), ([], "7", 1 / 3), ([3], "7", 0.0)],
)
def test_an_answer_is_one_of_the_things_to_do(done_ids, answer, partial):
    assert outcome(done_ids, "answer", answer, answer="7").partial == pytest.approx(partial)


@pytest.mark.parametrize(("end", "partial"), [("fail", 1.0), ("done", 0.0)])
def test_what_cannot_be_done_has_no_share(end, partial):
    assert outcome([], end, expect=[], feasible=False).partial == partial


def test_what_is_expected_elsewhere_counts_too():
    elsewhere = StateComparison([(True, "a.csv is as expected")], 1, 2)
    half = check({"expect": []}, {}, {}, "done", "", elsewhere)
    assert half.partial == 0.5
    spoiled = StateComparison([(False, "b.csv")], 1, 2, is_spoiled=True)
    assert check({"expect": []}, {}, {}, "done", "", spoiled).partial == 0.0
