"""`--check --ping`, data sets with nothing to ask, and `--mode eval` on what there is."""

from __future__ import annotations

import json
import shutil

import pytest

from tests.support.mock_server import MockServer, Reply
from tests.support.runs import api_model, evaluate, make_data, run_folder, write_config

L1, L2 = "GUIContentUnderstanding", "GUIElementGrounding"


def answer(request):
    return Reply("(0.2, 0.15)" if "Click" in request.text else "B.")


@pytest.fixture
def data(tmp_path):
    return {"LMUData": str(make_data(tmp_path / "data"))}


def test_a_ping_shows_what_went_out_what_came_back_and_how_it_is_read(tmp_path, data):
    with MockServer(answer) as server:
        config = write_config(tmp_path / "c.json", model={"m": api_model(server.url)})
        run = evaluate("--config", config, "--check", "--ping", cwd=tmp_path, env=data)

    assert (run.code, len(server.requests)) == (0, 2)
    assert "image: file 640x360, sent 640x360, seen by the model unknown" in run.stdout
    assert "read as: B, wanted: B, verdict: hit" in run.stdout
    assert "read as: [0.2, 0.15], wanted: [0.1, 0.1, 0.3, 0.2], verdict: hit" in run.stdout


def test_a_ping_reads_the_reply_with_the_sizes_and_limits_that_the_run_has(tmp_path, data):
    (tmp_path / "mine.py").write_text(
        "def parse(response, meta):\n"
        "    print('meta', meta.get('sent_size'), meta.get('min_pixels'))\n"
        "    return None\n"
    )
    kwargs = {"img_size": 320, "min_pixels": 1000}
    with MockServer(answer) as server:
        config = write_config(
            tmp_path / "c.json", model={"m": api_model(server.url, kwargs=kwargs)},
            data={L2: {"mode": "all", "parse_function": "mine.parse"}},
        )  # fmt: skip
        run = evaluate("--config", config, "--check", "--ping", cwd=tmp_path,
                       env=data | {"PYTHONPATH": str(tmp_path)})  # fmt: skip

    assert "meta [320, 180] 1000" in run.stdout


def test_a_ping_that_fails_is_a_problem_not_a_traceback(tmp_path, data):
    with MockServer(lambda request: Reply(status=500, body=b"broken")) as server:
        config = write_config(tmp_path / "c.json", model={"m": api_model(server.url)})
        run = evaluate("--config", config, "--check", "--ping", cwd=tmp_path, env=data)

    assert run.code == 2
    assert "ping: HTTP 500: broken" in run.stderr
    assert "Traceback" not in run.output


def test_a_ping_shows_the_reasoning_and_what_is_wrong_with_no_answer(tmp_path, data):
    def completion(finish_reason):
        message = {"content": None, "reasoning_content": "hm" + 3000 * "!"}
        choice = {"index": 0, "message": message, "finish_reason": finish_reason}
        return json.dumps({"object": "chat.completion", "choices": [choice]}).encode()

    def answer(request):
        return Reply(body=completion("stop" if "Click" in request.text else "length"))

    with MockServer(answer) as server:
        config = write_config(tmp_path / "c.json", model={"m": api_model(server.url)})
        run = evaluate("--config", config, "--check", "--ping", cwd=tmp_path, env=data)

    assert "  reasoning: 'hm!!" in run.stdout
    assert "!… (" in run.stdout
    assert "the model used all its tokens before it answered; raise max_tokens" in run.stdout
    assert "  what came back: {" in run.stdout
    assert "ping: the answer has no text (finish_reason 'stop')" in run.stderr
    assert run.code == 2
    assert run.stderr.rstrip().endswith("1 problem.")  # something was asked


def test_a_ping_hides_a_common_key_in_what_the_server_says(tmp_path, data):
    with MockServer(lambda request: Reply(status=500, body=b"bad key local")) as server:
        model = api_model(server.url, key="local")
        config = write_config(tmp_path / "c.json", model={"m": model})
        run = evaluate("--config", config, "--check", "--ping", cwd=tmp_path, env=data)

    assert "ping: HTTP 500: bad key [secret]" in run.stderr


def test_check_counts_what_fresh_would_ask(tmp_path, data):
    with MockServer(answer) as server:
        config = write_config(tmp_path / "c.json", model={"m": api_model(server.url)})
        arguments = ("--config", config, "--work-dir", tmp_path / "out")
        evaluate(*arguments, "--no-report", cwd=tmp_path, env=data)
        run = evaluate(*arguments, "--check", "--fresh", cwd=tmp_path, env=data)

    assert "9 requests to send (9 --fresh, " in run.stdout


def test_a_data_set_without_a_single_picture_stops_the_run_and_spares_earlier_scores(
    tmp_path, data
):
    with MockServer(answer) as server:
        config = write_config(tmp_path / "c.json", model={"m": api_model(server.url)})
        arguments = ("--config", config, "--work-dir", tmp_path / "out")
        evaluate(*arguments, cwd=tmp_path, env=data)
        scores = run_folder(tmp_path / "out", "m") / f"m_{L1}_scores.json"
        before = scores.read_bytes()
        shutil.rmtree(tmp_path / "data" / "MMBench-GUI" / "offline_images")
        asked = len(server.requests)

        run = evaluate(*arguments, cwd=tmp_path, env=data)

    assert run.code == 2
    assert f"{L1}: none of its samples can be used" in run.stderr
    assert "IMAGE_ROOT_DIR" in run.stderr
    assert (scores.read_bytes(), len(server.requests)) == (before, asked)


def test_scores_of_one_mode_do_not_pass_for_those_of_all(tmp_path, data):
    easy, everything = {L1: {"mode": "easy"}}, {L1: {"mode": "all"}}
    with MockServer(answer) as server:
        model = {"m": api_model(server.url)}
        config = write_config(tmp_path / "c.json", model=model, data=easy)
        evaluate("--config", config, "--work-dir", tmp_path / "out", cwd=tmp_path, env=data)

        write_config(config, model=model, data=everything)
        run = evaluate("--config", config, "--work-dir", tmp_path / "out", "--mode", "eval",
                       cwd=tmp_path, env=data)  # fmt: skip

    assert "(partial)" in run.stdout
    folder = run_folder(tmp_path / "out", "m")
    partial = json.loads((folder / f"m_{L1}_scores_partial.json").read_text())
    assert list(partial) == ["easy", "total_sample_num"]


def test_a_log_can_be_scored_by_somebody_without_the_key(tmp_path, data):
    with MockServer(answer) as server:
        entry = api_model(server.url, key="${SOME_KEY}")
        config = write_config(tmp_path / "c.json", model={"m": entry})
        arguments = ("--config", config, "--work-dir", tmp_path / "out")
        evaluate(*arguments, cwd=tmp_path, env=data | {"SOME_KEY": "abcdef-123456"})

        run = evaluate(*arguments, "--mode", "eval", cwd=tmp_path)

    assert run.code == 0, run.output
    assert run.stdout.count("100.00") > 10


def test_a_sample_that_always_gets_a_503_fails_alone(tmp_path, data):
    def one_poisoned(request):
        if "Click basic target 0" in request.text:
            return Reply(status=503, body=b"worker died", headers={"retry-after": "0"})
        return answer(request)

    with MockServer(one_poisoned) as server:
        config = write_config(
            tmp_path / "c.json", model={"m": api_model(server.url)}, data={L2: {"mode": "all"}}
        )
        run = evaluate("--config", config, "--work-dir", tmp_path / "out", "--retry", "1",
                       "--outage", "2", "--api-nproc", "2", cwd=tmp_path, env=data)  # fmt: skip

    assert run.code == 1
    assert "5 of 6 answered" in run.stdout
    assert "1 x http: HTTP 503" in run.stdout
