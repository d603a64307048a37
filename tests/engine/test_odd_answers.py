"""Runs against servers whose replies are whole and odd: empty, in other words, deep, no numbers."""

import json

import pytest

from tests.support.mock_server import Reply
from tests.support.stage import L1, L2, told


def completion(message, finish_reason="stop", **more):
    choice = {"index": 0, "message": message, "finish_reason": finish_reason}
    return Reply(body=json.dumps({"choices": [choice], **more}).encode())


@pytest.fixture
def stage(staged):
    """Four samples of L2."""
    stage = staged(pictures=2)
    stage.data = {L2: {"mode": "all"}}
    return stage


THOUGHT = "The button is at (512, 384)."
PARSER = "Start the server with the reasoning parser of this model, or without one"


@pytest.mark.parametrize(
    ("message", "finish_reason", "reasoning"),
    [
        ({"content": None, "reasoning_content": THOUGHT}, "stop", THOUGHT),
        ({"content": "", "reasoning": THOUGHT}, "stop", THOUGHT),
        ({"content": [{"type": "thinking", "thinking": THOUGHT}]}, "end_turn", THOUGHT),
        ({"content": ""}, "stop", None),
        ({"content": None}, "tool_calls", None),
        ({"content": [], "tool_calls": []}, "STOP", None),
    ],
)
def test_a_reply_that_stays_empty_is_an_unparsed_answer_after_one_more_try(
    message, finish_reason, reasoning, stage
):
    usage = {"prompt_tokens": 1000, "completion_tokens": 9}
    stage.server.answer = lambda request: completion(message, finish_reason, usage=usage)
    ran = stage.run("--retry", "5")
    assert (ran.code, len(ran.requests)) == (0, 8), ran.output
    assert f"warning: m, {L2}: 4 of 4 replies are empty" in ran.output
    assert (PARSER in ran.output) is (reasoning is not None)
    for record in stage.answers(L2):
        assert (record["status"], record["raw"], record["attempts"]) == ("ok", "", 2)
        assert (record.get("reasoning"), record["usage"]) == (reasoning, usage)
        assert record["latency_s"] > 0
    assert stage.run().requests == []  # nor is it asked again by the next run


def test_an_empty_reply_that_was_chance_is_followed_by_the_answer(stage):
    empty = [Reply(""), Reply("")]
    stage.server.answer = lambda request: empty.pop() if empty else Reply("(0.2, 0.15)")
    ran = stage.run("--api-nproc", "1")
    assert (ran.code, len(ran.requests)) == (0, 5), ran.output
    assert [record["raw"] for record in stage.answers(L2)].count("(0.2, 0.15)") == 3
    assert "are empty" not in ran.output


def test_ping_shows_where_the_text_of_an_empty_reply_is(stage):
    reply = completion({"content": "", "reasoning_content": THOUGHT})
    stage.server.answer = lambda request: reply
    ran = stage.run("--check", "--ping")
    assert ran.code == 2
    assert f"but reasoning_content has {len(THOUGHT)} characters" in ran.output
    assert THOUGHT in ran.output  # all that came back


@pytest.mark.parametrize(
    ("finish_reason", "text", "status", "count"),
    [
        ("MAX_TOKENS", "", "ok", "cut off at the token limit"),
        ("model_context_window_exceeded", "It", "ok", "cut off at the token limit"),
        ("SAFETY", None, "refused", "refused"),
        ("content_filter: PROHIBITED_CONTENT", "", "refused", "refused"),
        ("refusal", None, "refused", "refused"),
    ],
)
def test_other_words_for_how_a_reply_ended_are_counted_as_what_they_mean(
    finish_reason, text, status, count, stage
):
    replies = [Reply("(0.2, 0.15)")]  # else nothing but refusals came: they count as failed
    stage.server.answer = lambda request: (
        replies.pop() if replies else completion({"content": text}, finish_reason)
    )
    ran = stage.run("--api-nproc", "1")
    assert len(ran.requests) == 4
    assert [record["status"] for record in stage.answers(L2)].count(status) >= 3
    assert told(ran.output, count) == [3], ran.output


@pytest.mark.parametrize(
    ("error", "expected_text"),
    [
        ({"code": "insufficient_quota", "message": "m"}, "The account's quota is used up."),
        ({"type": "insufficient_quota", "message": "m"}, "The account's quota is used up."),
        ({"code": 402, "message": "m"}, "The account has no credit."),
        ({"code": "invalid_api_key", "message": "m"}, "The server does not accept the API key."),
        ("Invalid API key", "the key is api_key in model_path"),
        ({"code": "401", "message": "m"}, "The server does not accept the API key."),
    ],
)
def test_an_error_of_key_or_account_in_a_200_stops_the_run_after_answers_too(
    error, expected_text, staged
):
    stage = staged(pictures=8)
    stage.data = {L1: {"mode": "all"}}
    replies = [Reply("B")] * 2
    body = json.dumps({"error": error}).encode()
    stage.server.answer = lambda request: replies.pop() if replies else Reply(body=body)
    ran = stage.run("--api-nproc", "1", "--retry", "2")
    assert (ran.code, len(ran.requests)) == (1, 3), ran.output
    assert expected_text in ran.stderr
    assert "Answers so far are kept" in ran.stderr


def strict(text):
    raise ValueError(f"{text} is no JSON")


@pytest.mark.parametrize(
    "arguments",
    [
        '{"a":' * 500 + "1" + "}" * 500,
        '{"a":[' * 400 + "1" + "]}" * 400,
        '{"x": NaN, "y": 1}',
        '{"x": 1e999}',
        '{"x": [-Infinity]}',
    ],
    ids=["deep", "deeper", "nan", "large", "infinite"],
)
def test_no_arguments_of_a_tool_call_end_the_scoring_or_spoil_the_log(arguments, stage):
    function = {"name": "click", "arguments": arguments}
    message = {"content": "(0.2, 0.15)", "tool_calls": [{"id": "c", "function": function}]}
    stage.server.answer = lambda request: completion(message, "tool_calls")
    for more in ((), ("--mode", "eval")):
        ran = stage.run(*more)
        assert ran.code == 0, ran.output
    for line in stage.log(L2).read_text().splitlines():
        json.loads(line, parse_constant=strict)
    records = stage.answers(L2)
    assert {record["tool_calls"][0]["arguments"] for record in records} == {arguments}


OWN_CLASS = """
from models.base import Generation
class Model:
    max_concurrency = 1
    answers_version = "1"
    def generate(self, message, *, dataset_name):
        return Generation("(0.2, 0.15)", finish_reason="MAX_TOKENS")
"""


def test_the_words_of_a_users_class_are_understood_alike(stage):
    stage.module(OWN_CLASS)
    stage.model["m"] = {"imp_type": "custom", "model_path": "mymodel.Model"}
    ran = stage.run()
    assert "4 of 4 replies were cut off at the token limit" in ran.output
    assert {record["finish_reason"] for record in stage.answers(L2)} == {"length"}


OWN_NUMBERS = """
from models.base import Generation
class Model:
    def generate(self, message, *, dataset_name):
        arguments = {"x": float("nan"), "y": [float("inf"), 0.5]}
        call = {"id": "c", "name": "click", "arguments": arguments}
        return Generation("(0.2, 0.15)", tool_calls=[call])
"""


def test_numbers_of_a_users_class_that_json_lacks_are_null_in_the_log(stage):
    stage.module(OWN_NUMBERS)
    stage.model["m"] = {"imp_type": "custom", "model_path": "mymodel.Model"}
    ran = stage.run()
    assert ran.code == 0, ran.output
    for line in stage.log(L2).read_text().splitlines():
        json.loads(line, parse_constant=strict)
    calls = [record["tool_calls"][0]["arguments"] for record in stage.answers(L2)]
    assert calls == [{"x": None, "y": [None, 0.5]}] * 4
