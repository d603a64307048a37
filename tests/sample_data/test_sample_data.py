"""The sample data root: complete, honest about its boxes, and equal to the pages it came from."""

import hashlib
import json
import os
import sys
from collections import Counter
from itertools import product
from pathlib import Path

import pytest
from PIL import Image

from tests.support.browser import render_module
from utils.protocol import SAMPLE_MD5

SAMPLE_DIR = Path(__file__).resolve().parents[2] / "sample_data"
DATA_DIR = SAMPLE_DIR / "MMBench-GUI"
PICTURES_DIR = DATA_DIR / "offline_images"
SIZE_LIMIT_BYTES = 12_000_000

render = render_module()
sample_page = sys.modules["sample_page"]  # what render.py imports from its own folder
L1, L2 = (
    json.loads((DATA_DIR / f"{level}_annotations.json").read_text("utf-8"))
    for level in ("L1", "L2")
)
QUESTIONS = [question for image in L1 for question in image["groups"]]


def picture_path(row):
    return PICTURES_DIR / row["platform"] / row["image_path"]


def box_px(row):
    return [edge * side for edge, side in zip(row["bbox"], row["image_size"] * 2, strict=True)]


def test_every_platform_has_three_apps_and_there_are_enough_questions_and_instructions():
    apps = {(image["platform"], image["app_name"]) for image in L1}
    assert Counter(platform for platform, _ in apps) == dict.fromkeys(sample_page.PLATFORMS, 3)
    assert len(L1) >= 18
    assert len(QUESTIONS) >= 54
    assert len(L2) >= 72


def test_a_report_knows_this_data_by_its_checksums():
    """If not, update utils/protocol.py: the report says what scores are worth."""
    sums = {name: hashlib.md5((DATA_DIR / name).read_bytes()).hexdigest() for name in SAMPLE_MD5}
    assert sums == SAMPLE_MD5


@pytest.mark.parametrize(
    ("rows", "keys"),
    [
        (L1, "index image_path image_size platform app_name groups"),
        (QUESTIONS, "question options answer explanation difficulty"),
        (
            L2,
            "index image_path instruction bbox image_size data_type platform app_name grounding_type",
        ),
    ],
)
def test_rows_have_the_published_keys_in_the_published_order_and_are_counted_from_0(rows, keys):
    assert {tuple(row) for row in rows} == {tuple(keys.split())}
    assert rows is QUESTIONS or [row["index"] for row in rows] == list(range(len(rows)))


def test_every_image_has_each_difficulty_and_kind_of_instruction_and_no_instruction_twice():
    expected_kinds = set(product(sample_page.DATA_TYPES, sample_page.GROUNDING_TYPES))
    for image in L1:
        difficulties = [question["difficulty"] for question in image["groups"]]
        assert difficulties == list(sample_page.DIFFICULTIES), image["app_name"]
        rows = [row for row in L2 if row["image_path"] == image["image_path"]]
        assert {(row["data_type"], row["grounding_type"]) for row in rows} == expected_kinds
        assert len({row["instruction"] for row in rows}) == len(rows)


def test_options_are_lettered_from_a_distinct_and_contain_the_answer():
    for question in QUESTIONS:
        options = question["options"]
        assert "".join(options) == "ABCDEF"[: len(options)], question["question"]
        assert 4 <= len(options) <= 6
        assert len(set(options.values())) == len(options), question["question"]
        assert question["answer"] in options
        assert question["explanation"].endswith(".")


def test_no_letter_is_the_answer_much_more_often_than_chance():
    # Counted per number of options: otherwise "six options, so F" could be a shortcut.
    answers = Counter((len(q["options"]), q["answer"]) for q in QUESTIONS)
    for count in (4, 5, 6):
        answer_counts = [answers[count, letter] for letter in "ABCDEF"[:count]]
        assert max(answer_counts) - min(answer_counts) <= 1, (count, answer_counts)


def test_advanced_instructions_quote_no_label_of_their_target():
    # The basic text of the same element holds its label in quotes; the advanced one must not.
    for basic, advanced in zip(L2[::2], L2[1::2], strict=True):
        assert (basic["grounding_type"], advanced["grounding_type"]) == ("basic", "advanced")
        assert basic["bbox"] == advanced["bbox"]
        label = basic["instruction"].split("'")[1:2]
        assert not any(f"'{text}'" in advanced["instruction"] for text in label)


def test_boxes_lie_inside_the_picture_can_be_hit_and_something_is_drawn_inside():
    pictures = {path: Image.open(path).convert("L") for path in {picture_path(row) for row in L2}}
    for row in L2:
        x1, y1, x2, y2 = row["bbox"]
        assert 0 <= x1 < x2 <= 1 and 0 <= y1 < y2 <= 1, row["instruction"]
        box_x1, top, right, bottom = edges = box_px(row)
        assert right - box_x1 >= 12 and bottom - top >= 12, row["instruction"]
        assert (x2 - x1) * (y2 - y1) < 0.1, row["instruction"]
        levels = pictures[picture_path(row)].crop([round(edge) for edge in edges]).tobytes()
        # A symbol or a word stands out from its ground; a misplaced box often shows only ground.
        assert max(levels) - min(levels) >= 40, (row["app_name"], row["instruction"])


def test_the_pictures_have_the_annotated_size_no_other_file_lies_beside_them_and_all_is_small():
    for row in [*L1, *L2]:
        with Image.open(picture_path(row)) as picture:
            assert picture.format == "PNG"
            assert list(picture.size) == row["image_size"], row["image_path"]
    assert set(PICTURES_DIR.rglob("*.*")) == {picture_path(image) for image in L1}
    total = sum(path.stat().st_size for path in SAMPLE_DIR.rglob("*") if path.is_file())
    assert total < SIZE_LIMIT_BYTES


def test_the_annotations_hold_what_the_pages_say():
    pages = render.load_pages()
    assert render.l1_annotations(pages) == L1
    instructions = [
        (page.picture_name, target.instructions[kind], target.data_type, kind)
        for page in pages
        for target in page.targets
        for kind in sample_page.GROUNDING_TYPES
    ]
    keys = ("image_path", "instruction", "data_type", "grounding_type")
    assert [tuple(row[key] for key in keys) for row in L2] == instructions


@pytest.fixture(scope="module")
def browser_boxes_px():
    """Page name -> target name -> box as the browser lays the page out now."""
    missing = render.missing_for_rendering()
    if missing is not None:
        if os.environ.get("REQUIRE_BROWSER") == "1":
            pytest.fail(f"REQUIRE_BROWSER=1, but {missing}")
        pytest.skip(missing)
    with render.open_browser() as browser:
        return {page.name: render.measure(browser, page) for page in render.load_pages()}


def test_every_box_is_where_the_page_draws_its_element(browser_boxes_px):
    fresh = render.l2_annotations(render.load_pages(), browser_boxes_px)
    for row, expected in zip(L2, fresh, strict=True):
        distance_px = render.box_difference_px(row["bbox"], expected["bbox"], row["image_size"])
        assert distance_px <= 1, (row["app_name"], row["instruction"], distance_px)


def test_a_moved_element_is_reported(tmp_path, monkeypatch, browser_boxes_px):
    page = render.load_pages()[0]
    rows, expected = (render.l2_annotations([page], browser_boxes_px) for _ in range(2))
    rows[0]["bbox"] = [rows[0]["bbox"][0] + 0.01, *rows[0]["bbox"][1:]]
    (tmp_path / "L2_annotations.json").write_text(render.to_json(rows), encoding="utf-8")
    monkeypatch.setattr(render, "DATA_DIR", tmp_path)
    [difference] = render.row_differences("L2", expected)
    assert "index 0: box is" in difference
