"""Every view of the report in headless Chromium: for everybody to use, and markup stays text."""

import json

import pytest

from tests.support import report_runs
from tests.support.browser import DESKTOP, PHONE
from tests.support.report_page import BAD, L1, L2
from tests.support.report_runs import l1_sample, l2_sample, make_pictures, write_samples
from utils.pages.report import build_report

VIEWS = [
    "#/overview",
    "#/samples",
    "#/samples?view=table&level=L2&q=the",
    "#/samples?q=nowhere",
    f"#/sample/{L1}/0",
    f"#/sample/{L2}/0",
    f"#/sample/{L2}/3",
    "help",
]


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(open_tab, scheme, viewport):
    tab = open_tab(color_scheme=scheme, viewport=viewport)
    violations = {}
    for view in VIEWS:
        if view == "help":
            tab.press("h")
        else:
            tab.go(view)
        violations[view] = tab.findings()
    assert violations == {view: [] for view in VIEWS}


BAD_NAME = "<img src=x onerror=alert(3)>"  # without the slash that a file name may not have
KEPT = {
    "status",
    "verdict",
    "hit",
    "image",
    "index",
    "box_frac",
    "point_frac",
    "chosen",
    "attempts",
}


def spoilt(value):
    """The same with markup in every text, in names, too."""
    if isinstance(value, str):
        return f"{value} {BAD}"
    if isinstance(value, dict):
        return {spoilt(name): spoilt(item) for name, item in value.items()}
    return [spoilt(item) for item in value] if isinstance(value, list) else value


def spoilt_sample(facts):
    """Markup in every field that a model, a data set or a user can fill."""
    changes = {
        "index": f"{facts['index']} {BAD}",
        "raw": BAD,
        "reasoning": BAD,
        "check": [BAD],
        "extra": BAD,
    }
    changes["chosen"] = BAD if facts.get("options") else None
    changes["error"] = {"class": BAD, "message": BAD}
    changes["prompt"] = [
        {name: spoilt(item) for name, item in part.items()} for part in facts["prompt"]
    ]
    return {name: item if name in KEPT else spoilt(item) for name, item in facts.items()} | changes


@pytest.fixture(scope="module")
def spoilt_report(tmp_path_factory):
    home = tmp_path_factory.mktemp("spoilt")
    image = f"os_web/{BAD_NAME}.png"
    make_pictures(home / "images", [image])
    run, model = home / "out" / "m" / f"T1_{BAD_NAME}", f"model {BAD_NAME}"
    failed = {"verdict": None, "status": "failed", "point_frac": None}
    l1 = [l1_sample(0, image), l1_sample(1, image, verdict="unparsed")]
    l2 = [l2_sample(0, image), l2_sample(1, image, **failed)]
    questions = write_samples(run, L1, map(spoilt_sample, l1), model=model)
    report_runs.write_rotations(questions, [spoilt_sample(facts) for facts in l1])
    write_samples(run, L2, map(spoilt_sample, l2), model=model)
    analysis = {
        "anatomy": spoilt(
            {
                "title": "T",
                "rows": [{"name": "n", "share": 1.5, "samples": 2, "said": "x"}],
                "notes": ["n"],
                "warnings": ["w"],
                "more": {"a": "b"},
            }
        )
    }
    for section in report_runs.analysis_of_l2().items():
        analysis |= [section] if section[0] in ("table", "averages") else []
    analysis["groups"] = {BAD: {BAD: report_runs.cell(40.0)}}
    report_runs.write_analysis(run, L2, analysis, model=model)
    (run / "manifest.json").write_text(
        json.dumps(spoilt({"versions": {"torch": "2"}, "list": ["a"]}))
    )
    return build_report(run, image_root=home / "images", cache=home / "cache")


def test_markup_in_any_field_stays_text_in_every_view(open_tab, spoilt_report):
    tab = open_tab(spoilt_report)
    addresses = tab.run("Report.store.addresses.map((_, row) => Report.store.sampleLink(row, {}))")
    check = tab.run(
        "Report.store.listLink({ check: Report.store.values('check')[0], view: 'table' })"
    )
    count = 0
    for view in [
        "#/overview",
        "#/samples",
        "#/samples?view=table",
        "#/samples?q=%3Cscript%3E",
        check,
        *addresses,
    ]:
        tab.go(view)
        tab.run("for (const each of document.querySelectorAll('details')) each.open = true")
        tab.settle()
        count += tab.run("document.querySelector('main:not([hidden])').innerText").count("alert(")
        forbidden = "script:not([src]), img:not([src^='pictures/']), [onerror]"
        assert (
            tab.run(
                "(made) => [...document.querySelectorAll(made)].map((e) => e.outerHTML)", forbidden
            )
            == []
        )
    assert len(addresses) == 4
    tab.go(addresses[0])
    assert len(tab.texts(".rotations li")) == 3
    assert count > 100
