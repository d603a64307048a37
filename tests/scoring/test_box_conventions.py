"""L2's boxes in another convention than the published one are noticed before any request."""

import json
import random

import pytest

from benchmarks.grounding.rows import check_l2_boxes
from tests.support.stage import L2
from utils import PROJECT
from utils.errors import UserError

FILE = PROJECT / "sample_data" / "MMBench-GUI" / "L2_annotations.json"
SIZES = [(1920, 1080), (2560, 1440), (1179, 2556), (1366, 768), (3840, 2160)]


def rows_of(count=60, sizes=SIZES, seed=7):
    """Rows whose boxes are fractions of images of these sizes."""
    draw = random.Random(seed)
    rows = []
    for number in range(count):
        x, y = draw.uniform(0.01, 0.9), draw.uniform(0.01, 0.9)
        box = [x, y, x + draw.uniform(0.005, 0.09), y + draw.uniform(0.005, 0.09)]
        rows.append({"bbox": box, "image_size": list(sizes[number % len(sizes)])})
    return rows


def scaled(rows, width, height=None):
    """The same boxes in a frame of this size; 0: that of the image."""
    for row in rows:
        wh = (width or row["image_size"][0], height or width or row["image_size"][1])
        row["bbox"] = [round(value * wh[i % 2], 1) for i, value in enumerate(row["bbox"])]
    return rows


def as_sides(rows):
    for row in rows:
        x1, y1, x2, y2 = row["bbox"]
        row["bbox"] = [x1, y1, x2 - x1, y2 - y1]
    return rows


def of_sample_data(frame):
    rows = json.loads(FILE.read_text("utf-8"))
    return [{**row, "bbox": [round(frame * value) for value in row["bbox"]]} for row in rows]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (scaled(rows_of(), 1000), "per mille of the image"),
        (scaled(rows_of(40, [(1920, 1080)]), 1000), "per mille of the image"),
        (scaled(rows_of(60, [(1179, 2556), (1080, 2400)]), 1000), "per mille of the image"),
        (scaled(rows_of(20, [(3840, 2160)]), 1000), "per mille of the image"),
        (of_sample_data(1000), "per mille of the image"),
        (scaled(rows_of(), 100), "per cent of the image"),
        (of_sample_data(100), "per cent of the image"),
        (as_sides(rows_of()), "x, y, width, height"),
        (as_sides(scaled(rows_of(), 0)), "x, y, width, height"),
    ],
)
def test_boxes_in_another_convention_are_refused(rows, said):
    with pytest.raises(UserError) as refused:
        check_l2_boxes(FILE, rows)
    assert said in str(refused.value) and str(FILE) in str(refused.value)


@pytest.mark.parametrize(
    "rows",
    [
        rows_of(),
        scaled(rows_of(), 0),
        of_sample_data(1),
        json.loads(FILE.read_text("utf-8")),
        scaled(rows_of(200, [(800, 600), (400, 900)]), 0),  # no larger than the frame
        scaled(rows_of(60, [(1000, 1000)]), 0),
        scaled(rows_of(19), 1000),  # too few to tell
        scaled(rows_of(60, [(3840, 2160)]), 300),  # all in a corner, far from 1000
        rows_of(40) + scaled(rows_of(10), 1000),  # most are fractions
        [{"bbox": None}, {"bbox": [1, 2]}, {}, {"bbox": [1, 2, 3, 4]}] * 10,
    ],
)
def test_boxes_in_fractions_or_pixels_are_taken(rows):
    check_l2_boxes(FILE, rows)


def test_a_run_with_boxes_per_mille_is_stopped_before_it_starts(staged):
    stage = staged(pictures=[("os_web", (1920, 1080))] * 16)

    def per_mille(rows):
        draw = random.Random(1)
        for row in rows:
            x, y = draw.randrange(10, 980), draw.randrange(10, 980)
            row["bbox"] = [x, y, x + 15, y + 12]

    stage.change_annotations("L2", per_mille)
    ran = stage.run("--data", L2)
    assert (ran.code, ran.requests) == (2, [])
    assert "L2_annotations.json: its boxes seem to be per mille of the image" in ran.stderr
