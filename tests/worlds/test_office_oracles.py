"""Scripted solutions, played with mouse and keyboard, solve their tasks."""

import pytest

from benchmarks.worlds.office.suite import open_world
from benchmarks.worlds.office.tasks import tasks
from tests.support.browser import need_browser
from tests.support.office_oracle import Oracle

EVERY = {task["id"]: task for level in ("L4", "L3") for task in tasks(level, [0])}


def solutions():
    """Every solution by the name of its task and its number; 0 is the first."""
    return {
        (name, way): steps
        for name, task in EVERY.items()
        for way, steps in enumerate([task["oracle"], *task["ways"]])
    }


def kind_of(verb):
    """A kind of step; what is done "by keys" or "by list" is one in all applications."""
    _, separator, way = verb.partition(" by ")
    return separator + way if way else verb


def covering():
    """Few solutions with every kind of step, way of doing one, look, and what others do besides."""
    every = solutions()
    kinds = {
        (name, way): {
            EVERY[name]["look"],
            *(part for part in ("events", "replies") if part in EVERY[name]),
            *(kind_of(step[0]) for step in steps),
        }
        for (name, way), steps in every.items()
    }
    chosen = []
    missing = set().union(*kinds.values())
    while missing:
        best = max(kinds, key=lambda name: len(kinds[name] & missing) / (2 + len(every[name])))
        chosen.append(best)
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
    assert [text for fits, text in world.evaluate().lines if not fits] == [
        "ends with done or answer"
    ]


@pytest.mark.parametrize(
    ("name", "way"), [pytest.param(name, way, id=f"{name}-{way}") for name, way in covering()]
)
def test_a_solution_solves_its_task_with_mouse_and_keyboard(world, name, way):
    task = EVERY[name]
    world.reset(task)
    Oracle(world).play(solutions()[name, way])
    assert [text for fits, text in world.evaluate().lines if not fits] == [], task["goal"]
