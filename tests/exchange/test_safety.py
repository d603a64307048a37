"""Files that were made to do harm: nothing happens, and one message says why."""

import gzip
import io
import json
import os
import pickle
import zipfile
from datetime import datetime
from itertools import repeat

import numpy as np
import pytest

from tests.exchange.answers_here import imported, plain_rows, write_lines
from utils.errors import UserError
from utils.exchange import files
from utils.exchange.formats import own
from utils.exchange.pickles import read_pickle
from utils.exchange.worlds import read_world


def test_a_line_that_never_ends_is_refused(tmp_path, root):
    file = tmp_path / "long.jsonl"
    with file.open("wb") as lines:
        lines.write(json.dumps(plain_rows(root)[0]).encode() + b'\n{"id": "')
        lines.seek(1 << 30, os.SEEK_CUR)  # a hole: nothing is on the disk
        lines.write(b'"}\n')
    result = imported(tmp_path, root, file)
    assert result.code == 2
    assert "line 2 is longer than 16 MiB" in result.stderr
    assert result.stderr.count("\n") == 2


@pytest.mark.parametrize("content", ["[" * 100_000, '{"a":' * 100_000])
def test_json_that_is_nested_too_deeply_is_refused(content, tmp_path, root):
    file = tmp_path / "deep.json"
    file.write_text(content, "utf-8")
    result = imported(tmp_path, root, file)
    assert (result.code, "Traceback" in result.output) == (2, False)


def workbook(path, sheet):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")
        with archive.open("xl/worksheets/sheet1.xml", "w", force_zip64=True) as part:
            for piece in sheet:
                part.write(piece)
    return path


@pytest.mark.parametrize(
    ("sheet", "problem"),
    [
        ([b" " * (1 << 20)] * 80, "80 MiB unpacked, expected at most 64"),
        ([b'<!DOCTYPE x [<!ENTITY a "b">]>'], "declares entities of XML"),
    ],
)
def test_a_spreadsheet_that_would_fill_the_memory_is_not_unpacked(sheet, problem, tmp_path, root):
    result = imported(tmp_path, root, workbook(tmp_path / "bomb.xlsx", sheet))
    assert result.code == 2
    assert problem in result.stderr


def test_a_file_that_unpacks_without_end_is_refused(tmp_path, root, monkeypatch):
    monkeypatch.setattr(files, "MOST_BYTES", 1 << 20)
    monkeypatch.setattr(files, "MOST_ROWS", 1000)
    row = json.dumps(plain_rows(root)[0]).encode() + b"\n"
    file = tmp_path / "bomb.jsonl.gz"
    file.write_bytes(gzip.compress(row * 20_000))
    opened = files.row_file(file)
    with pytest.raises(UserError, match="more than 1,000 rows"):
        list(opened.rows())


def test_a_function_that_yields_rows_without_end_is_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr(own, "MOST_ROWS", 1000)
    file = write_lines(tmp_path / "answers.txt", ["x"])
    rows = own.rows_of("mine.rows", lambda path: repeat({"id": 0, "reply": "r"}), file)
    with pytest.raises(UserError, match=r"answers.txt has more than 1,000 rows"):
        list(rows)


def test_links_and_pipes_are_not_followed(tmp_path, root):
    target = write_lines(tmp_path / "real.jsonl", plain_rows(root))
    link = tmp_path / "link.jsonl"
    link.symlink_to(target)
    os.mkfifo(tmp_path / "pipe.jsonl")
    for name, problem in (("link", "symbolic link"), ("pipe", "is neither a file nor a folder")):
        result = imported(tmp_path, root, tmp_path / f"{name}.jsonl")
        assert (result.code, problem in result.stderr) == (2, True)


def test_a_path_in_a_row_is_compared_and_never_opened(tmp_path, root):
    os.mkfifo(tmp_path / "x.png")  # to open it would wait for ever
    rows = [{**row, "image": "../../x.png", "id": None} for row in plain_rows(root)]
    file = write_lines(tmp_path / "a.jsonl", rows)
    result = imported(tmp_path, root, file, "--data", "GUIElementGrounding")
    assert result.code == 2
    assert "no row matches a sample" in result.stderr


class Harmful:
    """Prints when it is unpickled."""

    def __reduce__(self):
        return (print, ("this file was unpickled without a check",))


def packed(path, value, protocol=4):
    path.write_bytes(gzip.compress(pickle.dumps(value, protocol)))
    return path


@pytest.mark.parametrize("protocol", [0, 2, 4, 5])
def test_a_pickle_that_would_call_something_is_refused_by_its_name(protocol, tmp_path, capsys):
    file = packed(tmp_path / "Harmful_0.pkl.gz", [{"aux_data": Harmful()}], protocol)
    with pytest.raises(UserError, match=r"would call .*print when it is unpickled"):
        read_pickle(file)
    assert "unpickled without" not in capsys.readouterr().out


@pytest.mark.parametrize("protocol", [0, 2, 4, 5])
def test_plain_values_and_numbers_of_numpy_are_read_without_unpickling(protocol, tmp_path):
    value = [
        {
            "is_successful": np.float64(0.5),
            "count": np.int64(7),
            "flag": True,
            "text": "ü",
            "list": [1, -2, 2**40, 1.5, None],
            "tuple": (1, (2, 3), "x", 4),
            "nan": float("nan"),
        }
    ]
    read = read_pickle(packed(tmp_path / "a.pkl.gz", value, protocol))
    (episode,) = read
    assert (episode["is_successful"], episode["count"], episode["text"]) == (0.5, 7, "ü")
    assert (episode["list"], episode["tuple"]) == (value[0]["list"], value[0]["tuple"])
    assert episode["nan"] != episode["nan"]


def test_arrays_and_dates_are_passed_over(tmp_path):
    value = [{"image": np.zeros((4, 5), np.uint8), "when": datetime(2026, 1, 2), "goal": "g"}]
    (episode,) = read_pickle(packed(tmp_path / "a.pkl.gz", value))
    assert episode["goal"] == "g"


def test_a_broken_pickle_is_named(tmp_path):
    content = pickle.dumps([{"a": 1}])
    (tmp_path / "a.pkl").write_bytes(content[:-4])
    with pytest.raises(UserError, match="broken pickle"):
        read_pickle(tmp_path / "a.pkl")


def test_a_harmful_episode_is_left_out_and_the_others_are_read(tmp_path):
    episode = {"task_template": "Open", "instance_id": 0, "is_successful": 1.0, "episode_length": 3}
    packed(tmp_path / "Open_0.pkl.gz", [episode])
    packed(tmp_path / "Harmful_0.pkl.gz", [{**episode, "aux_data": Harmful()}])
    results = read_world(tmp_path, "android_world")
    assert [(one.task, one.score, one.steps) for one in results.episodes] == [("Open_0", "1.0", 3)]
    assert len(results.refused) == 1
    assert "Harmful_0.pkl.gz: is refused" in results.refused[0]


def test_a_field_that_is_no_number_says_nothing_of_an_episode(tmp_path):
    nothing = dict.fromkeys(("is_successful", "exception_info", "goal", "episode_length"), np.nan)
    packed(tmp_path / "Open_0.pkl.gz", [{"task_template": "Open", "instance_id": 0, **nothing}])
    (episode,) = read_world(tmp_path, "android_world").episodes
    assert (episode.score, episode.error, episode.instruction, episode.steps) == (None, "", "", 0)


def test_formulas_stay_text(tmp_path):
    content = io.BytesIO()
    import openpyxl

    book = openpyxl.Workbook()
    book.active.append(["id", "reply"])
    book.active.append(["a", "=1+1"])
    book.save(content)
    (tmp_path / "a.xlsx").write_bytes(content.getvalue())
    assert [row for _, row in files.row_file(tmp_path / "a.xlsx").rows()] == [
        {"id": "a", "reply": "=1+1"}
    ]
