"""The difference in the official figure of a table is the difference of the official figures."""

import pytest

from tests.support.grounding_replay import PARSE_PLAIN, Replay, run
from utils.comparing.pairing import compare
from utils.comparing.runs import read_runs
from utils.protocol import AVERAGE, OVERALL

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
