"""Bad input ends before the first model call: exit code 2, one clear line each, nothing written.

That each kind of mistake gets its message is tested where the check stands (`test_config.py`,
`test_endpoint.py`, `tests/functions`); here, that all of them reach the user of a run.
"""

import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec

import pytest

from benchmarks import LEVELS
from evaluate import main
from tests.support.runs import PICTURES, PROJECT, evaluate
from tests.support.stage import API, BOTH, L1, L2
from utils.config.options import names_of_levels, options_of, parse_arguments
from utils.errors import UserError
from utils.starting import DISTRIBUTIONS
from utils.store.folder import safe_name

NOWHERE = "/nowhere/at/all"
FUNCTIONS = """
    def prompt_of_one(line): return None
    class Model:
        def generate(self, message, *, dataset_name, **generate_cfg):
            open("asked", "w").close()
            return "B"
    class Unlicensed(Model):
        def __init__(self): raise SystemExit("no licence")
    class Weightless(Model):
        def __init__(self): raise FileNotFoundError("weights.bin")
    class Wordy(Model): max_concurrency = "3"
    class Nobody(Model): max_concurrency = 0
    class Mute: pass
"""
IN_PROCESS = {"imp_type": "custom", "model_path": "mymodel.Model"}
"""A model that spares a run the import of the API client; it leaves a file `asked`."""
UNKNOWN = 'unknown option --confg; did you mean "--config"?'
COUNT = "expected a whole number of at least"


@pytest.fixture
def stage(staged):
    return staged(FUNCTIONS, pictures=PICTURES[:1])


def assert_refused(result, stage, *fragments, problems=1):
    output = result.output
    assert (result.code, result.requests, "Traceback" in output) == (2, [], False), output
    assert [fragment for fragment in fragments if fragment not in result.stderr] == [], output
    count = f"{problems} problem{'' if problems == 1 else 's'}. "
    assert result.stderr.endswith(f"{count}Nothing was run.\n"), output
    assert not (stage.home / "asked").exists()
    assert not stage.work_dir.exists() or stage.written() == []


def of(model=API, data=BOTH, **changes):
    return {"model": {"m": {**model, **changes}}, "data": data}


def of_class(name, data=BOTH):
    return of(IN_PROCESS, data, model_path=f"mymodel.{name}")


@pytest.mark.parametrize(
    ("config", "fragments"),
    [
        (None, ["config.json: there is no such file"]),
        (
            '{\n  "model": {\n  "data": {}\n}',
            ["config.json: line 4, column 2: Missing a comma or '}'", "bracket missing"],
        ),
        (
            of(data={"GUITaskAutomation": {"environment": "mymodel.Mute"}}),
            [
                "config.json: data.GUITaskAutomation.environment: mymodel.Mute has no tasks(level, seeds)"
            ],
        ),
        (
            of(model_path="{url}?api_key=${MY_KEY}&model=mock"),
            ['config.json: model."m".model_path: its api_key holds a character', "line break"],
        ),
        (
            of_class("Model", {L1: {"parse_function": "faulty.f"}}),
            [
                f"data.{L1}.parse_function: faulty cannot be imported: ",
                "ValueError: no weights",
                "faulty.py:2",
            ],
        ),
        (
            of_class("Mute"),
            ['config.json: model."m".model_path: mymodel.Mute has no method generate'],
        ),
        *[
            (of_class(name), ['config.json: model."m": ', what])
            for name, what in (
                (
                    "Weightless",
                    "cannot be built: it raised FileNotFoundError: weights.bin (mymodel.py, line",
                ),
                (
                    "Unlicensed",
                    "cannot be built: it raised SystemExit: no licence (mymodel.py, line",
                ),
                ("Wordy", "must be a whole number of at least 1"),
                ("Nobody", "must be a whole number of at least 1"),
            )
        ],
    ],
)
def test_a_wrong_config_is_refused_with_key_path_and_cure(config, fragments, stage):
    stage.module("x = 1\nraise ValueError('no weights')", "faulty")
    if config is not None:
        stage.config(config)
    env = {"MY_KEY": "your-own-key\n"}
    result = stage.run("--config", "config.json", "--work-dir", stage.work_dir, env=env)
    assert_refused(result, stage, *fragments)
    assert "your-own-key" not in result.output


@pytest.mark.parametrize(
    "entry",
    [
        {"model_path": "${UNSET}"},
        {"model_path": "${UNSET}", "imp_type": "openai"},
        {"model_path": "${UNSET}", "imp_type": "custom"},
        {"model_path": "${UNSET}", "imp_type": "transformers"},
        {"model_path": ["http://127.0.0.1:9/v1?model=m", "${UNSET}"]},
        {"model_path": "http://127.0.0.1:9/v1?model=m", "servers": "${UNSET}"},
    ],
)
def test_a_model_path_that_is_not_set_is_one_problem_among_all(entry, stage):
    result = stage.evaluate({"m": entry}, "--check", data={L1: {"mode": "nope"}})
    fragments = ("${UNSET} stands for", f'data.{L1}.mode: unknown mode "nope"')
    assert_refused(result, stage, *fragments, problems=2)


def test_a_judge_whose_class_is_not_set_is_one_problem_among_all(stage):
    judge = {"model_path": "${UNSET}", "imp_type": "custom"}
    data = {L1: {"match_mode": "judge", "judge": judge}, L2: {"mode": "nope"}}
    result = stage.evaluate({"m": API}, "--check", data=data)
    fragments = (f"data.{L1}.judge.model_path: ${{UNSET}} stands for", 'unknown mode "nope"')
    assert_refused(result, stage, *fragments, problems=2)


@pytest.mark.parametrize(
    "arguments", [["--work-dir"], ["--check", "--work-dir"], ["--mode", "eval", "--work-dir"]]
)
def test_a_work_dir_whose_name_is_too_long_is_refused(arguments, stage):
    config = stage.config(of())
    result = stage.run("--config", config, *arguments, "a" * 300)
    assert_refused(result, stage, "--work-dir aaa", "...: the name is too long")


@pytest.mark.parametrize(
    "arguments", [["--look"], ["--look", "--work-dir"], ["--runs", "--work-dir"], ["--compare"]]
)
def test_a_name_that_is_too_long_for_a_file_is_refused(arguments, stage):
    result = evaluate(*arguments, "a" * 300, cwd=stage.home)
    assert (result.code, "Traceback" in result.output) == (2, False), result.output
    assert "...: the name of a file or folder is too long\n1 problem. " in result.stderr


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("a" * 5000, "aaa...: cannot be looked at (File name too long)"),
        ("org/" + "a" * 300, "no such folder; expected a checkpoint"),  # too long for the hub
    ],
)
def test_a_checkpoint_whose_name_is_too_long_is_refused(path, problem, stage):
    model = {"model_path": path, "imp_type": "transformers"}
    result = stage.evaluate({"m": model}, data={L1: {}})
    assert (result.code, "Traceback" in result.output) == (2, False), result.output
    assert problem in result.stderr


@pytest.mark.parametrize("root", [NOWHERE, "elsewhere"])
def test_a_data_root_without_data_is_reported(root, stage):
    result = stage.evaluate({"m": API}, env={"LMUData": root}, data={L2: {"mode": "all"}})
    file = stage.home / root / "MMBench-GUI" / "L2_annotations.json"
    assert_refused(
        result, stage, f"{file}: no such annotation file", "LMUData", "utils/download.py"
    )


def test_a_data_root_that_is_one_folder_too_deep_is_told_its_parent(stage):
    env = {"LMUData": str(stage.annotations)}
    result = stage.evaluate({"m": API}, env=env, data={L2: {"mode": "all"}})
    assert_refused(result, stage, f"Set LMUData to its parent folder, {stage.root}\n")


@pytest.mark.parametrize(
    ("option", "name", "fragments"),
    [
        (
            "--data",
            "ScreenSpot",
            [f"--data ScreenSpot: not in the config; the config has {L1}, {L2}"],
        ),
        ("--data", "GUIElementGroundng", ["--data GUIElementGroundng", f'mean "{L2}"', L1]),
        ("--model", "n", ["--model n: not in the config", "the config has first, second"]),
    ],
)
def test_a_name_that_is_not_in_the_config_is_refused(option, name, fragments, stage):
    result = stage.evaluate({"first": IN_PROCESS, "second": IN_PROCESS}, option, name)
    assert_refused(result, stage, *fragments)


@pytest.mark.parametrize("kind", ["a file", "below a file", "not writable"])
def test_a_work_dir_that_cannot_be_written_is_refused_before_anything_is_asked(kind, stage):
    taken, locked = stage.home / "taken", stage.home / "locked"
    taken.write_text("not a folder")
    locked.mkdir(mode=0o555)
    # Root may write in all but /proc.
    blocked = "/proc/locked" if os.access(locked, os.W_OK) else locked / "out"
    work_dir = {"a file": taken, "below a file": taken / "out", "not writable": blocked}[kind]
    result = stage.run("--work-dir", work_dir)
    assert_refused(result, stage, f"--work-dir {work_dir}: ", "cannot be written", "name another")
    assert taken.read_text() == "not a folder"


@pytest.mark.parametrize("arguments", [["--check"], ["--mode", "eval"], []])
def test_a_dotenv_file_in_another_encoding_is_named_with_its_line(stage, arguments):
    (stage.home / ".env").write_bytes("# who\nNAME=José\n".encode("latin-1"))
    result = stage.run(*arguments)
    assert_refused(result, stage, f"{stage.home / '.env'}: is not UTF-8 text (line 2); save it as")
    assert "Jos" not in result.output  # it may be a secret


def test_a_folder_that_is_called_dotenv_is_no_file_of_settings(stage):
    (stage.home / ".env").mkdir()  # many a virtual environment
    assert stage.run("--data", L2, "--limit", "1").code == 0


@pytest.mark.parametrize(
    ("env", "sent"),
    [
        ({}, "Find {a} for Click"),  # its braces stay
        ({"L2_USER_PROMPT": "Of the shell: {instruction}"}, "Of the shell: Click"),
    ],
)
def test_the_template_of_a_dotenv_file_is_sent_unless_the_environment_has_one(stage, env, sent):
    (stage.home / ".env").write_text('L2_USER_PROMPT="Find {a} for {instruction}"')
    result = stage.run("--data", L2, "--limit", "1", env=env)
    assert result.code == 0, result.output
    assert [sent in request.text for request in result.requests] == [True]


def test_images_of_a_folder_that_is_not_there_are_looked_for_in_the_data_root(stage):
    result = stage.run("--data", L2, env={"IMAGE_ROOT_DIR": "~nosuchuser"})
    assert result.code == 0, result.output
    assert "warning: IMAGE_ROOT_DIR ~nosuchuser: no such folder" in result.stdout


def test_all_problems_are_reported_together_with_their_number(stage):
    models = {
        "m": {
            **API,
            "generate_cfg": {"max_new_tokens": 5},
            "kwargs": {"img_sizes": 5},
            "custom_prompt": {L2: "mymodel.prompt_of_one"},
        },
        "n": {**API, "model_path": "http://", "postprocess_function": "mymodel.x"},
        "o": {"model_path": NOWHERE, "imp_type": "transformers"},
    }
    data = {L1: {"mode": "harder", "parse_function": "nowhere.parse"}, L2: {"mode": "all"}}
    (stage.annotations / "L2_annotations.json").unlink()
    (stage.home / "taken").write_text("not a folder")
    result = stage.evaluate(
        models, "--data", L1, L2, "ScreenSpot", "--work-dir", stage.home / "taken", data=data
    )
    everything = [
        'model."m".generate_cfg.max_new_tokens',
        'model."m".kwargs.img_sizes',
        f'model."m".custom_prompt.{L2}',
        'model."n".model_path',
        'mymodel has no "x"',
        f'model."o": {NOWHERE}: no such folder',
        f"data.{L1}.mode",
        f"data.{L1}.parse_function",
        "--data ScreenSpot: ",
        "--work-dir ",
        "L2_annotations.json",
    ]
    if find_spec("torch") is None:
        everything.append('model."o": not installed: torch')
    assert_refused(result, stage, *everything, problems=len(everything))


def test_problems_of_what_was_not_selected_do_not_count(stage):
    (stage.annotations / "L1_annotations.json").unlink()
    models = {
        "m": API,
        "n": {
            "model_path": NOWHERE,
            "imp_type": "transformers",
            "preprocess_function": "nowhere.preprocess",
        },
    }
    arguments = "--api-nproc auto --outage 0.5 --wait-for-server 0 --retry 0"
    result = stage.evaluate(models, "--model", "m", "--data", L2, *arguments.split())
    assert (result.code, len(stage.server.requests)) == (0, 2), result.output


@pytest.mark.parametrize(
    "name",
    [
        "org/name",
        "../x",
        "x" * 300,
        "..",
        ".hidden",
        "/absolute",
        "a:b*c?",
        "名前",
        "two words",
        "\x1b[2J\x07odd",
        'a"b',
    ],
)
def test_any_model_name_becomes_a_folder_inside_the_work_dir(name, stage):
    before = set(stage.home.iterdir())
    result = stage.evaluate({name: IN_PROCESS}, data={L2: {"mode": "basic"}})
    assert result.code == 0, result.output
    assert not set(result.output) & {"\x1b", "\x07"}  # no commands to the terminal
    folders = [path for path in stage.work_dir.iterdir() if path.is_dir()]
    [model_folder] = [path for path in folders if path.name != ".view_images"]
    assert re.fullmatch(r"[\w+@=-][\w.+@=-]*", model_folder.name)
    assert len(model_folder.name.encode()) <= 100  # and file names add to it
    assert set(stage.home.iterdir()) - before == {
        stage.work_dir,
        stage.home / "config.json",
        stage.home / "asked",
    }
    [log] = [
        path
        for path in stage.written()
        if path.suffix == ".jsonl"
        and not path.is_symlink()
        and not path.name.endswith("_samples.jsonl")
    ]
    assert json.loads(log.read_text("ascii").splitlines()[0])["model"] == name


@pytest.mark.parametrize(
    ("name", "readable_part"),
    [
        ("Ünï/код 模型", "Ünï_код_模型-"),
        ("名前", "名前-"),
        ("Über-7B", "Über-7B-"),
        ("модель v2", "модель_v2-"),
        ("모델", "모델-"),
        ("cafe\u0301", "caf\u00e9-"),  # two forms of one letter
        ("模" * 100, "模" * 26 + "-"),
        ("org/name", "org_name-"),
    ],
)
def test_a_folder_keeps_the_letters_of_a_model_name_in_any_script(name, readable_part):
    assert safe_name(name).startswith(readable_part)
    assert len(safe_name(name)) == len(readable_part) + 8


def test_two_models_that_would_share_a_folder_are_refused(stage):
    for names in (("Acme", "acme"), ("org/name", safe_name("org/name"))):
        result = stage.evaluate(dict.fromkeys(names, IN_PROCESS))
        quoted = (f'"{name}"' for name in names)
        assert_refused(result, stage, *quoted, "would share one folder", "rename")


def test_a_folder_that_holds_another_models_results_is_not_written_into(stage):
    assert stage.evaluate({"org/name": IN_PROCESS}, data={L2: {"mode": "all"}}).code == 0
    before, mapped = {path: path.read_bytes() for path in stage.written()}, safe_name("org/name")
    result = stage.evaluate({mapped: IN_PROCESS}, data={L2: {"mode": "all"}})
    for expected_text in ('holds results of model "org/name"', f'rename "{mapped}"'):
        assert expected_text in result.stderr
    assert result.code in (1, 2), result.output
    assert {path: path.read_bytes() for path in stage.written()} == before


@pytest.mark.parametrize(
    ("program", "missing"),
    [
        (
            "evaluate.py",
            "blake3, filelock, numpy, pillow, pybase64, pydantic, python-dotenv, python-rapidjson, tqdm, "
            "xlsxwriter",
        ),
        ("compare.py", "blake3, numpy, pillow, python-rapidjson"),
        ("utils/download.py", "filelock, huggingface_hub, python-dotenv"),
    ],
)
def test_a_python_without_the_packages_is_told_in_one_line(tmp_path, program, missing):
    env = {name: os.environ[name] for name in ("PATH", "LANG", "SYSTEMROOT") if name in os.environ}
    result = subprocess.run(
        [sys.executable, "-S", PROJECT / program, "--help"],
        cwd=tmp_path,
        env=env,
        timeout=60,
        capture_output=True,
        text=True,
    )
    [line] = (result.stdout + result.stderr).splitlines()
    assert line.startswith(f"{program}: this Python ({sys.executable}) lacks {missing}.")
    assert "Activate the environment (. .venv/bin/activate)" in line
    assert line.endswith("pip install -r requirements/core.txt. Nothing was run.")
    assert result.returncode == 2


def test_what_a_program_needs_is_listed_in_the_core_requirements():
    core = (PROJECT / "requirements" / "core.txt").read_text("utf-8")
    listed = {line.partition("==")[0] for line in core.splitlines()}
    for program in ("evaluate.py", "compare.py", "utils/download.py"):
        text = (PROJECT / program).read_text("utf-8")
        [names] = re.findall(r"(?:stop_unless_ready\(|REQUIRED = )((?:\"[\w ]+\"(?:, )?)+)", text)
        for name in re.findall(r"\w+", names):
            assert DISTRIBUTIONS.get(name, name).replace("_", "-") in listed, name


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--confg x.json", UNKNOWN),
        ("--confg=x.json", UNKNOWN),
        ("-config x.json", UNKNOWN.replace("--confg", "-config")),
        (
            "one.json two.json",
            "one.json: does not belong to any option; name a config with --config FILE",
        ),
        ("--check", "--config FILE is missing"),
        ("", "--config FILE is missing"),
        *[
            (f"--config x.json {more}", message)
            for more, message in (
                (
                    "--limt 3 --freh",
                    'unknown option --limt; did you mean "--limit"?; unknown option --freh; did you mean "--fresh"?',
                ),
                ("--quickly", "unknown option --quickly"),
                ("--key=sk-123456", "unknown option --key"),
                (
                    "y.json",
                    "y.json: does not belong to any option; name a config with --config FILE",
                ),
                ("--mode inferr", "argument --mode: invalid choice: 'inferr' (choose from 'all', "),
                ("--frame px", "argument --frame: invalid choice: 'px' (choose from 'fractions', "),
                ("--limit many", f"argument --limit: {COUNT} 1, got 'many'"),
                ("--limit 0", f"argument --limit: {COUNT} 1, got '0'"),
                ("--retry often", f"argument --retry: {COUNT} 0, got 'often'"),
                ("--api-nproc 2.5", f"argument --api-nproc: {COUNT} 1, got '2.5'"),
                ("--outage -1", "argument --outage: expected a number of at least 0, got '-1'"),
                (
                    "--wait-for-server long",
                    "argument --wait-for-server: expected a number of at least 0, got 'long'",
                ),
                ("--ping", "--ping needs --check"),
                ("--check --mode eval", "--check cannot be combined with --mode eval"),
                (
                    "--no-report --small-images",
                    "--small-images cannot be combined with --no-report",
                ),
                ("--parity y.json --check", "--parity cannot be combined with --check or --mode"),
                ("--fresh --reuse", "--fresh and --reuse cannot be combined"),
            )
        ],
    ],
)
def test_a_command_line_that_is_off_gets_one_line_that_names_the_option(arguments, message, capsys):
    assert main(arguments.split()) == 2
    error_output = capsys.readouterr().err
    assert error_output.startswith(f"evaluate.py: {message}")
    assert (
        error_output.endswith("; see --help. Nothing was run.\n") and error_output.count("\n") == 1
    )
    assert "sk-123456" not in error_output


def test_help_is_no_error_and_leaves_the_callers_process_alone(capsys):
    assert main(["--help"]) == 0
    assert "--wait-for-server" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"retry": False}, "run(): retry=False: retry takes a value, or None for its default"),
        ({"retry": True}, "run(): retry=True: retry takes a value, or None for its default"),
        ({"limit": True}, "run(): limit=True: limit takes a value, or None for its default"),
        ({"outage": False}, "run(): outage=False: outage takes a value, or None for its default"),
        ({"data": True}, "run(): data=True: data takes a value, or None for its default"),
    ],
)
def test_a_switch_in_the_place_of_a_value_is_an_error(arguments, problem):
    with pytest.raises(UserError) as raised:
        options_of("x", arguments)
    assert raised.value.problems == (problem,)


def test_a_level_stands_for_its_data_set():
    names = names_of_levels(["l1", "L4", "MyClicks", "odd"], LEVELS)
    assert names == ("GUIContentUnderstanding", "GUITaskCollaboration", "MyClicks", "odd")


def test_python_takes_the_options_of_the_command_line(monkeypatch):
    monkeypatch.delenv("EVAL_WORK_DIR", raising=False)
    typed = [
        "--config=x",
        "--data=a",
        "--data=b",
        "--limit=3",
        "--outage=2.5",
        "--no-report",
        "--fresh",
    ]
    keywords = {
        "data": ["a", "b", "a"],
        "limit": 3,
        "outage": 2.5,
        "report": False,
        "fresh": True,
        "strict": False,
        "retry": None,
    }
    options = options_of("x", {**keywords, "data": ["a", "b"]})
    assert options == parse_arguments(typed)
    assert (options.arguments, options_of("x", keywords).data) == (tuple(typed), ("a", "b"))
