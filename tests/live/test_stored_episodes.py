"""Which stored episodes stand: those whose outcome nothing that has changed could change."""

import json
import shutil
import subprocess
import sys

import pytest

from tests.support.browser import need_browser
from tests.support.mock_server import MockServer, Reply
from tests.support.runs import PROJECT, api_model, environment
from tests.support.stage import Stage

L3 = "GUITaskAutomation"
ENVIRONMENT = '''
"""A button to press, in a world of the user's."""

import json
from pathlib import Path

from benchmarks.worlds.environment import Observation, Outcome
from benchmarks.worlds.environment import save_screenshot
from helper import drawn

MARGIN = 1
TASKS = [{"id": "press", "goal": "Press the button."}, {"id": "leave", "goal": "Do nothing."}]
SOLUTIONS = {"press": ["click"], "leave": []}


def described(task, seed):
    return {"platform": "os_web", "category": "update", "apps": ["toy"], "seed": seed, **task}


class Toy:
    """It is pressed, or it is not."""

    def __init__(self, shots):
        self._shots, self._pressed = shots, False

    @staticmethod
    def tasks(level, seeds):
        return [described(task, seed) for seed in seeds for task in TASKS]

    @staticmethod
    def problems():
        return []

    def reset(self, task):
        self._task, self._pressed = task, False
        return self._seen()

    def step(self, action):
        self._pressed = self._pressed or action.kind == "click"
        return self._seen()

    def evaluate(self):
        # The button counts.
        assert MARGIN
        success = self._pressed == (self._task["id"] == "press")
        return Outcome(success, [(success, "the button")])

    def close(self):
        pass

    def _seen(self):
        return Observation(save_screenshot(self._shots, drawn(self._pressed)))
'''
HELPER = """
import io

from PIL import Image

COLOURS = {True: "red", False: "white"}


def drawn(pressed):
    picture = io.BytesIO()
    Image.new("RGB", (40, 30), COLOURS[pressed]).save(picture, "PNG")
    return picture.getvalue()
"""
FUNCTIONS = '''
def prompt(line, dataset):
    """What it says."""
    return [{"role": "user", "type": "text", "value": f"Task: {line['instruction']}"}]

def parse(response, meta):
    return {"kind": "done"}

def post(response, model, processor, **kwargs):
    return response.strip()
'''
EPISODES = 2  # each of one request


@pytest.fixture
def bench(tmp_path):
    """A toy environment that was played to its end, in code of the user's."""
    with MockServer(lambda request: Reply("Action: done()")) as server:
        data = {L3: {"environment": "toy.Toy", "max_steps": 3}}
        new_stage = Stage(tmp_path, server, {"m": api_model(server.url)}, data)
        new_stage.code.mkdir()
        new_stage.module(ENVIRONMENT, "toy")
        new_stage.module(HELPER, "helper")
        new_stage.module(FUNCTIONS, "functions")
        new_stage.model["m"] |= {
            "custom_prompt": {L3: "functions.prompt"},
            "parse_function": {L3: "functions.parse"},
            "postprocess_function": "functions.post",
        }
        yield new_stage


def changed(text, before, after):
    assert text.count(before) == 1, before
    return text.replace(before, after)


@pytest.mark.parametrize(
    ("module", "before", "after", "expected"),
    [
        ("toy", '== "press")', '!= "press")', EPISODES),  # how it is judged
        ("toy", 'kind == "click"', 'kind in ("click", "double")', EPISODES),
        ("toy", "MARGIN = 1", "MARGIN = 2", EPISODES),
        ("helper", '"red"', '"blue"', EPISODES),  # what is seen
        ("functions", "Task: {", "Your task: {", EPISODES),
        ("functions", '"kind": "done"', '"kind": "fail"', EPISODES),
        ("functions", "response.strip()", "response.strip().lower()", EPISODES),
        # Of the class all counts: tasks, which it names, and what is missing here; no solution.
        ("toy", "Press the button.", "Press it.", EPISODES),
        ("toy", "TASKS = [", 'TASKS = [{"id": "new", "goal": "Wait."}, ', EPISODES + 1),
        ("toy", '"press": ["click"]', '"press": ["double"]', 0),
        ("toy", "return []", "return list()", EPISODES),
        ("toy", "# The button counts.", "# It must be pressed.", 0),
        ("toy", '"""It is pressed, or it is not."""', '"""Another text."""', 0),
        (
            "toy",
            "self._task, self._pressed = task, False",
            "(self._task, self._pressed) = (task, False)",
            0,
        ),
        ("functions", '"""What it says."""', '"""Whatever."""', 0),
    ],
)
def test_an_episode_is_played_again_if_what_decides_it_is_changed(
    bench, module, before, after, expected
):
    assert len(bench.run().requests) == EPISODES
    source = {"toy": ENVIRONMENT, "helper": HELPER, "functions": FUNCTIONS}[module]
    assert source.count(before) == 1
    bench.module(source.replace(before, after), module)
    assert len(bench.run().requests) == expected
    assert bench.run().requests == []
    bench.module(source, module)
    assert bench.run().requests == []  # what was played so is stored, too


def test_of_a_world_with_a_version_of_its_answers_the_code_does_not_count(bench):
    versioned = changed(
        ENVIRONMENT, "    def __init__", "    answers_version = 1\n\n    def __init__"
    )
    bench.module(versioned, "toy")
    assert len(bench.run().requests) == EPISODES
    bench.module(
        changed(versioned, "TASKS = [", 'TASKS = [{"id": "new", "goal": "Wait."}, '), "toy"
    )
    assert len(bench.run().requests) == 1  # the new one
    bench.module(changed(versioned, "Press the button.", "Press it."), "toy")
    assert len(bench.run().requests) == 1
    bench.module(changed(versioned, "answers_version = 1", "answers_version = 2"), "toy")
    assert len(bench.run().requests) == EPISODES


@pytest.mark.parametrize(
    ("data", "kwargs"),
    [
        ({"history_images": 3}, {}),
        ({"tell_steps": True}, {}),
        ({"max_tokens_per_episode": 10_000}, {}),
        ({"max_steps": 4}, {}),
        ({"parse_function": "benchmarks.actions.dialects.parse_actions_per_mille"}, {}),
        ({}, {"system_prompt": "Act."}),
        ({}, {"max_pixels": 1_000_000}),  # of the image whose pixels a reply counts
        ({}, {"img_size": 32}),
    ],
)
def test_an_episode_is_played_again_under_other_settings(bench, data, kwargs):
    bench.model = {"m": api_model(bench.server.url)}
    assert len(bench.run().requests) == EPISODES
    bench.data[L3] |= data
    bench.model["m"]["kwargs"] = kwargs
    assert len(bench.run().requests) == EPISODES
    assert bench.run().requests == []


def test_which_episodes_are_asked_for_decides_none_of_them(bench):
    assert len(bench.run().requests) == EPISODES
    bench.data[L3] |= {"seeds": [1, 0], "platforms": ["os_web"]}
    assert len(bench.run().requests) == EPISODES  # those of seed 1
    bench.data[L3]["tasks"] = ["*leave"]
    assert bench.run("--worlds", "1").requests == []
    (bench.code / "README.md").write_text("How it is solved.")
    assert bench.run().requests == []


# -- the program's own worlds ----------------------------------------------------------------------


@pytest.fixture
def program(tmp_path):
    """A copy of the program, in which anything may be changed, and a run of one task of the office."""
    need_browser()
    home = tmp_path / "program"
    for name in ("benchmarks", "models", "utils", "docs"):
        shutil.copytree(PROJECT / name, home / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("evaluate.py", "README.md"):
        shutil.copy(PROJECT / name, home / name)
    with MockServer(lambda request: Reply("Action: done()")) as server:
        data = {L3: {"tasks": ["office/todo_overdue_tick"], "max_steps": 1}}
        config = tmp_path / "config.json"
        config.write_text(json.dumps({"model": {"m": api_model(server.url)}, "data": data}))

        def run():
            before = len(server.requests)
            command = [sys.executable, "evaluate.py", "--config", config, "--work-dir"]
            subprocess.run(
                [*command, tmp_path / "out"], cwd=home, env=environment(), check=True, timeout=300
            )
            return len(server.requests) - before

        yield home, run


def rewrite(file, before, after):
    """Replaces the first place of a text in a file."""
    text = file.read_text(encoding="utf-8")
    assert before in text, (file, before)
    file.write_text(text.replace(before, after, 1), encoding="utf-8")


def test_episodes_in_the_office_stand_until_what_decides_them_is_changed(program):
    home, run = program
    worlds, todo = home / "benchmarks/worlds", "office/tasks/l3/todo.toml"
    assert run() == 1
    assert run() == 0
    new_task = """[[task]]
id = "todo_first"
apps = ["todo"]
category = "update"
goal = "Do nothing."
oracle = [["done"]]

[[task]]"""
    for name, before, after in [
        (
            todo,
            '["todo.tick", "{title}"]], ["done"]]',
            '["todo.tick", "{title}"]], ["wait"], ["done"]]',
        ),
        (todo, "# To-do", "# To-dos"),
        (todo, "[[task]]", new_task),  # before all others
        (
            "office/tasks/checks.py",
            "    lines: Lines = []\n",
            "    # The reasons.\n    lines: Lines = []\n",
        ),
        ("miniwob/suite.py", "SUCCESS = 0.99", "SUCCESS = 0.98"),  # of another suite
        ("../../docs/office.md", "# The office", "# An office"),
        ("../../README.md", "#", "# New:"),
        ("live.py", '"index": index,', '"index": index + 1,'),  # the number of a row
    ]:
        rewrite(worlds / name, before, after)
    assert run() == 0
    for name, before, after in [
        (todo, "Tick off all open", "Tick all open"),  # the goal
        (todo, '"see the list on the door"', '"see the door"'),  # the setup
        (
            todo,
            '"{title}" }, to = { done = 1 }',
            '"{title}" }, to = { done = 0 }',
        ),  # what is expected
        ("office/pages/todo.js", "", "\n"),  # a page
        ("office/pages/apps.css", "", "\n"),
        ("office/schema.sql", "CREATE TABLE todos", "CREATE  TABLE todos"),  # the store
        ("office/week.json", "Jonas Stone", "Jonas Stein"),
        ("office/tasks/checks.py", "MAX_DESCRIPTION = 500", "MAX_DESCRIPTION = 400"),  # the check
        ("browser/gestures.py", "LONG_PRESS_MS = ", "LONG_PRESS_MS = 1 + "),  # how actions are done
        (
            "../actions/reading.py",
            "len(written) > MOST_ACTIONS",
            "len(written) > MOST_ACTIONS + 1",
        ),  # what a reply may hold
        (
            "../actions/dialects.py",
            "LONGEST_READ = ",
            "LONGEST_READ = 1 + ",
        ),  # the default action format
        ("live.py", "You operate a computer ", "You use a computer "),  # the default prompt
        ("live.py", "no longer shown", "not shown any more"),
        ("episode.py", "The screen did not change.", "Nothing changed."),
        ("../../utils/coordinates.py", "max(x, y) <= 1:", "max(x, y) < 1:"),  # that it reads by
        ("../../utils/thinking.py", '"reflection": "reflection"', '"reflection": "reflections?"'),
        ("../../utils/folding.py", '"Cf"', '"Cc"'),
    ]:
        rewrite(worlds / name, before, after)
        assert run() == 1, name
    assert run() == 0
