"""What a scorer of the user's does wrong, and rows of a table of the user's that look odd."""

import json
import shutil

import pytest

from tests.support.mock_server import MockServer, Reply
from tests.support.runs import PICTURES
from tests.support.stage import Stage

NAME = "Clocks"
QUESTIONS = [
    {"id": f"q{number}", "image": f"{number}.png", "question": f"Which day {number}?", **more}
    for number, more in enumerate(
        [
            {"answer": "Monday", "kind": "word"},
            {"answer": "7", "kind": "number"},
            {"answer": "Friday", "kind": "word"},
        ]
    )
]
OWN = """
    import numpy
    from benchmarks.answers import AnswerBenchmark

    class Clocks(AnswerBenchmark):
        folder = "clocks"
        split = "kind"

        def read_rows(self):
            for item in self.read_file("rows.json"):
                yield {"image_path": item.pop("image"), **item}

        def is_right(self, line, answer):
            return VALUE
"""
COMPARES = 'answer.casefold() == line["answer"].casefold()'


@pytest.fixture
def staged(tmp_path):
    """A data root with a few questions, and a function that writes the benchmark's scorer."""
    with MockServer(lambda request: Reply("Monday")) as server:
        stage = Stage.make(tmp_path, server, PICTURES)
        images = stage.root / "clocks/images"
        images.mkdir(parents=True)
        for number in range(4):
            shutil.copy(stage.picture(0), images / f"{number}.png")
        stage.data = {NAME: {"benchmark": "own.Clocks"}}
        write(stage)
        yield stage


def write(stage, returned=COMPARES, rows=QUESTIONS):
    stage.module(OWN.replace("VALUE", returned), "own")
    (stage.root / "clocks/rows.json").write_text(json.dumps(rows))


# -- what `is_right` returns ------------------------------------------------------------------------


@pytest.mark.parametrize("returned", ["0.5", "None", "1", "'yes'"])
def test_what_is_neither_true_nor_false_is_named_with_its_row(staged, returned):
    write(staged, returned)
    run = staged.run()
    assert run.code == 1
    place = 'row 0 (id q0), image 0.png, "Which day 0?"'
    returned_text = f"own.Clocks.is_right returned {returned} at {place}; expected True or False"
    assert returned_text in run.stderr


def test_a_bool_of_numpy_is_a_bool(staged):
    write(staged, f"numpy.bool_({COMPARES})")
    assert staged.run().code == 0
    assert staged.scores(NAME)["num_correct"] == 1


# -- what it raises, and what to do then ------------------------------------------------------------


def test_a_mistake_in_the_data_file_is_scored_by_the_same_command_without_a_request(staged):
    write(staged, rows=[{**QUESTIONS[0], "answer": "Monday"}, {**QUESTIONS[1], "answer": 7}])
    run = staged.run()
    assert (run.code, len(run.requests)) == (1, 2)
    assert "is_right raised AttributeError: 'int' object has no attribute 'casefold'" in run.stderr
    assert 'at row 1 (id q1), image 1.png, "Which day 1?"' in run.stderr
    assert "the same command without --mode eval scores them and asks nothing again" in run.stderr
    write(staged, rows=QUESTIONS[:2])
    again = staged.run()
    assert (again.code, again.requests) == (0, [])
    assert staged.scores(NAME)["num_total"] == 2


def test_a_ping_that_cannot_be_judged_says_nothing_of_kept_replies(staged):
    rows = [{**QUESTIONS[0], "answers": ["x"]}]
    write(staged, "{}[answer] if answer == 'Monday' else True", rows)
    pinged = staged.run("--check", "--ping")
    assert pinged.code == 2
    assert "Clocks: ping: own.Clocks.is_right raised KeyError: 'Monday'" in pinged.output
    assert "kept" not in pinged.output


# -- `--check` --------------------------------------------------------------------------------------


def test_a_check_calls_the_scorer_once(staged):
    write(staged, 'line["anwser"] == answer')
    checked = staged.run("--check")
    assert (checked.code, checked.requests) == (2, [])
    assert "Clocks: own.Clocks.is_right raised KeyError: 'anwser' (own.py, line" in checked.stderr
    assert "at row 0 (id q0), image 0.png" in checked.stderr


def test_a_scorer_that_refuses_the_right_answer_is_a_note(staged):
    write(staged, 'line["answer"] == answer.casefold()')
    checked = staged.run("--check")
    assert checked.code == 0
    assert 'own.Clocks.is_right says that "Monday" is wrong' in checked.stdout
    assert "No problems. No request was sent." in checked.stdout
