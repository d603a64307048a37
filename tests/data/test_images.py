"""What is remembered of an image file and for how long; which files are whole; where they may lie."""

import os
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest
from PIL import Image

from utils.geometry.images import cached_by_file, content_digest, read_header


@pytest.fixture
def files(tmp_path):
    computed = [tmp_path / f"{number}" for number in range(4)]
    for number, path in enumerate(computed):
        path.write_text("x" * (number + 1))
    return computed


@pytest.mark.parametrize("how", ["in place", "renamed onto it"])
def test_a_file_replaced_by_one_of_the_same_size_and_time_is_read_again(files, how):
    before, times = content_digest(files[3]), files[3].stat()
    other = files[3] if how == "in place" else files[3].with_name("other")
    other.write_text("yyyy")
    os.utime(other, ns=(times.st_atime_ns, times.st_mtime_ns))
    other.replace(files[3])
    assert files[3].stat().st_mtime_ns == times.st_mtime_ns
    assert content_digest(files[3]) != before


def test_what_was_not_used_for_longest_goes_first_and_failures_are_not_kept(files):
    computed = []

    @cached_by_file(2)
    def read(path):
        computed.append(files.index(path))
        return path.read_text(encoding="ascii")

    for number in (0, 1, 0, 2, 0, 1):
        read(files[number])
    files[3].write_text("ü", encoding="utf-8")
    with pytest.raises(UnicodeDecodeError):
        read(files[3])
    files[3].write_text("u", encoding="utf-8")
    assert (computed, read(files[3])) == ([0, 1, 2, 1, 3, 3], "u")


def test_values_are_kept_up_to_a_sum_of_weights_and_one_too_heavy_is_made_each_time(files):
    computed = []

    @cached_by_file(6, weigh=len)
    def read(path):
        computed.append(files.index(path))
        return path.read_text()

    for number in (0, 1, 2, 0, 1, 3, 1, 3, 2):  # weights 1, 2, 3, 4
        read(files[number])
    assert computed == [0, 1, 2, 3, 2]
    files[0].write_text("heavier")
    computed.clear()
    assert [read(files[0]), read(files[0]), computed] == ["heavier", "heavier", [0, 0]]


def test_threads_that_ask_for_a_value_at_once_get_the_one_that_the_first_makes(files):
    computed, second = [], Event()

    @cached_by_file(2)
    def read(path):
        computed.append(path)
        if len(computed) > 1:
            second.set()
        second.wait(0.2)  # time for the others to begin as well, were they let
        return object()

    with ThreadPoolExecutor(8) as pool:
        values = set(pool.map(read, [files[0]] * 8))
    assert (len(values), len(computed)) == (1, 1)


@pytest.mark.parametrize("file_format", ["PNG", "JPEG", "GIF", "BMP", "WEBP", "TIFF"])
def test_bytes_behind_the_end_of_a_picture_do_no_harm_missing_ones_do(file_format, tmp_path):
    path = tmp_path / "picture"
    Image.effect_noise((400, 300), 50).save(path, file_format)
    content = path.read_bytes()
    for behind in (b"", b"\0" * 16, b"trailer of a phone"):
        path.write_bytes(content + behind)
        header = read_header(path)
        assert (header.wh, header.mime) == ((400, 300), f"image/{file_format.lower()}")
    if file_format in ("PNG", "JPEG"):
        path.write_bytes(content[:-3000])
        with pytest.raises(OSError, match="truncated"):
            read_header(path)
