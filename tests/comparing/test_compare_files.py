"""What a comparison prints and its tables: nothing that a model says steers a terminal or turns into a formula."""

import csv
import io
import itertools
import random
import re
from dataclasses import replace

import pytest

from tests.support.clicks import SETTINGS, Model, columns_of, simulated
from tests.support.finished import L1, L2, l1_set, l2_set, make_run
from tests.support.report_runs import l1_sample
from utils.analysis.coordinate_audit import Interpretation, coordinate_audit
from utils.comparing.boards import OVERALL, Board
from utils.comparing.files import figures_csv, flips_csv, wide_csv
from utils.comparing.pairing import Comparison, compare
from utils.comparing.runs import read_runs
from utils.comparing.tables import as_latex, as_markdown
from utils.comparing.words import WIDTH, as_text, closing_text
from utils.coordinates import Frame
from utils.datasets.published import read_published
from utils.findings import warning
from utils.misc import parser_response_into_coordinates as default_parser
from utils.scoring.sheets import safe_cell
from utils.session.compare import main

EVIL = '<script>alert(1)</script> | [x](javascript:x) `y` *z*\n\n# head\n\x1b[31m"q" {{7*7}} \ud800'


def comparison(home, reply=EVIL, hits=("x..x", ".x.x"), **options):
    """Two runs on four samples, the first one's replies as given."""
    samples = l2_set(hits[0])
    for sample in samples:
        sample.update(prediction=reply, text=f"Click {reply}")
    others = [
        {**sample, "text": one["text"]}
        for sample, one in zip(l2_set(hits[1]), samples, strict=True)
    ]
    a = make_run(home / "a" / "T20260101_Gaa", {L2: samples, L1: l1_set("x.x")}, model="a<b>")
    b = make_run(home / "b" / "T20260101_Gbb", {L2: others, L1: l1_set("xxx")}, model="b")
    return compare(read_runs([a, b]), **options)


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_neither_a_reply_nor_a_models_name_can_steer_the_terminal_or_break_a_line(tmp_path):
    hostile = {"split": "ba\x1b[2Jsic", "platform": "os\x07web"}
    a = make_run(tmp_path / "a", {L2: l2_set("x.", app="x", kind="icon")}, model="a\x1b[1m")
    b = [
        {**sample, "prediction": EVIL, "text": "Click target 0.", **(hostile if n else {})}
        for n, sample in enumerate(l2_set(".x"))
    ]
    result = compare(read_runs([a, make_run(tmp_path / "b", {L2: b}, model="b\x9bm")]))
    text = as_text(result, flips=9)
    assert not [char for char in text if not char.isprintable() and char != "\n"]
    [line_of_reply] = [line for line in text.splitlines() if "<script>" in line]
    assert line_of_reply.startswith("      B: <script>")
    assert r"\x1b[31m" in line_of_reply and "head" in line_of_reply


def test_the_console_shows_as_many_flips_as_asked_for(tmp_path):
    few = as_text(comparison(tmp_path / "few", hits=("xxxx....", "....xxxx")), flips=3)
    assert (few.count("      right: box"), few.count("  and 1 more")) == (6, 2)


LONG = "organisation/a-model-with-a-name-that-says-all-of-its-sizes-72B-instruct-awq-int4-0"


def test_no_line_is_wider_than_a_console(tmp_path):
    samples = [l2_set(hits, 20) for hits in ("x.." * 20, ".xx" * 20, "xx." * 20)]
    for item in (item for of_run in samples for item in of_run):
        item.update(text="word " * 60, prediction="reply " * 200)
    folders = [
        make_run(
            tmp_path / str(n) / "T20260101_Gaa",
            {L2: item, L1: l1_set("x.x" * 20, 20)},
            model=f"m{n}",
        )
        for n, item in enumerate(samples)
    ]
    arguments = [f"{LONG}{n}={folder}" for n, folder in enumerate(folders)]
    result = compare(read_runs(arguments), all_pairs=True, published=read_published())
    for text in (as_text(result, flips=3), closing_text(result)):
        assert [line for line in text.splitlines() if len(line) > WIDTH] == []


def test_the_headline_is_the_difference_with_its_interval(tmp_path):
    sets = [l2_set(hits, 20) for hits in ("x..." * 15, "xx.x" * 15)]
    folders = [
        f"{name}={make_run(tmp_path / name, {L2: samples})}"
        for name, samples in zip(("old", "new"), sets, strict=True)
    ]
    result = compare(read_runs(folders))
    points, low, high = result.pairs[0].headline[-1].points
    assert (round(points, 1), low > 0) == (50.0, True)
    for text in (as_text(result, flips=0), closing_text(result)):
        assert f"L2 {L2} · average: new − old = +50.0 [{low:.1f}, {high:.1f}]" in text
    assert "p is corrected for all tests of groups" in as_text(result, flips=0)


def test_a_headline_names_no_runs_that_are_alike_once_they_are_cut(tmp_path):
    folders = [
        make_run(tmp_path / f"T20260101_Gab12cd34{end}", {L2: l2_set("x.x.")}, model="my-model")
        for end in ("", "_2")
    ]
    text = as_text(compare(read_runs(folders)), flips=0)
    assert f"L2 {L2} · average: B − A = 0.0" in text
    assert (
        "A: my-model (T20260101_Gab12cd34) (baseline), B: my-model (T20260101_Gab12cd34_2);" in text
    )


def test_without_an_interval_no_p_is_shown_and_the_table_of_figures_has_it(tmp_path):
    folders = [
        make_run(tmp_path / name, {L2: l2_set(hits, 12)}, model=name)
        for name, hits in (("a", "x" * 12), ("b", "x" * 12))
    ]
    result = compare(read_runs(folders))  # 12 images, 6 of each platform
    rows = [line.split() for line in as_text(result, flips=0).splitlines()]
    p_values = {row[0]: row[-4] for row in rows if row[-2:-1] == ["/"]}
    assert p_values == {"basic": "-", "advanced": "-", "average": "1.000", "iOS": "-", "Web": "-"}
    csv_rows = rows_of(figures_csv(result))
    p = [row["p_holm"] for row in csv_rows if row["group"] in ("os_ios", "os_web")]
    assert p == ["", ""]  # what is not shown is no test that others are corrected for


def test_an_audit_that_doubts_a_score_is_named_below_its_difference(tmp_path):
    model = Model(Interpretation(Frame.PER_MILLE))
    facts = simulated(random.Random(1), model, default_parser, pictures=40)
    audit = coordinate_audit(columns_of(facts), SETTINGS)
    doubt = f"read as per mille, the 134 replies with coordinates score {audit['rows'][1]['value']:.2f} %"
    doubtful = "10 of 16 letters are doubtful (10 bare)"
    other = warning("parse_audit.doubtful", doubtful, detail="set it", topic="parse audit")
    warned = {"coordinate_audit": audit["findings"], "parse_audit": [other]}
    folders = [
        make_run(tmp_path / name, {L2: l2_set(hits)}, model=name, findings=findings)
        for name, hits, findings in (("a", "xxxx", {}), ("b", "x...", warned))
    ]
    expected = [
        f"b: coordinate audit: {doubt}",
        "b: parse audit: 10 of 16 letters are doubtful (10 bare)",
    ]
    for report in ("", "; see its report"):
        if report:
            (folders[1] / "report").mkdir()
            (folders[1] / "report" / "index.html").touch()
        result = compare(read_runs(folders))
        for text in (as_text(result, flips=0), closing_text(result)):
            unwrapped = f"{' '.join(text.split())} "
            assert [line for line in expected if f"{line}{report} " not in unwrapped] == []
    alone = as_text(compare(read_runs(folders[1:]), published=read_published()), flips=0)
    assert f" b, {L2}: coordinate audit: {doubt} " in " ".join(alone.split()) + " "


def test_intervals_stand_below_their_figures(tmp_path):
    cells = [{"value": 50.0, "low": 31.52, "high": 68.48}]
    table = {"columns": ["Overall"], "rows": [{"name": "basic", "cells": cells}]}
    result = compare(
        read_runs([make_run(tmp_path / "a", {L2: l2_set("x..x..")}, tables={L2: table})])
    )
    lines = as_text(result, flips=0).splitlines()
    [number] = [number for number, line in enumerate(lines) if line.startswith("m ")]
    assert [line.split() for line in lines[number : number + 2]] == [["m", "50.00"], ["31.5–68.5"]]


def test_the_text_says_who_is_a_and_who_is_b_and_no_folder_of_this_machine(tmp_path):
    result = comparison(tmp_path)  # "a<b>" was named first
    text = as_text(result, flips=0)
    assert "A difference is B minus A" in text
    assert "\n  A: a<b> (baseline), B: b; " in text
    files = (text, figures_csv(result), flips_csv(result))
    assert not [file for file in files if str(tmp_path.parent) in file]


FORMULAS = ("=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "  =1", "\u00a0=1")
PLAIN = ("(0.5, 0.5)", "a=1", -3.5, 0)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        *((text, f"'{text}") for text in FORMULAS),
        *((value, value) for value in PLAIN),
        (None, ""),
        ("a\x00b", "a\\u0000b"),
    ],
)
def test_a_text_stays_a_text_in_a_spreadsheet_and_a_number_a_number(value, expected):
    assert safe_cell(value) == expected


def test_flips_have_both_replies_whole(tmp_path):
    long = "=" + "word " * 3000
    rows = rows_of(flips_csv(comparison(tmp_path, reply=long)))
    assert [row["right"] for row in rows if row["dataset"] == L2] == ["b", "a<b>"]
    assert (rows[-1]["baseline_reply"], rows[-1]["run_reply"]) == (f"'{long}", "reply 0 .")


def test_figures_are_numbers_with_what_they_stand_for(tmp_path):
    rows = rows_of(figures_csv(comparison(tmp_path, published=read_published())))

    def row(**values):
        [match] = [row for row in rows if values.items() <= row.items()]
        return match

    average = {"dataset": L2, "split": "average", "platform": "Overall", "kind": "accuracy"}
    own_row, published_row = row(run="b", **average), row(run="GPT-4o", **average)
    overall = row(dataset=L2, kind="difference", group="average")
    assert (float(own_row["value"]), own_row["published"]) == (50.0, "0")
    assert (published_row["value"], published_row["published"]) == ("2.87", "1")
    assert (overall["run"], overall["baseline"], overall["only_run_right"]) == ("b", "a<b>", "1")
    assert None not in {key for row in rows for key in row}  # no row is longer than the head


def paper_runs(home):
    """Three runs of which the second is the best in every column; two have odd names."""
    hits = {"a": "x..." * 10, "b_100%": "xxxx" * 10, "c|<b>*d*": "xx.." * 10}
    folders = [
        f"{name}={make_run(home / str(number), {L2: l2_set(marks, 20)})}"
        for number, (name, marks) in enumerate(hits.items())
    ]
    return compare(read_runs(folders))


@pytest.mark.parametrize("intervals", [False, True])
def test_a_table_in_markdown_has_the_best_in_bold(tmp_path, intervals):
    text = as_markdown(paper_runs(tmp_path), intervals=intervals)
    table = text.split("\n\n")[1].splitlines()
    assert text.startswith(f"### L2 {L2} (accuracy in %)\n")
    assert table[:2] == ["| model | basic | advanced | average |", "| --- | ---: | ---: | ---: |"]
    assert table[2].startswith(r"| b\_100% | **100.00**") and r"| c\|\<b>\*d\* | 50.00" in table[3]
    assert ("25.00 [1" in table[4]) == intervals
    assert text.count("###") == 4  # average, basic, advanced by platform


def test_a_table_of_a_single_run_has_no_best(tmp_path):
    both = make_run(tmp_path / "1", {L1: l1_set("x." * 9, 18), L2: l2_set("x." * 9, 18)})
    other = make_run(tmp_path / "2", {L2: l2_set("." * 18, 18)})
    text = as_markdown(compare(read_runs([f"both={both}", f"other={other}"])), intervals=False)
    of_l1, of_l2 = text.index(f"### L1 {L1}"), text.index(f"### L2 {L2}")
    assert of_l1 < of_l2
    assert "**" not in text[of_l1:of_l2] and "| both | **" in text[of_l2:]


@pytest.mark.parametrize("intervals", [False, True])
def test_a_table_in_latex_is_one_that_latex_reads(tmp_path, intervals):
    text = as_latex(paper_runs(tmp_path), intervals=intervals)
    assert r"b\_100\% & \textbf{100.00}" in text
    assert r"c\textbar{}\textless{}b\textgreater{}*d* & 50.00" in text
    assert (r"25.00 {\scriptsize [1" in text) == intervals
    assert text.count(r"\begin{table}") == text.count(r"\end{table}") == 4
    for table in re.findall(r"\\begin\{tabular\}\{(l?r+)\}(.*?)\\end", text, re.DOTALL):
        columns, body = table
        rows = [line for line in body.splitlines() if line.endswith(r"\\")]
        assert rows and all(line.count(" & ") == len(columns) - 1 for line in rows)
    depths = itertools.accumulate(
        {"{": 1, "}": -1}.get(sign, 0) for sign in re.sub(r"\\[{}]", "", text)
    )
    assert min(depths := [*depths]) == 0 == depths[-1]


def test_both_papers_write_an_interval_in_one_form_and_latex_has_labels(tmp_path):
    runs = paper_runs(tmp_path)
    form = re.compile(r"\[\d+\.\d(?:–|--)\d+\.\d\]")
    texts = [make(runs, intervals=True) for make in (as_markdown, as_latex)]
    found = [[match.replace("--", "–") for match in form.findall(text)] for text in texts]
    assert found[0] == found[1] != []
    labels = re.findall(r"\\caption\{.*\}\n  \\label\{(.*)\}", texts[1])
    assert labels == [
        "tab:guielementgrounding",
        "tab:guielementgrounding-basic",
        "tab:guielementgrounding-advanced",
        "tab:guielementgrounding-average",
    ]


@pytest.mark.parametrize(
    ("names", "heads"),
    [
        (["average"], ["average"]),
        (["average", "basic"], ["average", "basic"]),
        (["Web"], ["Web", "Web"]),  # of the rows of the score table that have it
        (["os_web", "overall"], ["Web", "Overall", "Overall", "Web", "Overall"]),
        (["ADVANCED", "iOS"], ["advanced", "iOS", "iOS"]),
        ([], None),
    ],
)
@pytest.mark.parametrize("make", [as_markdown, as_latex])
def test_tables_for_papers_have_the_columns_that_are_asked_for(tmp_path, make, names, heads):
    text = make(paper_runs(tmp_path), intervals=False, columns=names)
    lines = re.findall(r"^ *\|? ?model (.*?)(?: \||\s*\\\\)$", text, re.MULTILINE)
    columns = [name.strip() for line in lines for name in re.split(r"[|&]", line) if name.strip()]
    if heads is None:
        assert len(columns) == 10  # of three figures, and three rows of two or three columns
    else:
        assert columns == heads


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--format", "latex", "--columns", "averag"],
            '--columns: no table has "averag"; columns are "easy", "medium", "hard", "overall"',
        ),
        (["--columns", "average"], "--columns needs tables for papers"),
        (["--format", "csv", "--columns", "average"], "--columns needs tables for papers"),
    ],
)
def test_columns_that_no_table_has_are_an_error(tmp_path, capsys, options, message):
    folders = [make_run(tmp_path / name, {L1: l1_set("x..x")}, model=name) for name in "ab"]
    output = ["--output", str(tmp_path / "out")]
    assert main([*map(str, folders), *output, *options]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("changes", "notes"),
    [
        ({"protocol": "zoom"}, [f"a, {L2}: zoom, more than one request for each sample"]),
        ({"protocol": "follow-up"}, [f"a, {L2}: follow-up, more than one request for each sample"]),
        ({}, []),
    ],
)
@pytest.mark.parametrize("count", [2, 3])
def test_the_end_of_a_run_explains_its_tables_as_compare_does(tmp_path, changes, notes, count):
    folders = [
        make_run(
            tmp_path / name / "T20260101_Gaa",
            {L2: l2_set("x..x")},
            model=name,
            partial=name == "b",
            manifest={"datasets": {L2: changes if name == "a" else {}}},
        )
        for name in "abc"[:count]
    ]
    comparison = compare(read_runs(folders))
    expected = [*notes, f"b, {L2}: partial (‡), 4 samples"]
    assert list(comparison.notes) == expected
    for text in (as_text(comparison, flips=0), closing_text(comparison)):
        lines = text.splitlines()
        first = lines.index("Notes") + 1
        assert lines[first : first + len(expected)] == [f"  {note}" for note in expected]


@pytest.mark.parametrize(
    ("reply", "changes", "shown"),
    [
        ("C", {"chosen": "C"}, "C"),
        ("(C)", {"chosen": "C"}, "(C), read as: C"),
        ("I cannot tell", {"chosen": None}, "I cannot tell, read as: unparsed"),
        ("Clearly D", {"chosen": "D"}, "Clearly D, read as: D"),
        ("", {"chosen": None}, ", read as: unparsed"),
        ("word " * 40 + "C", {"chosen": "C"}, "C, read as: C"),
    ],
)
def test_a_flip_says_what_was_read_from_a_reply(tmp_path, reply, changes, shown):
    runs = []
    for name, sample in (
        ("a", l1_sample(0, prediction=reply, **changes)),
        ("b", l1_sample(0, verdict="hit", chosen="B", prediction="B")),
    ):
        runs.append(make_run(tmp_path / name / "T20260101_Gaa", {L1: [sample]}, model=name))
    lines = as_text(compare(read_runs(runs)), flips=1).splitlines()
    [of_a] = [line for line in lines if line.startswith("      A: ")]
    assert of_a.endswith(shown) and len(of_a) <= WIDTH
    assert "      B: B" in lines


def test_every_table_for_a_paper_has_a_label_of_its_own():
    names = [("My Q", ""), ("My Q", "基本"), ("My Q", "高级"), ("My Q", "2"), ("日本", "基本")]
    boards = [Board(dataset, split, dataset, ["Overall"], []) for dataset, split in names]
    text = as_latex(Comparison([], boards, [], []), intervals=False)
    assert re.findall(r"\\label\{(.*?)\}", text) == [
        "tab:my-q",
        "tab:my-q-2",
        "tab:my-q-3",
        "tab:my-q-2-2",
        "tab:table",
    ]


def test_the_wide_table_has_a_row_for_each_run_and_every_score_with_its_bounds(tmp_path):
    rows = [*csv.DictReader(io.StringIO(wide_csv(paper_runs(tmp_path))))]
    assert [row["run"] for row in rows] == ["b_100%", "c|<b>*d*", "a"]
    worst = rows[-1]
    assert float(worst[f"{L2}/average"]) == 25
    assert float(worst[f"{L2}/average/low"]) < 25 < float(worst[f"{L2}/average/high"])
    assert float(worst[f"{L2}/basic/os_web"]) == 50


def test_the_wide_table_has_one_row_for_a_run_that_is_partial_in_one_data_set(tmp_path):
    sets = {L1: l1_set("x..x"), L2: l2_set("x..x")}
    runs = read_runs([make_run(tmp_path / name / "T1", sets, model=name) for name in "ab"])
    partial = replace(
        runs[1], sets={**runs[1].sets, L2: replace(runs[1].sets[L2], is_partial=True)}
    )
    published = {
        dataset: {name: {"Other": {OVERALL: 70.0}}}
        for dataset, name in ((L1, "overall"), (L2, "average"))
    }
    published["source"] = dict.fromkeys((L1, L2), "a paper")
    comparison = compare([runs[0], partial], published=published)
    rows = rows_of(wide_csv(comparison))
    assert [(row["run"], row["mark"]) for row in rows] == [
        ("a", ""),
        ("b", "‡"),
        ("Other", "† published, not comparable"),
    ]
    for row in rows:
        assert row[f"{L1}/overall"] and row[f"{L2}/average"]


def test_tables_for_papers_are_written_where_they_are_asked_for(tmp_path):
    folders = [
        make_run(tmp_path / name, {L2: l2_set(hits)}, model=name)
        for name, hits in [("a", "x..x"), ("b", "xxx.")]
    ]
    assert (
        main(
            [
                *map(str, folders),
                "--output",
                str(tmp_path / "out"),
                "--format",
                "latex",
                "markdown",
                "--intervals",
            ]
        )
        == 0
    )
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "comparison.md",
        "comparison.tex",
    ]
    assert main([*map(str, folders), "--output", str(tmp_path / "csv"), "--format", "csv"]) == 0
    assert "comparison_wide.csv" in [path.name for path in (tmp_path / "csv").iterdir()]
