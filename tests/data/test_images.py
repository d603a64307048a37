"""What is remembered of a picture file, and for how long."""

from __future__ import annotations

import threading

import pytest
from PIL import Image

from utils.images import FileMemo, read_header


@pytest.fixture
def files(tmp_path):
    made = [tmp_path / f"{number}" for number in range(4)]
    for number, path in enumerate(made):
        path.write_text("x" * (number + 1))
    return made


def test_a_value_is_made_once_for_each_state_of_a_file(files):
    memo, made = FileMemo(limit=10), []
    for _ in range(3):
        memo.get(files[0], "size", made.append)

    files[0].write_text("another text")
    memo.get(files[0], "size", made.append)

    assert len(made) == 2


def test_threads_that_ask_at_the_same_time_wait_for_one_that_makes_it(files):
    memo, made, may_finish = FileMemo(limit=10), [], threading.Event()

    def slowly(path):
        made.append(path)
        may_finish.wait(10)
        return "value"

    found = []
    threads = [
        threading.Thread(target=lambda: found.append(memo.get(files[0], "x", slowly)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    may_finish.set()
    for thread in threads:
        thread.join(10)

    assert (len(made), found) == (1, ["value"] * 4)


def test_what_was_not_used_for_longest_goes_first(files):
    memo, made = FileMemo(limit=2), []
    for path in (files[0], files[1], files[0], files[2]):  # 1 is the oldest now
        memo.get(path, "x", made.append)
    made.clear()

    memo.get(files[0], "x", made.append)
    memo.get(files[1], "x", made.append)

    assert made == [files[1]]


def test_the_limit_is_a_sum_of_weights(files):
    memo, made = FileMemo(limit=5, weigh=len), []

    def read(path):
        made.append(path)
        return path.read_text()

    for path in (files[0], files[1], files[2]):  # 1 + 2 + 3: one too many
        memo.get(path, "text", read)
    made.clear()
    for path in (files[1], files[2], files[0]):
        memo.get(path, "text", read)

    assert made == [files[0]]


def test_a_failure_is_not_remembered(files):
    memo = FileMemo(limit=10)
    files[0].unlink()

    for _ in range(2):
        with pytest.raises(FileNotFoundError):
            memo.get(files[0], "x", lambda path: path.read_text())

    files[0].write_text("there")
    assert memo.get(files[0], "x", lambda path: path.read_text()) == "there"


@pytest.mark.parametrize("file_format", ["PNG", "JPEG", "GIF", "BMP", "WEBP", "TIFF"])
@pytest.mark.parametrize("behind", [b"", b"\0" * 16, b"trailer of a phone"])
def test_bytes_behind_the_end_of_a_picture_do_no_harm(file_format, behind, tmp_path):
    path = tmp_path / "picture"
    Image.effect_noise((40, 30), 50).save(path, file_format)
    path.write_bytes(path.read_bytes() + behind)
    assert read_header(path).wh == (40, 30)


@pytest.mark.parametrize("file_format", ["PNG", "JPEG"])
def test_a_picture_that_broke_off_is_unreadable(file_format, tmp_path):
    path = tmp_path / "picture"
    Image.effect_noise((400, 300), 50).save(path, file_format)
    path.write_bytes(path.read_bytes()[:-3000])
    with pytest.raises(OSError, match="truncated"):
        read_header(path)
