"""The site of docs/, as a browser opens it from disk."""

import subprocess
import sys
from urllib.parse import unquote, urlsplit

import pytest

from tests.support.browser import DESKTOP, PHONE, Tab
from tests.support.runs import PROJECT

PAGES = (
    "index.html",
    "tutorials/own_model.html",
    "many_gpus.html",
    "config.html",
    "python.html",
)
HITS = "a.md-search-result__link"


class SiteTab(Tab):
    READY = "document.readyState === 'complete'"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    subprocess.run(command, cwd=PROJECT, check=True)
    return folder


@pytest.fixture
def open_tab(browser, site):
    tabs = []

    def open_(page, **settings):
        tabs.append(SiteTab(browser, site / page, **settings))
        return tabs[-1]

    yield open_
    for tab in tabs:
        tab.context.close()


def test_no_page_loads_anything_from_the_network_or_is_wider_than_a_phone(open_tab, site):
    tab = open_tab("index.html", viewport=PHONE)
    wide = []
    for path in sorted(site.rglob("*.html")):
        if path.name != "404.html":  # its addresses begin at the root of a server
            tab.page.goto(path.as_uri())
            if tab.run("document.documentElement.scrollWidth") > PHONE["width"]:
                wide.append(path.name)
    assert (tab.troubles, wide) == ([], [])


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("per mille", "scores.html"),
        ("pass@k", "scores.html"),
        ("slurm", "many_machines.html"),
        ("img_size", "config.html"),
    ],
)
def test_the_search_finds_sections_and_each_hit_opens(open_tab, site, query, expected):
    tab = open_tab("guides/lower_score.html")
    tab.click(".md-search__input")
    tab.page.keyboard.type(query)
    tab.page.locator(HITS).first.wait_for()
    addresses = [urlsplit(hit.get_attribute("href")) for hit in tab.page.locator(HITS).all()]
    for address in addresses:
        text = (site / unquote(address.path).partition(f"{site}/")[2]).read_text(encoding="utf-8")
        assert f'id="{unquote(address.fragment)}"' in text or not address.fragment
    assert expected in {address.path.rpartition("/")[2] for address in addresses}
    with tab.page.expect_navigation():
        tab.page.click(HITS)
    assert tab.page.url.startswith(site.as_uri())
    assert tab.troubles == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
@pytest.mark.parametrize("page", PAGES)
def test_axe_finds_nothing_on_the_site(open_tab, page, viewport, scheme):
    tab = open_tab(page, color_scheme=scheme, viewport=viewport)
    expected = {"light": "default", "dark": "slate"}[scheme]
    assert tab.run("document.body.dataset.mdColorScheme") == expected
    assert tab.findings() == []
