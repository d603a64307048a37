"""The files of a report: what is in them, what never is, and that nothing depends on them."""

import json
import os
import re
import shutil
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from PIL import Image

from tests.support import report_runs
from tests.support.mock_server import MockServer
from tests.support.report_runs import L1, L2, l1_sample, l2_sample, make_pictures
from tests.support.runs import run_folder
from tests.support.stage import API, KEY, Stage, right_answers
from utils.errors import UserError
from utils.findings import as_json, warning
from utils.pages import pictures as report_pictures
from utils.pages.data_files import write_script
from utils.pages.privacy import shown_name, without_absolute_paths
from utils.pages.report import build_report
from utils.store.strict_json import to_json

TURNED = Image.Exif()
TURNED[0x0112] = 6  # orientation
IMAGES = ["os_web/pic0.png", "os_web/pic1.png", "os_ios/pic0.png"]
CALL = re.compile(r"Report\.take\(\"(\w+)\",(\d+),JSON\.parse\('(.*)'\)\);\n", re.ASCII)


def parsed(call):
    """The value in a data file, as the page would see it."""
    return json.loads(call[3].replace("\\'", "'").replace("\\\\", "\\"))


def read_script(report, name, number=0):
    call = CALL.fullmatch((report / "data" / f"{name}_{number}.js").read_text("ascii"))
    assert call and (call[1], call[2]) == (name, str(number))
    return parsed(call)


def summary(report):
    return read_script(report, "summary")


def all_text(report):
    files = [p for p in report.rglob("*") if p.suffix in (".js", ".html", ".css")]
    return "\n".join(path.read_text("utf-8") for path in files)


@pytest.fixture
def home(tmp_path):
    make_pictures(tmp_path / "images", IMAGES)
    return tmp_path


def build(home, *, image_root="images", **options):
    root = None if image_root is None else home / image_root
    cache = options.pop("cache", home / "out" / ".view_images")
    return build_report(home / "out/m/T1_Ga", image_root=root, cache=cache, **options).parent


def write_samples(home, samples, dataset=L2, **more):
    return report_runs.write_samples(home / "out/m/T1_Ga", dataset, samples, **more)


def test_a_report_holds_page_data_and_an_image_of_each_screenshot_wherever_it_is_moved(home):
    write_samples(home, [l2_sample(n, IMAGES[n % 3]) for n in range(7)])

    report = Path(shutil.move(build(home), home / "elsewhere"))

    data = summary(report)
    assert (report / "index.html").is_file()
    [outcome] = data["datasets"][0]["outcomes"]
    assert (data["samples"], outcome["name"], outcome["count"]) == (7, "miss", 7)
    assert [(p["wh"], Image.open(report / p["view"]).size) for p in data["pictures"]] == [
        ([400, 300], (400, 300))
    ] * 3
    assert not [path for path in report.rglob("*") if path.is_symlink()]
    to_all_runs = r"(\.\./)+index\.html"  # which is hidden in a report that was moved
    assert "../" not in re.sub(to_all_runs, "", all_text(report))


@pytest.mark.parametrize("small", [False, True])
@pytest.mark.parametrize("mode", ["RGBA", "P", "L", "LA", "1", "CMYK", "I;16"])
def test_an_image_of_any_mode_is_shown(home, mode, small):
    name = f"os_web/odd.{'jpg' if mode == 'CMYK' else 'png'}"
    Image.new(mode, (30, 20)).save(home / "images" / name)
    write_samples(home, [l2_sample(0, name)])
    assert summary(build(home, small_images=small))["pictures"][0]["wh"] == [30, 20]


def test_a_section_of_the_analysis_stands_in_the_report_without_being_listed(home):
    row = {"name": "closed", "count": 1, "share": 50.0, "samples": 2}
    blink = {"title": "Blink audit: eyes", "rows": [row], "at": {"closed": "1"}}
    half = warning("blink", "half of them blinked", topic="blink audit", row="closed")
    sections = {
        "blink_audit": as_json({**blink, "findings": [half]}),
        "calm_audit": {"title": "Calm audit", "rows": [row], "findings": []},
        "depth": {"title": "Depth: how far", "rows": [row]},
    }
    write_samples(home, [l2_sample(n) for n in range(2)])
    report_runs.write_analysis(home / "out/m/T1_Ga", L2, report_runs.analysis_of_l2() | sections)

    data = summary(build(home))

    checks = {section["title"]: section for section in data["checks"]}
    link = {"dataset": L2, "check": "Blink audit: closed"}
    text = "Half of them blinked"
    finding = {"text": text, "summary": text, "link": link, "is_warning": True}
    assert (checks["Blink audit"]["findings"], checks["Calm audit"]["findings"]) == ([finding], [])
    assert checks["Calm audit"]["clear"] and "Depth" not in checks
    titles = [section["title"] for section in data["datasets"][0]["details"]]
    assert titles == ["Where the misses are", "Depth"]


def test_every_sample_is_in_the_chunk_that_the_summary_says(home):
    write_samples(home, [l1_sample(n) for n in range(4)], L1)
    write_samples(home, [l2_sample(n, prediction=f"reply {n}") for n in range(4100)])
    data = summary(report := build(home))
    indexes = [*range(4), *range(4100)]

    def chunks(name):
        return [(first, read_script(report, name, n)) for n, first in enumerate(data[name])]

    assert [(d["name"], d["first"], d["samples"]) for d in data["datasets"]] == [
        (L1, 0, 4),
        (L2, 4, 4100),
    ]
    for name in ("details", "replies", "rows"):
        assert len(list((report / "data").glob(f"{name}_*.js"))) == len(data[name]) > 1
    for first, part in chunks("details"):
        assert part["samples"][0]["key"] == f"k{indexes[first]:08x}"
    for first, part in chunks("rows"):
        assert part["index"] == indexes[first : first + len(part["index"])]
    for first, part in chunks("replies")[1:]:
        assert part["prediction"][0] == f"reply {indexes[first]}"


@pytest.mark.parametrize(
    ("asked_at", "expected"),
    [
        ("2026-01-02T03:04:05.678901+00:00", "2026-01-02 04:04:05 UTC+01:00"),
        ("2026-07-02T03:04:05+00:00", "2026-07-02 05:04:05 UTC+02:00"),
        ("2026-01-02T23:59:59+00:00", "2026-01-03 00:59:59 UTC+01:00"),
        ("some day", "some day"),
        (None, None),
    ],
)
def test_a_sample_was_queried_at_a_time_of_this_machines_zone(
    home, asked_at, expected, monkeypatch
):
    write_samples(home, [l2_sample(0, asked_at=asked_at)])
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    try:
        [details] = read_script(build(home), "details")["samples"]
    finally:
        monkeypatch.undo()
        time.tzset()
    assert details["asked_at"] == expected


def test_analysis_and_manifest_are_in_the_summary_and_broken_ones_cost_themselves_only(home):
    folder = write_samples(home, [l2_sample(0)]).parent
    report_runs.write_analysis(folder, L2, report_runs.analysis_of_l2())
    (folder / "manifest.json").write_text(json.dumps({"versions": {"python": "3.11"}}))

    data = summary(build(home))
    for name in (f"m_{L2}_analysis.json", "manifest.json"):
        (folder / name).write_text('{"table": ')
    broken = summary(build(home))

    assert [figure["text"] for figure in data["datasets"][0]["figures"]] == [
        "71.40",
        "48.20",
        "59.80",
    ]
    assert data["manifest"] == {"versions": {"python": "3.11"}}
    assert (broken["datasets"][0]["figures"], broken["manifest"]) == ([], None)


def test_a_partial_run_is_marked_and_a_full_one_preferred_however_old(home):
    write_samples(home, [l2_sample(0)], partial=True)
    os.utime(write_samples(home, [l1_sample(n) for n in range(2)], L1), (1, 1))
    write_samples(home, [l1_sample(0)], L1, partial=True)
    datasets = [(d["name"], d["partial"], d["samples"]) for d in summary(build(home))["datasets"]]
    assert datasets == [(L1, False, 2), (L2, True, 1)]


def test_images_are_copies_so_that_redacting_one_leaves_the_data_set_alone(home):
    source = home / "images" / IMAGES[0]
    before = source.read_bytes()
    write_samples(home, [l2_sample(0)])
    report = build(home)
    view = report / summary(report)["pictures"][0]["view"]
    assert view.read_bytes() == before
    with view.open("r+b") as file:  # in place
        file.write(b"x" * 100)
    assert source.read_bytes() == before


@pytest.mark.parametrize(
    ("kind", "options", "small", "suffix"),
    [
        ("PNG", {}, False, ".png"),
        ("PNG", {}, True, "_1600.webp"),
        ("JPEG", {}, False, ".jpeg"),
        ("JPEG", {"exif": TURNED}, False, "_1600.webp"),
        ("PNG", {"exif": TURNED}, False, "_1600.webp"),
        ("TIFF", {}, False, "_1600.webp"),
    ],
)
def test_browsers_show_an_image_as_the_model_saw_it(kind, options, small, suffix, home):
    Image.new("RGB", (1700, 300)).save(home / "images" / IMAGES[0], kind, **options)
    write_samples(home, [l2_sample(0)])
    report = build(home, small_images=small)
    [picture] = summary(report)["pictures"]
    assert (picture["wh"], picture["view"].endswith(suffix)) == ([1700, 300], True)
    with Image.open(report / picture["view"]) as image:
        assert image.width == (1600 if suffix == "_1600.webp" else 1700)
        assert image.width > image.height and not image.getexif()


HOSTILE = "</script><script>alert(1)</script><!-- \u2028 \u2029 ' \\' \" \\u003c \ud83d \x00 `${1}`"


def test_nothing_in_a_reply_can_end_a_script_or_a_string(home):
    home.mkdir(exist_ok=True)
    write_script(home, "replies", 0, to_json({"text": HOSTILE, "__proto__": {"x": 1}}))
    script = (home / "replies_0.js").read_text("ascii")
    assert script.isascii() and script.count("\n") == 1
    assert "<" not in script and ">" not in script
    call = CALL.fullmatch(script)
    assert not re.search(r"(?<!\\)(?:\\\\)*'", call[3])
    assert parsed(call)["text"] == HOSTILE

    write_samples(
        home,
        [
            l2_sample(
                0,
                text=HOSTILE,
                prediction=HOSTILE,
                raw=HOSTILE,
                app=HOSTILE,
                error={"class": HOSTILE, "message": HOSTILE},
                point_frac=[float("nan"), float("inf")],
            )
        ],
    )
    report = build(home)
    rows = read_script(report, "rows")
    assert "<script>alert" not in all_text(report)
    assert read_script(report, "replies")["raw"] == [HOSTILE]
    assert (rows["text"], rows["point_frac"]) == ([HOSTILE], [[None, None]])  # as JSON has none


def test_no_path_of_this_machine_is_in_the_page(home, monkeypatch):
    monkeypatch.setenv("HOME", str(home / "jane"))
    monkeypatch.chdir(home)
    picture = home / "images" / IMAGES[0]
    folder = write_samples(
        home,
        [
            l2_sample(
                0, str(picture), error={"class": "OSError", "message": f"{picture}: no such file"}
            ),
            l2_sample(
                1, raw=f"Traceback\n{home / 'jane'}/model.py", reasoning=str(home / "out" / "m")
            ),
        ],
    ).parent
    config = {"model_path": "/checkpoints/big/Qwen"}
    manifest = {"config": config, "argv": [f"--work-dir={home}/out"]}
    (folder / "manifest.json").write_text(json.dumps(manifest))

    report = build(home)

    data, text = summary(report), all_text(report)
    assert not [hidden for hidden in (str(home), "jane", "/checkpoints") if hidden in text]
    assert data["manifest"]["config"]["model_path"] == "…/Qwen"
    assert data["pictures"][0]["name"] == IMAGES[0]
    assert read_script(report, "replies")["raw"][1] == "Traceback\n~/model.py"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/checkpoints/a/model", "…/model"),
        ("--config=/srv/x/c.json", "--config=…/c.json"),
        ("C:\\People\\jane\\x.json", "…/x.json"),
        ("https://host/a/b", "https://host/a/b"),
        ("os_web/pic.png", "os_web/pic.png"),
        ("1/2/3", "1/2/3"),
        ("~/x/y", "~/x/y"),
        ("a /srv/x/y b", "a …/y b"),
    ],
)
def test_an_absolute_path_keeps_its_last_name_only(text, expected):
    assert without_absolute_paths({"k": [text]}) == {"k": [expected]}


def test_an_image_outside_the_image_root_shows_two_names():
    assert (shown_name("/data/x/os_web/p.png"), shown_name("os_web/p.png")) == ("os_web/p.png",) * 2


def test_the_page_has_no_inline_code_or_style_and_a_strict_policy():
    assets = Path(report_pictures.__file__).parent / "assets"
    page = (assets / "report/index.html").read_text("utf-8")
    assert "default-src 'none'" in page and "unsafe" not in page
    assert not re.search(r"<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=|https?://", page)
    scripts = "".join(path.read_text("utf-8") for path in assets.rglob("*.js"))
    unsafe = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function"
    assert not re.search(unsafe, scripts)


@pytest.mark.parametrize("image_root", [None, "nowhere"])
def test_without_images_the_report_is_built_all_the_same(home, image_root):
    write_samples(home, [l2_sample(0), {**l2_sample(1), "image": None}])
    report = build(home, image_root=image_root)
    assert summary(report)["pictures"] == [{"name": IMAGES[0]}]
    assert not list((report / "pictures").iterdir())


def test_a_broken_image_is_left_out_and_a_changed_one_shown_as_it_is_now(home):
    broken, changed = home / "images" / IMAGES[1], home / "images" / IMAGES[0]
    broken.write_bytes(changed.read_bytes()[:90])
    write_samples(home, [l2_sample(0, IMAGES[0]), l2_sample(1, IMAGES[1])])
    before = summary(build(home))["pictures"]
    Image.new("RGB", (50, 40), (1, 2, 3)).save(changed)
    after = summary(build(home))["pictures"]

    assert ["view" in picture for picture in before] == [True, False]
    assert after[0]["view"] != before[0]["view"] and after[0]["wh"] == [50, 40]


def test_view_images_are_made_once_for_all_runs_of_a_work_dir(home):
    def report():
        write_samples(home, [l2_sample(n, IMAGES[n]) for n in range(3)])
        folder = build(home)
        return folder, {p.name: p.stat().st_mtime_ns for p in (home / "out/.view_images").iterdir()}

    _, before = report()
    shutil.move(home / "out" / "m", home / "out" / "other")
    second, after = report()
    assert len(before) == 3 and after == before
    assert len(list((second / "pictures").iterdir())) == 3


def test_threads_of_several_reports_share_a_cache(home):
    (cache := home / "cache").mkdir()
    start = threading.Barrier(4)

    def make(_):
        start.wait()
        return report_pictures.view_image(home / "images" / IMAGES[0], cache)

    with ThreadPoolExecutor(4) as pool:
        views = list(pool.map(make, range(4)))
    assert (len(set(views)), len(list(cache.iterdir()))) == (1, 1)


def test_where_files_cannot_be_linked_they_are_copied(home):
    elsewhere = Path("/dev/shm")
    if not elsewhere.is_dir() or elsewhere.stat().st_dev == home.stat().st_dev:
        pytest.skip("there is one file system only")
    write_samples(home, [l2_sample(0)])
    with TemporaryDirectory(dir=elsewhere) as cache:
        [copied] = (build(home, cache=Path(cache)) / "pictures").iterdir()
    assert Image.open(copied).size == (400, 300)


def test_a_report_that_fails_leaves_the_one_before(home):
    write_samples(home, [l2_sample(0)])
    report = build(home)
    before = all_text(report)
    write_samples(home, [l2_sample(0)], L1).write_text('{"kind":"head","format":0}\n')
    with pytest.raises(UserError, match="is not a samples file of this version"):
        build(home)
    assert all_text(report) == before
    assert not list(report.parent.glob(".*"))


@pytest.fixture
def stage(tmp_path):
    with MockServer(right_answers) as server:
        yield Stage.make(tmp_path, server)


def report_of(stage):
    return run_folder(stage.work_dir, "m") / "report"


def test_trying_some_samples_out_takes_no_full_report_away_and_none_holds_the_key(stage):
    first = stage.evaluate({"m": API})
    full = report_of(stage)
    data, text = summary(full), all_text(full)
    assert first.code == 0, first.output
    officials = re.findall(r"^official figure: (.*)$", first.stdout, re.MULTILINE)
    assert officials == ["overall (all questions)", "average (the mean of basic and advanced)"]
    assert [d["terms"] for d in summary(full)["datasets"]] == [
        [f"official figure: {official}"] for official in officials
    ]
    assert first.stdout.splitlines()[-1] == f"Report: {(full / 'index.html').as_uri()}"
    assert [(d["level"], d["samples"], d["outcomes"][0]["count"]) for d in data["datasets"]] == [
        ("L1", 9, 9),
        ("L2", 6, 6),
    ]
    assert len(list((stage.work_dir / ".view_images").iterdir())) == 3
    assert not [hidden for hidden in (KEY, str(stage.home), f"{Path.home()}/") if hidden in text]

    trial = stage.evaluate({"m": API}, "--limit", "2", "--data", L2)
    easy = stage.evaluate({"m": API}, data={L1: {"mode": "easy"}})
    reports = re.findall(
        r"^Report: file://(.*)/index.html$", trial.stdout + easy.stdout, re.MULTILINE
    )
    assert reports == [f"{full.parent}_2/report", str(full)]
    assert [d["samples"] for d in summary(Path(reports[0]))["datasets"]] == [2]
    data = summary(full)
    assert [(d["samples"], d["partial"]) for d in data["datasets"]] == [(9, False), (6, False)]
    assert (
        f"The report shows the full results of {L1}, which this run did not change" in easy.stdout
    )
    assert (
        f"The report shows an earlier scoring of {L2}, which was not scored this time"
        in easy.stdout
    )


@pytest.mark.parametrize("arguments", [("--no-report",), ("--mode", "infer")])
def test_no_report_where_none_is_wanted_one_without_images_where_gone(stage, arguments):
    finished = stage.evaluate({"m": API}, *arguments)
    assert finished.code == 0 and "Report:" not in finished.stdout
    assert not report_of(stage).exists() and not (stage.work_dir / ".view_images").exists()

    shutil.rmtree(stage.home / "data")
    finished = stage.evaluate({"m": API}, "--mode", "eval")
    assert finished.stdout.count("Report: ") == 1, finished.output
    assert not any("view" in picture for picture in summary(report_of(stage))["pictures"])


def test_a_report_that_cannot_be_written_costs_no_scores(stage):
    stage.work_dir.mkdir()
    (stage.work_dir / ".view_images").write_text("in the way")
    finished = stage.evaluate({"m": API})
    assert finished.code == 0, finished.output
    assert "Report:" not in finished.stdout and finished.stdout.count("no report") == 1
    assert "Traceback" not in finished.output
    assert stage.scores(L2)["Average accuracy"] == 100


def sections_of(home, sections, dataset=L1):
    """What the report's data say of sections of an analysis."""
    samples = [l1_sample(0)] if dataset == L1 else [l2_sample(0)]
    folder = write_samples(home, samples, dataset).parent
    report_runs.write_analysis(folder, dataset, sections)
    [data] = summary(build(home))["datasets"]
    return data


@pytest.mark.parametrize(
    ("row", "columns", "cells"),
    [
        ({"episodes": 24, "succeeded": 0}, ["episodes", "succeeded"], ["24", "0"]),
        ({"EQA": 0.0}, ["EQA"], ["0.00"]),
        ({"EQA": None}, [], []),
        ({"mean steps": 5.0, "most steps": 5}, ["mean steps", "most steps"], ["5", "5"]),
        ({"prompt tokens": 10000.0, "steps": 2.7}, ["prompt tokens", "steps"], ["10,000", "2.7"]),
        ({"share": 0.0}, ["share %"], ["0.00"]),
        ({"seconds": 0.0, "requests": 1234567.0}, ["seconds", "requests"], ["0", "1,234,567"]),
        ({"note": "", "actions": 12.25}, ["actions"], ["12.2"]),
    ],
)
def test_a_figure_of_nothing_stands_and_amounts_are_no_percentages(home, row, columns, cells):
    data = sections_of(home, {"odd": {"title": "Odd", "rows": [{"name": "one", **row}]}})
    [table] = data["details"][0]["tables"]
    assert table["columns"] == columns
    assert [cell["text"] for cell in table["rows"][0]["cells"]] == cells


def table_of(*names, **more):
    """A score table of one column."""
    cells = [report_runs.cell(40.0 + 10 * number) for number in range(len(names))]
    rows = [{"name": name, "cells": [cell]} for name, cell in zip(names, cells, strict=True)]
    return {"title": "T", "columns": ["Overall"], "rows": rows, **more}


L1_ROWS, L2_ROWS = ("easy", "medium", "hard"), ("basic", "advanced", "average")
FIELDS = {"row_field": None, "column_field": None}
TEXT_ICON = {
    "official": ["text", "icon", "average"],
    "headline": "micro over all rows",
    **FIELDS,
}
ACCURACY = {"official": ["accuracy"], "headline": "mean of splits", **FIELDS}


@pytest.mark.parametrize(
    ("table", "averages", "terms"),
    [
        (table_of(*L1_ROWS), {"overall": 50.0}, ["official figure: overall (all questions)"]),
        (
            table_of(*L2_ROWS),
            {"micro": 50.0},
            ["official figure: average (the mean of basic and advanced)"],
        ),
        (table_of("basic"), {"micro": 50.0}, []),
        (
            table_of("text", "icon", "average", **TEXT_ICON),
            {"micro over all rows": 60.0, "macro by platform": 61.0},
            [
                "official figure: average (micro over all rows)",
                "not official: macro by platform 61.00 %",
            ],
        ),
        (
            table_of("accuracy", **ACCURACY),
            {"mean of splits": 40.0, "micro over all rows": 62.5},
            [
                "official figure: accuracy (mean of splits)",
                "not official: micro over all rows 62.50 %",
            ],
        ),
    ],
)
def test_one_figure_is_called_the_official_one_by_its_name_in_the_table(
    home, table, averages, terms
):
    cells = {name: report_runs.cell(value) for name, value in averages.items()}
    assert sections_of(home, {"table": table, "averages": cells})["terms"] == terms


@pytest.mark.parametrize(
    ("judge", "expected"),
    [
        ({"overall": report_runs.cell(90.74)}, ("90.74", "81.2–98.8")),
        ({"overall": report_runs.cell(0.0, 5, 5)}, ("0.00", "")),
        ({"overall": None}, None),
        ({}, None),
        (None, None),
    ],
)
def test_the_score_with_the_judge_stands_on_the_first_screen(home, judge, expected):
    sections = {
        "table": table_of(*L1_ROWS),
        "averages": {"overall": report_runs.cell(46.3)},
        **({} if judge is None else {"judge": judge}),
    }
    judged = sections_of(home, sections)["judged"]
    assert (judged and (judged["text"], judged["range"])) == expected


def test_the_figure_of_circular_evaluation_stands_beside_the_official_one(home):
    cell = {"value": 10.0, "low": 1.2, "high": 38.0, "samples": 10, "pictures": 8}
    circular = {"title": "circular", "rows": [{"name": "Overall", "circular": cell}], "notes": []}
    table = {"title": "circular", "columns": ["circular"], "rows": []}
    score = {"table": table_of(*L1_ROWS), "averages": {"overall": report_runs.cell(46.3)}}
    sections = {**score, "circular": {**circular, "table": table}}
    figure = sections_of(home, sections)["all_orders"]
    assert (figure["text"], figure["range"]) == ("10.00", "1.2–38.0")
    assert sections_of(home, score)["all_orders"] is None
