"""Examples to copy: two models that look twice each, and a zoom of more than two looks."""

import json
import math

import pytest

from examples import more_looks, two_models
from tests.support.mock_server import Reply
from tests.support.runs import PROJECT
from tests.support.stage import L2

URL = "{url}?api_key=test-key-123456&model=mock"
POINTS = {L2: {"mode": "all"}}
MODELS = PROJECT.parent / "shared" / "models"
CASES = MODELS / "golden_2026" / "extra" / "zoom_consistency_router.jsonl"
WH = (400, 300)


def call(coordinate):
    arguments = {"action": "left_click", "coordinate": coordinate}
    return (
        f"<tool_call>\n{json.dumps({'name': 'computer_use', 'arguments': arguments})}\n</tool_call>"
    )


def shown(request):
    """The size of the image in a request."""
    from tests.functions.test_recipe_runs import sent_wh

    return sent_wh(request)


@pytest.mark.skipif(not CASES.is_file(), reason="the authors' cases are not beside the project")
def test_the_router_crops_and_maps_back_as_its_authors_do():
    cases = [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]
    assert len(cases) >= 30
    for case in cases:
        first, second = (
            tuple(number / 1000 for number in case[f"stage{stage}_per_mille"]) for stage in (1, 2)
        )
        crop = two_models.crop_around(tuple(case["image_wh"]), first)
        assert list(crop.box_px) == case["crop_box_px"]
        assert list(crop.sent_wh) == case["sent_wh"]
        assert crop.in_image(second) == pytest.approx(tuple(case["point_frac"]))
        distance = 1000 * math.dist(second, two_models.MIDDLE)
        assert distance == pytest.approx(case["consistency"])


@pytest.mark.skipif(not CASES.is_file(), reason="the authors' texts are not beside the project")
def test_the_router_asks_in_its_authors_words():
    texts = json.loads((MODELS / "PROMPTS_2026.json").read_text(encoding="utf-8"))
    assert texts["zoom_consistency_router_system"] == two_models.SYSTEM_TEXT


@pytest.mark.parametrize(
    ("second_looks", "expected"),
    [
        # The first points are (0.25, 0.25) and (0.75, 0.75); a crop begins at 0 and at 0.5.
        ({"a": [400, 500], "b": [480, 500]}, [0.5 + 0.24, 0.75]),
        ({"a": [490, 500], "b": [480, 500]}, [0.245, 0.25]),
        ({"a": None, "b": [100, 100]}, [0.55, 0.55]),
        ({"a": None, "b": None}, [0.25, 0.25]),
    ],
)
def test_of_two_models_the_one_whose_second_look_is_surer_answers(staged, second_looks, expected):
    firsts = {"a": [250, 250], "b": [750, 750]}
    views = []

    def answer(request):
        model = request.body["model"]
        views.append((model, shown(request)))
        looks = [firsts[model], second_looks[model]]
        coordinate = looks[sum(name == model for name, _ in views) - 1]
        return Reply("no" if coordinate is None else call(coordinate))

    stage = staged(pictures=[("os_web", WH)], answer=answer)
    servers = [f"{stage.server.url}?model={model}" for model in ("a", "b")]
    entry = {
        "imp_type": "custom",
        "model_path": "examples.two_models.Router",
        "kwargs": {"servers": servers},
        "custom_prompt": {L2: "examples.two_models.build_prompt"},
        "parse_function": {L2: "examples.two_models.parse_point"},
    }
    result = stage.evaluate({"m": entry}, "--limit", "1", "--no-report", data=POINTS)
    assert result.code == 0, result.output
    assert views == [(model, WH) for model in ("a", "a", "b", "b")]
    assert sample_of(stage)["point_frac"] == pytest.approx(expected)


def sample_of(stage):
    [path] = stage.folder().glob("*_samples_partial.jsonl")
    _, line = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return line


def test_three_looks_each_show_half_of_the_last_part(staged):
    sizes = []

    def answer(request):
        sizes.append(shown(request))
        return Reply(call([750, 750]))

    stage = staged(pictures=[("os_web", WH)], answer=answer)
    entry = {
        "recipe": "kv_ground",
        "model_path": URL,
        "follow_up": {L2: "examples.more_looks.ask_again"},
        "parse_function": {L2: "examples.more_looks.parse_point"},
    }
    result = stage.evaluate({"m": entry}, "--limit", "1", "--no-report", data=POINTS)
    assert result.code == 0, result.output
    assert sizes == [(400, 300), (200, 150), (100, 75)]
    # 3/4 of the last quarter, which begins at 1/2 + 1/4.
    assert sample_of(stage)["point_frac"] == pytest.approx([0.9375, 0.9375], abs=0.005)


def test_where_a_look_finds_no_point_the_one_before_counts():
    meta = {"image_size": "[400, 300]"}
    replies = [call([750, 750]), "I see nothing"]
    point = more_looks.parse_point(replies[-1], {**meta, "responses": replies})
    assert point == pytest.approx((0.75, 0.75))
    assert more_looks.parse_point("I see nothing", meta) is None
