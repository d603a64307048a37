"""`--mode eval --doubtful FILE`: a second figure without the rows that `compare.py --headroom` doubts."""

import json

import pytest

from tests.support.mock_server import Reply
from tests.support.stage import L1, L2
from utils.comparing.headroom import FILE
from utils.session.compare import main as compare

PICTURES = [("os_web", (400, 300))] * 3  # two rows of L2 on each
RIGHT, ELSEWHERE = "(0.2, 0.15)", "(0.9, 0.9)"
MODELS = {name: {"model_path": f"{{url}}?api_key=test-key-123456&model={name}"} for name in "abc"}


def answer(request):
    """All models miss one row in the same place; the model a misses another row, too."""
    is_doubtful = "basic 0" in request.text
    is_missed = is_doubtful or (request.body["model"] == "a" and "basic 1" in request.text)
    return Reply(ELSEWHERE if is_missed else RIGHT)


@pytest.fixture
def stage(staged):
    stage = staged(pictures=PICTURES, answer=answer)

    def name_rows(rows):
        for number, row in enumerate(rows):
            row["instruction"] = f"{row['grounding_type']} {number // 2}"

    stage.change_annotations("L2", name_rows)
    return stage


@pytest.fixture
def rows_file(stage):
    assert stage.evaluate(MODELS, "--no-report", data={L2: {"mode": "all"}}).code == 0
    folders = [str(stage.folder(name)) for name in MODELS]
    output = stage.home / "compared"
    assert compare([*folders, "--headroom", "--output", str(output)]) == 0
    return output / FILE


def test_a_second_figure_leaves_doubtful_rows_out_and_the_official_one_stays(stage, rows_file):
    before = stage.scores(L2, "a")
    run = stage.run("--model", "a", "--mode", "eval", "--doubtful", rows_file)
    assert run.code == 0, run.output
    line = f"average without 1 doubtful row of {FILE}: 75.00, n = 5; not the official figure"
    assert line in run.stdout
    assert stage.scores(L2, "a") == before
    [path] = stage.folder("a").glob("*_analysis.json")
    section = json.loads(path.read_text())["without_doubtful"]
    assert (section["left_out"], section["samples"], section["name"]) == (1, 5, "average")
    manifest = json.loads((stage.folder("a") / "manifest.json").read_text())
    assert round(manifest["datasets"][L2]["figures"]["average"]["value"], 2) == 66.67
    report = (stage.folder("a") / "report" / "data" / "summary_0.js").read_text()
    assert f"Average without 1 doubtful row of {FILE}" in report

    again = stage.run("--model", "a", "--mode", "eval")
    assert "doubtful" not in again.output
    assert "without_doubtful" not in json.loads(path.read_text())


def test_rows_of_other_annotations_are_refused(stage, rows_file):
    content = json.loads(rows_file.read_text())
    content["datasets"][L2]["annotations"] = ["0" * 64]
    rows_file.write_text(json.dumps(content))
    run = stage.run("--model", "a", "--mode", "eval", "--doubtful", rows_file, "--no-report")
    assert run.code == 1
    assert f"the rows of {FILE} are of other annotations than this run's" in run.stderr
    assert "SHA-256 000000000000, not " in run.stderr


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (None, "there is no such file; make one with compare.py"),
        ("{", "cannot be read: "),
        ("[]", "is no file of doubtful rows"),
        ({"format": 1, "datasets": {L2: {}}}, "is of format 1, expected 2; make one with"),
        ({"format": 2, "datasets": {L1: {}}}, f"has rows of {L1}, not of {L2}"),
    ],
)
def test_what_is_no_file_of_doubtful_rows_is_named_before_anything_is_scored(
    staged, content, problem
):
    stage = staged()
    file = stage.home / "rows.json"
    if content is not None:
        file.write_text(content if isinstance(content, str) else json.dumps(content))
    run = stage.evaluate(
        stage.model, "--mode", "eval", "--doubtful", file, data={L2: {"mode": "all"}}
    )
    assert run.code == 2
    assert problem in run.stderr


def test_the_option_goes_with_scoring_alone(staged):
    run = staged().run("--doubtful", "rows.json")
    assert run.code == 2
    assert "--doubtful works only with --mode eval" in run.stderr
