"""`only` and `--only`: the rows with some labels, as a part of a data set that shares its answers."""

import json

import pytest

import evaluate
from tests.support.stage import L1, L2
from utils import PROJECT
from utils.comparing.boards import PARTIAL_MARK, boards_of
from utils.comparing.runs import read_runs
from utils.errors import UserError
from utils.subsets import base_mode, covers, mode_with, shown_mode

SAMPLE_DATA = PROJECT / "sample_data"
PICTURES = [("os_web", (40, 30)), ("os_web", (50, 30)), ("os_mac", (40, 30)), ("os_ios", (40, 30))]


class Silent:
    """A model that never finds anything."""

    def generate(self, message, *, dataset_name):
        return "I cannot tell."


def score_head(stage, dataset=L2):
    """What the newest analysis of a data set says that it is of."""
    paths = stage.folder().glob(f"*_{dataset}*_analysis*.json")
    newest = max(paths, key=lambda path: path.stat().st_mtime_ns)
    return json.loads(newest.read_text())["head"]


# -- no request is made twice -----------------------------------------------------------------------


@pytest.mark.parametrize("order", ["subset first", "whole first"])
def test_subset_and_whole_share_their_answers(order, staged):
    stage = staged(pictures=PICTURES)
    only = ("--data", "L1", "L2", "--only", "platform=os_web")
    runs = [only, ()] if order == "subset first" else [(), only]
    asked = [stage.run(*options).asked for options in runs]
    subset, whole = {L1: 6, L2: 4}, {L1: 12, L2: 8}
    if order == "subset first":
        assert asked == [subset, {name: whole[name] - subset[name] for name in whole}]
    else:
        assert asked == [whole, {L1: 0, L2: 0}]


def test_a_subset_can_be_scored_from_the_log_of_the_whole(staged):
    stage = staged(pictures=PICTURES)
    stage.run()
    result = stage.run("--data", "L2", "--only", "platform=os_mac", "--mode", "eval")
    assert result.code == 0, result.output
    assert "n = 2 · platform=os_mac only (partial)" in result.stdout


def test_two_labels_of_one_grouping_are_either_and_two_groupings_are_both(staged):
    stage = staged(pictures=PICTURES)
    options = ("--data", "L2", "--only", "platform=os_web", "platform=OS_MAC")
    assert stage.run(*options).asked[L2] == 6
    result = stage.run(*options, "grounding_type=basic")
    assert result.asked[L2] == 0
    assert "n = 3 · grounding_type=basic; platform=OS_MAC|os_web only" in result.stdout


def test_a_limit_counts_within_the_subset(staged):
    stage = staged(pictures=PICTURES)
    result = stage.run("--data", "L2", "--only", "platform=os_web", "--limit", "3")
    assert result.asked[L2] == 3
    assert all(row["platform"] == "os_web" for row in rows_of(stage))


def rows_of(stage):
    [path] = stage.folder().glob(f"*_{L2}*_samples*.jsonl")
    return [json.loads(line) for line in path.read_text().splitlines()][1:]


def test_labels_in_two_spellings_are_one_experiment(staged):
    stage = staged(pictures=PICTURES)
    for typed, other in (("os_web", "web"), ("macos", "OS_MAC")):
        stage.run("--only", f"platform={typed}")
        folder = stage.folder()
        again = stage.run("--only", f"platform={other}")
        assert (again.asked, stage.folder()) == ({L1: 0, L2: 0}, folder)
        scored = stage.run("--only", f"platform={typed}", "--mode", "eval")
        assert (scored.code, "the log has only a part" in scored.output) == (0, False)


# -- marks ------------------------------------------------------------------------------------------


def test_a_subset_is_marked_as_a_part_everywhere(staged):
    stage = staged(pictures=PICTURES)
    stage.data[L2]["only"] = {"platform": "os_web"}
    result = stage.run("--data", "L2")
    assert "platform=os_web only (partial)" in result.stdout
    head = score_head(stage)
    assert (head["mode"], head["partial"]) == ("all; platform=os_web", True)
    manifest = json.loads((stage.folder() / "manifest.json").read_text())
    assert manifest["datasets"][L2]["partial"] is True
    assert [*stage.folder().glob("*_partial*")]
    report = (stage.folder() / "report" / "data" / "summary_0.js").read_text()
    assert "platform=os_web only" in report
    [run] = read_runs([stage.folder()])
    assert boards_of([run])[0].rows[0].mark == PARTIAL_MARK
    assert any("platform=os_web only" in note for note in run.sets[L2].notes())


@pytest.mark.parametrize("order", ["subset first", "whole first"])
def test_a_subset_and_the_whole_have_folders_and_pages_of_their_own(order, staged):
    stage = staged(pictures=PICTURES)
    runs = [(), ("--only", "platform=os_web"), ("--only", "platform=os_mac"), ()]
    if order == "subset first":
        runs = runs[1:]
    folders = []
    for options in runs:
        result = stage.run("--data", "L2", *options)
        folders.append(stage.folder())
    assert len({*folders}) == 3
    assert "holds a run with " in stage.run("--data", "L2", "--only", "platform=os_ios").stdout
    for folder, options in zip(folders, runs, strict=True):
        ending = "_partial" if options else ""
        assert [*folder.glob(f"*_{L2}_score*.json")] == [folder / f"m_{L2}_score{ending}.json"]
        assert (folder / "report" / "index.html").exists()
    assert result.asked[L2] == (0 if order == "whole first" else 2)
    [run] = read_runs([stage.work_dir / "m"])
    assert boards_of([run])[0].rows[0].mark == ""


# -- groupings of other data sets, and what is wrong ------------------------------------------------


@pytest.mark.parametrize(
    ("dataset", "only", "count"),
    [
        (L2, {"application": "Terminal"}, 8),
        (L1, {"difficulty": ["easy", "hard"], "platform": "os_web"}, 6),
        ("ScreenSpotPro", {"group": "Dev"}, 4),
        ("ScreenSpotPro", {"application": "terminal", "kind": "icon"}, 2),
        ("OSWorldG", {"category": "refusal"}, 2),
        ("OSWorldG", {"category": ["refusal", "fine_grained_manipulation"]}, 3),
        ("UIVision", {"application": "gedit", "split": "spatial"}, 4),
        ("VenusBenchGD", {"tier": "advanced", "platform": "desktop"}, 6),
        ("UII2E", {"instr_type": "implicit", "platform": ["web"]}, 4),
    ],
)
def test_every_declared_grouping_chooses_rows(dataset, only, count, tmp_path, monkeypatch):
    monkeypatch.setenv("LMUData", str(SAMPLE_DATA))
    model = {"m": {"imp_type": "custom", "model_path": f"{__name__}.Silent"}}
    config = {"model": model, "data": {dataset: {"only": only}}}
    [result] = evaluate.run(config, work_dir=str(tmp_path / "out"), quiet=True)
    [table] = result.folder.glob(f"*_{dataset}*_samples*.jsonl")
    assert len(table.read_text().splitlines()) == count + 1


@pytest.mark.parametrize(
    ("only", "problem"),
    [
        (
            ["plattform=os_web"],
            '--only plattform, GUIElementGrounding: no grouping of this data set; did you mean "platfo',
        ),
        (["platform=os_wep"], 'no row has the label "os_wep"; did you mean "os_web"?'),
        (
            ["application=Zzz"],
            '--only application, GUIElementGrounding: no row has the label "Zzz"; there are "',
        ),
        (["os_web"], "--only os_web: expected GROUPING=LABEL"),
        (["platform="], "--only platform=: expected GROUPING=LABEL"),
    ],
)
def test_what_is_no_grouping_or_label_is_named_before_any_request(only, problem, staged):
    result = staged(pictures=PICTURES).run("--data", "L2", "--only", *only)
    assert result.code == 2
    assert problem in result.stderr
    assert result.requests == []


@pytest.mark.parametrize(
    ("dataset", "only", "problem"),
    [
        (L2, ["platform"], "only: must be an object of labels by grouping"),
        (L2, {"platform": []}, "only: must be an object of labels"),
        ("GUITaskAutomation", {"platform": "os_web"}, "only: cannot be used for live tasks"),
    ],
)
def test_a_wrong_only_is_named(dataset, only, problem, stage, tmp_path):
    stage.data = {dataset: {"only": only}}
    result = stage.run()
    assert result.code == 2
    assert problem in result.stderr


def counts_with(monkeypatch, tmp_path, data, *only):
    """How many rows of each data set a model is asked, and what is printed."""
    monkeypatch.setenv("LMUData", str(SAMPLE_DATA))
    model = {"m": {"imp_type": "custom", "model_path": f"{__name__}.Silent"}}
    config = {"model": model, "data": {name: {} for name in data}}
    [result] = evaluate.run(config, work_dir=str(tmp_path / "out"), only=[*only], report=False)
    tables = {name: [*result.folder.glob(f"*_{name}_samples*.jsonl")] for name in data}
    return {
        name: len(paths[0].read_text().splitlines()) - 1 for name, paths in tables.items() if paths
    }


@pytest.mark.parametrize("label", ["platform=os_web", "platform=web", "platform=OS_WEB"])
def test_a_platform_is_known_in_both_spellings(label, tmp_path, monkeypatch):
    counts = counts_with(monkeypatch, tmp_path, [L2, "ScreenSpotV2"], label)
    assert counts == {L2: 24, "ScreenSpotV2": 4}


@pytest.mark.parametrize("grouping", ["kind", "data_type"])
def test_icons_and_texts_are_known_in_both_spellings(grouping, tmp_path, monkeypatch):
    counts = counts_with(monkeypatch, tmp_path, [L2, "ScreenSpotV2"], f"{grouping}=icon")
    assert set(counts) == {L2, "ScreenSpotV2"} and min(counts.values()) > 0


def test_data_sets_without_a_typed_label_are_left_out_and_named(tmp_path, monkeypatch, capsys):
    counts = counts_with(monkeypatch, tmp_path, [L2, "ScreenSpotPro"], "group=Dev")
    assert counts == {"ScreenSpotPro": 4}
    note = f"{L2}: skipped, because no row has group=Dev (--only)"
    assert note in capsys.readouterr().out


def test_scoring_leaves_out_a_data_set_of_which_the_labels_choose_nothing(staged):
    stage = staged(pictures=PICTURES)
    only = ("--only", "difficulty=easy")
    assert stage.run(*only).asked == {L1: 4, L2: 0}
    result = stage.run(*only, "--mode", "eval")
    assert result.code == 0, result.output
    reason = f"{L2}: nothing to score, as none of its 8 rows has difficulty=easy (--only)"
    assert reason in result.stdout
    assert "no log" not in result.output
    assert "n = 4 · difficulty=easy only (partial)" in result.stdout


def test_scoring_where_labels_choose_nothing_at_all_is_an_error(staged):
    stage = staged(pictures=PICTURES)
    stage.data = {L2: {"only": {"platform": "os_web", "application": "nothing"}}}
    result = stage.run("--mode", "eval")
    assert result.code == 2
    labels = f"application=nothing; platform=os_web (data.{L2}.only)"
    assert f"{L2}: nothing to score, as none of its 8 rows has {labels}" in result.stderr


def test_of_several_labels_each_data_set_takes_those_it_knows(tmp_path, monkeypatch):
    labels = ("platform=os_ios", "platform=desktop")
    counts = counts_with(monkeypatch, tmp_path, [L2, "ScreenSpotV2"], *labels)
    assert set(counts) == {L2, "ScreenSpotV2"}


@pytest.mark.parametrize("only", [["group=Dve"], ["group=Dev", "difficulty=easy"]])
def test_a_typed_label_of_no_data_set_is_an_error(only, tmp_path, monkeypatch):
    with pytest.raises(UserError, match=r"no row has the label|no grouping of this data set"):
        counts_with(monkeypatch, tmp_path, [L2, "ScreenSpotPro"], *only)


def test_modes_of_subsets_are_equal_for_equal_labels():
    first = mode_with("all", {"platform": ["b", "a"], "application": ["x"]})
    assert first == mode_with("all", {"application": ["x"], "platform": ["a", "b"]})
    assert (base_mode(first), shown_mode(first)) == ("all", "application=x; platform=a|b")
    assert mode_with("basic", {}) == "basic" and shown_mode("basic") == "basic"
    assert covers("all", first) and covers("basic", mode_with("basic", {"platform": ["a"]}))
    assert covers("all; platform=os_mac|web", "all; platform=OS_WEB|macos")
    assert not covers("all; platform=os_mac", "all; platform=os_mac|os_web")
    assert not covers(first, "all") and not covers("advanced", mode_with("basic", {}))
