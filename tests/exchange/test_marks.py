"""Answers made elsewhere are marked in every place, and stand for no run and no request."""

import json
import re

import pytest

from evaluate import load_run
from tests.exchange.answers_here import (
    RIGHT,
    WRONG,
    counts_of,
    import_folder,
    imported,
    plain_rows,
    write_lines,
)
from tests.support import runs
from utils.store.find import find_run, newest_start
from utils.store.log import read_records

MARK = "answers made elsewhere"


@pytest.fixture(scope="module")
def work_folder(tmp_path_factory, root):
    """A folder with a run of `m`, an import of `m` and one of `n`."""
    folder = tmp_path_factory.mktemp("work_folder")
    file = write_lines(folder / "answers.jsonl", plain_rows(root))
    (folder / "my_model.py").write_text(
        "class Model:\n"
        "    def generate(self, message, *, dataset_name):\n"
        f"        return {WRONG!r}\n"
    )
    config = {
        "model": {"m": {"imp_type": "custom", "model_path": "my_model.Model"}},
        "data": {"GUIElementGrounding": {"mode": "all"}},
    }
    (folder / "config.json").write_text(json.dumps(config))
    env = {"LMUData": str(root)}
    for arguments in (
        ("--config", "config.json", "--no-report"),
        ("--import", file, "--config", "config.json"),
        ("--import", file, "--as", "n"),
    ):
        result = runs.evaluate(*arguments, cwd=folder, env=env)
        assert result.code == 0, result.output
    return folder


def folder_of(work_folder, model, letter="I"):
    (folder,) = (work_folder / "outputs" / model).glob(f"{letter}2*")
    return folder


def log_of(folder):
    (log,) = folder.glob("*GUIElementGrounding.jsonl")
    return log


def test_the_folder_and_the_console_say_so(tmp_path, root):
    file = write_lines(tmp_path / "answers.jsonl", plain_rows(root))
    result = imported(tmp_path, root, file)
    assert re.fullmatch(r"I\d{8}_G\w+", import_folder(tmp_path).name)
    assert f'model "answers", {MARK} →' in result.stdout
    assert f"n = 6 · {MARK}" in result.stdout


def test_the_record_of_the_run_and_each_answer_have_their_origin(work_folder):
    records = [record for _, record in read_records(log_of(folder_of(work_folder, "n")))]
    run, *answers, _ = records
    assert run["protocol"] == "imported"
    assert run["imported"]["format"] == "plain"
    assert len(run["imported"]["sha256"]) == 64
    assert [answer["origin"]["line"] for answer in answers] == [1, 2, 3, 4, 5, 6]
    assert not [answer for answer in answers if {"prompt", "latency_s", "asked_at"} & answer.keys()]
    fingerprint = re.compile(r"import:[0-9a-f]{16}:\d+")
    assert all(fingerprint.fullmatch(answer["fingerprint"]) for answer in answers)


def test_the_manifest_says_so(work_folder):
    manifest = json.loads((folder_of(work_folder, "n") / "manifest.json").read_text())
    assert manifest["imported"]["format"] == "plain"
    entry = manifest["datasets"]["GUIElementGrounding"]
    assert (entry["protocol"], entry["imported"]["matched"]) == ("imported", 6)
    run = json.loads((folder_of(work_folder, "m", "T") / "manifest.json").read_text())
    assert "imported" not in run


def test_the_list_of_all_runs_says_so(work_folder, root):
    listed = runs.evaluate("--runs", cwd=work_folder, env={"LMUData": str(root)})
    lines = [line for line in listed.stdout.splitlines() if "/I2" in line]
    assert len(lines) == 2
    assert all(line.endswith(f"({MARK})") for line in lines)
    page = (work_folder / "outputs" / "index.html").read_text()
    rows = re.findall(r"<tr><th scope=.row.*?</tr>", page)
    assert [MARK in row for row in rows] == ["/I2" in row for row in rows]


def test_the_report_says_so_at_its_head(work_folder):
    summary = (folder_of(work_folder, "m") / "report" / "data" / "summary_0.js").read_text()
    assert re.search(rf'"run":"I\d{{8}}_G\w+ \S+ {MARK}"', summary)
    assert '"name":"Origin"' in summary
    assert "all images were sent as they are" not in summary  # nobody knows
    assert "no reply was cut off" not in summary


def test_a_comparison_says_so_wherever_it_names_it(work_folder, root):
    arguments = ("--compare", folder_of(work_folder, "m", "T"), folder_of(work_folder, "n"))
    result = runs.evaluate(*arguments, cwd=work_folder, env={"LMUData": str(root)})
    assert result.code == 0
    assert "n (imported)" in result.stdout
    assert f"n (imported), GUIElementGrounding: {MARK}, scored here" in result.stdout


def test_a_notebook_says_so(work_folder):
    results = load_run(folder_of(work_folder, "n"))
    assert results.imported["format"] == "plain"
    assert str(results).startswith(f"n ({MARK})")
    assert load_run(folder_of(work_folder, "m", "T")).imported is None


def test_an_import_is_never_the_newest_run_while_there_is_a_run(work_folder):
    assert find_run(work_folder / "outputs" / "m") == folder_of(work_folder, "m", "T")
    links = [path for path in (work_folder / "outputs" / "m").iterdir() if path.is_symlink()]
    assert links
    assert not [link for link in links if "/I2" in str(link.resolve())]
    assert find_run(work_folder / "outputs" / "n") == folder_of(work_folder, "n")
    assert not [path for path in (work_folder / "outputs" / "n").iterdir() if path.is_symlink()]


def test_an_import_of_a_part_stands_behind_a_whole_one_and_lists_no_sample_it_has_no_row_for(
    tmp_path, root
):
    rows = plain_rows(root)
    wrong = [{**row, "reply": WRONG} for row in rows]
    files = {"part": rows[:2], "whole": rows, "most": rows[:4]}
    for name, some_rows in files.items():  # the whole one is neither the first nor the last
        file = write_lines(tmp_path / f"{name}.jsonl", some_rows)
        assert imported(tmp_path, root, file, "--as", "mine").code in (0, 1)
    other = write_lines(tmp_path / "other.jsonl", wrong)
    assert imported(tmp_path, root, other, "--as", "other").code == 0
    outputs = tmp_path / "outputs"
    whole_run = find_run(outputs / "mine")
    assert counts_of(whole_run)["missing"] == 0
    newest, first = sorted(
        (folder for folder in (outputs / "mine").glob("I*") if folder != whole_run),
        key=newest_start,
        reverse=True,
    )
    assert counts_of(newest)["missing"] == 2
    result = runs.evaluate("--compare", newest, outputs / "other", cwd=tmp_path)
    words = " ".join(result.stdout.split())
    assert "2 samples without a row in the imported file" in words
    assert "4 samples in common" in words
    result = runs.evaluate("--compare", outputs / "mine", first, cwd=tmp_path)
    words = " ".join(result.stdout.split())
    assert (
        f"{whole_run.name}, the newest run with all samples; there are also {newest.name}" in words
    )
    assert "2 samples in common" in words
    assert "no score: 4 of 6 samples have no answer" in words
    assert "average: B − A = 0.0" in words
    assert "The imported file has no row" not in (tmp_path / "comparison/flips.csv").read_text()


def test_no_imported_answer_is_reused_for_a_request(stage):
    stage.data = {"GUIElementGrounding": {"mode": "all"}}
    (name,) = stage.model
    root = stage.home / "data"
    file = write_lines(stage.home / "answers.jsonl", plain_rows(root))
    work_dir = stage.home / "out"
    result = imported(stage.home, root, file, "--as", name, "--work-dir", work_dir)
    assert result.code == 0, result.output
    ran = stage.run()
    assert ran.code == 0
    assert len(ran.requests) == len(plain_rows(root))


def test_scoring_again_takes_another_reader_and_makes_no_request(tmp_path, root):
    rows = plain_rows(root, reply="(200, 150)")
    assert imported(tmp_path, root, write_lines(tmp_path / "a.jsonl", rows)).code == 0
    folder = import_folder(tmp_path)
    assert counts_of(folder)["right"] == 0
    again = imported(tmp_path, root, folder, "--mode", "eval", "--frame", "per_mille")
    assert again.code == 0, again.output
    assert counts_of(folder)["right"] == 6
    assert MARK in again.stdout


def test_the_same_file_goes_on_in_its_folder_and_another_gets_its_own(tmp_path, root):
    rows = plain_rows(root)
    file = write_lines(tmp_path / "a.jsonl", rows)
    for _ in range(2):
        assert imported(tmp_path, root, file, "--as", "m").code == 0
    assert len([*(tmp_path / "outputs" / "m").glob("I*")]) == 1
    rows[0]["reply"] = WRONG
    write_lines(file, rows)
    assert imported(tmp_path, root, file, "--as", "m").code == 0
    assert len([*(tmp_path / "outputs" / "m").glob("I*")]) == 2


def test_the_source_is_kept_without_secrets(tmp_path, root):
    secret = "sk-" + "a1b2c3d4" * 4
    rows = plain_rows(root, reply=f"{secret} {RIGHT}")
    file = write_lines(tmp_path / "a.jsonl", rows)
    env = {"LMUData": str(root), "OPENAI_API_KEY": secret}
    result = runs.evaluate("--import", file, "--no-report", cwd=tmp_path, env=env)
    assert result.code == 0
    import gzip

    (copy,) = (import_folder(tmp_path) / "source").iterdir()
    text = gzip.decompress(copy.read_bytes()).decode()
    assert secret not in text
    assert secret not in log_of(import_folder(tmp_path)).read_text()
    assert len(text.splitlines()) == 6


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--limit", "2"], "--limit cannot be combined with --import"),
        (["--fresh"], "--fresh cannot be combined with --import"),
        (["--mode", "infer"], "--mode infer cannot be combined with --import"),
        (["--mode", "eval"], "must be the folder of an import"),
        (["--format", "mai-ui"], 'did you mean "mai_ui"'),
        (["--recipe", "mai_u"], "mai_ui"),
        (["--data", "nothing"], "--data nothing: no such table"),
    ],
)
def test_options_that_do_not_go_together_are_refused(arguments, problem, tmp_path, root):
    file = write_lines(tmp_path / "a.jsonl", plain_rows(root))
    result = imported(tmp_path, root, file, *arguments)
    assert result.code == 2
    assert problem in result.output
    assert "Traceback" not in result.output


def test_an_option_of_imports_alone_is_refused(tmp_path, root):
    result = runs.evaluate("--config", "x.json", "--frame", "pixels", cwd=tmp_path)
    assert result.code == 2
    assert "--frame works only with --import" in result.output
