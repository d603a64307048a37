"""The first second of a program: what it says, and what Ctrl-C does, before its imports are done."""

import json

import pytest

from tests.support.runs import PROJECT, environment, run_process

CONFIG = ("--config", PROJECT / "configs" / "config_demo.json")
SAMPLES = PROJECT / "sample_data"
STARTING = "evaluate.py: starting\n"
AT_IMPORT = """
import os, signal, sys

{before}

class AtImport:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            {action}

sys.meta_path.insert(0, AtImport())
"""
CTRL_C = "os.kill(os.getpid(), signal.SIGINT)"
POWER_CUT = "os._exit(3)"


@pytest.fixture
def run_until(tmp_path):
    """Runs a program that does something when it comes to import a certain module."""

    def run(module, action, program, *arguments, before="", **env):
        folder = tmp_path / "site"
        folder.mkdir()
        hook = AT_IMPORT.format(module=module, action=action, before=before)
        (folder / "sitecustomize.py").write_text(hook)
        variables = environment(PYTHONPATH=str(folder), **env)
        return run_process(program, *arguments, cwd=tmp_path, env=variables)

    return run


@pytest.mark.parametrize(
    ("program", "module"),
    [
        ("evaluate.py", "benchmarks"),
        ("evaluate.py", "numpy"),
        ("evaluate.py", "pydantic"),
        ("evaluate.py", "models"),
        ("evaluate.py", "utils.config.options"),
        ("evaluate.py", "utils.session.start"),
        ("compare.py", "numpy"),
        ("compare.py", "utils.session.compare"),
        ("utils/download.py", "utils.datasets.hub"),
    ],
)
def test_ctrl_c_during_the_imports_is_one_line_and_130(run_until, program, module):
    arguments = CONFIG if program == "evaluate.py" else ()
    ended = run_until(module, CTRL_C, program, *arguments)
    assert (ended.code, ended.stdout) == (130, "Interrupted. Nothing was run.\n")
    assert ended.stderr == (STARTING if program == "evaluate.py" else "")


@pytest.mark.parametrize("arguments", [CONFIG, ("--check", *CONFIG), ("--config", "none.json")])
def test_a_line_says_at_once_that_the_program_starts(run_until, arguments):
    ended = run_until("benchmarks", POWER_CUT, "evaluate.py", *arguments)
    assert (ended.code, ended.stdout, ended.stderr) == (3, "", STARTING)


@pytest.mark.parametrize(
    ("arguments", "env"),
    [
        (("--quiet", *CONFIG), {}),
        (("--help",), {}),
        (("--version",), {}),
        (("--recipes",), {}),
        (CONFIG, {"RANK": "1", "WORLD_SIZE": "2"}),
    ],
)
def test_what_is_quiet_or_read_by_others_begins_without_a_line(run_until, arguments, env):
    ended = run_until("benchmarks", POWER_CUT, "evaluate.py", *arguments, **env)
    assert (ended.code, ended.stdout, ended.stderr) == (3, "", "")


@pytest.mark.parametrize(
    ("module", "arguments", "line"),
    [
        ("models.recipes", ("--recipes",), "Nothing was run."),
        ("utils.session.compare", ("--compare", "a", "b"), "Nothing was run."),
        ("mine", ("--config", "mine.json"), "Nothing was run."),
        ("utils.session.checks.command", ("--check", *CONFIG), "There is no answer yet: "),
    ],
)
def test_ctrl_c_before_the_first_answer_is_one_line_and_130(
    run_until, tmp_path, module, arguments, line
):
    (tmp_path / "mine.py").write_text("def read(response, meta): ...")
    entry = {"model_path": "http://127.0.0.1:9/v1?model=m"}
    data = {"GUIElementGrounding": {"parse_function": "mine.read"}}
    (tmp_path / "mine.json").write_text(json.dumps({"model": {"m": entry}, "data": data}))
    ended = run_until(module, CTRL_C, "evaluate.py", *arguments, LMUData=str(SAMPLES))
    assert (ended.code, "Traceback" in ended.output) == (130, False)
    assert f"Interrupted. {line}" in ended.stdout


def test_a_job_whose_shell_ignores_ctrl_c_goes_on(run_until):
    ignored = "signal.signal(signal.SIGINT, signal.SIG_IGN)"
    ended = run_until("benchmarks", CTRL_C, "evaluate.py", "--version", before=ignored)
    assert (ended.code, ended.stderr) == (0, "")


def test_ctrl_c_while_runs_are_compared_is_one_line_and_130(tmp_path, run_until):
    is_work = 'event == "open" and args[0] == os.getcwd()'  # whether the pages can be written there
    hook = f"sys.addaudithook(lambda event, args: {is_work} and {CTRL_C})"
    ended = run_until("no module", "pass", "compare.py", "a", "b", before=hook)
    assert (ended.code, ended.stderr) == (130, "")
    assert ended.stdout.startswith("Interrupted. Files may be missing")
