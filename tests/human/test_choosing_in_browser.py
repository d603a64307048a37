"""L1 and L2 answered by a person in a browser, through `evaluate.py`."""

import json
import time

from PIL import Image

from tests.support.browser import PHONE
from tests.support.runs import PROJECT
from tests.support.stage import L1, L2, NOBODY, Stage, told

CHOSEN = "#chosen"
SCROLL = """([x, y]) => {
  const sheet = document.getElementById("sheet");
  document.getElementById("stage").scrollTo((x / 640) * sheet.clientWidth - 200, (y / 360) * sheet.clientHeight - 150);
}"""


def raw_of(stage, dataset):
    return [record["raw"] for record in stage.answers(dataset, "human")]


def test_both_levels_one_after_the_other_with_scores_times_and_eval(ask, stage):
    running, page = ask()
    page.wait_for("L1 GUIContentUnderstanding: 1 of 3")
    assert page.text("#text") == "Question: Question 0 easy?"
    assert not page.page.is_visible("#step")
    assert page.texts(".option") == ["Ano", "Byes", "Cmaybe"]
    page.letter("b")
    page.wait_for("2 of 3")
    page.press("a", "Escape")
    assert page.run("document.getElementById('confirm').disabled")
    page.press("Enter")  # nothing is chosen
    page.click("text=maybe")
    page.click("#confirm")
    page.wait_for("3 of 3")
    page.letter("b")
    page.wait_for("L2 GUIElementGrounding: 1 of 2")
    assert page.text("#text") == "Click basic target 0."
    assert page.text("#step") == "Where would you click for this?"
    assert page.text("#actual") == "100 %"
    page.click_pixel(500, 300)
    page.click_pixel(128, 54)  # once more, before it is confirmed
    assert page.text(CHOSEN) == "Chosen: x 128, y 54"
    page.click("#confirm")
    page.wait_for("2 of 2")
    page.click_pixel(128, 54)
    page.press("n", "Enter")
    page.page.locator("h1", has_text="The run is over").wait_for()
    ran = running.ran()
    assert ran.code == 0, ran.output
    assert (raw_of(stage, L1), raw_of(stage, L2)) == (["B", "C", "B"], ["(128, 54)", "(-1, -1)"])
    times = [record["latency_s"] for record in stage.answers(L2, "human")]
    assert all(0 < seconds < 60 for seconds in times)
    assert stage.scores(L2, "human")["Basic accuracy"] == 100
    again = stage.run("--mode", "eval")
    assert (again.code, told(again.output, "have a reply")) == (0, [3, 2])


def test_a_click_is_exact_to_one_pixel_of_the_file(ask, stage, whole):
    """At several zooms and densities of the screen, in the corners and at the edges of pixels."""
    stage.data = {L2: {"mode": "all"}}
    running, page = ask("--limit", "1")
    for density in (1, 1.5, 3) if whole else (1.5,):
        page = running.open_page(device_scale_factor=density)
        page.wait_for("1 of 1")
        for keys in (["1"], ["+"] * 6, ["+"] * 6, ["0", *["-"] * 4]):
            page.press(*keys)
            zoom = page.run("document.getElementById('sheet').getBoundingClientRect().width / 640")
            for x, y in ((0, 0), (1, 1), (639, 0), (333, 222), (639, 359)):
                page.run(SCROLL, [x, y])
                across, down = page.client_of(x, y)
                for part in (-0.4, 0.4):
                    page.page.mouse.click(across + part * zoom, down - part * zoom)
                    assert page.text(CHOSEN) == f"Chosen: x {x}, y {y}", (density, zoom)
    page.click("#confirm")
    assert running.ran().code == 0
    assert raw_of(stage, L2) == ["(639, 359)"]


def test_the_keyboard_alone_is_enough(ask, stage):
    running, page = ask()
    for number in (1, 2, 3):
        page.wait_for(f"L1 GUIContentUnderstanding: {number} of 3")
        page.letter("B")
    page.wait_for("L2 GUIElementGrounding: 1 of 2")
    page.press("ArrowLeft")  # the crosshair appears in the middle
    assert page.text(CHOSEN) == "Chosen: x 320, y 180"
    page.press("ArrowLeft", "ArrowUp", "Shift+ArrowLeft", "Control+ArrowUp", "Alt+ArrowLeft")
    assert page.text(CHOSEN) == "Chosen: x 259, y 129"
    page.press(*["+"] * 9, *["Shift+ArrowRight"] * 20, *["Shift+ArrowUp"] * 9)
    x, y = page.client_of(459, 39)
    left, top, width, height = page.box("#stage")
    assert left < x < left + width and top < y < top + height  # still in view
    page.press(*["Control+ArrowDown"] * 9)
    assert page.text(CHOSEN) == "Chosen: x 459, y 359"  # and no further than the image
    page.press("Enter")
    page.wait_for("2 of 2")
    page.press("Tab", "Tab")  # the controls are within reach, and do what they say
    page.press("ArrowLeft", "Escape", "n")
    assert page.text(CHOSEN) == "Chosen: it is not there"
    page.press("F8")
    assert page.focus == "resume"
    page.press("Enter")
    page.page.focus("#stage")
    page.press("Enter")
    assert running.ran().code == 0
    assert raw_of(stage, L2) == ["(459, 359)", "(-1, -1)"]


def test_a_phone_answers_by_touch(ask, stage):
    running, page = ask("--limit", "1", viewport=PHONE, has_touch=True, is_mobile=True)
    page.wait_for("1 of 1")
    assert page.run("document.documentElement.scrollWidth") == 390
    page.page.tap("text=yes")
    page.page.tap("#confirm")
    page.wait_for("L2 GUIElementGrounding: 1 of 1")
    page.page.touchscreen.tap(*page.client_of(300, 200))
    page.page.tap("#actual")
    page.page.touchscreen.tap(*page.client_of(301, 200))
    assert page.text(CHOSEN) == "Chosen: x 301, y 200"
    zoom = int(page.text("#zoom").split()[0])
    fingers(page, (-20, 20), (-30, 30), (-45, 45), (-60, 60))
    assert int(page.text("#zoom").split()[0]) > 2 * zoom
    before = page.run("document.getElementById('stage').scrollLeft")
    fingers(page, (0,), (-30,), (-50,))
    assert page.run("document.getElementById('stage').scrollLeft") == before + 50
    assert page.text(CHOSEN) == "Chosen: x 301, y 200"  # fingers that move choose nothing
    page.page.tap("#confirm")
    assert running.ran().code == 0
    assert raw_of(stage, L2) == ["(301, 200)"]


def fingers(page, *places):
    """Move fingers over the screenshot, a second for each place, and rest before they are lifted.

    The browser goes on with a quick movement by itself, and takes the next tap for a stop of it.

    Args:
        places: one after the other, each the distances of the fingers from the middle, across.
    """
    session = page.context.new_cdp_session(page.page)
    left, top, width, height = page.box("#stage")

    places = (*places, places[-1])
    begin_s = time.time() - len(places)

    def touch(kind, distances, at_s):
        points = [
            {"x": left + width / 2 + distance, "y": top + height / 2, "id": number}
            for number, distance in enumerate(distances)
        ]
        event = {"type": kind, "touchPoints": points, "timestamp": at_s}
        session.send("Input.dispatchTouchEvent", event)

    for number, distances in enumerate(places):
        touch("touchMove" if number else "touchStart", distances, begin_s + number)
    touch("touchEnd", [], begin_s + len(places))
    page.settle()


def test_a_rotation_in_a_file_is_not_applied_as_models_get_the_pixels(ask, stage):
    path = stage.picture(0)
    with Image.open(path) as image:
        exif = Image.Exif()
        exif[0x0112] = 6  # a quarter turn
        image.save(path, exif=exif)
    stage.data = {L2: {"mode": "all"}}
    running, page = ask("--limit", "1")
    page.wait_for("1 of 1")
    _, _, width, height = page.box("#image")
    assert width > height
    page.click_pixel(600, 20)
    page.press("Enter")
    running.ran()
    assert raw_of(stage, L2) == ["(600, 20)"]


def test_what_is_skipped_counts_as_failed_and_is_asked_again(ask, stage):
    stage.data = {L1: {"mode": "all"}}
    running, page = ask()
    for number in (1, 2, 3):
        page.wait_for(f"{number} of 3")
        if number == 2:
            page.letter("B")
            continue
        page.click("#skip")
        page.press("Escape")  # changed one's mind
        page.click("#skip")
        page.click("#asking-yes")
    ran = running.ran()
    assert (ran.code, told(ran.output, "failed")) == (1, [2])
    assert "2 x skipped: skipped by the person" in ran.output
    running, page = ask()
    page.wait_for("1 of 3")
    page.letter("B")
    page.wait_for("3 of 3")
    page.letter("A")
    assert running.ran().code == 0
    assert [record["raw"] for record in stage.answers(L1, "human") if record["raw"]] == [
        "B",
        "B",
        "A",
    ]


def test_a_pause_covers_the_question(ask, stage):
    stage.data = {L1: {"mode": "easy"}}
    running, page = ask()
    page.wait_for("1 of 1")
    page.click("#pause")
    page.press("b", "Enter")  # goes on, and answers nothing
    page.press("F8")
    assert page.run(
        "getComputedStyle(document.getElementById('paused'), '::backdrop').backgroundColor"
    ).startswith("rgb(")
    page.click("#resume")
    page.letter("b")
    assert running.ran().code == 0


def test_a_page_that_is_loaded_again_or_twice_goes_on(ask, stage):
    stage.data = {L1: {"mode": "all"}}
    running, page = ask()
    page.wait_for("1 of 3")
    page.page.reload()
    page.wait_for("1 of 3")
    other = running.open_page()
    other.wait_for("1 of 3")
    for number, answering in enumerate((other, page, other), 1):
        for tab in (page, other):
            tab.wait_for(f"{number} of 3")
        answering.letter("B")
    assert running.ran().code == 0
    assert raw_of(stage, L1) == ["B", "B", "B"]


def test_no_answer_is_given_away(ask, stage):
    """The state of the page holds what models are shown, and nothing else of the line."""
    running, page = ask("--limit", "1")
    for kind in ("letter", "point"):
        page.wait_for("1 of 1" if kind == "letter" else "L2 GUIElementGrounding: 1 of 1")
        state = page.run("fetch('state?known=0').then((response) => response.json())")
        assert state["question"]["kind"] == kind
        text = json.dumps(state)
        assert "because" not in text and "0.3" not in text and "bbox" not in text
        page.press(*(["a", "Enter"] if kind == "letter" else ["n", "Enter"]))
    running.ran()


def test_a_check_opens_nothing_and_a_ping_asks_one_question_each(ask, stage):
    assert stage.run("--check").code == 0  # or `webbrowser` would have been called
    running, page = ask("--check", "--ping")
    page.wait_for("L1 GUIContentUnderstanding")
    page.letter("B")
    page.wait_for("L2 GUIElementGrounding")
    page.click_pixel(128, 54)
    page.press("Enter")
    ran = running.ran()
    assert ran.code == 0, ran.output
    assert "read as: B, wanted: B, verdict: hit" in ran.output
    assert "reply: '(128, 54)'" in ran.output


def test_axe_finds_nothing(ask, stage):
    running, page = ask("--limit", "1")
    phone = {"viewport": PHONE, "has_touch": True, "is_mobile": True}
    contexts = [
        {**size, "color_scheme": scheme} for size in ({}, phone) for scheme in ("light", "dark")
    ]
    pages = [running.open_page(**context) for context in contexts]
    dialogs = {"#help": "#helping", "#skip": "#asking", "#pause": "#paused"}
    for level in ("L1", "L2"):
        for page in pages:
            page.wait_for(f"{level} ")
            page.press("n" if level == "L2" else "a")
            assert page.findings() == []
            for opener, dialog in dialogs.items() if level == "L1" else ():
                page.click(opener)
                assert page.findings() == [], dialog
                page.press("Escape")
        page.click("#confirm")
    for page in pages:
        page.page.locator("h1", has_text="The run is over").wait_for()
        assert page.findings() == []
    running.ran()


def test_the_config_of_the_project_works_with_the_sample_data(tmp_path):
    bench = Stage(tmp_path, NOBODY, {}, {}, {"LMUData": str(PROJECT / "sample_data")})
    ran = bench.run(
        "--config",
        PROJECT / "configs/config_human.json",
        "--limit",
        "5",
        "--check",
        "--work-dir",
        tmp_path / "out",
    )
    assert ran.code == 0, ran.output
    assert ran.output.count("5 requests to send (5 new)") == 2
