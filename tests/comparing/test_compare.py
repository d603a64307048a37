"""`compare.py`: which runs are found, what is compared, and what is said about it."""

from __future__ import annotations

import json
import shutil

import pytest

from tests.support import runs
from tests.support.finished import L1, L2, compare, l1_set, l2_set, make_run
from utils.analysis import compare_paired, holm
from utils.comparing.command import main
from utils.comparing.comparison import compare as compared
from utils.comparing.comparison import pair_notes
from utils.comparing.leaderboard import boards_of, notes_of
from utils.comparing.pairing import pairs_of
from utils.comparing.published import read_published
from utils.comparing.runs import read_runs
from utils.protocol import PUBLISHED_MD5


def two_runs(home, first, second, **more):
    """Two read runs, "a" and "b", of these facts by data set."""
    a = make_run(home / "a" / "T20260101_Gaaaa", first, model="a", **more)
    b = make_run(home / "b" / "T20260101_Gbbbb", second, model="b", **more)
    return read_runs([str(a), str(b)])


def published_manifest(dataset, name):
    annotations = {"file": name, "md5": PUBLISHED_MD5[name]}
    return {"datasets": {dataset: {"left_out": 0, "annotations": annotations}}}


# -- pairs ----------------------------------------------------------------------------------------


def test_a_difference_is_the_run_minus_the_baseline_with_its_test_by_picture(tmp_path):
    before, after = "xx..........x.xx", "xxxxxxxx.....x.."
    found = two_runs(tmp_path, {L2: l2_set(before, 12)}, {L2: l2_set(after, 12)})

    [pair] = pairs_of(found, L2, all_pairs=False)
    overall = pair.differences[0]

    expected = compare_paired(
        [mark == "x" for mark in after], [mark == "x" for mark in before],
        [number % 12 for number in range(16)],
    )  # fmt: skip
    assert (pair.title, overall.group) == ("b − a", "all samples")
    assert (overall.baseline_pct, overall.run_pct) == (31.25, 56.25)
    assert overall.points == pytest.approx(25.0)
    assert (overall.only_run, overall.only_baseline) == (7, 3)
    assert (overall.p_value, overall.p_mcnemar) == (expected.p_value, expected.p_mcnemar)
    assert overall.low == pytest.approx(100 * expected.interval.low)
    assert (overall.samples, overall.pictures) == (16, 12)


def test_groups_are_all_samples_the_mean_of_the_splits_each_split_and_each_platform(tmp_path):
    found = two_runs(tmp_path, {L1: l1_set("x.x." * 3), L2: l2_set("x.x." * 3)},
                     {L1: l1_set("xxxx" * 3), L2: l2_set("xxxx" * 3)})  # fmt: skip

    groups = {
        name: [each.group for each in pairs_of(found, name, all_pairs=False)[0].differences]
        for name in (L1, L2)
    }

    assert groups == {
        L1: ["all samples", "easy", "medium", "hard", "os_ios", "os_web"],
        L2: ["all samples", "mean of basic and advanced", "basic", "advanced", "os_ios", "os_web"],
    }


def test_the_mean_of_the_splits_weighs_both_alike_however_many_samples_they_have(tmp_path):
    samples = l2_set("xxxx....")
    for number in (1, 3, 5):  # seven basic, one advanced
        samples[number]["split"] = "basic"
    other = [{**each, "hit": 0, "verdict": "miss"} for each in samples]
    samples[7].update(hit=1, verdict="hit")
    found = two_runs(tmp_path, {L2: other}, {L2: samples})

    mean = pairs_of(found, L2, all_pairs=False)[0].differences[1]

    assert mean.points == pytest.approx(100 * (4 / 7 + 1) / 2)
    assert mean.run_pct == pytest.approx(mean.points)


def test_holm_runs_over_all_comparisons_of_the_table(tmp_path):
    sets = ["x" * 24, "." * 12 + "x" * 12, "x." * 12]
    folders = [make_run(tmp_path / f"r{number}", {L2: l2_set(hits, 12)}, model=f"m{number}")
               for number, hits in enumerate(sets)]  # fmt: skip

    pairs = pairs_of(read_runs([str(each) for each in folders]), L2, all_pairs=False)

    rows = [each for pair in pairs for each in pair.differences]
    assert len(rows) > 10
    assert [each.p_holm for each in rows] == holm([each.p_value for each in rows])


@pytest.mark.parametrize(("all_pairs", "titles"), [
    (False, ["m1 − m0", "m2 − m0"]),
    (True, ["m1 − m0", "m2 − m0", "m2 − m1"]),
])  # fmt: skip
def test_the_first_run_is_the_baseline_unless_every_pair_is_wanted(tmp_path, all_pairs, titles):
    folders = [make_run(tmp_path / f"r{n}", {L2: l2_set("x.x.")}, model=f"m{n}") for n in range(3)]

    pairs = pairs_of(read_runs([str(each) for each in folders]), L2, all_pairs=all_pairs)

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
    found = two_runs(tmp_path, {dataset: make("......")}, {dataset: changed})

    [pair] = pairs_of(found, dataset, all_pairs=False)

    assert (pair.changed, len(pair.common)) == (1, 5)
    assert changed[2]["key"] not in [flip.key for flip in pair.flips]
    assert "1 sample left out: question or truth differs between the runs" in pair_notes(pair)


def test_samples_of_one_run_alone_are_told(tmp_path):
    found = two_runs(tmp_path, {L2: l2_set("x" * 8)}, {L2: l2_set("x" * 6)})

    [pair] = pairs_of(found, L2, all_pairs=False)

    assert pair_notes(pair) == ["6 samples in common", "2 samples only in a"]


def test_flips_name_who_was_right_and_hold_both_replies(tmp_path):
    found = two_runs(tmp_path, {L2: l2_set("x..x")}, {L2: l2_set(".x.x")})

    flips = pairs_of(found, L2, all_pairs=False)[0].flips

    assert [
        (f.run_is_right, f.run_facts["prediction"], f.baseline_facts["prediction"]) for f in flips
    ] == [(True, "reply 1 x", "reply 1 ."), (False, "reply 0 .", "reply 0 x")]


@pytest.mark.parametrize(("first", "second", "points", "note"), [
    (True, True, 100 * (1 / 2) / (1 / 2 + 3 / 4 * 3), "weighted by options (L1_USE_WEIGHTED)"),
    (False, False, 25.0, None),
    (True, False, 25.0, "one score is weighted by options (L1_USE_WEIGHTED) and the other is not; "
                        "the differences are unweighted"),
])  # fmt: skip
def test_differences_are_weighted_where_both_scores_are(tmp_path, first, second, points, note):
    ours, theirs = l1_set("x..."), l1_set("....")
    for sets in (ours, theirs):
        sets[0]["options"] = {"A": "one", "B": "two"}
    a = make_run(tmp_path / "a", {L1: theirs}, model="a", weighted=first)
    b = make_run(tmp_path / "b", {L1: ours}, model="b", weighted=second)

    [pair] = pairs_of(read_runs([str(a), str(b)]), L1, all_pairs=False)

    assert pair.differences[0].points == pytest.approx(points)
    assert pair.notes == ([note] if note else [])


def test_other_pictures_under_the_same_names_are_told(tmp_path):
    def manifest(digest):
        return {"datasets": {L2: {"pictures": {"count": 3, "digest": digest}}}}

    a = make_run(tmp_path / "a", {L2: l2_set("x.")}, model="a", manifest=manifest("1"))
    b = make_run(tmp_path / "b", {L2: l2_set("x.")}, model="b", manifest=manifest("2"))

    [pair] = pairs_of(read_runs([str(a), str(b)]), L2, all_pairs=False)

    assert pair.notes == ["the runs had different pictures (checksums in their manifests)"]


def test_samples_without_an_answer_count_as_wrong_and_are_told(tmp_path):
    silent = l2_set("xx..")
    silent[2].update(status="failed", verdict=None)
    found = two_runs(tmp_path, {L2: l2_set("xxxx")}, {L2: silent})

    told = compared(found, all_pairs=False, published=None)

    assert told.pairs[0].differences[0].points == -50
    assert told.notes == [f"b, {L2}: 1 sample without an answer, wrong in the score"]


# -- leaderboards ---------------------------------------------------------------------------------


def test_l1_has_a_table_per_difficulty_and_l2_one_with_both_splits_per_platform(tmp_path):
    found = two_runs(
        tmp_path, {L1: l1_set("xx.x..x"), L2: l2_set("x.x.xx")}, {L2: l2_set("xxxxxx")}
    )

    boards = boards_of(found, None)

    assert [board.title for board in boards] == [
        f"L1 {L1} · easy", f"L1 {L1} · medium", f"L1 {L1} · hard", f"L2 {L2}"]  # fmt: skip
    assert [(c.label, c.split) for c in boards[0].columns] == [
        ("iOS", ""), ("Web", ""), ("Overall", "")]  # fmt: skip
    assert [(c.label, c.split) for c in boards[3].columns] == [
        ("iOS", "basic"), ("iOS", "advanced"), ("Web", "basic"), ("Web", "advanced"),
        ("Average", "")]  # fmt: skip
    assert [row.name for row in boards[3].rows] == ["a", "b"]
    assert [cell and cell.value for cell in boards[3].rows[0].cells] == [
        None, pytest.approx(100 / 3), 100.0, None, pytest.approx((100 + 100 / 3) / 2)]  # fmt: skip


def test_a_figure_has_the_interval_of_the_analysis(tmp_path):
    cells = [{"value": 50.0, "low": 31.5, "high": 68.5}, None, {"value": 50.0, "low": None, "high": None}]  # fmt: skip
    table = {"columns": ["os_ios", "os_web", "Overall"], "rows": [{"name": "advanced", "cells": cells}]}  # fmt: skip
    folder = make_run(tmp_path / "a", {L2: l2_set("x..x..")}, tables={L2: table})

    [row] = boards_of(read_runs([str(folder)]), None)[0].rows

    assert [(cell.low, cell.high) for cell in row.cells if cell] == [
        (31.5, 68.5), (None, None), (None, None)]  # fmt: skip


def test_an_average_of_one_split_alone_is_not_set_beside_averages_of_both(tmp_path):
    basic = [each for each in l2_set("x.x.x.") if each["split"] == "basic"]
    found = read_runs([str(make_run(tmp_path / "a", {L2: basic}))])

    assert boards_of(found, None)[0].rows[0].cells[-1] is None


def test_a_partial_run_is_marked(tmp_path):
    folder = make_run(tmp_path / "a", {L2: l2_set("x.x.")}, partial=True)
    found = read_runs([str(folder)])

    assert boards_of(found, None)[0].rows[0].title == "m ‡"
    assert compared(found, all_pairs=False, published=None).notes == [
        f"m, {L2}: partial, 4 samples",
        "‡ partial run: not all samples of its data set were scored",
    ]


def test_full_files_go_before_partial_ones_of_the_same_folder(tmp_path):
    make_run(tmp_path / "a", {L2: l2_set("x")}, partial=True)
    folder = make_run(tmp_path / "a", {L2: l2_set("x...")})

    [run] = read_runs([str(folder)])

    assert (run.sets[L2].files.is_partial, len(run.sets[L2].outcomes)) == (False, 4)


# -- published results ----------------------------------------------------------------------------


def test_published_rows_have_the_published_figures_and_their_source(tmp_path):
    folder = make_run(tmp_path / "a", {L1: l1_set("x.x"), L2: l2_set("x.")})
    found, published = read_runs([str(folder)]), read_published()

    boards = {board.title: board for board in boards_of(found, published)}
    hard = {row.name: [cell.value for cell in row.cells] for row in boards[f"L1 {L1} · hard"].rows[1:]}  # fmt: skip
    clicks = {row.name: [cell.value for cell in row.cells] for row in boards[f"L2 {L2}"].rows[1:]}

    assert hard["InternVL3-72B"] == [75.08, 77.44, 76.19, 70.37, 75.73, 78.11, 75.7]
    assert clicks["UI-TARS-1.5-7B"] == [
        68.27, 38.97, 68.99, 44.51, 64.4, 37.76, 88.54, 69.39, 90.45, 69.29, 80.97, 56.49, 64.32]  # fmt: skip
    assert any("arXiv:2507.19478" in note for note in notes_of(found, published))


@pytest.mark.parametrize(("change", "comparable"), [
    ({}, True),
    ({"annotations": {"file": "L2_annotations.json", "md5": "0" * 32}}, False),
    ({"left_out": 3}, False),
    ({"annotations": {}}, False),
])  # fmt: skip
def test_published_rows_are_not_comparable_unless_the_run_had_the_published_data(
    tmp_path, change, comparable
):
    manifest = published_manifest(L2, "L2_annotations.json")
    manifest["datasets"][L2] |= change
    found = read_runs([str(make_run(tmp_path / "a", {L2: l2_set("x.")}, manifest=manifest))])

    board = boards_of(found, read_published())[0]

    expected = "† published" if comparable else "† published, not comparable"
    assert {row.mark for row in board.rows[1:]} == {expected}
    assert any("NOT COMPARABLE with m" in n for n in notes_of(found, read_published())) is not comparable  # fmt: skip


def test_a_partial_run_on_published_data_is_not_comparable(tmp_path):
    manifest = published_manifest(L2, "L2_annotations.json")
    folder = make_run(tmp_path / "a", {L2: l2_set("x.")}, manifest=manifest, partial=True)

    board = boards_of(read_runs([str(folder)]), read_published())[0]

    assert {row.mark for row in board.rows[1:]} == {"† published, not comparable"}


# -- finding runs ---------------------------------------------------------------------------------


def test_the_folder_of_a_model_stands_for_its_newest_run(tmp_path):
    make_run(tmp_path / "m" / "T20260103_Gaaa", {L2: l2_set("x.")}, started_at="2026-01-03")
    newest = make_run(
        tmp_path / "m" / "T20260103_G999", {L2: l2_set("xx")}, started_at="2026-01-04"
    )
    (tmp_path / "m" / f"m_{L2}.jsonl").symlink_to(newest / f"m_{L2}.jsonl")

    [run] = read_runs([str(tmp_path / "m")])

    assert run.folder.endswith("m/T20260103_G999")


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

    assert [run.label for run in read_runs([str(folder)])] == ["m"]


def spoilt(home):
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
    (["good", "file.txt"], "file.txt: is a file; name the folder of the run"),
    (["good", "empty"], "empty: is no folder of a run; expected <work-dir>/<model>/T<date>_G<commit>"),
    (["good", "out"], "out: holds the runs of model-a; name one of them"),
    (["good", "unscored"], "unscored: has a log but no scored samples; run evaluate.py with the same"),
    (["good", "old"], "is no samples file of this version; run --mode eval again"),
    (["good", "broken"], "score.json: is no JSON object; run --mode eval again"),
    (["good", "./good"], "./good: is the same run as good"),
    (["a=good", "a=l1"], "a=: two runs have this name; give each its own"),
    (["good", "l1"], "no sample in common, so there is nothing to compare"),
    (["good"], "compare.py: one run alone; name another one, or --published"),
    (["good", "l1", "--flips", "-1"], "-1 is no whole number"),
    (["good", "--published", "--output", "file.txt"], "--output file.txt: file.txt is a file"),
    (["good", "--published", "--output", "file.txt/x"], "file.txt is a file; name another"),
    (["good", "--published", "--output", "~nosuchuser/x"], "--output ~nosuchuser/x: there is no user"),
])  # fmt: skip
def test_what_cannot_be_compared_is_said_in_one_line(
    tmp_path, monkeypatch, capsys, arguments, said
):
    spoilt(tmp_path)
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


def test_compare_prints_writes_and_is_the_same_behind_evaluate(tmp_path):
    make_run(tmp_path / "a", {L2: l2_set("x..x.x")}, model="a")
    make_run(tmp_path / "b", {L2: l2_set("xx..xx")}, model="b")

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
    make_run(tmp_path / "a", {L2: l2_set("x..x")}, model="a")
    make_run(tmp_path / "b", {L2: l2_set("xx..")}, model="b")
    monkeypatch.chdir(tmp_path)

    code = main(["a", "b", "--format", *formats, "--output", "there"])

    assert code == 0
    assert sorted(path.name for path in tmp_path.glob("there/*")) == files


def two_folders(home):
    make_run(home / "a", {L2: l2_set("x..x")}, model="a")
    make_run(home / "b", {L2: l2_set("xx..")}, model="b")


def test_a_current_folder_without_room_for_files_is_told_with_both_ways_out(
    tmp_path, monkeypatch, capsys
):
    two_folders(tmp_path)
    (tmp_path / "comparison").write_text("a file of mine")
    monkeypatch.chdir(tmp_path)

    codes = [main(["a", "b"]), main(["a", "b", "--format", "text"])]

    said = capsys.readouterr().err
    assert codes == [2, 0]
    assert "the files of the comparison go to comparison, which is a file; name another" in said
    assert "--output" in said and "--format text" in said


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


def test_real_runs_are_compared_without_their_functions_and_data(tmp_path):
    from tests.support.mock_server import MockServer, Reply

    data = runs.make_data(tmp_path / "data")
    functions = tmp_path / "mine.py"
    functions.write_text("def parse(response, meta):\n    return eval(response)\n")
    env = {"LMUData": str(data), "PYTHONPATH": str(tmp_path)}
    with MockServer(lambda request: Reply("(0.2, 0.15)" if "basic" in request.text else "(0.9, 0.9)")) as server:  # fmt: skip
        model = {"right": runs.api_model(server.url), "wrong": runs.api_model(server.url)}
        config = runs.write_config(
            tmp_path / "c.json",
            model=model,
            data={L2: {"mode": "all", "parse_function": "mine.parse"}},
        )
        runs.evaluate("--config", config, "--model", "right", cwd=tmp_path, env=env)
        functions.write_text("def parse(response, meta):\n    return (0.9, 0.9)\n")
        runs.evaluate("--config", config, "--model", "wrong", cwd=tmp_path, env=env)
    functions.unlink()
    shutil.rmtree(data)

    finished = compare("outputs/right", "outputs/wrong", "--format", "csv", cwd=tmp_path)

    assert (finished.code, finished.stderr) == (0, "")
    assert "right right, wrong wrong: 3 samples" in finished.stdout
    manifest = json.loads(next(tmp_path.glob("outputs/right/T*/manifest.json")).read_text())
    assert manifest["datasets"][L2]["statuses"] == {"ok": 6}
