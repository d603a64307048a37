"""Files of answers in the forms that other programs write, and a form of one's own."""

import gzip
import json
import zipfile
from pathlib import Path

import pytest

from tests.exchange.answers_here import (
    RIGHT,
    WRONG,
    counts_of,
    import_folder,
    imported,
    plain_rows,
    rows_of,
    write_lines,
)
from tests.support import import_replay
from utils import PROJECT
from utils.exchange.files import FIRST_ROWS
from utils.exchange.sources import open_import

EXCHANGE = PROJECT.parent / "shared" / "exchange"

SSPRO = {
    "img_path": "a/b.png",
    "prompt_to_evaluate": "t",
    "pred": [1.5, 2],
    "correctness": "correct",
    "raw_response": ["[1, 2]"],
    "bbox": [1, 2, 3, 4],
}
ROWS = {
    "sspro_json": {"details": [SSPRO], "metrics": {}},
    "uivision_json": {"details": [{**SSPRO, "image_path": "a/b.png", "img_path": None}]},
    "mai_ui": {"img_filename": "b.png", "instruction": "t", "raw_response": "r", "pred": None},
    "clawgui": {"id": "x_1", "question": "t", "image": "b.png", "maiui_infer": "r"},
    "gui_agent_harness": {"sample_id": "x", "instruction": "t", "prediction_px": [1, 2]},
    "vlmevalkit": {
        "index": "1",
        "image_path": "b.png",
        "question": "t",
        "bbox": "[1, 2, 3, 4]",
        "prediction": "r",
    },
    "mmbench_gui": {
        "index": 0,
        "image_path": "b.png",
        "instruction": "t",
        "grounding_type": "basic",
        "prediction": "r",
    },
    "lmms_eval": {"doc_id": 0, "target": "t", "filtered_resps": ["r"]},
    "evalscope": {"index": 0, "messages": [], "model_output": {"choices": []}},
    "agentnetbench": {"step_num": 0, "raw_response": "r", "parsed_action": ""},
    "plain": {"id": 0, "reply": "r"},
}
del ROWS["uivision_json"]["details"][0]["img_path"]


@pytest.mark.parametrize("name", ROWS)
def test_a_format_is_told_by_the_keys_of_its_rows(name, tmp_path):
    file = tmp_path / "answers"  # its name says nothing
    file.write_text(json.dumps(ROWS[name]), "utf-8")
    assert [source.format_name for source in open_import(file, "").sources] == [name]


@pytest.mark.parametrize("name", ROWS)
def test_a_later_row_may_lack_any_column(name, tmp_path):
    content = ROWS[name]
    row = content["details"][0] if "details" in content else content
    file = write_lines(tmp_path / "answers.jsonl", [row] * FIRST_ROWS + [{"other": 1}])
    (source,) = open_import(file, "").sources
    *_, last = source.answers()
    assert (source.format_name, last.line) == (name, FIRST_ROWS + 1)
    assert last.is_empty


def test_a_file_in_no_known_format_is_told_what_each_format_needs(tmp_path, root):
    file = write_lines(tmp_path / "a.jsonl", [{"question_id": 1, "text": "x"}])
    result = imported(tmp_path, root, file)
    assert result.code == 2
    assert "is not in a known format. Its first row has" in result.stderr
    assert "  mai_ui: img_filename, instruction, raw_response, pred" in result.stderr


@pytest.mark.parametrize(
    "lines",
    [
        [{"id": n, "correct": n < 2} for n in range(6)],
        [{"id": n, "correctness": "correct" if n < 2 else "wrong"} for n in range(6)],
        ["id,correct", *(f"{n},{n < 2}" for n in range(6))],
    ],
    ids=["booleans", "words", "csv"],
)
def test_rows_of_verdicts_alone_cannot_be_judged_again(lines, tmp_path, root):
    name = "verdicts.csv" if isinstance(lines[0], str) else "verdicts.jsonl"
    file = write_lines(tmp_path / name, lines)
    result = imported(tmp_path, root, file, "--data", "GUIElementGrounding")
    assert result.code == 2
    assert "6 rows with a verdict alone, and neither a reply nor a point" in result.stderr
    assert "As the file says, 2 of 6 are right (33.3 %)" in result.stderr
    assert "no known format" not in result.stderr


@pytest.mark.parametrize("replies", [0, 4])
def test_verdicts_alone_of_a_known_format_stop_the_import_or_are_counted(replies, tmp_path, root):
    details = [
        {
            "img_path": row["image"],
            "prompt_to_evaluate": row["instruction"],
            "pred": None,
            "correctness": "correct",
            **({"raw_response": [row["reply"]]} if number < replies else {}),
        }
        for number, row in enumerate(plain_rows(root))
    ]
    file = tmp_path / "answers.json"
    file.write_text(json.dumps({"details": details, "metrics": {}}), "utf-8")
    result = imported(tmp_path, root, file, "--data", "GUIElementGrounding")
    if not replies:
        assert result.code == 2
        assert "6 rows with a verdict alone, and neither a reply nor a point" in result.stderr
        return
    assert result.code == 0, result.output
    assert "verdict alone: 2 rows have neither a reply nor a point. Without" in result.stdout
    assert "(as the file says, 2 are right)" in result.stdout
    assert "empty: " not in result.stdout
    assert counts_of(import_folder(tmp_path))["right"] == 4


@pytest.mark.parametrize("packed", [False, True])
def test_windows_line_ends_a_byte_order_mark_and_gzip_change_nothing(packed, tmp_path, root):
    text = "\ufeff" + "\r\n".join(map(json.dumps, plain_rows(root))) + "\r\n"
    file = tmp_path / "answers.jsonl.gz"
    content = text.encode()
    file.write_bytes(gzip.compress(content) if packed else content)
    assert imported(tmp_path, root, file).code == 0
    assert counts_of(import_folder(tmp_path))["right"] == 6


@pytest.mark.parametrize(
    "row_bytes", [0, 20_000]
)  # the end is in the first chunk, or far behind it
def test_a_file_that_ends_within_a_letter_loses_its_last_line_alone(row_bytes, tmp_path, root):
    rows = plain_rows(root, note="x" * row_bytes)
    file = write_lines(tmp_path / "answers.jsonl", rows)
    whole = file.read_bytes()
    file.write_bytes(whole + '{"id": 4, "reply": "caf\u00e9'.encode()[:-1])
    result = imported(tmp_path, root, file)
    assert result.code == 1
    assert "without a whole JSON object in UTF-8 (line 7), skipped" in result.stdout
    assert counts_of(import_folder(tmp_path))["right"] == 6
    (copy,) = (import_folder(tmp_path) / "source").iterdir()
    assert gzip.decompress(copy.read_bytes()) == file.read_bytes()


def test_an_item_of_a_list_with_bytes_of_another_encoding_is_skipped(tmp_path, root):
    rows = plain_rows(root)
    rows[4]["reply"] += " \u00e9"
    file = tmp_path / "answers.json"
    file.write_bytes(json.dumps(rows, ensure_ascii=False).encode("latin-1"))
    result = imported(tmp_path, root, file)
    assert result.code == 1
    assert "(line 5), skipped" in result.stdout
    assert counts_of(import_folder(tmp_path))["missing"] == 1


@pytest.mark.parametrize("cell", ["x", "x" * 70_000])
def test_a_table_in_another_encoding_is_refused_by_its_line(cell, tmp_path, root):
    file = tmp_path / "answers.csv"
    lines = ["id,reply", f"0,{cell}", "1,caf\u00e9"]
    file.write_text("\n".join(lines), "latin-1")
    result = imported(tmp_path, root, file, "--data", "GUIElementGrounding")
    assert result.code == 2
    assert "answers.csv: line 3 is no text in UTF-8; save the table as UTF-8" in result.stderr


ANSWERS = "GUIElementGrounding_answers.jsonl"


def write_bundle(path, files):
    """An archive of answers to data sets, by their names; a text stands as it is."""
    names = {dataset: f"{dataset}_answers.jsonl" for dataset in files}
    manifest = {"data": {dataset: {"answers": name} for dataset, name in names.items()}}
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("manifest.json", json.dumps(manifest))
        for dataset, rows in files.items():
            lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
            archive.writestr(names[dataset], "\n".join(lines))
    return path


def test_a_damaged_archive_is_named_without_a_traceback(tmp_path, root):
    rows = plain_rows(root, verdict="hit", status="answered")
    file = write_bundle(tmp_path / "bundle.zip", {"GUIElementGrounding": rows})
    file.write_bytes(file.read_bytes().replace(RIGHT.encode(), WRONG.encode().ljust(len(RIGHT))))
    result = imported(tmp_path, root, file)
    assert result.code == 2
    assert f"{ANSWERS} cannot be read: Bad CRC-32" in result.stderr
    assert "Traceback" not in result.output


def test_torn_lines_of_a_bundle_are_counted_once_and_in_their_own_file(tmp_path, root):
    rows = plain_rows(root, verdict="hit", status="answered")
    files = {"GUIElementGrounding": [rows[0], '{"id": 1, "re', "[]"], "AITZ": rows[:1]}
    imported_bundle = open_import(write_bundle(tmp_path / "bundle.zip", files), "")
    for source in imported_bundle.sources:
        for _ in range(2):
            assert len([*source.answers()]) == 1
    assert [[*source.torn] for source in imported_bundle.sources] == [[2, 3], []]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b'{"a": 1}', "expected a list of ids, or an object with lists of ids"),
        (b"caf\xe9", "is no text in UTF-8"),
        (b"[1,", "is broken JSON"),
    ],
)
def test_a_wrong_order_of_samples_is_refused(content, problem, tmp_path, root):
    file = write_lines(tmp_path / "a.jsonl", plain_rows(root))
    (tmp_path / "order").write_bytes(content)
    result = imported(tmp_path, root, file, "--import-order", "order")
    assert result.code == 2
    assert f"--import-order order: {problem}" in result.stderr


def test_a_csv_of_points_wants_their_frame(tmp_path, root):
    lines = [f"{row['index']},0.2,0.15" for row in rows_of(root)]
    file = tmp_path / "points.csv"
    file.write_text("\n".join(["id,x,y", *lines]), "utf-8")
    data = ("--data", "GUIElementGrounding")
    refused = imported(tmp_path, root, file, *data)
    assert refused.code == 2
    assert "unknown unit. Name it: --frame fractions" in refused.stderr
    points = imported(tmp_path, root, file, *data, "--frame", "fractions")
    assert points.code == 0
    assert "To score again with another parse function" not in points.stdout
    counts = counts_of(import_folder(tmp_path))
    assert (counts["right"], counts["points only"]) == (6, 6)
    (analysis,) = import_folder(tmp_path).glob("*_analysis*.json")
    assert "coordinate_audit" not in json.loads(analysis.read_text("utf-8"))


def test_a_format_of_ones_own_is_a_function_that_yields_rows(tmp_path, root):
    (tmp_path / "my_format.py").write_text(
        "def rows(path):\n"
        "    for line in [*open(path)][1:]:\n"
        "        image, task, text = line.rstrip().split('|')\n"
        "        yield {'image': image, 'instruction': task, 'reply': text}\n"
    )
    lines = [f"{row['image']}|{row['instruction']}|{row['reply']}" for row in plain_rows(root)]
    file = tmp_path / "answers.txt"
    file.write_text("\n".join(["answers of mine", *lines]), "utf-8")
    result = imported(tmp_path, root, file, "--format", "my_format.rows")
    assert result.code == 0
    assert "answers.txt: stays where it is; only JSON" in result.stdout
    assert "not copied" not in result.stdout
    assert "To score again with another parse function" in result.stdout
    assert counts_of(import_folder(tmp_path))["right"] == 6


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        ("    yield {'picture': 'a'}\n", "expected a dict with id"),
        ("    raise KeyError('x')\n    yield\n", "raised KeyError"),
        ("    return 5\n", "yields no rows"),
        ("    yield {'id': 0, 'reply': 'r'}\n    yield None\n", "row 2 of answers.txt is None"),
    ],
)
def test_a_wrong_function_is_named_without_a_traceback(code, problem, tmp_path, root):
    (tmp_path / "my_format.py").write_text(f"def rows(path):\n{code}")
    write_lines(tmp_path / "answers.txt", ["x"])
    result = imported(tmp_path, root, "answers.txt", "--format", "my_format.rows")
    assert result.code == 2
    assert problem in result.stderr
    assert "Traceback" not in result.output


def test_a_reply_is_read_again_and_a_point_counts_where_nothing_can_be_read(tmp_path, root):
    rows = plain_rows(root)
    wh = {row["index"]: row["image_size"] for row in rows_of(root)}
    for row in rows:
        width, height = wh[row["id"]]
        row["point_px"] = [0.2 * width, 0.15 * height]
    rows[0]["reply"] = WRONG  # another point than the file has
    rows[1]["reply"] = "I see it."
    assert imported(tmp_path, root, write_lines(tmp_path / "a.jsonl", rows)).code == 0
    counts = counts_of(import_folder(tmp_path))
    assert counts["right"] == 5
    assert counts["right by the points of the file"] == 6
    assert (counts["read as another point"], counts["unread beside a point"]) == (1, 1)


def test_points_of_another_reader_name_the_reader_that_gives_them(tmp_path, root):
    rows = plain_rows(root, reply="(200, 150)")
    for row, of_table in zip(rows, rows_of(root), strict=True):
        width, height = of_table["image_size"]
        row["point_px"] = [0.2 * width, 0.15 * height]
    result = imported(tmp_path, root, write_lines(tmp_path / "a.jsonl", rows))
    assert "Use --frame per_mille, or set " in result.stdout
    assert "parse_per_mille\", which reads the file's points in 6 of the first 6" in result.stdout


def test_a_function_that_reads_only_most_points_of_the_file_is_not_advised(tmp_path, root):
    rows = plain_rows(root, reply="(200, 150)")
    for row, of_table in zip(rows, rows_of(root), strict=True):
        width, height = of_table["image_size"]
        row["point_px"] = [0.2 * width, 0.15 * height]
    rows[0]["point_px"] = [1, 1]
    result = imported(tmp_path, root, write_lines(tmp_path / "a.jsonl", rows))
    assert "read as another point than in the file" in result.stdout
    assert "which reads the file's points" not in result.stdout


def test_one_line_says_that_all_verdicts_are_those_of_the_file(tmp_path, root):
    rows = plain_rows(root, correct=True)
    rows[0] |= {"reply": WRONG, "correct": False}
    result = imported(tmp_path, root, write_lines(tmp_path / "a.jsonl", rows))
    assert "all verdicts are equal to those in the file (6 verdicts, 5 right)" in result.stdout


def test_answers_of_epochs_are_repeats(tmp_path, root):
    samples = [
        {
            "id": row["id"],
            "epoch": epoch,
            "input": row["instruction"],
            "output": {"choices": [{"message": {"content": RIGHT if epoch == 1 else WRONG}}]},
            "metadata": {"image_path": row["image"], "instruction": row["instruction"]},
        }
        for row in plain_rows(root)
        for epoch in (1, 2)
    ]
    file = tmp_path / "log.json"
    file.write_text(json.dumps({"version": 2, "samples": samples}), "utf-8")
    assert imported(tmp_path, root, file).code == 0
    (score,) = import_folder(tmp_path).glob("*_score.json")
    assert json.loads(score.read_text("utf-8"))["repeats"]["answers"] == 2


FAST = ("mai_ui/MMBench", "faulty/sspro", "evalscope", "vlmevalkit", "osworld/", "android_world")


@pytest.mark.skipif(not EXCHANGE.is_dir(), reason="no samples of other programs beside it")
def test_the_samples_of_other_programs_come_to_what_was_counted_elsewhere(capsys, whole):
    for only in [""] if whole else FAST:
        code = import_replay.main([str(EXCHANGE), *(["--only", only] if only else [])])
        assert code == 0, capsys.readouterr().out


def test_a_replay_without_counts_says_so(tmp_path, capsys):
    assert import_replay.main([str(tmp_path)]) == 2
    assert "there is no such file" in capsys.readouterr().out
    assert Path(tmp_path).is_dir()
