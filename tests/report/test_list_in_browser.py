"""The list of samples in headless Chromium: filters, search, order, cards, table, address."""

import re

import pytest

from tests.support import report_runs
from tests.support.report_page import FAR_PX, IMAGES, L1, L2
from tests.support.report_runs import make_pictures, write_samples
from utils.pages.report import build_report
from utils.scoring.scorer import FAILED_TEXT

FOUND = (
    ("dataset", L1, 3),
    ("platform", "os_ios", 1),
    ("split", "advanced", 1),
    ("kind", "text", 1),
    ("verdict", "unparsed", 2),
    ("verdict", "no answer", 1),
    ("status", "failed", 1),
    ("search", "basket", 1),
    ("search", "which is right", 1),  # an instruction, a question
    ("search", "ZEPPELIN", 1),
    ("search", "raw <script>", 1),  # a reply, read or as it came
    ("search", "K00000002", 1),
    ("search", "nowhere", 0),
)  # a key


def test_a_filter_or_a_search_leaves_the_samples_that_fit(open_tab):
    tab = open_tab(address="#/samples")
    for name, value, expected in FOUND:
        assert tab.count == "7 samples"
        if name == "search":
            tab.page.fill("#search", value)
        else:
            tab.page.select_option(f"#filter-{name}", value)
            chosen = f"document.querySelector('#filter-{name}').selectedOptions[0].textContent"
            assert re.fullmatch(rf".* \({expected}\)", tab.run(chosen)), value
        tab.page.wait_for_function("() => document.getElementById('count').value.includes(' of ')")
        tab.settle()
        assert (tab.count, len(tab.texts(".card"))) == (f"{expected} of 7 samples", expected), value
        assert tab.page.is_visible("#nothing") == (expected == 0)
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
    tab.type("jk")  # letters are text here
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


def test_letters_that_are_typed_while_a_search_goes_on_stay(open_tab):
    tab = open_tab(address="#/samples")
    tab.hold("Report.store", "select")
    tab.page.fill("#search", "zep")
    tab.wait_until_held()
    tab.run("""() => {
      const search = document.getElementById("search");
      search.value = "zeppelin";
      search.dispatchEvent(new Event("input"));
      window.release();
    }""")
    tab.page.wait_for_function("() => location.hash.endsWith('q=zeppelin')")
    assert (tab.count, tab.page.input_value("#search")) == ("1 of 7 samples", "zeppelin")


@pytest.mark.parametrize("address", [f"#/sample/{L2}/1?q=basket", "#/samples?q=basket"])
def test_who_leaves_while_a_search_goes_on_is_not_taken_back(open_tab, address):
    tab = open_tab()
    tab.hold("Report.store", "select")
    tab.go(address)
    tab.wait_until_held()
    tab.go("#/overview")
    title = tab.page.title()
    tab.release()
    assert tab.page.is_visible("#view-overview") and tab.page.title() == title


def test_of_seven_thousand_samples_few_are_in_the_page_and_in_order(open_tab, tmp_path):
    make_pictures(tmp_path / "images", IMAGES)
    write_samples(tmp_path / "run", L2, report_runs.many_samples(7000, IMAGES))
    places = {"image_root": tmp_path / "images", "cache": tmp_path / "cache"}
    tab = open_tab(long := build_report(tmp_path / "run", **places), address="#/samples")
    titles = []
    for position in (0.0, 0.2, 0.5, 1.0):
        tab.run(
            "(place) => { const g = document.getElementById('gallery');"
            " g.scrollTop = place * g.scrollHeight; }",
            position,
        )
        tab.settle()
        titles.append(tab.run("document.querySelectorAll('*').length"))
    assert max(titles) < 1500, titles
    assert len(tab.texts('.card[aria-posinset="7000"]')) == 1
    assert tab.count == "7,000 samples"
    tab.press("Home", "End", "Enter")
    assert tab.hash == f"#/sample/{L2}/6999"

    far_px = "(row) => Report.store.distance(row, Report.store.picture(row).wh).px"
    tab = open_tab(long, address="#/samples?sort=-distance&verdict=miss")
    distances = tab.run(f"Report.gallery.rows.map({far_px})")
    assert len(distances) > 1000 and distances == sorted(distances, reverse=True)


ROUND_TRIP = [
    "#/samples?platform=os_web&platform=os_ios&verdict=miss&verdict=unparsed&sort=-text",
    "#/samples?q=click&view=table",
    f"#/samples?app=Shop&dataset={L2}&sort=distance&view=table",
    "#/samples?finish=stop&error=timeout&check=nothing",
]


@pytest.mark.parametrize("address", ROUND_TRIP)
def test_the_filter_lives_in_the_address_from_a_sample_and_after_a_reload_too(open_tab, address):
    def state():
        chosen = "#search, #order, #selects select"
        values = f"[...document.querySelectorAll('{chosen}')].map((e) => e.selectedOptions?.[0].text ?? e.value)"
        return tab.count, tab.run("Report.gallery.rows"), tab.run(values)

    tab = open_tab(address=address)
    before, path = state(), set(tab.hash.split("?")[1].split("&"))
    assert path == set(address.split("?")[1].split("&"))
    if not before[1]:
        return
    tab.press("End", "Enter")
    opened, title = tab.hash, tab.text("#sample-title")
    assert set(opened.split("?")[1].split("&")) == path
    tab.page.reload()
    tab.page.wait_for_function("() => document.documentElement.dataset.ready")
    assert (tab.hash, tab.text("#sample-title")) == (opened, title)
    tab.press("Escape")
    assert state() == before
    assert set(tab.hash.split("?")[1].split("&")) == path
    tab.page.reload()
    tab.page.wait_for_function("() => document.documentElement.dataset.ready")
    assert state() == before


def test_a_level_in_an_address_means_its_data_set_and_unknown_fields_mean_nothing(open_tab):
    tab = open_tab(address="#/samples?level=L1&colour=red")
    assert (tab.count, tab.hash) == ("3 of 7 samples", f"#/samples?dataset={L1}")
    assert tab.text(f"#filter-dataset option[value={L1}]") == "L1 (3)"


def test_what_a_link_asks_for_is_seen_where_nothing_could_be_chosen_too(open_tab):
    for address, name, chosen, count in (
        ("kind=icon&kind=nothing", "kind", "icon or nothing", "3 of 7 samples"),
        ("app=Shop", "app", "Shop (7)", "7 samples"),
        ("app=Bank", "app", "Bank", "0 of 7 samples"),
    ):
        tab = open_tab(address=f"#/samples?{address}")
        choice = tab.run(f"document.getElementById('filter-{name}').selectedOptions[0].text")
        assert (choice, tab.count) == (chosen, count)
        assert tab.page.is_visible(f"#filter-{name}") and tab.page.is_enabled("#clear")


@pytest.mark.parametrize(("view", "item"), [("", ".card"), ("&view=table", "#window .row")])
def test_an_item_says_verdict_answer_and_reply(open_tab, view, item):
    tab = open_tab(address=f"#/samples?sort=answer{view}")
    tab.settle()
    texts = {" ".join(text.split()) for text in tab.page.locator(item).all_inner_texts()}
    for parts in (
        ("miss", "chose C, right B", "Which is right?"),
        ("hit", "chose B, right B"),
        ("unparsed", "chose none, right B", "hm"),
        ("miss", f"{FAR_PX:.0f} px off", "click <script>"),
        ("hit", "inside", "(0.2, 0.3)"),
        ("unparsed", "I cannot see a zeppelin"),
        ("failed", "timeout <script>"),
    ):
        assert [text for text in texts if all(part in text for part in parts)], (parts, texts)
    assert FAILED_TEXT not in " ".join(texts)


def test_the_table_sorts_up_down_and_as_in_the_file_by_each_of_its_heads(open_tab):
    def head(name):
        tab.click(f"#head .of-{name} button")
        return tab.page.get_attribute(f"#head .of-{name}", "aria-sort"), tab.hash

    tab = open_tab(address="#/samples")
    tab.click("#as-table")
    assert [text.rstrip("▲▼") for text in tab.texts("#head button")] == [
        "Image",
        "Question",
        "Answer",
        "Verdict",
        "Reply",
    ]
    for name, first in (("image", 0), ("text", 6), ("answer", 1), ("verdict", 1), ("reply", 4)):
        assert head(name) == ("ascending", f"#/samples?view=table&sort={name}")
        assert tab.run("Report.gallery.rows[0]") == first, name
        assert head(name) == ("descending", f"#/samples?view=table&sort=-{name}")
        assert head(name) == ("none", "#/samples?view=table")
    tab.click("#head .of-text button")
    texts = tab.texts("#window .of-text .text")
    assert texts == sorted(texts, key=str.casefold)
    tab.click("#window .row:nth-child(1) .of-reply")
    assert tab.hash == f"#/sample/{L2}/3?view=table&sort=text"


def test_what_a_search_found_is_marked_in_cards_table_and_sample(open_tab):
    tab = open_tab(address="#/samples?q=ZEPPELIN")
    assert tab.texts(".card .reply mark") == ["zeppelin"]
    tab.go("#/samples?q=zeppelin&view=table")
    assert tab.texts("#window .reply mark") == ["zeppelin"]
    tab.press("Enter")
    assert tab.texts("#reply mark") == ["zeppelin"]


def test_selects_show_their_texts_whole_and_nothing_moves_when_filters_change(open_tab):
    def places():
        moving = "#filters select, #filters button, #search, #gallery, #count"
        return tab.run(
            "(s) => [...document.querySelectorAll(s)].map((e) => { const r ="
            " e.getBoundingClientRect(); return [e.id, r.left, r.top]; })",
            moving,
        )

    tab = open_tab(address="#/samples")
    before = places()
    for name, value in (("verdict", "no answer"), ("platform", "os_web")):
        tab.page.select_option(f"#filter-{name}", value)
        tab.settle()
        assert places() == before, name
    tab.press("/")
    tab.type("e")
    assert places() == before
    cut = """() => [...document.querySelectorAll('#selects select')].filter((select) => {
        const drawn = document.createElement('canvas').getContext('2d');
        drawn.font = getComputedStyle(select).font;
        const widest = Math.max(...[...select.options].filter((option) => option.text.length < 25).map((option) => drawn.measureText(option.text).width));
        return widest + 24 > select.clientWidth;
    }).map((select) => select.id)"""
    assert tab.run(cut) == []


def test_a_share_is_rounded_half_up_in_the_list_too(open_tab):
    shares = {
        (1, 16): "6.3",
        (1, 2000): "0.1",
        (1, 2001): "0.0",
        (5, 8): "62.5",
        (7, 7): "100.0",
        (0, 3): "0.0",
    }
    tab = open_tab()
    assert {pair: tab.run("(pair) => Report.shareText(...pair)", pair) for pair in shares} == shares


@pytest.mark.parametrize("width", [1100, 1280, 1400])
def test_the_answer_to_a_question_stands_in_one_line_of_the_table(open_tab, width):
    viewport = {"width": width, "height": 900}
    tab = open_tab(address=f"#/samples?dataset={L1}&view=table", viewport=viewport)
    texts = tab.texts("#window .row .letters")
    lines = tab.run(
        "[...document.querySelectorAll('#window .row .letters')].map((e) => e.getClientRects().length)"
    )
    assert "chose none, right B" in texts and lines == [1] * len(texts)
