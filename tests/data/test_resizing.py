"""Images resized before they are sent: sizes, pixels, and rules that cannot be meant."""

import base64
import io

import pytest
from PIL import Image

from tests.support.stage import API, L2
from utils.geometry.resizing import resized, resized_wh, sent_wh, steps_of

POINTS = {L2: {"mode": "all"}}


@pytest.mark.parametrize(
    ("rule", "image_wh", "expected"),
    [
        ({"factor": 28}, (1920, 1080), (1932, 1092)),
        ({"factor": 32}, (1920, 1080), (1920, 1088)),
        ({"factor": 28, "max_pixels": 1000000}, (1920, 1080), (1316, 728)),
        ({"factor": 28, "min_pixels": 2000000}, (375, 812), (980, 2100)),
        ({"area": 5600 * 784}, (5120, 1440), (3951, 1111)),
        ({"area": 5600 * 784}, (800, 600), (800, 600)),
        ({"longest": 1120}, (1920, 1080), (1120, 630)),
        ({"longest": 1120}, (800, 600), (800, 600)),
        ({"longest": 1120}, (1080, 2400), (504, 1120)),
        ({"longest": 1120}, (1516, 1200), (1120, 887)),  # cut to 1414x1120 first
        ({"tiles": 1568, "longest": 1568}, (1920, 1080), (1456, 819)),
        ({"size": [1920, 1080]}, (800, 600), (1920, 1080)),
        ({"canvas": [1008, 672]}, (800, 600), (1008, 672)),
        ([{"longest": 1120}, {"factor": 28}], (1920, 1080), (1120, 616)),
        (None, (800, 600), (800, 600)),
    ],
)
def test_an_image_gets_the_size_of_its_rule(rule, image_wh, expected):
    steps = steps_of({"resize": rule})
    assert resized_wh(steps, image_wh) == expected
    assert resized(steps, Image.new("RGB", image_wh)).size == expected


def test_limits_beside_the_rule_count_unless_it_has_its_own():
    limits = {"min_pixels": 3136, "max_pixels": 1000000}
    assert sent_wh({**limits, "resize": {"factor": 28}}, (1920, 1080)) == (1316, 728)
    rule = {"factor": 28, "max_pixels": 12845056}
    assert sent_wh({**limits, "resize": rule}, (1920, 1080)) == (1932, 1092)


def test_an_image_lies_in_the_top_left_corner_of_a_white_canvas():
    [step] = steps_of({"resize": {"canvas": [100, 60]}})
    canvas = step.resize(Image.new("RGB", (50, 60), "black"))
    assert (canvas.getpixel((48, 58)), canvas.getpixel((52, 58))) == ((0, 0, 0), (255, 255, 255))


@pytest.mark.parametrize(
    ("image_wh", "expected"),
    [((1170, 2532), (310, 672)), ((1366, 768), (1008, 566)), ((1377, 768), (1008, 562))],
)
def test_an_image_fills_its_canvas_in_one_direction(image_wh, expected):
    [step] = steps_of({"resize": {"canvas": [1008, 672]}})
    canvas = step.resize(Image.new("RGB", image_wh, "black"))
    right, bottom = expected[0] - 1, expected[1] - 1
    assert canvas.getpixel((right, bottom)) == (0, 0, 0)
    beyond = [(right + 1, bottom), (right, bottom + 1)]
    inside = [(x, y) for x, y in beyond if x < 1008 and y < 672]
    assert [canvas.getpixel(pixel) for pixel in inside] == [(255, 255, 255)]


@pytest.mark.parametrize(
    "rule",
    [
        28,
        {},
        [28],
        {"factor": 0},
        {"factor": "28"},
        {"factor": 28, "size": [1, 1]},
        {"size": [1920]},
        {"size": [1920, 1080.5]},
        {"factor": 28, "filter": "nearest"},
        {"factor": 28, "shortest": 3},
        {"min_pixels": 3},
    ],
)
def test_a_rule_that_cannot_be_meant_is_named_before_the_run(staged, rule):
    result = staged().evaluate({"m": {**API, "kwargs": {"resize": rule}}}, "--check", data=POINTS)
    assert result.code == 2
    assert (
        'model."m".kwargs.resize: must be an object, or a list of objects, such as {"factor": 28}'
        in result.output
    )


def test_resize_and_img_size_do_not_go_together(staged):
    kwargs = {"resize": {"factor": 28}, "img_size": 300}
    result = staged().evaluate({"m": {**API, "kwargs": kwargs}}, "--check", data=POINTS)
    assert 'model."m".kwargs.img_size: cannot be combined with resize' in result.output


@pytest.mark.parametrize(
    ("kwargs", "expected"),
    [
        ({"image_format": "jpeg"}, 95),
        ({"image_format": "jpeg", "jpeg_quality": 75}, 75),
        ({"image_format": "jpeg", "jpeg_quality": 75, "resize": {"size": [64, 48]}}, 75),
    ],
)
def test_a_jpeg_goes_out_in_the_quality_that_is_set(staged, kwargs, expected):
    stage = staged()
    result = stage.evaluate({"m": {**API, "kwargs": kwargs}}, data=POINTS)
    assert result.code == 0, result.output
    [url] = result.requests[0].pictures
    head, _, data = url.partition(";base64,")
    assert head == "data:image/jpeg"
    sent = Image.open(io.BytesIO(base64.b64decode(data)))
    same_quality = io.BytesIO()
    Image.new("RGB", sent.size).save(same_quality, format="JPEG", quality=expected)
    assert sent.quantization == Image.open(same_quality).quantization


def test_an_endpoint_gets_the_resized_image_and_the_log_says_so(staged):
    stage = staged(pictures=[("os_web", (100, 60))])
    entry = {**API, "kwargs": {"resize": {"factor": 28, "min_pixels": 28 * 28}}}
    result = stage.evaluate({"m": entry}, data=POINTS)
    assert result.code == 0, result.output
    data = result.requests[0].pictures[0].partition(";base64,")[2]
    assert Image.open(io.BytesIO(base64.b64decode(data))).size == (112, 56)
    assert stage.answers(L2)[0]["sizes"]["sent"] == [112, 56]
    assert "were resized before sending (kwargs.resize): " in result.output
    again = stage.evaluate({"m": entry}, data=POINTS)
    assert again.requests == []  # the stored answers fit
    changed = stage.evaluate({"m": API}, data=POINTS)
    assert len(changed.requests) == len(result.requests)
