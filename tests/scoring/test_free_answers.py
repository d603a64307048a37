"""The example of a benchmark with free answers and an audit, from a folder outside the repository."""

import csv
import json
import shutil
import signal

import pytest

from tests.support.mock_server import MockServer, Reply
from tests.support.runs import PICTURES, PROJECT, finish
from tests.support.stage import Stage
from utils.session.compare import main as compare

NAME = "My questions"
QUESTIONS = [
    {
        "id": number,
        "image": f"{number}.png",
        "question": f"What is in picture {number}?",
        "answers": ["A red door.", "door"] if number % 2 else ["Nothing"],
        "topic": "doors" if number % 2 else "walls",
    }
    for number in range(12)
]
RIGHT_EVERY_OTHER_TIME = "  a RED door "


@pytest.fixture
def staged(tmp_path):
    """A data root with the questions, and the two examples under names of the user's."""
    with MockServer(lambda request: Reply(RIGHT_EVERY_OTHER_TIME)) as server:
        stage = Stage.make(tmp_path, server, PICTURES)
        images = stage.root / "my-vqa/images"
        images.mkdir(parents=True)
        for question in QUESTIONS:
            shutil.copy(stage.picture(0), images / question["image"])
        (stage.root / "my-vqa/questions.json").write_text(json.dumps(QUESTIONS))
        for name in ("my_vqa", "repeated_replies"):
            shutil.copy(PROJECT / f"examples/{name}.py", stage.code / f"own_{name}.py")
        audits = ["own_repeated_replies.repeated_replies"]
        stage.data = {NAME: {"benchmark": "own_my_vqa.MyVQA", "audits": audits}}
        yield stage


def test_it_is_checked_run_killed_resumed_reported_scored_again_and_compared(staged, capsys):
    checked = staged.run("--check")
    assert (checked.code, checked.requests) == (0, [])
    assert "12 requests to send" in checked.output
    assert "What is in picture 0?" in checked.output

    def kill_at_the_fifth(request):
        if len(staged.server.requests) == 5:
            process.kill()
        return Reply(RIGHT_EVERY_OTHER_TIME)

    staged.server.answer = kill_at_the_fifth
    process = staged.start("--api-nproc", "1", "--no-report")
    assert finish(process).code == -signal.SIGKILL
    staged.server.answer = lambda request: Reply(RIGHT_EVERY_OTHER_TIME)
    resumed = staged.run()
    assert (resumed.code, len(resumed.requests)) == (0, 8)  # four answers are kept
    assert staged.run().requests == []

    scores = staged.scores(NAME)
    assert (scores["accuracy"], scores["num_correct"], scores["num_total"]) == (50, 6, 12)
    assert {topic: block["accuracy"] for topic, block in scores["topic"].items()} == {
        "doors": 100,
        "walls": 0,
    }
    assert "repeated replies: 12 of 12 replies of m are" in resumed.output
    page = staged.folder() / "report"
    assert (page / "index.html").is_file()
    summary = next((page / "data").glob("summary_*.js")).read_text("utf-8")
    assert "12 of 12 replies of m are" in summary

    again = staged.run("--mode", "eval", env={"LMUData": str(staged.home / "nowhere")})
    assert (again.code, staged.scores(NAME)) == (0, scores)
    staged.model["n"] = staged.model["m"]
    assert staged.run("--model", "n").code == 0
    folders = [str(staged.folder(name)) for name in "mn"]
    assert compare([*folders, "--output", str(staged.home / "compared")]) == 0
    assert "My questions · accuracy: n − m = 0.0" in capsys.readouterr().out


def test_a_text_in_the_place_of_a_list_of_answers_is_no_row(staged):
    questions = [{**QUESTIONS[0], "answers": "Nothing"}, *QUESTIONS[1:]]
    (staged.root / "my-vqa/questions.json").write_text(json.dumps(questions))
    checked = staged.run("--check")
    assert 'answers must be a list, as in ["Nothing"]' in checked.output
    assert "11 requests to send" in checked.output


def test_words_of_refusal_are_refused_where_no_element_is_sought(staged):
    staged.data[NAME]["declined"] = ["not found"]
    checked = staged.run("--check")
    assert checked.code == 2
    assert (
        f'data."{NAME}".declined: only for benchmarks of grounding; leave it out' in checked.output
    )


def test_a_ping_shows_how_the_reply_was_read_and_what_is_right(staged):
    pinged = staged.run("--check", "--ping")
    assert pinged.code == 0, pinged.output
    assert "read as: a RED door, wanted: Nothing, verdict: miss" in pinged.output


def test_two_runs_are_compared_by_what_was_read_and_by_what_is_right(staged):
    for name, text in (("a", "window"), ("b", "door"), ("c", "window")):
        staged.model = {name: staged.model.get("m") or staged.model.popitem()[1]}
        staged.server.answer = lambda request, text=text: Reply(text)
        if name == "c":  # the truth of one question has changed since
            changed = [{**QUESTIONS[0], "answers": ["Sky"]}, *QUESTIONS[1:]]
            (staged.root / "my-vqa/questions.json").write_text(json.dumps(changed))
        assert staged.run().code == 0
    output = staged.home / "compared"
    folders = [str(staged.folder(name)) for name in "abc"]
    assert compare([*folders, "--all-pairs", "--output", str(output)]) == 0
    with (output / "flips.csv").open() as file:
        flips = [*csv.DictReader(file)]
    of_a_and_b = [row for row in flips if (row["baseline"], row["run"]) == ("a", "b")]
    assert {(row["baseline_read_as"], row["run_read_as"]) for row in of_a_and_b} == {
        ("window", "door")
    }
    assert {row["truth"] for row in of_a_and_b} == {"A red door. or door"}
    assert not [row for row in flips if row["key"] == "0" and "c" in (row["baseline"], row["run"])]


def test_a_scorer_that_fails_is_named_and_the_replies_are_kept(staged):
    own = staged.code / "own_my_vqa.py"
    code = own.read_text()
    own.write_text(
        code.replace('line["answers"]', 'line["answers" if line["id"] == 0 else "anwsers"]')
    )
    ran = staged.run()
    assert (ran.code, len(ran.requests)) == (1, 12)
    assert "Traceback" not in ran.output
    assert (
        "own_my_vqa.MyVQA.is_right raised KeyError: 'anwsers' (own_my_vqa.py, line " in ran.output
    )
    assert 'at row 1 (id 1), image 1.png, "What is in picture 1?", for the answer ' in ran.output
    assert "All replies are kept" in ran.output
    own.write_text(code)
    again = staged.run("--mode", "eval")
    assert (again.code, again.requests, staged.scores(NAME)["num_total"]) == (0, [], 12)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("class B: pass", "own.B is no class on benchmarks.tables.TableBenchmark"),
        (
            "from benchmarks.answers import AnswerBenchmark\nclass B(AnswerBenchmark): pass",
            "own.B does not define folder, is_right, read_rows (docs/own_benchmark.md)",
        ),
        (
            "from benchmarks.tables import TableBenchmark\nclass B(TableBenchmark): folder = 'b'",
            "own.B does not define system_prompt, result_columns, default_parse, judge_parsed, ",
        ),
    ],
)
def test_a_class_that_is_no_benchmark_is_named(staged, code, expected):
    staged.module(code, "own")
    staged.data = {NAME: {"benchmark": "own.B"}}
    run = staged.run("--check")
    assert run.code == 2
    assert expected in run.output
