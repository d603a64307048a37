"""What is noticed early: answers that nobody can read, and models that fail on everything."""

import json
import re
import threading

import pytest

from tests.support.mock_server import Reply
from tests.support.stage import API, L1, L2

THOUGHTS = {
    "index": 0,
    "message": {"content": None, "reasoning_content": "Let me see"},
    "finish_reason": "length",
}
UNREAD = THOUGHTS | {"finish_reason": "stop"}


@pytest.fixture
def run(staged):
    """A run of L1; seven pictures have 21 questions."""

    def of(answer=lambda request: Reply("B."), pictures=7, module="", model=API, nproc="1", **data):
        stage = staged(module, answer, pictures)
        data_config = {L1: {"mode": "all", **data}}
        return stage.evaluate({"m": model}, "--api-nproc", nproc, data=data_config)

    return of


def unless(special, reply, usual):
    return lambda request: reply if special in request.text else usual


@pytest.mark.parametrize(
    ("answer", "pictures", "expected_text"),
    [
        (
            unless("Question 0 easy", Reply("B."), Reply("?")),
            7,
            ["m, GUIContentUnderstanding: 19 of the first 20 answers are unparsed", "them: '?'"],
        ),
        (
            lambda request: Reply("B.", finish_reason="length"),
            7,
            ["all of the first 20 answers were cut off at the token limit"],
        ),
        (
            lambda request: Reply(body=json.dumps({"choices": [THOUGHTS]}).encode()),
            7,
            [
                "all of the first 20 answers are empty: the model used all its tokens",
                "raise generate_cfg.max_tokens",
            ],
        ),
        (
            lambda request: Reply(body=json.dumps({"choices": [UNREAD]}).encode()),
            7,
            [
                "20 of the first 20 answers are empty; 20 of them have text in the reasoning field",
                "reasoning parser of this model, or without one",
            ],
        ),
        (
            unless("easy", Reply("B."), Reply("")),
            7,
            ["13 of the first 20 answers are empty"],
        ),
        (unless("Question 3 hard", Reply("B."), Reply(status=418)), 7, None),
        (lambda request: Reply("B."), 7, None),
        (lambda request: Reply("?"), 2, None),
    ],
    ids=[
        "unreadable",
        "cut-off",
        "all-thoughts",
        "all-thoughts-of-whole-replies",
        "mostly-empty",
        "but-not-of-one-answer",
        "nor-of-readable",
        "nor-of-few",
    ],
)
def test_first_samples_that_look_wrong_are_warned_of_once(answer, pictures, expected_text, run):
    ran = run(answer, pictures)
    warnings = [
        line for line in ran.stdout.splitlines() if re.match("warning: m, .* first 20", line)
    ]
    assert len(warnings) == (expected_text is not None)
    assert [text for text in expected_text or () if text not in warnings[0]] == [], warnings


@pytest.mark.parametrize(
    ("reply", "expected_text"),
    [
        (Reply(status=500, body=b"GPU on fire"), "HTTP 500: GPU on fire"),
        (Reply(status=418, body=b"teapot"), "HTTP 418: teapot"),
        (Reply(body=b"<html>Welcome</html>"), "<html>Welcome</html>"),
        (Reply("", finish_reason="network_error"), "broke off"),
    ],
    ids=["500", "418", "html", "broken-off"],
)
def test_a_server_that_answers_nothing_is_given_up_like_one_that_refuses_all(
    reply, expected_text, staged
):
    stage = staged(answer=lambda request: reply, pictures=13)
    ran = stage.run("--api-nproc", "1", "--retry", "0", "--data", L1)
    assert (ran.code, len(ran.requests)) == (1, 20), ran.output
    assert "the server answered none of the first 20 samples. The last one got: " in ran.stderr
    assert expected_text in ran.stderr
    stage.server.answer = lambda request: Reply("B.")
    again = stage.run("--api-nproc", "1", "--retry", "0", "--data", L1)
    assert (again.code, len(again.requests)) == (0, 39), again.output


def test_samples_that_failed_before_do_not_end_a_run_whose_server_has_answered(staged):
    answers = unless("hard", Reply(status=500, body=b"too large"), Reply("B."))
    stage = staged(answer=answers, pictures=66)
    arguments = ("--api-nproc", "1", "--retry", "0", "--data", L1, "--no-report")
    first, second = stage.run(*arguments), stage.run(*arguments)
    assert (len(first.requests), len(second.requests)) == (198, 66)
    assert "the server answered none" not in first.output + second.output


def test_samples_that_timed_out_before_do_not_end_the_next_run(staged):
    is_over = threading.Event()

    def answer(request):
        if "easy" not in request.text:
            is_over.wait(60)
        return Reply("B.")

    stage = staged(answer=answer, pictures=6, kwargs={"timeout_s": 0.3})
    arguments = ("--api-nproc", "4", "--retry", "0", "--data", L1, "--no-report")
    first, second = stage.run(*arguments), stage.run(*arguments)
    is_over.set()
    assert (len(first.requests), len(second.requests)) == (18, 12), second.output
    assert "in a row" not in first.output + second.output
    assert "6 of 18 have a reply" in second.stdout


LOCAL_KEY = {"extra_body": {"max_new_tokens": 9}}


@pytest.mark.parametrize(
    ("replies", "generate_cfg", "warned"),
    [
        ([Reply("B.")], {}, []),
        (
            [Reply("?")],
            {},
            [
                f"warning: m, {L1}: 6 of 6 replies are unparsed, so the score says little about the model; "
                f"send the prompt that the model needs (custom_prompt), or write a parse function (docs/functions.md), and set data.{L1}.parse_function"
            ],
        ),
        ([Reply("?"), Reply("B.")], {}, []),
        *[
            (
                [Reply("B.", finish_reason="length")],
                settings,
                [
                    f"warning: m, {L1}: 6 of 6 replies were cut off at the token limit; raise generate_cfg.{key}"
                ],
            )
            for settings, key in (
                ({}, "max_tokens"),
                ({"max_completion_tokens": 9}, "max_completion_tokens"),
                (LOCAL_KEY, "extra_body.max_new_tokens"),
            )
        ],
    ],
)
def test_few_replies_that_say_nothing_are_warned_of_at_the_end(replies, generate_cfg, warned, run):
    def answer(request):
        return replies[int("hard" in request.text) % len(replies)]

    model = API | {"generate_cfg": generate_cfg}
    ran = run(answer, 2, model=model)
    assert [line for line in ran.stdout.splitlines() if line.startswith("warning")] == warned


def test_the_parse_function_sees_the_first_answers_in_file_order_and_in_one_thread(run):
    ran = run(
        nproc="8",
        parse_function="mymodel.parse",
        module="""
        import threading
        SEEN, THREADS = [], set()
        def parse(response, meta):
            SEEN.append(meta["index"])
            THREADS.add(threading.get_ident())
            if len(SEEN) == 20:
                print("order", SEEN)
            if len(SEEN) == 41:  # these and all 21 for the score
                print("threads", len(THREADS))
            return "B"
        """,
    )
    [order] = [line for line in ran.stdout.splitlines() if line.startswith("order")]
    numbers = json.loads(order.removeprefix("order "))
    assert numbers == sorted(numbers)
    assert "threads 1\n" in ran.stdout


def test_a_generate_method_that_fails_ten_times_in_a_row_stops_its_data_set(run):
    # Without a traceback, as on a device that lacks a kernel.
    ran = run(
        model={"imp_type": "custom", "model_path": "mymodel.Model"},
        module="""
        from utils.contracts import CallError
        class Model:
            def generate(self, message, *, dataset_name):
                print("generated")
                raise CallError("model", "no kernel image is available")
        """,
    )
    assert (ran.code, ran.stdout.count("generated")) == (1, 10), ran.output
    for expected_text in (
        f"{L1}: the generate function failed 10 times",
        "no kernel image is available",
    ):
        assert expected_text in ran.stderr


def test_failures_of_a_follow_up_function_with_successes_between_them_stop_nothing(staged):
    stage = staged(
        """
        def ask_again(line, responses):
            if line["index"] % 2:
                raise KeyError("label of this row")
        """,
        pictures=12,
    )
    stage.model["m"]["follow_up"] = {L2: "mymodel.ask_again"}
    arguments = ("--data", L2, "--no-report", "--api-nproc", "1")
    first = stage.run(*arguments)
    assert (len(first.requests), "in a row" in first.output) == (24, False), first.output
    assert "12 of 24 have a reply" in first.output
    again = stage.run(*arguments)  # each first reply is stored now
    assert (len(again.requests), "in a row" in again.output) == (0, False), again.output
