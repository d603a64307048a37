"""Which data set a file of answers is to, where several are known or were named."""

import json

import pytest

from tests.exchange.answers_here import (
    DATA,
    imported,
    make_screenspot_pro,
    plain_rows,
    screenspot_pro_replies,
    write_lines,
)
from tests.support import runs

PRO_ROWS = 26


@pytest.fixture(scope="module")
def two_tables(tmp_path_factory):
    """A data root with L2, and with a ScreenSpot-Pro whose rows ask the same on the same images."""
    root = runs.make_data(tmp_path_factory.mktemp("both"))
    make_screenspot_pro(root, PRO_ROWS)
    l2_rows = plain_rows(root)
    for path in (root / "ScreenSpot-Pro" / "annotations").glob("*.json"):
        rows = json.loads(path.read_text("utf-8"))
        for row in rows:
            twin = l2_rows[int(row["id"].rpartition("_")[2]) % len(l2_rows)]
            row |= {"img_filename": twin["image"], "instruction": twin["instruction"]}
        path.write_text(json.dumps(rows), "utf-8")
    return root


def pro_rows(root, count):
    """Rows of ScreenSpot-Pro that L2 has too, by image and instruction."""
    ids = [row["id"] for row in screenspot_pro_replies(PRO_ROWS)]
    twins = plain_rows(root)
    return [{**twins[n % len(twins)], "id": ids[n]} for n in range(count)]


def test_ids_that_only_one_table_has_decide_which_table_it_is(tmp_path, two_tables):
    file = write_lines(tmp_path / "a.jsonl", pro_rows(two_tables, 6))
    result = imported(tmp_path, two_tables, file, "--check")
    assert result.code == 0, result.output
    assert "ScreenSpotPro: 6 rows, 6 of 26 samples matched (6 by id)" in result.stdout


def test_ids_of_most_rows_decide_against_what_images_and_instructions_fit(tmp_path, two_tables):
    rows = pro_rows(two_tables, 6)
    rows[0]["id"] = "unknown_0"
    file = write_lines(tmp_path / "a.jsonl", rows)
    result = imported(tmp_path, two_tables, file, "--check")
    assert "ScreenSpotPro: 6 rows, 6 of 26 samples matched (5 by id" in result.stdout


def test_a_few_ids_that_fit_by_chance_decide_nothing(tmp_path, two_tables):
    rows = pro_rows(two_tables, 6)
    numbered = [{**row, "id": number} for number, row in enumerate(rows, start=1000)]
    numbered[0]["id"] = rows[0]["id"]
    file = write_lines(tmp_path / "a.jsonl", numbered)
    result = imported(tmp_path, two_tables, file, "--data", "L2", "ScreenSpotPro", "--check")
    assert result.code == 2
    assert 'fit each of "GUIElementGrounding", "ScreenSpotPro"; say which' in result.stderr


@pytest.mark.parametrize("data_names", [("ScreenSpotPro", "L2"), ("L2", "ScreenSpotPro"), ()])
@pytest.mark.parametrize("pro_count", [2, 10])
def test_rows_of_two_data_sets_in_one_file_are_refused(tmp_path, two_tables, data_names, pro_count):
    rows = [*pro_rows(two_tables, pro_count), *plain_rows(two_tables)]
    file = write_lines(tmp_path / "mixed.jsonl", rows)
    result = imported(tmp_path, two_tables, file, *(("--data", *data_names) if data_names else ()))
    assert result.code == 2
    assert "GUIElementGrounding (6 rows)" in result.stderr
    assert f"ScreenSpotPro ({pro_count} rows)" in result.stderr
    assert not (tmp_path / "outputs").exists()


def test_a_late_row_of_the_other_named_data_set_is_found_too(tmp_path, two_tables):
    rows = [*plain_rows(two_tables) * 50, *pro_rows(two_tables, 2)]
    file = write_lines(tmp_path / "mixed.jsonl", rows)
    result = imported(tmp_path, two_tables, file, "--data", "L2", "ScreenSpotPro")
    assert result.code == 2
    assert "ScreenSpotPro (2 rows)" in result.stderr


def test_a_named_data_set_without_a_row_is_said(tmp_path, two_tables):
    file = write_lines(tmp_path / "a.jsonl", plain_rows(two_tables))
    result = imported(tmp_path, two_tables, file, "--data", "ScreenSpotPro", "L2", "--check")
    assert result.code == 0
    assert "ScreenSpotPro: no row of this import; it is left out" in result.stdout


def test_a_named_data_set_whose_files_are_not_here_is_said(tmp_path, root):
    file = write_lines(tmp_path / "a.jsonl", plain_rows(root))
    result = imported(tmp_path, root, file, "--data", "ScreenSpotPro", "L2", "--check")
    assert result.code == 0
    assert "ScreenSpotPro: its files are not in LMUData" in result.stdout


@pytest.mark.parametrize("check", [("--check",), ()])
def test_a_config_with_two_data_sets_is_imported_under_another_name(tmp_path, two_tables, check):
    data = {**DATA, "ScreenSpotPro": {}}
    entry = {"model_path": "http://127.0.0.1:9/v1?model=m"}
    config = runs.write_config(tmp_path / "c.json", model={"m": entry}, data=data)
    file = write_lines(tmp_path / "a.jsonl", plain_rows(two_tables))
    options = ("--config", config, "--as", "renamed", *check)
    result = imported(tmp_path, two_tables, file, *options)
    assert result.code == 0, result.output
    assert "6 of 6 samples matched" in result.stdout
    assert "ScreenSpotPro: no row of this import; it is left out" in result.stdout
    assert [*(tmp_path / "outputs").glob("renamed/I*")] or check
