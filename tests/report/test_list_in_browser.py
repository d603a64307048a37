"""The list of samples in headless Chromium: filters, search, order, cards, table, address."""

from __future__ import annotations

import re

import pytest

from tests.support import report_runs
from tests.support.report_page import IMAGES, L1, L2
from tests.support.report_runs import make_pictures, write_samples
from utils.report.build import build_report


@pytest.mark.parametrize(("name", "value", "shown"), [
    ("dataset", L1, 3), ("platform", "os_ios", 1), ("split", "advanced", 1), ("kind", "text", 1),
    ("verdict", "unparsed", 2), ("verdict", "no answer", 1), ("status", "failed", 1),
    ("search", "basket", 1), ("search", "which is right", 1),  # an instruction, a question
    ("search", "ZEPPELIN", 1), ("search", "raw <script>", 1),  # a reply, read or as it came
    ("search", "K00000002", 1), ("search", "nowhere", 0),  # a key
])  # fmt: skip
def test_a_filter_or_a_search_leaves_the_samples_that_fit(open_tab, name, value, shown):
    tab = open_tab(address="#/samples")
    assert tab.count == "7 samples"
    if name == "search":
        tab.page.fill("#search", value)
    else:
        tab.page.select_option(f"#filter-{name}", value)
        chosen = f"document.querySelector('#filter-{name}').selectedOptions[0].textContent"
        assert re.fullmatch(rf".* \({shown}\)", tab.run(chosen))
    tab.page.wait_for_function("() => document.getElementById('count').value.includes(' of ')")
    tab.settle()
    assert tab.count == f"{shown} of 7 samples"
    assert len(tab.texts(".card")) == shown
    assert tab.page.is_visible("#nothing") == (shown == 0)
    tab.click("#clear")
    assert tab.count == "7 samples"


def test_a_link_brings_the_filters_along_and_they_count_what_the_others_leave(open_tab):
    tab = open_tab(address=f"#/samples?dataset={L2}")
    linked = open_tab(address=f"#/samples?dataset={L2}&verdict=miss&q=delete")
    options = ["All", "", "miss (1)", "hit (1)", "unparsed (1)", "no answer (1)"]
    assert sorted(tab.texts("#filter-verdict option")) == sorted(options)
    values = [linked.page.input_value(name) for name in ("#search", "#filter-verdict")]
    assert (linked.count, values) == ("1 of 7 samples", ["delete", "miss"])


def test_the_page_can_be_used_with_the_keyboard_alone(open_tab):
    def active():
        return tab.page.get_attribute(".card[aria-selected=true]", "aria-posinset")

    tab = open_tab()
    tab.press("s", "j", "j", "ArrowRight", "k")
    descendant = tab.page.get_attribute("#list", "aria-activedescendant")
    assert (active(), descendant) == ("3", "item-2")
    tab.press("Enter")
    assert (tab.hash, tab.focus) == (f"#/sample/{L1}/1~2", "sample-title")
    tab.press("j")
    assert tab.hash == f"#/sample/{L2}/0"
    tab.press("k", "ArrowRight", "ArrowRight")
    assert tab.hash == f"#/sample/{L2}/1"
    tab.press("Escape")
    assert (tab.hash, active()) == ("#/samples", "5")
    tab.press("/")
    assert tab.focus == "search"
    tab.page.keyboard.type("jk")  # letters are text here
    tab.settle()
    assert tab.page.input_value("#search") == "jk"
    tab.press("Escape", "h")
    assert tab.page.is_visible("#help")
    tab.press("Escape")
    assert not tab.page.is_visible("#help")
    tab.press("o")
    assert tab.page.is_visible("#view-overview")

    tab = open_tab(address=f"#/samples?dataset={L2}&platform=os_web")
    tab.press("Enter", "j")  # samples follow each other as filtered
    address = f"#/sample/{L2}/3?dataset={L2}&platform=os_web"
    assert (tab.text("#position"), tab.hash) == ("2 of 2", address)
    assert tab.page.is_disabled("#next")


def test_seven_thousand_samples_are_never_all_in_the_page_and_in_order_when_asked(
    open_tab, tmp_path
):
    make_pictures(tmp_path / "images", IMAGES)
    write_samples(tmp_path / "run", L2, report_runs.many_samples(7000, IMAGES))
    places = {"image_root": tmp_path / "images", "cache": tmp_path / "cache"}
    tab = open_tab(long := build_report(tmp_path / "run", **places), address="#/samples")
    seen = []
    for place in (0.0, 0.2, 0.5, 1.0):
        tab.run("(place) => { const g = document.getElementById('gallery');"
                " g.scrollTop = place * g.scrollHeight; }", place)  # fmt: skip
        tab.settle()
        seen.append(tab.run("document.querySelectorAll('*').length"))
    assert max(seen) < 1500, seen
    assert len(tab.texts('.card[aria-posinset="7000"]')) == 1
    assert tab.count == "7,000 samples"
    tab.press("Home", "End", "Enter")
    assert tab.hash == f"#/sample/{L2}/6999"

    far_px = "(row) => Report.store.distance(row, Report.store.picture(row).wh).px"
    tab = open_tab(long, address="#/samples?sort=-distance&verdict=miss")
    distances = tab.run(f"Report.gallery.rows.map({far_px})")
    assert len(distances) > 1000 and distances == sorted(distances, reverse=True)
