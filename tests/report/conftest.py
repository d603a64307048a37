"""A browser, a report, and tabs in which it is open."""

import pytest

from tests.support.browser import Tab, need_browser
from tests.support.report_page import build_page


@pytest.fixture(
    scope="module"
)  # Playwright runs once in a thread: others open a browser of their own
def browser():
    render = need_browser()
    with render.open_browser() as opened:
        yield opened


@pytest.fixture(scope="session")
def report(tmp_path_factory):
    return build_page(tmp_path_factory.mktemp("report"))


@pytest.fixture
def open_tab(browser, report):
    """Opens a page, by default the report; in the end no tab may have had a reason to complain."""
    tabs = []

    def open_(path=report, **settings):
        tabs.append(Tab(browser, path, **settings))
        return tabs[-1]

    yield open_
    for tab in tabs:
        tab.context.close()
        assert tab.troubles == []
