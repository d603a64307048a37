"""A benchmark of the user's: the one of the docs, from a folder of its own, and its mistakes."""

import hashlib
import json
import re

import pytest

import evaluate
from utils import PROJECT
from utils.errors import NOTHING_RUN, SOME_FAILED
from utils.session import compare as command

PAGE = (PROJECT / "docs" / "own_benchmark.md").read_text("utf-8")
[CODE] = (
    code
    for code in re.findall(r"```python[^\n]*\n(.*?)```", PAGE, re.DOTALL)
    if "GroundingBenchmark)" in code
)
STAR = [[100, 100], [200, 100], [150, 200]]
ROWS = [
    {"id": 1, "image": "a.png", "text": "button", "app": "mail", "box": [10, 10, 50, 40]},
    {"id": 2, "image": "a.png", "text": "printer", "app": "mail", "absent": True},
    {"id": 3, "image": "a.png", "text": "star", "app": "shop", "polygon": STAR},
    {"id": 4, "image": "a.png", "text": "switch", "app": "shop", "box": [1, 2, 3]},
    {"id": 5, "image": "a.png", "text": "lamp", "app": "shop", "bbox": [1, 2, 3, 4]},
    {"id": 6, "image": "a.png", "text": "door", "app": "shop", "box": [50, 40, 10, 10]},
]
REPLIES = {"button": "(20, 20)", "printer": "(-1, -1)", "star": "(150, 120)"}


class Scripted:
    """Answers each row as a test has it."""

    def __init__(self, **replies):
        self.replies = {**REPLIES, **replies}

    def generate(self, message, *, dataset_name):
        return self.replies[message[-1]["value"].split("task: ")[1].split("\n")[0]]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder outside the repository with a class, rows and an image."""
    from PIL import Image

    data = tmp_path / "data" / "my-screens"
    (data / "images").mkdir(parents=True)
    (data / "rows.json").write_text(json.dumps(ROWS))
    Image.new("L", (1000, 500), 255).save(data / "images" / "a.png")
    monkeypatch.setenv("LMUData", str(tmp_path / "data"))
    return tmp_path


def write_config(folder, code=CODE, models=None, **settings):
    """Write the class under a name of its own, and the config; return the config's path."""
    module = f"benchmark_{abs(hash((str(folder), code)))}"
    (folder / f"{module}.py").write_text(code)
    path = f"{module}.MyScreens"
    names = models or {"m": {}}
    config = {
        "model": {
            name: {
                "imp_type": "custom",
                "model_path": "tests.scoring.test_own_benchmark.Scripted",
                "kwargs": replies,
            }
            for name, replies in names.items()
        },
        "data": {"My screens": {"benchmark": path, **settings}},
    }
    file = folder / "config.json"
    file.write_text(json.dumps(config))
    return file


def run(config, *arguments):
    outputs = config.parent / "outputs"
    return evaluate.main(["--config", str(config), "--work-dir", str(outputs), *arguments])


def test_the_benchmark_of_the_docs_is_checked_run_reported_and_compared(folder, capsys):
    assert len(CODE.splitlines()) <= 45
    config = write_config(folder, models={"right": {}, "wrong": {"printer": "(5, 5)"}})
    assert run(config, "--check") == SOME_FAILED
    output = capsys.readouterr().out
    assert "[1, 2, 3]" in output  # bad rows are named
    assert "not marked as absent" in output
    [left_out] = [line for line in output.splitlines() if "[50, 40, 10, 10]" in line]
    assert left_out.startswith("left out: My screens: rows.json, row 5 (6), a.png: nothing lies in")
    assert "expected x1, y1, x2, y2 with x1 <= x2 and y1 <= y2" in left_out
    assert run(config) == SOME_FAILED  # three rows are bad
    scores = {}
    for model in ("right", "wrong"):
        [path] = (folder / "outputs" / model).glob("T*/*_My screens_score.json")
        scores[model] = json.loads(path.read_text())
        assert (path.parent / "report" / "index.html").is_file()
    assert scores["right"]["overall"]["num_correct"] == 3
    assert scores["right"]["counts"]["declined"] == 1
    assert scores["wrong"]["overall"]["num_correct"] == 2
    assert "text_accuracy" not in scores["right"]["overall"]  # it has no kinds
    models = [str(folder / "outputs" / model) for model in ("right", "wrong")]
    assert command.main([*models, "--output", str(folder / "comparison")]) == 0
    output = capsys.readouterr().out
    assert "My screens · accuracy: wrong − right = -33.3" in output
    assert "printer  [#1 (id 2)]" in output
    assert "A: (-1, -1), read as: not there" in output


def test_a_comparison_keeps_the_order_of_the_labels(folder, capsys):
    code = CODE.replace('"app": ("mail", "shop")', '"app": ("shop", "mail")')
    code = code.replace('columns="app", rows=None', 'columns="app", rows="app", split="app"')
    run(write_config(folder, code, models={"right": {}, "wrong": {"printer": "(5, 5)"}}))
    capsys.readouterr()
    models = [str(folder / "outputs" / model) for model in ("right", "wrong")]
    assert command.main([*models, "--output", str(folder / "comparison")]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["shop", "mail", "average"] in rows  # heads of the table, and what runs are sorted by
    groups = [row[0] for row in rows if row[:1] in (["shop"], ["mail"]) and len(row) > 3]
    assert groups == ["shop", "mail"]


def test_rows_in_json_lines_are_read_and_named_by_their_file(folder, capsys):
    rows = folder / "data/my-screens/rows.json"
    lines = "\n".join(map(json.dumps, ROWS))
    rows.write_text(lines)
    code = changed('"rows.json"', '"rows.jsonl"')
    assert run(write_config(folder), "--check") == NOTHING_RUN
    assert "The file holds more than one value. If it is JSON Lines" in capsys.readouterr().err
    rows.rename(rows.with_suffix(".jsonl"))
    assert run(write_config(folder, code), "--check") == SOME_FAILED
    assert "rows.jsonl, row 3 (4)" in capsys.readouterr().out
    assert run(write_config(folder, code)) == SOME_FAILED
    [manifest] = folder.glob("outputs/m/T*/manifest.json")
    annotations = json.loads(manifest.read_text())["datasets"]["My screens"]["annotations"]
    assert annotations["sha256"] == hashlib.sha256(lines.encode()).hexdigest()
    rows.with_suffix(".jsonl").write_text(f'{lines}\n{{"id": 7, ')
    assert run(write_config(folder, code), "--check") == NOTHING_RUN
    assert "rows.jsonl: cannot be read: line 7: " in capsys.readouterr().err


def changed(old, new):
    assert old in CODE
    return CODE.replace(old, new)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (changed('item["text"]', 'item["txt"]'), "read_rows raised KeyError: 'txt' (benchmark_"),
        (changed("yield {", "_ = {"), "read_rows returned None; it must yield a dict for each row"),
        (changed("yield {", "yield [], {"), "expected a dict for each row"),
        (changed('columns="app"', 'columns="ap"'), "layout.columns: 'ap' is no grouping"),
        (changed('"rows.json"', '"row.json"'), "Set LMUData to the folder that holds my-screens/"),
        (changed('"target": target', '"targets": target'), "the target must be"),
        (changed('"target": target', '"target": [1, 2]'), "the target must be"),
        (changed('"app": item["app"]', '"app": None'), "app is missing: a row needs a label"),
        (changed('"app": item["app"]', '"app": "chat"'), "unknown app 'chat'"),
        (changed("rows=None", 'rows="kind"'), "unknown kind None"),
        (changed('"app": item', '"image_size": 5, "app": item'), "image_size must be [width"),
        (
            changed(
                "    def read_rows",
                '    def files(self):\n        return ["a"]\n\n    def read_rows',
            ),
            "MyScreens.files gives ['a']; expected the paths of the files that read_rows reads",
        ),
    ],
)
def test_a_mistake_in_the_class_is_one_message_without_a_traceback(code, message, folder, capsys):
    assert run(write_config(folder, code), "--check") == NOTHING_RUN
    output = "".join(capsys.readouterr())
    assert message in output
    assert "Traceback" not in output
    assert "1 problem." in output


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (changed('"polygons": [item', '"polygon": [item'), "the target must be"),
        (changed('[item["polygon"]]', 'item["polygon"]'), "a polygon must be a list of three"),
        (changed("with_refusals = True", "pass"), "does not say `with_refusals = True`"),
    ],
)
def test_a_row_with_a_wrong_target_is_left_out_by_name(code, message, folder, capsys):
    assert run(write_config(folder, code), "--check") == SOME_FAILED
    left_out = [line for line in capsys.readouterr().out.splitlines() if message in line]
    assert len(left_out) == 1
    assert left_out[0].startswith("left out: My screens: rows.json, row")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"langauge": "cn"}, 'data."My screens".langauge: unknown key'),
        ({"mode": "mail"}, 'data."My screens".mode: unknown mode "mail"'),
    ],
)
def test_keys_and_modes_of_the_class_are_checked(settings, message, folder, capsys):
    assert run(write_config(folder, **settings), "--check") == NOTHING_RUN
    output = "".join(capsys.readouterr())
    assert message in output
    assert "1 problem." in output
