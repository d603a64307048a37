"""Bad input of every table of grounding: one message each, before any request."""

import json
import shutil

import pytest

import evaluate
from utils import PROJECT
from utils.errors import DONE, NOTHING_RUN, SOME_FAILED

SAMPLE_DATA = PROJECT / "sample_data"
XYWH = ("ScreenSpot", "ScreenSpotV2", "OSWorldG")
UI_VISION = "annotations/element_grounding/element_grounding_basic.json"
FILES = {
    "ScreenSpot": ("ScreenSpot", "screenspot_web.json"),
    "ScreenSpotV2": ("ScreenSpot-v2", "screenspot_web_v2.json"),
    "ScreenSpotPro": ("ScreenSpot-Pro", "annotations/terminal_linux.json"),
    "OSWorldG": ("OSWorld-G", "OSWorld-G.json"),
    "UIVision": ("ui-vision", UI_VISION),
    "VenusBenchGD": ("VenusBench-GD", "instruction/element_grounding.json"),
    "UII2E": ("I2E-Bench", "I2E-bench-annotation.jsonl"),
}
BOX = dict.fromkeys(FILES, "bbox") | {"OSWorldG": "box_coordinates", "UII2E": "bounding_box"}
TEXT = dict.fromkeys(FILES, "instruction") | {"UIVision": "prompt_to_evaluate"}
IMAGE = dict.fromkeys(FILES, "img_filename") | {
    "OSWorldG": "image_path",
    "UIVision": "image_path",
    "UII2E": "image",
}
CHOICE = {  # a value of few, by table
    "ScreenSpot": "data_type",
    "ScreenSpotV2": "data_type",
    "ScreenSpotPro": "group",
    "OSWorldG": "box_type",
    "UIVision": "element_type",
}


@pytest.fixture(params=FILES)
def table(request, tmp_path, monkeypatch):
    """A table's name, and its files below a data root of their own."""
    folder, _ = FILES[request.param]
    shutil.copytree(SAMPLE_DATA / folder, tmp_path / "data" / folder)
    monkeypatch.setenv("LMUData", str(tmp_path / "data"))
    monkeypatch.delenv("IMAGE_ROOT_DIR", raising=False)
    return request.param, tmp_path


def file_of(table):
    name, tmp_path = table
    folder, file = FILES[name]
    return tmp_path / "data" / folder / file


def change_rows(table, change, *, times=1):
    """Change the first row that has a box, or make so many of such rows and change all."""
    path = file_of(table)
    rows = [row for row in rows_in(path) if row.get("box_type", "bbox") == "bbox"]
    if times > 1:
        rows = [dict(rows[0]) for _ in range(times)]
    for row in rows[:times]:
        change(row)
    lines = [json.dumps(row) for row in rows]
    path.write_text("\n".join(lines) if path.suffix == ".jsonl" else json.dumps(rows))


def rows_in(path):
    """The rows of a file of JSON, or of JSON lines."""
    text = path.read_text()
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in text.splitlines()]
    return json.loads(text)


def problems_of(table, capsys, **settings):
    """The lines that `--check` prints."""
    name, tmp_path = table
    model = {"m": {"imp_type": "custom", "model_path": "tests.scoring.test_bad_tables.Unused"}}
    config = {"model": model, "data": {name: settings}}
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config))
    arguments = ["--config", str(path), "--work-dir", str(tmp_path / "outputs"), "--check"]
    codes = (DONE, SOME_FAILED, NOTHING_RUN)  # a bad row is left out by name
    assert evaluate.main(arguments) in codes
    output = capsys.readouterr()
    return [*output.out.splitlines(), *output.err.splitlines()]


class Unused:
    """A model that nobody gets to ask."""

    def generate(self, message, *, dataset_name):
        raise AssertionError("a request was made")


def assert_one(lines, *fragments):
    """Exactly one line has all fragments, and it names what is wrong."""
    matching = [line for line in lines if all(fragment in line for fragment in fragments)]
    assert len(matching) == 1, lines


def test_a_missing_file_is_named_with_the_command_that_fetches_it(table, capsys):
    shutil.rmtree(file_of(table).parent)
    lines = problems_of(table, capsys)
    fetch = f"python utils/download.py {table[0]}"
    assert sum(fetch in line for line in lines) == 1, lines


def test_truncated_json_is_named(table, capsys):
    path = file_of(table)
    path.write_text(path.read_text()[:100])
    assert_one(problems_of(table, capsys), str(path), "cannot be read")


def test_fractions_in_place_of_pixels_are_refused(table, capsys):
    box = BOX[table[0]]
    change_rows(table, lambda row: row.update({box: [0.1, 0.2, 0.3, 0.4]}), times=6)
    assert_one(problems_of(table, capsys), str(file_of(table)), "fractions of the image")


def test_another_convention_is_refused(table, capsys):
    box = BOX[table[0]]
    values = [300, 400, 330, 420] if table[0] in XYWH else [300, 400, 30, 20]
    change_rows(table, lambda row: row.update({box: values}), times=24)
    written = "two corners in pixels" if table[0] in XYWH else "x, y, width, height in pixels"
    assert_one(problems_of(table, capsys), str(file_of(table)), f"its boxes are {written}")


def test_a_missing_image_is_named(table, capsys):
    change_rows(table, lambda row: row.update({IMAGE[table[0]]: "gone/away.png"}))
    assert_one(problems_of(table, capsys), "image missing", "gone/away.png")


def test_a_row_without_a_box_is_named(table, capsys):
    change_rows(table, lambda row: row.pop(BOX[table[0]]))
    assert_one(problems_of(table, capsys), "the box must be four numbers, not None")


@pytest.mark.parametrize("table", ["UII2E"], indirect=True)
def test_an_unknown_type_of_instruction_is_named(table, capsys):
    change_rows(table, lambda row: row["annotations"].update(instr_type="vague"))
    lines = problems_of(table, capsys)
    assert_one(lines, "unknown instr_type 'vague'", "known are")


@pytest.mark.parametrize("table", ["UII2E"], indirect=True)
def test_a_line_that_is_no_json_is_named_by_its_number(table, capsys):
    path = file_of(table)
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:2], "{", *lines[2:]]))
    assert_one(problems_of(table, capsys), str(path), "cannot be read: line 3: ")


def test_a_row_without_an_instruction_is_named(table, capsys):
    change_rows(table, lambda row: row.pop(TEXT[table[0]]))
    assert_one(problems_of(table, capsys), "the instruction is missing")


@pytest.mark.parametrize("table", CHOICE, indirect=True)
def test_an_unknown_category_is_named_with_the_known_ones(table, capsys):
    column = CHOICE[table[0]]
    change_rows(table, lambda row: row.update({column: "Gadget"}))
    assert_one(problems_of(table, capsys), f"unknown {column} 'Gadget'", "known are")


@pytest.mark.parametrize("table", ["ScreenSpotPro", "OSWorldG"], indirect=True)
def test_an_unknown_language_or_instructions_is_named_with_the_known_ones(table, capsys):
    key, known_value = {
        "ScreenSpotPro": ("language", "cn"),
        "OSWorldG": ("instructions", "refined"),
    }[table[0]]
    assert_one(problems_of(table, capsys, **{key: "de"}), f"data.{table[0]}.{key}", known_value)
