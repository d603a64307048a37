"""A recorded step in the report: what was recorded, what each rule says, the strip of its episode."""

import pytest

from tests.steps.conftest import EPISODES, write_recorded
from tests.support.browser import DESKTOP, PHONE, tabs_of
from tests.support.mock_server import MockServer, Reply
from tests.support.stage import Stage

CORNER = {"action": "click", "coordinate": [54, 120]}
EPISODES_WITH_A_DOUBT = [
    *EPISODES,
    {
        "episode_id": 13,
        "goal": "Look at the message.",
        "is_successful": True,
        "steps": [("look at the message", {"action": "wait"}), ("look at the message", CORNER)],
    },
]


def answer(request):
    """Right when an app is to be opened; a drag to scroll, and to go back."""
    if "open the shop" in request.text:
        return Reply('Action: open_app("Shoe Shop")')
    if "scroll down" in request.text:
        return Reply("Action: drag(0.5, 0.2, 0.5, 0.8)")
    if "go back" in request.text:
        return Reply("Action: drag(0.5, 0.8, 0.5, 0.2)")
    if "look at the message" in request.text:
        return Reply("Action: click(0.99, 0.01)")
    return Reply("Action: click(0.6, 0.55)")


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    home = tmp_path_factory.mktemp("steps")
    with MockServer(answer) as server:
        stage = Stage.make(home, server, 1)
        write_recorded(stage.root, EPISODES_WITH_A_DOUBT)
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


def test_recorded_action_and_answer_have_a_colour_each_and_a_legend(browser, report):
    with tabs_of(browser) as open_tab:
        tab = open_tab(report)
        tab.go("#/sample/Steps/1")
        assert tab.texts("#legend .key") == ["accepted by os_atlas", "recorded", "answer"]
        colours = tab.run(
            "[...document.querySelectorAll('#canvas .point')]"
            ".map((point) => getComputedStyle(point, '::after').backgroundColor)"
        )
        assert len(set(colours)) == 2
        tab.page.locator("#film .mini-point.of-r").first.wait_for()


def test_a_rule_that_is_opened_shows_what_it_asks_for_and_accepts(browser, report):
    with tabs_of(browser) as open_tab:
        tab = open_tab(report)
        tab.go("#/sample/Steps/1")
        assert (
            "this rule has no box: a click is right within 0.14 of the recorded point"
            in tab.text("#legend")
        )
        before = tab.page.locator("#canvas .outline path").first.get_attribute("d")
        tab.page.locator(".rules summary", has_text="qwen").press("Enter")
        tab.page.locator("#legend .key", has_text="accepted by qwen").wait_for()
        assert "has no box" not in tab.text("#legend")
        assert tab.page.locator("#canvas .outline path").first.get_attribute("d") != before
        assert tab.page.locator(".rules details[open] p").all_inner_texts() == [
            tab.page.locator(".rules details", has_text="qwen").locator("p").inner_text()
        ]
        tab.page.locator(".meanings summary").first.press("Enter")
        assert "another type of action" in tab.text(".meanings")


def test_a_doubtful_annotation_is_marked_with_the_reason(browser, report):
    with tabs_of(browser) as open_tab:
        tab = open_tab(report)
        tab.go("#/sample/Steps/0")
        assert tab.page.locator(".doubtful").count() == 0
        tab.go("#/samples?check=Doubtful annotation: any of these")
        assert tab.count == "1 of 7 samples"
        assert tab.texts("#list .tag.odd") == ["doubtful"]
        tab.go("#/sample/Steps/6")
        assert "the instruction is that of the step before" in tab.text(".doubtful")


def test_the_list_shows_actions_and_its_filters_are_named_after_what_they_hold(browser, report):
    with tabs_of(browser) as open_tab:
        tab = open_tab(report)
        tab.go("#/samples?view=table")
        assert tab.texts("#list .of-answer code")[:2] == [
            'open_app("Shoe Shop")',
            "click(0.600, 0.550)",
        ]
        labels = tab.run(
            "[...document.querySelectorAll('#selects label')].map((l) => l.firstChild.textContent)"
        )
        assert "Action type" in labels and "Split" not in labels


def test_published_figures_are_folded_and_names_stay_in_sight(browser, report):
    with tabs_of(browser) as open_tab:
        tab = open_tab(report, viewport=PHONE)
        published = tab.page.locator("details.audit", has_text="Published figures")
        assert published.get_attribute("open") is None
        published.locator("> summary").press("Enter")
        name = published.locator("tbody th").first
        before = name.bounding_box()["x"]
        published.locator(".wide").evaluate("(wide) => { wide.scrollLeft = 200; }")
        assert name.bounding_box()["x"] == pytest.approx(before, abs=1)


def test_letters_of_marks_stay_inside_the_image(browser, report):
    with tabs_of(browser) as open_tab:
        tab = open_tab(report)
        tab.go("#/sample/Steps/6")  # the answer lies in a corner
        letter = tab.page.locator("#canvas .point.of-a b").bounding_box()
        image = tab.page.locator("#canvas").bounding_box()
        assert letter["x"] + letter["width"] <= image["x"] + image["width"]
        assert letter["y"] >= image["y"]


def test_swipes_are_arrows_of_the_finger(browser, report):
    with tabs_of(browser) as open_tab:
        tab = open_tab(report)
        tab.go("#/sample/Steps/3")  # recorded: content goes down, the finger up
        assert tab.page.locator("#canvas .swipe.of-r").count() == 1
        assert "recorded: way of the finger" in tab.texts("#legend .key")
        begin, end = (
            tab.page.locator("#canvas .swipe.of-r path")
            .first.get_attribute("d")[1:]
            .split("M")[0]
            .split("L")
        )
        assert float(begin.split()[1]) > float(end.split()[1])
        tab.go("#/sample/Steps/4")
        assert tab.page.locator("#canvas .swipe.of-a").count() == 1


def test_a_click_is_not_inside_a_box_that_the_rule_does_not_look_at(browser, report):
    with tabs_of(browser) as open_tab:
        tab = open_tab(report)
        tab.go("#/samples?dataset=Steps")
        assert "inside" not in tab.text("#list") and "px off" not in tab.text("#list")


def test_too_few_swipes_are_no_tick(browser, report):
    with tabs_of(browser) as open_tab:
        tab = open_tab(report)
        line = tab.page.locator(".check", has_text="Swipe convention").first
        assert line.locator(".sign").inner_text() == "–"


def test_a_rule_leads_to_the_steps_that_it_judges_otherwise(browser, report):
    with tabs_of(browser) as open_tab:
        tab = open_tab(report)
        tab.page.locator(".audit", has_text="under every rule").locator(
            "tr", has_text="ui_s1"
        ).get_by_role("link").click()
        tab.page.locator("#count", has_text="1").wait_for()


def test_the_list_of_all_runs_names_rule_rows_level_and_history(report):
    page = (report.parents[3] / "index.html").read_text()
    assert "rule os_atlas; rows official, level low, history none" in page


@pytest.mark.parametrize(("scheme", "viewport"), [("light", DESKTOP), ("dark", PHONE)])
def test_axe_finds_nothing_on_a_recorded_step(browser, report, scheme, viewport):
    with tabs_of(browser) as open_tab:
        tab = open_tab(report, color_scheme=scheme, viewport=viewport)
        for address in ("#/overview", "#/sample/Steps/1"):
            tab.go(address)
            assert tab.findings() == []
            assert tab.run("document.documentElement.scrollWidth") <= viewport["width"]
