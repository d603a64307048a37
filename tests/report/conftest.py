"""A report, and tabs in which it is open."""

import pytest

from tests.support.browser import need_browser, tabs_of
from tests.support.report_page import build_page


@pytest.fixture(scope="package")
def browser():
    """One for all pages of this room."""
    with need_browser().open_browser() as opened:
        yield opened


@pytest.fixture(scope="session")
def report(tmp_path_factory):
    return build_page(tmp_path_factory.mktemp("report"))


@pytest.fixture
def open_tab(browser, report):
    """Opens a page, by default the report."""
    with tabs_of(browser) as open_:
        yield lambda path=report, **settings: open_(path, **settings)
