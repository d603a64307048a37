"""Tasks of the office: each can be solved as its oracle does, and not in another way."""

import re

import pytest

from benchmarks.worlds.office.store import Refused
from benchmarks.worlds.office.tasks import names, tasks
from benchmarks.worlds.office.tasks.checks import check, matches
from benchmarks.worlds.suites import tasks_of
from tests.support.mutants import mutants_of
from tests.support.office_store import StoreHand
from tests.support.office_tasks import tasks_of as variants

LEVELS = ("L3", "L4")
SURVIVORS = {"files_attach_budget", "infeasible_attach", "sheet_mail_those_on_leave"}
"""Tasks that ask for a mail with "any text you like": another text is right, too."""


ALL = [
    pytest.param(level, number, id=name)
    for level in LEVELS
    for number, name in enumerate(names(level))
]


def outcome(task, steps, before=None):
    return StoreHand(task, before).play(steps)


@pytest.mark.parametrize(("level", "number"), ALL)
def test_an_oracle_solves_every_variant_of_its_task(level, number, whole):
    for seed in (0, 1, 2) if whole else (0,):
        task = variants(level, seed)[number]
        lines = outcome(task, task["oracle"]).lines
        assert [text for fits, text in lines if not fits] == [], task["goal"]


@pytest.mark.parametrize(("level", "number"), ALL)
def test_another_way_to_the_same_end_is_right_too(level, number, whole):
    for seed in (0, 1) if whole else (0,):
        task = variants(level, seed)[number]
        for steps in task["ways"]:
            lines = outcome(task, steps).lines
            assert [text for fits, text in lines if not fits] == [], (task["goal"], steps)


def test_every_task_has_solutions_that_differ():
    every = [[task["oracle"], *task["ways"]] for level in LEVELS for task in variants(level)]
    assert all(len(solutions) > 1 for solutions in every)
    assert all(
        steps not in several[:number] for several in every for number, steps in enumerate(several)
    )
    assert sum(map(len, every)) > 302


@pytest.mark.parametrize(("level", "number"), ALL)
def test_an_agent_that_says_done_at_once_has_not_solved_it(level, number):
    task = variants(level)[number]
    assert not outcome(task, [["done"]]).success


@pytest.mark.parametrize(("level", "number"), ALL)
def test_an_oracle_that_is_spoiled_in_one_place_is_refused(level, number, whole):
    task = variants(level)[number]
    passed, before = [], StoreHand(task).before
    mutants = list(mutants_of(task, before))
    for what, steps in mutants if whole else mutants[number % 16 :: 16]:
        try:
            if outcome(task, steps, before).success:
                passed.append(what)
        except (Refused, LookupError):
            pass  # the application, or what the oracle looks for, refuses
    if task["id"] in SURVIVORS:
        assert all(what.startswith("mail.send: body") for what in passed)
    else:
        assert passed == []


@pytest.mark.parametrize("level", LEVELS)
def test_seeds_make_other_episodes_of_every_task(level):
    by_seed = [variants(level, seed) for seed in range(5)]
    for several in zip(*by_seed, strict=True):
        variants_of_task = {
            repr((task["goal"], task["setup"], task["expect"], task.get("answer")))
            for task in several
        }
        assert len(variants_of_task) > 1, several[0]["id"]


@pytest.mark.parametrize("level", LEVELS)
def test_the_same_seed_makes_the_same_episodes(level):
    assert tuple(tasks(level, [1])) == variants(level, 1)


@pytest.mark.parametrize("level", LEVELS)
def test_each_level_has_sixty_tasks_and_more_in_every_application_and_layout(level):
    several = variants(level)
    assert len(several) >= 60
    assert len({task["id"] for task in several}) == len(several)
    assert {app for task in several for app in task["apps"]} == {
        "mail",
        "calendar",
        "contacts",
        "chat",
        "files",
        "sheets",
        "shop",
        "todo",
    }
    assert all((len(task["apps"]) == 1) == (level == "L3") for task in several)
    assert {task["platform"] for task in several} == {
        "os_web",
        "os_windows",
        "os_mac",
        "os_android",
    }


def test_a_goal_is_a_whole_text():
    for task in [*variants("L3"), *variants("L4")]:
        assert re.search(r"[{}]|None|\|", task["goal"]) is None, task["goal"]


@pytest.mark.parametrize(
    ("expected", "actual", "fits"),
    [
        ("Room Birch", " room  birch. ", True),
        ("Room Birch", "Room Birch 2", False),
        ("See under “ships”.", 'See under "ships".', True),
        ("See under 'ships'", "See under ‘ships’", True),
        ({"contains": ["the “ships”"]}, 'Look at the "ships" first.', True),
        ("See under “ships”", "See under “ship”", False),
        (318.4, "318.40", True),
        ("1,850", "1850", True),
        ({"number": 20}, "20 seats", True),
        ({"number": 20}, "It has 20, not 12", False),
        ({"number": "318.40"}, "EUR 318.4", True),
        ({"number": 7}, "none", False),
        ({"contains": ["140"]}, "At most 140 EUR.", True),
        ({"contains": ["140"]}, "1400 EUR", False),
        ({"contains": ["140"]}, "140.50 EUR", False),
        ({"contains": ["A"], "without": ["B"]}, "A, then B", False),
        ({"lines": ["one", "two"]}, "one\n\n two\n", True),
        ({"lines": ["one", "two"]}, "two\none", False),
        ({"pattern": "=sum\\(a1\\)"}, "=SUM(A1)", True),
        ({"any_of": ["a", {"number": 2}]}, "2 pieces", True),
        ({"any": True}, "", True),
    ],
)
def test_a_value_is_compared_as_people_would(expected, actual, fits):
    assert matches(expected, actual) is fits


ROW = {
    "id": 3,
    "title": "Stamps",
    "list": "Personal",
    "due": "",
    "done": 0,
    "priority": "Normal",
    "note": "",
}


@pytest.mark.parametrize(
    ("after", "expect", "reasons"),
    [
        ({3: ROW}, [], []),
        (
            {3: {**ROW, "done": 1}},
            [{"change": "todos", "where": {"title": "stamps"}, "to": {"done": 1}}],
            [],
        ),
        (
            {3: {**ROW, "done": 1, "due": "2026-03-10"}},
            [{"change": "todos", "where": {"id": 3}, "to": {"done": 1}}],
            [
                "change todos where id 3: done 1",
                "nothing else, but: change todos 3 (“Stamps”): due “2026-03-10”, done 1",
            ],
        ),
        ({}, [{"remove": "todos", "where": {"id": 3}}], []),
        ({3: ROW, 4: {**ROW, "id": 4}}, [{"add": "todos", "row": {"title": "Stamps"}}], []),
        (
            {3: ROW, 4: {**ROW, "id": 4, "note": "x", "done": 1}},
            [{"add": "todos", "row": {"title": "Stamps"}}],
            [
                "add todos: title “Stamps”",
                "nothing else, but: add todos 4: id 4, title “Stamps”, list “Personal”, done 1, priority “Normal”, note “x”",
            ],
        ),
        (
            {},
            [],
            [
                "nothing else, but: remove todos 3: id 3, title “Stamps”, list “Personal”, priority “Normal”"
            ],
        ),
    ],
)
def test_a_check_says_what_is_missing_and_what_else_has_changed(after, expect, reasons):
    result = check({"expect": expect}, {"todos": {3: ROW}}, {"todos": after}, "done")
    assert [text for fits, text in result.lines if not fits] == reasons
    assert result.success is not bool(reasons)


@pytest.mark.parametrize(
    ("task", "end", "answer", "success"),
    [
        ({}, "done", "", True),
        ({}, "answer", "ready", True),
        ({}, "fail", "", False),
        ({}, "", "", False),
        ({"feasible": False}, "fail", "", True),
        ({"feasible": False}, "done", "", False),
        ({"answer": "Friday"}, "answer", "friday", True),
        ({"answer": "Friday"}, "answer", "Monday", False),
        ({"answer": "Friday"}, "done", "", False),
    ],
)
def test_how_an_agent_must_end(task, end, answer, success):
    assert check(task, {}, {}, end, answer).success is success


def test_the_suite_offers_its_tasks():
    import benchmarks.worlds.office.suite as suite

    suite_tasks = tasks_of("office", suite, "L4", [0, 1])
    assert len(suite_tasks) == 2 * len(variants("L4"))
    assert suite_tasks[0]["id"].startswith("office/")
