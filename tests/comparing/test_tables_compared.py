"""The difference in the official figure of a table is the difference of the official figures."""

import pytest

from tests.support.finished import L2, l2_set, make_run
from tests.support.grounding_replay import PARSE_PLAIN, Replay, run
from utils.comparing.pairing import compare
from utils.comparing.runs import read_runs
from utils.comparing.words import as_text, truth_text
from utils.protocol import AVERAGE, OVERALL

BOX = [0.1, 0.1, 0.2, 0.2]
SPLITS = {"basic": 5, "functional": 3, "spatial": 2}


def ui_vision(right):
    """A replay in which `right` says how many rows of each split are hit."""
    files, replies = {}, {}
    for split, count in SPLITS.items():
        rows = []
        for number in range(count):
            text = f"{split} {number}"
            rows.append(
                {
                    "image_path": f"element_grounding/{number}.png",
                    "image_size": [400, 300],
                    "prompt_to_evaluate": text,
                    "bbox": [100.0, 100.0, 200.0, 200.0],
                    "platform": "GIMP",
                    "category": "Button",
                    "element_type": "icon",
                }
            )
            point = "[150, 150]" if number < right[split] else "[10, 10]"
            replies[f"{number}.png\n{text}"] = point
        files[f"annotations/element_grounding/element_grounding_{split}.json"] = rows
    return Replay("ui", "UIVision", files, replies)


def test_a_mean_of_splits_is_compared_as_one(tmp_path):
    scores = []
    for name, right in (
        ("a", {"basic": 5, "functional": 0, "spatial": 1}),
        ("b", {"basic": 2, "functional": 3, "spatial": 2}),
    ):
        (tmp_path / name).mkdir()
        score, _, _ = run(ui_vision(right), tmp_path / name, parser=PARSE_PLAIN)
        scores.append(score["accuracy"])
    folders = [next((tmp_path / name / "outputs" / "recorded").glob("T*")) for name in "ab"]
    runs = read_runs([f"{name}={folder}" for name, folder in zip("ab", folders, strict=True)])
    [pair] = compare(runs).pairs
    headlines = {
        difference.group: difference for difference in pair.differences if difference.is_headline
    }
    assert OVERALL not in headlines
    average = headlines[AVERAGE]
    assert [average.baseline_pct, average.run_pct] == pytest.approx(scores)


CELLS = {  # of a table whose official figure is the mean over platforms
    "title": "Own",
    "columns": ["Overall"],
    "rows": [{"name": "average", "cells": [{"value": 0.0}]}],
    "official": ["average"],
    "column_field": "split",
    "row_field": None,
    "parts": ["platform"],
}


@pytest.mark.parametrize("are_partial", [(False, True), (True, True)])
def test_a_mean_of_cells_is_compared_alike_from_both_sides_of_a_partial_import(
    tmp_path, are_partial
):
    folders = {}
    for name, hits, is_partial in zip("ab", ("." * 10, "x.x" + "." * 7), are_partial, strict=True):
        samples = l2_set(hits, pictures=2)
        samples[0]["platform"] = "os_mac"  # a cell of one row
        for facts in samples[4:] if is_partial else ():
            facts |= {"status": "missing", "verdict": None, "hit": 0}
        folder = tmp_path / name / "T1"
        folders[name] = make_run(folder, {L2: samples}, model=name, tables={L2: CELLS})
    differences = []
    for names in ("ab", "ba"):
        [pair] = compare(read_runs([folders[name] for name in names])).pairs
        assert pair.main.group == "average"
        differences.append(pair.main.points[0])
    assert differences == pytest.approx([200 / 3, -200 / 3])


def test_splits_of_an_own_table_may_be_named_as_those_of_the_second_level(tmp_path):
    table = {
        "title": "Own",
        "columns": ["Overall"],
        "rows": [{"name": "accuracy", "cells": [{"value": 37.5}]}],
        "official": ["accuracy"],
        "column_field": "split",
        "row_field": None,
    }
    folders = []
    for name, hits in (("a", "xxx....."), ("b", "xxx...xx")):
        samples = l2_set(hits)
        for number, facts in enumerate(samples):
            facts["split"] = "basic" if number < 6 else "advanced"
        folder = tmp_path / name / "T1"
        folders.append(make_run(folder, {L2: samples}, model=name, tables={L2: table}))
    [pair] = compare(read_runs(folders)).pairs
    main = pair.headline[-1]
    assert (main.group, main.baseline_pct, main.run_pct) == ("accuracy", 37.5, 62.5)


@pytest.mark.parametrize(
    ("facts", "text"),
    [
        ({"box_frac": [0.1, 0.2, 0.3, 0.405]}, "box 10.0, 20.0, 30.0, 40.5 %"),
        ({"box_frac": BOX, "target": {"polygons": [[0, 0, 1, 0, 1, 1]]}}, "inside a polygon"),
        ({"box_frac": BOX, "target": {"boxes": [BOX, BOX]}}, "inside boxes"),
        ({"box_frac": None}, "there is no such element"),
    ],
)
def test_a_target_is_described_by_its_shape(facts, text):
    assert truth_text(facts) == text


def osworld(instructions, right):
    """A replay of elements that are asked for in one of two wordings; the first are hit."""
    rows, replies = [], {}
    for number in range(4):
        text = f"{instructions} {number}"
        rows.append(
            {
                "id": f"E{number}",
                "image_path": f"{number}.png",
                "image_size": [400, 300],
                "instruction": text,
                "box_type": "bbox",
                "box_coordinates": [100, 100, 50, 50],
                "GUI_types": ["Icon"],
            }
        )
        replies[f"{number}.png\n{text}"] = "[120, 120]" if number < right else "[10, 10]"
    name = "OSWorld-G.json" if instructions == "original" else "OSWorld-G_refined.json"
    settings = {"instructions": instructions}
    return Replay("osworld", "OSWorldG", {name: rows}, replies, settings=settings)


def test_original_and_refined_instructions_are_paired_by_their_element(tmp_path):
    for instructions, right in (("original", 1), ("refined", 3)):
        (tmp_path / instructions).mkdir()
        run(osworld(instructions, right), tmp_path / instructions, parser=PARSE_PLAIN)
    folders = [
        next((tmp_path / name / "outputs" / "recorded").glob("T*"))
        for name in ("original", "refined")
    ]
    comparison = compare(read_runs([f"original={folders[0]}", f"refined={folders[1]}"]))
    [pair] = comparison.pairs
    assert [len(pair.samples), pair.changed] == [4, 0]
    assert "the same elements, worded differently: A original, B refined" in pair.notes
    assert pair.headline[-1].points[0] == pytest.approx(50)
    assert "A: original 1 B: refined 1" in as_text(comparison, flips=5)


def test_basic_and_functional_rows_of_a_run_are_paired_by_their_element(tmp_path):
    for name in "ab":
        (tmp_path / name).mkdir()
        replay = ui_vision({"basic": 5, "functional": 1, "spatial": 1})
        run(replay, tmp_path / name, parser=PARSE_PLAIN)
    folders = [next((tmp_path / name / "outputs" / "recorded").glob("T*")) for name in "ab"]
    comparison = compare(read_runs([f"{n}={f}" for n, f in zip("ab", folders, strict=True)]))
    [note] = [note for note in comparison.notes if note.startswith("a, UIVision")]
    assert note.startswith("a, UIVision: functional − basic = -66.7")
    assert "3 elements" in note
