"""The requests that a report and the list of runs name are those that the server got."""

import pytest

from tests.support.mock_server import MockServer, Reply
from tests.support.stage import L1, L2, Stage, right_answers
from tests.support.standin import ENVIRONMENT, agent
from utils.pages.data_files import value_of

L3, L4 = "GUITaskAutomation", "GUITaskCollaboration"
LIVE = {"environment": ENVIRONMENT}


def any_answer(request):
    """Plays in the boxes, and answers questions."""
    return agent(request) if "Task: " in request.text else right_answers(request)


class Busy:
    """Answers every third request with a 503 before it answers it."""

    def __init__(self):
        self._count = 0

    def __call__(self, request):
        self._count += 1
        if self._count % 3 == 1:
            return Reply(status=503, headers={"retry-after": "0"})
        return any_answer(request)


def give_up(request):
    return Reply('Thought: no.\nAction: fail("no")')


def facts_of(folder):
    summary = value_of((folder / "report/data/summary_0.js").read_text("ascii"))
    return {fact["name"]: fact["text"] for fact in summary["facts"]}


@pytest.mark.parametrize(
    ("answer", "data"),
    [
        pytest.param(give_up, {L3: LIVE}, id="episodes of one step"),
        pytest.param(agent, {L3: LIVE}, id="episodes of several steps"),
        pytest.param(agent, {L3: {**LIVE, "repeats": 2}, L4: LIVE}, id="two levels, repeats"),
        pytest.param(any_answer, {L1: {"mode": "all"}, L3: LIVE}, id="questions and episodes"),
        pytest.param(any_answer, {L1: {"mode": "all", "circular": True}}, id="rotations"),
        pytest.param(any_answer, {L2: {"mode": "all", "repeats": 3}}, id="repeats"),
        pytest.param(Busy(), {L3: LIVE, L2: {"mode": "all"}}, id="requests that are repeated"),
    ],
)
def test_the_head_of_a_report_counts_what_the_server_got(tmp_path, answer, data):
    with MockServer(answer) as server:
        stage = Stage.make(tmp_path, server)
        stage.data = data
        ran = stage.run()
        assert ran.code == 0, ran.output
    expected = f"{len(server.requests):,}"
    assert facts_of(stage.folder())["Requests"].partition(", ")[0] == expected


def test_the_list_counts_the_requests_of_episodes_that_could_not_be_played(tmp_path):
    with MockServer(lambda _: Reply(status=400)) as server:
        stage = Stage.make(tmp_path, server)
        stage.data = {L3: LIVE}
        stage.run()
    asked = len(server.requests)
    text = (stage.work_dir / "index.html").read_text("utf-8")
    assert f">{asked} of {asked} requests failed<" in text
