"""`--check --ping`, data sets with nothing to ask, and `--mode eval` on what there is."""

import json
import shutil

import pytest

from tests.support.mock_server import Reply
from tests.support.stage import API, L1, L2, right_answers

PING = ("--check", "--ping")


def no_answer(request):
    """Reasoning alone: stopped for L2, out of tokens for L1."""
    message = {"content": None, "reasoning_content": "hm" + 3000 * "!"}
    reason = "stop" if "Click" in request.text else "length"
    choice = {"index": 0, "message": message, "finish_reason": reason}
    return Reply(body=json.dumps({"object": "chat.completion", "choices": [choice]}).encode())


@pytest.mark.parametrize(
    ("answer", "code", "printed"),
    [
        (
            lambda request: Reply("(0.123456, 0.15)" if "Click" in request.text else "B"),
            0,
            ["  tokens: prompt 7, completion 3, total 10\n", "  read as: [0.1235, 0.15], verdict"],
        ),
        (
            right_answers,
            0,
            [
                "image: file 640x360, sent 640x360, seen by the model unknown",
                "read as: B, wanted: B, verdict: hit",
                "read as: [0.2, 0.15], verdict: hit",
            ],
        ),
        (
            lambda request: Reply(status=500, body=b"bad key k-123456"),
            2,
            ["ping: HTTP 500: bad key [secret]"],
        ),
        (
            lambda request: Reply(body=b"<html>"),
            2,
            [
                "the server's answer is not a chat completion (does the base URL end in /v1?): <html>\n"
            ],
        ),
        (
            no_answer,
            2,
            [
                "  reasoning: 'hm!!",
                "!… (",
                "  what came back: {",
                "the model used all its tokens before it answered; raise generate_cfg.max_tokens",
                "ping: the answer has no text (finish_reason 'stop')",
                "1 problem, 1 warning.\n",
            ],
        ),  # something was asked
    ],
    ids=["digits", "answered", "failed", "a web page", "reasoning without an answer"],
)
def test_a_ping_shows_what_came_back_and_how_it_is_read(answer, code, printed, staged):
    stage = staged(answer=answer)
    run = stage.evaluate({"m": API | {"model_path": "{url}?api_key=k-123456&model=mock"}}, *PING)
    assert (run.code, "Traceback" in run.output) == (code, False), run.output
    assert [text for text in printed if text not in run.output] == []
    assert code or len(stage.server.requests) == 2


@pytest.mark.parametrize(
    ("reply", "what_it_took"),
    [
        ("[64, 36, 192, 72]", "the default parser took the first corner of a box"),
        ("Step 3, 4: (64, 36)", "the default parser took the first two numbers"),
    ],
)
def test_a_ping_says_which_numbers_the_default_parser_took(stage, reply, what_it_took):
    stage.server.answer = lambda request: Reply(reply)
    run = stage.evaluate({"m": API}, *PING, data={L2: {"mode": "all"}})
    assert what_it_took in run.output, run.output


@pytest.mark.parametrize(
    ("reply", "function", "hints"),
    [
        (
            "(250, 150)",
            "parse_fractions",
            [
                "read as: [250.0, 150.0], verdict: miss",
                "the point lies outside the image (coordinates are fractions of the image)",
                "this one reply would hit if it were read as per mille. It may be chance: run with "
                f'--limit 20. If the coordinate audit names this frame, too, set data.{L2}.parse_function: "utils.coordinates.parse_per_mille"',
                "No problems, 1 warning.",
            ],
        ),
        (
            "(900, 900)",
            "parse_per_mille",
            [
                "verdict: miss\n  in pixels of the file (640x360): point 576, 324; wanted 64, 36 to "
                "192, 72; the numbers were taken as per mille\n",
                "\nNo problems. The one reply is a miss. One miss is normal.\n",
            ],
        ),
        (
            "(250, 150)",
            "parse_per_mille",
            [
                "verdict: hit\n  in pixels of the file (640x360): point 160, 54; wanted",
                "\n\nNo problems.\n",
            ],
        ),
        ("(250, 150)", "parse_pixels", ["point 250, 150;", "taken as pixels of the file\n"]),
        ("(0.2, 0.15)", "parse_fractions", ["point 128, 54;", "taken as fractions\n"]),
        ("(54, 128)", "parse_yx_pixels", ["point 128, 54;", "pixels of the file (y before x)\n"]),
    ],
)
def test_a_ping_names_the_frame_in_which_a_click_would_hit(stage, reply, function, hints):
    stage.server.answer = lambda request: Reply(reply)
    data = {L2: {"mode": "all", "parse_function": f"utils.coordinates.{function}"}}
    run = stage.evaluate({"m": API}, *PING, data=data)
    assert run.code == 0, run.output
    assert [hint for hint in hints if hint not in run.output] == []


@pytest.mark.parametrize(
    "entry",
    [{"recipe": "mai_ui"}, {"parse_function": {L2: "models.recipes.mai_ui.parse_point"}}],
    ids=["recipe", "model"],
)
def test_a_ping_advises_on_the_parse_function_of_the_model_where_it_has_one(stage, entry):
    stage.server.answer = lambda _: Reply('<answer>\n{"coordinate":[0.25,0.15]}\n</answer>')
    run = stage.evaluate({"m": API | entry}, *PING, data={L2: {"mode": "all"}})
    assert run.code == 0, run.output
    setting = f'set model."m".parse_function.{L2}: "utils.coordinates.parse_fractions"'
    assert f"{setting} in place of models.recipes.mai_ui.parse_point" in run.output
    assert f"data.{L2}.parse_function" not in run.output


def test_a_ping_reads_the_reply_with_the_sizes_and_limits_that_the_run_has(stage):
    stage.module(
        "def parse(response, meta):\n"
        "    print('meta', meta.get('sent_size'), meta.get('min_pixels'))\n"
    )
    model = API | {"kwargs": {"img_size": 320, "min_pixels": 1000}}
    data = {L2: {"mode": "all", "parse_function": "mymodel.parse"}}
    assert "meta [320, 180] 1000" in stage.evaluate({"m": model}, *PING, data=data).stdout


def test_a_ping_shows_what_a_postprocess_function_makes_of_the_reply(stage):
    stage.server.answer = lambda request: Reply("tap 64/36")
    stage.module(
        "def as_point(response, model, processor, **kwargs):\n"
        "    return response.replace('tap ', '').replace('/', ', ')\n"
    )
    model = API | {"postprocess_function": "mymodel.as_point"}
    printed = stage.evaluate({"m": model}, *PING, data={L2: {"mode": "all"}}).stdout
    assert "  reply: 'tap 64/36'\n  postprocessed: '64, 36'\n  read as: " in printed


def test_a_ping_names_functions_that_read_what_the_default_cannot(stage):
    stage.server.answer = lambda request: Reply('{"x": 900, "y": 900}')
    printed = stage.evaluate({"m": API}, *PING, data={L2: {"mode": "all"}}).output
    assert "could not be read by the default parser; ready-made functions that read it: " in printed
    assert "utils.coordinates.parse_" in printed and "--limit 20 shows which one fits" in printed


def test_a_ping_says_where_a_function_counts_in_a_unit_of_its_own(stage):
    stage.module("def parse(response, meta):\n    return 0.123, 0.456\n")
    data = {L2: {"mode": "all", "parse_function": "mymodel.parse"}}
    printed = stage.evaluate({"m": API}, *PING, data=data).stdout
    assert (
        "point 79, 164; wanted 64, 36 to 192, 72; the parse function has a unit of its own, or "
        "reads other numbers of the reply" in printed
    )


def test_a_ping_says_where_only_the_parse_function_finds_the_numbers(stage):
    stage.server.answer = lambda request: Reply("TAP%%r72c64%%")
    stage.module("def parse(response, meta):\n    return 0.1, 0.2\n")
    data = {L2: {"mode": "all", "parse_function": "mymodel.parse"}}
    printed = stage.evaluate({"m": API}, *PING, data=data).stdout
    assert "the unit is not known, because only the parse function finds the numbers" in printed


def test_a_ping_says_that_a_coordinate_above_1_counts_as_pixels(stage):
    stage.module("def parse(response, meta):\n    return 2.609, 1.4\n")
    data = {L2: {"mode": "all", "parse_function": "mymodel.parse"}}
    printed = stage.evaluate({"m": API}, *PING, data=data).stdout
    assert "mymodel.parse returned 2.609, 1.4: a coordinate above 1 counts as pixels" in printed


@pytest.mark.parametrize(
    ("kwargs", "seen"),
    [
        ({}, "seen by the model unknown\n"),
        (
            {"min_pixels": 3136, "max_pixels": 100000},
            "seen by the model 420x224 (by min_pixels and max_pixels of kwargs)\n",
        ),
    ],
)
def test_a_ping_knows_the_grid_that_the_audit_of_the_run_knows(stage, kwargs, seen):
    points = {L2: {"mode": "all"}}
    assert seen in stage.evaluate({"m": API | {"kwargs": kwargs}}, *PING, data=points).stdout


def test_a_ping_of_two_data_sets_says_how_many_replies_are_misses(stage):
    stage.server.answer = lambda request: Reply("(0.9, 0.9)" if "Click" in request.text else "B")
    printed = stage.evaluate({"m": API}, *PING).stdout
    assert "\nNo problems. 1 of 2 replies is a miss. One miss is normal.\n" in printed


def test_a_data_set_without_a_single_image_stops_the_run_and_spares_earlier_scores(stage):
    stage.evaluate({"m": API})
    before, request_count = stage.scores(L1), len(stage.server.requests)
    shutil.rmtree(stage.annotations / "offline_images")
    run = stage.evaluate({"m": API})
    assert (run.code, "IMAGE_ROOT_DIR" in run.stderr) == (2, True)
    assert f"{L1}: none of its samples can be used" in run.stderr
    assert "2 problems. Nothing was run." in run.stderr  # one for each data set
    assert (stage.scores(L1), len(stage.server.requests)) == (before, request_count)


def test_problems_of_several_data_sets_are_counted_together(stage):
    ran = stage.run("--mode", "eval")
    assert ran.stderr.count("no log under") == 2
    assert ran.stderr.rstrip().endswith("2 problems.") and "1 problem" not in ran.output


@pytest.mark.parametrize(
    ("changes", "expected_text"),
    [
        ({}, None),
        ({"generate_cfg": {"max_tokens": 16, "temperature": 1}}, "generate_cfg.temperature"),
        ({"model_path": API["model_path"].replace("=mock", "=other")}, "model_path"),
        ({"model_path": "http://127.0.0.1:1/v1?api_key=test-key-123456&model=mock"}, "model_path"),
        ({"kwargs": {"system_prompt": "Be brief."}}, "kwargs.system_prompt, prompt"),
        ({"custom_prompt": {L2: "mymodel.ask"}}, "prompt"),
        ({"kwargs": {"timeout_s": 5}}, None),
    ],
)
def test_scoring_says_so_where_the_log_was_asked_otherwise(stage, changes, expected_text):
    stage.module(
        "def ask(line, dataset):\n"
        "    return [{'role': 'user', 'type': 'image', 'value': line['image_path']}]\n"
    )
    data = {L2: {"mode": "all"}}
    model = API | {"model_path": API["model_path"].replace("key-123456", "key-654321")}
    assert stage.evaluate({"m": model}, "--no-report", data=data).code == 0
    ran = stage.evaluate({"m": API | changes}, "--mode", "eval", "--no-report", data=data)
    lines = [
        line
        for line in ran.output.splitlines()
        if "the stored answers were made with other" in line
    ]
    assert ran.code == 0 and len(lines) == (expected_text is not None), ran.output
    assert expected_text is None or f"than this config has ({expected_text})" in lines[0]


def test_scoring_a_mode_without_a_sample_in_the_newest_run_says_so(stage):
    stage.data = {L2: {"mode": "all"}}
    assert stage.run("--limit", "1").code == 0
    [answer] = stage.answers(L2)
    [other] = {"basic", "advanced"} - {answer["line"]["grounding_type"]}
    stage.data = {L2: {"mode": other}}
    scored = stage.run("--mode", "eval")
    assert scored.code == 1
    problem = f"nothing to score: the newest run has 1 sample, none of mode {other}. "
    assert f'model "m", {L2}: {problem}' in scored.stderr


@pytest.mark.parametrize(
    "entry",
    [
        {"model_path": "${ENDPOINT}"},
        {"model_path": "${ENDPOINT}", "imp_type": "openai"},
        {"model_path": "${ADDRESS}?model=mock&api_key=${API_KEY}"},
        {"model_path": ["${ENDPOINT}", "${ADDRESS}?model=mock"]},
    ],
)
def test_answers_of_an_endpoint_are_scored_where_its_address_is_not_set(entry, stage):
    url = stage.server.url
    variables = {"ENDPOINT": f"{url}?model=mock", "ADDRESS": url, "API_KEY": "test-key-123456"}
    if isinstance(entry["model_path"], list):
        variables["ADDRESS"] = url.replace("127.0.0.1", "localhost")
    stage.model, stage.data = {"m": entry}, {L2: {"mode": "all"}}
    assert stage.run("--no-report", env=variables).code == 0
    before = stage.scores(L2)
    scored = stage.run("--mode", "eval", "--no-report")
    assert (scored.code, "other settings" in scored.output) == (0, False), scored.output
    assert stage.scores(L2) == before


def test_the_address_of_a_judge_is_wanted_where_its_readings_are_scored(stage):
    judge = {"model_path": "${JUDGE_ADDRESS}?model=reader"}
    stage.data = {L1: {"match_mode": "judge", "judge": judge}}
    scored = stage.run("--mode", "eval")
    assert scored.code == 2
    assert f"data.{L1}.judge.model_path: ${{JUDGE_ADDRESS}} stands for an" in scored.stderr
    assert "1 problem." in scored.stderr
