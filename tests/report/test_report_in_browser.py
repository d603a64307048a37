"""The report page in headless Chromium, opened from disk as a user opens it."""

from __future__ import annotations

import math
import re
import shutil

import pytest

from tests.support import report_runs
from tests.support.browser import DESKTOP, PHONE, Tab, need_browser
from tests.support.report_runs import L1, L2, l1_sample, l2_sample, make_pictures, write_samples
from utils.report.build import build_report
from utils.scoring.scorer import FAILED_TEXT

WH = {
    "os_web/pic0.png": (400, 300),
    "os_windows/pic0.png": (1920, 1080),
    "os_ios/tall.png": (300, 640),
}
IMAGES = list(WH)
BAD = "<script>alert(1)</script><img src=x onerror=alert(2)>"
BOX, POINT = [0.251, 0.1458, 0.2708, 0.1792], [0.6214, 0.3593]
FAR_PX = math.hypot((POINT[0] - BOX[2]) * 1920, (POINT[1] - BOX[3]) * 1080)
SIZE_PX = math.hypot((BOX[2] - BOX[0]) * 1920, (BOX[3] - BOX[1]) * 1080)
L2_SAMPLES = [
    l2_sample(0, "os_windows/pic0.png", box_frac=BOX, point_frac=POINT, file_wh=[1920, 1080],
              text="Delete the picture", kind="icon", prediction=f"click {BAD}", raw=f"raw {BAD}", reasoning=f"so {BAD}"),
    l2_sample(1, "os_web/pic0.png", verdict="hit", point_frac=[0.2, 0.3], text="Open the basket", kind="text",
              split="advanced", prediction="(0.2, 0.3)"),
    l2_sample(2, "os_ios/tall.png", verdict="unparsed", point_frac=None, text=f"Wrapped {BAD}", file_wh=[300, 640],
              prediction="I cannot see a zeppelin"),
    l2_sample(3, "os_web/pic0.png", verdict=None, status="failed", point_frac=None, prediction=FAILED_TEXT,
              error={"class": f"timeout {BAD}", "message": f"no answer {BAD}"}),
]  # fmt: skip
L1_SAMPLES = [
    l1_sample(0, text=f"Which is right? {BAD}", options={"A": BAD, "B": "yes", "C": "no"}),
    l1_sample(1, verdict="hit", chosen="B", prediction="B"),
    l1_sample(1, verdict="unparsed", chosen=None, prediction="hm"),  # the same index again
]


@pytest.fixture(scope="module")
def browser():
    render = need_browser()
    with render.open_browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    home = tmp_path_factory.mktemp("report")
    for name, wh in WH.items():
        make_pictures(home / "images", [name], wh)
    run, model = home / "out" / "m" / "T1_Ga", f"model {BAD}"[:12]
    write_samples(run, L1, L1_SAMPLES, model=model)
    write_samples(run, L2, L2_SAMPLES, model=model)
    analysis = report_runs.analysis_of_l2()
    analysis["coordinate_audit"]["warnings"].append(f"warned {BAD}")
    report_runs.write_analysis(run, L2, analysis, model=model)
    (run / "manifest.json").write_text('{"versions": {"torch": "<b>2.14</b>"}, "list": [1, 2]}')
    return build_report(run, image_root=home / "images", cache=home / "cache")


@pytest.fixture
def open_tab(browser, report):
    tabs = []

    def open_(path=report, **settings):
        tabs.append(Tab(browser, path, **settings))
        return tabs[-1]

    yield open_
    for tab in tabs:
        tab.context.close()
        assert tab.troubles == []


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


@pytest.mark.parametrize(("name", "value", "shown"), [
    ("dataset", L1, 3), ("platform", "os_ios", 1), ("split", "advanced", 1), ("kind", "text", 1),
    ("verdict", "unparsed", 2), ("verdict", "no answer", 1), ("status", "failed", 1),
    ("search", "basket", 1), ("search", "which is right", 1),  # an instruction, a question
    ("search", "ZEPPELIN", 1), ("search", "raw <script>", 1),  # a reply, read or as it came
    ("search", "nowhere", 0),
])  # fmt: skip
def test_a_filter_or_a_search_leaves_the_samples_that_fit(open_tab, name, value, shown):
    tab = open_tab(address="#/samples")
    assert tab.count == "7 samples"
    if name == "search":
        tab.page.fill("#search", value)
    else:
        tab.page.select_option(f"#filter-{name}", value)
        chosen = f"document.querySelector('#filter-{name}').selectedOptions[0].textContent"
        assert re.fullmatch(rf".* \({shown}\)", tab.run(chosen))
    tab.page.wait_for_function("() => document.getElementById('count').value.includes(' of ')")
    tab.settle()
    assert tab.count == f"{shown} of 7 samples"
    assert len(tab.texts(".card")) == shown
    assert tab.page.is_visible("#nothing") == (shown == 0)
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
    tab.page.keyboard.type("jk")  # letters are text here
    tab.settle()
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


def test_a_failed_request_shows_its_error_and_no_reply(open_tab):
    tab = open_tab(address=f"#/sample/{L2}/3")
    facts, blocks = tab.text("#view-sample"), tab.page.locator("#reply .block").all_inner_texts()
    assert FAILED_TEXT not in facts
    [shown] = [text for text in blocks if "timeout" in text]
    assert re.match(r"reply\s*no reply\s+Error: timeout", shown, re.IGNORECASE)
    assert "no answer <script>" in shown
    legend = tab.text("#legend")
    assert "no reply" in legend and "could be read" not in legend


@pytest.mark.parametrize("keys", ["", "1", "2", "t", "+ + +", "2 Shift+ArrowLeft Shift+ArrowUp"])
@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_target_and_click_lie_where_the_image_has_them(open_tab, keys, viewport):
    tab = open_tab(address=f"#/sample/{L2}/0", viewport=viewport)
    scale = {"1": 1, "2": 2}.get(keys[:1])
    tab.press(*keys.split())
    left, top, width, height = tab.box("#canvas img")
    if scale:
        assert (width, height) == pytest.approx((1920 * scale, 1080 * scale), abs=0.1)
    assert width / height == pytest.approx(1920 / 1080, rel=1e-3)
    x1, y1, x2, y2 = BOX
    expected = [left + x1 * width, top + y1 * height, (x2 - x1) * width, (y2 - y1) * height]
    assert tab.box("#canvas .target") == pytest.approx(expected, abs=1)
    click = [left + POINT[0] * width, top + POINT[1] * height]
    assert tab.box("#canvas .point")[:2] == pytest.approx(click, abs=1)


def test_the_wheel_zooms_at_the_pointer_and_dragging_moves_the_picture(open_tab):
    tab = open_tab(address=f"#/sample/{L2}/0")
    mouse, before = tab.page.mouse, tab.box("#canvas")
    spot = (round(before[0] + before[2] / 3), round(before[1] + before[3] / 3))

    mouse.move(*spot)
    mouse.wheel(0, -900)
    tab.settle()

    after = tab.box("#canvas")
    assert after[2] > 2 * before[2]
    for edge, side in ((0, 2), (1, 3)):  # the same place of the picture is under the pointer
        place_frac = (spot[edge] - before[edge]) / before[side]
        assert after[edge] + place_frac * after[side] == pytest.approx(spot[edge], abs=1)
    mouse.down()
    mouse.move(spot[0] + 40, spot[1] - 25, steps=3)
    mouse.up()
    moved = tab.box("#canvas")
    assert (moved[0] - after[0], moved[1] - after[1]) == pytest.approx((40, -25), abs=1)
    tab.click("#zoom-fit")
    assert tab.box("#canvas") == pytest.approx(before, abs=0.5)


@pytest.mark.parametrize(("address", "place", "texts"), [
    (f"#/sample/{L2}/0", "#view-sample", ["click <script>alert(1)", "raw <script>alert(1)", "so <script>alert(1)"]),
    (f"#/sample/{L2}/0", "#facts", [f"{FAR_PX:.0f} px from the target, {FAR_PX / SIZE_PX:.1f} target sizes"]),
    (f"#/sample/{L2}/1", "#facts", ["You are a GUI agent", "Which element matches: Open the basket", "1.25 s",
                                   "1,204", "stop", "400 × 300 px", "2026-01-02", "inside the target"]),
    (f"#/sample/{L2}/2", "#facts", ["Wrapped <script>alert(1)"]),
    (f"#/sample/{L2}/2", "#legend", ["no click could be read"]),
    (f"#/sample/{L2}/3", "#view-sample", ["timeout <script>alert(1)", "no answer <script>alert(1)"]),
    (f"#/sample/{L1}/0", "#facts", ["Which is right? <script>alert(1)"]),
])  # fmt: skip
def test_a_sample_shows_what_was_sent_what_came_back_and_markup_as_text(open_tab, address, place, texts):  # fmt: skip
    tab = open_tab(address=address)
    tab.page.wait_for_selector("#facts .block")
    tab.run(
        "for (const each of document.querySelectorAll('#view-sample details')) each.open = true"
    )
    shown = tab.text(place)
    assert [text for text in texts if text not in shown] == []
    assert tab.texts("#facts script, #facts img, #reply script, #reply img") == []


def test_options_say_which_is_right_and_which_was_chosen(open_tab):
    options = open_tab(address=f"#/sample/{L1}/0").page.locator(".options li").all_inner_texts()
    shown = [" ".join(option.split()) for option in options]
    assert shown == [f"A {BAD}", "B yes ✓ right", "C no ● chosen"]


def test_seven_thousand_samples_are_never_all_in_the_page_and_in_order_when_asked(
    open_tab, tmp_path
):
    make_pictures(tmp_path / "images", IMAGES)
    write_samples(tmp_path / "run", L2, report_runs.many_samples(7000, IMAGES))
    places = {"image_root": tmp_path / "images", "cache": tmp_path / "cache"}
    tab = open_tab(long := build_report(tmp_path / "run", **places), address="#/samples")
    seen = []
    for place in (0.0, 0.2, 0.5, 1.0):
        tab.run("(place) => { const g = document.getElementById('gallery');"
                " g.scrollTop = place * g.scrollHeight; }", place)  # fmt: skip
        tab.settle()
        seen.append(tab.run("document.querySelectorAll('*').length"))
    assert max(seen) < 1500, seen
    assert len(tab.texts('.card[aria-posinset="7000"]')) == 1
    assert tab.count == "7,000 samples"
    tab.press("Home", "End", "Enter")
    assert tab.hash == f"#/sample/{L2}/6999"

    far_px = "(row) => Report.store.distance(row, Report.store.picture(row).wh).px"
    tab = open_tab(long, address="#/samples?sort=-distance&verdict=miss")
    distances = tab.run(f"Report.gallery.rows.map({far_px})")
    assert len(distances) > 1000 and distances == sorted(distances, reverse=True)


@pytest.mark.parametrize(
    "address", ["#/overview", "#/samples", f"#/sample/{L2}/0", f"#/sample/{L1}/0"]
)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_shows_the_page_without_scrolling_sideways(open_tab, address, scheme):
    tab = open_tab(address=address, viewport=PHONE, color_scheme=scheme, has_touch=True)
    assert tab.run("document.documentElement.scrollWidth") <= 390
    ground = tab.run("getComputedStyle(document.documentElement).backgroundColor")
    assert (sum(map(int, re.findall(r"\d+", ground))) > 380) == (scheme == "light")


def test_without_images_targets_are_drawn_on_an_empty_frame(open_tab, report, tmp_path):
    run, places = tmp_path / "run", {"image_root": None, "cache": tmp_path / "cache"}
    shutil.copytree(report.parent.parent, run, ignore=shutil.ignore_patterns("report"))
    tab = open_tab(build_report(run, **places), address=f"#/sample/{L2}/0")
    assert "not found" in tab.text("#canvas")
    left, top, width, height = tab.box("#canvas")
    click = [left + POINT[0] * width, top + POINT[1] * height]
    assert tab.box("#canvas .point")[:2] == pytest.approx(click, abs=1)
    tab.press("o")
    assert "images were not found" in tab.text(".warnings")


def test_an_empty_run_says_so(open_tab, tmp_path):
    tab = open_tab(build_report(tmp_path, image_root=None, cache=tmp_path / "cache"))
    assert "No sample has been scored yet" in tab.text("#view-overview")
    tab.press("s")
    assert tab.page.is_visible("#nothing")
