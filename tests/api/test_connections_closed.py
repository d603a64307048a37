"""Connections are closed when a run ends: Python has nothing to warn of."""

import pytest

from tests.support.mock_server import Reply
from tests.support.stage import L1, L2, right_answers

STRICT = {"PYTHONWARNINGS": "error"}


def in_turn(*replies):
    """Answers with one reply after the other, then rightly."""
    left = list(replies)
    return lambda request: left.pop(0) if left else right_answers(request)


@pytest.mark.parametrize(
    ("answer", "arguments", "entry", "code"),
    [
        (right_answers, (), {}, 0),
        (right_answers, ("--api-nproc", "16"), {}, 0),
        (right_answers, ("--check", "--ping"), {}, 0),
        (in_turn(Reply(status=500), Reply(status=500)), ("--retry", "3"), {}, 0),
        (lambda _: Reply(status=401), (), {}, 1),
        (lambda _: Reply(status=404), (), {}, 1),
        (
            lambda _: Reply(status=400),
            ("--retry", "0"),
            {"api": "responses", "generate_cfg": {}},
            1,
        ),
    ],
    ids=["usual", "many at once", "ping", "retries", "key", "no such model", "responses"],
)
def test_nothing_is_left_open(answer, arguments, entry, code, staged):
    stage = staged(answer=answer, pictures=2, **entry)
    ran = stage.run(*arguments, env=STRICT)
    assert ran.code == code, ran.output
    assert "ResourceWarning" not in ran.output and "Exception ignored" not in ran.output


def test_a_judge_and_several_models_leave_nothing_open(stage):
    stage.model["second"] = dict(stage.model["m"])
    judge = {"match_mode": "judge", "judge": {"model_path": stage.model["m"]["model_path"]}}
    stage.data = {L1: judge, L2: {}}
    ran = stage.run(env=STRICT)
    assert "ResourceWarning" not in ran.output and "Exception ignored" not in ran.output
