"""`load_run` and `run`: results as pandas frames, in whatever thread, errors raised."""

import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import evaluate
from tests.support import runs
from tests.support.finished import L1, L2, l1_set, l2_set, make_run, write_log
from tests.support.mock_server import Reply
from tests.support.stage import KEY
from utils.errors import UserError
from utils.store.load import SAMPLE_COLUMNS, ResultsOfModels, load_run


@pytest.fixture
def config(stage, monkeypatch):
    """A config for a server that answers right; in a folder with data and without `.env`."""
    monkeypatch.chdir(stage.home)
    for name in ("EVAL_WORK_DIR", "IMAGE_ROOT_DIR", "L2_USER_PROMPT", "L1_USE_WEIGHTED"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LMUData", str(stage.root))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
    return stage.config({"model": dict.fromkeys("mn", stage.model["m"]), "data": stage.data})


def test_samples_are_one_frame_over_all_data_sets(tmp_path):
    failed = l2_set("x.", error={"class": "http", "message": "HTTP 500"}, status="failed")
    run = load_run(make_run(tmp_path / "r", {L2: failed, L1: l1_set("x..")}))
    frame = run.samples
    assert (run.datasets, tuple(frame.columns)) == ((L1, L2), SAMPLE_COLUMNS)
    assert frame.groupby("dataset")["hit"].sum().to_dict() == {L1: 1, L2: 1}
    assert frame["prompt_tokens"].sum() == 5 * 1204
    assert list(frame["error"].dropna()) == ["http: HTTP 500"] * 2
    assert str(frame["asked_at"].dtype).endswith("UTC]")
    assert frame["box_frac"].iloc[-1] == [0.1, 0.2, 0.3, 0.4]


def test_what_is_loaded_is_that_of_the_files_and_a_table_unstacks_as_it_was_printed(tmp_path):
    def cell(value):
        return {"value": value, "low": value - 1, "high": None, "samples": 4, "pictures": 2}

    table = {
        "columns": ["os_windows", "os_ios", "Overall"],
        "rows": [
            {"name": "easy", "cells": [cell(50), None, cell(40)]},
            {"name": "hard", "cells": [cell(30), cell(20), cell(10)]},
        ],
    }
    folder = make_run(
        tmp_path / "r",
        {L1: l1_set("x..")},
        tables={L1: table},
        manifest={"format": 1},
        partial=True,
    )
    run = load_run(str(folder))
    assert (run.model, run.partial, run.manifest) == ("m", (L1,), {"format": 1})
    assert run.scores[L1]["total_sample_num"] == 3
    frame = run.table(L1)
    assert frame.loc[("hard", "os_ios")].to_dict() == pytest.approx(
        {"value": 20, "low": 19, "high": float("nan"), "samples": 4, "images": 2}, nan_ok=True
    )
    wide = frame["value"].unstack()
    assert (list(wide.index), list(wide.columns)) == (["easy", "hard"], table["columns"])
    assert len(frame) == 5


INTERVAL = {"value": 12.345, "low": 10.0, "high": 15.06}
SHOWN = [
    ({"average": INTERVAL}, "average 12.35 [10.0–15.1]", "<td>12.35</td><td>10.0–15.1</td>"),
    ({"average": {"value": 0.0}}, "average 0.00", "<td>0.00</td><td></td>"),
    ({"average": {"value": None}}, "average -", "<td>-</td><td></td>"),
    ({"a<b>": {"value": 1.0}}, "a<b> 1.00", "<td>a&lt;b&gt;</td><td>1.00</td>"),
    ({}, "no score", "<td>no score"),
]


@pytest.mark.parametrize(("figures", "text", "html"), SHOWN)
def test_results_show_their_figures_however_they_are_shown(tmp_path, figures, text, html):
    entry = {"level": "L2", "figures": figures}
    folder = make_run(
        tmp_path / "r", {L2: l2_set("x.")}, model="<m>", manifest={"datasets": {L2: entry}}
    )
    run = load_run(folder)
    assert str(run) == repr(run)
    assert str(run).startswith(f"<m>\n  L2: {text}")
    assert html in run._repr_html_() and "&lt;m&gt;" in run._repr_html_()
    both = ResultsOfModels([run, run])
    assert str(both) == repr(both) == f"{run}\n{run}"
    assert both._repr_html_() == run._repr_html_() * 2


def test_what_run_returns_is_a_list_that_shows_figures(config):
    results = evaluate.run(config, quiet=True)
    assert isinstance(results, list)
    assert [result.model for result in results] == ["m", "n"]
    loaded = [load_run(result.folder) for result in results]
    assert str(results) == "\n".join(map(str, loaded))
    assert "average 100.00" in str(results)


@pytest.mark.parametrize(
    ("ask", "expected_text"),
    [
        (lambda run: run.table("L2"), "was not scored on 'L2'; scored: GUIElementGrounding"),
        (lambda run: run.table(L2), "has no table yet; run --mode eval again"),
        (lambda run: load_run(run.folder / "nowhere"), "nowhere: there is no such folder$"),
        *[
            (
                lambda run, folder=folder: load_run(run.folder / folder),
                "has a log but no scored samples",
            )
            for folder in ("log/m", "log/m/T20260101_Gab")
        ],
        (lambda run: run.samples, "line 4 is cut off or damaged; run --mode eval again"),
    ],
)
def test_what_is_not_there_is_reported(tmp_path, ask, expected_text):
    run = load_run(make_run(tmp_path / "r", {L2: l2_set("x.")}, tables={L2: {"rows": []}}))
    run.analysis[L2].clear()
    with run.files[L2].samples.open("a") as file:
        file.write('{"torn": ')
    write_log(tmp_path / "r" / "log" / "m" / "T20260101_Gab", L1, model="my_samples_v1")
    with pytest.raises(UserError, match=expected_text):
        ask(run)


def test_loading_a_run_needs_no_pandas_until_a_frame_is_asked_for(tmp_path):
    script = (
        "import sys; from evaluate import load_run; run = load_run(sys.argv[1]); run.scores\n"
        "before = 'pandas' in sys.modules; run.samples\n"
        "print(before, 'pandas' in sys.modules, 'torch' in sys.modules)"
    )
    command = [sys.executable, "-c", script, make_run(tmp_path / "r", {L2: l2_set("x.")})]
    done = subprocess.run(
        command,
        cwd=runs.PROJECT,
        env=runs.environment(),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout.split() == ["False", "True", "False"], done.stderr


def test_a_run_from_another_thread_returns_each_models_results(config):
    results = []
    streams = (sys.stdout, sys.stderr, sys.excepthook, threading.excepthook)
    thread = threading.Thread(target=lambda: results.extend(evaluate.run(config, api_nproc=2)))
    thread.start()
    thread.join()
    summaries = [(run.model, run.datasets, run.partial) for run in results]
    assert summaries == [("m", (L1, L2), ()), ("n", (L1, L2), ())]
    assert results[0].samples["hit"].mean() == 1.0
    assert results[0].manifest["datasets"][L2]["samples"] == 6
    assert (results[0].figures["L1"]["overall"], results[0].figures["L2"]["average"]) == (100, 100)
    assert str(results[0]).splitlines()[:2] == [
        "m",
        "  L1: easy 100.00, medium 100.00, hard 100.00, overall 100.00",
    ]
    assert (sys.stdout, sys.stderr, sys.excepthook, threading.excepthook) == streams
    [inferred] = evaluate.run(config, model="m", mode="infer")  # no scores of the earlier run
    assert (inferred.model, inferred.datasets, dict(inferred.scores)) == ("m", (), {})
    assert (set(inferred.manifest["datasets"]), len(inferred.samples)) == ({L1, L2}, 0)


def test_options_are_those_of_the_command_line_and_stand_in_log_and_manifest(config, tmp_path):
    options = {"data": L2, "report": False, "work_dir": tmp_path / "outputs"}
    [result] = evaluate.run(config, model="m", **options)
    [limited] = evaluate.run(config, model=["m"], limit=2, **options)
    assert (result.partial, len(result.samples)) == ((), 6)
    assert (limited.datasets, limited.partial, len(limited.samples)) == ((L2,), (L2,), 2)
    command = result.manifest["asking"]["command"].split()
    assert [*command[:2], command[2].partition("=")[0]] == ["python", "evaluate.py", "--config"]
    assert {"--model=m", "--data=GUIElementGrounding", "--no-report"} <= set(command)
    log = (result.folder / f"m_{L2}.jsonl").read_text().splitlines()
    assert "--no-report" in json.loads(log[0])["arguments"]
    assert (
        load_run(tmp_path / "outputs" / "m").folder == result.folder
    )  # the newest with all samples
    assert len(load_run(result.folder).samples) == 6


@pytest.mark.parametrize(
    ("options", "expected_text"),
    [
        ({"modell": "m"}, 'run(): unknown option modell; did you mean "model"?'),
        ({"check": True}, "run(): check returns no results; use it on the command line"),
        ({"limit": 0}, "run(): limit=0: expected a whole number of at least 1, got '0'"),
        ({"fresh": True, "reuse": True}, "run(): --fresh and --reuse cannot be combined"),
        ({"model": "x"}, "--model x: not in the config"),
        ({"mode": "eval"}, f'model "m", {L1}: no log under'),
    ],
)
def test_problems_are_raised_and_not_printed(config, capsys, options, expected_text):
    with pytest.raises(UserError) as caught:
        evaluate.run(config, **options)
    assert expected_text in str(caught.value)
    assert "problem" not in "".join(capsys.readouterr())


def test_a_run_that_is_stopped_raises_without_the_key(config, stage):
    stage.server.answer = lambda request: Reply(status=401, body=f"bad key {KEY}".encode())
    with pytest.raises(UserError) as caught:
        evaluate.run(config, model="m", report=False)
    assert (KEY in str(caught.value), "401" in str(caught.value)) == (False, True)
    assert "All answers are kept" not in str(caught.value)  # there is none


def test_a_run_that_is_stopped_halfway_names_the_folder_of_its_answers(config, stage):
    [first] = evaluate.run(config, model="m", report=False, limit=2)
    stage.server.answer = lambda request: Reply(status=401, body=b"this key has been revoked")
    with pytest.raises(UserError) as caught:
        evaluate.run(config, model="m", report=False)
    [line] = [text for text in caught.value.problems if text.startswith("All answers are kept: ")]
    folders = [Path(text) for text in line.partition(": ")[2].split(", ")]
    assert first.folder in folders  # perhaps also the second one, with copies of its answers
