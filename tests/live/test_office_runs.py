"""L3 and L4 in the office, in a real browser, through `evaluate.py`."""

import contextlib
import json
import re
import signal
import threading

import psutil
import pytest

from benchmarks.worlds.office.suite import tasks
from tests.support.browser import need_browser
from tests.support.mock_server import MockServer, Reply
from tests.support.runs import api_model
from tests.support.stage import Stage, read_log_lines

L3, L4 = "GUITaskAutomation", "GUITaskCollaboration"


def known_answers(level):
    """What can be known without looking: plain answers, and what cannot be done, by goal."""
    answers_by_goal = {}
    for task in tasks(level, [0]):
        if not task.get("feasible", True):
            answers_by_goal[task["goal"]] = 'fail("it cannot be done")'
        elif isinstance(task.get("answer"), str) and not task["expect"]:
            answers_by_goal[task["goal"]] = f'answer("{task["answer"]}")'
    return answers_by_goal


@pytest.fixture
def run_of(tmp_path):
    need_browser()

    def run(level, answer, *arguments, **settings):
        with MockServer(answer) as server:
            data = {level: {"tasks": ["office/*"], "max_steps": 4, **settings}}
            bench = Stage(tmp_path, server, {"m": api_model(server.url)}, data)
            ran = bench.run(*arguments)
            assert ran.code == 0, ran.output
            episodes = [
                record
                for record in read_log_lines(bench.folder() / f"m_{level}.jsonl")
                if record["kind"] == "episode"
            ]
            [scores] = bench.folder().glob(f"m_{level}_score*.json")
            return json.loads(scores.read_text()), episodes, ran

    return run


@pytest.mark.parametrize("level", [L3, L4])
def test_who_knows_the_answer_is_right_and_who_is_done_at_once_is_not(run_of, level):
    answers_by_goal = known_answers({L3: "L3", L4: "L4"}[level])
    task_ids = [
        task["id"]
        for task in tasks({L3: "L3", L4: "L4"}[level], [0])
        if task["goal"] in answers_by_goal
    ][:4]

    def answer(request):
        goal = re.search(r"Task: (.*)", request.text)[1]
        return Reply(f"Action: {answers_by_goal[goal]}")

    chosen = [f"office/{task}" for task in task_ids]
    scores, episodes, _ = run_of(level, answer, "--worlds", "2", tasks=chosen)
    assert scores["Max step 4"]["SR"] == 100, [
        episode["returned"]["checks"] for episode in episodes
    ]
    done = run_of(level, lambda request: Reply("Action: done()"), "--fresh", tasks=chosen)[0]
    assert done["Max step 4"]["SR"] == 0


def test_screens_change_with_what_is_done_and_two_runs_see_the_same(run_of):
    replies = [
        'Action: open_app("Contacts")',
        'Action: press("tab")',
        'Action: scroll(0.5, 0.5, "down", 3)',
        "Action: done()",
    ]

    def answer(request):
        return Reply(replies[len(re.findall(r"^Action: \w+\(", request.text, re.MULTILINE))])

    def seen():
        episodes = run_of(L3, answer, "--limit", "4", "--fresh", "--worlds", "2")[1]
        newest = {episode["key"]: episode["returned"] for episode in episodes}
        return {
            key: ([step["image_path"] for step in episode["trajectory"]], episode["checks"])
            for key, episode in newest.items()
        }

    first = seen()
    assert len(first) == 4
    assert all(len(set(images)) > 1 for images, _ in first.values())
    assert seen() == first


# -- what is killed ---------------------------------------------------------------------------------


@pytest.fixture
def walk(tmp_path):
    """Makes a bench for so many tasks of three steps, and the list of what is asked in them.

    At each request `happens` is told how many requests there were for the same step of this task.
    """
    need_browser()
    answers = list(known_answers("L3").items())
    request_keys = []

    def made(count, happens):
        def answer(request):
            goal = re.search(r"Task: (.*)", request.text)[1]
            step = 1 + len(re.findall(r"^Action: \w+\(", request.text, re.MULTILINE))
            request_keys.append((goals.index(goal), int(step)))
            happens(*request_keys[-1], request_keys.count(request_keys[-1]))
            actions = ['open_app("Mail")', "scroll(0.5, 0.5)", answers[request_keys[-1][0]][1]]
            return Reply(f"Action: {actions[int(step) - 1]}")

        goals = [goal for goal, _ in answers[:count]]
        ids = [f"office/{task['id']}" for task in tasks("L3", [0]) if task["goal"] in goals]
        server = servers.enter_context(MockServer(answer))
        data = {L3: {"tasks": ids, "max_steps": 4}}
        return Stage(tmp_path, server, {"m": api_model(server.url)}, data), request_keys

    with contextlib.ExitStack() as servers:
        yield made


def right_of(bench):
    [scores] = bench.folder().glob(f"m_{L3}_score*.json")
    return json.loads(scores.read_text())["Max step 4"]["Correct num"]


def kill_browser():
    """The browser of this process's run."""
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):  # one of those that come and go
            line = process.cmdline()
            if "--headless" in line and not any(
                argument.startswith("--type=") for argument in line
            ):
                process.kill()


@pytest.mark.parametrize(("deaths", "request_count"), [(1, [1, 2, 1, 2, 3]), (2, [1, 2, 1, 2])])
def test_a_killed_browser_costs_one_try_and_twice_fails_the_world(walk, deaths, request_count):
    bench, outcome = walk(
        1, lambda task, step, time: step == 2 and time <= deaths and kill_browser()
    )
    first = bench.run("--worlds", "1")
    assert (first.code, [step for _, step in outcome]) == (deaths - 1, request_count), first.output
    assert ("1 x world: step: WorldError: " in first.output) is (deaths == 2)
    assert [right_of(bench), bench.run().code, right_of(bench)] == [2 - deaths, 0, 1]
    assert len(outcome) == len(request_count) + 3 * (
        deaths - 1
    )  # a failure of the world is played again


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_stopped_run_leaves_no_process_and_plays_on_with_what_is_missing(walk, how):
    reached, stopped = threading.Event(), threading.Event()

    def hold(task, step, time):
        if (task, step) == (1, 2):
            reached.set()
            stopped.wait(120)

    bench, outcome = walk(3, hold)
    process = bench.start("--worlds", "1")
    assert reached.wait(120)
    started = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(how)
    if how == signal.SIGINT:
        assert any("Stopping after the requests in flight" in line for line in process.stdout)
    else:
        process.wait(120)
    stopped.set()
    process.communicate(timeout=120)
    assert len(started) > 3 and psutil.wait_procs(started, timeout=120)[1] == []
    assert process.returncode == {signal.SIGKILL: -9, signal.SIGINT: 130}[how]
    outcome.clear()
    assert bench.run("--worlds", "1").code == 0
    assert outcome == [(task, step) for task in (1, 2) for step in (1, 2, 3)]
    assert right_of(bench) == 3
