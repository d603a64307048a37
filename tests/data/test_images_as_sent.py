"""What leaves for a server: the file's bytes, without an orientation tag, in a format it takes."""

import base64
import io
import json

import numpy as np
import pytest
from PIL import Image, ImageOps, PngImagePlugin

from models.wrappers.api.wire import ImageSlot, ImageStyle
from models.wrappers.defaults import request_of
from models.wrappers.local.inputs import ShrunkImages
from tests.support.stage import L1, L2
from utils.functions.fingerprints import digest
from utils.geometry.images import as_sent, content_digest, open_image, read_header
from utils.geometry.orientation import as_stored, is_turned
from utils.geometry.pixels import in_8_bits
from utils.geometry.resizing import ResizeStep
from utils.pages.pictures import view_image

WH = (40, 30)
TAG = 0x0112
XMP = '<x:xmpmeta><rdf:Description tiff:Orientation="{}"/></x:xmpmeta>'
XMP_ELEMENT = "<x:xmpmeta><tiff:Orientation>{}</tiff:Orientation></x:xmpmeta>"


def scene(mode="RGB"):
    """An image that is another one when it is turned or mirrored."""
    image = Image.new("RGB", WH, (240, 240, 245))
    image.paste((30, 90, 200), (2, 1, 30, 6))
    image.paste((200, 20, 20), (33, 20, 37, 29))
    return image.convert(mode)


def saved(image, image_format, **options):
    sink = io.BytesIO()
    image.save(sink, image_format, **options)
    return sink.getvalue()


def exif(orientation):
    tags = Image.Exif()
    tags[TAG] = orientation
    tags[0x010F] = "Maker of cameras"
    return tags


def with_text(keyword, text, *, zipped, international=False):
    chunks = PngImagePlugin.PngInfo()
    add = chunks.add_itxt if international else chunks.add_text
    add(keyword, text, zip=zipped)
    return saved(scene(), "PNG", pnginfo=chunks)


def profile(orientation):
    """EXIF data as text, as programs wrote it before PNG had a chunk for it."""
    content = exif(orientation).tobytes()
    digits = content.hex()
    lines = [digits[start : start + 72] for start in range(0, len(digits), 72)]
    return "\n".join(["", "exif", f"{len(content):8}", *lines, ""])


TURNED = {
    "JPEG 6": saved(scene(), "JPEG", exif=exif(6)),
    "JPEG 2": saved(scene(), "JPEG", exif=exif(2), quality=100),
    "gray JPEG 8": saved(scene("L"), "JPEG", exif=exif(8)),
    "JPEG of two frames 3": saved(
        scene(), "MPO", exif=exif(3), save_all=True, append_images=[scene()]
    ),
    "JPEG, in XMP": saved(scene(), "JPEG", xmp=XMP.format(5).encode()),
    "PNG 7": saved(scene(), "PNG", exif=exif(7)),
    "PNG 4 of a palette": saved(scene("P"), "PNG", exif=exif(4)),
    "PNG, in XMP": with_text("XML:com.adobe.xmp", XMP.format(6), zipped=False, international=True),
    "PNG, in packed XMP": with_text(
        "XML:com.adobe.xmp", XMP_ELEMENT.format(8), zipped=True, international=True
    ),
    "PNG, in a profile": with_text("Raw profile type exif", profile(6), zipped=False),
    "PNG, in a packed profile": with_text("Raw profile type exif", profile(3), zipped=True),
    "WebP 5": saved(scene(), "WEBP", exif=exif(5), lossless=True),
    "WebP, in XMP": saved(scene(), "WEBP", xmp=XMP_ELEMENT.format(6).encode()),
}
FRAMES = {"save_all": True, "append_images": [scene().rotate(180)], "duration": 90}
UNUSUAL = {
    "BMP": saved(scene(), "BMP"),
    "TIFF": saved(scene(), "TIFF"),
    "ICO": saved(scene(), "ICO", sizes=[(32, 24)]),
    "JPEG 2000": saved(scene(), "JPEG2000"),
    "AVIF": saved(scene(), "AVIF", quality=100),
    "PPM": saved(scene(), "PPM"),
    "TGA": saved(scene(), "TGA"),
    "animated GIF": saved(scene("P"), "GIF", **FRAMES),
    "animated WebP": saved(scene(), "WEBP", lossless=True, **FRAMES),
    "animated PNG": saved(scene(), "PNG", **FRAMES),
}
USUAL = {
    "PNG": saved(scene(), "PNG"),
    "JPEG": saved(scene(), "JPEG"),
    "JPEG 1": saved(scene(), "JPEG", exif=exif(1)),
    "PNG 1": saved(scene(), "PNG", exif=exif(1)),
    "WebP 1": saved(scene(), "WEBP", exif=exif(1)),
    "JPEG with other tags": saved(scene(), "JPEG", exif=Image.Exif(), comment=b"Orientation 6"),
    "GIF": saved(scene("P"), "GIF"),
    "WebP": saved(scene(), "WEBP"),
    "PNG of 16 bits": saved(Image.new("I;16", WH, 40_000), "PNG"),
    "JPEG of two frames": saved(scene(), "MPO", save_all=True, append_images=[scene()]),
}


@pytest.fixture
def one(staged):
    """A stage of a single image, whose content a test gives."""

    def make(content, **entry):
        stage = staged(pictures=[("os_web", WH)], **entry)
        stage.picture(0).write_bytes(content)
        stage.data = {L2: {"mode": "basic"}}
        return stage

    return make


def sent(ran):
    """The MIME type and the bytes of the image of the only request."""
    [request] = ran.requests
    [url] = request.pictures
    head, _, data = url.partition(";base64,")
    return head.removeprefix("data:"), base64.b64decode(data)


def pixels(content):
    """The first frame as it is stored; what is transparent shows white."""
    with Image.open(io.BytesIO(as_stored(content))) as image:
        return np.asarray(image.convert("RGB"))


def record(stage):
    [answer] = stage.answers(L2)
    return answer


# -- orientation tags -------------------------------------------------------------------------


@pytest.mark.parametrize("name", TURNED)
def test_an_orientation_tag_is_removed_without_touching_a_pixel(name, one):
    content = TURNED[name]
    original = Image.open(io.BytesIO(content))
    assert original.getexif()[TAG] != 1
    stage = one(content)
    ran = stage.run()
    mime, as_it_was_sent = sent(ran)
    image = Image.open(io.BytesIO(as_it_was_sent))
    assert (image.format, image.size, image.getexif().get(TAG, 1)) == (original.format, WH, 1)
    assert image.tobytes() == original.tobytes() == ImageOps.exif_transpose(image).tobytes()
    assert len(as_it_was_sent) == len(content)
    assert mime == ("image/jpeg" if "JPEG" in name else f"image/{image.format.lower()}")
    assert record(stage)["image_changes"] == ["orientation"]
    assert ran.stdout.count("1 sample: the image is sent without its orientation tag") == 1
    assert stage.run().requests == []


@pytest.mark.parametrize("name", TURNED)
def test_what_is_left_of_a_file_without_its_tag_is_whole(name, tmp_path):
    file = tmp_path / "image"
    file.write_bytes(as_stored(TURNED[name]))
    assert not is_turned(file)
    assert as_stored(file.read_bytes()) == file.read_bytes()
    with Image.open(file) as image:
        assert image.getexif().get(0x010F, "Maker of cameras") == "Maker of cameras"
    with Image.open(file) as image:
        image.verify()  # the checksums of a PNG


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content[:20],
        lambda content: content[: len(content) // 2],
        lambda content: content.replace(b"II*\0\x08", b"II*\0\xff"),
        lambda content: content.replace(b"MM\0*", b"MM\0\0"),
        lambda content: content.replace(b"Exif\0\0", b"Exif\0\0" + b"\xff" * 6),
    ],
)
@pytest.mark.parametrize("name", TURNED)
def test_broken_data_about_an_image_is_left_as_it_is(name, damage):
    content = damage(TURNED[name])
    assert len(as_stored(content)) == len(content)


@pytest.mark.parametrize("orientation", range(2, 9))
def test_a_tiff_is_seen_as_stored_though_pillow_turns_it(orientation, one, tmp_path):
    content = saved(scene(), "TIFF", exif=exif(orientation))
    stage = one(content)
    mime, as_png = sent(stage.run())
    assert (mime, read_header(stage.picture(0)).wh) == ("image/png", WH)
    assert (pixels(as_png) == np.asarray(scene())).all()
    assert record(stage)["sizes"]["file"] == record(stage)["sizes"]["sent"] == [*WH]
    with open_image(stage.picture(0)) as image:
        assert image.size == WH


# -- formats ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", UNUSUAL)
def test_a_format_that_servers_refuse_goes_out_as_png_of_the_first_frame(name, one):
    stage = one(UNUSUAL[name])
    ran = stage.run()
    mime, as_png = sent(ran)
    image = Image.open(io.BytesIO(as_png))
    assert (mime, image.format, getattr(image, "n_frames", 1)) == ("image/png", "PNG", 1)
    assert (pixels(as_png) == pixels(UNUSUAL[name])).all()
    assert record(stage)["image_changes"] == ["png"]
    assert ran.stdout.count("1 sample: the image is sent as a PNG of its first frame") == 1
    checked = stage.run("--check", "--fresh")
    assert f"{L2}: 1 sample: the image is sent as a PNG" in checked.stdout


@pytest.mark.parametrize("name", USUAL)
def test_all_other_files_go_out_as_they_are(name, one):
    stage = one(USUAL[name])
    ran = stage.run()
    mime, content = sent(ran)
    assert content == USUAL[name]
    assert mime == read_header(stage.picture(0)).mime
    assert "image_changes" not in record(stage)
    assert "the image is sent" not in ran.output


@pytest.mark.parametrize("name", [*UNUSUAL, *TURNED])
def test_original_keeps_the_bytes_whatever_they_are(name, one):
    content = {**UNUSUAL, **TURNED}[name]
    stage = one(content, kwargs={"image_format": "original"})
    ran = stage.run()
    assert sent(ran)[1] == content
    assert "image_changes" not in record(stage)
    assert "the image is sent" not in ran.output


@pytest.mark.parametrize(
    ("name", "kwargs", "changes"),
    [
        ("animated PNG", {"image_format": "png"}, ["png"]),
        ("PNG 7", {"image_format": "png"}, ["orientation"]),
        ("JPEG 6", {"image_format": "jpeg"}, ["orientation"]),
        ("BMP", {"image_format": "png"}, None),  # a setting asks for it
        ("animated GIF", {"image_format": "jpeg"}, None),
        ("JPEG 6", {"img_size": 20}, None),
        ("TIFF", {"resize": {"size": [56, 28]}}, None),
    ],
)
def test_what_a_setting_asks_for_is_no_change_of_ours(name, kwargs, changes, one):
    stage = one({**UNUSUAL, **TURNED}[name], kwargs=kwargs)
    content = sent(stage.run())[1]
    image = Image.open(io.BytesIO(content))
    assert getattr(image, "n_frames", 1) == 1
    assert image.getexif().get(TAG, 1) == 1
    assert record(stage).get("image_changes") == changes


def test_a_function_of_the_users_that_builds_on_the_default_sends_the_same_bytes(one):
    function = {"preprocess_function": "models.base.default_api_preprocess_function"}
    assert sent(one(TURNED["JPEG 6"], **function).run())[1] == as_stored(TURNED["JPEG 6"])


def test_the_responses_api_gets_the_same_bytes(one):
    stage = one(TURNED["JPEG 6"], api="responses", generate_cfg={})
    [request] = stage.run("--retry", "0").requests
    data = base64.b64encode(as_stored(TURNED["JPEG 6"])).decode()
    assert f"data:image/jpeg;base64,{data}" in json.dumps(request.body)


def test_a_tag_counts_by_the_bytes_that_are_sent(one):
    stage = one(TURNED["JPEG 6"])
    stage.run()
    stage.picture(0).write_bytes(as_stored(TURNED["JPEG 6"]))
    assert stage.run().requests == []  # the same request, so the same answer


@pytest.mark.parametrize("name", USUAL)
def test_files_that_go_out_as_they_are_count_as_before(name, tmp_path):
    file = tmp_path / "image"
    file.write_bytes(USUAL[name])
    header = read_header(file)
    for style in (ImageStyle(), ImageStyle(image_format="original")):
        slot = ImageSlot.of(file, style)
        assert slot.identity == f"data:{header.mime};{slot.source}"


def test_a_run_of_several_images_says_each_thing_once(staged):
    stage = staged(pictures=[("os_web", WH)] * 4)
    for number, name in enumerate(["JPEG 6", "BMP", "WebP 5", "PNG"]):
        stage.picture(number).write_bytes({**TURNED, **UNUSUAL, **USUAL}[name])
    ran = stage.run("--data", L1)
    assert ran.stdout.count("the image is sent") == 2
    assert "6 samples: the image is sent without its orientation tag" in ran.stdout
    assert "3 samples: the image is sent as a PNG" in ran.stdout
    again = stage.run("--mode", "eval", "--data", L1)
    assert "6 samples: the image is sent without its orientation tag" in again.stdout


# -- what a person sees -----------------------------------------------------------------------


@pytest.mark.parametrize("name", [*TURNED, *UNUSUAL])
def test_a_browser_shows_the_image_as_stored(name, tmp_path):
    content = {**TURNED, **UNUSUAL}[name]
    file = tmp_path / "image"
    file.write_bytes(content)
    shown, mime = as_sent(file)
    assert mime in ("image/png", "image/jpeg", "image/webp")
    assert (pixels(shown) == pixels(content)).all()
    view, wh = view_image(file, tmp_path)
    with Image.open(view) as image:
        assert (image.size, image.getexif().get(TAG, 1)) == (wh, 1)


# -- more than 8 bits -------------------------------------------------------------------------

RAMP = np.linspace(0, 1, WH[0] * WH[1]).reshape(WH[::-1])


def wide(mode, values, image_format="TIFF"):
    kind = {"I;16": "<u2", "I;16B": ">u2", "I": "<i4", "F": "<f4"}[mode]
    raw = np.round(values) if mode != "F" else values
    return saved(Image.frombytes(mode, WH, raw.astype(kind).tobytes()), image_format)


WIDE = {
    "PNG of 16 bits": wide("I;16", RAMP * 65535, "PNG"),
    "TIFF of 16 bits": wide("I;16", RAMP * 65535),
    "TIFF of 16 bits, big end first": wide("I;16B", RAMP * 65535),
    "TIFF of 32 bits": wide("I", RAMP * 65535),
    "TIFF of 32 bits, all used": wide("I", RAMP * 4e9 - 2e9),
    "TIFF of 32 bits, 8 used": wide("I", RAMP * 255),
    "fractions": wide("F", RAMP),
    "fractions up to 255": wide("F", RAMP * 255),
    "fractions below zero": wide("F", RAMP * 20 - 10),
    "PGM of 16 bits": saved(
        Image.frombytes("I;16", WH, np.round(RAMP * 65535).astype("<u2").tobytes()), "PPM"
    ),
}


def is_ramp(content_or_image, wh=WH):
    """Whether the values go from black to white as they should, whatever the encoder does."""
    image = content_or_image
    if isinstance(image, bytes):
        image = Image.open(io.BytesIO(image))
    assert image.size == wh
    gray = np.asarray(image.convert("L").resize(WH), dtype=float)
    return float(np.abs(gray - RAMP * 255).mean()) < 6


@pytest.mark.parametrize("name", WIDE)
@pytest.mark.parametrize(
    "kwargs",
    [{"image_format": "jpeg"}, {"resize": {"size": list(WH[::-1])}}, {"img_size": 39}],
    ids=["jpeg", "resize", "img_size"],
)
def test_values_of_more_than_8_bits_are_scaled_not_cut(name, kwargs, one):
    stage = one(WIDE[name], kwargs=kwargs)
    content = sent(stage.run())[1]
    wh = (39, 29) if "img_size" in kwargs else WH[::-1] if "resize" in kwargs else WH
    assert is_ramp(content, wh)
    assert Image.open(io.BytesIO(content)).mode in ("L", "RGB")


@pytest.mark.parametrize("name", [name for name in WIDE if name != "PNG of 16 bits"])
def test_a_wide_image_that_goes_out_as_png_is_scaled(name, one):
    assert is_ramp(sent(one(WIDE[name]).run())[1])


@pytest.mark.parametrize("name", WIDE)
def test_a_wide_image_is_scaled_for_checkpoints_crops_and_pages(name, tmp_path, one):
    file = tmp_path / "image.tif"
    file.write_bytes(WIDE[name])
    for images in (ShrunkImages(0), ShrunkImages(0, [ResizeStep(size=WH[::-1])]), ShrunkImages(39)):
        messages = [{"role": "user", "type": "image", "value": str(file)}]
        copies = images.apply(messages)
        assert len(copies) == 1
        with Image.open(messages[0]["value"]) as image:
            assert is_ramp(image, image.size) and image.mode in ("L", "RGB")
        images.folder.cleanup()
    view, _ = view_image(file, tmp_path, small=True)
    with Image.open(view) as image:
        assert is_ramp(image)
    with open_image(file) as image:
        assert is_ramp(in_8_bits(image))


STRIPES = np.tile(np.array([0, 0, 255], dtype=np.uint8), (60, 40))
FITTING = {"img_size": 48}


def shrunk_for_servers(file):
    content, _ = ImageSlot.of(file, ImageStyle.from_kwargs(FITTING)).encoded()
    return Image.open(io.BytesIO(base64.b64decode(content)))


def shrunk_for_checkpoints(file):
    messages = [{"role": "user", "type": "image", "value": str(file)}]
    images = ShrunkImages(FITTING["img_size"])
    copies = images.apply(messages)
    with Image.open(copies[0].path) as image:
        image.load()
    images.folder.cleanup()
    return image


@pytest.mark.parametrize("shrunk", [shrunk_for_servers, shrunk_for_checkpoints])
@pytest.mark.parametrize("mode", ["P", "1"])
def test_an_image_with_a_palette_is_shrunk_like_the_same_pixels_without_one(mode, shrunk, tmp_path):
    image = Image.fromarray(STRIPES).convert(mode)
    image.save(file := tmp_path / "a.png")
    expected = image.convert("RGB")
    expected.thumbnail((48, 48))
    assert shrunk(file).convert("RGB").tobytes() == expected.tobytes()
    assert len(expected.getcolors()) > 2  # grays between black and white


def test_what_is_transparent_in_a_palette_stays_transparent_in_the_shrunk_image(tmp_path):
    image = Image.fromarray(STRIPES).convert("P")
    image.save(file := tmp_path / "a.png", transparency=image.getpixel((0, 0)))
    assert shrunk_for_servers(file).getextrema()[3][0] < 255


@pytest.mark.parametrize(
    ("mode", "kwargs", "is_other"),
    [
        ("P", FITTING, True),
        ("1", FITTING, True),
        ("P", {"img_size": 500}, False),
        ("P", {"image_format": "jpeg"}, False),
        ("P", {**FITTING, "wire_format": "reference"}, False),
        ("RGB", FITTING, False),
    ],
)
def test_only_answers_about_shrunk_palettes_are_asked_once_more(mode, kwargs, is_other, tmp_path):
    Image.fromarray(STRIPES).convert(mode).save(file := tmp_path / "a.png")
    identity = ImageSlot.of(file, ImageStyle.from_kwargs(kwargs)).identity
    assert identity.endswith(";without a palette") == is_other
    if "wire_format" not in kwargs:
        message = {"role": "user", "type": "image", "value": str(file)}
        request = request_of([message], L1, "", kwargs)
        earlier_digest = digest([content_digest(file)])
        assert (request.parts["picture"] != earlier_digest) == is_other


@pytest.mark.parametrize(
    ("value", "gray"), [(0, 0), (257, 1), (128, 0), (129, 1), (65535, 255), (65406, 254)]
)
def test_16_bits_are_divided_by_257(value, gray):
    assert in_8_bits(Image.new("I;16", (1, 1), value)).getpixel((0, 0)) == gray


def test_the_one_value_that_is_transparent_stays_transparent():
    image = Image.new("I;16", (2, 1), 700)
    image.putpixel((0, 0), 30_000)
    image.info["transparency"] = 700
    narrow = in_8_bits(image)
    assert (narrow.mode, narrow.getpixel((0, 0)), narrow.getpixel((1, 0))[1]) == (
        "LA",
        (117, 255),
        0,
    )
