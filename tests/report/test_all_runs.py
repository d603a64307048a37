"""`<work-dir>/index.html`: all runs, the newest first, from small files alone."""

import json
import os
import re
import signal
import threading
import time
from html.parser import HTMLParser

import pytest

from tests.support.browser import PHONE, tabs_of
from tests.support.mock_server import MockServer, Reply
from tests.support.runs import PROJECT, api_model
from tests.support.stage import API, L1, L2, Stage, right_answers
from utils.comparing.runs import read_runs
from utils.pages.all_runs import listed_runs, write_index
from utils.pages.data_files import value_of
from utils.protocol import SAMPLE_MD5
from utils.store.load import load_run
from utils.store.log import RunLog
from utils.store.seals import stamp_of

BAD = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>&\x1b[31m"
SAMPLE_TABLE = {"file": "L2_annotations.json", "md5": SAMPLE_MD5["L2_annotations.json"]}
HOUR_S = 3600


def cell(value):
    return {"value": value, "low": value - 5, "high": value + 5, "samples": 40}


def data_set(**changes):
    figures = {"basic": cell(70.125), "advanced": cell(50.0), "average": cell(60.0625)}
    return {
        "level": "L2",
        "samples": 40,
        "missing": 0,
        "partial": False,
        "statuses": {"ok": 40},
        "figures": figures,
        **changes,
    }


def run_at(work_dir, name, *, hours=0, model="m", log_later_s=-60, **changes):
    """A run that ended so many hours after a day long ago, as its files would be then."""
    folder, ended_s = work_dir / model / name, time.time() - 1000 * HOUR_S + hours * HOUR_S
    folder.mkdir(parents=True)
    ended_at = time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime(ended_s))
    manifest = {
        "model": model,
        "asking": {"ended_at": ended_at},
        "datasets": {L2: data_set(**changes)},
    }
    (folder / "manifest.json").write_text(json.dumps(manifest))
    (folder / f"{model}_{L2}.jsonl").write_text("")
    os.utime(folder / "manifest.json", (ended_s, ended_s))
    os.utime(folder / f"{model}_{L2}.jsonl", (ended_s + log_later_s,) * 2)
    return folder


class Page(HTMLParser):
    """The texts of each row's cells, the intervals below them, the links and the tags."""

    def __init__(self, text):
        super().__init__()
        self.rows, self.links, self.tags, self.titles, self.intervals = [], [], [], [], []
        self.is_interval = False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.titles += [value for name, value in attrs if name == "title"]
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")
        elif tag == "a":
            self.links.append(dict(attrs)["href"])
        self.is_interval = tag == "small"

    def handle_endtag(self, tag):
        self.is_interval = False

    def handle_data(self, data):
        if self.is_interval:
            self.intervals.append(data)
        elif self.rows and self.rows[-1]:
            self.rows[-1][-1] += data


def page_of(work_dir):
    return Page(write_index(work_dir).read_text("utf-8"))


def test_runs_stand_with_the_newest_first_whatever_their_model_and_folder(tmp_path):
    for hours, model in ((1, "a"), (3, "b"), (2, "a")):
        run_at(tmp_path, f"T20260101_G{9 - hours}", hours=hours, model=model)
    rows = page_of(tmp_path).rows[2:]
    assert [row[0] for row in rows] == ["bT20260101_G6", "aT20260101_G7", "aT20260101_G8"]


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({}, "whole"),
        ({"partial": True}, "partial"),
        ({"missing": 3, "partial": True}, "stopped"),
        ({"imported": {"rows": 30, "missing": 24}}, "partial"),
        ({"imported": {"rows": 54, "missing": 0}}, "whole"),
        ({"log_later_s": 60}, "stopped"),
        ({"log_later_s": 1000 * HOUR_S - 9}, "stopped"),  # just now, but nobody writes it
    ],
)
def test_a_run_is_whole_partial_or_stopped(tmp_path, changes, state):
    run_at(tmp_path, "T20260101_Gaa", **changes)
    [run] = listed_runs(tmp_path)
    assert run.state == state


def test_a_run_is_running_exactly_as_long_as_its_log_is_held(tmp_path):
    folder = run_at(tmp_path, "T20260101_Gaa", log_later_s=60)
    log = RunLog(folder / f"m_{L2}.jsonl")
    [run] = listed_runs(tmp_path)
    log.close()
    [over] = listed_runs(tmp_path)
    assert (run.state, over.state) == ("running", "stopped")


def test_an_interrupted_run_is_not_running_in_the_lists_of_later_runs(tmp_path):
    def answer(request):
        if "Question 0 hard" in request.text and request.body["model"] == "mock":
            os.kill(os.getpid(), signal.SIGINT)
        return right_answers(request)

    with MockServer(answer) as server:
        stage = Stage.make(tmp_path, server)
        assert stage.evaluate({"m": API}, data={L1: {"mode": "all"}}).code == 130
        other = {**API, "model_path": API["model_path"].replace("=mock", "=other")}
        assert stage.evaluate({"n": other}, "--no-report").code == 0
    rows = Page((stage.work_dir / "index.html").read_text("utf-8")).rows[2:]
    assert sorted(row[1] for row in rows) == ["stopped", "whole"]


def test_a_model_folder_on_another_disk_is_listed(tmp_path):
    run_at(tmp_path / "elsewhere", "T20260101_Gaa")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "m").symlink_to(tmp_path / "elsewhere" / "m")
    assert [run.folder for run in listed_runs(tmp_path / "out")] == ["m/T20260101_Gaa"]


def test_a_run_one_of_whose_data_sets_was_aborted_is_not_whole(tmp_path):
    with MockServer(right_answers) as server:
        stage = Stage.make(tmp_path, server, [("os_web", (64, 48))] * 30)
        stage.module("def parse(response, meta):\n    return 0.5\n")
        data = {L1: {"mode": "all"}, L2: {"mode": "all", "parse_function": "mymodel.parse"}}
        result = stage.evaluate({"m": API}, data=data)
    assert result.code == 1, result.output
    [run] = listed_runs(stage.work_dir)
    assert (run.state, *run.datasets) == ("stopped", L1)
    why = "after the first 20 answers the parse function mymodel.parse failed 10 times in a row: returned 0.5; expected (x, y) or None"
    assert run.reason == f"{L2}: {why}"
    page = page_of(stage.work_dir)
    assert f"stopped: {why[:59]}…" in page.rows[2]
    summary = stage.folder() / "report" / "data" / "summary_0.js"
    assert value_of(summary.read_text("ascii"))["stopped"] == [f"L2 {L2}: stopped: {why}"]


def test_a_run_whose_server_is_away_says_so_until_all_is_answered(tmp_path):
    away = []

    def answer(request):
        return Reply(status=503, body=b"gone fishing") if away else right_answers(request)

    with MockServer(answer) as server:
        stage = Stage.make(tmp_path, server)
        away.append("yes")
        result = stage.run("--retry", "0", "--no-report")
        [run] = listed_runs(stage.work_dir)
        assert (result.code, run.state) == (1, "stopped")
        assert f"{L1}: 5 samples in a row got HTTP 503: gone fishing" in run.reason
        cells = [cell for cell in page_of(stage.work_dir).rows[2] if "stopped: 5 samples" in cell]
        assert len(cells) == 2
        away.clear()
        assert stage.run("--no-report").code == 0
    [run] = listed_runs(stage.work_dir)
    assert (run.state, run.stopped) == ("whole", {})


def test_the_count_of_a_runs_warnings_leads_to_its_report(tmp_path):
    with MockServer(lambda request: Reply("I cannot see it")) as server:
        stage = Stage.make(tmp_path, server)
        stage.run("--limit", "3")
    report = f"{stage.folder().relative_to(stage.work_dir).as_posix()}/report/index.html"
    page = page_of(stage.work_dir)
    assert page.rows[2][1] == "partial 2 warnings"
    assert page.links.count(report) == 2


def test_a_run_that_is_interrupted_lists_itself_as_stopped(tmp_path):
    def answer(request):
        if "Question 0 hard" in request.text:  # one of them: Ctrl-C is pressed once
            os.kill(os.getpid(), signal.SIGINT)
        return right_answers(request)

    with MockServer(answer) as server:
        stage = Stage.make(tmp_path, server)
        result = stage.evaluate({"m": API}, data={L1: {"mode": "all"}})
    assert result.code == 130, result.output
    rows = Page((stage.work_dir / "index.html").read_text("utf-8")).rows[2:]
    assert [row[1] for row in rows] == ["stopped"]


def test_a_run_that_was_killed_before_it_had_a_manifest_is_stopped(tmp_path):
    (run_at(tmp_path, "T20260101_Gaa") / "manifest.json").unlink()
    assert [(run.model, run.state) for run in listed_runs(tmp_path)] == [("m", "stopped")]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, ["60.06", "70.13", "50.00"]),
        ({"partial": True}, ["60.06‡", "70.13‡", "50.00‡"]),
        ({"imported": {"missing": 2}}, ["60.06‡", "70.13‡", "50.00‡"]),
        ({"annotations": SAMPLE_TABLE}, ["60.06‡", "70.13‡", "50.00‡"]),
        ({"figures": None}, ["not scored"]),
        (
            {"figures": {}, "statuses": {"ok": 1, "failed": 3, "refused": 1}},
            ["4 of 5 requests failed"],
        ),
        (
            {"statuses": {"ok": 40, "failed": 60}},
            ["60.06", "70.13", "50.00"],
        ),  # rotations, not samples
    ],
)
def test_scores_are_rounded_and_absent_where_most_requests_failed(tmp_path, changes, expected):
    run_at(tmp_path, "T20260101_Gaa", **changes)
    assert page_of(tmp_path).rows[2][2:-3] == expected


@pytest.mark.parametrize(
    ("changes", "below"),
    [
        ({"protocol": "zoom"}, "zoom"),
        ({"repeats": 3}, "×3"),
        ({"protocol": "follow-up", "repeats": 2}, "follow-up ×2"),
        ({"circular": True, "repeats": 2}, "circular ×2"),
        ({"protocol": "zoom", "partial": True}, "zoom"),
        ({"protocol": "<b>"}, "<b>"),
    ],
)
def test_how_samples_were_asked_stands_once_below_the_main_figure(tmp_path, changes, below):
    run_at(tmp_path, "T20260101_Gaa", **changes)
    page = page_of(tmp_path)
    assert page.intervals == ["55.1–65.1", below, "65.1–75.1", "45.0–55.0"]
    mark = "‡" if "partial" in changes else ""
    assert page.rows[2][2:-3] == [f"{value}{mark}" for value in ("60.06", "70.13", "50.00")]


@pytest.mark.parametrize(
    ("names", "heads"),
    [
        (["SR 15", "EQA* 15", "SR 50", "EQA* 50"], ["SR 50", "SR 15", "EQA* 15", "EQA* 50"]),
        (["SR 15", "EQA* 15"], ["SR 15", "EQA* 15"]),
        (["SR 100", "SR 20", "EQA* 100"], ["SR 100", "SR 20", "EQA* 100"]),
        (["easy", "medium", "hard", "overall"], ["overall", "easy", "medium", "hard"]),
        (["text", "icon", "average"], ["average", "text", "icon"]),
        (["accuracy"], ["accuracy"]),
    ],
)
def test_the_main_figure_of_a_data_set_stands_first(tmp_path, names, heads):
    run_at(tmp_path, "T20260101_Gaa", figures={name: cell(50.0) for name in names})
    assert [head.strip() for head in page_of(tmp_path).rows[1]] == heads


def test_every_score_has_its_interval_below_it_without_hovering(tmp_path):
    without = {"value": 12.5, "low": None, "high": None, "samples": 4}
    run_at(tmp_path, "T20260101_Gaa")
    run_at(tmp_path, "T20260102_Gaa", figures={"average": without})
    page = page_of(tmp_path)
    assert page.intervals == ["55.1–65.1", "65.1–75.1", "45.0–55.0"]
    assert ["12.50", "–", "–"] in [row[2:-3] for row in page.rows]


@pytest.mark.parametrize(
    ("changes", "log_later_s", "stopped", "mark", "why"),
    [
        ({}, -60, {"why": "parse failed <b>"}, "§", "the last scoring stopped: parse failed <b>"),
        ({"partial": True}, -60, {"why": "no"}, "‡§", "the last scoring stopped: no"),
        ({}, 60, {}, "§", "the log has grown since then"),
        ({"missing": 3, "partial": True}, -60, {"why": "gone"}, "‡", ""),  # of what was answered
    ],
)
def test_an_earlier_scoring_is_marked_with_its_reason(
    tmp_path, changes, log_later_s, stopped, mark, why
):
    run = run_at(tmp_path, "T20260101_Gaa", log_later_s=log_later_s, **changes)
    written = (run / "manifest.json").stat().st_mtime
    manifest = json.loads((run / "manifest.json").read_text())
    manifest["stopped"] = {L2: {"level": "L2", **stopped}} if stopped else {}
    (run / "manifest.json").write_text(json.dumps(manifest))
    os.utime(run / "manifest.json", (written, written))
    page = page_of(tmp_path)
    assert page.rows[2][2:-3] == [f"{value}{mark}" for value in ("60.06", "70.13", "50.00")]
    titles = [title for title in page.titles if "95 % interval" in title]
    assert [title.partition("; from an earlier scoring: ")[2] for title in titles] == [why] * 3


@pytest.mark.parametrize(
    ("md5", "expected"), [(SAMPLE_MD5["L2_annotations.json"], " · sample data"), ("0", "")]
)
def test_a_run_on_the_sample_data_says_so_under_its_name(tmp_path, md5, expected):
    run_at(tmp_path, "T20260101_Gaa", annotations={"file": "L2_annotations.json", "md5": md5})
    assert page_of(tmp_path).rows[2][0] == f"mT20260101_Gaa{expected}"


def test_runs_of_one_model_are_told_apart_by_the_settings_that_differ(tmp_path):
    entry = {"imp_type": "openai", "generate_cfg": {"temperature": 0}, "kwargs": {"img_size": 640}}
    others = {"generate_cfg": {"temperature": 1, "top_p": 0.9}, "kwargs": {"img_size": 320}}
    for hours, (name, settings) in enumerate(
        {"T1": {**entry, **others}, "T2": {**entry, "kwargs": {}}, "T3": entry}.items()
    ):
        folder = run_at(tmp_path, f"{name}_Gaa".replace("T", "T2026010"), hours=hours)
        manifest = json.loads((folder / "manifest.json").read_text())
        manifest["config"] = {"model": {"m": settings}}
        written = (folder / "manifest.json").stat().st_mtime
        (folder / "manifest.json").write_text(json.dumps(manifest))
        os.utime(folder / "manifest.json", (written, written))
    imported = run_at(tmp_path, "I20260104_Gaa", hours=9)
    manifest = json.loads((imported / "manifest.json").read_text())
    manifest |= {"imported": {}, "config": {"model": {"m": {"imp_type": "custom"}}}}
    (imported / "manifest.json").write_text(json.dumps(manifest))
    names = [row[0].partition("_Gaa")[2] for row in page_of(tmp_path).rows[3:]]
    assert names == [
        "",
        " · other kwargs.img_size",
        " · other generate_cfg.temperature, generate_cfg.top_p, kwargs.img_size",
    ]


def compared_at(work_dir, name, stamps):
    """A comparison of runs by their folders below the work-dir."""
    folder = work_dir / "comparisons" / name / "comparison_files"
    folder.mkdir(parents=True)
    (folder / "runs.json").write_text(json.dumps(stamps))


def scored_at(work_dir, model, content):
    """The stamp of a run of a model whose files have this content."""
    folder = run_at(work_dir, "T20260101_Gaa", model=model)
    path = folder / "manifest.json"
    written = path.stat().st_mtime
    manifest = {**json.loads(path.read_text()), "files": {"x": content}}
    path.write_text(json.dumps(manifest))
    os.utime(path, (written, written))
    return stamp_of(manifest)


@pytest.mark.parametrize(
    ("stamps", "outdated"),
    [
        ({"a": "now", "b": "now"}, []),
        ({"a": "now", "b": "before"}, ["b"]),
        ({"a": "before", "b": "before"}, ["a", "b"]),
        ({"a": "now", "b": ""}, []),  # of a run of an older version
        (["a", "b"], []),  # of an older version
        ({"a": "before", "gone": "before"}, ["a"]),
    ],
)
def test_a_comparison_made_before_a_scoring_is_marked_with_whose(tmp_path, stamps, outdated):
    current = {name: scored_at(tmp_path, name, f"of {name}") for name in "ab"}
    folders = {name: f"../../{name}/T20260101_Gaa" for name in stamps}
    told = [*folders.values()]
    if isinstance(stamps, dict):
        told = {
            folders[name]: current[name] if stamp == "now" else stamp
            for name, stamp in stamps.items()
        }
    compared_at(tmp_path, "a_vs_b", told)
    page = page_of(tmp_path)
    mark = "compared §" if outdated else "compared"
    texts = {row[0].partition("T")[0]: row[-1].partition("\n")[0] for row in page.rows[2:]}
    assert texts == {name: mark if name in stamps else "" for name in "ab"}
    titles = [title for title in page.titles if "older than" in title]
    assert len(titles) == (len(folders.keys() & {"a", "b"}) if outdated else 0)
    assert all(f"scoring of {', '.join(outdated)}. " in title for title in titles)


def test_a_comparison_is_marked_once_one_of_its_models_is_read_in_another_way(tmp_path):
    parse = {L2: "utils.coordinates.parse_per_mille"}
    texts = []
    with MockServer(lambda _: Reply("(150, 200)")) as server:
        stage = Stage.make(tmp_path, server)
        stage.data = {L2: {"mode": "all"}}
        for entry, options in (
            ({}, ()),
            ({}, ("--mode", "eval")),  # the same again
            ({"parse_function": parse}, ("--mode", "eval", "--model", "b")),
            ({"parse_function": parse}, ("--mode", "eval")),  # all: compared anew
        ):
            stage.model = {"a": api_model(server.url), "b": api_model(server.url, **entry)}
            ran = stage.run(*options)
            assert ran.code == 0, ran.output
            rows = Page((stage.work_dir / "index.html").read_text("utf-8")).rows[2:]
            texts.append({row[-1].partition("\n")[0] for row in rows})
    assert texts == [{"compared"}, {"compared"}, {"compared §"}, {"compared"}]


TABLE_ROWS = {
    "ScreenSpot": (12, 1272),
    "ScreenSpotV2": (12, 1272),
    "ScreenSpotPro": (8, 1581),
    "OSWorldG": (10, 564),
    "UIVision": (20, 5479),
    "refined": (10, 564),
}


@pytest.fixture(scope="module")
def sample_tables(tmp_path_factory):
    """A run of every table on the sample data."""
    home = tmp_path_factory.mktemp("tables")
    with MockServer(lambda _: Reply("(0.5, 0.5)")) as server:
        stage = Stage.make(home, server)
        stage.data = {name: {} for name in TABLE_ROWS}
        stage.data["refined"] = {"benchmark": "OSWorldG", "instructions": "refined"}
        stage.env = {"LMUData": str(PROJECT / "sample_data")}
        ran = stage.run()
        assert ran.code == 0, ran.output
    return stage


def test_a_run_of_tables_on_the_sample_data_is_marked_and_its_warnings_counted(sample_tables):
    page = Page((sample_tables.work_dir / "index.html").read_text("utf-8"))
    [row] = page.rows[2:]
    assert row[0].endswith(" · sample data")
    manifest = json.loads((sample_tables.folder() / "manifest.json").read_text())
    warnings = sum(entry["warnings"] for entry in manifest["datasets"].values())
    assert row[1] == f"whole {warnings + len(TABLE_ROWS)} warnings"
    figures = [text for text in row[2:-3] if text]
    assert figures and all(text.endswith("‡") for text in figures if text != "–")
    for rows, published in TABLE_ROWS.values():
        assert any(f"{rows:,} of {published:,} rows" in title for title in page.titles)


@pytest.mark.parametrize("name", TABLE_ROWS)
def test_a_report_says_how_many_rows_of_each_table_there_are(sample_tables, name):
    rows, published = TABLE_ROWS[name]
    script = (sample_tables.folder() / "report/data/summary_0.js").read_text("ascii")
    notices = {entry["name"]: entry["notices"] for entry in value_of(script)["datasets"]}
    assert any(f"{rows} of {published:,} rows of the published" in note for note in notices[name])


@pytest.mark.parametrize(
    ("changes", "is_marked"),
    [
        ({"samples": 1272}, False),
        ({"samples": 1270, "left_out": 2}, False),
        ({"samples": 1273}, True),
        ({"samples": 501, "mode": "mobile"}, False),
        ({"samples": 20, "limit": 20}, False),
        ({"samples": 12}, True),
    ],
)
def test_rows_that_are_not_those_published_are_marked(tmp_path, changes, is_marked):
    annotations = {"file": "ScreenSpot-v2", "md5": "0"}
    run_at(tmp_path, "T20260101_Gaa", **{"mode": "all", "annotations": annotations, **changes})
    row = page_of(tmp_path).rows[2]
    assert ("‡" in row[2], "1 warning" in row[1]) == (is_marked, is_marked)
    page = (tmp_path / "index.html").read_text("utf-8")
    reason = re.search(r'class="odd" title="[^"]* of the published files">', page)
    assert (reason is not None) == is_marked


def test_odd_folders_and_broken_manifests_hide_no_run(tmp_path):
    run_at(tmp_path, "T20260101_Gaa")
    for text in ("{", "[]", '{"datasets": [1]}', '{"datasets": {"x": 3}, "asking": 1}'):
        folder = tmp_path / "odd" / f"T20260101_G{abs(hash(text))}"
        folder.mkdir(parents=True)
        (folder / "manifest.json").write_text(text)
    (tmp_path / "comparisons" / "empty").mkdir(parents=True)
    (tmp_path / "a file").write_text("")
    (tmp_path / "link").symlink_to(tmp_path / "m")
    assert len(listed_runs(tmp_path)) == 5
    assert page_of(tmp_path).rows[2:]


def test_the_folder_of_a_model_may_be_a_link_to_another_disk(tmp_path):
    run_at(tmp_path / "other disk", "T20260101_Gaa")
    work_dir = tmp_path / "out"
    work_dir.mkdir()
    (work_dir / "m").symlink_to(tmp_path / "other disk" / "m")
    assert [run.folder for run in listed_runs(work_dir)] == ["m/T20260101_Gaa"]


def test_markup_is_text_in_every_field(tmp_path):
    run = run_at(tmp_path, "T20260101_Gaa")
    manifest = json.loads((run / "manifest.json").read_text())
    entry = data_set(level=BAD, figures={BAD: cell(1.0), "basic": cell(2.0)})
    manifest.update(model=BAD, datasets={BAD: entry})
    (run / "manifest.json").write_text(json.dumps(manifest))
    page = page_of(tmp_path)
    assert page.tags.count("script") == 1 and "img" not in page.tags
    assert page.rows[2][0].startswith("<script>alert(1)</script>\"'><img")
    [policy] = re.findall(
        r'Content-Security-Policy" content="([^"]*)"', (tmp_path / "index.html").read_text("utf-8")
    )
    assert "default-src 'none'; style-src 'sha256-" in policy and "unsafe" not in policy


@pytest.fixture
def open_list(browser, tmp_path):
    """Opens the list of the runs in this test's folder."""
    with tabs_of(browser) as open_:
        yield lambda **settings: open_(tmp_path / "index.html", **settings)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(tmp_path, open_list, scheme):
    for hours, changes in enumerate(
        (
            {},
            {"partial": True},
            {"missing": 3},
            {"figures": None},
            {"log_later_s": 1000 * HOUR_S - 9},
        )
    ):
        run_at(tmp_path, f"T20260101_G{hours}", hours=hours, **changes)
    write_index(tmp_path)
    tab = open_list(color_scheme=scheme)
    assert tab.findings() == []


@pytest.mark.parametrize("width", [1400, 1920])
def test_the_columns_of_four_levels_fit_a_wide_window(tmp_path, open_list, width):
    run = run_at(tmp_path, "T20260101_Gaa", partial=True, model="some-model-of-7b-instruct")
    manifest = json.loads((run / "manifest.json").read_text())
    options = {name: cell(50.0) for name in ("easy", "medium", "hard", "overall")}
    episodes = {name: cell(100.0) for name in ("SR 15", "EQA 15")}
    manifest["datasets"] |= {
        L1: data_set(level="L1", figures=options),
        "GUITaskAutomation": data_set(level="L3", figures=episodes, warnings=12),
        "GUITaskCollaboration": data_set(level="L4", figures=episodes),
    }
    (run / "manifest.json").write_text(json.dumps(manifest))
    write_index(tmp_path)
    tab = open_list(viewport={"width": width, "height": 900})
    box = "document.querySelector('.wide')"
    assert tab.run(f"{box}.scrollWidth - {box}.clientWidth") == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_phone_each_run_says_the_main_things_without_scrolling_sideways(
    tmp_path, open_list, scheme
):
    run_at(tmp_path, "T20260101_G0", model="a-model-with-a-rather-long-name-7b-instruct")
    run_at(tmp_path, "T20260101_G1", hours=1, figures=None)
    write_index(tmp_path)
    tab = open_list(viewport=PHONE, color_scheme=scheme)
    assert tab.run(
        "[document.documentElement, document.querySelector('.wide')].map((e) => e.scrollWidth)"
    ) == [390, 390]
    rows = [row.inner_text().split() for row in tab.page.locator("#runs tbody tr").all()]
    labels = tab.run(
        "getComputedStyle(document.querySelector('#runs tbody .lead'), '::before').content"
    )
    assert tab.findings() == []
    assert [row[0][:7] for row in rows] == ["m", "a-model"]
    assert ("whole" in rows[1], labels) == (True, '"L2 "')


def test_runs_without_a_score_sort_below_those_that_have_one(tmp_path, open_list):
    low = {name: cell(5.0) for name in ("basic", "advanced", "average")}
    run_at(tmp_path, "T20260101_Ga", model="low", figures=low)
    run_at(tmp_path, "T20260101_Gb", model="lost", figures={}, statuses={"ok": 1, "failed": 99})
    run_at(tmp_path, "T20260101_Gc", model="high")
    write_index(tmp_path)
    tab = open_list()
    tab.page.click("#runs button:text('average')")
    models = tab.texts("#runs tbody th")
    assert [model.partition("T2026")[0] for model in models] == ["high", "low", "lost"]


def test_where_replies_were_lost_after_they_came_there_is_no_score_anywhere(tmp_path):
    with MockServer(right_answers) as server:
        stage = Stage.make(tmp_path, server)
        stage.module("def post(response, model, processor, **kwargs):\n    raise ValueError\n")
        result = stage.evaluate(
            {"m": {**API, "postprocess_function": "mymodel.post"}},
            data={L2: {"mode": "all"}},
            env={"SKIP_ERR": "1"},
        )
    assert "no score: " in result.stdout
    expected = "no score: 6 of 6 samples have no answer"
    assert page_of(stage.work_dir).rows[2][2:-3] == [expected]
    run = load_run(stage.folder())
    assert run.figures == {"L2": {}} and f"L2: {expected}" in str(run)
    [compared] = read_runs([stage.folder()])
    assert compared.sets[L2].doubts[0].endswith("samples have no answer")


def test_two_thousand_runs_are_listed_and_searched(tmp_path, open_list):
    for number in range(2000):
        run_at(tmp_path, f"T20260101_G{number}", hours=number % 900, model=f"m{number % 40}")
    write_index(tmp_path)
    tab = open_list()
    tab.page.fill("#find", "m7 whole")
    assert tab.run("document.querySelectorAll('#runs tbody tr:not([hidden])').length") == 50
    tab.page.click("#runs button:text('basic')")


def test_runs_that_end_at_once_leave_a_whole_page_with_all_of_them(tmp_path):
    def end(number):
        run_at(tmp_path, f"T20260101_G{number}", hours=number)
        write_index(tmp_path)

    threads = [threading.Thread(target=end, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    text = (tmp_path / "index.html").read_text("utf-8")
    assert len(Page(text).rows) == 14 and text.rstrip().endswith("</html>")
    assert [path.name for path in tmp_path.glob(".index.*.tmp")] == []


def test_each_run_writes_it_with_links_to_its_report_and_to_the_comparison(tmp_path):
    with MockServer(right_answers) as server:
        stage = Stage.make(tmp_path, server)
        alone = stage.evaluate({"m": API})
        result = stage.evaluate({"a": API, "b": API}, "--limit", "4")
    index = stage.work_dir / "index.html"
    assert alone.stdout.splitlines()[-2] == f"All runs: {index.as_uri()}"
    comparison = stage.work_dir / "comparisons" / "a_vs_b_partial" / "comparison.html"
    assert result.stdout.splitlines()[-2:] == [
        f"All runs: {index.as_uri()}",
        f"Comparison: {comparison.as_uri()}",
    ]
    page = Page(index.read_text("utf-8"))
    assert [row[1] for row in page.rows[2:]] == ["partial", "partial", "whole"]
    assert [row[2] for row in page.rows[2:]] == ["100.00‡", "100.00‡", "100.00"]
    assert len(page.links) == 8
    back = f'href="{os.path.relpath(index, comparison.parent)}"'
    assert back in comparison.read_text("utf-8")
    assert [link for link in page.links if not (stage.work_dir / link).exists()] == []
    assert {L1, L2} <= {word for row in page.rows[:1] for head in row for word in head.split()}
