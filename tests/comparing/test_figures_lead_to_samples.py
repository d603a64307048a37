"""Each figure of a comparison names the field that its samples have in common, so links need no guess."""

import json
import re

import pytest

from tests.support.finished import L1, L2, l1_set, l2_set, make_run
from tests.support.report_runs import l2_sample
from utils import PROJECT
from utils.comparing.pairing import compare
from utils.comparing.runs import read_runs
from utils.pages.comparison import write_page
from utils.pages.data_files import value_of

FILTERS = json.loads(
    re.search(
        r"const FILTERS = (\[.*?\]);",
        (PROJECT / "utils/pages/assets/comparison/pairs.js").read_text("utf-8"),
    )[1]
)
ALIKE = [  # names that several fields have
    l2_sample(0, split="basic", kind="icon", verdict="hit"),
    l2_sample(1, split="advanced", kind="text"),
    l2_sample(2, split="basic", kind="basic", image="os_ios/pic0.png"),
    l2_sample(3, split="advanced", kind="icon", image="os_ios/pic0.png", verdict="hit"),
]


def episodes(hits):
    tiers, splits = ("basic", "standard"), ("update", "basic")
    return [
        {
            **facts,
            "split": splits[number % 2],
            "tier": tiers[number // 2 % 2],
            "ended": "done",
            "steps": 2,
            "checks": [],
            "task": f"t{number}",
        }
        for number, facts in enumerate(l2_set(hits))
    ]


@pytest.mark.parametrize(
    "sets",
    [
        {L1: l1_set("x.x.x.")},
        {L2: l2_set("x..xx.x.")},
        {L1: l1_set("xx."), L2: l2_set("..xx")},
        {L2: ALIKE},
        {L2: episodes("xx..x.x.")},
        {L2: l2_set("xxxx", kind=None)},
    ],
)
def test_a_figure_is_of_the_samples_that_its_field_selects(tmp_path, sets):
    runs = read_runs([make_run(tmp_path / name / "T1", sets, model=name) for name in "ab"])
    data = write_page(compare(runs), tmp_path / "out").parent / "comparison_files/data"
    [match] = value_of((data / "summary_0.js").read_text("ascii"))["matches"]
    rows = value_of((data / "rows0_0.js").read_text("ascii"))

    def selected(dataset, field, group):
        wanted = {"dataset": dataset, **({field: group} if field else {})}
        numbers = {name: match["facets"][name].index(value) for name, value in wanted.items()}
        return sum(
            all(rows[name][row] == number for name, number in numbers.items())
            for row in range(match["count"])
        )

    figures = [
        (found["dataset"], figure)
        for found in match["sets"]
        for figure in (*found["headline"], *found["groups"])
    ]
    assert figures
    for dataset, figure in figures:
        assert figure["field"] in ("", *FILTERS)
        count = selected(dataset, figure["field"], figure["group"])
        assert count == figure["samples"], figure


def test_the_page_says_when_it_was_made_since_scores_may_be_made_anew(tmp_path):
    runs = read_runs([make_run(tmp_path / name / "T1", {L2: ALIKE}, model=name) for name in "ab"])
    data = write_page(compare(runs), tmp_path / "out").parent / "comparison_files/data"
    *_, note = value_of((data / "summary_0.js").read_text("ascii"))["notes"]
    assert re.match(r"Made on \d{4}-\d\d-\d\d \d\d:\d\d .*compare the runs again", note)
