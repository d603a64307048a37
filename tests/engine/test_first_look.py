"""The warning after the first answers."""

from __future__ import annotations

import json

import pytest

from tests.support.mock_server import MockServer, Reply
from tests.support.runs import api_model, evaluate, make_data, write_config

L1_ONLY = {"GUIContentUnderstanding": {"mode": "all"}}
SEVEN_PICTURES = [("os_web", (64, 48))] * 7  # 21 questions


def warnings_of(tmp_path, answer, pictures=SEVEN_PICTURES):
    data = make_data(tmp_path / "data", pictures)
    with MockServer(answer) as server:
        config = write_config(tmp_path / "c.json", model={"m": api_model(server.url)}, data=L1_ONLY)
        run = evaluate("--config", config, "--work-dir", tmp_path / "out", "--api-nproc", "1",
                       cwd=tmp_path, env={"LMUData": str(data)})  # fmt: skip
    return [line for line in run.stdout.splitlines() if line.startswith("warning")]


def test_answers_that_cannot_be_read_are_warned_of_with_one_of_them(tmp_path):
    def answer(request):
        return Reply("B." if "Question 0 easy" in request.text else "?")

    [warning] = warnings_of(tmp_path, answer)

    assert "m, GUIContentUnderstanding: 19 of the first 20 answers could not be read" in warning
    assert warning.endswith("one of them: '?'")


def test_answers_that_are_all_cut_off_are_warned_of(tmp_path):
    [warning] = warnings_of(tmp_path, lambda request: Reply("B.", finish_reason="length"))

    assert "all of the first 20 answers were cut off at the token limit" in warning


def test_answers_that_are_all_thoughts_are_warned_of_once(tmp_path):
    message = {"content": None, "reasoning_content": "Let me see"}
    choice = {"index": 0, "message": message, "finish_reason": "length"}
    body = json.dumps({"object": "chat.completion", "choices": [choice]}).encode()

    [warning] = warnings_of(tmp_path, lambda request: Reply(body=body))

    assert "all of the first 20 answers are empty: the model used all its tokens" in warning
    assert "raise max_tokens" in warning


def test_samples_that_all_fail_alike_are_warned_of(tmp_path):
    [warning] = warnings_of(tmp_path, lambda request: Reply(status=418, body=b"teapot"))

    assert "none of the first 20 samples has an answer, all failed alike" in warning
    assert "teapot" in warning


@pytest.mark.parametrize("odd_one", [Reply("B."), Reply(status=410)])
def test_samples_that_fail_in_several_ways_are_not(tmp_path, odd_one):
    def answer(request):
        return odd_one if "Question 3 hard" in request.text else Reply(status=418)

    assert warnings_of(tmp_path, answer) == []


@pytest.mark.parametrize("pictures", [SEVEN_PICTURES, SEVEN_PICTURES[:2]])
def test_readable_answers_and_small_data_sets_are_not_warned_of(tmp_path, pictures):
    text = "B." if len(pictures) == 7 else "?"

    assert warnings_of(tmp_path, lambda request: Reply(text), pictures) == []


def test_the_parse_function_sees_the_first_answers_in_file_order(tmp_path):
    (tmp_path / "mine.py").write_text(
        "SEEN = []\n"
        "def parse(response, meta):\n"
        "    SEEN.append(meta['index'])\n"
        "    print('order', SEEN) if len(SEEN) == 20 else None\n"
        "    return 'B'\n"
    )
    data = make_data(tmp_path / "data", SEVEN_PICTURES)
    with MockServer(lambda request: Reply("B.")) as server:
        config = write_config(
            tmp_path / "c.json", model={"m": api_model(server.url)},
            data={"GUIContentUnderstanding": {"mode": "all", "parse_function": "mine.parse"}},
        )  # fmt: skip
        run = evaluate("--config", config, "--work-dir", tmp_path / "out", "--api-nproc", "8",
                       cwd=tmp_path,
                       env={"LMUData": str(data), "PYTHONPATH": str(tmp_path)})  # fmt: skip

    [order] = [line for line in run.stdout.splitlines() if line.startswith("order")]
    numbers = json.loads(order.removeprefix("order "))
    assert numbers == sorted(numbers)
