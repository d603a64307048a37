"""The files of a comparison: nothing that a model or a data set says turns into markup or formula."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import re
from html.parser import HTMLParser

import pytest

from tests.support.finished import L1, L2, l1_set, l2_set, make_run
from utils.comparing.boards import read_published
from utils.comparing.files import LONGEST_REPLY, MOST_FLIPS, as_page, figures_csv, flips_csv
from utils.comparing.pairing import compare
from utils.comparing.render import as_markdown, as_text, escaped
from utils.comparing.runs import read_runs
from utils.scoring.sheets import safe_cell

EVIL = (
    '<script>alert(1)</script> | [x](javascript:x) `y` *z*\n\n# head\n\x1b[31m"q" {{ 7*7 }} \ud800'
)


def comparison(home, reply=EVIL, hits=("x..x", ".x.x"), **options):
    """Two runs on four samples, the first one's replies as given."""
    samples = l2_set(hits[0])
    for each in samples:
        each.update(prediction=reply, text=f"Click {reply}")
    others = [{**each, "text": one["text"]} for each, one in zip(l2_set(hits[1]), samples, strict=True)]  # fmt: skip
    a = make_run(home / "a" / "T20260101_Gaa", {L2: samples, L1: l1_set("x.x")}, model="a<b>")
    b = make_run(home / "b" / "T20260101_Gbb", {L2: others, L1: l1_set("xxx")}, model="b")
    return compare(read_runs([a, b]), **options)


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_neither_a_reply_nor_a_models_name_can_steer_the_terminal_or_break_a_line(tmp_path):
    odd = {"split": "ba\x1b[2Jsic", "platform": "os\x07web"}
    a = make_run(tmp_path / "a", {L2: l2_set("x.", app="x", kind="icon")}, model="a\x1b[1m")
    b = [{**each, "prediction": EVIL, "text": "Click target 0.", **(odd if n else {})}
         for n, each in enumerate(l2_set(".x"))]  # fmt: skip
    found = compare(read_runs([a, make_run(tmp_path / "b", {L2: b}, model="b\x9bm")]))

    for text in (as_text(found, flips=9), as_markdown(found)):
        assert not [char for char in text if not char.isprintable() and char != "\n"]
    shown = [line for line in as_text(found, flips=9).splitlines() if "<script>" in line]
    assert len(shown) == 1
    assert shown[0].startswith(r"      b\x9bm: <script>")
    assert r"\x1b[31m" in shown[0] and "# head" in shown[0]


def test_the_console_shows_as_many_flips_as_asked_for_and_the_page_what_it_can_show(tmp_path):
    few = as_text(comparison(tmp_path / "few", hits=("xxxx....", "....xxxx")), flips=3)
    assert (few.count("      right: box"), few.count("    and 1 more")) == (6, 2)

    hits = ("x" * (MOST_FLIPS + 5), "." * (MOST_FLIPS + 5))
    page = as_page(comparison(tmp_path, reply="word" * LONGEST_REPLY, hits=hits))
    assert page.count("<dt>truth</dt>") == MOST_FLIPS + 1  # and one of L1
    assert "and 5 more; flips.csv has all" in page
    assert f"({3 * LONGEST_REPLY} more characters)" in page


def test_intervals_stand_below_their_figures(tmp_path):
    cells = [{"value": 50.0, "low": 31.52, "high": 68.48}]
    table = {"columns": ["Overall"], "rows": [{"name": "basic", "cells": cells}]}
    found = compare(read_runs([make_run(tmp_path / "a", {L2: l2_set("x..x..")}, tables={L2: table})]))  # fmt: skip
    lines = as_text(found, flips=0).splitlines()
    [number] = [number for number, line in enumerate(lines) if line.startswith("m ")]
    assert [line.split() for line in lines[number : number + 2]] == [["m", "50.00"], ["31.5–68.5"]]
    assert "| m | 50.00<br>31.5–68.5 |" in as_markdown(found)


def test_every_output_names_the_baseline_and_whose_figures_stand_in_a_column(tmp_path):
    found = comparison(tmp_path)  # "a<b>" was named first
    text, markdown, page = as_text(found, flips=0), as_markdown(found), as_page(found)

    how = "A difference is that of a run less its baseline, the one of the two that was named first"
    assert how in text and escaped(how) in markdown and how in page
    assert "  run: b; baseline: a<b>; 4 samples in common" in text
    head = next(line for line in text.splitlines() if "McNemar*" in line)
    assert re.search(r" run  baseline  difference .* only run / only baseline right$", head)
    assert f"| b | {escaped('a<b>')} | difference |" in markdown
    assert "only b / only " + escaped("a<b>") in markdown
    assert '<th scope="col">b</th><th scope="col">a&lt;b&gt;</th>' in page
    assert "b minus a&lt;b&gt; (the baseline), in percentage points" in page
    made = [make_run(tmp_path / f"r{n}", {L2: l2_set("x.x.")}, model=f"m{n}") for n in range(3)]
    assert "  run: m2; baseline: m1; " in as_text(compare(read_runs(made), all_pairs=True), flips=0)

    files = (page, markdown, figures_csv(found), flips_csv(found))
    assert not [file for file in files if str(tmp_path.parent) in file]  # no folder of this machine


FORMULAS = ("=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "  =1", "\u00a0=1")
PLAIN = ("(0.5, 0.5)", "a=1", -3.5, 0)


@pytest.mark.parametrize(("value", "expected"), [
    *((text, f"'{text}") for text in FORMULAS), *((each, each) for each in PLAIN), (None, ""), ("a\x00b", "a\\u0000b"),
])  # fmt: skip
def test_a_text_stays_a_text_in_a_spreadsheet_and_a_number_a_number(value, expected):
    assert safe_cell(value) == expected


def test_flips_have_both_replies_whole(tmp_path):
    long = "=" + "word " * 3000
    rows = rows_of(flips_csv(comparison(tmp_path, reply=long)))
    assert [row["right"] for row in rows if row["dataset"] == L2] == ["b", "a<b>"]
    assert rows[-1]["baseline_reply"] == f"'{long}"
    assert rows[-1]["run_reply"] == "reply 0 ."


def test_figures_are_numbers_with_what_they_stand_for(tmp_path):
    rows = rows_of(figures_csv(comparison(tmp_path, published=read_published())))

    def row(**wanted):
        [found] = [row for row in rows if wanted.items() <= row.items()]
        return found

    average = {"dataset": L2, "split": "average", "platform": "Overall", "kind": "accuracy"}
    mine, theirs = row(run="b", **average), row(run="GPT-4o", **average)
    overall = row(dataset=L2, kind="difference", group="all samples")
    assert (float(mine["value"]), mine["published"]) == (50.0, "0")
    assert (theirs["value"], theirs["published"]) == ("2.87", "1")
    assert (overall["run"], overall["baseline"], overall["only_run_right"]) == ("b", "a<b>", "1")
    assert None not in {key for row in rows for key in row}  # no row is longer than the head


def test_every_row_of_a_markdown_table_has_the_cells_of_its_head(tmp_path):
    text = as_markdown(comparison(tmp_path, published=read_published()))
    tables = [block.splitlines() for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)]
    assert len(tables) >= 7
    for table in tables:
        assert {len(re.findall(r"(?<!\\)\|", row)) for row in table} == {table[0].count("|")}


@pytest.mark.parametrize("text", ["<b>", "[x](y)", "`y`", "*z*", "a|b", "# h", "http://x", "a_b_c"])
def test_markdown_finds_no_markup_in_a_text(text):
    import markdown_it

    shown = markdown_it.MarkdownIt("commonmark").render(escaped(f"a {text}"))
    inner = shown.strip().removeprefix("<p>").removesuffix("</p>")
    assert "<" not in inner
    assert inner.replace("&lt;", "<").replace("&gt;", ">") == f"a {text}"


class Elements(HTMLParser):
    """Tags, attributes and texts as a browser sees them."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.texts = [], [], []
        self.handle_data = self.texts.append
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs


def test_the_page_shows_a_reply_as_text_and_its_policy_allows_its_own_style_sheet_only(tmp_path):
    text = as_page(comparison(tmp_path))
    page = Elements(text)
    assert {"script", "b"}.isdisjoint(page.tags) and EVIL in page.texts
    assert not [name for name, _ in page.attributes if re.fullmatch("src|href|style|on.*", name)]
    [policy] = re.findall(r'Content-Security-Policy" content="([^"]*)"', text)
    [style] = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    checksum = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    allowed = f"style-src 'sha256-{checksum}'; base-uri 'none'; form-action 'none'"
    assert policy == f"default-src 'none'; {allowed}"
