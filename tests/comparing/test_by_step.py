"""`compare.py --by-step`: official figures of checkpoints over the steps of their training."""

import csv
import io
import json
import re

import pytest

from utils.comparing.training import as_csv, as_text, read_training
from utils.errors import UserError
from utils.session.compare import main

L2 = "GUIElementGrounding"


def scored(
    work_dir,
    model,
    average,
    *,
    checkpoint="",
    partial=False,
    low=None,
    high=None,
    others=None,
):
    """A scored run, as far as a figure over steps reads it; `others`: figures in place of it."""
    folder = work_dir / model / "T20261101_Gabc12345"
    folder.mkdir(parents=True)
    figure = {"value": average, "low": low, "high": high, "samples": 10, "pictures": 10}
    entry = {
        "level": "L2",
        "partial": partial,
        "figures": {"average": figure} if average is not None else {},
    }
    if others is not None:
        entry["figures"] = {name: {**figure, "value": value} for name, value in others.items()}
    config = {"model": {model: {"model_path": checkpoint}}}
    manifest = {"format": 3, "model": model, "config": config, "datasets": {L2: entry}}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    head = {"format": 2, "model": model, "dataset": L2}
    (folder / f"{model}_{L2}_samples.jsonl").write_text(json.dumps(head) + "\n")
    (folder / f"{model}_{L2}.jsonl").write_text("")
    return folder


@pytest.mark.parametrize(
    ("model", "checkpoint", "series", "step"),
    [
        ("run7-step-1000", "", "run7", 1000),
        ("qwen2.5-vl-7b_checkpoint-20", "", "qwen2.5-vl-7b", 20),
        ("m-global_step40", "", "m", 40),
        ("m", "/ckpts/run3/iter_0000900/hf", "m", 900),
        ("m-epoch3-step-70", "", "m-epoch3", 70),
    ],
)
def test_the_step_stands_in_the_name_or_in_the_checkpoint(
    tmp_path, model, checkpoint, series, step
):
    scored(tmp_path, model, 50.0, checkpoint=checkpoint)
    scored(tmp_path, "other-step-1", 50.0)
    training = read_training([str(tmp_path)])
    assert (series, step) in [(run.series, run.step) for run in training.checkpoints]


@pytest.mark.parametrize("name", ["arbiter2", "jupiter-7b", "Footstep_3"])
def test_the_end_of_another_word_is_no_step(tmp_path, name):
    for model in (name, "m-step-1", "m_step2"):
        scored(tmp_path, model, 50.0)
    training = read_training([str(tmp_path)])
    assert [run.step for run in training.checkpoints if run.model == name] == []
    assert any("left out" in note and name in note for note in training.notes)


@pytest.mark.parametrize("is_named", [False, True])
def test_names_that_are_steps_alone_are_one_series(tmp_path, is_named):
    folders = {step: scored(tmp_path / "run7", f"step{step}", 50.0) for step in ("500", "10k")}
    paths = [str(tmp_path / "run7")]
    if is_named:
        paths = [f"step-{step}={folder}" for step, folder in folders.items()]
    places = [(run.series, run.step) for run in read_training(paths).checkpoints]
    assert places == [("run7", 500), ("run7", 10_000)]


def test_one_model_in_a_work_dir_for_each_step_is_one_series(tmp_path):
    for step in (100, 20):
        scored(tmp_path / f"step-{step}", "run7", float(step) / 2)
    training = read_training([str(tmp_path / f"step-{step}") for step in (100, 20)])
    assert [(run.series, run.step) for run in training.checkpoints] == [("run7", 20), ("run7", 100)]


def test_a_name_before_the_folder_tells_the_step_where_nothing_else_does(tmp_path):
    first, second = scored(tmp_path, "warm", 1.0), scored(tmp_path, "cold", 2.0)
    training = read_training([f"a-step-5={first}", f"a-step-3={second}"])
    assert [(run.series, run.step, run.model) for run in training.checkpoints] == [
        ("a", 3, "cold"),
        ("a", 5, "warm"),
    ]


def test_figures_stand_in_the_order_of_the_steps(tmp_path):
    scored(tmp_path, "m-step-900", 61.5, low=50.0, high=70.0)
    scored(tmp_path, "m-step-1000", 58.0, partial=True)
    scored(tmp_path, "m-step-50", 12.25)
    scored(tmp_path, "baseline", 40.0)
    training = read_training([str(tmp_path)])
    assert as_text(training).splitlines()[:8] == [
        f"{tmp_path / 'baseline'}: left out, because neither its name nor its checkpoint has a step. "
        f"To give it one: my-model-step-0={tmp_path / 'baseline'}",
        "",
        "L2 GUIElementGrounding · in %, 95 % intervals in brackets",
        "series     step            average",
        "m            50              12.25",
        "m           900  61.50 (50.0–70.0)",
        "m       1,000 ‡              58.00",
        "highest average: m, step 900",
    ]
    rows = [*csv.DictReader(io.StringIO(as_csv(training)))]
    assert [(row["step"], row["value"], row["partial"]) for row in rows] == [
        ("50", "12.25", "False"),
        ("900", "61.5", "False"),
        ("1000", "58.0", "True"),
    ]


@pytest.mark.parametrize(
    ("names", "headline"),
    [
        (["Type", "Grounding", "SR"], "SR"),  # of recorded steps
        (["loose match", "exact"], "exact"),  # of an own benchmark
        (["SR 15", "EQA* 15", "SR 50", "EQA* 50"], "SR 50"),
        (["basic", "advanced", "average"], "average"),
    ],
)
def test_the_best_checkpoint_has_the_highest_main_figure(tmp_path, names, headline):
    for step, is_best in ((100, True), (200, False)):
        values = {name: 60.0 if (name == headline) == is_best else 40.0 for name in names}
        scored(tmp_path / "outputs", f"m-step-{step}", None, others=values)
    training = read_training([str(tmp_path / "outputs")])
    text = as_text(training)
    assert f"highest {headline}: m, step 100" in text
    assert text.splitlines()[2].split() == " ".join(["series", "step", *names]).split()
    rows = [*csv.DictReader(io.StringIO(as_csv(training)))]
    assert [row["figure"] for row in rows] == names * 2


def test_the_page_has_a_line_for_each_training_and_a_point_for_each_checkpoint(tmp_path, capsys):
    for model, average in {"a-step-1": 10.0, "a-step-2": 20.0, "<b>-step-1": 30.0}.items():
        scored(tmp_path / "outputs", model, average, low=average - 5, high=average + 5)
    code = main([str(tmp_path / "outputs"), "--by-step", "--output", str(tmp_path / "out")])
    page = (tmp_path / "out/by_step.html").read_text()
    assert (code, page.count("<polyline"), page.count("<circle")) == (0, 2, 3)
    assert "a, step 2: 20.00 15.0–25.0" in page
    assert "<b>" not in page and "&lt;b&gt;" in page
    assert re.search(r"Page: file://\S+by_step\.html", capsys.readouterr().out)


@pytest.mark.parametrize(
    ("models", "options", "problem"),
    [
        (
            {"m-step-1": 5.0},
            (),
            "--by-step needs two checkpoints or more, but only 1 of 1 run",
        ),
        ({"m": 5.0, "n": 5.0}, (), "0 of 2 runs"),
        ({"m-step-1": None, "m-step-2": None}, (), "--by-step: no checkpoint has a figure"),
        ({"m-step-1": 5.0, "m-step-2": 6.0}, ("--why",), "--by-step cannot be combined with --why"),
        (
            {"m-step-1": 5.0, "m-step-2": 6.0},
            ("--format", "latex"),
            "--by-step cannot be combined with --format latex",
        ),
    ],
)
def test_what_has_no_steps_is_one_message(tmp_path, capsys, models, options, problem):
    for model, average in models.items():
        scored(tmp_path, model, average)
    assert main([str(tmp_path), "--by-step", "--output", str(tmp_path / "out"), *options]) == 2
    assert problem in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_folder_that_is_no_run_is_named(tmp_path):
    with pytest.raises(UserError, match="there is no such folder"):
        read_training([str(tmp_path / "missing"), str(tmp_path / "gone")])
