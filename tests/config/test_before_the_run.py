"""What is said before the first request is sent: exit code, message, number of requests."""

import json
from importlib.util import find_spec

import pytest

from tests.support.mock_server import MockServer, Reply
from tests.support.stage import L1, L2, Stage

WRONG_KEY = "a-key-that-nobody-knows"
FUNCTIONS = """
def hello(line, dataset): return [{"role": "user", "type": "text", "value": "hello"}]
def text(line, dataset): return f"Click {line['index']}"
def missing(line, dataset): return line["no_such_column"]
def nothing(messages, model, processor, **kwargs): return None
def number(outputs, model, processor, **kwargs): return 5
def word(response, meta): return "left"
def forgot(response, meta): return re.findall("x", response)
def never(response, meta): return None
def strict(response, meta): return [float(each) for each in response.split(",")]
class Silent:
    def generate(self, message, *, dataset_name, **generate_cfg): return None
"""


@pytest.fixture(scope="module")
def server():
    def reply(request):
        if WRONG_KEY in request.headers["authorization"]:
            return Reply(status=401, body=b'{"error": {"message": "no"}}')
        return Reply("0.2, 0.1")

    with MockServer(reply) as running:
        yield running


@pytest.fixture
def stage(server, tmp_path):
    new_stage = Stage.make(tmp_path, server)
    new_stage.module(FUNCTIONS, "mine")
    return new_stage


CHECK, PING = ("--check",), ("--check", "--ping", "--data", "L2")


@pytest.mark.parametrize(
    ("entry", "data", "arguments", "code", "says", "requests"),
    [
        pytest.param({}, {}, CHECK, 0, "No problems. No request was sent.", 0, id="nothing"),
        pytest.param(
            {"custom_prompt": {L2: "mine.hello"}},
            {},
            CHECK,
            0,
            "No problems, 1 warning. No request was sent.",
            0,
            id="warnings are counted",
        ),
        pytest.param(
            {"custom_prompt": {L2: "mine.hello"}},
            {},
            CHECK,
            0,
            f"warning: {L2}: 6 samples, the first index 0 on os_windows/pic0.png: the prompt has no image",
            0,
            id="a prompt without an image",
        ),
        pytest.param(
            {"custom_prompt": {L2: "mine.hello"}},
            {},
            ("--data", "L2"),
            0,
            f"warning: m, {L2}: the prompt has no image",
            6,
            id="the same in a run",
        ),
        pytest.param(
            {"model_path": "URL/chat/completions?api_key=k&model=mock"},
            {},
            PING,
            0,
            "/chat/completions at the end of the URL is left out",
            1,
            id="a path too long",
        ),
        pytest.param(
            {"model_path": "URL?api_key=k"},
            {},
            (),
            2,
            "names no model; add model=...",
            0,
            id="no model",
        ),
        pytest.param(
            {"model_path": "URL?api_key=k", "generate_cfg": {"max_tokns": 5}},
            {},
            (),
            2,
            'did you mean "max_tokens"?',
            0,
            id="a parameter's typo beside a missing model",
        ),
        pytest.param(
            {"custom_prompt": {L2: "mine.text"}},
            {},
            CHECK,
            2,
            f"{L2}: 6 samples, the first index 0 on os_windows/pic0.png: prompt function returned 'Click 0'",
            0,
            id="what a prompt function returns",
        ),
        pytest.param(
            {"custom_prompt": {L2: "mine.missing"}},
            {},
            CHECK,
            2,
            "prompt function raised KeyError: 'no_such_column' (mine.py, line 4)",
            0,
            id="what it raises",
        ),
        pytest.param(
            {"preprocess_function": "mine.nothing"},
            {},
            CHECK,
            2,
            f"{L1}, {L2}: 15 samples, the first index 0 on os_windows/pic0.png: preprocess function "
            "returned None; expected a list of chat messages",
            0,
            id="what a preprocess function returns",
        ),
        pytest.param(
            {"postprocess_function": "mine.number"},
            {},
            PING,
            2,
            "postprocess function returned int; expected the reply as text",
            1,
            id="what a postprocess does",
        ),
        pytest.param(
            {},
            {"parse_function": "mine.word"},
            PING,
            2,
            "parse function returned 'left'; expected (x, y) or None",
            1,
            id="what a parse function does",
        ),
        pytest.param(
            {},
            {"parse_function": "mine.word"},
            CHECK,
            2,
            f"{L2}: parse function returned 'left'; expected (x, y) or None for the made-up reply 'A'",
            0,
            id="what it does whatever the reply",
        ),
        pytest.param(
            {},
            {"parse_function": "mine.forgot"},
            CHECK,
            2,
            "parse function raised NameError: name 're' is not defined (mine.py, line 8)",
            0,
            id="an import",
        ),
        pytest.param(
            {"parse_function": {L2: "mine.forgot"}},
            {},
            CHECK,
            2,
            "parse function raised NameError",
            0,
            id="an import of a model's own",
        ),
        pytest.param(
            {"parse_function": {"L2": "mine.strict"}},
            {},
            CHECK,
            2,
            'model."m".parse_function.L2: unknown data set; L2 is "GUIElementGrounding"',
            0,
            id="for an unknown data set",
        ),
        pytest.param(
            {},
            {"parse_function": "mine.strict"},
            CHECK,
            0,
            "No problems, 1 warning.",
            0,
            id="another form",
        ),
        pytest.param(
            {"model_path": "http://127.0.0.1:9/v1?api_key=k&model=mock"},
            {},
            PING,
            2,
            ". Is the server running, and is the base URL right?",
            0,
            id="a server that is not there",
        ),
        pytest.param(
            {"parse_function": {L2: "mine.never"}},
            {},
            PING,
            0,
            f"warning: {L2}: ping: the reply could not be read by mine.never; this one reply would hit if it were read as fractions",
            1,
            id="a reply that is not read",
        ),
        pytest.param(
            {"model_path": "mine.Silent", "imp_type": "custom", "generate_cfg": {}},
            {},
            PING,
            2,
            "generate returned NoneType; expected str",
            0,
            id="what a class generates",
        ),
        pytest.param(
            {}, {}, ("--check", "--data", "L1"), 0, f"{L1}: 9 samples", 0, id="a level's short name"
        ),
        pytest.param(
            {"model_path": f"URL?api_key={WRONG_KEY}&model=mock"},
            {},
            PING,
            2,
            'HTTP 401: {"error": {"message": "no"}} - the key is api_key in model_path',
            1,
            id="its own key",
        ),
        pytest.param(
            {"model_path": "URL?api_key=${MY_KEY}&model=mock"},
            {},
            PING,
            2,
            "the key is api_key in model_path, the value of $MY_KEY (environment or .env)",
            1,
            id="a variable's",
        ),
    ],
)
def test_what_is_said_before_a_run(stage, server, entry, data, arguments, code, says, requests):
    stage.model["m"] |= {
        key: value.replace("URL", server.url) if key == "model_path" else value
        for key, value in entry.items()
    }
    stage.data[L2] |= data
    ran = stage.run(*arguments, "--no-report", env={"MY_KEY": WRONG_KEY})
    assert (ran.code, len(ran.requests)) == (code, requests), ran.output
    assert says in ran.output
    assert WRONG_KEY not in ran.output
    assert code != 2 or "1 problem" in ran.output or "2 problems" in ran.output


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            ("--config", "config.jsn", "--model", "m"),
            "config.jsn: there is no such file; did you mean",
        ),
        (("--config", "config.json", "--compare=a"), "Nothing was compared."),
        (
            CHECK,
            'holds results of model "a/b"; rename "a_b-c14cddc0" or use another --work-dir\n'
            "1 problem. Nothing was run.",
        ),
    ],
)
def test_a_command_that_asks_for_the_impossible_ends_in_one_message(stage, arguments, says):
    stage.model = {"a/b": stage.model["m"]}
    assert stage.run("--limit", "1", "--no-report").code == 0
    stage.model = {"a_b-c14cddc0": stage.model["a/b"]}
    ran = stage.run(*arguments)
    assert (ran.code, ran.requests) == (2, []), ran.output
    assert says in ran.output and "has none" not in ran.output


def test_the_first_sample_of_a_data_set_is_tried(stage):
    [request] = stage.run(*PING).requests
    assert request.text.endswith("Click basic target 0.")


def test_one_mistake_is_one_problem(stage):
    stage.model["m"]["custom_prompt"] = {L1: "mine.text", L2: "mine.text"}
    ran = stage.run("--check")
    assert (ran.code, ran.output.count("prompt function returned")) == (2, 1), ran.output
    assert f"{L1}, {L2}: 15 samples" in ran.output
    assert "1 problem. Nothing was run." in ran.output


NO_TORCH = find_spec("torch") is None
TYPO = 'model."m".generate_cfg.max_new_token: generate has no such argument; did you mean "max_new_tokens"?'


@pytest.mark.skipif(NO_TORCH, reason="needs what local models need")
@pytest.mark.parametrize("arguments", [CHECK, (*CHECK, "--ping"), ("--no-report",)])
def test_weights_that_are_cut_off_are_not_loaded(stage, arguments):
    header = json.dumps({"x": {"dtype": "F32", "shape": [9], "data_offsets": [0, 36]}}).encode()
    weights = len(header).to_bytes(8, "little") + header + bytes(36)
    folder = stage.home / "checkpoint"
    folder.mkdir()
    (folder / "config.json").write_text('{"model_type": "qwen2_vl"}')
    (folder / "model.safetensors").write_bytes(weights[:-20])
    stage.model = {"m": {"imp_type": "transformers", "model_path": str(folder)}}
    ran = stage.run(*arguments)
    assert f"{folder}/model.safetensors: Error while deserializing header: " in ran.output
    assert "; download it again\n1 problem. Nothing was run." in ran.output
    assert (ran.code, ran.requests, "loading" in ran.output) == (2, [], False)


@pytest.mark.skipif(NO_TORCH, reason="needs what local models need")
@pytest.mark.parametrize(
    ("path", "says"),
    [
        ({}, 'model."m".model_path: is missing'),
        ({"model_path": "nowhere/at/all"}, 'model."m": nowhere/at/all: no such folder'),
    ],
)
def test_a_checkpoint_that_is_not_there_hides_no_typo(stage, path, says):
    stage.model = {"m": {"imp_type": "transformers", "generate_cfg": {"max_new_token": 5}, **path}}
    ran = stage.run("--check")
    assert (ran.code, ran.requests) == (2, [])
    assert all(
        expected_text in ran.output
        for expected_text in (TYPO, says, "2 problems. Nothing was run.")
    )
