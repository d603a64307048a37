"""The numbers of a reply, and the ready-made parse functions that read them in each frame."""

import pytest

from utils import coordinates as c
from utils.analysis.coordinate_audit import READINGS
from utils.coordinates import numbers_of_reply
from utils.import_utils import resolve

META = {"image_size": "[2000, 1000]", "sent_size": "[1000, 500]", "seen_size": "[800, 400]"}


@pytest.mark.parametrize(("reply", "expected"), [
    ("(0.5, 0.3)", (0.5, 0.3)), (".5 .25", (0.5, 0.25)), ("-5, 3", (-5, 3)),
    ("(1e-3, 2E2)", (0.001, 200)), ("x=735, y=512", (735, 512)),
    ("y=300, x=500", (500, 300)),  # it says which is which
    ("X = 735 and Y = 512", (735, 512)), ('{"x": 5, "y": 6}', (5, 6)),
    ('{"x1":1,"y1":2,"x2":3,"y2":4}', (1, 2, 3, 4)),
    ("{'x_min': 1, 'y_min': 2, 'x_max': 3, 'y_max': 4}", (1, 2, 3, 4)),
    ("Action: click(point='<point>735 512</point>')", (735, 512)),
    ("start_box='<|box_start|>(735,512)<|box_end|>'", (735, 512)),
    ("<|box_start|>(1,2),(3,4)<|box_end|>", (1, 2, 3, 4)),
    ('{"bbox_2d": [10, 20, 30, 40], "label": "x"}', (10, 20, 30, 40)),  # not the 2 of its name
    ('<point x="61.5" y="40.4" alt="q">q</point>', (61.5, 40.4)),
    ("pyautogui.click(x=0.25, y=0.75)", (0.25, 0.75)), ("50%, 30%", (50, 30)),
    ("(500px, 300px)", (500, 300)), ("The picture has 1920x1080 pixels, click 5, 7.", (5, 7)),
    ("First (1, 2), no: (500, 300)", (500, 300)),
    ("(100, 200) in a list of 30 40 rows", (100, 200)),  # brackets count before prose
    ("see (1,2).\n**Answer: 500, 300**", (500, 300)), ("I see nothing.", None), ("12", None),
    ("1, 2, 3", None), ("9" * 500 + ", 3", None),
])  # fmt: skip
def test_the_last_well_formed_point_or_box_of_a_reply_is_read(reply, expected):
    assert numbers_of_reply(reply) == expected


@pytest.mark.parametrize(("name", "reply", "expected"), [
    ("parse_fractions", "(0.25, 0.5)", (0.25, 0.5)),
    ("parse_pixels", "(500, 500)", (500, 500)),  # the score divides by the file's size
    ("parse_pixels", "(1, 0.5)", (0.0005, 0.0005)),  # pixels all the same
    ("parse_pixels_sent", "(250, 250)", (0.25, 0.5)), ("parse_grid_pixels", "(200, 200)", (0.25, 0.5)),
    ("parse_per_mille", "<p>250,500</p>", (0.25, 0.5)), ("parse_per_cent", "x: 25%, y: 50%", (0.25, 0.5)),
    ("parse_yx_per_mille", "[500, 250]", (0.25, 0.5)), ("parse_yx_pixels_sent", "[250, 250]", (0.25, 0.5)),
    ("parse_per_mille", "[200, 400, 300, 600]", (0.25, 0.5)),
    ("parse_width_1000", "(250, 250)", (0.25, 0.5)), ("parse_longest_1024", "(256, 256)", (0.25, 0.5)),
    ("parse_letterboxed", "(250, 500)", (0.25, 0.5)),  # the image fills y from 250 to 750
    ("parse_letterboxed", "(0.25, 0.5)", (0.25, 0.5)),  # fractions of the square
    ("parse_yx_letterboxed", "(375, 250)", (0.25, 0.25)),
    ("parse_yx_per_mille", "[400, 200, 600, 300]", (0.25, 0.5)),
    ("parse_per_mille", "(1250, 500)", (2500, 500)),  # beyond the edge: pixels of the file
    ("parse_per_mille", "nowhere", None),
])  # fmt: skip
def test_each_frame_has_a_parse_function(name, reply, expected):
    assert getattr(c, name)(reply, META) == pytest.approx(expected)


def test_what_was_sent_is_the_file_where_nothing_else_is_known():
    assert c.parse_pixels_sent("(500, 500)", {"image_size": "[2000, 1000]"}) == (0.25, 0.5)


@pytest.mark.parametrize("reading", READINGS, ids=lambda reading: reading.name)
def test_the_function_that_a_reading_names_exists_and_is_called_so(reading):
    function = resolve(reading.parse_function, role="test")
    assert function.__name__ == reading.parse_function.rpartition(".")[2]
    assert function.__doc__


@pytest.mark.parametrize(("meta", "expected_wh"), [
    ({"image_size": "[1920, 1080]"}, None),
    ({"image_size": "[1920, 1080]", "sent_size": "[960, 540]"}, None),
    ({"image_size": "[1920, 1080]", "seen_size": "[1316, 728]"}, (1316, 728)),
    ({"image_size": "[1920, 1080]", "max_pixels": 1003520}, (1316, 728)),
    ({"image_size": "[1, 1080]", "max_pixels": 1003520}, None),
])  # fmt: skip
def test_a_grid_is_known_only_where_something_tells_it(meta, expected_wh):
    assert c.known_grid_wh(meta) == expected_wh
