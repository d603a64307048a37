"""What can be changed for one run: `--set`, a config as a dict, `--quiet`; and what is printed alone."""

import json
import re
import shlex

import pytest

import evaluate
from tests.support.stage import L1, L2, read_log_lines
from utils.config.changes import apply_changes
from utils.errors import UserError


def entry(**more):
    return {"model_path": "u", "generate_cfg": {"max_tokens": 16}, "kwargs": None, **more}


@pytest.mark.parametrize(
    ("change", "path", "value"),
    [
        ("model.m.generate_cfg.temperature=0.2", ("m", "generate_cfg", "temperature"), 0.2),
        ("model.m.generate_cfg.max_tokens=32", ("m", "generate_cfg", "max_tokens"), 32),
        (
            "model.qwen2.5.kwargs.system_prompt=be=brief",
            ("qwen2.5", "kwargs", "system_prompt"),
            "be=brief",
        ),
        ('model."qwen2.5".kwargs.img_size=-1', ("qwen2.5", "kwargs", "img_size"), -1),
        ('model.m.kwargs={"resize": {"factor": 28}}', ("m", "kwargs", "resize"), {"factor": 28}),
        ("model.m.imp_type=openai", ("m", "imp_type"), "openai"),
        ('model.m.secrets=["${KEY}"]', ("m", "secrets"), ["${KEY}"]),
        ("model.m.custom_prompt.GUIElementGrounding=null", ("m", "custom_prompt", L2), None),
        ("model.m.model_path=http://h/v1?model=a", ("m", "model_path"), "http://h/v1?model=a"),
    ],
)
def test_a_change_sets_one_value_as_json_or_as_text(change, path, value):
    config = {"model": {"m": entry(), "qwen2.5": entry(), "qwen2": entry()}, "data": {}}
    assert apply_changes(config, [change]) == []
    result = config["model"]
    for name in path:
        result = result[name]
    assert result == value


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (
            "model.n.generate_cfg.temperature=0.2",
            'model.n.generate_cfg.temperature: the config has no model "n"; it has my-model',
        ),
        (
            "model.my-modl.imp_type=api",
            'the config has no model "my-modl"; did you mean "my-model"?',
        ),
        ("data.GUIElementGroundin.mode=all", 'no data "GUIElementGroundin"; did you mean'),
        (
            "model.my-model.model_path.x=1",
            'model.my-model.model_path.x: model."my-model".model_path is no object; set it as a whole',
        ),
        ("sk-secret", "number 1 has no =; expected KEY=VALUE, as in model.my-model."),
        ("=sk-secret", "the key: a name is missing"),
        ("model.my-model..x=sk-secret", "model.my-model..x: a name is missing"),
    ],
)
def test_a_change_that_leads_nowhere_is_an_error_without_its_value(change, problem):
    [reported] = apply_changes({"model": {"my-model": entry()}, "data": {L2: {}}}, [change])
    assert reported.startswith("--set: ") and problem in reported and "secret" not in reported


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ("model.m.generat_cfg.temperature=1", 'model."m".generat_cfg: unknown key; did you mean'),
        ("model.m.generate_cfg.temprature=1", 'model."m".generate_cfg.temprature: '),
        ("models.m.generate_cfg.temperature=1", 'models: unknown key; did you mean "model"?'),
        (
            "data.GUIElementGrounding.mode=basics",
            'data.GUIElementGrounding.mode: unknown mode "basics"',
        ),
        ('model.m.secrets=["${UNSET_KEY}"]', "UNSET_KEY, which is not set"),
    ],
)
def test_a_changed_config_is_checked_as_if_its_file_said_so(stage, change, problem):
    ran = stage.run("--set", change)
    assert ran.code == 2 and problem in ran.stderr and not ran.requests
    assert f"{stage.home / 'config.json'}: " in ran.stderr


def test_a_change_is_sent_written_down_and_part_of_the_question(stage):
    first = stage.run("--data", L2)
    before = stage.folder()
    changed = stage.run(
        "--data", L2, "--set", "model.m.generate_cfg.temperature=0.2", "model.m.kwargs.own=1"
    )
    assert len(first.requests) == len(changed.requests) == 6
    assert {request.body["temperature"] for request in changed.requests} == {0.2}
    assert stage.folder() != before
    manifest = json.loads((stage.folder() / "manifest.json").read_text())
    assert manifest["config"]["model"]["m"]["generate_cfg"]["temperature"] == 0.2
    assert "--set model.m.generate_cfg.temperature=0.2" in manifest["asking"]["command"]
    again = stage.run("--data", L2, "--set", "model.m.generate_cfg.temperature=0.2")
    assert not again.requests and "settings changed" not in again.output
    assert not stage.run("--data", L2).requests


def test_a_secret_in_a_change_is_hidden(stage):
    secret = "sk-very-secret-0123456789"
    ran = stage.run(
        "--data", L2, "--set", f"model.m.model_path={stage.server.url}?model=a&api_key={secret}"
    )
    assert ran.code == 0 and ran.requests[0].headers["authorization"] == f"Bearer {secret}"
    texts = [path.read_text("utf-8", "replace") for path in stage.written()]
    assert not any(secret in text for text in [*texts, ran.output])


@pytest.fixture
def in_python(stage, monkeypatch):
    """A stage whose folder, data and variables are those of this process."""
    monkeypatch.chdir(stage.home)
    for name in ("EVAL_WORK_DIR", "IMAGE_ROOT_DIR", "L2_USER_PROMPT", "L1_USE_WEIGHTED"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LMUData", str(stage.root))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
    return stage


def test_a_dict_is_run_like_a_file_and_finds_its_answers(in_python, capsys):
    stage = in_python
    config = {"model": stage.model, "data": {L2: stage.data[L2]}}
    [results] = evaluate.run(config, work_dir=stage.work_dir, report=False)
    assert results.datasets == (L2,) and len(stage.server.requests) == 6
    file = stage.config(config)
    evaluate.run(file, work_dir=stage.work_dir, report=False)
    assert len(stage.server.requests) == 6
    run = read_log_lines(stage.log(L2))[0]
    assert run["config_file"]["name"] == "run()"
    assert config["model"]["m"]["model_path"].startswith("http")  # the caller's own is left alone


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        (
            {"model": {"m": {"model_pth": "x"}}, "data": {}},
            'run(): model."m".model_pth: unknown key',
        ),
        ({"model": {"m": object()}}, "run(): the config must hold only what JSON can hold"),
        ({}, "run(): model: is missing"),
    ],
)
def test_problems_of_a_dict_name_the_call(in_python, config, problem):
    with pytest.raises(UserError) as raised:
        evaluate.run(config, work_dir=in_python.work_dir)
    assert any(line.startswith(problem) for line in raised.value.problems)


def test_a_quiet_run_prints_only_what_is_wrong(stage, in_python, capsys):
    assert (lambda ran: (ran.code, ran.output))(stage.run("--quiet")) == (0, "")
    assert stage.scores(L1)["total_sample_num"] == 9
    stage.picture(0).unlink()
    ran = stage.run("--quiet", "--fresh")
    assert ran.code == 1
    lines = ran.output.splitlines()
    assert lines and all(line.startswith(("warning: ", "left out: ")) for line in lines)
    capsys.readouterr()
    evaluate.run(stage.home / "config.json", quiet=True, work_dir=stage.work_dir)
    printed = capsys.readouterr()
    assert all(line.startswith(("warning: ", "left out: ")) for line in printed.out.splitlines())
    assert printed.err == ""
    print("the caller prints as before")
    assert capsys.readouterr().out == "the caller prints as before\n"


def test_the_version_is_one_line_and_needs_no_config(capsys):
    assert evaluate.main(["--version"]) == 0
    assert re.fullmatch(
        r"[\w-]+ \d+\.\d+\.\d+ \(\w+(, changed since)?\)\n", capsys.readouterr().out
    )


def test_the_list_of_runs_is_written_anew_after_a_run_was_deleted(stage, capsys):
    import shutil

    stage.run("--limit", "1")
    stage.run()
    deleted = stage.folder()
    shutil.rmtree(deleted)
    index = stage.work_dir / "index.html"
    assert deleted.name in index.read_text()
    assert evaluate.main(["--runs", "--work-dir", str(stage.work_dir)]) == 0
    printed = capsys.readouterr().out
    [remaining_row] = [
        path for path in (stage.work_dir / "m").iterdir() if path.is_dir() and not path.is_symlink()
    ]
    assert f"partial  {remaining_row}\n1 run: {index.as_uri()}\n" in printed
    assert (
        f"rm -r {stage.work_dir}/MODEL/T" in printed
        and "links into deleted runs removed" in printed
    )
    assert deleted.name not in index.read_text() and remaining_row.name in index.read_text()
    assert all(path.exists() for path in (stage.work_dir / "m").iterdir())
    assert stage.run().code == 0
    assert evaluate.main(["--runs", "--work-dir", str(stage.home / "nowhere")]) == 2
    assert "nowhere: there is no such folder" in capsys.readouterr().err


@pytest.mark.parametrize(
    "name", ["plain", "results on other machine", "it's", "$HOME", "a;b", "tab\there", "*"]
)
def test_the_command_that_deletes_a_run_names_its_folder_and_no_other(name, tmp_path, capsys):
    work_dir = tmp_path / name
    work_dir.mkdir()
    assert evaluate.main(["--runs", "--work-dir", str(work_dir)]) == 0
    commands = [
        shlex.split(line) for line in capsys.readouterr().out.splitlines() if line.startswith("  ")
    ]
    assert commands == [
        ["rm", "-r", f"{work_dir}/MODEL/T20260101_Gab12cd34"],
        ["python", "evaluate.py", "--runs", "--work-dir", str(work_dir)],
    ]


@pytest.mark.parametrize("level", ["L2", "l2"])
def test_a_change_may_name_a_data_set_by_its_level(level, stage):
    result = stage.run("--check", "--set", f"data.{level}.mode=basic", "--data", "L2")
    assert result.code == 0, result.output
    assert f"{L2}: 3 samples, mode basic" in result.stdout


@pytest.mark.parametrize(
    ("level", "problem"),
    [("L3", 'the config has no data "L3"; it has'), ("L7", 'the config has no data "L7"; it has')],
)
def test_a_level_that_the_config_lacks_is_no_name_for_a_change(level, problem, stage):
    result = stage.run("--check", "--set", f"data.{level}.mode=basic")
    assert result.code == 2 and problem in result.stderr


def test_a_data_set_that_is_called_like_a_level_keeps_its_name():
    config = {"data": {L2: {"mode": "all"}, "L2": {"mode": "all"}}}
    assert apply_changes(config, ["data.L2.mode=basic"], {"L2": L2}) == []
    assert config["data"] == {L2: {"mode": "all"}, "L2": {"mode": "basic"}}
