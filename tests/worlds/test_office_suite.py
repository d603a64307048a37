"""The office as a suite: which tasks are made of which seeds, and in which look."""

from collections import Counter
from pathlib import Path

import pytest

from benchmarks.l3_task_automation import GUITaskAutomation
from benchmarks.worlds.office import suite
from benchmarks.worlds.office.__main__ import main
from benchmarks.worlds.office.server import LOOKS
from benchmarks.worlds.office.tasks import tasks
from benchmarks.worlds.office.tasks.checks import check
from benchmarks.worlds.office.tasks.variants import variant
from tests.support.office_tasks import tasks_of
from utils.errors import UserError

LEVELS = ("L3", "L4")


@pytest.mark.parametrize("level", LEVELS)
def test_four_seeds_in_a_row_show_each_task_in_every_look(level):
    counts = Counter((task["id"], task["look"]) for task in suite.tasks(level, [4, 5, 6, 7]))
    assert set(counts.values()) == {1}
    assert len(counts) == len(LOOKS) * len(suite.names(level))


@pytest.mark.parametrize("level", LEVELS)
def test_a_task_is_the_same_whatever_other_tasks_there_are(level):
    every = suite.tasks(level, [3])
    assert [suite.tasks(level, [3], [task["id"]])[0] for task in every[::9]] == every[::9]
    looks = Counter(task["look"] for task in every)
    assert min(looks.values()) > len(every) / 8, looks


@pytest.mark.parametrize("level", LEVELS)
def test_a_world_gets_nothing_of_a_task_s_solution(level):
    [full], [played] = tasks(level, [0])[:1], suite.tasks(level, [0])[:1]
    assert full.keys() - played.keys() == {"oracle", "ways"}


def test_only_tasks_that_are_asked_for_are_made():
    benchmark = GUITaskAutomation(Path(), Path())
    # MiniWoB++ has goals for the seeds 0 to 4 alone.
    benchmark.configure({"seeds": [14, 52], "tasks": ["office/mail_write", "*overdue_tick"]})
    samples, _ = benchmark.load("all")
    assert [(sample.line["task_id"], sample.line["seed"]) for sample in samples] == [
        ("office/mail_write", 14),
        ("office/todo_overdue_tick", 14),
        ("office/mail_write", 52),
        ("office/todo_overdue_tick", 52),
    ]


@pytest.mark.parametrize(
    ("task", "why"),
    [
        ({"draw": {"who": "SELECT name FROM contacts WHERE 0"}}, "who: 0 rows"),
        ({"facts": {"who": "SELECT name FROM contacts"}}, "who: 43 rows"),
        (
            {"setup": {"set": [["todos", {"title": "none"}, {"done": 1}]]}},
            "setup: no row of todos has {'title': 'none'}",
        ),
    ],
)
def test_a_task_that_a_seed_cannot_make_is_named_with_the_seed(task, why):
    with pytest.raises(UserError) as error:
        variant({"id": "odd", "apps": [], "category": "update", "goal": "", **task}, 14)
    assert str(error.value) == (
        f"task office/odd, seed 14: it cannot be made from this week of the office: {why}. "
        "Take another seed"
    )


def test_a_list_makes_rows_of_the_world_and_is_a_table_to_later_queries():
    task = {
        "draw": {
            "people": {"all": "SELECT name, id * 2 AS n FROM contacts WHERE id < 4 ORDER BY id"},
            "last": "SELECT max(value->>'n') FROM json_each(:people)",
        },
        "setup": {
            "add": {"todos": [{"each": "people", "title": "Call {name}", "note": "{n} of {last}"}]},
            "drop": [["each", "people", ["contacts", {"name": "{name}"}]]],
        },
        "expect": [],
        "oracle": [],
    }
    task_variant = variant({"id": "odd", "apps": [], "category": "update", "goal": "", **task}, 14)
    assert [row["note"] for row in task_variant["setup"]["add"]["todos"]] == [
        "2 of 6",
        "4 of 6",
        "6 of 6",
    ]
    assert [criteria["name"] for _, criteria in task_variant["setup"]["drop"]] == [
        "Ana Haddad",
        "Ana Hadley",
        "Ana Orton",
    ]


@pytest.mark.parametrize(("end", "success"), [("done", True), ("answer", True), ("fail", False)])
def test_a_task_that_asks_nothing_accepts_the_ends_that_its_check_names(end, success):
    assert check({}, {}, {}, end, "text").lines == [(success, "ends with done or answer")]


def test_a_command_makes_every_task_of_many_seeds(capsys):
    assert main(["--every-task", "--seeds", "14-15"]) == 0
    count = 2 * sum(len(suite.names(level)) for level in LEVELS)
    assert f"seeds 14 to 15: {count} tasks made in" in capsys.readouterr().out


@pytest.mark.parametrize("level", ["L3", "L4"])
def test_no_change_of_a_setup_touches_a_row_that_the_same_setup_adds(level):
    touched = []
    for task in (*tasks_of(level, 0), *tasks_of(level, 1)):
        setup = task["setup"]
        changes = [*setup.get("set", ()), *setup.get("drop", ())]
        for table, criteria, *_ in changes:
            added = setup.get("add", {}).get(table, [])
            for row in added:
                if criteria.items() <= row.items():
                    touched.append((task["id"], table, criteria))
    assert touched == []
