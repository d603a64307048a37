"""`compare.py`: which runs are found, what is compared, and what is printed about it."""

import shutil
from pathlib import Path

import pytest

from tests.support import runs
from tests.support.finished import L1, L2, compare, l1_set, l2_sample, l2_set, make_run
from tests.support.mock_server import Reply
from tests.support.report_runs import l1_sample
from tests.support.stage import API
from utils.analysis.paired import compare_paired, holm
from utils.comparing.boards import boards_of, notes_of
from utils.comparing.pairing import SamplePair
from utils.comparing.pairing import compare as compared
from utils.comparing.runs import read_runs
from utils.comparing.words import as_text
from utils.datasets.published import read_published
from utils.protocol import PUBLISHED_MD5
from utils.session.compare import main
from utils.store.load import load_run


def runs_of(home, *sets, **more):
    """Runs of the models m0, m1, ..., each of its facts by data set."""
    return read_runs(
        [
            make_run(home / f"m{n}" / "T20260101_Gaa", samples, model=f"m{n}", **more)
            for n, samples in enumerate(sets)
        ]
    )


def pair_of(home, first, second, dataset=L2):
    """The runs "m0" and "m1" of these facts on one data set."""
    [pair] = compared(runs_of(home, {dataset: first}, {dataset: second})).pairs
    return pair


def test_a_difference_is_the_run_minus_the_baseline_with_its_test_by_image(tmp_path):
    before, after = "xx..........x.xx", "xxxxxxxx.....x.."
    pair = pair_of(tmp_path, l2_set(before, 12), l2_set(after, 12))
    [overall] = [difference for difference in pair.differences if difference.group == "average"]
    hits = [[mark == "x" for mark in marks] for marks in (after, before)]
    expected = compare_paired(*hits, [number % 12 for number in range(16)])
    assert (pair.run, pair.baseline, overall.samples) == ("m1", "m0", 16)
    assert (overall.baseline_pct, overall.run_pct) == (31.25, 56.25)
    assert overall.points[:2] == pytest.approx((25.0, 100 * expected.interval.low))
    assert (overall.paired.only_first, overall.paired.only_second) == (7, 3)
    assert (overall.paired.p_value, overall.paired.pictures) == (expected.p_value, 12)


def test_episodes_are_compared_by_task(tmp_path):
    sides = [l2_set(hits) for hits in ("x" * 24, "x." * 12)]
    for position, facts in enumerate([*sides[0], *sides[1]]):
        facts |= {"image": None, "task": f"task {position % 24 // 2}"}  # two seeds of each
    assert pair_of(tmp_path, *sides).headline[-1].paired.pictures == 12


@pytest.mark.parametrize(
    ("dataset", "make", "splits", "headline", "groups"),
    [
        (
            L1,
            l1_set,
            "easy medium hard",
            ["easy", "medium", "hard", "overall"],
            ["os_ios", "os_web"],
        ),
        (
            L2,
            l2_set,
            "basic advanced",
            ["basic", "advanced", "average"],
            ["os_ios", "os_web", "icon", "text"],
        ),
        (L2, l2_set, "basic", ["basic"], ["icon", "text"]),  # one alone: no figure over several
    ],
)
def test_official_figures_lead_and_kinds_follow(tmp_path, dataset, make, splits, headline, groups):
    sets = [[s for s in make(hits * 3) if s["split"] in splits] for hits in ("x.x.", "xxxx")]
    for samples in sets:
        for position, item in enumerate(samples):
            item["kind"] = None if dataset == L1 else ("icon", None, "text")[position % 3]
    pair = pair_of(tmp_path, *sets, dataset)
    assert [item.group for item in pair.headline] == headline
    assert [item.group for item in pair.subgroups] == groups


def test_the_mean_of_the_splits_weighs_both_alike_however_many_samples_they_have(tmp_path):
    samples = l2_set("xxxx....")
    for number in (1, 3, 5):  # seven basic, one advanced
        samples[number]["split"] = "basic"
    other = [{**sample, "hit": 0, "verdict": "miss"} for sample in samples]
    samples[7].update(hit=1, verdict="hit")
    mean = pair_of(tmp_path, other, samples).headline[-1]
    assert mean.points[0] == pytest.approx(mean.run_pct)
    assert mean.run_pct == pytest.approx(100 * (4 / 7 + 1) / 2)


@pytest.mark.parametrize(
    ("all_pairs", "titles"),
    [(False, ["m1 − m0", "m2 − m0"]), (True, ["m1 − m0", "m2 − m0", "m2 − m1"])],
)
def test_the_first_run_is_the_baseline_unless_every_pair_is_wanted(tmp_path, all_pairs, titles):
    hits = ("x" * 24, "." * 12 + "x" * 12, "x." * 12)
    runs = runs_of(tmp_path, *({L2: l2_set(marks, 24)} for marks in hits))
    pairs = compared(runs, all_pairs=all_pairs).pairs
    assert [f"{pair.run} − {pair.baseline}" for pair in pairs] == titles
    groups, official = (
        [difference for pair in pairs for difference in getattr(pair, name)]
        for name in ("subgroups", "headline")
    )
    assert [difference.p_value for difference in groups] == holm(
        [difference.paired.p_value for difference in groups]
    )
    assert any(difference.p_value > difference.paired.p_value for difference in groups)
    for name in {difference.group for difference in official}:  # each for all pairs
        tests = [difference for difference in official if difference.group == name]
        assert [test.p_value for test in tests] == holm([test.paired.p_value for test in tests])
    assert any(difference.p_value > difference.paired.p_value for difference in official)
    assert any(difference.is_clear for difference in official)


def episode(number, **changes):
    """Facts of L3: no image of its own, no target, no point."""
    ending = {"ended": "done", "steps": 3, "checks": [[False, "x"], [False, "y"]]}
    return l2_sample(number, box_frac=None, point_frac=None, file_wh=None, **ending | changes)


@pytest.mark.parametrize(
    ("make", "name", "first", "second", "outcome"),
    [
        (l2_sample, "verdict", "hit", "hit", "both right"),
        (l2_sample, "verdict", "hit", "miss", "only A right"),
        (l2_sample, "verdict", "miss", "hit", "only B right"),
        # The target is 80 x 60 pixels, 100 across: clicks are 96 and 104 pixels apart.
        (l2_sample, "point_frac", [0.5, 0.5], [0.74, 0.5], "both wrong, similar"),
        (l2_sample, "point_frac", [0.5, 0.5], [0.76, 0.5], "both wrong, different"),
        (l2_sample, "point_frac", None, None, "both wrong, similar"),
        (l2_sample, "point_frac", None, [0.5, 0.5], "both wrong, different"),
        (l1_sample, "chosen", "A", "C", "both wrong, different"),
        (l1_sample, "chosen", "C", "C", "both wrong, similar"),
        (l1_sample, "chosen", None, "C", "both wrong, different"),
        (l1_sample, "chosen", None, None, "both wrong, similar"),
        (episode, "ended", "done", "fail", "both wrong, different"),
        (episode, "ended", "done", "done", "both wrong, similar"),
        (
            episode,
            "checks",
            [[True, "x"], [False, "y"]],
            [[False, "x"], [False, "y"]],
            "both wrong, different",
        ),
    ],
)
def test_two_misses_are_apart_if_they_came_to_different_things(make, name, first, second, outcome):
    run, baseline = make(0, **{name: second}), make(0, **{name: first})
    run["prediction"] = "in other words"
    assert SamplePair(run, baseline).outcome == outcome


@pytest.mark.parametrize("make", [l1_sample, l2_sample])
def test_two_misses_with_the_same_reply_are_said_to_be_the_same(make):
    assert SamplePair(make(0), make(0)).outcome == "both wrong, same reply"


@pytest.mark.parametrize(
    ("first", "second", "outcome"),
    [
        ("scroll", "type", "both wrong, different"),
        ("scroll", "scroll", "both wrong, similar"),
        (None, None, "both wrong, similar"),
        (None, "scroll", "both wrong, different"),
    ],
)
def test_two_misses_at_a_recorded_step_are_apart_if_their_actions_are(first, second, outcome):
    pair = [
        {
            **l2_sample(0, point_frac=None, prediction=str(number)),
            "step": {"answer": kind and f"{kind}(...)", "recorded": "back()"},
            "details": {"answered": kind and {"kind": kind}},
        }
        for number, kind in enumerate((second, first))
    ]
    assert SamplePair(*pair).outcome == outcome


@pytest.mark.parametrize(
    ("make", "changes"),
    [
        (l2_set, {"box_frac": [0.1, 0.2, 0.3, 0.41]}),
        (l2_set, {"file_wh": [401, 300]}),
        (l2_set, {"split": "advanced"}),
        (l1_set, {"answer": "C"}),
        (l1_set, {"options": {"A": "the first", "B": "another", "C": "the third", "D": None}}),
    ],
)
def test_a_sample_with_another_truth_is_counted_and_left_out(tmp_path, make, changes):
    changed = make("xxxxxx")
    changed[2].update(changes)
    pair = pair_of(tmp_path, make("......"), changed, L2 if make is l2_set else L1)
    assert (pair.changed, len(pair.samples)) == (1, 5)
    assert changed[2]["key"] not in [sample.run["key"] for sample in pair.samples]
    assert "1 sample left out, because question or ground truth differs" in pair.notes


def test_flips_hold_both_replies_and_samples_of_one_run_alone_are_reported(tmp_path):
    pair = pair_of(tmp_path, l2_set("x..xxx"), l2_set(".x.x"))
    assert pair.notes == ["4 samples in common", "2 samples only in m0"]
    assert [
        (winner, flip.run["prediction"], flip.baseline["prediction"])
        for winner, _, flips in pair.flips_by_winner
        for flip in flips
    ] == [("m1", "reply 1 x", "reply 1 ."), ("m0", "reply 0 .", "reply 0 x")]


@pytest.mark.parametrize(
    ("weighted", "points", "note"),
    [
        ((True, True), 100 * (1 / 2) / (1 / 2 + 3 / 4 * 3), None),
        ((False, False), 25.0, None),
        (
            (True, False),
            25.0,
            "one score is weighted by options (L1_USE_WEIGHTED) and the other is not; "
            "the differences are unweighted",
        ),
    ],
)
def test_differences_are_weighted_where_both_scores_are(tmp_path, weighted, points, note):
    folders = []
    for name, hits, is_so in zip("ab", ("....", "x..."), weighted, strict=True):
        samples = l1_set(hits)
        samples[0]["options"] = {"A": "one", "B": "two"}
        folders.append(make_run(tmp_path / name, {L1: samples}, model=name, weighted=is_so))
    comparison = compared(read_runs(folders))
    assert comparison.pairs[0].headline[-1].points[0] == pytest.approx(points)
    assert comparison.pairs[0].notes[1:] == ([note] if note else [])
    notes = [f"{name}, {L1}: weighted by number of options (L1_USE_WEIGHTED)" for name in "ab"]
    assert comparison.notes == [note for note, is_so in zip(notes, weighted, strict=True) if is_so]


def test_weighted_figures_of_a_difference_are_those_of_the_score(tmp_path):
    sides = [l1_set(hits) for hits in ("x..x.xx..x.xxx", "xxx..xx.xxx..x")]
    for item in (sample for side in sides for sample in side):
        if item["platform"] == "os_ios" and item["index"] % 5:  # others weigh more than these
            item["options"] = {"A": "one", "B": "two"}
    comparison = compared(runs_of(tmp_path, *({L1: side} for side in sides), weighted=True))
    official = [
        {name: cell["value"] for name, cell in row.cells.items()}
        for row in comparison.summary[0].rows
    ]
    for name in ("baseline_pct", "run_pct"):
        figures = {item.group: getattr(item, name) for item in comparison.pairs[0].headline}
        assert figures == pytest.approx(official.pop(0))


@pytest.mark.parametrize(
    ("entry", "name", "expected"),
    [("pictures", "digest", "images"), ("annotations", "sha256", "annotations")],
)
def test_other_data_and_samples_without_an_answer_are_reported(tmp_path, entry, name, expected):
    silent = l2_set("xx..")
    silent[2].update(status="failed", verdict=None)
    folders = [
        make_run(
            tmp_path / value,
            {L2: samples},
            model=value,
            manifest={"datasets": {L2: {entry: {"count": 3, name: value}}}},
        )
        for value, samples in (("a", l2_set("xxxx")), ("b", silent))
    ]
    comparison = compared(read_runs(folders))
    [pair] = comparison.pairs
    assert pair.notes[1:] == [f"the runs had different {expected} (checksums in their manifests)"]
    assert pair.headline[-1].points[0] == -50
    assert comparison.notes == [f"b, {L2}: 1 sample without an answer, counted as wrong"]


def test_a_data_set_that_was_stopped_is_named(tmp_path):
    for name, stopped in (("a", {}), ("b", {L1: "the server was away"}), ("c", {L2: "a parser"})):
        why = {dataset: {"level": "L1", "why": text} for dataset, text in stopped.items()}
        make_run(tmp_path / name, {L2: l2_set("xx..")}, model=name, manifest={"stopped": why})
    assert compared(read_runs([tmp_path / name for name in "abc"])).notes == [
        f"b, {L1}: stopped: the server was away",
        f"c, {L2}: stopped: a parser; the figures are from an earlier scoring",
    ]


def test_hits_that_the_score_does_not_count_are_none_in_the_comparison(stage):
    def of_another_type(annotations):
        for row in annotations[:2]:
            row["data_type"] = "widget"

    stage.change_annotations("L2", of_another_type)
    stage.evaluate({"m": API, "n": API}, "--no-report", data={L2: {"mode": "all"}})
    comparison = compared(read_runs([stage.work_dir / "m", stage.work_dir / "n"]))
    mean = comparison.pairs[0].headline[-1]
    average = comparison.boards[-1].rows[0].cells["Overall"]["value"]
    assert stage.scores(L2)["Average accuracy"] == pytest.approx(200 / 3)
    assert (average, mean.baseline_pct) == pytest.approx((200 / 3,) * 2)


def test_a_data_set_that_only_one_run_has_is_said_not_to_be_compared(tmp_path):
    sets = {L1: l1_set("xx."), L2: l2_set("x.")}, {L2: l2_set("xx")}
    comparison = compared(runs_of(tmp_path, *sets))
    assert comparison.notes[0] == f"{L1}: not compared, only m0 has it"


def test_there_is_a_board_for_each_row_of_the_score_tables(tmp_path):
    sets = {L1: l1_set("xx.x..x"), L2: l2_set("x.x.xx")}, {L2: l2_set("xxxxxx")}
    boards = {board.title: board for board in boards_of(runs_of(tmp_path, *sets)) if board.split}
    levels = [f"L1 {L1} · {split}" for split in ("easy", "medium", "hard")]
    assert list(boards) == [*levels, *(f"L2 {L2} · {s}" for s in ("basic", "advanced", "average"))]
    assert boards[levels[0]].columns == ["os_ios", "os_web", "Overall"]
    advanced = boards[f"L2 {L2} · advanced"].rows
    assert [(row.name, [cell["value"] for cell in row.cells.values()]) for row in advanced] == [
        ("m0", pytest.approx([100 / 3] * 2)),
        ("m1", [100, 100]),
    ]
    basic = [sample for sample in l2_set("x.x.x.") if sample["split"] == "basic"]
    alone = boards_of(runs_of(tmp_path / "alone", {L2: basic}))
    assert [board.split for board in alone] == ["", "basic"]  # no average of one split


def test_figures_and_intervals_are_those_of_the_analysis(tmp_path):
    ios, overall = (
        {"value": 50.0, "low": 31.5, "high": 68.5},
        {"value": 1, "low": None, "high": None},
    )
    cells, columns = [ios, None, overall], ["os_ios", "os_web", "Overall"]
    table = {"columns": columns, "rows": [{"name": "advanced", "cells": cells}]}
    _, board = boards_of(runs_of(tmp_path, {L2: l2_set("x..x..")}, tables={L2: table}))
    assert board.rows[0].cells == {"os_ios": ios, "Overall": overall}
    assert board.columns == ["os_ios", "Overall"]


@pytest.mark.parametrize("partial", [False, True])
def test_the_headline_of_a_part_says_how_many_samples_it_is_of(tmp_path, partial):
    runs_of_part = runs_of(tmp_path, {L2: l2_set("x.x.")}, {L2: l2_set("x.xx")}, partial=partial)
    text = as_text(compared(runs_of_part), flips=0)
    assert (" on the 4 in common\n" in text) == partial


def test_a_partial_run_is_marked_and_full_files_of_its_folder_go_before(tmp_path):
    partial = runs_of(tmp_path, {L2: l2_set("x.x.")}, partial=True)
    [full] = runs_of(tmp_path, {L2: l2_set("x...xx")})
    assert {row.mark for board in boards_of(partial) for row in board.rows} == {"‡"}
    assert compared(partial).notes == [f"m0, {L2}: partial (‡), 4 samples"]
    assert (full.sets[L2].is_partial, len(full.sets[L2].samples)) == (False, 6)


def test_published_rows_have_the_published_figures_and_their_source(tmp_path):
    runs = runs_of(tmp_path, {L1: l1_set("x.x"), L2: l2_set("x.")})
    boards = {board.split: board for board in boards_of(runs, read_published())}

    def figures(split, model):
        [row] = [row for row in boards[split].rows if row.name == model]
        return [row.cells[name]["value"] for name in boards[split].columns if name in row.cells]

    assert figures("hard", "InternVL3-72B") == [75.08, 77.44, 76.19, 70.37, 75.73, 78.11, 75.7]
    assert figures("basic", "UI-TARS-1.5-7B") == [68.27, 68.99, 64.4, 88.54, 90.45, 80.97]
    assert figures("advanced", "UI-TARS-1.5-7B") == [38.97, 44.51, 37.76, 69.39, 69.29, 56.49]
    assert figures("average", "UI-TARS-1.5-7B") == [64.32]
    assert any("arXiv:2507.19478" in note for note in notes_of(runs, read_published()))


@pytest.mark.parametrize(
    ("change", "partial", "comparable"),
    [
        ({}, False, True),
        ({}, True, False),
        ({"annotations": {"file": "L2_annotations.json", "md5": "0" * 32}}, False, False),
        ({"left_out": 3}, False, False),
        ({"annotations": {}}, False, False),
    ],
)
def test_published_rows_compare_with_published_data_alone(tmp_path, change, partial, comparable):
    name = "L2_annotations.json"
    published = {"annotations": {"file": name, "md5": PUBLISHED_MD5[name]}}
    manifest = {"datasets": {L2: {"left_out": 0, "mode": "all", **published, **change}}}
    runs = runs_of(tmp_path, {L2: l2_set("x.")}, manifest=manifest, partial=partial)
    board = boards_of(runs, read_published())[0]
    others = {row.name: row.mark for row in board.rows[1:]}
    assert others["MAI-UI-8B"] == others["GPT-4o"]
    assert others["GPT-4o"] == ("† published" if comparable else "† published, not comparable")
    assert others["GUI-Owl-7B"].startswith("‖ published, two cells (86.4, 74.4) fit no whole ")
    assert others["GUI-Owl-7B"].endswith("not comparable") is not comparable
    assert others["GPT-5.5 + GUI-Agent-Harness"].startswith("¶ published, several looks")
    notes = " ".join(notes_of(runs, read_published()))
    assert ("NOT COMPARABLE with m0" in notes) is not comparable


def test_the_folder_of_a_model_stands_for_its_newest_run_and_the_others_are_named(tmp_path):
    for name, seq in (("T20260103_Gaaa", 1), ("T20260103_Gaaa_2", 3), ("T20260103_G999", 2)):
        make_run(tmp_path / "m" / name, {L2: l2_set("x.")}, seq=seq)
    log = f"m_{L2}.jsonl"
    (tmp_path / "m" / log).symlink_to(tmp_path / "m" / "T20260103_Gaaa_2" / log)
    [run] = read_runs([tmp_path / "m"])
    assert run.folder.endswith("m/T20260103_Gaaa_2")
    others = "the newest run; there are also T20260103_G999, T20260103_Gaaa"
    assert run.notes() == [f"m: {run.folder}, {others}"]


@pytest.mark.parametrize(
    ("model", "level", "partial", "is_passed_over"),
    [
        ("m", L2, True, True),
        ("m", L2, False, False),
        ("m", L1, True, False),
        ("few_samples", L2, True, True),
    ],
)
def test_a_run_over_a_part_stands_aside_where_another_has_all(
    tmp_path, model, level, partial, is_passed_over
):
    for name, seq in (("T20260101_Gaaa", 1), ("T20260102_Gaaa", 2)):
        make_run(tmp_path / "m" / name, {L2: l2_set("x.")}, model=model, seq=seq)
    samples = {level: l2_set("x") if level == L2 else l1_set("x")}
    make_run(tmp_path / "m" / "T20260103_Gaaa", samples, model=model, seq=3, partial=partial)
    [run] = read_runs([tmp_path / "m"])
    chosen = "T20260102_Gaaa" if is_passed_over else "T20260103_Gaaa"
    assert (Path(run.folder).name, load_run(tmp_path / "m").folder.name) == (chosen, chosen)
    expected = "with all samples; there are also T20260103_Gaaa (newer, incomplete), T20260101_Gaaa"
    assert (expected in run.notes()[0]) is is_passed_over


def test_an_older_run_over_a_part_is_called_incomplete(tmp_path):
    make_run(tmp_path / "m" / "T20260101_Gaaa", {L2: l2_set("x")}, model="m", seq=1, partial=True)
    make_run(tmp_path / "m" / "T20260102_Gaaa", {L2: l2_set("x.")}, model="m", seq=2)
    [run] = read_runs([tmp_path / "m"])
    assert "the newest run; there are also T20260101_Gaaa (incomplete)" in run.notes()[0]


@pytest.mark.parametrize(
    ("names", "labels"),
    [
        (("", ""), ["m (r=0)", "m (r=1)"]),  # that a folder has such a name makes it no NAME=folder
        (("old=", "new="), ["old", "new"]),
        (("old=", ""), ["old", "m (r=1)"]),
        (("m=", ""), ["m", "m (r=1)"]),
    ],
)
def test_each_run_has_a_name_of_its_own(tmp_path, names, labels):
    folders = [make_run(tmp_path / f"r={number}", {L2: l2_set("x.")}) for number in range(2)]
    runs = read_runs([f"{name}{folder}" for name, folder in zip(names, folders, strict=True)])
    assert [run.label for run in runs] == labels


def odd_folders(home):
    make_run(home / "good", {L2: l2_set("x.x.")}, model="good")
    make_run(home / "l1", {L1: l1_set("x.x.")}, model="l1")
    for name in ("out/model-a/T1", "unscored", "old", "broken"):
        make_run(home / name, {L2: l2_set("x")})
    # The folder of a model links to it, that of all models has none.
    newest = f"m_{L2}_samples.jsonl"
    (home / "out" / "model-a" / newest).symlink_to(home / "out" / "model-a" / "T1" / newest)
    for file in (home / "unscored").iterdir():
        if not file.name.endswith(f"{L2}.jsonl"):
            file.unlink()
    samples = home / "old" / f"m_{L2}_samples.jsonl"
    samples.write_text(samples.read_text().replace('"format":1', '"format":0'))
    (home / "broken" / f"m_{L2}_score.json").write_text("{")
    (home / "empty").mkdir()
    (home / "file.txt").write_text("x")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("good nowhere", "nowhere: there is no such folder"),
        ("good x=nowhere", "nowhere: there is no such folder"),
        ("good file.txt", "file.txt: is not a run folder"),
        ("good x=out", "out: is a work-dir; name the folder of a model in it, such as out/model-a"),
        ("good empty", "empty: is not a run folder; expected <work-dir>/<model>/T<date>_G<commit>"),
        (
            "good unscored",
            "unscored: has a log but no scored samples. Run evaluate.py with the same",
        ),
        ("good old", "is not a samples file of this version; run --mode eval again"),
        ("good broken", "score.json: is not a JSON object; run --mode eval again"),
        ("good ./good", "good: is the same run as good; compare"),
        ("a=good a=l1", "a=: two runs have this name; give each its own"),
        ("good l1", "no sample in common, so there is nothing to compare"),
        ("good", "only one run was named; name another one, or use --published"),
        ("good l1 --flips -1", "-1"),
        (
            "good --published --output file.txt",
            "--output file.txt: file.txt cannot be written (Not a directory)",
        ),
        ("good --published --output file.txt/x", "file.txt cannot be written (Not a directory); "),
    ],
)
def test_what_cannot_be_compared_is_one_line(tmp_path, monkeypatch, capsys, arguments, expected):
    odd_folders(tmp_path)
    monkeypatch.chdir(tmp_path)
    try:
        code = main(arguments.split())
    except SystemExit as ended:
        code = ended.code
    printed, errors = capsys.readouterr()
    assert (code, printed) == (2, "")
    assert expected in errors and errors.rstrip().endswith("Nothing was compared.")
    assert len(errors.splitlines()) <= 2


@pytest.fixture
def two(tmp_path, monkeypatch):
    """The current folder, with the runs "a" and "b"."""
    make_run(tmp_path / "a", {L2: l2_set("x..x.x")}, model="a")
    make_run(tmp_path / "b", {L2: l2_set("xx..xx")}, model="b")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_compare_prints_writes_and_is_the_same_behind_evaluate(two):
    one = compare("a", "b", "--published", cwd=two)
    files = sorted(path.name for path in (two / "comparison").iterdir())
    shutil.rmtree(two / "comparison")
    other = runs.evaluate("--compare", "a", "b", "--published", cwd=two)
    assert (one.code, one.stderr, other) == (0, "", one)
    assert files == [
        "comparison.csv",
        "comparison.html",
        "comparison_files",
        "comparison_wide.csv",
        "flips.csv",
    ]
    assert "a right, b wrong: 1 sample" in one.stdout
    assert "B: reply 1 x, read as: point" in one.stdout
    address = (two / "comparison" / "comparison.html").as_uri()
    assert one.stdout.splitlines()[-1] == f"Comparison: {address}"


@pytest.mark.parametrize(
    ("formats", "files"),
    [
        ("text", []),
        ("csv", ["comparison.csv", "comparison_wide.csv", "flips.csv"]),
        ("html", ["comparison.html", "comparison_files"]),
    ],
)
def test_only_the_chosen_formats_are_written(two, formats, files):
    assert main(["a", "b", "--format", *formats.split(), "--output", "there"]) == 0
    assert sorted(path.name for path in two.glob("there/*")) == files


def test_a_comparison_of_other_runs_is_replaced_with_a_line_that_names_them(two, capsys):
    make_run(two / "c", {L2: l2_set("xx.xxx")}, model="c")
    printed = []
    for names in (["a", "b"], ["b", "a"], ["a", "c"], ["a", "c", "--format", "text"]):
        assert main(names) == 0
        printed.append(capsys.readouterr().out)
    expected = f"comparison: this comparison replaces the one of {two.name}/b and {two.name}/a"
    assert [expected in text for text in printed] == [False, False, True, False]


def test_a_folder_without_room_has_two_ways_out_and_a_late_failure_leaves_the_print(two, capsys):
    (two / "comparison").write_text("a file of mine")
    codes = [main(["a", "b"]), main(["a", "b", "--format", "text"])]
    errors = capsys.readouterr().err
    assert codes == [2, 0]
    assert "--output comparison: comparison cannot be written" in errors
    assert "--format text" in errors
    (two / "there" / "comparison.csv").mkdir(parents=True)
    code = main(["a", "b", "--output", "there"])
    printed, errors = capsys.readouterr()
    assert (code, "a right, b wrong" in printed) == (1, True)
    assert "The comparison above stands; files are missing in --output there" in errors
    assert [path.name for path in two.glob("there/.*")] == []


def test_real_runs_are_compared_without_their_functions_and_data(staged):
    replies = {True: Reply("(0.2, 0.15)"), False: Reply("(0.9, 0.9)")}
    stage = staged(answer=lambda request: replies["basic" in request.text])
    data = {L2: {"mode": "all", "parse_function": "mine.parse"}}
    for model, code in (("right", "eval(response)"), ("wrong", "(0.9, 0.9)")):
        stage.module(f"def parse(response, meta):\n    return {code}\n", "mine")
        stage.evaluate({model: API}, data=data)
    shutil.rmtree(stage.code)
    shutil.rmtree(stage.root)
    finished = compare("out/right", "out/wrong", "--format", "csv", cwd=stage.home)
    assert (finished.code, finished.stderr) == (0, "")
    assert "right right, wrong wrong: 3 samples" in finished.stdout


def test_a_run_without_a_score_has_no_figures_and_no_differences(tmp_path):
    failed = [
        {**sample, "status": "failed", "verdict": None, "hit": 0} for sample in l2_set("x" * 24)
    ]
    folders = [
        make_run(tmp_path / "good", {L2: l2_set("x..." * 6)}, model="good"),
        make_run(tmp_path / "dead", {L2: failed}, model="dead"),
    ]
    comparison = compared(read_runs(folders))
    [pair] = comparison.pairs
    assert pair.differences == []
    cells = {
        row.name: [cell["value"] for cell in row.cells.values()]
        for row in comparison.boards[0].rows
    }
    assert cells["dead"] == [None] * len(cells["good"])
    text = as_text(comparison, flips=0)
    assert "no score: 24 of 24 samples have no answer" in text
    dead_row = next(line for line in text.splitlines() if line.startswith("dead"))
    assert dead_row.split() == ["dead", "-", "-", "-"]
    assert "= -25" not in text
