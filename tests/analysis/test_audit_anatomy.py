"""Error anatomy: where misses are."""

from __future__ import annotations

import json
import random

import pytest

from tests.support.clicks import Model, columns_of, simulated
from tests.support.mock_server import MockServer, Reply
from tests.support.runs import run_folder
from tests.support.stage import API, L2, Stage
from utils.analysis.anatomy import anatomy
from utils.analysis.coordinate_audit import Reading
from utils.coordinates import Frame
from utils.misc import parser_response_into_coordinates

BOX = [0.4, 0.4, 0.5, 0.5]  # 100 x 100 pixels of a picture of 1000 x 1000


def sample(point, *, box=BOX, image=0, file_wh=(1000, 1000), **more):
    hit = point is not None and box[0] <= point[0] <= box[2] and box[1] <= point[1] <= box[3]
    return {"verdict": "hit" if hit else "miss", "hit": int(hit), "image": f"os_web/{image}.png",
            "box_frac": box, "point_frac": point, "file_wh": list(file_wh), **more}  # fmt: skip


def rows_of(samples):
    section = anatomy(columns_of(samples))
    json.dumps(section, allow_nan=False)
    assert len({tuple(row) for row in section["rows"]}) <= 1  # one table: the same columns
    return {(row["group"], row["name"], row["unit"]): row for row in section["rows"]}, section


def row(rows, group, name):
    [found] = [row for key, row in rows.items() if key[0] == group and key[1].startswith(name)]
    return found


@pytest.mark.parametrize(("point", "sizes"), [
    ([0.6, 0.45], 100 / 141.42),  # to the nearest edge, not to the centre
    ([0.8, 0.9], 500 / 141.42),
    ([0.45, -0.1], 500 / 141.42),
])  # fmt: skip
def test_distances_are_to_the_box_in_its_own_size(point, sizes):
    rows, _ = rows_of([sample(point), sample([0.45, 0.45])])

    assert row(rows, "distance of misses", "50 % are within")["value"] == pytest.approx(
        sizes, rel=1e-3
    )


def test_misses_fall_into_classes_of_distance():
    points = [[0.55, 0.45], [0.58, 0.45], [0.75, 0.45], [0.99, 0.99]]

    rows, _ = rows_of([sample(point) for point in points] + [sample([0.45, 0.45]), sample(None)])

    found = {
        name: row["value"] for (group, name, unit), row in rows.items() if unit == "% of misses"
    }
    assert found == {"near miss: less than 1 target size": 50, "1 to 3": 25, "3 to 10": 25,
                     "10 target sizes or more": 0}  # fmt: skip


def test_a_constant_offset_shows_as_a_direction():
    rows, _ = rows_of([sample([0.46, 0.35 + n / 10_000], image=n) for n in range(20)])

    right, up = (
        row(rows, "direction of points", "mean dx"),
        row(rows, "direction of points", "mean dy"),
    )
    assert right["value"] == pytest.approx(1)
    assert up["low"] <= up["value"] <= up["high"] < 0
    assert up["value"] == pytest.approx(-10 + 0.095, abs=0.01)


def test_clicks_without_a_bias_have_an_interval_around_none():
    model = Model(Reading(Frame.FRACTIONS), spread=0.3)

    rows, _ = rows_of(
        simulated(random.Random(1), model, parser_response_into_coordinates, pictures=80)
    )

    for name in ("mean dx", "mean dy"):
        found = row(rows, "direction of points", name)
        assert found["low"] < 0 < found["high"]


def test_points_outside_the_picture_are_counted():
    rows, _ = rows_of([sample([1.2, 0.5]), sample([-0.1, 0.5]), sample([0.5, 0.5]), sample(None),
                       sample([float("inf"), 0.5])])  # fmt: skip

    found = row(rows, "points outside the image", "outside")
    assert (found["value"], found["samples"]) == (75, 4)


@pytest.mark.parametrize("far", [
    1e200, -1e308, float("inf"), pytest.param(10**400, id="10**400"),
])  # fmt: skip
def test_a_point_that_means_no_place_spoils_no_figure(far):
    rows, _ = rows_of([sample([0.6, far if n == 0 else 0.45], image=n) for n in range(12)])

    mean = row(rows, "direction of points", "mean dy")
    assert mean["samples"] == 12 and None not in (mean["value"], mean["low"], mean["high"])
    assert row(rows, "direction of points", "median dx")["value"] == pytest.approx(15)
    shown = [each for (_, name, _), each in rows.items() if name == "50 % are within"]
    assert len(shown) == 1 and all(each["value"] < 1e5 for each in shown)


@pytest.mark.parametrize("digits", [160, 200, 306, 309, 320, 5000])
def test_replies_that_loop_on_digits_cost_neither_scores_nor_report(tmp_path, digits):
    def answers(request):
        loops = "target 1." in request.text or "target 2." in request.text
        return Reply(f"Action: click(point='<point>500 {'1' * digits if loops else 60}</point>')")

    with MockServer(answers) as server:
        stage = Stage.make(tmp_path, server, [("os_web", (400, 300))] * 12)
        data = {L2: {"mode": "all",
                     "parse_function": "models.api_uitars.parse_grounding_response"}}  # fmt: skip
        asked = stage.evaluate({"m": API}, data=data)
        scored = stage.evaluate({"m": API}, "--mode", "eval", data=data)

    folder = run_folder(stage.work_dir, "m")
    section = json.loads((folder / f"m_{L2}_analysis.json").read_text())["anatomy"]
    [found] = [each for each in section["rows"] if each["name"] == "median dy"]
    assert found["samples"] == (24 if digits < 320 else 20)  # or no number at all
    for ran in (asked, scored):
        assert "Traceback" not in ran.output and "Report: " in ran.output, ran.output
    assert (folder / "manifest.json").is_file()


@pytest.mark.parametrize("box", [[0.3, 0.3, 0.3, 0.3], [0.3, 0.3, 0.3, 0.5], [0.5, 0.5, 0.3, 0.3]])
def test_boxes_without_an_area_have_distances_too(box):
    rows, _ = rows_of([sample([0.9, 0.9], box=box)])

    assert row(rows, "distance of misses", "10 target sizes or more")["samples"] == 1


@pytest.mark.parametrize(("samples", "counted"), [
    ([sample([0.5, 0.5], verdict=None)], 0), ([], 0), ([sample(None)], 1), ([sample([0.45, 0.45])], 1),
    ([sample([0.9, 0.9])], 1),
])  # fmt: skip
def test_runs_of_one_kind_of_verdict_or_of_none_are_no_problem(samples, counted):
    rows, section = rows_of(samples)

    assert bool(rows) is bool(counted)
    assert (section["notes"] == ["No reply to look at."]) is (counted == 0)
