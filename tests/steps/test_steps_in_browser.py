"""A recorded step in the report: what was recorded, what each rule says, the strip of its episode."""

import pytest

from tests.steps.conftest import write_recorded
from tests.support.browser import DESKTOP, PHONE, tabs_of
from tests.support.mock_server import MockServer, Reply
from tests.support.stage import Stage


def answer(request):
    """Right on the first step of each episode alone."""
    is_first = "open the shop" in request.text or "scroll down" in request.text
    replies = {True: 'Action: open_app("Shoe Shop")', False: "Action: click(0.6, 0.55)"}
    return Reply(replies[is_first])


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    home = tmp_path_factory.mktemp("steps")
    with MockServer(answer) as server:
        stage = Stage.make(home, server, 1)
        write_recorded(stage.root)
        stage.data = {"Steps": {"benchmark": "AndroidControl", "rows": "official", "level": "low"}}
        assert stage.run().code == 0
        yield stage.folder() / "report" / "index.html"


def test_a_step_has_its_card_and_the_strip_leads_to_the_others(browser, report):
    with tabs_of(browser) as open_tab:
        tab = open_tab(report)
        tab.go("#/sample/Steps/1")
        facts = tab.page.locator("#facts").inner_text()
        assert "click(0.500, 0.500)" in facts and "click(0.600, 0.550)" in facts
        assert tab.page.locator("#film li").count() == 3
        texts = tab.page.locator("#film li span:not(.sr)").all_inner_texts()
        assert texts == ["1 ✓", "2 ✓", "3 ✗"]
        tab.page.locator("#film button").nth(2).click()
        tab.page.get_by_text("type red shoe").first.wait_for()
        assert "another type" in tab.page.locator("#facts").inner_text()


def test_a_rule_leads_to_the_steps_that_it_judges_otherwise(browser, report):
    with tabs_of(browser) as open_tab:
        tab = open_tab(report)
        tab.page.locator(".audit", has_text="under every rule").locator(
            "tr", has_text="ui_s1"
        ).get_by_role("link").click()
        tab.page.locator("#count", has_text="1").wait_for()


@pytest.mark.parametrize(("scheme", "viewport"), [("light", DESKTOP), ("dark", PHONE)])
def test_axe_finds_nothing_on_a_recorded_step(browser, report, scheme, viewport):
    with tabs_of(browser) as open_tab:
        tab = open_tab(report, color_scheme=scheme, viewport=viewport)
        for address in ("#/overview", "#/sample/Steps/1"):
            tab.go(address)
            assert tab.findings() == []
            assert tab.run("document.documentElement.scrollWidth") <= viewport["width"]
