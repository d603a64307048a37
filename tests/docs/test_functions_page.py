"""The parse function of the page on functions does what the page says."""

import re

import pytest

from benchmarks.base import meta_of
from tests.support.runs import PROJECT

PAGE = PROJECT / "docs" / "functions.md"


@pytest.fixture(scope="module")
def parse():
    [(title, code)] = re.findall(
        r"^## A frame of your own$.*?^```python title=\"(\w+)\.py\"\n(.*?)^```$",
        PAGE.read_text(encoding="utf-8"),
        re.MULTILINE | re.DOTALL,
    )
    module = {"__name__": title}
    exec(code, module)
    return module["parse_longest_896"]


@pytest.mark.parametrize(
    ("reply", "file_wh", "point"),
    [
        ("click(x=448, y=252)", [1792, 1008], (0.5, 0.5)),
        ("<spot>252|448</spot>", [1008, 1792], (0.5, 0.5)),
        ("<think>(1, 1)?</think> [200, 100, 248, 152]", [1792, 1008], (0.25, 0.25)),
        ("(896, 504)", [1792, 1008], (1, 1)),
        ("(900, 252)", [1792, 1008], (1800, 504)),  # outside, and not at the left edge
        ("(448, 252)", [448, 252], (0.5, 0.5)),  # a small image, enlarged
        ("It is not there.", [1792, 1008], None),
    ],
)
def test_the_parse_function_for_a_longest_side_scales_points(parse, reply, file_wh, point):
    parsed = parse(reply, meta_of({"image_size": file_wh, "file_size": file_wh}))
    assert parsed is None if point is None else parsed == pytest.approx(point)
