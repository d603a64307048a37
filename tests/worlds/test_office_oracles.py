"""Oracles, played with mouse and keyboard: the applications let a task be done as it says."""

from __future__ import annotations

import pytest

from benchmarks.worlds.office.suite import open_world
from benchmarks.worlds.office.tasks import tasks
from benchmarks.worlds.office.tasks.oracle import Oracle
from tests.support.browser import need_browser


def covering():
    """Tasks that have every kind of step and every look among them, as few as come first."""
    seen, chosen = set(), []
    for task in [*tasks("L4", [0]), *tasks("L3", [0])]:
        if new := {task["look"], *(step[0] for step in task["oracle"])} - seen:
            seen |= new
            chosen.append(task)
    return chosen


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    need_browser()
    world = open_world(tmp_path_factory.mktemp("shots"))
    yield world
    world.close()


@pytest.mark.parametrize("task", [pytest.param(task, id=task["id"]) for task in covering()])
def test_an_oracle_solves_its_task_with_mouse_and_keyboard(world, task):
    world.reset(task)
    Oracle(world).play(task["oracle"])
    assert [text for fits, text in world.evaluate().lines if not fits] == [], task["goal"]
