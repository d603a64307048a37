"""L3 and L4 in the office, in a real browser, through `evaluate.py`."""

from __future__ import annotations

import json
import re

import pytest

from benchmarks.worlds.office.suite import tasks
from tests.support.browser import need_browser
from tests.support.mock_server import MockServer, Reply
from tests.support.runs import api_model
from tests.support.stage import Stage, read_log_lines

L3, L4 = "GUITaskAutomation", "GUITaskCollaboration"


def known_answers(level):
    """What can be known without looking: plain answers, and what cannot be done, by goal."""
    found = {}
    for task in tasks(level, [0]):
        if not task.get("feasible", True):
            found[task["goal"]] = 'fail("it cannot be done")'
        elif isinstance(task.get("answer"), str) and not task["expect"]:
            found[task["goal"]] = f'answer("{task["answer"]}")'
    return found


@pytest.fixture
def run_of(tmp_path):
    need_browser()

    def run(level, answer, *arguments, **asked):
        with MockServer(answer) as server:
            data = {level: {"tasks": ["office/*"], "max_steps": 4, **asked}}
            bench = Stage(tmp_path, server, {"m": api_model(server.url)}, data)
            ran = bench.run(*arguments)
            assert ran.code == 0, ran.output
            episodes = [record for record in read_log_lines(bench.folder() / f"m_{level}.jsonl")
                        if record["kind"] == "episode"]  # fmt: skip
            [scores] = bench.folder().glob(f"m_{level}_score*.json")
            return json.loads(scores.read_text()), episodes, ran

    return run


@pytest.mark.parametrize("level", [L3, L4])
def test_who_knows_the_answer_is_right_and_who_is_done_at_once_is_not(run_of, level):
    known = known_answers({L3: "L3", L4: "L4"}[level])
    wanted = [
        task["id"] for task in tasks({L3: "L3", L4: "L4"}[level], [0]) if task["goal"] in known
    ][:4]

    def answer(request):
        goal = re.search(r"Task: (.*)\n\n", request.text)[1]
        return Reply(f"Action: {known[goal]}")

    chosen = [f"office/{task}" for task in wanted]
    scores, episodes, _ = run_of(level, answer, "--worlds", "2", tasks=chosen)
    assert scores["Max step 4"]["SR"] == 100, [each["returned"]["checks"] for each in episodes]
    done = run_of(level, lambda request: Reply("Action: done()"), "--fresh", tasks=chosen)[0]
    assert done["Max step 4"]["SR"] == 0


def test_screens_change_with_what_is_done_and_two_runs_see_the_same(run_of):
    replies = ['Action: open_app("Contacts")', 'Action: press("tab")', "Action: scroll(0.5, 0.5, \"down\", 3)",
               "Action: done()"]  # fmt: skip

    def answer(request):
        return Reply(replies[len(re.findall(r"^\d+\. ", request.text, re.MULTILINE))])

    def seen():
        episodes = run_of(L3, answer, "--limit", "4", "--fresh", "--worlds", "2")[1]
        newest = {each["key"]: each["returned"] for each in episodes}
        return {key: ([step["image_path"] for step in each["trajectory"]], each["checks"])
                for key, each in newest.items()}  # fmt: skip

    first = seen()
    assert len(first) == 4
    assert all(len(set(images)) > 1 for images, _ in first.values())
    assert seen() == first
