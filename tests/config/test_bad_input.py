"""Bad input ends before the first model call: exit code 2, one clear line each, nothing written."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from tests.support.mock_server import MockServer
from tests.support.runs import PICTURES
from tests.support.stage import API, BOTH, L1, L2, Stage, right_answers
from utils.runs.folder import safe_name

NOWHERE = "/nowhere/at/all"
FUNCTIONS = """
    NUMBER = 3

    def parse(response, meta): return None
    def parse_of_three(response, meta, box): return None
    def prompt(line, dataset): return None
    def prompt_of_one(line): return None
    def preprocess(message, model, processor, **kwargs): return []
    def preprocess_without_kwargs(message, model, processor): return []
    def postprocess_of_one(response): return response
    async def awaited(response, meta): return None

    class Model:
        def generate(self, message, *, dataset_name, **generate_cfg):
            open("asked", "w").close()
            return "B"

    class Mute:
        pass
"""


@pytest.fixture
def stage(tmp_path):
    with MockServer(right_answers) as server:
        made = Stage.make(tmp_path, server, PICTURES[:1])
        made.module(FUNCTIONS)
        yield made


def assert_refused(result, stage, *fragments, problems=1):
    output = result.output
    assert "Traceback" not in output
    for fragment in fragments:
        assert fragment in result.stderr, output
    if problems is not None:
        count = f"{problems} problem{'' if problems == 1 else 's'}. Nothing was run."
        assert result.stderr.rstrip().endswith(count), output
    assert result.code == 2, output
    assert stage.server.requests == []
    assert not (stage.home / "asked").exists()
    assert not stage.work_dir.exists() or stage.written() == []


IN_PROCESS = {"imp_type": "custom", "model_path": "mymodel.Model"}
"""A model that spares a run the import of the API client; it leaves a file `asked`."""


def with_model(**changes):
    return {"model": {"m": {**API, **changes}}, "data": BOTH}


def with_data(**data):
    return {"model": {"m": API}, "data": data}


def parsed_by(dotted):
    return {"model": {"m": IN_PROCESS}, "data": {L1: {"mode": "all", "parse_function": dotted}}}


# -- the config file ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "beside", "fragments"),
    [
        ("run.json", None, ["run.json: there is no such file"]),
        ("run.jsn", "run.json", ["run.jsn", "run.json"]),
        (
            "nofolder/run.json",
            None,
            ["nofolder/run.json: there is no such file", "folder nofolder"],
        ),
        ("run.py", "run.json", ["run.py: config files are JSON", "use --config run.json"]),
        ("mine", None, ["mine: is a folder, not a file"]),
    ],
)
def test_a_config_that_is_not_there_is_named_with_what_was_meant(given, beside, fragments, stage):
    if beside:
        (stage.home / beside).write_text(json.dumps(with_model()))
    assert_refused(stage.run("--config", given, "--work-dir", stage.work_dir), stage, *fragments)


@pytest.mark.parametrize(
    ("text", "fragments"),
    [
        ('{\n  "model": {\n  "data": {}\n}', ["config.json: line 4, column 2:", "not closed"]),
        ('{\n  "model": {}\n  "data": {}\n}', ["config.json: line 3, column 3:", "comma"]),
        ('{"model": {"m": {"kwargs": {"a": True}}}}', ["config.json: line 1, column 34:", "true"]),
        ("", ["config.json: line 1, column 1:", "empty"]),
    ],
)
def test_broken_json_is_reported_with_line_and_column(text, fragments, stage):
    stage.config(text)
    result = stage.run("--config", "config.json", "--work-dir", stage.work_dir)
    assert_refused(result, stage, *fragments)


@pytest.mark.parametrize(
    ("config", "fragments"),
    [
        pytest.param(
            with_model(postproces_function="mymodel.parse"),
            ['config.json: model."m".postproces_function: unknown key', 'mean "postprocess_function"'],
            id="unknown key",
        ),
        pytest.param(
            {**with_model(), "modle": {}},
            ["config.json: modle: unknown key", 'mean "model"'],
            id="unknown section",
        ),
        pytest.param(
            with_model(kwargs={"system_propmt": "model_default"}),
            ['config.json: model."m".kwargs.system_propmt: unknown key', 'mean "system_prompt"'],
            id="misspelt system_prompt",
        ),
        pytest.param(
            with_data(GUIElementGroundig={"mode": "all"}),
            ["config.json: data.GUIElementGroundig: unknown data set", f'mean "{L2}"'],
            id="misspelt data set",
        ),
        pytest.param(
            with_data(ScreenSpot={"mode": "all"}),
            ["config.json: data.ScreenSpot: unknown data set", f'known are "{L1}", "{L2}"'],
            id="unknown data set",
        ),
        pytest.param(
            with_data(GUITaskAutomation={"mode": "all"}),
            ["config.json: data.GUITaskAutomation: L3", "yet", f"Available: {L1}"],
            id="planned data set L3",
        ),
        pytest.param(
            with_data(GUITaskCollaboration={"mode": "all"}),
            ["config.json: data.GUITaskCollaboration: L4", "yet", f"Available: {L1}"],
            id="planned data set L4",
        ),
        pytest.param(
            with_data(**{L1: {"mode": "basic"}}),
            [f'config.json: data.{L1}.mode: unknown mode "basic"', '"all", "easy", "medium", "hard"'],
            id="unknown mode",
        ),
        pytest.param(
            with_model(model_path="{url}?api_key=${OPENAI_API_KEY}&model=mock"),
            ['config.json: model."m".model_path: ${OPENAI_API_KEY}', "environment variable", ".env"],
            id="unset key",
        ),
        pytest.param(
            with_model(model_path="127.0.0.1:8000/v1?api_key=k&model=mock"),
            ['config.json: model."m".model_path: must begin with http:// or https://', "base_url?api_key"],
            id="endpoint without scheme",
        ),
        pytest.param(
            with_model(model_path="http://127.0.0.1:eight/v1?api_key=k&model=mock"),
            ['config.json: model."m".model_path: is not a valid URL', "port"],
            id="endpoint with a malformed port",
        ),
        pytest.param(
            with_model(model_path="http://?api_key=k&model=mock"),
            ['config.json: model."m".model_path: is not a valid URL', "host"],
            id="endpoint without host",
        ),
        pytest.param(
            with_model(model_path="{url}?api_key=your-api-key=gpt-4o"),
            ['config.json: model."m".model_path: has a second "="', '"&model" is missing'],
            id="the typing error of the documentation",
        ),
        pytest.param(
            with_model(generate_cfg={"max_new_tokens": 16}),
            ['config.json: model."m".generate_cfg.max_new_tokens:', '"max_tokens"'],
            id="max_new_tokens for an API model",
        ),
        pytest.param(
            with_model(generate_cfg={"max_tokens": 16, "stream": True}),
            ['config.json: model."m".generate_cfg.stream:', "not streamed"],
            id="stream",
        ),
        pytest.param(
            with_model(generate_cfg={"repetition_penalty": 1.1}),
            ['config.json: model."m".generate_cfg.repetition_penalty:', '"extra_body"'],
            id="server extra beside extra_body",
        ),
    ],
)  # fmt: skip
def test_a_wrong_config_is_refused_with_key_path_and_cure(config, fragments, stage):
    stage.config(config)
    # Set and empty, so that a developer's own .env does not set it.
    result = stage.run(
        "--config", "config.json", "--work-dir", stage.work_dir, env={"OPENAI_API_KEY": ""}
    )
    assert_refused(result, stage, *fragments)


def test_the_secret_part_of_a_wrong_endpoint_is_not_quoted(stage):
    result = stage.evaluate({"m": {**API, "model_path": "{url}?api_key=your-own-key=gpt-4o"}})
    assert_refused(result, stage, "api_key")
    assert "your-own-key" not in result.output


# -- functions ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dotted", "fragments"),
    [
        ("parse", ['"parse" has no dot', "models.local_uitars.build_custom_prompt"]),
        ("mine/mymodel.py", ['"mine/mymodel.py" looks like a file', "dotted path"]),
        ("mymodle.parse", ['no module "mymodle"']),
        ("models.local_uitar.parse", ['no module "models.local_uitar"', 'mean "local_uitars"']),
        ("mymodel.parze", ['mymodel has no "parze"', '"parse"']),
        ("mymodel.NUMBER", ['"mymodel.NUMBER" cannot be called', "int"]),
        (
            "models.local_uitars",
            ['"models.local_uitars" is a module', "add the name of a function"],
        ),
        ("mymodel.Model", ["mymodel.Model is a class"]),
        ("mymodel.awaited", ["async"]),
        (
            "mymodel.parse_of_three",
            ["called as f(response, meta)", "defined as (response, meta, box)", "'box'"],
        ),
    ],
)
def test_a_dotted_path_that_leads_nowhere_says_which_part_is_wrong(dotted, fragments, stage):
    stage.config(parsed_by(dotted))
    result = stage.run("--config", "config.json", "--work-dir", stage.work_dir)
    assert_refused(result, stage, f"config.json: data.{L1}.parse_function: ", *fragments)


@pytest.mark.parametrize(
    ("entry", "key", "fragments"),
    [
        (
            {"custom_prompt": {L2: "mymodel.prompt_of_one"}},
            f"custom_prompt.{L2}",
            ["called as f(line, dataset)", "defined as (line)"],
        ),
        (
            {"preprocess_function": "mymodel.preprocess_without_kwargs"},
            "preprocess_function",
            ["called as f(message, model, processor, **kwargs)", "add **kwargs"],
        ),
        (
            {"postprocess_function": "mymodel.postprocess_of_one"},
            "postprocess_function",
            ["called as f(outputs, model, processor, **kwargs)", "defined as (response)"],
        ),
        (
            {"imp_type": "custom", "model_path": "mymodel.Mute", "generate_cfg": {}},
            "model_path",
            ["mymodel.Mute has no method generate(message, *, dataset_name, **generate_cfg)"],
        ),
        (
            {"imp_type": "custom", "model_path": "mymodel.parse", "generate_cfg": {}},
            "model_path",
            ["mymodel.parse is no class"],
        ),
    ],
)
def test_a_function_with_the_wrong_signature_is_refused(entry, key, fragments, stage):
    stage.config(with_model(**entry))
    result = stage.run("--config", "config.json", "--work-dir", stage.work_dir)
    assert_refused(result, stage, f'config.json: model."m".{key}: ', *fragments)


@pytest.mark.parametrize(
    ("source", "fragments"),
    [
        (
            "import a_package_that_is_not_there",
            ["ModuleNotFoundError", "a_package_that_is_not_there"],
        ),
        ("x = 1\nraise ValueError('no weights')", ["ValueError: no weights", "faulty.py:2"]),
        ("def parse(response, meta) return None", ["SyntaxError", "faulty.py:1"]),
        ("import sys\nsys.exit('bye')", ["SystemExit: bye", "faulty.py:2"]),
    ],
)
def test_a_module_that_fails_on_import_is_reported_with_its_line(source, fragments, stage):
    stage.module(source, "faulty")
    stage.config(parsed_by("faulty.parse"))
    result = stage.run("--config", "config.json", "--work-dir", stage.work_dir)
    place = f"config.json: data.{L1}.parse_function: faulty cannot be imported: "
    assert_refused(result, stage, place, *fragments)


@pytest.mark.parametrize(
    ("constructor", "fragment"),
    [
        ("raise FileNotFoundError('weights.bin')", "FileNotFoundError: weights.bin"),
        ("import sys; sys.exit('no licence')", "SystemExit: no licence"),
    ],
)
def test_a_custom_class_that_cannot_be_built_is_reported_before_the_run(
    constructor, fragment, stage
):
    stage.module(f"""
        class Model:
            def __init__(self):
                {constructor}
            def generate(self, message, *, dataset_name, **generate_cfg):
                return "B"
    """)
    result = stage.evaluate({"m": {"imp_type": "custom", "model_path": "mymodel.Model"}})
    assert_refused(result, stage, f'config.json: model."m": cannot be built: {fragment}')


@pytest.mark.parametrize("limit", ['"3"', "0"])
def test_a_max_concurrency_that_is_no_number_of_calls_is_refused(limit, stage):
    stage.module(f"""
        class Model:
            max_concurrency = {limit}
            def generate(self, message, *, dataset_name, **generate_cfg):
                return "B"
    """)
    result = stage.evaluate({"m": {"imp_type": "custom", "model_path": "mymodel.Model"}})
    place = 'config.json: model."m": Model.max_concurrency'
    assert_refused(result, stage, place, "must be a whole number from 1 up")


# -- checkpoints and devices ----------------------------------------------------------------------


def test_a_missing_checkpoint_is_named_with_its_model(stage):
    result = stage.evaluate({"m": {"model_path": NOWHERE, "imp_type": "transformers"}})
    place = f'config.json: model."m": {NOWHERE}: no such folder'
    assert_refused(result, stage, place, "config.json and weights")


def test_cuda_that_is_asked_for_and_absent_is_said_before_anything_is_loaded(stage):
    checkpoint = stage.home / "checkpoint"
    checkpoint.mkdir()
    (checkpoint / "config.json").write_text('{"architectures": ["X"], "model_type": "x"}')
    (checkpoint / "model.safetensors").write_bytes(b"\0" * 8)
    for name in ("tokenizer.json", "preprocessor_config.json", "chat_template.jinja"):
        (checkpoint / name).write_text("{}")
    entry = {"model_path": str(checkpoint), "imp_type": "transformers", "device_map": "cuda"}
    # On a machine that has CUDA devices, none of them is visible.
    result = stage.evaluate({"m": entry}, env={"CUDA_VISIBLE_DEVICES": ""})
    assert_refused(
        result,
        stage,
        'config.json: model."m": ',
        "device_map 'cuda'",
        "no usable CUDA device",
        "leave device_map out",
    )


# -- the data root --------------------------------------------------------------------------------


def test_a_missing_data_root_is_reported_with_the_command_that_fetches_it(stage):
    result = stage.evaluate({"m": API}, env={"LMUData": NOWHERE})
    lines = [f"{NOWHERE}/MMBench-GUI/{level}_annotations.json: no such annotation file" for level in ("L1", "L2")]  # fmt: skip
    assert_refused(result, stage, *lines, "LMUData", "python utils/download.py", problems=2)


def test_a_relative_data_root_is_shown_from_the_root(stage):
    result = stage.evaluate({"m": API}, env={"LMUData": "elsewhere"}, data={L2: {"mode": "all"}})
    where = f"{stage.home / 'elsewhere'}/MMBench-GUI/L2_annotations.json: no such annotation file"
    assert_refused(result, stage, where)


@pytest.mark.parametrize("home", ["data/MMBench-GUI", "data/MMBench-GUI/"])
def test_a_data_root_that_is_one_folder_too_deep_is_told_from_a_missing_one(home, stage):
    result = stage.evaluate({"m": API}, env={"LMUData": home}, data={L2: {"mode": "all"}})
    hint = (
        f"LMUData is one folder too deep: set it to {stage.home / 'data'}, which holds MMBench-GUI/"
    )
    assert_refused(result, stage, hint)
    assert "utils/download.py" not in result.output


def test_an_annotation_file_of_a_data_set_that_is_not_selected_may_be_missing(stage):
    (stage.home / "data/MMBench-GUI/L1_annotations.json").unlink()
    result = stage.evaluate({"m": API}, "--data", L2)
    assert (result.code, len(stage.server.requests)) == (0, 2), result.output


@pytest.mark.parametrize(
    ("text", "fragments"),
    [
        ('[\n  {"index": 0,}\n]', ["broken JSON at line 2, column 15", "python utils/download.py"]),
        ("", ["broken JSON at line 1, column 1"]),
        ("{}", ["expected a list of annotations"]),
        ('["text"]', ["entry 0 is no object"]),
        ('[{"index": 0, "groups": ["easy"]}]', ["groups"]),
        ('[{"index": 0, "groups": {"question": "?"}}]', ["groups"]),
    ],
)
def test_a_broken_annotation_file_is_named_with_the_place(text, fragments, stage):
    path = stage.home / "data/MMBench-GUI/L1_annotations.json"
    path.write_text(text)
    assert_refused(stage.evaluate({"m": IN_PROCESS}), stage, f"{path}: ", *fragments)


def test_the_annotation_file_of_another_level_is_not_an_empty_data_set(stage):
    home = stage.home / "data/MMBench-GUI"
    (home / "L1_annotations.json").write_bytes((home / "L2_annotations.json").read_bytes())
    result = stage.evaluate({"m": IN_PROCESS}, data={L1: {"mode": "all"}})
    assert_refused(result, stage, f"{home / 'L1_annotations.json'}: ", "groups")


# -- the command line -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("option", "name", "fragments"),
    [
        ("--data", "ScreenSpot", [f"--data ScreenSpot: not in the config; it has {L1}, {L2}"]),
        ("--data", "GUIElementGroundng", ["--data GUIElementGroundng", f'mean "{L2}"', L1]),
        ("--model", "n", ["--model n: not in the config", "it has first, second"]),
    ],
)
def test_a_name_that_the_config_does_not_have_is_answered_with_those_it_has(
    option, name, fragments, stage
):
    result = stage.evaluate({"first": IN_PROCESS, "second": IN_PROCESS}, option, name)
    assert_refused(result, stage, *fragments)


@pytest.mark.parametrize(
    ("arguments", "fragments"),
    [
        (["--nonsense"], ["--nonsense"]),
        (["--limt", "3"], ["--limt"]),
        (["--mode", "inferr"], ["--mode", "'inferr'", "infer", "eval"]),
        (["--limit", "many"], ["--limit: expected a whole number from 1 up, got 'many'"]),
        (["--limit", "0"], ["--limit: expected a whole number from 1 up, got 0"]),
        (["--retry", "often"], ["--retry: expected a whole number from 0 up, got 'often'"]),
        (
            ["--api-nproc", "2.5"],
            ["--api-nproc: expected a whole number from 1 up or auto, got '2.5'"],
        ),
        (["--outage", "-1"], ["--outage: expected a number from 0 up, got -1"]),
        (
            ["--wait-for-server", "long"],
            ["--wait-for-server: expected a number from 0 up, got 'long'"],
        ),
        (["--ping"], ["--ping goes with --check"]),
        (["--fresh", "--reuse"], ["--fresh and --reuse"]),
    ],
)
def test_a_command_line_that_is_off_gets_one_line_that_names_the_option(
    arguments, fragments, stage
):
    result = stage.evaluate({"m": API}, *arguments)
    assert_refused(result, stage, *fragments, problems=None)
    assert result.stderr.count("\n") == 1, result.stderr
    assert result.stderr.endswith("see --help. Nothing was run.\n")


@pytest.mark.parametrize(
    "arguments",
    [["--api-nproc", "auto"], ["--outage", "0.5", "--wait-for-server", "0", "--retry", "0"]],
)
def test_a_command_line_that_is_in_order_runs(arguments, stage):
    result = stage.evaluate({"m": API}, *arguments, data={L2: {"mode": "basic"}})
    assert (result.code, len(stage.server.requests)) == (0, 1), result.output


def test_a_command_line_without_config_names_the_option_that_is_missing(stage):
    assert_refused(stage.run(), stage, "--config", problems=None)


def blocked_folder(home: Path) -> Path:
    """A folder in which this user cannot create anything; root may write in all but /proc."""
    locked = home / "locked"
    locked.mkdir(mode=0o555)
    return Path("/proc/locked") if os.access(locked, os.W_OK) else locked / "out"


@pytest.mark.parametrize("kind", ["a file", "below a file", "not writable"])
def test_a_work_dir_that_cannot_be_written_is_refused_before_anything_is_asked(kind, stage):
    taken = stage.home / "taken"
    taken.write_text("not a folder")
    work_dir = {
        "a file": stage.home / "taken",
        "below a file": stage.home / "taken" / "out",
        "not writable": blocked_folder(stage.home),
    }[kind]
    stage.config({"model": {"m": API}, "data": BOTH})
    result = stage.run("--config", "config.json", "--work-dir", work_dir)
    why = {
        "a file": f"{taken} is a file; results need a folder",
        "below a file": f"{taken} is a file; results need a folder",
        "not writable": f"{work_dir.parent} cannot be written",
    }[kind]
    assert_refused(result, stage, f"--work-dir {work_dir}: {why}", "name another")
    assert taken.read_text() == "not a folder"


# -- several at once ------------------------------------------------------------------------------


def test_all_problems_of_a_config_are_reported_at_once_with_their_number(stage):
    model = {**API, "generate_cfg": {"max_new_tokens": 5}, "kwargs": {"img_sizes": 5},
             "custom_prompt": {L2: "mymodel.prompt_of_one"}}  # fmt: skip
    data = {L1: {"mode": "harder", "parse_function": "nowhere.parse"}, "GUITaskAutomation": {}}
    result = stage.evaluate({"m": model, "n": {**API, "model_path": "http://"}}, data=data)
    places = [
        'model."m".generate_cfg.max_new_tokens', 'model."m".kwargs.img_sizes',
        f'model."m".custom_prompt.{L2}', 'model."n".model_path', f"data.{L1}.mode",
        f"data.{L1}.parse_function", "data.GUITaskAutomation",
    ]  # fmt: skip
    assert_refused(result, stage, *places, problems=7)


def test_problems_of_config_functions_checkpoint_options_and_data_are_reported_together(stage):
    models = {
        "m": {**API, "kwargs": {"system_propmt": "x"}, "postprocess_function": "mymodel.x"},
        "n": {"model_path": NOWHERE, "imp_type": "transformers"},
    }
    (stage.home / "data/MMBench-GUI/L1_annotations.json").unlink()
    (stage.home / "taken").write_text("not a folder")
    result = stage.evaluate(
        models, "--data", L1, "ScreenSpot", "--work-dir", stage.home / "taken",
        data={L1: {"mode": "all"}},
    )  # fmt: skip
    everything = ["system_propmt", 'mymodel has no "x"', f'model."n": {NOWHERE}: no such folder',
                  "--data ScreenSpot: ", "--work-dir ", "L1_annotations.json"]  # fmt: skip
    assert_refused(result, stage, *everything, problems=6)


def test_problems_of_what_was_not_selected_do_not_count(stage):
    models = {"m": API, "n": {"model_path": NOWHERE, "imp_type": "transformers",
                              "preprocess_function": "nowhere.preprocess"}}  # fmt: skip
    result = stage.evaluate(models, "--model", "m")
    assert (result.code, len(stage.server.requests)) == (0, 5), result.output


# -- model names ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    ["org/name", "../x", "x" * 300, "..", ".hidden", "/absolute", "a:b*c?", "名前", "two words"],
)
def test_any_model_name_becomes_a_folder_inside_the_work_dir(name, stage):
    before = set(stage.home.iterdir())
    result = stage.evaluate({name: IN_PROCESS}, data={L2: {"mode": "basic"}})
    assert result.code == 0, result.output
    [model_folder] = [path for path in stage.work_dir.iterdir() if path.name != ".view_images"]
    assert re.fullmatch(r"[\w+@=-][\w.+@=-]*", model_folder.name, re.ASCII)
    assert set(stage.home.iterdir()) - before == {
        stage.work_dir, stage.home / "config.json", stage.home / "asked"}  # fmt: skip
    [log] = [path for path in stage.written() if path.suffix == ".jsonl" and not path.is_symlink()
             and not path.name.endswith("_samples.jsonl")]  # fmt: skip
    assert json.loads(log.read_text("ascii").splitlines()[0])["model"] == name


@pytest.mark.parametrize(
    ("first", "second"), [("Acme", "acme"), ("org/name", safe_name("org/name"))]
)
def test_two_models_that_would_share_a_folder_are_refused(first, second, stage):
    result = stage.evaluate({first: IN_PROCESS, second: IN_PROCESS})
    assert_refused(result, stage, f'"{first}"', f'"{second}"', "would share one folder", "rename")


def test_a_folder_that_holds_another_models_results_is_not_written_into(stage):
    mapped = safe_name("org/name")
    assert stage.evaluate({"org/name": API}, data={L2: {"mode": "all"}}).code == 0
    before = {path: path.read_bytes() for path in stage.written()}
    asked = len(stage.server.requests)
    result = stage.evaluate({mapped: API}, data={L2: {"mode": "all"}})
    assert 'holds results of model "org/name"' in result.stderr
    assert f'rename "{mapped}"' in result.stderr
    assert (result.code, len(stage.server.requests)) == (1, asked), result.output
    assert {path: path.read_bytes() for path in stage.written()} == before
