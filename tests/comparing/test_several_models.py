"""A run over several models ends with their scores and their comparison."""

import json

import pytest

from tests.support.mock_server import Reply
from tests.support.stage import API, L1, L2, TWELVE_L2_SAMPLES, right_answers
from utils.session.compare import main


def answer(request):
    """As it should be for "good", beside the target and a wrong letter for the others."""
    is_good = request.body["model"] == "good"
    return right_answers(request) if is_good else Reply("(0.9, 0.9)\nAnswer: C")


@pytest.fixture
def stage(staged):
    return staged(answer=answer, pictures=TWELVE_L2_SAMPLES)


def named(*names):
    path = API["model_path"]
    return {name: {**API, "model_path": path.replace("=mock", f"={name}")} for name in names}


def test_it_ends_with_a_table_of_all_models_and_their_differences(stage):
    ran = stage.evaluate(named("base", "good", "other"))
    assert ran.code == 0, ran.output
    closing = ran.stdout[ran.stdout.rindex(f"L1 {L1} · accuracy in %") :]
    table = [line.split() for line in closing.splitlines() if line.startswith((" 1", " 2", " 3"))]
    assert table[3:] == [
        ["1", "good", "100.00", "100.00", "100.00", "+100.0", "-"],
        ["2", "base", "0.00", "0.00", "0.00", "A"],
        ["3", "other", "0.00", "0.00", "0.00", "0.0", "-"],
    ]
    assert f"L2 {L2} · accuracy in %, sorted by average; A is base\n" in closing
    page = stage.work_dir / "comparisons" / "base_vs_good_vs_other" / "comparison.html"
    assert closing.splitlines()[-1] == f"Comparison: {page.as_uri()}"
    runs = json.loads((page.parent / "comparison_files" / "runs.json").read_text())
    assert [(page.parent / run).resolve() for run in runs] == [
        stage.folder(name).resolve() for name in ("base", "good", "other")
    ]


@pytest.mark.parametrize(
    ("arguments", "has_table", "has_page"),
    [
        (["--no-report"], True, False),
        (["--mode", "infer"], False, False),
        (["--model", "good"], False, False),
        (["--data", L2, "--limit", "3"], True, True),
    ],
)
def test_without_reports_or_several_models_there_is_no_page(stage, arguments, has_table, has_page):
    ran = stage.evaluate(named("base", "good"), *arguments)
    assert ran.code == 0, ran.output
    assert ("good − base" in ran.stdout, "Comparison: " in ran.stdout) == (has_table, has_page)
    assert (stage.work_dir / "comparisons").exists() == has_page


def test_the_exit_code_is_that_of_the_run_whatever_becomes_of_the_comparison(stage):
    stage.work_dir.mkdir()
    (stage.work_dir / "comparisons").write_text("a file of mine")
    ran = stage.evaluate(named("base", "good"), data={L2: {"mode": "all"}})
    assert ran.code == 0, ran.output
    assert "good − base" in ran.stdout and "warning: the models were not compared" in ran.stdout


def test_a_part_never_replaces_the_comparison_of_the_whole(stage):
    models = named("base", "good")
    assert stage.evaluate(models).code == 0
    full_folder = stage.work_dir / "comparisons" / "base_vs_good"
    before = {path: path.read_bytes() for path in full_folder.rglob("*") if path.is_file()}
    ran = stage.evaluate(models, "--limit", "4")
    assert "comparisons/base_vs_good_partial/comparison.html" in ran.stdout
    assert {path: path.read_bytes() for path in full_folder.rglob("*") if path.is_file()} == before


def test_a_work_dir_and_all_that_lies_in_it_are_compared_as_its_models(stage, monkeypatch, capsys):
    assert stage.evaluate(named("base", "good"), data={L2: {"mode": "all"}}).code == 0
    (stage.work_dir / "started" / "T20260101_Gaa").mkdir(parents=True)
    (stage.work_dir / "started" / "T20260101_Gaa" / f"started_{L2}.jsonl").touch()
    monkeypatch.chdir(stage.home)
    paths = sorted(str(path) for path in stage.work_dir.iterdir() if not path.name.startswith("."))
    everything = [path for path in paths if not path.endswith("started")]
    assert any(path.endswith("comparisons") for path in everything)
    for arguments in ([str(stage.work_dir)], everything):
        assert main([*arguments, "--format", "text"]) == 0
        printed = capsys.readouterr().out
        assert "good − base" in printed
        is_work_dir = len(arguments) == 1
        assert ("started: left out, nothing was scored" in printed) == is_work_dir
        assert ("comparisons: left out" in printed) != is_work_dir
    assert main(["out/good", "out", "--format", "text"]) == 0  # one of them as the baseline
    assert "base − good = " in capsys.readouterr().out
    assert main([str(stage.work_dir / "base")]) == 2
    assert "only one run" in capsys.readouterr().err
