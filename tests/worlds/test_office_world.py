"""The office as a world: what an episode is told, and what is left of it."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from benchmarks.actions.action import Action
from benchmarks.worlds.office.world import OfficeWorld
from tests.support.browser import need_browser

TICKED = {"change": "todos", "where": {}, "to": {"done": 1}}
TASK = {"apps": ["todo"], "seed": 1, "look": "web", "expect": [TICKED]}


@pytest.fixture
def world(tmp_path, chromium):
    world = OfficeWorld(tmp_path)
    yield world
    world.close()


def servers():
    return [thread for thread in threading.enumerate() if thread.name == "office"]


def test_an_episode_acts_in_its_own_office_and_is_judged_by_its_store(world):
    world.reset(TASK)
    tick, done = Action("click", (222 / 1280, 237 / 720)), Action("done")
    world.step(tick)
    world.step(done)
    first = world.evaluate()
    world.reset(TASK)
    world.step(Action("answer", text="7"))
    assert [
        (outcome.success, [fits for fits, _ in outcome.lines])
        for outcome in (first, world.evaluate())
    ] == [(True, [True, True]), (False, [True, False])]


@pytest.mark.parametrize(
    ("action", "app", "note"),
    [
        (Action("open_app", app="Sheets"), "Sheets", ""),
        (Action("open_app", app="to-do"), "To-do", ""),
        (Action("open_app", app="sheet"), "Sheets", ""),
        (
            Action("open_app", app="calculator"),
            "To-do",
            "There is no application 'calculator'; there are Mail, Calendar,",
        ),
        (Action("home"), "", ""),
        (Action("back"), "", ""),
    ],
)
def test_applications_are_opened_by_name_and_left_by_home_and_back(world, action, app, note):
    world.reset(TASK)
    observation = world.step(action)
    assert (observation.app, observation.note[: len(note) or None]) == (app, note)


def test_worlds_side_by_side_share_one_server_which_ends_with_the_last_of_them(tmp_path):
    need_browser()
    all_here, running = threading.Barrier(2, timeout=240), []

    def play(number):
        world = OfficeWorld(tmp_path)
        try:
            world.reset({**TASK, "seed": number})
            all_here.wait()
            running.append(len(servers()))
            all_here.wait()
            return world.evaluate().success
        finally:
            world.close()

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(play, range(2))) == [False, False]
    assert (running, servers()) == ([1, 1], [])
