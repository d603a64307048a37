"""`--check` looks at a bounded part of many images, spread over all, and says how many."""

import numpy as np
import pytest
from PIL import Image

from tests.support.stage import L1, L2
from utils.contracts import Sample
from utils.session.checks.images import check_images

WH = (60, 40)
COUNT = 10


@pytest.fixture
def samples(tmp_path):
    """Ten images of noise, in turn PNG and JPEG; two samples on each."""
    noise = np.random.default_rng(5)
    paths = []
    for number in range(COUNT):
        path = tmp_path / f"{number}.{'png' if number % 2 == 0 else 'jpg'}"
        Image.fromarray(noise.integers(0, 255, (*WH[::-1], 3), dtype=np.uint8)).save(path)
        paths.append(path)
    return [Sample(f"{path} {n}", {}, path, WH) for path in paths for n in range(2)]


@pytest.fixture
def room_for(monkeypatch):
    def set_limit(images):
        monkeypatch.setattr("utils.session.checks.images.MOST_DECODED_PX", images * WH[0] * WH[1])

    return set_limit


def damage(path):
    """Whole by its length, another one in its middle."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2 : len(content) // 2 + 60] = b"\xff" * 60
    path.write_bytes(bytes(content))


@pytest.mark.parametrize("limit", [10, 11, 1000])
def test_all_images_are_decoded_where_they_are_few(limit, samples, room_for):
    room_for(limit)
    checked = check_images(samples)
    assert checked.summary == "images: 10 headers read, 10 decoded"
    assert checked.problems == []


@pytest.mark.parametrize(("limit", "decoded"), [(9, 9), (5, 5), (3, 3), (1, 1), (0, 1)])
def test_of_many_images_some_are_decoded(limit, decoded, samples, room_for):
    room_for(limit)
    summary = check_images(samples).summary
    assert summary.startswith(f"images: 10 headers read, {decoded} decoded (spread over all)")
    assert "the checksums of the other PNGs compared" in summary


@pytest.mark.parametrize("number", range(0, COUNT, 2))
@pytest.mark.parametrize("limit", [1, 4, 10])
def test_a_damaged_png_is_found_though_it_is_not_decoded(number, limit, samples, room_for):
    room_for(limit)
    path = samples[2 * number].image
    damage(path)
    [problem] = check_images(samples).problems
    assert problem.startswith(f"{path}: cannot be decoded: ")


@pytest.mark.parametrize(
    ("limit", "decoded"), [(2, [0, 5]), (3, [0, 4, 7]), (5, [0, 2, 4, 6, 8]), (10, [*range(10)])]
)
def test_what_is_decoded_is_spread_over_all(limit, decoded, samples, room_for):
    room_for(limit)
    for sample in samples:
        Image.new("RGB", WH).save(sample.image, "BMP")  # its end and its sums say nothing
        sample.image.write_bytes(sample.image.read_bytes()[:-2000])
    problems = " ".join(check_images(samples).problems)
    assert [n for n in range(COUNT) if samples[2 * n].image.name in problems] == decoded


def test_the_check_of_a_run_says_what_it_has_looked_at(stage):
    result = stage.run("--check")
    assert "images: 3 headers read, 3 decoded\n" in result.stdout
    assert "about" not in result.stdout


def test_the_size_of_many_requests_is_that_of_some(stage, monkeypatch):
    exact = stage.run("--check").stdout
    monkeypatch.setattr("utils.session.checks.images.MOST_ENCODED", 2)
    estimated = stage.run("--check").stdout
    for dataset, count in ((L1, 9), (L2, 6)):
        [line] = [text for text in exact.splitlines() if f"{dataset}: {count} requests" in text]
        assert f"({count} new, " in line and "about" not in line
        [line] = [text for text in estimated.splitlines() if f"{dataset}: {count} requests" in text]
        assert f"({count} new, about " in line
