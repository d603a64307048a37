"""Oracles, played with mouse and keyboard: the applications let a task be done as it says."""

import pytest

from benchmarks.worlds.office.suite import open_world
from benchmarks.worlds.office.tasks import tasks
from benchmarks.worlds.office.tasks.oracle import Oracle
from tests.support.browser import need_browser

EVERY = {task["id"]: task for level in ("L4", "L3") for task in tasks(level, [0])}


def covering():
    """Few tasks that have every kind of step and every look among them."""
    kinds = {
        task["id"]: {task["look"], *(step[0] for step in task["oracle"])} for task in EVERY.values()
    }
    chosen, missing = [], set().union(*kinds.values())
    while missing:
        best = max(kinds, key=lambda n: len(kinds[n] & missing) / (2 + len(EVERY[n]["oracle"])))
        chosen.append(EVERY[best])
        missing -= kinds[best]
    return chosen


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    need_browser()
    world = open_world(tmp_path_factory.mktemp("shots"))
    yield world
    world.close()


def test_a_task_that_is_done_but_not_ended_is_no_success(world):
    task = EVERY["todo_postpone"]
    world.reset(task)
    Oracle(world).play(task["oracle"][:-1])
    assert [text for fits, text in world.evaluate().lines if not fits] == ["ends with done"]


@pytest.mark.parametrize("task", [pytest.param(task, id=task["id"]) for task in covering()])
def test_an_oracle_solves_its_task_with_mouse_and_keyboard(world, task):
    world.reset(task)
    Oracle(world).play(task["oracle"])
    assert [text for fits, text in world.evaluate().lines if not fits] == [], task["goal"]
