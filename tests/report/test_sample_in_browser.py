"""One sample in headless Chromium: its picture, what was sent, what came back."""

import io
import re
import shutil

import pytest
from PIL import Image

from tests.support.browser import DESKTOP, PHONE
from tests.support.report_page import BAD, BOX, FAR_PX, L1, L2, POINT, SIZE_PX
from tests.support.report_runs import l2_sample, make_pictures, write_samples
from utils.geometry.images import image_digest
from utils.pages.report import build_report
from utils.scoring.scorer import FAILED_TEXT


def test_a_failed_request_shows_its_error_and_no_reply(open_tab):
    tab = open_tab(address=f"#/sample/{L2}/3")
    facts, blocks = tab.text("#view-sample"), tab.page.locator("#reply .block").all_inner_texts()
    assert FAILED_TEXT not in facts
    [block] = [text for text in blocks if "timeout" in text]
    assert re.match(r"reply\s*no reply\s+Error: timeout", block, re.IGNORECASE)
    assert "no answer <script>" in block
    legend = tab.text("#legend")
    assert "no reply" in legend and "could be read" not in legend


def test_no_target_and_click_are_drawn_on_an_image_that_was_replaced(open_tab, tmp_path):
    make_pictures(tmp_path / "images", ["os_web/pic0.png"])
    samples = [
        l2_sample(0, image_digest="0123456789abcdef"),
        l2_sample(1, image_digest=image_digest(tmp_path / "images" / "os_web" / "pic0.png")),
    ]
    write_samples(tmp_path / "run", L2, samples)
    page = build_report(tmp_path / "run", image_root=tmp_path / "images", cache=tmp_path / "cache")
    tab = open_tab(page, address=f"#/sample/{L2}/0")
    assert "image was replaced since the model saw" in tab.text("#legend")
    assert not tab.texts("#canvas .target") and not tab.texts("#canvas .point")
    tab.press("j")
    assert "replaced" not in tab.text("#legend")
    assert len(tab.texts("#canvas .target")) == len(tab.texts("#canvas .point")) == 1
    tab.go("#/samples")
    assert tab.run(
        "[...document.querySelectorAll('.card')].map((c) => !!c.querySelector('.mini-box'))"
    ) == [False, True]
    assert "image replaced since" in tab.texts(".card")[0]


@pytest.mark.parametrize("keys", ["", "1", "2", "t", "+ + +", "2 Shift+ArrowLeft Shift+ArrowUp"])
@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_target_and_click_lie_where_the_image_has_them(open_tab, keys, viewport):
    tab = open_tab(address=f"#/sample/{L2}/0", viewport=viewport)
    scale = {"1": 1, "2": 2}.get(keys[:1])
    tab.press(*keys.split())
    x, y, width, height = tab.box("#canvas img")
    if scale:
        assert (width, height) == pytest.approx((1920 * scale, 1080 * scale), abs=0.1)
    assert width / height == pytest.approx(1920 / 1080, rel=1e-3)
    x1, y1, x2, y2 = BOX
    expected = [x + x1 * width, y + y1 * height, (x2 - x1) * width, (y2 - y1) * height]
    assert tab.box("#canvas .target") == pytest.approx(expected, abs=1)
    click = [x + POINT[0] * width, y + POINT[1] * height]
    assert tab.box("#canvas .point")[:2] == pytest.approx(click, abs=1)


@pytest.mark.parametrize(
    ("click", "key", "marks"),
    [
        ([0.9, 0.9], "t", [".target", ".point"]),
        ([1.4, 0.3], "t", [".target", ".point"]),
        ([3.2, 0.5], "t", [".target"]),
        ([0.9, 0.9], "2", [".target"]),
    ],
)
def test_what_is_zoomed_to_is_in_sight_wherever_the_click_went(
    open_tab, tmp_path, click, key, marks
):
    sample = l2_sample(0, box_frac=[0.1, 0.2, 0.12, 0.22], point_frac=click, file_wh=[1920, 1080])
    write_samples(tmp_path / "run", L2, [sample])
    tab = open_tab(
        build_report(tmp_path / "run", image_root=None, cache=tmp_path / "cache"),
        address=f"#/sample/{L2}/0",
    )
    outside = max(click) > 1
    assert ("click, outside the image" in tab.text("#legend")) == outside
    tab.press(key)
    x_px, y_px, width, height = tab.box("#stage")
    for mark in marks:
        x, y, *_ = tab.box(f"#canvas {mark}")
        assert x_px < x < x_px + width and y_px < y < y_px + height


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


@pytest.mark.parametrize(
    ("address", "selector", "texts"),
    [
        (
            f"#/sample/{L2}/0",
            "#view-sample",
            ["click <script>alert(1)", "raw <script>alert(1)", "so <script>alert(1)"],
        ),
        (
            f"#/sample/{L2}/0",
            "#facts",
            [f"{FAR_PX:.0f} px from the target, {FAR_PX / SIZE_PX:.1f} target sizes"],
        ),
        (
            f"#/sample/{L2}/1",
            "#facts",
            [
                "You are a GUI agent",
                "Which element matches: Open the basket",
                "1.25 s",
                "1,204",
                "stop",
                "400 × 300 px",
                "2026-01-02",
                "inside the target",
            ],
        ),
        (f"#/sample/{L2}/2", "#facts", ["Wrapped <script>alert(1)"]),
        (f"#/sample/{L2}/2", "#legend", ["no click could be read"]),
        (
            f"#/sample/{L2}/3",
            "#view-sample",
            ["timeout <script>alert(1)", "no answer <script>alert(1)"],
        ),
        (f"#/sample/{L1}/0", "#facts", ["Which is right? <script>alert(1)"]),
    ],
)
def test_a_sample_shows_what_was_sent_what_came_back_and_markup_as_text(
    open_tab, address, selector, texts
):
    tab = open_tab(address=address)
    tab.page.wait_for_selector("#facts .block")
    tab.run(
        "for (const each of document.querySelectorAll('#view-sample details')) each.open = true"
    )
    page_text = tab.text(selector)
    assert [text for text in texts if text not in page_text] == []
    assert tab.texts("#facts script, #facts img, #reply script, #reply img") == []


def test_options_say_which_is_right_and_which_was_chosen(open_tab):
    options = open_tab(address=f"#/sample/{L1}/0").page.locator(".options li").all_inner_texts()
    lines = [" ".join(option.split()) for option in options]
    assert lines == [f"A {BAD}", "B yes ✓ right", "C no ● chosen"]


def test_a_question_shows_what_was_chosen_in_each_rotation_of_its_options(open_tab):
    tab = open_tab(address=f"#/sample/{L1}/0")
    turns = tab.page.locator(".rotations li").all_inner_texts()
    lines = [" ".join(turn.split()) for turn in turns]
    assert "right in 1 of 3" in tab.text(".rotations h3")
    for turn, (verdict, right, text) in zip(
        lines, [("miss", "B", "no"), ("miss", "A", BAD), ("hit", "C", "yes")], strict=True
    ):
        assert verdict in turn and f"chose C, right {right}" in turn and text in turn, turn


def test_without_images_targets_are_drawn_on_an_empty_frame(open_tab, report, tmp_path):
    run, places = tmp_path / "run", {"image_root": None, "cache": tmp_path / "cache"}
    shutil.copytree(report.parent.parent, run, ignore=shutil.ignore_patterns("report"))
    tab = open_tab(build_report(run, **places), address=f"#/sample/{L2}/0")
    assert "missing or unreadable" in tab.text("#canvas")
    x_px, y_px, width, height = tab.box("#canvas")
    click = [x_px + POINT[0] * width, y_px + POINT[1] * height]
    assert tab.box("#canvas .point")[:2] == pytest.approx(click, abs=1)
    tab.press("o")
    assert "images were missing" in tab.text(".problems")


def swipe(tab, selector, right=0, down=0):
    """Moves one finger over an element, as a browser on a phone gets it."""
    x_px, y_px, width, height = tab.box(selector)
    x, y = x_px + width / 2, max(y_px, 0) + min(height, 300) / 2
    send = tab.context.new_cdp_session(tab.page).send
    for step in range(11):
        point = {"x": x + right * step / 10, "y": y + down * step / 10}
        touch = {"type": "touchMove" if step else "touchStart", "touchPoints": [point]}
        send("Input.dispatchTouchEvent", touch)
    tab.settle(180)  # the finger rests before it is lifted: nothing rolls on
    send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    tab.settle(180)


@pytest.fixture
def open_phone(open_tab):
    def open_(address):
        return open_tab(address=address, viewport=PHONE, has_touch=True, is_mobile=True)

    return open_


@pytest.mark.parametrize("level", [L1, L2])
def test_on_a_phone_the_question_comes_first_then_the_image(open_phone, level):
    tab = open_phone(f"#/sample/{level}/0")
    names = [
        ".bar",
        "#facts .instruction",
        "#stage",
        *[".choices"] * (level == L1),
        "#reply",
        "#facts .pairs",
    ]
    tops = [tab.box(name)[1] for name in names]
    assert tops == sorted(tops)
    x_px, y_px, width, height = tab.box("#stage")
    assert y_px + height < PHONE["height"] and x_px >= 0 and x_px + width <= PHONE["width"]


def test_on_a_phone_a_swipe_over_the_image_scrolls_the_page(open_phone):
    tab = open_phone(f"#/sample/{L2}/0")
    before = tab.box("#canvas")
    swipe(tab, "#stage", down=-200)
    assert 120 < tab.run("scrollY") <= 200
    swipe(tab, "#stage", right=-80)  # the whole image has nowhere to go
    tab.run("scrollTo(0, 0)")
    assert tab.box("#canvas") == pytest.approx(before, abs=0.5)


def test_on_a_phone_a_swipe_moves_an_enlarged_image(open_phone):
    tab = open_phone(f"#/sample/{L2}/0")
    tab.click("#zoom-target")
    tab.click("#zoom-in")
    before = tab.box("#canvas")
    swipe(tab, "#stage", right=-60, down=-40)
    after = tab.box("#canvas")
    assert (after[0] - before[0], after[1] - before[1]) == pytest.approx((-60, -40), abs=20)
    assert tab.run("scrollY") == 0


@pytest.mark.parametrize("view", ["", "?view=table"])
def test_on_a_phone_a_swipe_scrolls_the_list_which_keeps_its_place_meanwhile(open_phone, view):
    tab = open_phone(f"#/samples{view}")
    if not view:
        swipe(tab, "#filters + #gallery .card", down=-150)
        swipe(tab, "#gallery", down=-150)
        assert tab.run("scrollY") > 200
    before = tab.run("scrollY")
    tab.run("document.elementFromPoint(190, 500).closest('[data-place]').click()")
    tab.settle()
    assert tab.hash.startswith("#/sample/")
    tab.click("#close")
    assert tab.run("scrollY") == before


def test_on_a_phone_a_table_that_is_wider_than_the_page_shades_the_side_where_more_is(open_phone):
    def edge():
        """Brightness of the right edge, at the head of the table."""
        picture = Image.open(io.BytesIO(table.screenshot())).convert("L")
        return picture.getpixel((picture.width - 2, 4))

    tab = open_phone("#/overview")
    table = tab.page.locator(".wide:has(.scores)")
    assert table.evaluate("(e) => e.scrollWidth > e.clientWidth + 50")
    before = edge()
    table.evaluate("(e) => { e.scrollLeft = e.scrollWidth; }")
    tab.settle()
    assert edge() > before + 20


def test_which_answer_to_its_question_a_sample_is_stands_in_list_and_view(open_tab, tmp_path):
    samples = [l2_sample(0, key=f"k{end}", repeat=n) for n, end in ((1, ""), (2, "+2"))]
    write_samples(tmp_path / "run", L2, samples)
    (tmp_path / "run" / "manifest.json").write_text(f'{{"datasets": {{"{L2}": {{"repeats": 2}}}}}}')
    page = build_report(tmp_path / "run", image_root=None, cache=tmp_path / "cache")
    tab = open_tab(page, address="#/samples")
    assert tab.texts(".card .number") == ["#0, answer 1", "#0, answer 2"]
    view = open_tab(page, address=f"#/sample/{L2}/0~2")
    assert view.text("#sample-title") == "L2 sample 0, answer 2"
