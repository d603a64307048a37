"""A run over several models ends with their scores and their comparison."""

import json

import pytest

from tests.support.mock_server import Reply
from tests.support.stage import API, L1, L2, TWELVE_L2_SAMPLES, right_answers


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
    names = ("base  ", "good  ", "other ")
    table = [line.split() for line in closing.splitlines() if line.startswith(names)]
    assert table[3:] == [
        ["base", "0.00", "0.00", "0.00"],
        ["good", "100.00", "100.00", "100.00"],
        ["other", "0.00", "0.00", "0.00"],
    ]
    assert f"L2 {L2} · average: good − base = +100.0\n" in closing
    assert f"L2 {L2} · average: other − base = 0.0\n" in closing
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
