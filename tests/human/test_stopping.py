"""A run that asks a person is stopped or killed, and continued; and pages of others look at it."""

import signal

import pytest

from tests.support.human import MODEL, Person, address_of
from tests.support.pages import Pages
from tests.support.stage import L1, L2


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_stopped_run_goes_on_with_what_is_not_answered(stage, browser, how):
    stage.env["DISPLAY"] = ""
    process = stage.start("--quiet")
    page = Person(browser, address_of(process))
    for number in (1, 2):
        page.wait_for(f"{number} of 3")
        page.letter("B")
    page.wait_for("3 of 3")
    process.send_signal(how)
    process.communicate(timeout=60)
    assert process.returncode == {signal.SIGKILL: -9}.get(how, 130)
    if how == signal.SIGKILL:
        page.page.locator("#lost", has_text="start the same command again").wait_for()
    else:
        page.page.locator("h1", has_text="The run was stopped").wait_for()
    page.context.close()

    process = stage.start("--quiet")
    page = Person(browser, address_of(process))
    page.wait_for("3 of 3")
    assert page.text("#text") == "Question: Question 0 hard?"
    page.letter("A")
    for number in (1, 2):
        page.wait_for(f"{L2}: {number} of 2")
        page.press("n", "Enter")
    process.communicate(timeout=120)
    page.context.close()
    assert process.returncode == 0
    assert [record["raw"] for record in stage.answers(L1, "human")] == ["B", "B", "A"]


def test_the_page_goes_on_when_the_program_is_slow_to_answer(ask, stage):
    stage.data = {L1: {"mode": "easy"}}
    running, page = ask()
    page.wait_for("1 of 1")
    page.context.set_offline(True)
    page.press("b", "Enter")
    page.page.locator("#lost", has_text="nothing was sent").wait_for()
    page.context.set_offline(False)
    page.troubles.clear()  # requests that could not be sent
    page.press("Enter")
    assert running.ran().code == 0


def test_a_page_of_another_origin_gets_nothing_even_if_it_knows_the_address(ask, stage):
    stage.data = {L1: {"mode": "easy"}}
    running, page = ask()
    page.wait_for("1 of 1")
    with Pages({"/": "<!doctype html><title>other</title>"}) as others:
        tab = page.context.new_page()
        tab.goto(others.url)
        answers = tab.evaluate(
            """async (address) => {
          const read = await fetch(address + "state?known=0").then((r) => r.text()).catch(() => "");
          const body = JSON.stringify({ number: 1, letter: "A" });
          await fetch(address + "answer", { method: "POST", mode: "no-cors", body }).catch(() => {});
          const image = new Image();
          image.src = address + "image/1/0";
          const width = await image.decode().then(() => image.naturalWidth, () => 0);
          const frame = document.body.appendChild(document.createElement("iframe"));
          frame.src = address;
          await new Promise((done) => frame.addEventListener("load", done));
          let inside = "";
          try { inside = frame.contentDocument.body.textContent; } catch { /* it is another origin's */ }
          return [read, width, inside];
        }""",
            page.page.url,
        )
        assert answers == ["", 0, ""]
    page.letter("B")
    assert running.ran().code == 0
    assert [record["raw"] for record in stage.answers(L1, "human")] == ["B"]


def test_two_people_are_two_models(stage, browser):
    stage.env["DISPLAY"] = ""
    stage.model = dict.fromkeys(("human-1", "human-2"), MODEL["human"])
    process = stage.start("--data", "L2", "--limit", "1")
    for _ in stage.model:
        page = Person(browser, address_of(process))
        page.wait_for("1 of 1")
        page.press("n", "Enter")
        page.page.locator("h1", has_text="The run is over").wait_for()
        page.context.close()
    process.communicate(timeout=120)
    assert process.returncode == 0
    assert [len(stage.answers(L2, name)) for name in stage.model] == [1, 1]
