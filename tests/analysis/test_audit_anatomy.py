"""Error anatomy: where misses are."""

import json
import random

import pytest

from tests.support.clicks import SETTINGS, Model, columns_of, simulated
from tests.support.mock_server import Reply
from tests.support.stage import L2
from utils.analysis.anatomy import anatomy
from utils.analysis.coordinate_audit import Interpretation
from utils.coordinates import Frame
from utils.misc import parser_response_into_coordinates

BOX = [0.4, 0.4, 0.5, 0.5]  # 100 x 100 pixels of a picture of 1000 x 1000
HIT = [0.45, 0.45]
DISTANCE, BY_DISTANCE, DIRECTION = (
    "distance of misses",
    "misses by distance",
    "offset of all points",
)


def sample(point, *, box=BOX, image=0, file_wh=(1000, 1000), **more):
    hit = point is not None and box[0] <= point[0] <= box[2] and box[1] <= point[1] <= box[3]
    return {
        "verdict": "hit" if hit else "miss",
        "hit": int(hit),
        "image": f"os_web/{image}.png",
        "box_frac": box,
        "point_frac": point,
        "file_wh": list(file_wh),
        **more,
    }


def section_of(samples):
    section = anatomy(columns_of(samples), SETTINGS)
    json.dumps(section, allow_nan=False)
    assert len({tuple(row) for row in section["rows"]}) <= 1  # one table: the same columns
    return section


def row(section, group, name):
    rows = (row for row in section["rows"] if row["group"] == group)
    [matching_row] = [row for row in rows if row["name"].startswith(name)]
    return matching_row


@pytest.mark.parametrize(
    ("point", "sizes"),
    [
        ([0.6, 0.45], 100 / 141.42),  # to the nearest edge, not to the centre
        ([0.8, 0.9], 500 / 141.42),
        ([0.45, -0.1], 500 / 141.42),
    ],
)
def test_distances_are_to_the_box_in_its_own_size(point, sizes):
    distance_row = row(
        section_of([sample(point), sample(HIT)]), DISTANCE, "50 % of misses lie within"
    )
    assert distance_row["value"] == pytest.approx(sizes, rel=1e-3)


def test_a_reply_that_declines_has_no_point():
    clicks = [sample([0.6, 0.45]), sample(HIT)]
    declined = [sample([-1.0, -1.0], declined=True) for _ in range(3)]
    assert section_of([*clicks, *declined]) == section_of(clicks)


def test_misses_fall_into_classes_of_distance():
    points = [[0.55, 0.45], [0.58, 0.45], [0.75, 0.45], [0.99, 0.99], HIT, None]
    rows = section_of([sample(point) for point in points])["rows"]
    assert {row["name"]: row["value"] for row in rows if row["unit"] == "% of misses"} == {
        "near miss: less than 1 target size": 50,
        "1 to 3 target sizes": 25,
        "3 to 10 target sizes": 25,
        "10 target sizes or more": 0,
    }
    # boxes without an area have distances, too
    for box in ([0.3, 0.3, 0.3, 0.3], [0.3, 0.3, 0.3, 0.5], [0.5, 0.5, 0.3, 0.3]):
        section = section_of([sample([0.9, 0.9], box=box)])
        assert row(section, BY_DISTANCE, "10 target sizes or more")["samples"] == 1


def test_a_constant_offset_shows_as_a_direction_and_without_one_none_does():
    section = section_of([sample([0.46, 0.35 + n / 10_000], image=n) for n in range(20)])
    right, up = (row(section, DIRECTION, f"mean {axis}") for axis in ("dx", "dy"))
    assert right["value"] == pytest.approx(1)
    assert up["low"] <= up["value"] <= up["high"] < 0
    assert up["value"] == pytest.approx(-10 + 0.095, abs=0.01)
    model = Model(Interpretation(Frame.FRACTIONS), spread=0.3)  # without an offset
    clicks = simulated(random.Random(1), model, parser_response_into_coordinates, pictures=80)
    section = section_of(clicks)
    for direction_row in (row(section, DIRECTION, f"mean {axis}") for axis in ("dx", "dy")):
        assert direction_row["low"] < 0 < direction_row["high"]


def test_the_offset_of_misses_leaves_hits_out():
    section = section_of([sample(HIT), sample(HIT), sample(HIT), sample([0.75, 0.45])])
    [of_all, of_misses] = (
        row(section, name, "median dx") for name in (DIRECTION, "offset of misses")
    )
    assert (of_all["value"], of_misses["value"]) == (0, pytest.approx(30))
    assert of_misses["samples"] == 1


def test_points_outside_the_picture_are_counted():
    points = [[1.2, 0.5], [-0.1, 0.5], [0.5, 0.5], None, [float("inf"), 0.5]]
    outside_row = row(section_of(map(sample, points)), "all points", "outside the image")
    assert (outside_row["value"], outside_row["samples"]) == (75, 4)


@pytest.mark.parametrize("far", [1e200, -1e308, float("inf"), pytest.param(10**400, id="10**400")])
def test_a_point_that_means_no_place_spoils_no_figure(far):
    section = section_of([sample([0.6, 0.45 if n else far], image=n) for n in range(12)])
    mean = row(section, DIRECTION, "mean dy")
    assert mean["samples"] == 12 and None not in (mean["value"], mean["low"], mean["high"])
    assert row(section, DIRECTION, "median dx")["value"] == pytest.approx(15)
    [half] = [
        table_row
        for table_row in section["rows"]
        if table_row["name"] == "50 % of misses lie within"
    ]
    assert half["value"] < 1e5


@pytest.mark.parametrize("digits", [160, 309, 5000])
def test_replies_that_loop_on_digits_cost_neither_scores_nor_report(staged, digits):
    def answers(request):
        loops = "target 1." in request.text or "target 2." in request.text
        return Reply(f"Action: click(point='<point>500 {'1' * digits if loops else 60}</point>')")

    stage = staged(answer=answers, pictures=[("os_web", (400, 300))] * 12)
    parse = "models.api_uitars.parse_grounding_response"
    stage.data = {L2: {"mode": "all", "parse_function": parse}}
    runs, folder = [stage.run(), stage.run("--mode", "eval")], stage.folder()
    section = json.loads((folder / f"m_{L2}_analysis.json").read_text())["anatomy"]
    with_a_number = 24 if digits < 320 else 20
    assert row(section, DIRECTION, "median dy")["samples"] == with_a_number
    assert all("Report: " in ran.output for ran in runs), runs
    assert (folder / "manifest.json").is_file()


@pytest.mark.parametrize(
    ("points", "counted"), [([[0.5, 0.5]], 0), ([], 0), ([None], 1), ([HIT], 1), ([[0.9, 0.9]], 1)]
)
def test_runs_of_one_kind_of_verdict_or_of_none_are_no_problem(points, counted):
    without = {"verdict": None} if not counted else {}
    section = section_of([sample(point, **without) for point in points])
    assert bool(section["rows"]) is bool(counted)
    assert (section["notes"] == ["No replies to look at."]) is (counted == 0)


def test_a_click_inside_an_element_of_another_kind_is_no_near_miss():
    """The score counts hits on elements that are neither icon nor text as wrong."""
    inside = [sample(HIT, image=n, kind="slider", hit=0) for n in range(30)]
    section = section_of([*inside, sample([0.9, 0.9])])
    assert row(section, BY_DISTANCE, "near miss")["count"] == 0
