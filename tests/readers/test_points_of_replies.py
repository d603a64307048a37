"""The numbers of a reply in the forms that models and the people who ask them write."""

import json

import pytest

from utils.coordinates import numbers_of_reply, parse_per_mille, parse_yx_per_mille
from utils.thinking import parse_point


@pytest.mark.parametrize(
    ("reply", "numbers"),
    [
        # another width and punctuation of the same signs
        ("【７３５、５１２】", (735, 512)),
        ("坐标是735，512。", (735, 512)),
        ("点击（735，512）处", (735, 512)),
        ("ｘ＝０．２５，ｙ＝０．７５", (0.25, 0.75)),
        ("(735,\u200b 512)", (735, 512)),
        ("(7\u200b35, 512)", (735, 512)),
        ("(\u22125, \u20137)", (-5, -7)),
        ("\u202a(735, 512)\u202c", (735, 512)),
        ("“x”：735，“y”：512", (735, 512)),
        ("横坐标：735，纵坐标：512", (735, 512)),
        ("x坐标为735，y坐标为512", (735, 512)),
        ("［１０，２０，３０，４０］", (10, 20, 30, 40)),
        ("𝟕𝟑𝟓, 𝟓𝟏𝟐", (735, 512)),
        ("(10², 30)", None),  # not 102
    ],
)
def test_width_and_punctuation_of_signs_make_no_difference(reply, numbers):
    assert numbers_of_reply(reply) == numbers


@pytest.mark.parametrize(
    "reply",
    [
        "(2,560, 1,440)",
        "2,560, 440",
        "x: 2,560\ny: 1,440",
        "x=0,25; y=0,75",
        "- x: 0,25\n- y: 0,75",
        "(0,25; 0,75)",
        "0,25 0,75",
        "(1'920, 1'080)",
        "(1\u2019920, 1\u2019080)",
        "x=1'920, y=1'080",
        "(1 920, 1 080)",
        "(1\u202f920; 1\u202f080)",
        "x = 1 920, y = 1 080",
        "[1,920,1,080]",
        "0,512,0,384",
        "I see 3, 4 windows. Click (1,920, 1,080).",
    ],
)
def test_numbers_that_can_be_read_in_two_ways_are_not_read(reply):
    assert numbers_of_reply(reply) is None


@pytest.mark.parametrize(
    ("reply", "numbers"),
    [
        ("(512,384)", (512, 384)),
        ("(1,920)", (1, 920)),
        ("[100,200,300,400]", (100, 200, 300, 400)),
        ("[1,234,567,890]", (1, 234, 567, 890)),
        ("(10,20),(30,40)", (10, 20, 30, 40)),
        ("[[10,20],[30,40]]", (10, 20, 30, 40)),
        ("10 200 30 400", (10, 200, 30, 400)),
        ("[637,964,637,964]", (637, 964, 637, 964)),
        ("(1,920, 1,080), that is [960, 540]", (960, 540)),
    ],
)
def test_lists_without_a_second_way_are_read(reply, numbers):
    assert numbers_of_reply(reply) == numbers


@pytest.mark.parametrize(
    ("reply", "numbers"),
    [
        ('{"x": 10, "y": 20, "w": 30, "h": 40}', (10, 20, 40, 60)),
        ('{"width": 30, "height": 40, "x": 10, "y": 20}', (10, 20, 40, 60)),
        ('{"left": 10, "top": 20, "right": 30, "bottom": 40}', (10, 20, 30, 40)),
        ("left: 10px; top: 20px; width: 30px; height: 40px", (10, 20, 40, 60)),
        ("x0=10, y0=20, x1=30, y1=40", (10, 20, 30, 40)),
        ('{"cx": 100, "cy": 200, "w": 30, "h": 40}', (85, 180, 115, 220)),
        ('{"center_x": 100, "center_y": 200}', (100, 200)),
        ('{"x": 5, "y": 6}, image_width=1920, image_height=1080', (5, 6)),
        ("width=1920, height=1080", None),
    ],
)
def test_a_box_by_its_sides_or_its_size_is_a_box(reply, numbers):
    assert numbers_of_reply(reply) == numbers


@pytest.mark.parametrize(
    ("reply", "numbers"),
    [
        ('["735", "512"]', (735, 512)),
        ("['0.25', '0.75']", (0.25, 0.75)),
        ('{"bbox_2d": ["10", "20", "30", "40"]}', (10, 20, 30, 40)),
        ('{"coordinate": ["735px", "512px"]}', (735, 512)),
        ('("735", "512")', (735, 512)),
        ('the entries "735", "512"', None),  # no list
        ('["735", "Save"]', None),
    ],
)
def test_numbers_in_quotes_count_in_lists(reply, numbers):
    assert numbers_of_reply(reply) == numbers


@pytest.mark.parametrize(
    ("reply", "numbers"),
    [
        ("x = 735 px; y = 512 px", (735, 512)),
        ("* **x**: 735\n* **y**: 512", (735, 512)),
        ("The x coordinate is 735 and the y coordinate is about 512.", (735, 512)),
        ('{"x": 735, // from the left\n "y": 512}', (735, 512)),
        ("| x | 735 |\n| y | 512 |", (735, 512)),
        ("| x | y |\n|---|---|\n| 735 | 512 |", (735, 512)),
        ("[735., 512.]", (735, 512)),
        ("y is at 512 (from the top), x is at 735", (735, 512)),
        ("x -> 735\ny -> 512", (735, 512)),
        ("x: 735 to the right. x: 5. y: 512", None),  # two of them
        ("x: 10-20, y: 512", None),  # a range
        ("x is the first letter, y: 512", None),
    ],
)
def test_an_x_and_a_y_are_read_wherever_each_stands_once(reply, numbers):
    assert numbers_of_reply(reply) == numbers


@pytest.mark.parametrize(
    ("reply", "numbers"),
    [
        ('<points coords="1 1 073 160">boats</points>', (73, 160)),
        ('<points coords="1 1 073 160 2 173 600" alt="boats">boats</points>', (173, 600)),
        ('<points coords="1 1 073 160;2 1 500 600">boats</points>', (500, 600)),
        ("<tracks coords='0.5 1 073 160'>boats</tracks>", (73, 160)),
        ('<points coords="1 073 160, 2 173 600"/>', (173, 600)),
        ('<points x1="9.1" y1="11.7" x2="17.2" y2="41.3" alt="b">b</points>', (17.2, 41.3)),
        ('<point x="9.1" y="11.7" alt="b">b</point>', (9.1, 11.7)),
        ('<points coords="">none</points>', None),
    ],
)
def test_points_in_tags_are_points_and_no_box(reply, numbers):
    assert numbers_of_reply(reply) == numbers


@pytest.mark.parametrize(
    ("reply", "numbers"),
    [
        ("[735, 512, 0.98]", (735, 512)),
        ("(735, 512, 1.0)", (735, 512)),
        ("[10, 20, 30, 40, 0.5]", (10, 20, 30, 40)),
        ('{"box": [10, 20, 30, 40, 0.973], "label": "Save"}', (10, 20, 30, 40)),
        ("735 512 .87", (735, 512)),
        ("[0.1, 0.2, 0.98]", None),  # not whole pixels
        ("[735, 512, 98]", None),
    ],
)
def test_a_confidence_behind_whole_pixels_is_set_aside(reply, numbers):
    assert numbers_of_reply(reply) == numbers


@pytest.mark.parametrize(
    ("reply", "point"),
    [
        ("[384, 512]", (0.512, 0.384)),
        ("[100, 200, 300, 400]", (0.3, 0.2)),
        ("y=384, x=512", (0.512, 0.384)),
        ("x=512, y=384", (0.512, 0.384)),
        ('{"y": 384, "x": 512}', (0.512, 0.384)),
        ("y is at 384 (from the top), x is at 512", (0.512, 0.384)),
        ('<point x="512" y="384" alt="b">b</point>', (0.512, 0.384)),
        ('{"ymin": 100, "xmin": 200, "ymax": 300, "xmax": 400}', (0.3, 0.2)),
        ('{"top": 100, "left": 200, "bottom": 300, "right": 400}', (0.3, 0.2)),
    ],
)
def test_y_comes_first_only_among_numbers_without_names(reply, point):
    assert parse_yx_per_mille(reply, {"image_size": "[2000, 1000]"}) == pytest.approx(point)


@pytest.mark.parametrize(
    ("reply", "numbers"),
    [
        ("I would click on Button 5 (512, 384).", (512, 384)),
        ("Page 2\n(512, 384)", (512, 384)),
        ("Confidence: 0.95\n[512, 384]", (512, 384)),
        ("Click tab 2, 3 (512, 384)", (512, 384)),
        ("Row 3 [10, 20, 30, 40]", (10, 20, 30, 40)),
        ("Button 5: (10, 20), (30, 40)", (10, 20, 30, 40)),
        ("512, 384 (2)", (512, 384)),
        ("[5, [512, 384]]", None),  # within the same brackets
    ],
)
def test_a_number_in_front_of_the_brackets_is_no_part_of_the_point(reply, numbers):
    assert numbers_of_reply(reply) == numbers


@pytest.mark.parametrize("indent", [None, 2, 4, 8, "\t"])
@pytest.mark.parametrize(
    ("value", "numbers"),
    [
        ([{"point_2d": [512, 384], "label": "x"}], (512, 384)),
        ([{"bbox_2d": [10, 20, 30, 40], "label": "x"}], (10, 20, 30, 40)),
        ({"calls": [{"arguments": {"coordinate": [512, 384]}}]}, (512, 384)),
        ([[[10, 20], [30, 40]]], (10, 20, 30, 40)),
    ],
)
def test_json_is_read_with_any_indentation(value, indent, numbers):
    assert numbers_of_reply(json.dumps(value, indent=indent)) == numbers


@pytest.mark.parametrize(
    ("reply", "numbers"),
    [
        ("[[100, 100], [300, 300], [500, 500]]", (500, 500)),
        ("(100, 100), (300, 300), (500, 500)", (500, 500)),
        ("(100, 100)\n(200, 200)\n(300, 300)\n(500, 500)", (500, 500)),
        ("[[10, 20, 30, 40], [50, 60, 70, 80]]", (50, 60, 70, 80)),
        ("[[10, 20, 30, 40, 0.9], [50, 60, 70, 80, 0.8]]", (50, 60, 70, 80)),
        ("(10, 20), (30, 40)", (10, 20, 30, 40)),  # the corners of a box
        ("[[[1, 2], [3, 4]], [[5, 6], [7, 8]]]", None),  # boxes by their corners
        ("[[1, 2], [3, 4], [5, 6, 7, 8]]", None),
        ("[1, 2, 3, 4, 5, 6]", None),
    ],
)
def test_of_several_points_in_brackets_the_last_one_counts(reply, numbers):
    assert numbers_of_reply(reply) == numbers


@pytest.mark.parametrize(
    ("reply", "numbers"),
    [
        ("width: 1920\nheight: 1080\nx: 100\ny: 200", (100, 200)),
        ("w=1920, h=1080, x=100, y=200", (100, 200)),
        ('{"width": 30, "height": 40, "x": 10, "y": 20}', (10, 20, 40, 60)),
        (json.dumps({"width": 30, "height": 40, "x": 10, "y": 20}, indent=4), (10, 20, 40, 60)),
        ("x: 10\ny: 20\nwidth: 30\nheight: 40", (10, 20, 40, 60)),
    ],
)
def test_a_size_in_front_of_a_point_is_that_of_the_image_but_in_an_object(reply, numbers):
    assert numbers_of_reply(reply) == numbers


def test_the_parse_functions_read_folded_replies():
    meta = {"image_size": "[2000, 1000]"}
    assert parse_per_mille("（２５０，５００）", meta) == (0.25, 0.5)
    assert parse_point("<think>(1, 2)</think>（0.25，0.5）", meta) == (0.25, 0.5)
