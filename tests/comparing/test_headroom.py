"""`compare.py --headroom`: rows that all miss, and rows on which all agree against the table."""

import csv
import json

import pytest

from tests.support.finished import L1, L2, make_run
from tests.support.report_runs import l1_sample, l2_sample
from utils.comparing.headroom import FILE, WRONG_FILE, headrooms_of
from utils.comparing.runs import read_runs
from utils.session.compare import main

WH = [1000, 1000]  # an answer is near another one within 14 pixels
BOX = [0.1, 0.1, 0.2, 0.2]
RIGHT, ELSEWHERE, NEAR_ELSEWHERE = (0.15, 0.15), (0.6, 0.6), (0.605, 0.605)
FAR, BESIDE, NOWHERE = (0.9, 0.1), (0.208, 0.15), None


DECLINED = (-1.0, -1.0)


def sample(number, point, **changes):
    """A row of the second level with a click; every row is on an image of its own."""
    is_right = point == RIGHT
    facts = l2_sample(
        number,
        f"os_web/pic{number}.png",
        verdict="hit" if is_right else "miss" if point else "unparsed",
        point_frac=point and list(point),
        box_frac=BOX,
        file_wh=WH,
        split=("basic", "advanced")[number % 2],
        text=f"Click target {number}.",
    )
    return {**facts, "declined": point == DECLINED, **changes}


def folders(home, rows_by_model):
    """Runs with these clicks, and twenty rows more that all of them have right."""
    made = []
    for model, points in rows_by_model.items():
        rows = [*points, *[RIGHT] * 20]
        samples = [
            row if isinstance(row, dict) else sample(number, row) for number, row in enumerate(rows)
        ]
        folder = home / model / "T20260101_Gaa"
        made.append(make_run(folder, {L2: samples}, model=model))
    return made


def headroom(home, **rows_by_model):
    [result] = headrooms_of(read_runs(folders(home, rows_by_model)))
    return result


def test_rows_on_which_most_agree_against_the_table_are_doubtful(tmp_path):
    result = headroom(
        tmp_path,
        a=[ELSEWHERE, ELSEWHERE, BESIDE, FAR, RIGHT],
        b=[NEAR_ELSEWHERE, RIGHT, BESIDE, ELSEWHERE, NOWHERE],
        c=[ELSEWHERE, ELSEWHERE, BESIDE, NOWHERE, NOWHERE],
        d=[ELSEWHERE, NEAR_ELSEWHERE, BESIDE, RIGHT, NOWHERE],
    )
    assert [row.facts["index"] for row in result.doubtful] == [0, 1]
    assert [(row.seen_by, row.right) for row in result.doubtful] == [
        (["a", "b", "c", "d"], []),
        (["a", "c", "d"], ["b"]),
    ]
    assert result.doubtful[0].answer == "(600, 600)"
    counts = {name.partition(":")[0]: share.count for name, share in result.shares}
    assert counts == {
        "right in all runs": 20,
        "wrong in all runs": 2,
        "narrowly missed by most, in one place": 1,
        "doubtful": 2,
    }
    assert result.doubtful_share.low < 8 < result.doubtful_share.high
    [a, *_] = result.runs
    assert (a.rows, a.rows_left) == (25, 23)
    assert (a.all_rows.value, round(a.without_doubtful.value, 2)) == (84.0, 91.3)


def test_a_file_has_the_rows_that_no_strong_run_has_right(tmp_path, capsys):
    paths = folders(
        tmp_path,
        {
            "a": [ELSEWHERE, FAR, RIGHT],
            "b": [ELSEWHERE, ELSEWHERE, NOWHERE],
            "c": [ELSEWHERE, NOWHERE, NOWHERE],
        },
    )
    command = [*map(str, paths), "--headroom", "--format", "csv", "--output", str(tmp_path / "c")]
    assert main(command) == 0
    assert WRONG_FILE in capsys.readouterr().out
    with (tmp_path / "c" / WRONG_FILE).open(encoding="utf-8") as file:
        rows = [(row["dataset"], row["index"], row["doubtful"]) for row in csv.DictReader(file)]
    assert rows == [(L2, "0", "True"), (L2, "1", "False")]


@pytest.mark.parametrize("box", [BOX, [0.0, 0.0, 0.1, 0.1]])
def test_declining_is_an_answer_of_its_own_whatever_its_numbers_and_never_near(tmp_path, box):
    declined = [
        sample(0, DECLINED, box_frac=box, point_frac=point)
        for point in ([-1.0, -1.0], [-0.001, -0.001], None)
    ]
    result = headroom(tmp_path, **{name: [row] for name, row in zip("abc", declined, strict=True)})
    [row] = result.doubtful
    assert (row.answer, row.seen_by) == ("there is no such element", [*"abc"])
    assert row.as_json()["point_frac"] is None


def test_a_click_in_the_corner_does_not_agree_with_declining(tmp_path):
    declined = sample(0, DECLINED, point_frac=[-0.001, -0.001])
    rows = {"a": [declined], "b": [declined], "c": [(0.0, 0.0)]}
    assert headroom(tmp_path, **rows).doubtful == []


def test_two_runs_that_agree_are_not_enough(tmp_path):
    clicks = {"a": [ELSEWHERE], "b": [ELSEWHERE], "c": [FAR]}
    assert headroom(tmp_path, **clicks).doubtful == []


def test_weak_and_small_runs_say_nothing_about_rows(tmp_path):
    weak = make_run(
        tmp_path / "weak" / "T20260101_Gaa",
        {L2: [sample(number, RIGHT if number == 0 else FAR) for number in range(23)]},
        model="weak",
    )
    strong = folders(tmp_path, {name: [ELSEWHERE, RIGHT, RIGHT] for name in "abc"})
    small = make_run(tmp_path / "small" / "T20260101_Gaa", {L2: [sample(0, RIGHT)]}, model="small")
    [result] = headrooms_of(read_runs([weak, *strong, small]))
    assert (result.strong, result.rows) == (["a", "b", "c"], 23)
    assert [row.key for row in result.doubtful] == [str(sample(0, FAR)["key"])]
    assert [one.run.label for one in result.runs if not one.is_strong] == ["weak", "small"]


def test_letters_agree_where_they_are_the_same(tmp_path):
    letters = {"a": "CCB", "b": "CAB", "c": "CBB"}
    made = [
        make_run(
            tmp_path / model / "T20260101_Gaa",
            {
                L1: [
                    l1_sample(
                        number,
                        f"os_web/pic{number}.png",
                        verdict="hit" if letter == "B" else "miss",
                        chosen=letter,
                        split="easy",
                    )
                    for number, letter in enumerate(text + "B" * 20)
                ]
            },
            model=model,
        )
        for model, text in letters.items()
    ]
    [result] = headrooms_of(read_runs(made))
    assert [(row.facts["index"], row.answer) for row in result.doubtful] == [(0, "C")]


def test_the_console_the_page_and_a_file_have_the_rows(tmp_path, capsys):
    runs = folders(tmp_path, {name: [ELSEWHERE, FAR] for name in "abc"})
    assert main([*map(str, runs), "--headroom", "--output", str(tmp_path / "out")]) == 0
    printed = capsys.readouterr().out
    assert f"Headroom of L2 {L2}: 22 samples that 3 strong runs answered" in printed
    assert "#0: Click target 0. → (600, 600) in 3 of 3" in printed
    written = json.loads((tmp_path / "out" / FILE).read_bytes())
    data = written["datasets"][L2]
    assert (written["format"], data["wrong_in_all"], data["right_in_all"]) == (2, 2, 20)
    rows = [(row["text"], row["seen_by"]) for row in data["doubtful"]]
    assert rows == [(f"Click target {number}.", [*"abc"]) for number in (0, 1)]
    assert "within 20 points" in written["rule"]
    summary = (tmp_path / "out" / "comparison_files" / "data" / "summary_0.js").read_text("utf-8")
    assert "Click target 1." in summary
    assert f"#/sample/{L2}/1" in summary


@pytest.mark.parametrize("count", [1, 2])
def test_fewer_than_three_runs_have_no_headroom(tmp_path, capsys, count):
    runs = folders(tmp_path, {name: [FAR] for name in "abc"[:count]})
    arguments = [*map(str, runs), "--headroom", "--published", "--format", "text"]
    assert main(arguments) == 0
    assert "no data set has three strong runs" in capsys.readouterr().out
