"""Images that are resized before sending: said with their sizes; what was asked for is no finding."""

import pytest

from tests.support.stage import L2
from utils.pages.overview import Tally, run_checks
from utils.text import resized_text

RESIZE = {"kwargs": {"resize": [{"factor": 32}]}}


def tally_of(*sizes):
    """Samples with these sizes of file and sent image."""
    tally = Tally("d")
    for number, (file_wh, sent_wh) in enumerate(sizes):
        facts = {"key": f"k{number}", "status": "ok", "verdict": "hit", "image": "i"}
        tally.add({**facts, "file_wh": file_wh, "sent_wh": sent_wh}, number)
    return tally


WIDE, TALL, SAME = ([2560, 1440], [1932, 1092]), ([295, 639], [308, 644]), ([40, 30], [40, 30])


def image_check(entry, *tallies):
    counts = sum((tally.counts for tally in tallies), tallies[0].counts.__class__())
    [check] = [
        check for check in run_checks(counts, entry, tallies) if check["title"] == "Image size"
    ]
    return check


@pytest.mark.parametrize(
    ("sizes", "clear"),
    [
        ([SAME], "all images were sent as they are"),
        ([([40, 30], None)], "all images were sent as they are"),
        (
            [WIDE] * 144,
            "The images of 144 samples were resized before sending (kwargs.resize): "
            "2560x1440 → 1932x1092",
        ),
        (
            [SAME, TALL, WIDE, WIDE],
            "The images of 3 samples were resized before sending (kwargs.resize): "
            "2560x1440 → 1932x1092, 295x639 → 308x644",
        ),
        (
            [([n, n], [32, 32]) for n in range(1, 8)],
            "The images of 7 samples were resized before sending (kwargs.resize): "
            "1x1 → 32x32, 2x2 → 32x32, 3x3 → 32x32, 4 other sizes",
        ),
    ],
)
def test_resizing_that_the_config_asks_for_is_a_tick_with_the_sizes(sizes, clear):
    check = image_check(RESIZE, tally_of(*sizes))
    assert (check["findings"], check["clear"]) == ([], clear)


@pytest.mark.parametrize("entry", [{}, {"kwargs": {"img_size": 1932}}, {"kwargs": {"resize": []}}])
def test_other_resizing_stays_a_finding_with_its_samples(entry):
    check = image_check(entry, tally_of(WIDE, SAME), tally_of(WIDE))
    [finding] = check["findings"]
    assert finding["text"] == (
        "The images of 2 samples were resized before sending: 2560x1440 → 1932x1092. "
        "Pixels in replies are still divided by the size of the file"
    )
    assert finding["link"] == {"check": "image resized"}


def test_one_sample_is_one():
    text = resized_text({("1x1", "2x2"): 1}, "kwargs.resize")
    assert text == "the images of 1 sample were resized before sending (kwargs.resize): 1x1 → 2x2"


def test_the_console_says_it_in_the_same_words(staged):
    stage = staged(kwargs={"resize": [{"factor": 32}]})
    stage.data = {L2: {"mode": "all"}}
    ran = stage.run()
    assert "\nthe images of 6 samples were resized before sending (kwargs.resize): " in ran.stdout
    assert "640x360 → 640x352" in ran.stdout and "295x639 → 288x640" in ran.stdout


def test_what_the_recipe_has_resized_is_said_to_be_by_the_recipe(staged):
    stage = staged()
    stage.data = {L2: {"mode": "all"}}
    stage.model["m"]["recipe"] = "gta1"
    ran = stage.run()
    assert "were resized before sending (by the recipe): " in ran.stdout
    report = (stage.folder() / "report" / "data" / "summary_0.js").read_text()
    assert "were resized before sending (by the recipe): " in report
    assert "sides in multiples of 28 (by the recipe)" in report
    assert "kwargs.resize)" not in ran.stdout + report

    stage.model["m"]["kwargs"] = {"resize": [{"factor": 32}]}
    ran = stage.run()
    assert "were resized before sending (kwargs.resize): " in ran.stdout
    report = (stage.folder() / "report" / "data" / "summary_0.js").read_text()
    assert "were resized before sending (kwargs.resize): " in report
    assert "sides in multiples of 32 (by the recipe)" not in report


def test_scored_again_by_the_recipe_alone_a_setting_of_the_config_is_not_the_recipes(staged):
    stage = staged(kwargs={"max_pixels": 200_704})
    stage.data = {L2: {"mode": "all"}}
    stage.model["m"]["recipe"] = "ui_tars_1_5"
    stage.run()
    del stage.model["m"]["kwargs"]
    ran = stage.run("--mode", "eval")
    # The recipe's prompt function takes the settings, so its hash differs, too.
    assert "other settings than this config has (kwargs.max_pixels)" in ran.stdout
    report = (stage.folder() / "report" / "data" / "summary_0.js").read_text()
    assert "max_pixels 200704" in report and "max_pixels 200704 (by the recipe)" not in report
