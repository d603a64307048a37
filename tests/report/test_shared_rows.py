"""Rows of L2 that come from ScreenSpot-v2 are named where a run has both."""

from pathlib import Path

from benchmarks.l2_element_grounding import GUIElementGrounding
from utils.contracts import Sizes
from utils.pages.overview import Tally, shared_rows


def facts_of(app_name):
    line = {
        "bbox": [0.1, 0.1, 0.2, 0.2],
        "image_size": [100, 100],
        "grounding_type": "basic",
        "platform": "os_web",
        "app_name": app_name,
        "image_path": "os_web/a.png",
    }
    benchmark = GUIElementGrounding(Path(), Path())
    judged = benchmark.judge_parsed(line, Sizes(file_wh=(100, 100)), (0.5, 0.5), "0.5")
    return {
        **judged.facts,
        "key": "k0",
        "image": "MMBench-GUI/offline_images/os_web/a.png",
        "status": "ok",
    }


def tally_of(dataset, *samples):
    tally = Tally(dataset)
    for row, facts in enumerate(samples):
        tally.add(facts, row)
    return tally


def test_rows_from_another_table_of_the_run_are_counted():
    level2 = tally_of(
        "GUIElementGrounding", facts_of("screenspot_v2_shop"), facts_of("Calendar"), facts_of(None)
    )
    v2 = tally_of(
        "MyV2", {"key": "k0", "image": "ScreenSpot-v2/screenspotv2_image/a.png", "status": "ok"}
    )
    assert shared_rows(level2, [level2, v2]) == (
        "1 of its 3 rows come from MyV2, which this run also scores: the two scores are not "
        "independent."
    )
    assert shared_rows(v2, [level2, v2]) == ""
    assert shared_rows(level2, [level2]) == ""
