"""Frames of points: resizing as Qwen-VL does it, sizes in both forms, the numbers of a reply in each frame."""

import random

import pytest
from PIL import Image

from utils import coordinates as c
from utils.analysis.coordinate_audit import INTERPRETATIONS
from utils.import_utils import resolve


@pytest.mark.parametrize(
    ("factor", "min_pixels", "max_pixels"),
    [(28, 78400, 12845056), (28, 3136, 2116800), (28, 200704, 937664), (32, 65536, 16777216)],
)
def test_resizing_agrees_with_qwen_vl_utils(factor, min_pixels, max_pixels):
    reference_resize = pytest.importorskip("qwen_vl_utils.vision_process").smart_resize
    dice = random.Random(factor + max_pixels)
    for _ in range(500):
        height, width = dice.randint(1, 5000), dice.randint(1, 5000)
        if max(height, width) / min(height, width) > 200:
            continue
        limits = {"factor": factor, "min_pixels": min_pixels, "max_pixels": max_pixels}
        assert c.smart_resize(height, width, **limits) == reference_resize(height, width, **limits)


def test_a_very_long_picture_keeps_one_unit_under_a_small_limit():
    assert min(c.smart_resize(10, 2000, max_pixels=3136, min_pixels=784)) == 28


IN_EITHER_FORM = ("[1179, 2556]", "(1179, 2556)", " [1179,2556] ", [1179, 2556], (1179, 2556))
NO_SIZE = ("oops", "[1, 2", "[1, 2, 3]", "5", None, {"w": 1, "h": 2}, "[None, 3]")


def test_a_size_is_read_in_either_form_and_what_is_none_is_an_error():
    assert [c.read_size(same) for same in IN_EITHER_FORM] == [(1179, 2556)] * len(IN_EITHER_FORM)
    for not_a_size in NO_SIZE:
        with pytest.raises(ValueError, match="is not a size"):
            c.read_size(not_a_size)


@pytest.mark.parametrize(
    ("meta", "expected_wh"),
    [
        ({"image_size": "[1920, 1080]"}, (1932, 1092)),
        ({"image_size": "[1920, 1080]", "seen_size": "[1316, 728]"}, (1316, 728)),
        ({"image_size": "[3840, 2160]", "sent_size": "[1920, 1080]"}, (1932, 1092)),
        ({"image_size": "[3840, 2160]", "sent_size": None, "seen_size": ""}, (3836, 2156)),
        ({"image_size": [1920, 1080], "max_pixels": 1003520}, (1316, 728)),
        ({"image_size": [100, 100], "min_pixels": "3136"}, (112, 112)),
    ],
)
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


META = {"image_size": "[2000, 1000]", "sent_size": "[1000, 500]", "seen_size": "[800, 400]"}


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("(0.5, 0.3)", (0.5, 0.3)),
        (".5 .25", (0.5, 0.25)),
        ("-5, 3", (-5, 3)),
        ("(1e-3, 2E2)", (0.001, 200)),
        ("x=735, y=512", (735, 512)),
        ("y=300, x=500", (500, 300)),  # it says which is which
        ("X = 735 and Y = 512", (735, 512)),
        ('{"x": 5, "y": 6}', (5, 6)),
        ('{"x1":1,"y1":2,"x2":3,"y2":4}', (1, 2, 3, 4)),
        ("{'x_min': 1, 'y_min': 2, 'x_max': 3, 'y_max': 4}", (1, 2, 3, 4)),
        ("Action: click(point='<point>735 512</point>')", (735, 512)),
        ("start_box='<|box_start|>(735,512)<|box_end|>'", (735, 512)),
        ("<|box_start|>(1,2),(3,4)<|box_end|>", (1, 2, 3, 4)),
        ('{"bbox_2d": [10, 20, 30, 40], "label": "x"}', (10, 20, 30, 40)),  # not the 2 of its name
        ('<point x="61.5" y="40.4" alt="q">q</point>', (61.5, 40.4)),
        ("pyautogui.click(x=0.25, y=0.75)", (0.25, 0.75)),
        ("50%, 30%", (50, 30)),
        ("(500px, 300px)", (500, 300)),
        ("The picture has 1920x1080 pixels, click 5, 7.", (5, 7)),
        ("First (1, 2), no: (500, 300)", (500, 300)),
        ("(100, 200) in a list of 30 40 rows", (100, 200)),  # brackets count before prose
        ("see (1,2).\n**Answer: 500, 300**", (500, 300)),
        ("(100, 200) of\n30 40 rows", (100, 200)),  # more is on that line
        ("I see nothing.", None),
        ("12", None),
        ("1, 2, 3", None),
        ("9" * 500 + ", 3", None),
    ],
)
def test_the_last_well_formed_point_or_box_of_a_reply_is_read(reply, expected):
    assert c.numbers_of_reply(reply) == expected


@pytest.mark.parametrize(
    ("name", "reply", "expected"),
    [
        ("parse_fractions", "(0.25, 0.5)", (0.25, 0.5)),
        ("parse_pixels", "(500, 500)", (500, 500)),  # the score divides by the file's size
        ("parse_pixels", "(1, 0.5)", (0.0005, 0.0005)),  # pixels all the same
        ("parse_pixels_sent", "(250, 250)", (0.25, 0.5)),
        ("parse_grid_pixels", "(200, 200)", (0.25, 0.5)),
        ("parse_per_mille", "<p>250,500</p>", (0.25, 0.5)),
        ("parse_per_cent", "x: 25%, y: 50%", (0.25, 0.5)),
        ("parse_yx_per_mille", "[500, 250]", (0.25, 0.5)),
        ("parse_yx_pixels_sent", "[250, 250]", (0.25, 0.5)),
        ("parse_per_mille", "[200, 400, 300, 600]", (0.25, 0.5)),
        ("parse_width_1000", "(250, 250)", (0.25, 0.5)),
        ("parse_longest_1024", "(256, 256)", (0.25, 0.5)),
        ("parse_letterboxed", "(250, 500)", (0.25, 0.5)),  # the image fills y from 250 to 750
        ("parse_letterboxed", "(0.25, 0.5)", (0.25, 0.5)),  # fractions of the square
        ("parse_yx_letterboxed", "(375, 250)", (0.25, 0.25)),
        ("parse_yx_per_mille", "[400, 200, 600, 300]", (0.25, 0.5)),
        ("parse_per_mille", "(1250, 500)", (2500, 500)),  # beyond the edge: pixels of the file
        ("parse_per_mille", "nowhere", None),
    ],
)
def test_each_frame_has_a_parse_function(name, reply, expected):
    assert getattr(c, name)(reply, META) == pytest.approx(expected)


def test_what_was_sent_is_the_file_where_nothing_else_is_known():
    assert c.parse_pixels_sent("(500, 500)", {"image_size": "[2000, 1000]"}) == (0.25, 0.5)


@pytest.mark.parametrize("reading", INTERPRETATIONS, ids=lambda reading: reading.name)
def test_the_function_that_a_reading_names_exists_and_is_called_so(reading):
    function = resolve(reading.parse_function, role="test")
    assert function.__name__ == reading.parse_function.rpartition(".")[2]
    assert function.__doc__


@pytest.mark.parametrize(
    ("meta", "expected_wh"),
    [
        ({"image_size": "[1920, 1080]"}, None),
        ({"image_size": "[1920, 1080]", "sent_size": "[960, 540]"}, None),
        ({"image_size": "[1920, 1080]", "seen_size": "[1316, 728]"}, (1316, 728)),
        ({"image_size": "[1920, 1080]", "max_pixels": 1003520}, (1316, 728)),
        ({"image_size": "[1, 1080]", "max_pixels": 1003520}, None),
    ],
)
def test_a_grid_is_known_only_where_something_tells_it(meta, expected_wh):
    assert c.known_grid_wh(meta) == expected_wh
