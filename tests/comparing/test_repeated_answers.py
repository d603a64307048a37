"""Runs with several answers to each question: what is shown of a flip bears its heading out."""

import json
from dataclasses import replace

import pytest

from tests.support.finished import L1, L2, l1_set, l2_set, make_run
from utils.comparing.pairing import compare
from utils.comparing.runs import read_runs
from utils.comparing.words import as_text
from utils.pages.comparison import write_page
from utils.pages.data_files import value_of

HIT, MISS = {"verdict": "hit", "hit": 1}, {"verdict": "miss", "hit": 0}


def repeated(samples, answers):
    """Each sample once for each letter of `answers`: `x` a hit, `.` a miss."""
    group = []
    for sample in samples:
        for number, mark in enumerate(answers, 1):
            key = sample["key"] + ("" if number == 1 else f"+{number}")
            verdict = HIT if mark == "x" else MISS
            reply = f"answer {number} is {'right' if mark == 'x' else 'wrong'}"
            group.append({**sample, **verdict, "key": key, "repeat": number, "prediction": reply})
    return group


def runs_with(home, *answers, dataset=L2):
    make = l1_set if dataset == L1 else l2_set
    folders = [
        make_run(
            home / name / "T20260101_Gaa", {dataset: repeated(make("xx", 2), marks)}, model=name
        )
        for name, marks in zip("ab", answers, strict=True)
    ]
    return read_runs([f"{name}={folder}" for name, folder in zip("ab", folders, strict=True)])


FLIPS = [
    ("xx.", "..x", 1, 1, "2 of 3", "1 of 3"),
    (".xx", "x..", 2, 2, "2 of 3", "1 of 3"),
    ("x.x", ".x.", 1, 1, "2 of 3", "1 of 3"),
    ("xxx", "...", 1, 1, "3 of 3", "0 of 3"),
    ("..xxx", "xx...", 3, 3, "3 of 5", "2 of 5"),
    (".xx", "x.", 2, 2, "2 of 3", "1 of 2"),  # half is not most
    ("x", "x..", 1, 2, "", "1 of 3"),
]


@pytest.mark.parametrize("dataset", [L1, L2])
@pytest.mark.parametrize(("a", "b", "shown_a", "shown_b", "of_a", "of_b"), FLIPS)
def test_a_flip_shows_answers_that_bear_it_out_and_how_many_there_are(
    tmp_path, dataset, a, b, shown_a, shown_b, of_a, of_b
):
    comparison = compare(runs_with(tmp_path, a, b, dataset=dataset))
    [(winner, loser, flips)] = comparison.pairs[0].flips_by_winner
    assert (winner, loser, len(flips)) == ("a", "b", 2)
    for flip in flips:
        assert flip.baseline["prediction"] == f"answer {shown_a} is right"
        assert flip.run["prediction"] == f"answer {shown_b} is wrong"
    text = as_text(comparison, flips=1)
    assert f"A{f' ({of_a} right)' if of_a else ''}: answer {shown_a} is right" in text
    assert f"B{f' ({of_b} right)' if of_b else ''}: answer {shown_b} is wrong" in text


@pytest.mark.parametrize(("a", "b", "shown_a", "shown_b", "of_a", "of_b"), FLIPS)
def test_links_of_the_page_lead_to_the_answers_that_it_shows(
    tmp_path, a, b, shown_a, shown_b, of_a, of_b
):
    page = write_page(compare(runs_with(tmp_path, a, b)), tmp_path / "comparison")
    data = page.parent / "comparison_files" / "data"
    rows, details = (
        value_of((data / f"{name}0_0.js").read_text("ascii")) for name in ("rows", "details")
    )
    tails = ["" if number == 1 else f"~{number}" for number in (shown_a, shown_b)]
    assert rows["ids"][0] == [f"{L2}/0{tail}" for tail in tails]
    assert details[0]["right"] == [of_a, of_b]
    assert rows["verdicts"][0] == ["hit", "miss"]


def test_a_note_says_which_answer_is_shown(tmp_path):
    notes = compare(runs_with(tmp_path, "xx.", "...")).notes
    assert json.dumps(notes).count("The answer shown is one of this majority") == 2


def test_episodes_of_a_task_are_counted_as_the_task_that_they_are_compared_as(tmp_path):
    runs = [
        replace(run, sets={"GUITaskAutomation": replace(run.sets[L2], level="L3")})
        for run in runs_with(tmp_path, "xx.", "...")
    ]
    comparison = compare(runs)
    assert "2 tasks in common" in as_text(comparison, flips=1)
    [note] = runs[0].sets["GUITaskAutomation"].notes()
    assert note.startswith("3 episodes of each task. Differences use the mean of a task's episodes")
