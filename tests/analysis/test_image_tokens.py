"""A server that gives a model fewer tokens than the image has by the rule of its family."""

import pytest

from tests.support.clicks import columns_of
from utils.analysis.columns import AuditSettings
from utils.analysis.image_tokens import image_tokens
from utils.geometry.resizing import ResizeStep

RULE = ResizeStep(factor=28, min_pixels=3136, max_pixels=12_845_056)
SETTINGS = AuditSettings("GUIElementGrounding", image_rule=RULE)
OF_FULL_HD = (1920 // 28 + 1) * (1080 // 28 + 1)  # 1932x1092


def sample(prompt_tokens, sent_wh=(1920, 1080), **facts):
    usage = {"prompt_tokens": prompt_tokens, "completion_tokens": 9}
    facts = {"verdict": "hit", "hit": 1, "image": "a.png", "sent_wh": sent_wh, **facts}
    return {**facts, "usage": usage}


@pytest.mark.parametrize(
    ("samples", "count"),
    [
        pytest.param([sample(OF_FULL_HD + 90)] * 4, 0, id="whole images"),
        pytest.param([*[sample(OF_FULL_HD + 90)] * 3, sample(1300)], 1, id="one is shrunk"),
        pytest.param([sample(1300)] * 4, 4, id="all are shrunk"),
        pytest.param([sample(1300, (640, 360))] * 4, 0, id="small images"),
        pytest.param([sample(1300, zoom={"crop_frac": [0, 0, 1, 1]}), sample(4000)], 0, id="zoom"),
        pytest.param([sample(None), sample(4000)], 0, id="not counted"),
    ],
)
def test_prompts_with_fewer_tokens_than_their_image_are_named(samples, count):
    section = image_tokens(columns_of(samples), SETTINGS)
    assert section["rows"][0]["count"] == count
    assert bool(section["findings"]) == bool(count)
    if count:
        [finding] = section["findings"]
        assert f"the server shrank at least {count} of 4 images" in finding.summary
        assert "1,300 prompt tokens where the image of 1920x1080 alone has 2,691" in finding.summary
        assert "fewer than 1,019,200 pixels" in finding.fix  # 1,300 x 28 x 28


@pytest.mark.parametrize(
    ("samples", "rule"),
    [
        pytest.param([sample(1300)], None, id="no rule"),
        pytest.param([sample(1300)], ResizeStep(longest=1120), id="a rule without tokens"),
        pytest.param([sample(None)], RULE, id="no counts"),
        pytest.param([sample(1300, None)], RULE, id="no size"),
        pytest.param([], RULE, id="nothing"),
    ],
)
def test_where_it_cannot_be_told_nothing_is_said(samples, rule):
    assert image_tokens(columns_of(samples), AuditSettings(image_rule=rule)) is None


def test_the_limits_of_the_family_decide_what_an_image_has():
    rule = ResizeStep(factor=28, min_pixels=3136, max_pixels=1_003_520)
    section = image_tokens(columns_of([sample(1300)]), AuditSettings(image_rule=rule))
    assert section["findings"] == []  # 1,280 tokens at most
