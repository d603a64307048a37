"""The first screen of a report: figures with the digits of the score file, and links to samples."""

import json
import re
import shutil
from decimal import ROUND_HALF_UP, Decimal

import pytest

from tests.support import report_runs
from tests.support.browser import DESKTOP, PHONE
from tests.support.counted_links import counted_links
from tests.support.mock_server import MockServer, Reply
from tests.support.report_runs import L1, L2, l1_sample, l2_sample, make_pictures, write_samples
from tests.support.runs import run_folder
from tests.support.stage import API, Stage
from utils.comparing.runs import read_runs
from utils.pages.report import build_report
from utils.protocol import PUBLISHED_MD5

RIGHT, WRONG = {"L1": "B", "L2": "(0.2, 0.15)"}, {"L1": "C", "L2": "(0.9, 0.9)"}


def ran(home, pictures, answer, *arguments):
    """A run of both data sets on so many pictures; its stage and what it printed."""
    home.mkdir()
    places = [(("os_web", "os_ios")[n % 2], (64 + n, 48)) for n in range(pictures)]
    with MockServer(answer) as server:
        stage = Stage.make(home, server, places)
        return stage, stage.evaluate({"m": API}, *arguments)


def report_of(stage):
    return run_folder(stage.work_dir, "m") / "report" / "index.html"


def level_of(request):
    return "L1" if "Question" in request.text else "L2"


def first(count):
    """Right answers to the samples on the first pictures, wrong ones to the others."""

    def answer(request):
        number = int(re.search(r"(?:Question|target) (\d+)", request.text)[1])
        return Reply((RIGHT if number < count else WRONG)[level_of(request)])

    return answer


def mixed(request):
    """Everything that a link of the overview may lead to: misses, thoughts, failures, JSON."""
    number = int(re.search(r"(?:Question|target) (\d+)", request.text)[1])
    if number % 12 == 5:
        return Reply(status=400, body=b"<script>alert(1)</script> refused")
    if level_of(request) == "L1":
        return Reply(
            ["B", "I think so", "Clearly (C)", "A"][number % 4],
            finish_reason="length" if number % 6 == 1 else "stop",
        )
    return Reply(["<p>200,150</p>", "<p>210,160</p>", "(0.2, 0.15)", "no idea"][number % 4])


def in_thousandths(request):
    """Clicks that are right in a frame of 1000 that the default function does not take."""
    if level_of(request) == "L1":
        number = int(re.search(r"Question (\d+)", request.text)[1])
        return Reply("B" if number else "no idea")
    return Reply("(200, 150)")


@pytest.fixture(scope="module")
def mixed_run(tmp_path_factory):
    return ran(tmp_path_factory.mktemp("mixed") / "run", 24, mixed)


def rounded(value, digits):
    exact = Decimal(str(round(value, 9)))
    return str(exact.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP))


def figures_of_scores(stage):
    """By data set, the figures of the score file as people read them."""
    l1, l2 = stage.scores(L1), stage.scores(L2)
    splits = {name: l1[name]["level_score"] for name in ("easy", "medium", "hard")}
    total = sum(splits[n] * l1[n]["level_sample_num"] for n in splits) / l1["total_sample_num"]
    names = {"basic": "Basic", "advanced": "Advanced", "average": "Average"}
    return {
        "L1": {n: rounded(100 * v, 2) for n, v in {**splits, "overall": total}.items()},
        "L2": {name: rounded(l2[f"{key} accuracy"], 2) for name, key in names.items()},
    }


def figures_of_page(tab):
    figures = {}
    for level in ("L1", "L2"):
        names = tab.texts(f".strip[data-level={level}] .figure .name")
        values = tab.texts(f".strip[data-level={level}] .figure .value a")
        figures[level] = dict(zip(names, values, strict=True))
    return figures


def rows_of_console(output):
    """Each row of the printed tables, and its intervals: name → cells."""
    lines = [line.split() for line in output.splitlines()]
    names = {"easy", "medium", "hard", "basic", "advanced", "average"}
    return {
        line[0]: (line[1:], lines[n + 1][2:] if lines[n + 1][:2] == ["95", "%"] else [])
        for n, line in enumerate(lines)
        if line and line[0] in names
    }


@pytest.mark.parametrize(
    ("pictures", "right"),
    [
        (32, 1),  # 3.125 %: half of 0.01
        (32, 29),  # 90.625 %
        (16, 5),
        (3, 2),  # 31.25 %, its share of samples half of 0.1; 66.666...
    ],
)
def test_page_and_console_have_the_digits_of_the_score_file(open_tab, tmp_path, pictures, right):
    stage, finished = ran(tmp_path / "run", pictures, first(right))
    tab = open_tab(report_of(stage))

    console, scores = rows_of_console(finished.stdout), figures_of_scores(stage)

    assert figures_of_page(tab) == scores
    for level in scores:
        for name, expected in scores[level].items():
            if name != "overall":
                assert console[name][0][-1] == expected
        rows = tab.page.locator(f".data-set:has([id=detail-{level}]) .scores tbody tr").all()
        for row in rows:
            name, *cells = (cell.inner_text().split("\n") for cell in row.locator("th, td").all())
            values, intervals = console[name[0].lower()]
            assert [cell[0] for cell in cells] == values
            assert [c[1].strip("[]") for c in cells if "[" in c[1]] == intervals
    overall = re.search(r"averages: overall (\S+)", finished.stdout)[1]
    assert overall.rstrip(",") == scores["L1"]["overall"]
    share = rounded(100 * right / pictures, 1)
    assert (
        tab.page.get_attribute(".strip[data-level=L2] .outcome .is-hit[title]", "title")
        == f"{share} %"
    )


def test_every_count_leads_to_exactly_its_samples(open_tab, mixed_run):
    stage, finished = mixed_run
    tab = open_tab(report_of(stage))
    links = counted_links(tab)

    assert finished.code == 1 and len(links) > 80
    assert {link.kind for link in links} == {
        "run-facts",
        "problems",
        "outcome",
        "figure",
        "scores",
        "chart",
        "finding",
        "plain",
        "strip",
    }
    assert [link for link in links if link.is_wrong] == []
    assert all(link.samples for link in links)


@pytest.mark.parametrize(
    "selector",
    [
        ".problems li:not(.alarm) a >> nth=0",
        ".outcome a >> nth=0",
        ".figure .value a >> nth=1",
        ".scores td a >> nth=3",
        ".chart a >> nth=0",
        ".finding a >> nth=0",
        ".run-facts a >> nth=0",
    ],
)
def test_a_click_on_a_count_opens_the_list_that_says_so(open_tab, mixed_run, selector):
    tab = open_tab(report_of(mixed_run[0]))
    href = tab.page.get_attribute(selector, "href")
    tab.click(selector)
    assert tab.page.is_visible("#view-samples") and tab.hash == href
    row_count = len(tab.run("Report.gallery.rows"))
    assert tab.count.split()[0] == str(row_count) and row_count > 0


def test_what_failed_stands_above_the_scores_with_three_examples(open_tab, mixed_run):
    tab = open_tab(report_of(mixed_run[0]))
    problems = tab.page.locator(".problems li:not(.alarm)").all()
    texts = [problem.inner_text() for problem in problems]
    assert [text.partition("\n")[0] for text in texts] == [
        "L1 6 of 72 requests were refused by the server (8.3 %)",
        "L1 12 of 72 replies are unparsed (16.7 %)",
        "L2 4 of 48 requests were refused by the server (8.3 %)",
        "L2 12 of 48 replies are unparsed (25.0 %)",
    ]
    assert [problem.locator(".examples a").count() for problem in problems] == [3] * len(problems)
    assert "<script>alert(1)</script> refused" in texts[0]
    tab.click(".problems .examples a >> nth=0")
    assert tab.page.is_visible("#view-sample") and "refused" in tab.text("#facts")


def test_where_most_requests_failed_there_is_no_score(open_tab, tmp_path):
    def answer(request):
        return Reply(status=400, body=b"no such model") if level_of(request) == "L2" else Reply("B")

    stage, finished = ran(tmp_path / "run", 3, answer)
    tab = open_tab(report_of(stage))

    strip = tab.text(".strip[data-level=L2]")
    assert "6 of 6 requests failed" in strip and "no such model" in strip
    assert tab.texts(".strip[data-level=L2] .figure") == []
    assert len(tab.texts(".data-set")) == 1 and len(tab.texts(".strip[data-level=L1] .figure")) == 4
    assert "L2 GUIElementGrounding · m · no score: 6 of 6 samples have no answer" in finished.stdout
    assert "no such model" in finished.stdout and "basic" not in finished.stdout
    tab.click(".no-score .value a")
    assert tab.count.startswith("6 of 15")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_first_screen_holds_run_scores_and_checks(open_tab, tmp_path, scheme):
    stage, _ = ran(tmp_path / "run", 12, first(7))
    tab = open_tab(report_of(stage), color_scheme=scheme)
    facts = dict(zip(tab.texts(".run-facts dt"), tab.texts(".run-facts dd"), strict=True))

    assert facts["Endpoint"].startswith("mock · 127.0.0.1:")
    assert facts["Parameters"] == "max_tokens 16 · temperature 0"
    assert facts["Data"] == "not the published files"
    assert (facts["Samples"], facts["Requests"]) == ("60 on 12 images", "60")
    assert list(facts) == [
        "Endpoint",
        "Parameters",
        "Data",
        "Date",
        "Samples",
        "Tokens",
        "Duration",
        "Requests",
    ]
    assert "L1 GUIContentUnderstanding" in tab.text(".strip >> nth=0")
    assert re.search(r"n = 12 · chance 33\.3", tab.text(".strip >> nth=0"))
    assert re.search(r"n = 24 · chance 2\.0", tab.text(".strip >> nth=1"))
    assert tab.text(".checks h2") == "7 checks, all clear"
    _, top, _, height = tab.box(".checks")
    assert top + height <= DESKTOP["height"] and tab.run("scrollY") == 0
    sizes = tab.run(
        "[...document.querySelectorAll('#view-overview *')].map((e) => parseFloat(getComputedStyle(e).fontSize))"
    )
    assert tab.run(
        "parseFloat(getComputedStyle(document.querySelector('.figure .value')).fontSize)"
    ) == max(sizes)


def test_json_replies_get_a_hint_of_their_own_on_the_first_screen(open_tab, tmp_path):
    def answer(request):
        return Reply("B" if level_of(request) == "L1" else '{"x": 0.95, "y": 0.35}')

    stage, finished = ran(tmp_path / "run", 3, answer)
    tab = open_tab(report_of(stage))
    finding = tab.text(".problems .alarm")
    assert 'in 6 replies in JSON, such as {"x": 0.95, "y": 0.35}' in finding
    assert 'data.GUIElementGrounding.parse_function: "utils.coordinates.parse_fractions"' in finding
    assert finding.partition(": ")[2][1:] in finished.stdout
    tab.click(".finding a")
    assert tab.count == "6 of 15 samples"


def test_what_makes_a_score_doubtful_stands_first_and_at_its_figure(open_tab, tmp_path):
    stage, finished = ran(tmp_path / "run", 12, in_thousandths)
    tab = open_tab(report_of(stage))
    [warned, constant] = [
        line for line in finished.stdout.splitlines() if line.startswith("warning: ")
    ]
    assert "replies with a point are the same text" in constant
    summary = warned.removeprefix(f"warning: m, {L2}: coordinate audit: ")

    first, *others = [" ".join(line.split()) for line in tab.texts(".problems li")]
    assert first == f"L2 Coordinate audit: {summary[:1].upper()}{summary[1:]}"
    assert "Constant answer" in others[0]
    assert len(others) == 2 and "are unparsed" in others[1]
    assert "parse_function" in tab.text(".problems li:first-child code >> nth=0")
    assert tab.text("#view-overview").count(summary[1:]) == 1  # not again at its check
    assert tab.page.locator(".doubt").count() == 1
    assert summary[1:] in tab.page.get_attribute(".strip[data-level=L2] .main .doubt", "title")
    for level in ("L1", "L2"):
        _, top, _, height = tab.box(f".strip[data-level={level}] .official")
        assert top + height <= DESKTOP["height"]
    tab.click(".problems li:first-child a")
    assert tab.focus == "check-L2-Coordinate-audit" and tab.hash in ("", "#/overview")
    assert tab.page.is_visible(f"#{tab.focus} table") and tab.findings() == []


@pytest.mark.parametrize("level", [L1, L2])
def test_a_run_of_one_mode_has_one_figure_which_is_the_main_one(open_tab, tmp_path, level):
    mode = {L1: "easy", L2: "basic"}[level]
    with MockServer(lambda request: Reply("A")) as server:
        stage = Stage.make(tmp_path, server, 12, kwargs={"img_size": 20})
        stage.evaluate(stage.model, data={level: {"mode": mode}})
    tab = open_tab(report_of(stage))
    assert tab.texts(".figure.main .name") == [mode] and tab.page.locator(".doubt").count() == 1
    size = "The images of 12 samples were resized before sending: 40x30 → 20x15"
    assert size in tab.text(".checks")


def test_a_liked_letter_and_replies_that_say_nothing_are_doubts_too(open_tab, tmp_path):
    stage, finished = ran(tmp_path / "run", 12, lambda request: Reply("A"))
    expected = {
        "L2 Replies": "of 24 replies are unparsed",
        "L1 Letter bias": "A is chosen more often than right (100.00 %",
    }
    tab = open_tab(report_of(stage))
    alarms = [" ".join(entry.split()) for entry in tab.texts(".problems .alarm")]
    assert [
        (name in entry, text in entry)
        for entry, (name, text) in zip(alarms, expected.items(), strict=True)
    ] == [(True, True)] * 2
    assert [text in finished.stdout for text in expected.values()] == [True] * 2
    assert tab.page.locator(".doubt").count() == 2
    tab.click(".problems .alarm a >> nth=0")
    assert tab.focus == "check-L2-Replies"
    [compared] = read_runs([stage.folder()])
    doubts = [text for entry in compared.sets.values() for text in entry.doubts]
    assert [any(text in entry for entry in doubts) for text in expected.values()] == [True] * 2


def reported(home, *, is_published):
    """A report without a run, of the published data or of others."""
    make_pictures(home / "images", ["os_web/pic0.png"])
    write_samples(home / "run", L1, [l1_sample(0)])
    write_samples(home / "run", L2, [l2_sample(0), l2_sample(1, verdict="hit")])
    report_runs.write_analysis(home / "run", L2, report_runs.analysis_of_l2())
    md5 = PUBLISHED_MD5["L2_annotations.json"] if is_published else "0" * 32
    entry = {"mode": "all", "annotations": {"file": "L2_annotations.json", "md5": md5}}
    (home / "run" / "manifest.json").write_text(json.dumps({"datasets": {L2: entry}}))
    return build_report(home / "run", image_root=home / "images", cache=home / "cache")


@pytest.mark.parametrize("is_published", [True, False])
def test_published_results_stand_beside_their_own_data_else_on_demand(
    open_tab, tmp_path, is_published
):
    tab = open_tab(reported(tmp_path, is_published=is_published))
    has_ticks = "getComputedStyle(document.querySelector('.published-tick')).display !== 'none'"
    assert tab.run(has_ticks) == is_published
    assert ("cannot be compared" in tab.text(".published-switch")) == (not is_published)
    assert not tab.page.is_visible(".ranks")

    tab.page.check(".published-switch input")

    assert tab.run(has_ticks) and tab.page.is_visible(".ranks")
    rows = tab.texts(".ranks tr")
    values = [float(re.search(r"(\d+\.\d\d)$", row)[1]) for row in rows]
    assert values == sorted(values, reverse=True) and "this run59.80" in rows
    assert "arXiv:2507.19478" in tab.text(".ranks") and any("†" in row for row in rows)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_axe_finds_nothing_with_everything_opened(open_tab, mixed_run, scheme, viewport):
    tab = open_tab(report_of(mixed_run[0]), color_scheme=scheme, viewport=viewport)
    tab.run("for (const each of document.querySelectorAll('details')) each.open = true")
    tab.page.check(".published-switch input >> nth=0")
    assert tab.findings() == []
    assert tab.run("document.documentElement.scrollWidth") <= viewport["width"]


def test_a_report_links_the_list_of_all_runs_unless_it_was_moved(report, open_tab, tmp_path):
    run = report.parents[1]
    newest = run.parent / "report"
    newest.unlink(missing_ok=True)
    newest.symlink_to(report.parent)
    shutil.copytree(report.parent, tmp_path / "report")
    for page, expected in (
        (report, True),
        (newest / "index.html", True),
        (tmp_path / "report" / "index.html", False),
    ):
        tab = open_tab(page)
        assert tab.page.is_visible("#to-all") is expected
        if expected:
            assert (
                tab.run("document.getElementById('to-all').href")
                == (run.parents[1] / "index.html").as_uri()
            )


NESTED = {
    "format": 3,
    "config": {"model": {"m": {"kwargs": {"resize": [{"factor": 32}], "stop": ["a", "b"]}}}},
    "datasets": {L2: {"figures": {"basic": {"value": 38.888888888888886, "low": 1 / 3}}}},
    "files": {f"{'long-name-' * 12}{n}.json": "9f" * 32 for n in range(30)},
    "asking": {"hardware": {"gpus": []}, "command": "python evaluate.py " + "--set a.b=c " * 30},
}


@pytest.mark.parametrize("viewport", [{"width": 1400, "height": 900}, PHONE])
def test_the_provenance_is_a_flat_list_that_fits_the_window(open_tab, tmp_path, viewport):
    write_samples(tmp_path / "run", L2, [l2_sample(0)])
    (tmp_path / "run" / "manifest.json").write_text(json.dumps(NESTED))
    page = build_report(tmp_path / "run", image_root=None, cache=tmp_path / "cache")
    tab = open_tab(page, viewport=viewport)
    tab.run("for (const each of document.querySelectorAll('details')) each.open = true")
    tab.settle()

    values = dict(
        zip(tab.texts("#provenance .paths dt"), tab.texts("#provenance .paths dd"), strict=True)
    )
    assert values["format"] == "3"
    assert values["config.model.m.kwargs.resize.0.factor"] == "32"
    assert values["config.model.m.kwargs.stop"] == "a, b"
    assert values[f"datasets.{L2}.figures.basic.value"] == "38.888888888888886"
    assert values["asking.hardware.gpus"] == "empty"
    assert len(values) == 37
    assert tab.run("document.documentElement.scrollWidth") == viewport["width"]
    lines = tab.run(
        "(path) => [...document.querySelectorAll('#provenance .paths > div')]"
        ".find((e) => e.firstChild.textContent === path).lastChild.firstChild.getClientRects().length",
        f"datasets.{L2}.figures.basic.value",
    )
    assert lines == 1


@pytest.mark.parametrize("images", [2, 12])
def test_below_the_figures_stands_what_is_drawn_there_and_no_more(open_tab, tmp_path, images):
    """Intervals are in brackets where there are any; lines of others where they are drawn."""
    table = analysis_of(images)
    write_samples(tmp_path / "run", L2, [l2_sample(0)])
    report_runs.write_analysis(tmp_path / "run", L2, table)
    page = build_report(tmp_path / "run", image_root=None, cache=tmp_path / "cache")
    tab = open_tab(page)
    legend = tab.text(".legend-of-scores")
    assert ("in brackets: 95 % interval, by image" in legend) == (images >= 10)
    assert "brown lines" not in legend and "[ ]" not in legend
    tab.click(".published-switch input")
    assert "brown lines: published results" in tab.text(".legend-of-scores")


def analysis_of(images):
    """Of L2, on so many images."""
    analysis = report_runs.analysis_of_l2()
    cells = [report_runs.cell(50.0, 40, images) for _ in range(3)]
    names = ("basic", "advanced", "average")
    rows = [{"name": name, "cells": [cell]} for name, cell in zip(names, cells, strict=True)]
    return analysis | {"table": {"title": "L2", "columns": ["Overall"], "rows": rows}}


def test_a_cut_parameter_leads_to_all_of_it(open_tab, tmp_path):
    stop = "until the last of them has been found and clicked, and not before that"
    model = {"generate_cfg": {"stop": stop}}
    write_samples(tmp_path / "run", L2, [l2_sample(0)])
    (tmp_path / "run" / "manifest.json").write_text(json.dumps({"config": {"model": {"m": model}}}))
    page = build_report(tmp_path / "run", image_root=None, cache=tmp_path / "cache")
    tab = open_tab(page)
    assert stop not in tab.text(".run-facts")
    tab.click(".run-facts a:text('all of it')")
    assert stop in tab.text("#provenance")
    assert tab.run("document.activeElement.localName") == "summary"


def test_a_long_name_has_the_whole_width_of_a_phone(open_tab, tmp_path):
    name = "a-model-with-a-long-name-" + "x" * 75
    write_samples(tmp_path / "run", L2, [l2_sample(0)], model=name)
    page = build_report(tmp_path / "run", image_root=None, cache=tmp_path / "cache")
    tab = open_tab(page, viewport=PHONE)
    assert tab.text("#model") == name
    assert tab.box("#model")[2] > 300
    assert tab.run("document.documentElement.scrollWidth") == PHONE["width"]
