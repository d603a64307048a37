"""Ten tasks of the office in which a figure is read in one application and written in another.

Two scripted agents make the same gestures. On the screen that shows a figure they say it in a
thought; where it is to be typed, one looks for it in what the default prompt repeats of its
replies, the other one in the last screenshot alone.
"""

import re
from base64 import b64encode
from collections import Counter
from dataclasses import dataclass, field

import pytest

from benchmarks.actions.action import Action
from benchmarks.worlds.office import suite
from benchmarks.worlds.office.tasks import tasks
from tests.support.browser import need_browser
from tests.support.mock_server import MockServer, Reply
from tests.support.office_oracle import Oracle
from tests.support.runs import api_model
from tests.support.stage import Stage, read_log_lines

L4 = "GUITaskCollaboration"
TASKS = (
    "mail_lower_quote",
    "files_receipts_sum_to_sheet",
    "shop_total_to_chat",
    "files_policy_reply",
    "contacts_phone_by_chat",
    "shop_price_to_sheet",
    "mail_invoice_to_sheet",
    "files_budget_to_sheet",
    "mail_venue_to_file",
    "mail_count_correction",
)
READS = re.compile(r"\.(read|search)$")  # steps of a solution that look at something
CELL = re.compile(r"[A-Z]\d+")


@dataclass
class Script:
    """The gestures of a scripted solution, and the figures that they carry."""

    actions: list[Action] = field(default_factory=list)
    screens: list[str] = field(default_factory=list)  # before each of them, as a data URL
    figures: list[str] = field(default_factory=list)
    shown_on: str = ""  # the screen after the last look


class Watched:
    """A world that keeps what an oracle does in it."""

    def __init__(self, world, task):
        self._world = world
        self._screen = world.reset(task).image
        self.script = Script()

    def step(self, action):
        self.script.actions.append(action)
        self.script.screens.append(self.screen)
        self._screen = self._world.step(action).image

    @property
    def screen(self):
        return f"data:image/png;base64,{b64encode(self._screen.read_bytes()).decode()}"

    def __getattr__(self, name):
        return getattr(self._world, name)


def script_of(world, task):
    """Play a solution; a text with digits that is typed later and not in the goal is a figure."""
    watched = Watched(world, task)
    oracle = Oracle(watched)
    script = watched.script
    looks = [number for number, step in enumerate(task["oracle"]) if READS.search(step[0])]
    oracle.play(task["oracle"][: looks[-1] + 1])
    script.shown_on = watched.screen
    begin = len(script.actions)
    oracle.play(task["oracle"][looks[-1] + 1 :])
    script.figures = [
        action.text
        for action in script.actions[begin:]
        if is_figure(action) and action.text not in task["goal"]
    ]
    return script


def is_figure(action):
    has_digit = action.kind == "type" and re.search(r"\d", action.text)
    return bool(has_digit) and not CELL.fullmatch(action.text)


@pytest.fixture(scope="module")
def scripts(tmp_path_factory):
    """By goal."""
    need_browser()
    world = suite.open_world(tmp_path_factory.mktemp("shots"))
    chosen = [task for task in tasks("L4", [0]) if task["id"] in TASKS]
    scripts_by_goal = {task["goal"]: script_of(world, task) for task in chosen}
    world.close()
    return scripts_by_goal


def agent(scripts, *, has_memory):
    """Answer by a script; figures come from the request alone."""
    steps = Counter()

    def answer(request):
        goal = re.search(r"^Task: (.*)", request.text, re.MULTILINE)[1]
        script = scripts[goal]
        action = script.actions[steps[goal]]
        steps[goal] += 1
        figures = script.figures if request.pictures[-1] == script.shown_on else []
        thought = "".join(f" <{number}: {text!r}>" for number, text in enumerate(figures))
        remembered = dict(enumerate(figures))
        if has_memory:
            notes = re.findall(r" <(\d+): '(.*?)'>", request.text)
            remembered |= {int(number): text.replace("\\n", "\n") for number, text in notes}
        if action.text in script.figures and action.kind == "type":
            action = Action("type", text=remembered.get(script.figures.index(action.text), "0"))
        return Reply(f"Thought: as planned.{thought}\nAction: {action}")

    return answer


@pytest.mark.parametrize("has_memory", [True, False], ids=["with memory", "without memory"])
def test_who_forgets_a_figure_fails_and_who_has_said_it_succeeds(tmp_path, scripts, has_memory):
    assert len(scripts) == len(TASKS) == 10
    assert all(script.figures for script in scripts.values())
    live = {"tasks": [f"office/{task}" for task in TASKS], "max_steps": 60}
    with MockServer(agent(scripts, has_memory=has_memory)) as server:
        stage = Stage(tmp_path, server, {"m": api_model(server.url)}, {L4: live})
        ran = stage.run("--worlds", "2")
    assert ran.code == 0, ran.output
    records = read_log_lines(stage.folder() / f"m_{L4}.jsonl")
    outcomes = {
        record["line"]["task_id"]: record["returned"]["success"]
        for record in records
        if record["kind"] == "episode"
    }
    assert outcomes == {f"office/{task}": has_memory for task in TASKS}
