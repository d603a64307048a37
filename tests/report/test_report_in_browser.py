"""The report page in headless Chromium, opened from disk as a user opens it."""

import re

import pytest

from tests.support.browser import PHONE
from tests.support.report_page import L1, L2
from utils.pages.report import build_report


@pytest.mark.parametrize(
    ("address", "selector", "text"),
    [
        (f"#/sample/{L2}/1", "#facts .instruction", "Open the basket"),
        (f"#/sample/{L1}/1", "#facts .instruction", "Question 1?"),
        (f"#/sample/{L1}/1~2", "#facts .instruction", "Question 1?"),
        ("#/overview", "#view-overview", "Coordinate audit"),
    ],
)
def test_a_link_opens_what_it_names(open_tab, address, selector, text):
    tab = open_tab(address=address)
    assert text.lower() in tab.text(selector).lower()
    assert tab.run("scrollY") == 0


def test_a_link_to_a_sample_that_does_not_exist_says_so_above_the_overview(open_tab):
    tab = open_tab(address="#/sample/Nothing/99%20b?q=x")
    assert (
        tab.text("[role=status]") == "This report has no sample Nothing/99 b; this is its overview."
    )
    assert "Coordinate audit" in tab.text("#view-overview") and tab.findings() == []
    tab.go("#/overview")
    assert not tab.page.is_visible("[role=status]")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_shows_the_page_without_scrolling_sideways(open_tab, scheme):
    tab = open_tab(viewport=PHONE, color_scheme=scheme, has_touch=True)
    for address in ("#/overview", "#/samples", f"#/sample/{L2}/0", f"#/sample/{L1}/0"):
        tab.go(address)
        assert tab.run("document.documentElement.scrollWidth") <= 390, address
    ground = tab.run("getComputedStyle(document.documentElement).backgroundColor")
    assert (sum(map(int, re.findall(r"\d+", ground))) > 380) == (scheme == "light")


def test_an_empty_run_says_so(open_tab, tmp_path):
    tab = open_tab(build_report(tmp_path, image_root=None, cache=tmp_path / "cache"))
    assert "No sample has been scored yet" in tab.text("#view-overview")
    tab.press("s")
    assert tab.page.is_visible("#nothing")
