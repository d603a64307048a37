"""L3 and L4 played by a person in a browser: mouse, keyboard and touch become actions."""

import json
import re

import pytest

from tests.support.browser import PHONE
from tests.support.stage import read_log_lines
from tests.support.standin import BOXES, ENVIRONMENT, WH, Boxes

L3, L4 = "GUITaskAutomation", "GUITaskCollaboration"


@pytest.fixture(autouse=True)
def fresh_boxes():
    Boxes.made_counts.clear()


def middle(box):
    x1, y1, x2, y2 = BOXES[box]
    return int((x1 + x2) / 2 * WH[0]), int((y1 + y2) / 2 * WH[1])


def raw_of(stage, dataset):
    """The replies without "Action: ", in the order in which they were given."""
    records = read_log_lines(stage.log(dataset, "human"))
    return [
        re.sub("^Action: ", "", record["raw"], flags=re.MULTILINE)
        for record in records
        if record["kind"] == "answer"
    ]


def end_task(page, kind, text=None):
    page.click(f'[data-ask="{kind}"]')
    if text is not None:
        page.page.keyboard.type(text)
    page.press("Enter")


def success_rate(stage, level):
    scores = json.loads((stage.folder("human") / f"human_{level}_score.json").read_text())
    return scores["Max step 15"]["SR"]


def test_both_levels_are_played_task_by_task(ask, stage):
    stage.data = {level: {"environment": ENVIRONMENT, "max_steps": 20} for level in (L3, L4)}
    running, page = ask("--worlds", "4")
    for level, name in (("L3", L3), ("L4", L4)):
        page.wait_for(f"{level} {name}: 1 of 4")
        assert page.text("#text") == "Click the red box."
        page.click_pixel(*middle("red"))
        page.wait_for_step(2)
        end_task(page, "done")
        page.wait_for("2 of 4")
        assert page.text("#text") == "Click the red box, then the green box."
        for step, box in enumerate(("red", "green"), 2):
            page.click_pixel(*middle(box))
            page.wait_for_step(step)
            assert not page.page.is_visible("#cross")
        assert page.page.locator("#past li").count() == 2
        end_task(page, "done")
        page.wait_for("3 of 4")
        end_task(page, "answer", "3")
        page.wait_for("4 of 4")
        end_task(page, "fail", "there is none")
    ran = running.ran()
    assert ran.code == 0, ran.output
    assert [success_rate(stage, level) for level in (L3, L4)] == [100, 100]
    red, green = (f"click({x}, {y})" for x, y in (middle("red"), middle("green")))
    expected = [red, "done()", red, green, "done()", 'answer("3")', 'fail("there is none")']
    assert raw_of(stage, L3) == raw_of(stage, L4) == expected
    # One world a level, never two at a time, though four were allowed.
    assert Boxes.made_counts["opened"] == 2


def test_every_gesture_is_its_action(ask, stage):
    stage.data = {L3: {"environment": ENVIRONMENT, "tasks": ["environment/one"]}}
    running, page = ask()
    page.wait_for("1 of 1")
    mouse, keyboard = page.page.mouse, page.page.keyboard

    def gesture(name):
        page.page.select_option("#gesture", name)

    def drag():
        mouse.move(*page.client_of(30, 40))
        mouse.down()
        mouse.move(*page.client_of(90, 60), steps=4)
        mouse.move(*page.client_of(200, 100))
        mouse.up()

    def hold():
        mouse.move(*page.client_of(30, 40))
        mouse.down()
        page.settle(700)
        mouse.up()

    def turn(across, down):
        mouse.move(*page.client_of(30, 40))
        mouse.wheel(0, down / 2)
        mouse.wheel(across, down / 2)

    def type_and_click():
        keyboard.type('a "b')
        page.click_pixel(30, 40)

    steps = [
        (lambda: page.click_pixel(30, 40), "click(30, 40)"),
        (lambda: page.click_pixel(0, 0), "click(0.000000, 0.000000)"),
        (lambda: page.page.mouse.dblclick(*page.client_of(30, 40)), "double_click(30, 40)"),
        (lambda: page.click_pixel(30, 40, click_count=3, delay=10), "triple_click(30, 40)"),
        (lambda: page.click_pixel(30, 40, button="right"), "right_click(30, 40)"),
        (lambda: page.click_pixel(30, 40, button="middle"), "middle_click(30, 40)"),
        (hold, "long_press(30, 40)"),
        (drag, "drag(30, 40, 200, 100)"),
        (lambda: turn(0, 300), 'scroll(30, 40, "down", 3)'),
        (lambda: turn(-100, 0), 'scroll(30, 40, "left", 1)'),
        (lambda: (gesture("move"), page.click_pixel(30, 40)), "move(30, 40)"),
        (lambda: (gesture("scroll up"), page.click_pixel(30, 40)), 'scroll(30, 40, "up", 5)'),
        (
            lambda: (gesture("drag"), page.click_pixel(30, 40), page.click_pixel(200, 100)),
            "drag(30, 40, 200, 100)",
        ),
        (lambda: (keyboard.type("Hello, Wörld"), page.press("Enter")), 'type("Hello, Wörld\\n")'),
        (lambda: (keyboard.type("a"), page.click("#type-only")), 'type("a")'),
        (lambda: (keyboard.type("a"), page.press("Escape", "Delete")), 'press("delete")'),
        (type_and_click, 'type("a \\"b")\nclick(30, 40)'),
        (lambda: page.press("Control+a"), 'press("ctrl+a")'),
        (lambda: page.press("Control+Shift+ArrowLeft"), 'press("ctrl+shift+left")'),
        (lambda: page.press("Tab"), 'press("tab")'),
        (lambda: page.press("Enter"), 'press("enter")'),
        (lambda: page.press("Escape"), 'press("escape")'),
        (lambda: (page.page.fill("#keys", "Ctrl+W"), page.press("Enter")), 'press("ctrl+w")'),
        (lambda: page.click("[data-action=back]"), "back()"),
        (lambda: page.click("[data-action=home]"), "home()"),
        (lambda: page.click("[data-action=wait]"), "wait(1)"),
        (lambda: end_task(page, "open_app", "Mail"), 'open_app("Mail")'),
    ]
    for step, (act, _) in enumerate(steps, 2):
        act()
        page.wait_for_step(step)
    assert page.text("#note") == "Note on your last action: There is no application Mail"
    keyboard.down("Control")
    page.click_pixel(30, 40)
    keyboard.up("Control")
    page.wait_for_step(len(steps) + 2)
    end_task(page, "done")
    ran = running.ran()
    assert ran.code == 0, ran.output
    expected = [reply for _, reply in steps]
    assert raw_of(stage, L3) == [*expected, 'click(30, 40, modifiers="ctrl")', "done()"]


def test_a_task_is_done_with_the_keyboard_alone(ask, stage):
    stage.data = {L3: {"environment": ENVIRONMENT, "tasks": ["environment/one"]}}
    running, page = ask()
    page.wait_for("1 of 1")
    page.press(
        "F2", "ArrowLeft"
    )  # from now on keys move the crosshair, which appears in the middle
    page.press(*["Control+ArrowLeft"] * 2, *["Shift+ArrowUp"] * 5, "ArrowUp", "Enter")
    page.wait_for_step(2)
    for _ in range(30):
        page.press("Tab")
        if page.run("document.activeElement.dataset.ask") == "done":
            break
    page.press("Enter", "Enter")
    assert running.ran().code == 0
    assert raw_of(stage, L3) == ["click(60, 39)", "done()"]
    assert success_rate(stage, L3) == 100


def test_a_phone_acts_by_touch(ask, stage):
    stage.data = {L3: {"environment": ENVIRONMENT, "tasks": ["environment/one"]}}
    running, page = ask(viewport=PHONE, has_touch=True, is_mobile=True)
    page.wait_for("1 of 1")
    assert page.run("document.documentElement.scrollWidth") == 390
    assert not page.page.is_visible("#keys-go")
    page.page.touchscreen.tap(*page.client_of(*middle("red")))
    page.wait_for_step(2)
    page.page.fill("#typing", "hello")
    page.page.tap("#type-enter")
    page.wait_for_step(3)
    page.page.tap('[data-ask="done"]')
    page.page.tap("#asking-yes")
    assert running.ran().code == 0
    x, y = middle("red")
    assert raw_of(stage, L3) == [f"click({x}, {y})", 'type("hello\\n")', "done()"]


def test_a_task_that_is_skipped_is_played_again_from_its_beginning(ask, stage):
    stage.data = {L3: {"environment": ENVIRONMENT, "tasks": ["environment/one"]}}
    running, page = ask()
    page.wait_for("1 of 1")
    page.click_pixel(*middle("red"))
    page.wait_for_step(2)
    page.click("#skip")
    page.click("#asking-yes")
    assert running.ran().code == 1
    running, page = ask()
    page.wait_for("1 of 1")
    assert page.text("#step") == "Step 1"
    page.click_pixel(*middle("red"))
    page.wait_for_step(2)
    end_task(page, "done")
    assert running.ran().code == 0
    assert success_rate(stage, L3) == 100


def test_axe_finds_nothing_while_acting(ask, stage):
    stage.data = {L3: {"environment": ENVIRONMENT, "tasks": ["environment/one"]}}
    running, page = ask()
    page.wait_for("1 of 1")
    end_task(page, "open_app", "Mail")
    phone = {"viewport": PHONE, "has_touch": True, "is_mobile": True}
    for context in ({}, phone):
        for scheme in ("light", "dark"):
            page = running.open_page(**context, color_scheme=scheme)
            page.wait_for_step(2)
            page.click("#steps summary")
            page.click("#told summary")
            assert page.findings() == []
            page.click('[data-ask="answer"]')
            assert page.findings() == []
            page.press("Escape")
    end_task(page, "done")
    running.ran()
