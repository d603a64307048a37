"""L3 and L4 through `evaluate.py`: a scripted server acts in a small world."""

from __future__ import annotations

import json

import pytest

from tests.support.bench import Bench, read_log_lines
from tests.support.mock_server import MockServer
from tests.support.runs import api_model
from tests.support.standin import ENVIRONMENT, Boxes, agent

L3, L4 = "GUITaskAutomation", "GUITaskCollaboration"


@pytest.fixture(autouse=True)
def fresh_boxes():
    Boxes.made.clear()


@pytest.fixture
def bench(tmp_path):
    """A bench for a server that answers as `answer` says; data keys go to both levels."""

    def made(answer=agent, levels=(L3,), **asked):
        server = servers.enter_context(MockServer(answer))
        data = {level: {"environment": ENVIRONMENT, **asked} for level in levels}
        return Bench(tmp_path, server, {"m": api_model(server.url)}, data)

    import contextlib

    with contextlib.ExitStack() as servers:
        yield made


def scores_of(bench, level=L3):
    return json.loads((bench.folder() / f"m_{level}_score.json").read_text())


def episodes_of(bench, level=L3):
    return [record for record in read_log_lines(bench.log(level)) if record["kind"] == "episode"]


def test_an_agent_that_solves_every_task_gets_them_all(bench):
    made = bench(levels=(L3, L4), max_steps=20, seeds=[0, 1])
    ran = made.run("--worlds", "2")
    assert ran.code == 0, ran.output
    for level in (L3, L4):
        scores = scores_of(made, level)
        assert scores["Max step 15"]["SR"] == scores["Max step 20"]["SR"] == 100
        assert (scores["Total num"], scores["Max step 15"]["Mean steps"]) == (8, 1.75)
    assert Boxes.made["opened"] == Boxes.made["closed"] <= 4
    assert "SR 15" in ran.output and "100.00" in ran.output
