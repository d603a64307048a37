"""More than two runs: one table, sorted by score, tests corrected for all pairs."""

import re

import pytest

from tests.support.browser import DESKTOP, PHONE, Tab
from tests.support.finished import L1, L2, l1_set, l2_set, make_run
from utils.analysis.paired import holm
from utils.comparing.pairing import FEW_RUNS, compare
from utils.comparing.ranking import rankings_of
from utils.comparing.runs import read_runs
from utils.comparing.words import WIDTH, as_text
from utils.datasets.published import read_published
from utils.findings import Finding, Severity
from utils.pages.comparison import write_page

HITS = {"middle": "x." * 20, "worst": "." * 38 + "xx", "best": "x" * 38 + "..", "same": "x." * 20}


def folders_of(home, hits, levels=(L2,), **more):
    make = {L1: l1_set, L2: l2_set}
    return [
        make_run(
            home / name / "T20260101_Gaa",
            {level: make[level](marks, len(marks)) for level in levels},
            model=name,
            **more,
        )
        for name, marks in hits.items()
    ]


def compared(home, hits=HITS, levels=(L2,), **how):
    return compare(read_runs(folders_of(home, hits, levels)), **how)


def test_runs_are_sorted_by_score_with_their_difference_from_the_first_one_named(tmp_path):
    [ranking] = rankings_of(compared(tmp_path))
    assert (ranking.baseline, ranking.board.main) == ("middle", "average")
    assert [run.row.name for run in ranking.runs] == ["best", "middle", "same", "worst"]
    points = [run.difference and round(run.difference.points[0], 1) for run in ranking.runs]
    assert points == [45.0, None, 0.0, -45.0]


@pytest.mark.parametrize("all_pairs", [False, True])
def test_p_values_are_corrected_for_all_pairs_that_were_tested(tmp_path, all_pairs):
    result = compared(tmp_path, all_pairs=all_pairs)
    tests = [pair.main for pair in result.pairs]
    assert len(tests) == (6 if all_pairs else 3)
    assert [test.p_value for test in tests] == holm([test.paired.p_value for test in tests])
    [ranking] = rankings_of(result)
    counts = {run.row.name: (run.better_than, run.worse_than) for run in ranking.runs}
    if all_pairs:
        assert counts == {"best": (3, 0), "middle": (1, 1), "same": (1, 1), "worst": (0, 3)}
    assert ranking.has_all_pairs == all_pairs


def test_the_console_has_one_table_for_each_data_set_and_no_block_for_a_pair(tmp_path):
    lines = as_text(compared(tmp_path, levels=(L1, L2)), flips=5).splitlines()
    assert lines[0] == f"L1 {L1} · accuracy in %, sorted by overall; A is middle"
    assert [line.split()[1] for line in lines if re.match(r" ?\d+ ", line)] == [
        *("best", "middle", "same", "worst"),
        *("best", "middle", "same", "worst"),
    ]
    assert not any("right," in line or "baseline" in line for line in lines)
    [row] = [line for line in lines if line.startswith(" 4 worst")][1:]
    assert re.fullmatch(
        r" 4 worst +5\.00 +5\.00 +5\.00 +\S+–\S+ +-45\.0 \[-\S+, -\S+\] +<0\.001", row
    )
    assert "  40 samples in common" in lines


def test_what_audits_say_against_a_run_and_other_samples_are_said_once_below_the_table(tmp_path):
    doubt = Finding("l2.frame", Severity.WARNING, "the frame is doubtful", topic=L2)
    folders = folders_of(tmp_path / "1", {"a": HITS["middle"], "b": HITS["best"]})
    folders += folders_of(tmp_path / "2", {"c": "x" * 30}, findings={"frames": [doubt]})
    notes = rankings_of(compare(read_runs(folders)))[0].notes
    assert "b: 40 samples in common" in notes and "c: 10 samples only in a" in notes
    assert sum("the frame is doubtful" in note for note in notes) == 1


def test_fifty_models_are_fifty_lines_of_a_console_and_few_pairs_have_samples(tmp_path):
    hits = {f"model-{n:02}": "x" * (n + 1) + "." * (59 - n) for n in range(50)}
    runs = read_runs(folders_of(tmp_path, hits))
    text = as_text(compare(runs, published=read_published()), flips=5)
    assert sum(bool(re.match(r"[ \d]\d model-\d\d", line)) for line in text.splitlines()) == 50
    assert max(map(len, text.splitlines())) <= WIDTH
    some = compare(runs[: FEW_RUNS + 1], all_pairs=True)
    with_samples = {pair.baseline for pair in some.pairs if pair.samples}
    assert with_samples == {"model-00"} and len(some.pairs) == 21
    assert all(pair.main is not None for pair in some.pairs)


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_fifty_models_fit_one_screen(browser, tmp_path, viewport, scheme):
    hits = {f"a-model-with-a-name-{n:02}": "x" * (n + 1) + "." * (59 - n) for n in range(50)}
    page = write_page(compared(tmp_path / "runs", hits, (L1, L2)), tmp_path / "out")
    tab = Tab(browser, page, viewport=viewport, color_scheme=scheme)
    rows = tab.run(
        "[...document.querySelectorAll('.ranking tbody tr')].map((row) => row.textContent)"
    )
    assert len(rows) == 50 and rows[0].startswith("1a-model-with-a-name-49")
    bottom = tab.run("document.querySelector('.ranking').getBoundingClientRect().bottom")
    if viewport == DESKTOP:
        assert bottom <= DESKTOP["height"]
    assert tab.run("document.documentElement.scrollWidth") == viewport["width"]
    tab.page.click(".ranking a:text-is('a-model-with-a-name-30')")
    tab.settle()
    assert tab.run("location.hash") == "#/overview?pair=30"
    assert tab.run("document.querySelector('.runs').getBoundingClientRect().top") < 200
    assert tab.run("document.querySelector('.chosen').textContent").startswith(
        "20a-model-with-a-name-30"
    )
    tab.page.click(".ranking thead button >> nth=1")
    assert tab.run("document.querySelector('[aria-sort]').textContent").startswith("L2")
    assert tab.troubles == []
    tab.context.close()
