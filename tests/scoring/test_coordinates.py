"""Frames of points: the resizing of the Qwen-VL family, sizes in both forms, conversions."""

import random

import pytest
from PIL import Image

from utils import coordinates as c


@pytest.mark.parametrize(("factor", "min_pixels", "max_pixels"), [
    (28, 78400, 12845056), (28, 3136, 2116800), (28, 200704, 937664), (32, 65536, 16777216),
])  # fmt: skip
def test_resizing_agrees_with_qwen_vl_utils(factor, min_pixels, max_pixels):
    theirs = pytest.importorskip("qwen_vl_utils.vision_process").smart_resize
    dice = random.Random(factor + max_pixels)
    for _ in range(500):
        height, width = dice.randint(1, 5000), dice.randint(1, 5000)
        if max(height, width) / min(height, width) > 200:
            continue
        limits = {"factor": factor, "min_pixels": min_pixels, "max_pixels": max_pixels}
        assert c.smart_resize(height, width, **limits) == theirs(height, width, **limits)


def test_a_very_long_picture_keeps_one_unit_under_a_small_limit():
    assert min(c.smart_resize(10, 2000, max_pixels=3136, min_pixels=784)) == 28


IN_EITHER_FORM = ("[1179, 2556]", "(1179, 2556)", " [1179,2556] ", [1179, 2556], (1179, 2556))
NO_SIZE = ("oops", "[1, 2", "[1, 2, 3]", "5", None, {"w": 1, "h": 2}, "[None, 3]")


def test_a_size_is_read_in_either_form_and_what_is_none_is_an_error():
    assert [c.read_size(same) for same in IN_EITHER_FORM] == [(1179, 2556)] * len(IN_EITHER_FORM)
    for odd in NO_SIZE:
        with pytest.raises(ValueError, match="is no size"):
            c.read_size(odd)


@pytest.mark.parametrize(("meta", "expected_wh"), [
    ({"image_size": "[1920, 1080]"}, (1932, 1092)),
    ({"image_size": "[1920, 1080]", "seen_size": "[1316, 728]"}, (1316, 728)),
    ({"image_size": "[3840, 2160]", "sent_size": "[1920, 1080]"}, (1932, 1092)),
    ({"image_size": "[3840, 2160]", "sent_size": None, "seen_size": ""}, (3836, 2156)),
    ({"image_size": [1920, 1080], "max_pixels": 1003520}, (1316, 728)),
    ({"image_size": [100, 100], "min_pixels": "3136"}, (112, 112)),
])  # fmt: skip
def test_the_grid_of_a_model_is_what_it_saw_else_what_follows_from_what_was_sent(meta, expected_wh):
    assert c.model_grid_wh(meta) == expected_wh


def test_the_size_seen_is_the_grid_of_the_first_picture_times_the_patch_and_a_video_has_none():
    assert c.seen_wh([[1, 78, 138]], 14) == (1932, 1092)
    assert c.seen_wh([[1, 68, 120], [1, 2, 2]], 16) == (1920, 1088)
    with pytest.raises(ValueError, match=r"image"):
        c.seen_wh([[2, 4, 4]], 14)


def test_the_size_of_a_thumbnail_is_known_without_making_it():
    dice = random.Random(7)
    for _ in range(300):
        wh, side = (dice.randint(1, 900), dice.randint(1, 900)), dice.randint(1, 700)
        picture = Image.new("L", wh)
        picture.thumbnail((side, side))
        assert c.thumbnail_wh(wh, side) == picture.size
    assert c.thumbnail_wh((1920, 1080), -1) == (1920, 1080)
