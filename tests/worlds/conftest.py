"""The browser in which worlds of a file act."""

import pytest

from benchmarks.worlds.browser.browser import Chromium
from tests.support.browser import need_browser


@pytest.fixture(scope="module")
def chromium():
    """Held open from one test to the next: starting it takes longer than most of them."""
    need_browser()
    chromium = Chromium.borrow()
    yield chromium
    chromium.close()
