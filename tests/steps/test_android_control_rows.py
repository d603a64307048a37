"""The official file of AndroidControl: its rows by set, and what is doubtful about them."""

import hashlib
from collections import Counter

import pytest

from tests.support import step_cases
from tests.support.step_files import NAME, benchmark, official_text

pytestmark = pytest.mark.skipif(
    not step_cases.FOLDER.is_dir(), reason=f"{step_cases.FOLDER} is not there"
)

SHA256 = "8525f839390537260eac082ad8d562e0992e5e4774582f9def8b43af9d431c3f"
KINDS = ("click", "swipe", "type", "open", "wait", "system_button", "long_press")
ROW_COUNTS = {
    "official": (8444, (5074, 1211, 632, 608, 567, 343, 9)),
    "os_atlas": (7708, (4598, 1138, 569, 554, 527, 315, 7)),
    "ui_r1": (7868, (5074, 1211, 632, 608, 0, 343, 0)),
}
REPEATS = {"swipe": 676, "wait": 532, "click": 207, "system_button": 98, "type": 29, "open": 2}
EMPTY = {"open": 8, "wait": 6, "swipe": 1, "click": 1}


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    root = tmp_path_factory.mktemp("data")
    (root / "AndroidControl").mkdir()
    (root / "AndroidControl" / NAME).write_bytes(official_text())
    return root


def kinds_of(rows):
    return Counter(row["recorded"]["action"] for row in rows)


def test_the_file_is_the_published_one():
    assert hashlib.sha256(official_text()).hexdigest() == SHA256


@pytest.mark.parametrize("rows", ROW_COUNTS)
def test_each_set_of_rows_has_the_published_number_of_each_action(root, rows):
    step_rows = list(benchmark("AndroidControl", root, rows=rows).read_rows())
    count, by_kind = ROW_COUNTS[rows]
    kinds = kinds_of(step_rows)
    assert (len(step_rows), tuple(kinds[kind] for kind in KINDS)) == (count, by_kind)
    assert [row["id"] for row in step_rows if row["problem"]] == []
    if rows == "os_atlas":
        assert {row["id"] for row in step_rows} == step_cases.os_atlas_ids()


def test_doubtful_rows_are_as_many_as_counted(root):
    rows = list(benchmark("AndroidControl", root, rows="official").read_rows())
    by_doubt = {
        doubt: kinds_of(row for row in rows if doubt in row["doubts"])
        for doubt in ("repeats", "empty", "opposite", "other_axis")
    }
    assert by_doubt == {
        "repeats": REPEATS,
        "empty": EMPTY,
        "opposite": {"swipe": 860},
        "other_axis": {"swipe": 40},
    }


def test_steps_that_are_not_asked_are_history_all_the_same(root):
    settings = {"rows": "ui_r1", "history": "instructions"}
    rows = list(benchmark("AndroidControl", root, **settings).read_rows())
    [row] = [row for row in rows if row["id"] == "episode_8193_screenshot_7"]
    assert [step["step"] for step in row["history"]] == list(range(7))  # step 6 waits
    assert "episode_8193_screenshot_6" not in {row["id"] for row in rows}
