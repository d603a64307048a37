"""An agent that ends every episode in the same way, whatever the task."""

import pytest

from tests.support.clicks import SETTINGS, columns_of, texts_of
from utils.analysis.constant_ending import ROW, constant_ending


def episode(ended, steps=1, *, task=0, hit=0):
    verdict = "hit" if hit else "miss"
    return {"verdict": verdict, "hit": hit, "ended": ended, "steps": steps, "task": f"t/{task}"}


def episodes(count, ended, steps=1, hits=0, tasks=None):
    """So many episodes in as many tasks, the first of which are right."""
    return [
        episode(ended, steps, task=number % (tasks or count), hit=int(number < hits))
        for number in range(count)
    ]


@pytest.mark.parametrize(
    ("samples", "ending"),
    [
        pytest.param(episodes(24, "fail", hits=4), "24 of 24 episodes end by `fail` in step 1"),
        pytest.param(episodes(24, "fail", hits=12), "24 of 24 episodes end by `fail` in step 1"),
        pytest.param(episodes(10, "done"), "10 of 10 episodes end by `done` in step 1"),
        pytest.param(episodes(40, "done", 3, hits=5), "by `done` in step 3, in 40 tasks"),
        pytest.param(episodes(20, "answer", 1), "20 of 20 episodes end by `answer` in step 1"),
        pytest.param(
            [episode("fail", 1 + number % 4, task=number) for number in range(20)],
            "20 of 20 episodes end by `fail`, in 20 tasks",
        ),
        pytest.param(
            [*episodes(20, "fail"), *episodes(4, "budget", 15)],
            "20 of 24 episodes end by `fail` in step 1",
        ),
        pytest.param(episodes(40, "fail", tasks=10), "40 of 40 episodes", id="under four seeds"),
    ],
)
def test_one_ending_of_nearly_all_episodes_is_named(samples, ending):
    section = constant_ending(columns_of(samples), SETTINGS)
    [warning] = texts_of(section)
    assert ending in warning
    assert section["at"][ROW] and "clear" not in section


@pytest.mark.parametrize(
    "samples",
    [
        pytest.param([], id="nothing"),
        pytest.param(episodes(9, "fail"), id="few tasks"),
        pytest.param(episodes(40, "fail", tasks=9), id="few tasks under many seeds"),
        pytest.param(episodes(20, "done", hits=15), id="mostly right"),
        pytest.param(episodes(20, "fail", hits=11), id="mostly tasks that cannot be done"),
        pytest.param(episodes(20, "budget", 15), id="the step limit"),
        pytest.param(episodes(20, "unread"), id="replies that nobody can read"),
        pytest.param(episodes(20, "world", 1), id="the world ends it"),
        pytest.param([*episodes(12, "fail"), *episodes(8, "done", 5)], id="three of five"),
        pytest.param(
            [episode("done", number % 7, task=number) for number in range(40)], id="when it is done"
        ),
        pytest.param([{**each, "verdict": None} for each in episodes(20, "fail")], id="not played"),
    ],
)
def test_other_agents_are_not_named(samples):
    assert texts_of(constant_ending(columns_of(samples), SETTINGS)) == []


@pytest.mark.parametrize(("count", "is_undecided"), [(9, True), (40, False)])
def test_few_tasks_are_not_judged(count, is_undecided):
    section = constant_ending(columns_of(episodes(count, "fail")), SETTINGS)
    assert section.get("is_undecided", False) == is_undecided
