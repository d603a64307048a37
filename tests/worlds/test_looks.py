"""In which look each task is seen; the canary in the files of tasks."""

from collections import Counter
from pathlib import Path

import pytest

import benchmarks.worlds
from benchmarks.worlds.jupyterlab import tasks as jupyterlab
from benchmarks.worlds.office import tasks as office
from benchmarks.worlds.office.server import LOOKS
from benchmarks.worlds.office.tasks.variants import look_of
from tests.support.miniwob import CANARY
from tests.support.office_tasks import tasks_of
from tests.support.runs import PROJECT

IN_LOOKS = [
    pytest.param(office, "L3", list(LOOKS), id="office L3"),
    pytest.param(office, "L4", list(LOOKS), id="office L4"),
    pytest.param(jupyterlab, "L4", ["web", "windows", "macos"], id="jupyterlab L4"),
]
"""Suites with their looks; JupyterLab alone (L3) has one only."""


def test_four_seeds_in_a_row_show_a_task_in_all_looks():
    assert [look_of({"look": "macos"}, seed, list(LOOKS)) for seed in range(5)] == [
        "macos",
        "phone",
        "web",
        "windows",
        "macos",
    ]


@pytest.mark.parametrize(("suite", "level", "looks"), IN_LOOKS)
def test_under_each_seed_the_tasks_of_a_tier_are_spread_evenly_over_the_looks(suite, level, looks):
    tasks = suite.written(level)
    unset = [task["id"] for task in tasks if task.get("look") not in looks]
    counts = {
        tier: Counter(dict.fromkeys(looks, 0))
        + Counter(task.get("look") for task in tasks if task["tier"] == tier)
        for tier in {task["tier"] for task in tasks}
    }
    assert not unset, f"give each a `look`, the rarest of its tier: {unset}; there are {counts}"
    for tier in counts:
        for seed in range(4):
            given_looks = [look_of(task, seed, looks) for task in tasks if task["tier"] == tier]
            by_look = [given_looks.count(look) for look in looks]
            assert max(by_look) - min(by_look) <= 1, (tier, seed, by_look)


def test_the_seeds_0_to_3_are_a_latin_square():
    for level in ("L3", "L4"):
        looks_by_task = {}
        for task in (task for seed in range(4) for task in tasks_of(level, seed)):
            looks_by_task.setdefault(task["id"], []).append(task["look"])
        assert {tuple(sorted(looks)) for looks in looks_by_task.values()} == {tuple(sorted(LOOKS))}


def test_every_file_of_tasks_has_the_canary_and_the_docs_name_it():
    worlds = Path(benchmarks.worlds.__file__).parent
    files = [*worlds.glob("*/tasks/l?/*.toml"), worlds / "miniwob" / "miniwob.json"]
    assert len(files) > 20
    missing = [file.name for file in files if CANARY not in file.read_text("utf-8")]
    assert not missing, f"begin each with the comment of the other files: {missing}"
    assert CANARY in (PROJECT / "docs" / "agents.md").read_text("utf-8")
