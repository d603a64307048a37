"""Episodes of L3 and L4 that are played several times."""

import json
import signal
from collections import Counter
from concurrent.futures import Future
from typing import NamedTuple

import pytest

from benchmarks.matrics import efficiency_area
from tests.support.mock_server import MockServer, Reply
from tests.support.runs import api_model
from tests.support.stage import Stage, end_of, read_log_lines
from tests.support.standin import ENVIRONMENT, agent
from utils.contracts import question_of, repeat_of

L3, L4 = "GUITaskAutomation", "GUITaskCollaboration"
TASKS, REPEATS = 4, 3
ONE_BY_ONE = ("--worlds", "1", "--api-nproc", "1")


@pytest.fixture
def stage(tmp_path):
    """A stage that plays the tasks of both levels three times; the agent solves all of them."""
    entry = {"environment": ENVIRONMENT, "max_steps": 20, "repeats": REPEATS}
    with MockServer(agent) as server:
        model = api_model(server.url, generate_cfg={"max_tokens": 16})
        yield Stage(tmp_path, server, {"m": model}, {L3: {**entry}, L4: {**entry}})


class Episode(NamedTuple):
    success: bool
    steps: int


def episodes_of(stage, level):
    records = read_log_lines(stage.folder() / f"m_{level}.jsonl")
    return [record for record in records if record["kind"] == "episode"]


def file_of(stage, level, name):
    return json.loads((stage.folder() / f"m_{level}_{name}.json").read_text())


def is_first_try(request, counts):
    """Whether an episode of this task begins for the first time."""
    is_beginning = "Action:" not in request.text.partition("Task: ")[2]
    task = request.text.partition("Task: ")[2].partition("\n")[0]
    counts[task] += is_beginning
    return counts[task] == 1


def test_the_first_episodes_are_those_of_a_run_without_repeats(stage):
    for level in (L3, L4):
        stage.data[level]["repeats"] = 1
    once = stage.run()
    for level in (L3, L4):
        stage.data[level]["repeats"] = REPEATS
    thrice = stage.run(*ONE_BY_ONE)
    assert (once.code, thrice.code) == (0, 0), thrice.output
    assert len(thrice.requests) == 2 * len(once.requests)
    for level in (L3, L4):
        assert f"{level}: queried 8 (8 new), reused 4" in thrice.output
        assert Counter(
            repeat_of(record["key"]) for record in episodes_of(stage, level)
        ) == dict.fromkeys((1, 2, 3), TASKS)
    turns = read_log_lines(stage.folder() / f"m_{L3}.jsonl")
    assert any("+2~1" in record.get("key", "") for record in turns)
    again = stage.run()
    assert (again.code, again.requests) == (0, [])


def test_a_killed_run_goes_on_with_the_episodes_that_are_missing(stage):
    victim = Future()

    def answer(request):
        if len(stage.server.requests) >= 30:  # in the second level
            victim.result().kill()
        return agent(request)

    stage.server.answer = answer
    victim.set_result(stage.start(*ONE_BY_ONE))
    code, _ = end_of(victim.result())
    stored_count = sum(len(episodes_of(stage, level)) for level in (L3, L4))
    stage.server.answer = agent
    ran = stage.run(*ONE_BY_ONE)
    assert code == -signal.SIGKILL and TASKS * REPEATS < stored_count < 2 * TASKS * REPEATS
    assert ran.code == 0, ran.output
    played = 2 * TASKS * REPEATS - stored_count
    assert f"{L4}: queried {played} ({played} new)" in ran.output
    for level in (L3, L4):
        keys = [record["key"] for record in episodes_of(stage, level)]
        assert (len(keys), len({question_of(key) for key in keys})) == (12, 4)
        assert file_of(stage, level, "score")["Max step 20"]["SR"] == 100


def test_figures_that_depend_on_an_order_are_the_means_of_single_runs(stage):
    counts = Counter()

    def answer(request):
        return agent(request) if is_first_try(request, counts) else Reply('Action: fail("no")')

    del stage.data[L4]
    stage.server.answer = answer
    ran = stage.run(*ONE_BY_ONE)
    score, analysis = file_of(stage, L3, "score"), file_of(stage, L3, "analysis")
    repeats = score["repeats"]
    # All four are solved at first; then the one that cannot be done, which is the last.
    assert [single["SR 20"] for single in repeats["single_runs"]] == [100, 25, 25]
    assert score["Max step 20"]["SR"] == 50
    assert (score["Max step 20"]["Correct num"], score["Total num"]) == (6, 12)
    solved = [Episode(True, steps) for steps in (2, 3, 1, 1)]
    given_up = [Episode(task == 3, 1) for task in range(TASKS)]
    areas = [efficiency_area(episodes, 20) for episodes in (solved, given_up, given_up)]
    assert score["Max step 20"]["EQA"] == pytest.approx(100 * sum(areas) / 3)
    rows = {row["name"]: row["cells"][-1] for row in analysis["table"]["rows"]}
    assert rows["SR 20"]["value"] == 50
    overall = {
        name: cell["value"]
        for name, cell in repeats["figures"]["Overall"].items()
        if isinstance(cell, dict)
    }
    assert (overall["pass@3"], overall["pass^3"]) == (100, 25)
    assert overall["agreement"] == pytest.approx(100 * (3 * 1 / 3 + 1) / 4, abs=1e-4)
    assert f"n = {TASKS * REPEATS} (3 episodes of each of 4 tasks)" in ran.output
    assert "single runs, SR 20: 100.00, 25.00, 25.00" in ran.output
