"""Crops of a second look: how they are cut, how much memory that takes, and what stays of them."""

import base64
import io
import signal
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from PIL import Image

from tests.support.mock_server import Reply
from tests.support.stage import L2, end_of
from utils.functions.follow_up import save_crop
from utils.geometry.pixels import MemoryRoom
from utils.geometry.zooming import Crop

WH = (400, 300)
PARSE = {L2: "models.recipes.gemini.parse_point"}
ZOOM = {"ratio": 0.5}


def is_crop(request):
    [url] = request.pictures
    image = Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2])))
    return image.size != WH


def points(_request):
    return Reply("(500,500)")


# -- memory -----------------------------------------------------------------------------------


class Watched(MemoryRoom):
    """A room that remembers the most that was ever taken of it, and by how many at once."""

    def __init__(self, nbytes):
        super().__init__(nbytes)
        self.most, self.now, self._lock = 0, 0, threading.Lock()

    def taken(self, nbytes):
        watched, inner = self, super().taken(nbytes)

        class Taken:
            def __enter__(self):
                inner.__enter__()
                with watched._lock:
                    watched.now += nbytes
                    watched.most = max(watched.most, watched.now)

            def __exit__(self, *details):
                with watched._lock:
                    watched.now -= nbytes
                return inner.__exit__(*details)

        return Taken()


@pytest.mark.parametrize(
    ("limit", "sizes", "most_taken"),
    [
        (100, [40] * 20, 80),
        (100, [100] * 6, 100),
        (100, [500] * 5, 500),  # alone, each of them
        (100, [1] * 300, 100),
        (0, [7] * 10, 7),
    ],
)
def test_no_more_is_taken_than_there_is_and_what_needs_more_comes_alone(limit, sizes, most_taken):
    room = Watched(limit)
    everybody = threading.Barrier(min(len(sizes), 10))

    def take(nbytes):
        if nbytes != 1:
            everybody.wait(30)
        with room.taken(nbytes):
            return nbytes

    with ThreadPoolExecutor(10 if len(sizes) % 10 == 0 else len(sizes)) as pool:
        assert sum(pool.map(take, sizes)) == sum(sizes)
    assert 0 < room.most <= most_taken
    assert room.now == 0


def test_room_is_given_back_where_the_work_fails():
    room = MemoryRoom(10)
    for _ in range(5):
        with pytest.raises(OSError, match="damaged"), room.taken(10):
            raise OSError("damaged")


@pytest.mark.parametrize(
    "entry",
    [
        {"zoom": ZOOM},
        {"zoom": {"ratio": 0.3, "resize_to": [90, 90]}},
        {"kwargs": {"img_size": 100}},
        {"kwargs": {"image_format": "jpeg"}},
        {"kwargs": {"resize": {"factor": 28}}},
    ],
    ids=str,
)
def test_however_many_are_in_flight_few_images_are_decoded_at_a_time(entry, staged, monkeypatch):
    room = Watched(2 * 4 * WH[0] * WH[1])
    monkeypatch.setattr("utils.geometry.images.ROOM", room)
    stage = staged(answer=points, pictures=[("os_web", WH)] * 12, parse_function=PARSE, **entry)
    assert stage.run("--data", L2, "--api-nproc", "24", "--no-report").code == 0
    assert 0 < room.most <= 2 * 4 * WH[0] * WH[1]


# -- pixels -----------------------------------------------------------------------------------

CROP = Crop(WH, (100.4, 50.2, 300.4, 200.2), None)


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "P", "L", "LA", "1", "CMYK"])
def test_a_crop_is_the_same_whether_it_is_cut_before_or_after(mode, tmp_path):
    noise = np.random.default_rng(3).integers(0, 255, (WH[1], WH[0], 3), dtype=np.uint8)
    image = Image.fromarray(noise).convert(mode)
    file = tmp_path / ("image.tif" if mode == "CMYK" else "image.png")
    image.save(file)
    save_crop(file, CROP, tmp_path / "crop.png")
    with Image.open(tmp_path / "crop.png") as crop, Image.open(file) as full_image:
        assert crop.mode == "RGB"
        assert crop.tobytes() == full_image.convert("RGB").crop((100, 50, 300, 200)).tobytes()


def test_a_crop_of_16_bits_is_scaled_and_one_of_a_turned_image_is_as_stored(tmp_path):
    ramp = np.linspace(0, 65535, WH[0] * WH[1]).reshape(WH[::-1]).astype("<u2")
    Image.frombytes("I;16", WH, ramp.tobytes()).save(tmp_path / "wide.png")
    save_crop(tmp_path / "wide.png", CROP, tmp_path / "crop.png")
    with Image.open(tmp_path / "crop.png") as crop:
        expected = np.rint(ramp[50:200, 100:300] / 257)
        assert (np.asarray(crop)[:, :, 0] == expected).all()
    exif = Image.Exif()
    exif[0x0112] = 6
    image = Image.new("RGB", WH, "white")
    image.paste("red", (100, 50, 110, 60))
    image.save(tmp_path / "turned.jpg", exif=exif, quality=100)
    save_crop(tmp_path / "turned.jpg", CROP, tmp_path / "crop.png")
    with Image.open(tmp_path / "crop.png") as crop:
        assert crop.getpixel((4, 4))[1] < 60 and crop.getpixel((100, 100))[1] > 200


def test_an_image_whose_pixels_are_damaged_fails_its_second_look_alone(staged):
    stage = staged(answer=points, zoom=ZOOM, parse_function=PARSE, pictures=[("os_web", WH)] * 3)
    Image.effect_noise(WH, 80).convert("RGB").save(stage.picture(1))
    content = bytearray(stage.picture(1).read_bytes())
    content[len(content) // 2 : len(content) // 2 + 9] = b"\xff" * 9
    stage.picture(1).write_bytes(bytes(content))
    ran = stage.run("--data", L2, "--retry", "0")
    assert (ran.code, "internal error" in ran.output) == (1, False)
    assert "pic1.png: no part of it can be cut out: " in ran.output
    assert len(ran.requests) == 4 * 2 + 2  # the damaged one is looked at once


# -- files ------------------------------------------------------------------------------------


def crops_of(stage):
    return [path for path in stage.work_dir.rglob(".crops*") if path.is_dir()]


@pytest.fixture
def zooming(staged, tmp_path, monkeypatch):
    """A stage with a second look, whose temporary folder is watched."""
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    answer = {"crop": points}
    stage = staged(
        answer=lambda request: (answer["crop"] if is_crop(request) else points)(request),
        pictures=[("os_web", WH)] * 4,
        zoom=ZOOM,
        parse_function=PARSE,
    )
    stage.data = {L2: {"mode": "all"}}
    stage.env["TMPDIR"] = str(temporary)
    return stage, temporary, answer


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_what_a_run_leaves_when_it_is_stopped_goes_with_the_next_one(end, zooming):
    stage, temporary, answer = zooming
    has_begun, may_end = threading.Event(), threading.Event()

    def wait(request):
        has_begun.set()
        may_end.wait(120)
        return points(request)

    answer["crop"] = wait
    process = stage.start("--no-report")
    assert has_begun.wait(120)
    assert len(crops_of(stage)) == 1
    assert crops_of(stage)[0].stat().st_mode & 0o777 == 0o700
    process.send_signal(end)
    may_end.set()
    end_of(process)
    assert len(crops_of(stage)) == (end == signal.SIGKILL)
    assert list(temporary.iterdir()) == []
    answer["crop"] = points
    assert stage.run("--no-report").code == 0
    assert crops_of(stage) == [] == list(temporary.iterdir())


def test_a_run_that_ends_leaves_no_crops_and_a_check_makes_none(zooming):
    stage, temporary, _ = zooming
    assert stage.run("--check").code == 0
    assert not stage.work_dir.exists()
    assert stage.run().code == 0
    assert stage.run("--fresh", "--limit", "2").code == 0
    assert crops_of(stage) == [] == list(temporary.iterdir())


def test_a_work_dir_may_be_named_from_the_current_folder(zooming):
    stage, _, _ = zooming
    ran = stage.run("--work-dir", "out", "--no-report", "--retry", "0")
    assert ran.code == 0, ran.output
    assert len(ran.requests) == 4 * 2 * 2  # each of two questions on an image is looked at twice


def test_crops_of_another_data_set_stay(zooming):
    stage, _, _ = zooming
    stage.run()
    other = stage.folder() / ".crops_Other_1"
    own_folder = stage.folder() / f".crops_{L2}_1"
    for folder in (other, own_folder):
        folder.mkdir()
        (folder / "a.png").touch()
    assert stage.run().code == 0
    assert crops_of(stage) == [other]
