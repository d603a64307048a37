"""The report page in headless Chromium, opened from disk as a user opens it."""

from __future__ import annotations

import re

import pytest

from tests.support.browser import PHONE
from tests.support.report_page import L1, L2
from utils.report.build import build_report


def test_the_overview_shows_scores_intervals_audits_and_provenance(open_tab):
    tab = open_tab()
    text = tab.text("#view-overview").lower()
    for expected in ("60.1", "95 % interval 50.6 to 68.2", "Windows", "48.20", "Coordinate audit", "per mille",
                     "Where the misses are", "warned <script>alert(1)", "3 samples on 1 image"):  # fmt: skip
        assert expected.lower() in text, expected
    assert tab.run("scrollY") == 0
    tab.click("#provenance summary")
    assert "<b>2.14</b>" in tab.text("#provenance")


def test_a_chart_says_its_figures_in_text_and_a_bar_leads_to_its_samples(open_tab):
    tab = open_tab()
    rows = tab.texts(".chart tbody tr")
    tab.click(".chart a:text('Windows')")

    icon = re.compile(r"Icon.*52\.3 %, 95 % interval 42\.8 to 60\.4, 40 samples on 20 images")
    assert any(map(icon.search, rows)), rows
    assert any("Under 16 px" in row and "too few images for an interval" in row for row in rows)
    assert tab.hash == f"#/samples?dataset={L2}&platform=os_windows"
    assert tab.count == "1 of 7 samples"


@pytest.mark.parametrize(("address", "place", "text"), [
    (f"#/sample/{L2}/1", "#facts .instruction", "Open the basket"),
    (f"#/sample/{L1}/1", "#facts .instruction", "Question 1?"),
    (f"#/sample/{L1}/1~2", "#facts .instruction", "Question 1?"),
    ("#/overview", "#view-overview", "Coordinate audit"),
    ("#/sample/Nothing/99", "#view-overview", "Coordinate audit"),  # an unknown one
])  # fmt: skip
def test_a_link_opens_what_it_names(open_tab, address, place, text):
    tab = open_tab(address=address)
    assert text.lower() in tab.text(place).lower()
    assert tab.run("scrollY") == 0


@pytest.mark.parametrize(
    "address", ["#/overview", "#/samples", f"#/sample/{L2}/0", f"#/sample/{L1}/0"]
)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_shows_the_page_without_scrolling_sideways(open_tab, address, scheme):
    tab = open_tab(address=address, viewport=PHONE, color_scheme=scheme, has_touch=True)
    assert tab.run("document.documentElement.scrollWidth") <= 390
    ground = tab.run("getComputedStyle(document.documentElement).backgroundColor")
    assert (sum(map(int, re.findall(r"\d+", ground))) > 380) == (scheme == "light")


def test_an_empty_run_says_so(open_tab, tmp_path):
    tab = open_tab(build_report(tmp_path, image_root=None, cache=tmp_path / "cache"))
    assert "No sample has been scored yet" in tab.text("#view-overview")
    tab.press("s")
    assert tab.page.is_visible("#nothing")
