"""Mistakes before a run has begun: a wrong Python, a broken `.env`, a typing error in a command."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys

import pytest

from tests.support.mock_server import MockServer
from tests.support.runs import PICTURES, PROJECT, Finished
from tests.support.stage import API, BOTH, L2, Stage, right_answers
from utils.config.options import options_of, parse_arguments
from utils.errors import DISTRIBUTIONS, UserError


@pytest.fixture
def stage(tmp_path):
    with MockServer(right_answers) as server:
        yield Stage.make(tmp_path, server, PICTURES[:1])


def assert_one_line(result, *fragments):
    assert result.code == 2, result.output
    assert "Traceback" not in result.output
    for fragment in fragments:
        assert fragment in result.stderr, result.output
    assert "Nothing was run." in result.stderr


# -- .env and `~` ---------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [["--check"], ["--mode", "eval"], []])
def test_a_dotenv_file_in_another_encoding_is_named_with_its_line(stage, arguments):
    (stage.home / ".env").write_bytes("# who\nNAME=José\n".encode("latin-1"))
    result = stage.evaluate({"m": API}, *arguments)
    assert_one_line(result, f"{stage.home / '.env'}: is not UTF-8 text (line 2); save it as UTF-8")
    assert "Jos" not in result.output  # it may be a secret
    assert stage.server.requests == []


@pytest.mark.parametrize(("env", "sent"), [
    ({}, "Find ${HOME} {a} for Click"),  # its dollars and braces stay
    ({"L2_USER_PROMPT": "Of the shell: {instruction}"}, "Of the shell: Click"),
])  # fmt: skip
def test_the_template_of_a_dotenv_file_is_sent_unless_the_environment_has_one(stage, env, sent):
    lines = ["PLACE=${HOME}/x", 'L2_USER_PROMPT="Find ${HOME} {a} for {instruction}"']
    (stage.home / ".env").write_text("\n".join(lines))
    result = stage.evaluate({"m": API}, "--data", L2, "--limit", "1", env=env)
    assert result.code == 0, result.output
    assert [sent in request.text for request in stage.server.requests] == [True]


@pytest.mark.parametrize(("model", "arguments", "env", "fragments"), [
    ({}, [], {"LMUData": "~nosuchuser/x"},
     ["LMUData ~nosuchuser/x: there is no user nosuchuser", "write the folder in full"]),
    ({}, ["--work-dir", "~nosuchuser/x"], {},
     ["--work-dir ~nosuchuser/x: there is no user nosuchuser", "write the folder in full"]),
    ({}, [], {"EVAL_WORK_DIR": "~nosuchuser"}, ["EVAL_WORK_DIR ~nosuchuser: there is no user", "in full"]),
    ({"postproces_function": "f"}, [], {"LMUData": "~nosuchuser/x"},
     ["LMUData ~nosuchuser/x", "postproces_function", "2 problems."]),
    *[({"model_path": "~nosuchuser/x", "imp_type": kind}, [], {}, ['model."m": ~nosuchuser/x: no such folder'])
      for kind in ("transformers", "vllm")],
    ({"model_path": "{home}", "imp_type": "vllm"}, [], {"VLLM_PYTHON": "~nosuchuser/python"},
     ["VLLM_PYTHON ~nosuchuser/python"]),
])  # fmt: skip
def test_the_home_of_a_user_who_does_not_exist_is_named_with_its_setting(
    stage, model, arguments, env, fragments
):
    entry = model if "imp_type" in model else {**API, **model}
    text = json.dumps({"model": {"m": entry}, "data": BOTH}).replace("{home}", str(stage.home))
    stage.config(text)
    result = stage.run("--config", "config.json", "--check", *arguments, env=env)
    assert_one_line(result, *fragments)
    assert not (stage.home / "~nosuchuser").exists()


def test_images_in_the_home_of_nobody_are_looked_for_in_the_data_root(stage):
    env = {"IMAGE_ROOT_DIR": "~nosuchuser"}
    result = stage.evaluate({"m": API}, data={L2: {"mode": "basic"}}, env=env)
    assert result.code == 0, result.output
    assert "warning: IMAGE_ROOT_DIR ~nosuchuser: no such folder" in result.stdout


# -- the wrong Python -----------------------------------------------------------------------------

PROGRAMS = ("evaluate.py", "compare.py", "utils/download.py")
OLD = """
import runpy, sys
program = sys.argv[1]
sys.version_info, sys.argv = (3, 9, 2, "final", 0), sys.argv[1:]
sys.path.insert(0, sys.argv[0].rpartition("/utils/")[0] or sys.argv[0].rpartition("/")[0])
runpy.run_path(program, run_name="__main__")
"""


def bare_python(*arguments, cwd):
    """A Python without installed packages."""
    names = ("PATH", "LANG", "SYSTEMROOT")
    env = {name: os.environ[name] for name in names if name in os.environ}
    result = subprocess.run([sys.executable, "-S", *map(str, arguments)], cwd=cwd, env=env,
                            capture_output=True, text=True, timeout=60)  # fmt: skip
    return Finished(result.returncode, result.stdout, result.stderr)


@pytest.mark.parametrize(("program", "missing"), [
    ("evaluate.py", "blake3, filelock, numpy, pillow, pybase64, pydantic, python-dotenv, tqdm, xlsxwriter"),
    ("compare.py", "jinja2, numpy"),
    ("utils/download.py", "filelock, huggingface_hub, python-dotenv"),
])  # fmt: skip
def test_a_python_without_the_packages_names_them_and_how_to_get_them(tmp_path, program, missing):
    result = bare_python(PROJECT / program, "--help", cwd=tmp_path)
    assert_one_line(result, f"{program}: this Python ({sys.executable}) lacks {missing}.",
                    "Activate the environment (. .venv/bin/activate)",
                    "pip install -r requirements/core.txt")  # fmt: skip
    assert len(result.output.splitlines()) == 1


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_python_that_is_too_old_is_named_before_anything_else(tmp_path, program):
    result = bare_python("-c", OLD, PROJECT / program, cwd=tmp_path)
    assert_one_line(result, f"{program}: needs Python 3.11 or newer, and this is 3.9.2")
    assert len(result.output.splitlines()) == 1


@pytest.mark.parametrize("file", [*PROGRAMS, "utils/__init__.py", "utils/errors.py"])
def test_an_old_python_can_read_the_files_that_say_so(file):
    ast.parse((PROJECT / file).read_text("utf-8"), feature_version=(3, 8))


def test_what_a_program_needs_is_listed_in_the_core_requirements():
    listed = (PROJECT / "requirements" / "core.txt").read_text("utf-8")
    for program in PROGRAMS:
        call = re.search(r"stop_unless_ready\(([^)]*)\)", (PROJECT / program).read_text("utf-8"))
        for name in re.findall(r'"(\w+)"', call[1]):
            assert re.search(rf"^{DISTRIBUTIONS.get(name, name)}>=", listed, re.MULTILINE), name


# -- the command line -----------------------------------------------------------------------------

UNKNOWN = 'unknown option --confg; did you mean "--config"?'
COUNT = "expected a whole number from"


@pytest.mark.parametrize(("arguments", "message"), [
    ("--confg x.json", UNKNOWN), ("--confg=x.json", UNKNOWN), ("-config x", UNKNOWN.replace("--confg", "-config")),
    ("configs/my_model.json", "configs/my_model.json: say --config configs/my_model.json"),
    ("configs/my_model.json --check --ping --limit 3", "configs/my_model.json: say --config configs/"),
    ("one.json two.json", "one.json: say --config one.json"),
    ("--check", "--config FILE is missing"), ("", "--config FILE is missing"),
    *[(f"--config x.json {more}", message) for more, message in (
        ("--limt 3 --freh",
         'unknown option --limt; did you mean "--limit"?; unknown option --freh; did you mean "--fresh"?'),
        ("--quickly", "unknown option --quickly"), ("--key=sk-123456", "unknown option --key"),
        ("y.json", "y.json: belongs to no option"),
        ("--mode inferr", "argument --mode: invalid choice: 'inferr' (choose from 'all', "),
        ("--limit many", f"argument --limit: {COUNT} 1 up, got 'many'"),
        ("--limit 0", f"argument --limit: {COUNT} 1 up, got '0'"),
        ("--retry often", f"argument --retry: {COUNT} 0 up, got 'often'"),
        ("--api-nproc 2.5", f"argument --api-nproc: {COUNT} 1 up or auto, got '2.5'"),
        ("--outage -1", "argument --outage: expected a number from 0 up, got '-1'"),
        ("--wait-for-server long", "argument --wait-for-server: expected a number from 0 up, got 'long'"),
        ("--ping", "--ping goes with --check"),
        ("--check --mode eval", "--check is about queries; --mode eval makes none"),
        ("--no-report --embed-originals", "--embed-originals does not go with --no-report"),
        ("--parity y.json --check", "--parity does not go with --check or --mode"),
        ("--fresh --reuse", "--fresh and --reuse exclude each other"))],
])  # fmt: skip
def test_a_command_line_that_is_off_gets_one_line_that_names_the_option(arguments, message, capsys):
    with pytest.raises(SystemExit) as ended:
        parse_arguments(arguments.split())
    shown = capsys.readouterr().err
    assert ended.value.code == 2
    assert shown.startswith(f"evaluate.py: {message}")
    assert shown.endswith("; see --help. Nothing was run.\n") and shown.count("\n") == 1
    assert "sk-123456" not in shown


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
    given = {"data": ["a", "b", "a"], "limit": 3, "outage": 2.5, "report": False, "fresh": True,
             "strict": False, "retry": None}  # fmt: skip
    options = options_of("x", {**given, "data": ["a", "b"]})
    assert options == parse_arguments(typed)
    assert (options.arguments, options_of("x", given).data) == (tuple(typed), ("a", "b"))


@pytest.mark.parametrize(("given", "message"), [
    ({"lmit": 3}, 'run(): unknown option --lmit; did you mean "--limit"?'),
    ({"check": True}, "run(): check makes no results; use the command line"),
    ({"limit": 0}, "run(): argument --limit: expected a whole number from 1 up, got '0'"),
    ({"fresh": True, "reuse": True}, "run(): --fresh and --reuse exclude each other"),
])  # fmt: skip
def test_a_call_from_python_that_is_off_raises_one_line(given, message):
    with pytest.raises(UserError) as caught:
        options_of("x", given)
    assert str(caught.value).startswith(message)
