"""MiniWoB++ as a suite: which tasks, that their goals stay the same, and how they are judged."""

from importlib.util import find_spec

import pytest
from PIL import Image

from benchmarks.actions.action import Action
from benchmarks.worlds.miniwob import suite as miniwob
from tests.support.miniwob import SOLUTIONS, played
from utils.errors import UserError


def test_the_tasks_are_those_with_a_solution_and_the_others_have_a_reason():
    listed = miniwob.listed()
    assert set(listed["tasks"]) | set(listed["left_out"]) >= set(SOLUTIONS)
    assert set(listed["tasks"]) <= set(SOLUTIONS)
    assert not set(listed["tasks"]) & set(listed["left_out"])
    assert all(listed["left_out"].values())
    assert {len(task["goals"]) for task in listed["tasks"].values()} == {listed["seeds"]}


def test_every_seed_makes_a_task_of_its_own():
    tasks = miniwob.tasks("L3", [0, 4])
    assert len(tasks) == 2 * len(miniwob.listed()["tasks"])
    assert len({(task["id"], task["seed"]) for task in tasks}) == len(tasks)
    assert miniwob.tasks("L4", [0]) == []
    with pytest.raises(UserError, match="goals only for the seeds 0 to 4, not for 5"):
        miniwob.tasks("L3", [0, 5])


@pytest.fixture
def world(tmp_path, chromium):
    if find_spec("miniwob") is None:
        pytest.skip("miniwob is not installed")
    world = miniwob.open_world(tmp_path)
    yield world
    world.close()


def task_of(name, seed=0):
    tasks = miniwob.tasks("L3", [seed])
    return next(task for task in tasks if task["page"] == name)


@pytest.mark.parametrize(
    "name", ["click-checkboxes", "enter-date", "use-autocomplete", "drag-box", "social-media"]
)
def test_a_solution_wins(world, name):
    task = task_of(name, seed=1)
    won, actions, why, goal = played(world, task)
    assert won, why
    assert goal == task["goal"] and 0 < len(actions) <= 15


def test_an_agent_that_is_done_at_once_has_won_nothing(world):
    world.reset(task_of("click-test"))
    assert world.step(Action("done")).has_ended
    assert world.evaluate().lines == [(False, "reward 0, the page has not ended")]


def test_a_wrong_answer_ends_the_episode(world):
    world.reset(task_of("enter-text"))
    observation = world.step(Action("click", world_place(world, "#subbtn")))
    assert observation.has_ended and not world.evaluate().success


def test_another_release_with_other_goals_is_noticed(world):
    with pytest.raises(Exception, match=r"its goal is .* in this release of miniwob"):
        world.reset({**task_of("click-test"), "goal": "Something else."})


def test_a_screenshot_is_three_times_as_large_as_the_page(world):
    observation = world.reset(task_of("click-test"))
    with Image.open(observation.image) as image:
        assert image.size == (480, 630)
    assert world.tab.page.evaluate("[innerWidth, innerHeight, devicePixelRatio]") == [160, 210, 3]


def test_no_day_and_no_blinking_is_on_a_screenshot(world):
    first = world.reset(task_of("terminal"))
    assert world.tab.page.evaluate("document.body.innerText").count("Mon Mar 09 2026") == 1
    assert {world.step(Action("wait", seconds=0.3)).image for _ in range(4)} == {first.image}


def test_an_episode_may_take_days(world):
    world.reset(task_of("click-test"))
    assert world.tab.page.evaluate("core.EPISODE_MAX_TIME") > 20 * 24 * 3600 * 1000
    assert not world.step(Action("wait", seconds=0.1)).has_ended


def world_place(world, selector):
    x, y, width, height = world.tab.page.eval_on_selector(
        selector,
        "(e) => { const r = e.getBoundingClientRect(); return [r.x, r.y, r.width, r.height]; }",
    )
    return (x + width / 2) / 160, (y + height / 2) / 210
