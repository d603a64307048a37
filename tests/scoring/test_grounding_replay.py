"""The replay of recorded answers copes with any folder of its formats, and finds differences."""

import json

import pytest

from tests.support import grounding_replay

WH = [200, 100]
ANSWERS = {"a": [20, 20], "b": None, "c": [-1, -1], "d": [-1, 5], "e": [1, 1]}
REFUSALS = ("c", "d")


def osworld_file(correct):
    """Rows of which two differ in their answers alone, and the verdicts that are expected."""
    rows = []
    for number, row in enumerate(ANSWERS):
        is_refusal = row in REFUSALS
        rows.append(
            {
                "id": row,
                "image_path": "a.png",
                "image_size": WH,
                "instruction": "它" if number else "the task",
                "box_type": "refusal" if is_refusal else "bbox",
                "box_coordinates": [0, 0, 0, 0] if is_refusal else [1, 1, 30, 30],
                "GUI_types": ["Icon"],
            }
        )
    expected = {"correct": correct, "overall": [3, 5], "without_refusals": [2, 3]}
    return {"OSWorld-G.json": rows, "answers_px": ANSWERS, "expected": expected}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("LMUData", str(tmp_path))  # the replay sets its own
    folder = tmp_path / "recorded"
    folder.mkdir()
    return folder


RIGHT = {"a": True, "b": False, "c": True, "d": False, "e": True}


@pytest.mark.parametrize(
    ("correct", "code", "text"),
    [
        (RIGHT, 0, "0 different"),
        ({**RIGHT, "d": True}, 1, "DIFFERENT d: False, expected True"),
    ],
)
def test_verdicts_are_compared_one_by_one(correct, code, text, folder, capsys):
    (folder / "osworld_g.json").write_text(json.dumps(osworld_file(correct)))
    assert grounding_replay.main([str(folder)]) == code
    assert text in capsys.readouterr().out


def test_a_file_that_fails_is_named_and_the_next_one_is_replayed(folder, capsys):
    broken = osworld_file(RIGHT)
    broken["OSWorld-G.json"] = [{**broken["OSWorld-G.json"][0], "box_coordinates": None}]
    (folder / "a.json").write_text(json.dumps(broken))
    (folder / "b.json").write_text(json.dumps(osworld_file(RIGHT)))
    assert grounding_replay.main([str(folder)]) == 1
    output = capsys.readouterr().out
    assert "a (OSWorldG): 0 cells equal, 1 different" in output
    assert "b (OSWorldG): 9 cells equal, 0 different" in output


def test_a_folder_without_such_files_is_told_apart_from_an_equal_one(folder, capsys):
    (folder / "other.json").write_text("{}")
    assert grounding_replay.main([str(folder)]) == 2
    assert "other: not one of these data sets" in capsys.readouterr().out
