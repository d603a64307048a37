"""`compare.py`: which runs are found, what is compared, and what is printed about it."""

from __future__ import annotations

import json
import shutil

import pytest

from tests.support import runs
from tests.support.finished import L1, L2, compare, l1_set, l2_set, make_run
from tests.support.mock_server import MockServer, Reply
from tests.support.stage import API, Stage, right_answers
from utils.analysis import compare_paired, holm
from utils.comparing.boards import boards_of, notes_of, read_published
from utils.comparing.command import main
from utils.comparing.pairing import compare as compared
from utils.comparing.pairing import pairs_of
from utils.comparing.runs import read_runs
from utils.protocol import PUBLISHED_MD5


def two_runs(home, first, second, **more):
    """Two read runs, "a" and "b", of these facts by data set."""
    a = make_run(home / "a" / "T20260101_Gaaaa", first, model="a", **more)
    b = make_run(home / "b" / "T20260101_Gbbbb", second, model="b", **more)
    return read_runs([a, b])


def pair_of(home, first, second, dataset=L2):
    """Those two runs on one data set."""
    [pair] = pairs_of(two_runs(home, {dataset: first}, {dataset: second}), dataset)
    return pair


# -- pairs ----------------------------------------------------------------------------------------


def test_a_difference_is_the_run_minus_the_baseline_with_its_test_by_image(tmp_path):
    before, after = "xx..........x.xx", "xxxxxxxx.....x.."

    pair = pair_of(tmp_path, l2_set(before, 12), l2_set(after, 12))

    overall = pair.differences[0]
    expected = compare_paired(
        [mark == "x" for mark in after], [mark == "x" for mark in before],
        [number % 12 for number in range(16)],
    )  # fmt: skip
    assert (pair.title, overall.group, overall.samples) == ("b − a", "all samples", 16)
    assert (overall.baseline_pct, overall.run_pct) == (31.25, 56.25)
    assert overall.points[:2] == pytest.approx((25.0, 100 * expected.interval.low))
    assert (overall.paired.only_first, overall.paired.only_second) == (7, 3)
    assert overall.paired.p_value == expected.p_value and overall.paired.pictures == 12


@pytest.mark.parametrize(("dataset", "make", "groups"), [
    (L1, l1_set, ["all samples", "easy", "medium", "hard", "os_ios", "os_web"]),
    (L2, l2_set, ["all samples", "mean of basic and advanced", "basic", "advanced", "os_ios", "os_web"]),
])  # fmt: skip
def test_groups_are_all_samples_the_mean_of_the_splits_each_split_and_each_platform(
    tmp_path, dataset, make, groups
):
    pair = pair_of(tmp_path, make("x.x." * 3), make("xxxx" * 3), dataset)

    assert [each.group for each in pair.differences] == groups


def test_the_mean_of_the_splits_weighs_both_alike_however_many_samples_they_have(tmp_path):
    samples = l2_set("xxxx....")
    for number in (1, 3, 5):  # seven basic, one advanced
        samples[number]["split"] = "basic"
    other = [{**each, "hit": 0, "verdict": "miss"} for each in samples]
    samples[7].update(hit=1, verdict="hit")

    mean = pair_of(tmp_path, other, samples).differences[1]

    assert mean.run_pct == pytest.approx(100 * (4 / 7 + 1) / 2)
    assert mean.points[0] == pytest.approx(mean.run_pct)


def test_holm_runs_over_all_comparisons_of_the_table(tmp_path):
    sets = ["x" * 24, "." * 12 + "x" * 12, "x." * 12]
    folders = [make_run(tmp_path / f"r{number}", {L2: l2_set(hits, 12)}, model=f"m{number}")
               for number, hits in enumerate(sets)]  # fmt: skip

    rows = [each for pair in pairs_of(read_runs(folders), L2) for each in pair.differences]

    assert len(rows) > 10
    assert [each.p_holm for each in rows] == holm([each.paired.p_value for each in rows])


@pytest.mark.parametrize(("all_pairs", "titles"), [
    (False, ["m1 − m0", "m2 − m0"]),
    (True, ["m1 − m0", "m2 − m0", "m2 − m1"]),
])  # fmt: skip
def test_the_first_run_is_the_baseline_unless_every_pair_is_wanted(tmp_path, all_pairs, titles):
    folders = [make_run(tmp_path / f"r{n}", {L2: l2_set("x.x.")}, model=f"m{n}") for n in range(3)]

    pairs = pairs_of(read_runs(folders), L2, all_pairs=all_pairs)

    assert [pair.title for pair in pairs] == titles


@pytest.mark.parametrize(("dataset", "changes"), [
    (L2, {"box_frac": [0.1, 0.2, 0.3, 0.41]}),
    (L2, {"file_wh": [401, 300]}),
    (L2, {"split": "advanced"}),
    (L1, {"answer": "C"}),
    (L1, {"options": {"A": "the first", "B": "another", "C": "the third", "D": None}}),
])  # fmt: skip
def test_a_sample_with_another_truth_is_counted_and_left_out(tmp_path, dataset, changes):
    make = l2_set if dataset == L2 else l1_set
    changed = make("xxxxxx")
    changed[2].update(changes)

    pair = pair_of(tmp_path, make("......"), changed, dataset)

    assert (pair.changed, pair.common) == (1, 5)
    assert changed[2]["key"] not in [flip.run["key"] for flip in pair.flips]
    assert "1 sample left out: question or truth differs between the runs" in pair.notes


def test_samples_of_one_run_alone_are_reported(tmp_path):
    pair = pair_of(tmp_path, l2_set("x" * 8), l2_set("x" * 6))

    assert pair.notes == ["6 samples in common", "2 samples only in a"]


def test_flips_name_who_was_right_and_hold_both_replies(tmp_path):
    pair = pair_of(tmp_path, l2_set("x..x"), l2_set(".x.x"))

    assert [
        (winner, flip.run["prediction"], flip.baseline["prediction"])
        for winner, _, flips in pair.flips_by_winner for flip in flips
    ] == [("b", "reply 1 x", "reply 1 ."), ("a", "reply 0 .", "reply 0 x")]  # fmt: skip


@pytest.mark.parametrize(("first", "second", "points", "note"), [
    (True, True, 100 * (1 / 2) / (1 / 2 + 3 / 4 * 3), []),
    (False, False, 25.0, []),
    (True, False, 25.0, ["one score is weighted by options (L1_USE_WEIGHTED) and the other is not; "
                         "the differences are unweighted"]),
])  # fmt: skip
def test_differences_are_weighted_where_both_scores_are(tmp_path, first, second, points, note):
    ours, theirs = l1_set("x..."), l1_set("....")
    for sets in (ours, theirs):
        sets[0]["options"] = {"A": "one", "B": "two"}
    a = make_run(tmp_path / "a", {L1: theirs}, model="a", weighted=first)
    b = make_run(tmp_path / "b", {L1: ours}, model="b", weighted=second)

    found = compared(read_runs([a, b]))

    assert found.pairs[0].differences[0].points[0] == pytest.approx(points)
    assert found.pairs[0].notes[1:] == note
    weighted = [label for label, is_so in (("a", first), ("b", second)) if is_so]
    assert found.notes == [
        f"{label}, {L1}: weighted by number of options (L1_USE_WEIGHTED)" for label in weighted]  # fmt: skip


@pytest.mark.parametrize(("entry", "name", "told"), [
    ("pictures", "digest", "images"), ("annotations", "sha256", "annotations")])  # fmt: skip
def test_other_data_under_the_same_names_is_reported(tmp_path, entry, name, told):
    folders = [
        make_run(tmp_path / value, {L2: l2_set("x.")}, model=value,
                 manifest={"datasets": {L2: {entry: {"count": 3, name: value}}}})
        for value in ("a", "b")
    ]  # fmt: skip

    [pair] = pairs_of(read_runs(folders), L2)

    assert pair.notes[1:] == [f"the runs had different {told} (checksums in their manifests)"]


def test_samples_without_an_answer_count_as_wrong_and_are_reported(tmp_path):
    silent = l2_set("xx..")
    silent[2].update(status="failed", verdict=None)

    found = compared(two_runs(tmp_path, {L2: l2_set("xxxx")}, {L2: silent}))

    assert found.pairs[0].differences[0].points[0] == -50
    assert found.notes == [f"b, {L2}: 1 sample without an answer, wrong in the score"]


# -- score tables ---------------------------------------------------------------------------------


def test_there_is_a_board_for_each_row_of_the_score_tables(tmp_path):
    found = two_runs(
        tmp_path, {L1: l1_set("xx.x..x"), L2: l2_set("x.x.xx")}, {L2: l2_set("xxxxxx")}
    )

    boards = {board.title: board for board in boards_of(found)}

    levels = [f"L1 {L1} · {split}" for split in ("easy", "medium", "hard")]
    assert list(boards) == [*levels, *(f"L2 {L2} · {s}" for s in ("basic", "advanced", "average"))]
    assert boards[levels[0]].columns == ["os_ios", "os_web", "Overall"]
    advanced = boards[f"L2 {L2} · advanced"]
    assert [(row.name, [cell["value"] for cell in row.cells.values()]) for row in advanced.rows] == [
        ("a", pytest.approx([100 / 3] * 2)), ("b", [100, 100])]  # fmt: skip


def test_figures_and_intervals_are_those_of_the_analysis(tmp_path):
    cells = [{"value": 50.0, "low": 31.5, "high": 68.5}, None, {"value": 51.0, "low": None, "high": None}]  # fmt: skip
    table = {"columns": ["os_ios", "os_web", "Overall"], "rows": [{"name": "advanced", "cells": cells}]}  # fmt: skip
    folder = make_run(tmp_path / "a", {L2: l2_set("x..x..")}, tables={L2: table})

    [board] = boards_of(read_runs([folder]))

    assert board.columns == ["os_ios", "Overall"]
    assert list(board.rows[0].cells.values()) == [cells[0], cells[2]]


def test_an_average_of_one_split_alone_is_not_set_beside_averages_of_both(tmp_path):
    basic = [each for each in l2_set("x.x.x.") if each["split"] == "basic"]

    boards = boards_of(read_runs([make_run(tmp_path / "a", {L2: basic})]))

    assert [board.split for board in boards] == ["basic"]


def test_a_partial_run_is_marked(tmp_path):
    found = read_runs([make_run(tmp_path / "a", {L2: l2_set("x.x.")}, partial=True)])

    assert {row.mark for board in boards_of(found) for row in board.rows} == {"‡"}
    assert compared(found).notes == [f"m, {L2}: partial (‡), 4 samples"]


def test_full_files_go_before_partial_ones_of_the_same_folder(tmp_path):
    make_run(tmp_path / "a", {L2: l2_set("x")}, partial=True)
    folder = make_run(tmp_path / "a", {L2: l2_set("x...")})

    [run] = read_runs([folder])

    assert (run.sets[L2].is_partial, len(run.sets[L2].samples)) == (False, 4)


def test_published_rows_have_the_published_figures_and_their_source(tmp_path):
    folder = make_run(tmp_path / "a", {L1: l1_set("x.x"), L2: l2_set("x.")})
    found, published = read_runs([folder]), read_published()

    boards = {board.split: board for board in boards_of(found, published)}

    def figures(split, model):
        [row] = [row for row in boards[split].rows if row.name == model]
        return [row.cells[name]["value"] for name in boards[split].columns if name in row.cells]

    assert figures("hard", "InternVL3-72B") == [75.08, 77.44, 76.19, 70.37, 75.73, 78.11, 75.7]
    assert figures("basic", "UI-TARS-1.5-7B") == [68.27, 68.99, 64.4, 88.54, 90.45, 80.97]
    assert figures("advanced", "UI-TARS-1.5-7B") == [38.97, 44.51, 37.76, 69.39, 69.29, 56.49]
    assert figures("average", "UI-TARS-1.5-7B") == [64.32]
    assert any("arXiv:2507.19478" in note for note in notes_of(found, published))


@pytest.mark.parametrize(("change", "partial", "comparable"), [
    ({}, False, True),
    ({}, True, False),
    ({"annotations": {"file": "L2_annotations.json", "md5": "0" * 32}}, False, False),
    ({"left_out": 3}, False, False),
    ({"annotations": {}}, False, False),
])  # fmt: skip
def test_published_rows_are_not_comparable_unless_the_run_had_the_published_data(
    tmp_path, change, partial, comparable
):
    name = "L2_annotations.json"
    data = {"left_out": 0, "annotations": {"file": name, "md5": PUBLISHED_MD5[name]}, **change}
    manifest = {"datasets": {L2: data}}
    folder = make_run(tmp_path / "a", {L2: l2_set("x.")}, manifest=manifest, partial=partial)
    found = read_runs([folder])

    board = boards_of(found, read_published())[0]

    expected = "† published" if comparable else "† published, not comparable"
    assert {row.mark for row in board.rows[1:]} == {expected}
    notes = notes_of(found, read_published())
    assert any("NOT COMPARABLE with m" in note for note in notes) is not comparable


# -- finding runs ---------------------------------------------------------------------------------


def test_the_folder_of_a_model_stands_for_its_newest_run_and_the_others_are_named(tmp_path):
    for name, seq in (("T20260103_Gaaa", 1), ("T20260103_Gaaa_2", 3), ("T20260103_G999", 2)):
        make_run(tmp_path / "m" / name, {L2: l2_set("x.")}, seq=seq)
    log = f"m_{L2}.jsonl"
    (tmp_path / "m" / log).symlink_to(tmp_path / "m" / "T20260103_Gaaa_2" / log)

    [run] = read_runs([tmp_path / "m"])

    assert run.folder.endswith("m/T20260103_Gaaa_2")
    assert run.notes() == [f"m: {run.folder}, the newest run; there are also T20260103_G999, T20260103_Gaaa"]  # fmt: skip


@pytest.mark.parametrize(("names", "labels"), [
    (("", ""), ["m (r0)", "m (r1)"]),
    (("old=", "new="), ["old", "new"]),
    (("old=", ""), ["old", "m (r1)"]),
    (("m=", ""), ["m", "m (r1)"]),
])  # fmt: skip
def test_each_run_has_a_name_of_its_own(tmp_path, names, labels):
    folders = [make_run(tmp_path / f"r{number}", {L2: l2_set("x.")}) for number in range(2)]

    found = read_runs([f"{name}{folder}" for name, folder in zip(names, folders, strict=True)])

    assert [run.label for run in found] == labels


def test_a_folder_with_an_equals_sign_in_its_name_is_a_folder(tmp_path):
    folder = make_run(tmp_path / "t=0.7", {L2: l2_set("x.")})

    assert [run.label for run in read_runs([folder])] == ["m"]


def odd_folders(home):
    make_run(home / "good", {L2: l2_set("x.x.")}, model="good")
    make_run(home / "l1", {L1: l1_set("x.x.")}, model="l1")
    make_run(home / "out" / "model-a" / "T1", {L2: l2_set("x")})
    make_run(home / "unscored", {L2: l2_set("x")})
    for file in home.glob("unscored/*"):
        if not file.name.endswith(f"{L2}.jsonl"):
            file.unlink()
    make_run(home / "old", {L2: l2_set("x")})
    file = home / "old" / f"m_{L2}_samples.jsonl"
    file.write_text(file.read_text().replace('"format":1', '"format":0'))
    make_run(home / "broken", {L2: l2_set("x")}, model="broken")
    (home / "broken" / f"broken_{L2}_score.json").write_text("{")
    (home / "empty").mkdir()
    (home / "file.txt").write_text("x")


@pytest.mark.parametrize(("arguments", "said"), [
    (["good", "nowhere"], "nowhere: there is no such folder"),
    (["good", "x=nowhere"], "nowhere: there is no such folder"),
    (["good", "file.txt"], "file.txt: is a file; name a run's folder"),
    (["good", "empty"], "empty: is no folder of a run; expected <work-dir>/<model>/T<date>_G<commit>"),
    (["good", "out"], "out: holds the runs of model-a; name one of them"),
    (["good", "unscored"], "unscored: has a log but no scored samples; run evaluate.py with the same"),
    (["good", "old"], "is no samples file of this version; run --mode eval again"),
    (["good", "broken"], "score.json: is no JSON object; run --mode eval again"),
    (["good", "./good"], "good: is the same run as good; compare"),
    (["a=good", "a=l1"], "a=: two runs have this name; give each its own"),
    (["good", "l1"], "no sample in common, so there is nothing to compare"),
    (["good"], "compare.py: one run alone; name another one, or --published"),
    (["good", "l1", "--flips", "-1"], "-1"),
    (["good", "--published", "--output", "file.txt"], "--output file.txt: file.txt is a file"),
    (["good", "--published", "--output", "file.txt/x"], "file.txt is a file; "),
    (["good", "--published", "--output", "~nosuchuser/x"], "--output ~nosuchuser/x: there is no user"),
])  # fmt: skip
def test_what_cannot_be_compared_is_reported_in_one_line(
    tmp_path, monkeypatch, capsys, arguments, said
):
    odd_folders(tmp_path)
    monkeypatch.chdir(tmp_path)

    try:
        code = main(arguments)
    except SystemExit as ended:
        code = ended.code

    printed, errors = capsys.readouterr()
    assert (code, printed) == (2, "")
    assert said in errors
    assert errors.rstrip().endswith("Nothing was compared.")
    assert len(errors.splitlines()) <= 2


# -- the program ----------------------------------------------------------------------------------


def two_folders(home):
    make_run(home / "a", {L2: l2_set("x..x.x")}, model="a")
    make_run(home / "b", {L2: l2_set("xx..xx")}, model="b")


def test_compare_prints_writes_and_is_the_same_behind_evaluate(tmp_path):
    two_folders(tmp_path)

    one = compare("a", "b", "--published", cwd=tmp_path)
    files = sorted(path.name for path in (tmp_path / "comparison").iterdir())
    shutil.rmtree(tmp_path / "comparison")
    other = runs.evaluate("--compare", "a", "b", "--published", cwd=tmp_path)

    assert (one.code, one.stderr, other) == (0, "", one)
    assert files == ["comparison.csv", "comparison.html", "comparison.md", "flips.csv"]
    assert "a right, b wrong: 1 sample" in one.stdout
    assert "b: reply 1 x  → point" in one.stdout


@pytest.mark.parametrize(("formats", "files"), [
    (["text"], []),
    (["csv"], ["comparison.csv", "flips.csv"]),
    (["markdown", "html"], ["comparison.html", "comparison.md"]),
])  # fmt: skip
def test_only_the_chosen_formats_are_written(tmp_path, monkeypatch, formats, files):
    two_folders(tmp_path)
    monkeypatch.chdir(tmp_path)

    code = main(["a", "b", "--format", *formats, "--output", "there"])

    assert code == 0
    assert sorted(path.name for path in tmp_path.glob("there/*")) == files


def test_a_current_folder_without_room_for_files_is_reported_with_both_ways_out(
    tmp_path, monkeypatch, capsys
):
    two_folders(tmp_path)
    (tmp_path / "comparison").write_text("a file of mine")
    monkeypatch.chdir(tmp_path)

    codes = [main(["a", "b"]), main(["a", "b", "--format", "text"])]

    errors = capsys.readouterr().err
    assert codes == [2, 0]
    assert "comparison is a file" in errors
    assert "--output" in errors and "--format text" in errors


def test_files_that_fail_while_they_are_written_leave_the_printed_comparison_standing(
    tmp_path, monkeypatch, capsys
):
    two_folders(tmp_path)
    (tmp_path / "there" / "comparison.csv").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)

    code = main(["a", "b", "--output", "there"])

    printed, errors = capsys.readouterr()
    assert code == 1
    assert "a right, b wrong" in printed
    assert "The comparison above stands; files are missing" in errors
    assert "--output there" in errors and "Nothing was compared" not in errors
    assert [path.name for path in tmp_path.glob("there/.*")] == []


def test_hits_that_the_score_does_not_count_are_none_in_the_comparison(tmp_path):
    def of_another_type(annotations):
        for each in annotations[:2]:
            each["data_type"] = "widget"

    with MockServer(right_answers) as server:
        stage = Stage.make(tmp_path, server)
        stage.change_annotations("L2", of_another_type)
        stage.evaluate({"m": API, "n": API}, "--no-report", data={L2: {"mode": "all"}})

    found = compared(read_runs([stage.work_dir / "m", stage.work_dir / "n"]))

    average = stage.scores(L2)["Average accuracy"]
    assert average == pytest.approx(200 / 3)
    assert found.boards[-1].rows[0].cells["Overall"]["value"] == pytest.approx(average)
    overall, mean = found.pairs[0].differences[:2]
    assert (overall.run_pct, mean.baseline_pct) == pytest.approx((average, average))


def test_real_runs_are_compared_without_their_functions_and_data(tmp_path):
    data = runs.make_data(tmp_path / "data")
    functions = tmp_path / "mine.py"
    env = {"LMUData": str(data), "PYTHONPATH": str(tmp_path)}
    with MockServer(lambda request: Reply("(0.2, 0.15)" if "basic" in request.text else "(0.9, 0.9)")) as server:  # fmt: skip
        config = runs.write_config(
            tmp_path / "c.json",
            model={name: runs.api_model(server.url) for name in ("right", "wrong")},
            data={L2: {"mode": "all", "parse_function": "mine.parse"}},
        )
        for model, code in (("right", "eval(response)"), ("wrong", "(0.9, 0.9)")):
            functions.write_text(f"def parse(response, meta):\n    return {code}\n")
            shutil.rmtree(tmp_path / "__pycache__", ignore_errors=True)
            runs.evaluate("--config", config, "--model", model, cwd=tmp_path, env=env)
    functions.unlink()
    shutil.rmtree(data)

    finished = compare("outputs/right", "outputs/wrong", "--format", "csv", cwd=tmp_path)

    assert (finished.code, finished.stderr) == (0, "")
    assert "right right, wrong wrong: 3 samples" in finished.stdout
    manifest = json.loads(next(tmp_path.glob("outputs/right/T*/manifest.json")).read_text())
    assert manifest["datasets"][L2]["statuses"] == {"ok": 6}
