"""What pages on benchmarks, audits and frames show and list is what there is."""

import json
import re
import shutil

import pytest

from evaluate import load_run
from tests.support.mock_server import MockServer, Reply
from tests.support.runs import PICTURES, PROJECT
from tests.support.stage import Stage
from utils.analysis.columns import FIELDS
from utils.store.load import SAMPLE_COLUMNS

PAGE = (PROJECT / "docs/own_benchmark.md").read_text("utf-8")
FILES = dict(
    re.findall(r"^```python title=\"(\w+)\.py\"\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
)
OPTIONS = {"A": "red", "B": "blue"}


@pytest.fixture
def run_of_page(tmp_path):
    """A function that runs a class of the page on some rows, with a model that says one thing."""
    with MockServer(lambda request: Reply(reply)) as server:
        stage = Stage.make(tmp_path, server, PICTURES)
        reply = ""

        def run(module, kind, folder, rows, text):
            nonlocal reply
            reply = text
            (stage.root / folder / "images").mkdir(parents=True)
            shutil.copy(stage.picture(0), stage.root / folder / "images/a.png")
            (stage.root / folder / "questions.json").write_text(json.dumps(rows))
            stage.module(FILES[module], module)
            stage.data = {kind: {"benchmark": f"{module}.{kind}"}}
            assert stage.run("--check").code == 0
            ran = stage.run()
            assert ran.code == 0, ran.output
            return load_run(stage.folder()), ran

        yield run


def test_multiple_choice_shows_the_options_and_reads_a_letter(run_of_page):
    rows = [
        {"id": 1, "image": "a.png", "question": "Which one?", "options": OPTIONS, "answer": "B"},
        {"id": 2, "image": "a.png", "question": "And now?", "options": OPTIONS, "answer": "A"},
    ]
    text = "<think>A is red.</think>The answer is B."
    results, ran = run_of_page("my_choices", "MyChoices", "my-choices", rows, text)
    asked = "Which one?\nA. red\nB. blue"
    assert sum(asked in request.text for request in ran.requests) == 1
    assert [*results.samples["answered"]] == ["B", "B"]
    assert [*results.samples["hit"]] == [1, 0]


def test_partial_credit_stands_beside_the_score(run_of_page):
    rows = [
        {
            "image": "a.png",
            "question": "Name the days.",
            "words": ["Monday", "Friday"],
            "topic": "days",
        },
        {"image": "a.png", "question": "Name it.", "words": ["Monday"], "topic": None},
    ]
    results, ran = run_of_page("my_credits", "MyCredits", "my-credits", rows, "It is Monday")
    scores = results.scores["MyCredits"]
    assert (scores["accuracy"], scores["mean_credit"]) == (50, 75)
    averages = results.analysis["MyCredits"]["averages"]
    assert averages["mean credit"]["value"] == 75
    table = results.analysis["MyCredits"]["table"]
    assert table["columns"] == ["days", "none", "Overall"]
    assert [row["name"] for row in table["rows"]] == ["mean credit", "accuracy"]
    assert [cell["value"] for cell in table["rows"][0]["cells"]] == [50, 100, 75]
    assert "official figure: accuracy (micro over all rows)" in ran.stdout
    assert "is_right says" not in ran.stdout


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("It is 1,200.50 dollars", "1200.50"),
        ("12,50 €", "12.50"),
        ("12,500", "12500"),
        ("<think>7</think>between 3 and -4", "-4"),
        ("1,200,300", "1200300"),
        ("none", None),
    ],
)
def test_the_numbers_of_the_page_are_read(reply, answer):
    [code] = re.findall(r"```python\n(import re\n.*?)```", PAGE, re.DOTALL)
    names = {}
    exec(code, names)
    assert names["default_parse"](reply, {}) == answer
    assert answer is None or names["is_right"](None, {"answer": float(answer)}, answer)


OF_ROTATIONS = ("question", "rotations")  # None in all that an audit gets


@pytest.mark.parametrize(
    ("page", "columns"),
    [
        ("audits", [field for field in FIELDS if field not in OF_ROTATIONS]),
        ("python", SAMPLE_COLUMNS),
    ],
)
def test_a_page_lists_every_column(page, columns):
    text = (PROJECT / f"docs/{page}.md").read_text("utf-8")
    assert [column for column in columns if f"`{column}`" not in text] == []
