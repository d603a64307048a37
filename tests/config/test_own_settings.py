"""What a config sets in the place of its recipe is named with both values."""

import pytest

from utils.config.recipes import fill_in

L2 = "GUIElementGrounding"
BENCHMARKS = {L2: L2}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"generate_cfg": {"temperature": 0.7}}, ["generate_cfg.temperature 0.7 (recipe: 0)"]),
        ({"generate_cfg": {"stop": ["a"]}}, ['generate_cfg.stop ["a"] (recipe: none)']),
        (
            {"parse_function": {L2: "mine.parse"}},
            [f"parse_function.{L2} mine.parse (recipe: models.recipes.mai_ui.parse_point)"],
        ),
        ({"kwargs": {"img_size": 900}}, ["kwargs.img_size 900 (recipe: none)"]),
        ({"parse_function": {"ScreenSpot": "mine.parse"}}, []),  # of another data set
        ({}, []),
    ],
)
def test_own_settings_stand_beside_those_of_the_recipe(changes, expected):
    entry = {"recipe": "mai_ui", "model_path": "http://127.0.0.1:9/v1?model=x", **changes}
    assert fill_in(entry, "openai", BENCHMARKS).own_settings(L2) == expected
