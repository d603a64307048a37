"""What is noticed early: answers that nobody can read, and models that fail on everything."""

from __future__ import annotations

import json

import pytest

from tests.support.mock_server import MockServer, Reply
from tests.support.stage import API, L1, Stage

SEVEN_PICTURES = [("os_web", (64, 48))] * 7  # 21 questions
THOUGHTS = {"index": 0, "message": {"content": None, "reasoning_content": "Let me see"},
            "finish_reason": "length"}  # fmt: skip


def run(tmp_path, answer=lambda request: Reply("B."), pictures=SEVEN_PICTURES, **given):
    """A run of L1: its output, its server."""
    with MockServer(answer) as server:
        stage = Stage.make(tmp_path, server, pictures)
        if "module" in given:
            stage.module(given["module"])
        model, data = given.get("model", API), {L1: {"mode": "all"} | given.get("data", {})}
        ran = stage.evaluate({"m": model}, "--api-nproc", given.get("nproc", "1"), data=data,
                             env=given.get("env"))  # fmt: skip
        return ran, server


def warnings_of(ran):
    return [line for line in ran.stdout.splitlines() if line.startswith("warning")]


def unless(special, reply, usual):
    return lambda request: reply if special in request.text else usual


@pytest.mark.parametrize(("answer", "said"), [
    (unless("Question 0 easy", Reply("B."), Reply("?")),
     ["m, GUIContentUnderstanding: 19 of the first 20 answers could not be read", "them: '?'"]),
    (lambda request: Reply("B.", finish_reason="length"),
     ["all of the first 20 answers were cut off at the token limit"]),
    (lambda request: Reply(body=json.dumps({"choices": [THOUGHTS]}).encode()),
     ["all of the first 20 answers are empty: the model used all its tokens", "raise max_tokens"]),
    (lambda request: Reply(status=418, body=b"teapot"),
     ["none of the first 20 samples has an answer, all failed alike", "teapot"]),
], ids=["unreadable", "cut-off", "all-thoughts", "failed-alike"])  # fmt: skip
def test_first_samples_that_look_wrong_are_warned_of_once(answer, said, tmp_path):
    ran, _ = run(tmp_path, answer)

    [warning] = warnings_of(ran)
    assert [text for text in said if text not in warning] == [], warning


@pytest.mark.parametrize(("answer", "pictures"), [
    (unless("Question 3 hard", Reply("B."), Reply(status=418)), SEVEN_PICTURES),
    (unless("Question 3 hard", Reply(status=410), Reply(status=418)), SEVEN_PICTURES),
    (lambda request: Reply("B."), SEVEN_PICTURES),
    (lambda request: Reply("?"), SEVEN_PICTURES[:2]),
], ids=["one-answer", "two-ways-to-fail", "readable", "small"])  # fmt: skip
def test_nothing_is_warned_of_without_need(answer, pictures, tmp_path):
    ran, _ = run(tmp_path, answer, pictures)

    assert warnings_of(ran) == []


def test_the_parse_function_sees_the_first_answers_in_file_order(tmp_path):
    ran, _ = run(tmp_path, nproc="8", data={"parse_function": "mymodel.parse"}, module="""
        SEEN = []

        def parse(response, meta):
            SEEN.append(meta["index"])
            if len(SEEN) == 20:
                print("order", SEEN)
            return "B"
        """)  # fmt: skip

    [order] = [line for line in ran.stdout.splitlines() if line.startswith("order")]
    numbers = json.loads(order.removeprefix("order "))
    assert numbers == sorted(numbers)


# ---- a model that fails on everything ------------------------------------------------------------

# Without a traceback, as a generate method on a device that lacks a kernel fails.
FAILS = """
    from utils.contracts import CallError

    class Model:
        asked = 0

        def generate(self, message, *, dataset_name):
            Model.asked += 1
            print("generated", Model.asked)
            if {when}:
                raise CallError("model", "no kernel image is available")
            return "B."
    """
CUSTOM = {"imp_type": "custom", "model_path": "mymodel.Model"}


@pytest.mark.parametrize(("when", "env", "asked", "is_stopped"), [
    ("True", {}, 10, True),
    ("True", {"SKIP_ERR": "1"}, 21, False),
    ("Model.asked % 10", {}, 21, False),
], ids=["all", "skip-err", "nine-of-ten"])  # fmt: skip
def test_a_generate_method_that_fails_ten_times_in_a_row_stops_its_data_set(
    when, env, asked, is_stopped, tmp_path
):
    ran, _ = run(tmp_path, model=CUSTOM, module=FAILS.replace("{when}", when), env=env)

    assert ran.stdout.count("generated") == asked, ran.output
    assert ran.code == 1
    said = f"{L1}: the generate function failed 10 times in a row"
    assert (said in ran.stderr) is is_stopped
    assert ("no kernel image is available" in ran.stderr) is is_stopped
