"""An episode in the report: the strip of screenshots, the action on each, keys and links."""

import datetime
import shutil

import pytest

from tests.support.browser import PHONE, Tab
from tests.support.mock_server import MockServer
from tests.support.runs import api_model
from tests.support.stage import Stage
from tests.support.standin import ENVIRONMENT, agent, middle

L3 = "GUITaskAutomation"
TWO = f"#/sample/{L3}/1"  # the red box, the green one, done


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    home = tmp_path_factory.mktemp("film")
    with MockServer(agent) as server:
        stage = Stage(
            home, server, {"m": api_model(server.url)}, {L3: {"environment": ENVIRONMENT}}
        )
        assert stage.run().code == 0
        folder = stage.folder()
    shutil.rmtree(folder / "screenshots")  # a report is whole by itself
    return folder / "report" / "index.html"


@pytest.fixture
def tab(browser, page):
    opened = Tab(browser, page, address=TWO)
    yield opened
    opened.context.close()
    assert opened.troubles == []


def shown(tab):
    """The step that is shown, as the page says it."""
    return tab.page.text_content("#reply h3")


def test_the_point_of_an_action_lies_where_it_was_done(tab):
    images = "[...document.querySelectorAll('#canvas img, #film img')]"
    tab.page.wait_for_function(f"() => {images}.every((e) => e.complete)")
    assert tab.run(f"{images}.map((e) => e.naturalWidth)") == [320] * 5
    canvas = tab.page.locator("#canvas").bounding_box()
    x, y = middle("red")
    point_px = tab.page.eval_on_selector(
        "#canvas .point", "e => [e.getBoundingClientRect().x, e.getBoundingClientRect().y]"
    )
    assert point_px == pytest.approx(
        [canvas["x"] + x * canvas["width"], canvas["y"] + y * canvas["height"]], abs=1
    )


def test_keys_go_through_the_steps_and_the_address_links_to_each(tab):
    assert shown(tab).startswith("Step 1 of 3")
    assert tab.page.text_content("#sample-title") == "L3 episode 1"
    for key, step, address in (
        (".", "Step 2 of 3", "?step=2"),
        (".", "Step 3 of 3", "?step=3"),
        (".", "End: done", "?step=4"),
        (".", "End: done", "?step=4"),
        ("Home", "Step 1 of 3", ""),
    ):
        tab.page.keyboard.press(key)
        assert shown(tab).startswith(step)
        assert tab.page.evaluate("location.hash") == TWO + address
    assert "clicked: ['red', 'green']" in tab.page.text_content("#facts .final-checks .good")


def test_episodes_succeed_or_not_and_are_no_hits(browser, page):
    for address, selector in (("#/overview", ".outcome"), ("#/samples", "#count"), (TWO, "#facts")):
        tab = Tab(browser, page, address=address)
        text = tab.page.text_content(selector)
        assert "succeeded" in text and "hit" not in text
        tab.context.close()


def test_the_list_of_episodes_speaks_of_tasks_and_categories(browser, page):
    tab = Tab(browser, page, address="#/samples?view=table")
    heads = tab.page.eval_on_selector_all(
        "[role=columnheader]", "all => all.map((e) => e.innerText.split('\\n')[0])"
    )
    assert [head.strip("▲▼ ") for head in heads] == [
        "Screen",
        "Task",
        "Answer",
        "Verdict",
        "Actions",
    ]
    assert "Category" in tab.page.inner_text("#selects")
    assert tab.texts("nav a:not([hidden])")[-1] == "Episodes"
    assert tab.text("#count").startswith("4 episodes")
    assert tab.page.title().startswith("Episodes · ")
    script = "all => all.flatMap((e) => [e.ariaLabel, e.title, e.childElementCount ? '' : e.textContent])"
    words = " ".join(
        filter(
            None,
            tab.page.eval_on_selector_all("header *, main:not(#view-overview) *, dialog *", script),
        )
    )
    assert "ample" not in words


def test_the_last_frame_says_how_the_episode_ended_and_facts_have_capitals(tab):
    assert tab.texts("#film span:not(.sr)") == ["1", "2", "3", "end ✓"]
    labels = tab.texts("#facts .pairs dt")
    assert {"Task", "Steps"} <= set(labels) and [x for x in labels if x[:1].islower()] == []


def test_an_address_opens_its_step(browser, page):
    tab = Tab(browser, page, address=f"{TWO}?step=2", viewport=PHONE)
    assert shown(tab).startswith("Step 2 of 3")
    assert tab.page.get_attribute("#film [aria-current]", "title") == "Step 2"
    assert tab.page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    assert tab.troubles == []
    tab.context.close()


def test_it_plays_to_its_end_and_stops(tab):
    tab.page.clock.install()
    tab.page.clock.pause_at(datetime.datetime.now(datetime.UTC) + datetime.timedelta(hours=1))
    tab.page.keyboard.press("p")
    assert (tab.page.text_content("#play"), shown(tab)[:6]) == ("Stop", "Step 1")
    for step in ("Step 2", "Step 3", "End: d"):
        assert tab.page.text_content("#play") == "Stop"
        tab.page.clock.run_for(1000)
        assert shown(tab)[:6] == step
    assert tab.page.text_content("#play") == "Play"


def test_the_next_sample_begins_at_its_own_first_step(tab):
    tab.page.keyboard.press("End")
    tab.page.keyboard.press("j")
    tab.page.wait_for_function(
        "() => document.querySelector('#sample-title').textContent.endsWith('2')"
    )
    assert shown(tab).startswith("Step 1 of 1")
    assert tab.page.evaluate("location.hash") == f"#/sample/{L3}/2"


def test_the_overview_says_how_episodes_end_and_lists_filter_by_it(browser, page):
    tab = Tab(browser, page, address="#/overview")
    text = tab.page.text_content("#view-overview")
    assert "How episodes end" in text and "SR 15" in text and "Category" in text
    terms = tab.page.text_content(".strip .legend-of-scores")
    assert "SR: share of the episodes" in terms and "EQA*: success rate over" in terms
    assert "false fail" in terms and "recall infeasible" not in terms  # a row that it has not
    links = tab.run(
        "[...document.querySelectorAll('.chart tr .number a')].map((a) => [a.getAttribute('href'), a.textContent])"
    )
    # Platforms, categories, and applications, of which a task may need several.
    assert len(links) > 5
    for address, text in links:
        tab.go(address)
        assert text == f"n = {tab.count.partition(' ')[0]}", address
    tab.page.evaluate("location.hash = '#/samples?ended=fail'")
    tab.page.wait_for_function(
        "() => document.querySelector('#count').textContent.startsWith('1 ')"
    )
    assert tab.troubles == []
    tab.context.close()
