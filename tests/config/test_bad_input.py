"""Bad input ends before the first model call: exit code 2, one clear line each, nothing written.

That each kind of mistake gets its message is tested where the check stands (`test_config.py`,
`test_endpoint.py`, `tests/functions`); here, that all of them reach the user of a run.
"""

from __future__ import annotations

import json
import os
import re

import pytest

from tests.support.mock_server import MockServer
from tests.support.runs import PICTURES
from tests.support.stage import API, BOTH, L1, L2, Stage, right_answers
from utils.runs.folder import safe_name

NOWHERE = "/nowhere/at/all"
FUNCTIONS = """
    def parse(response, meta): return None
    def prompt_of_one(line): return None
    def preprocess_without_kwargs(message, model, processor): return []

    class Model:
        def generate(self, message, *, dataset_name, **generate_cfg):
            open("asked", "w").close()
            return "B"

    class Mute:
        pass
"""
IN_PROCESS = {"imp_type": "custom", "model_path": "mymodel.Model"}
"""A model that spares a run the import of the API client; it leaves a file `asked`."""


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


def with_model(**changes):
    return {"model": {"m": {**API, **changes}}, "data": BOTH}


def run(stage, config):
    stage.config(config)
    # Set and empty, so that a developer's own .env does not set it.
    return stage.run("--config", "config.json", "--work-dir", stage.work_dir,
                     env={"OPENAI_API_KEY": ""})  # fmt: skip


# -- the config file ------------------------------------------------------------------------------


@pytest.mark.parametrize(("config", "fragments"), [
    ('{\n  "model": {\n  "data": {}\n}', ["config.json: line 4, column 2: ", "not closed"]),
    ('{"a": ' * 900 + "1" + "}" * 900, ["config.json: objects are nested too deeply"]),
    (with_model(postproces_function="mymodel.parse"),
     ['config.json: model."m".postproces_function: unknown key', 'mean "postprocess_function"']),
    (with_model(kwargs={"x": json.loads("[" * 900 + "]" * 900)}), ["nested too deeply"]),
    ({**with_model(), "data": {"GUITaskAutomation": {"mode": "all"}}},
     ["config.json: data.GUITaskAutomation: L3", "yet", f"Available: {L1}"]),
    (with_model(model_path="{url}?api_key=${OPENAI_API_KEY}&model=mock"),
     ['config.json: model."m".model_path: ${OPENAI_API_KEY}', "environment variable", ".env"]),
    (with_model(model_path="{url}?api_key=your-own-key=gpt-4o"),
     ['config.json: model."m".model_path: has a second "="', '"&model" is missing']),
    (with_model(model_path="{url}?api_key=your-own-key%0A&model=mock"),
     ['config.json: model."m".model_path: its api_key holds a sign', "line break"]),
    (with_model(generate_cfg={"max_new_tokens": 16}),
     ['config.json: model."m".generate_cfg.max_new_tokens: ', '"max_tokens"']),
    (with_model(custom_prompt={L2: "mymodel.prompt_of_one"}),
     [f'config.json: model."m".custom_prompt.{L2}: ', "called as f(line, dataset)"]),
    (with_model(preprocess_function="mymodel.preprocess_without_kwargs"),
     ['config.json: model."m".preprocess_function: ', "add **kwargs"]),
    (with_model(imp_type="custom", model_path="mymodel.Mute", generate_cfg={}),
     ['config.json: model."m".model_path: mymodel.Mute has no method generate']),
    ({"model": {"m": IN_PROCESS}, "data": {L1: {"parse_function": "models.local_uitar.parse"}}},
     [f"config.json: data.{L1}.parse_function: ", 'mean "local_uitars"']),
])  # fmt: skip
def test_a_wrong_config_is_refused_with_key_path_and_cure(config, fragments, stage):
    result = run(stage, config)
    assert_refused(result, stage, *fragments)
    assert "your-own-key" not in result.output


def test_a_config_that_is_not_there_is_named(stage):
    result = stage.run("--config", "nofolder/run.json", "--work-dir", stage.work_dir)
    assert_refused(result, stage, "nofolder/run.json: there is no such file", "folder nofolder")


def test_a_key_of_a_file_with_a_line_break_at_its_end_stops_the_run_before_it_starts(stage):
    stage.config(with_model(model_path="{url}?api_key=${MY_KEY}&model=mock"))
    result = stage.run("--config", "config.json", "--work-dir", stage.work_dir,
                       env={"MY_KEY": "sk-0123456789\n"})  # fmt: skip
    assert_refused(result, stage, 'model."m".model_path: its api_key holds', "read from a file?")
    assert "sk-0123456789" not in result.output


def test_a_module_that_fails_on_import_is_reported_with_its_line(stage):
    stage.module("x = 1\nraise ValueError('no weights')", "faulty")
    result = run(stage, {"model": {"m": IN_PROCESS}, "data": {L1: {"parse_function": "faulty.f"}}})
    place = f"config.json: data.{L1}.parse_function: faulty cannot be imported: "
    assert_refused(result, stage, place, "ValueError: no weights", "faulty.py:2")


@pytest.mark.parametrize(("attribute", "constructor", "fragment"), [
    ("x = 1", "raise FileNotFoundError('weights.bin')",
     "cannot be built: FileNotFoundError: weights.bin"),
    ("x = 1", "import sys; sys.exit('no licence')", "cannot be built: SystemExit: no licence"),
    ('max_concurrency = "3"', "pass", "must be a whole number from 1 up"),
    ("max_concurrency = 0", "pass", "must be a whole number from 1 up"),
])  # fmt: skip
def test_a_custom_class_that_cannot_be_built_is_reported(attribute, constructor, fragment, stage):
    stage.module(f"""
        class Model:
            {attribute}
            def __init__(self):
                {constructor}
            def generate(self, message, *, dataset_name, **generate_cfg):
                return "B"
    """)
    assert_refused(stage.evaluate({"m": IN_PROCESS}), stage, 'config.json: model."m": ', fragment)


# -- checkpoints and devices ----------------------------------------------------------------------


def test_a_missing_checkpoint_is_named_with_its_model(stage):
    result = stage.evaluate({"m": {"model_path": NOWHERE, "imp_type": "transformers"}})
    place = f'config.json: model."m": {NOWHERE}: no such folder'
    assert_refused(result, stage, place, "config.json and weights")


def test_cuda_that_is_asked_for_and_absent_is_reported_before_anything_is_loaded(stage):
    checkpoint = stage.home / "checkpoint"
    checkpoint.mkdir()
    (checkpoint / "config.json").write_text('{"architectures": ["X"], "model_type": "x"}')
    (checkpoint / "model.safetensors").write_bytes(b"\0" * 8)
    for name in ("tokenizer.json", "preprocessor_config.json", "chat_template.jinja"):
        (checkpoint / name).write_text("{}")
    entry = {"model_path": str(checkpoint), "imp_type": "transformers", "device_map": "cuda"}
    # On a machine that has CUDA devices, none of them is visible.
    result = stage.evaluate({"m": entry}, env={"CUDA_VISIBLE_DEVICES": ""})
    assert_refused(result, stage, 'config.json: model."m": ', "device_map 'cuda'",
                   "no usable CUDA device", "leave device_map out")  # fmt: skip


# -- the data root --------------------------------------------------------------------------------


@pytest.mark.parametrize(("root", "expected"), [
    (NOWHERE, f"{NOWHERE}/MMBench-GUI/L2_annotations.json: no such annotation file"),
    ("elsewhere", "{home}/elsewhere/MMBench-GUI/L2_annotations.json: no such annotation file"),
    ("data/MMBench-GUI", "LMUData is one folder too deep: set it to {home}/data, which holds"),
    ("data/MMBench-GUI/", "LMUData is one folder too deep: set it to {home}/data, which holds"),
])  # fmt: skip
def test_a_data_root_without_data_is_reported(root, expected, stage):
    result = stage.evaluate({"m": API}, env={"LMUData": root}, data={L2: {"mode": "all"}})
    assert_refused(result, stage, expected.format(home=stage.home), "LMUData")
    assert ("python utils/download.py" in result.output) is ("too deep" not in expected)


def test_an_annotation_file_of_a_data_set_that_is_not_selected_may_be_missing(stage):
    (stage.home / "data/MMBench-GUI/L1_annotations.json").unlink()
    result = stage.evaluate({"m": API}, "--data", L2)
    assert (result.code, len(stage.server.requests)) == (0, 2), result.output


@pytest.mark.parametrize(("text", "fragments"), [
    ('[\n  {"index": 0,}\n]', ["broken JSON at line 2, column 15", "python utils/download.py"]),
    ("", ["broken JSON at line 1, column 1"]),
    ("{}", ["expected a list of annotations"]),
    ('["text"]', ["entry 0 is no object"]),
    ('[{"index": 0, "groups": ["easy"]}]', ["groups"]),
    ('[{"index": 0, "groups": {"question": "?"}}]', ["groups"]),
    ('[{"index": 0, "image_path": "x.png", "instruction": "Click"}]', ["groups"]),  # of L2
])  # fmt: skip
def test_a_broken_annotation_file_is_named_with_the_place(text, fragments, stage):
    path = stage.home / "data/MMBench-GUI/L1_annotations.json"
    path.write_text(text)
    assert_refused(stage.evaluate({"m": IN_PROCESS}), stage, f"{path}: ", *fragments)


# -- the command line -----------------------------------------------------------------------------


@pytest.mark.parametrize(("option", "name", "fragments"), [
    ("--data", "ScreenSpot", [f"--data ScreenSpot: not in the config; it has {L1}, {L2}"]),
    ("--data", "GUIElementGroundng", ["--data GUIElementGroundng", f'mean "{L2}"', L1]),
    ("--model", "n", ["--model n: not in the config", "it has first, second"]),
])  # fmt: skip
def test_a_name_that_the_config_does_not_have_is_answered_with_those_it_has(
    option, name, fragments, stage
):
    result = stage.evaluate({"first": IN_PROCESS, "second": IN_PROCESS}, option, name)
    assert_refused(result, stage, *fragments)


@pytest.mark.parametrize(
    "arguments",
    [["--api-nproc", "auto"], ["--outage", "0.5", "--wait-for-server", "0", "--retry", "0"]],
)
def test_a_command_line_that_is_in_order_runs(arguments, stage):
    result = stage.evaluate({"m": API}, *arguments, data={L2: {"mode": "basic"}})
    assert (result.code, len(stage.server.requests)) == (0, 1), result.output


@pytest.mark.parametrize("kind", ["a file", "below a file", "not writable"])
def test_a_work_dir_that_cannot_be_written_is_refused_before_anything_is_asked(kind, stage):
    taken, locked = stage.home / "taken", stage.home / "locked"
    taken.write_text("not a folder")
    locked.mkdir(mode=0o555)
    # Root may write in all but /proc.
    blocked = "/proc/locked" if os.access(locked, os.W_OK) else locked / "out"
    work_dir = {"a file": taken, "below a file": taken / "out", "not writable": blocked}[kind]
    result = stage.evaluate({"m": API}, "--work-dir", work_dir)
    why = "cannot be written" if kind == "not writable" else "is a file; results need a folder"
    assert_refused(result, stage, f"--work-dir {work_dir}: ", why, "name another")
    assert taken.read_text() == "not a folder"


# -- several at once ------------------------------------------------------------------------------


def test_all_problems_are_reported_together_with_their_number(stage):
    broken = {**API, "generate_cfg": {"max_new_tokens": 5}, "kwargs": {"img_sizes": 5},
              "custom_prompt": {L2: "mymodel.prompt_of_one"}}  # fmt: skip
    models = {
        "m": broken,
        "n": {**API, "model_path": "http://", "postprocess_function": "mymodel.x"},
        "o": {"model_path": NOWHERE, "imp_type": "transformers"},
    }
    data = {L1: {"mode": "harder", "parse_function": "nowhere.parse"}, L2: {"mode": "all"}}
    (stage.home / "data/MMBench-GUI/L2_annotations.json").unlink()
    (stage.home / "taken").write_text("not a folder")
    result = stage.evaluate(models, "--data", L1, L2, "ScreenSpot", "--work-dir",
                            stage.home / "taken", data=data)  # fmt: skip
    everything = [
        'model."m".generate_cfg.max_new_tokens', 'model."m".kwargs.img_sizes',
        f'model."m".custom_prompt.{L2}', 'model."n".model_path', 'mymodel has no "x"',
        f'model."o": {NOWHERE}: no such folder', f"data.{L1}.mode", f"data.{L1}.parse_function",
        "--data ScreenSpot: ", "--work-dir ", "L2_annotations.json",
    ]  # fmt: skip
    assert_refused(result, stage, *everything, problems=len(everything))


def test_problems_of_what_was_not_selected_do_not_count(stage):
    models = {"m": API, "n": {"model_path": NOWHERE, "imp_type": "transformers",
                              "preprocess_function": "nowhere.preprocess"}}  # fmt: skip
    result = stage.evaluate(models, "--model", "m")
    assert (result.code, len(stage.server.requests)) == (0, 5), result.output


# -- model names ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [
    "org/name", "../x", "x" * 300, "..", ".hidden", "/absolute", "a:b*c?", "名前", "two words",
    "\x1b[2J\x07odd",
])  # fmt: skip
def test_any_model_name_becomes_a_folder_inside_the_work_dir(name, stage):
    before = set(stage.home.iterdir())
    result = stage.evaluate({name: IN_PROCESS}, data={L2: {"mode": "basic"}})
    assert result.code == 0, result.output
    assert not set(result.output) & {"\x1b", "\x07"}  # no commands to the terminal
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
    assert stage.evaluate({"org/name": IN_PROCESS}, data={L2: {"mode": "all"}}).code == 0
    before = {path: path.read_bytes() for path in stage.written()}
    mapped = safe_name("org/name")
    result = stage.evaluate({mapped: IN_PROCESS}, data={L2: {"mode": "all"}})
    assert 'holds results of model "org/name"' in result.stderr
    assert f'rename "{mapped}"' in result.stderr
    assert result.code in (1, 2), result.output
    assert {path: path.read_bytes() for path in stage.written()} == before
