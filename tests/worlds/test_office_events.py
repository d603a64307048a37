"""What others do while an agent is at a task, and colleagues who answer: by actions, never by time."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from benchmarks.actions.action import Action
from benchmarks.worlds.office.suite import open_world
from benchmarks.worlds.office.tasks import tasks
from benchmarks.worlds.office.tasks.variants import variant
from tests.support.browser import need_browser
from tests.support.office_oracle import Oracle
from tests.support.office_store import StoreHand

PERSON = "Carla Meyer"
OTHER = "Nils Brandt"


def task(**parts):
    written = {
        "id": "odd",
        "apps": ["chat", "todo"],
        "category": "update",
        "goal": "",
        "draw": {"number": [7306]},
        "expect": [],
        "oracle": [],
        **parts,
    }
    return variant(written, 3)


def played(parts, steps):
    hand = StoreHand(task(**parts))
    return hand, hand.play([*steps, ["done"]])


def missing(outcome):
    return [text for fits, text in outcome.lines if not fits]


def mails(hand, subject):
    return [row for row in hand.store.dump()["mail"].values() if row["subject"] == subject]


MAIL = {"sender": PERSON, "sender_addr": "c@northwind.example", "subject": "New plan", "body": "x"}
NOTE = ["todo.new", {"title": "A note"}]
EXPECTED_NOTE = {"add": "todos", "row": {"title": "A note"}}
NOTED = EXPECTED_NOTE
POSTED = {"add": "messages", "row": {"channel": PERSON}}


LOOKING = [["chat.read", PERSON], ["mail.search", "plan"], ["sheets.read", "Expenses"]]


@pytest.mark.parametrize(
    ("steps", "arrived"),
    [
        (LOOKING * 9, 0),  # an agent that waits or looks around brings about nothing
        ([["shop.buy", "Dune Desk lamp", 1]], 0),
        ([["shop.buy", "Dune Webcam", 2]], 1),
        ([["shop.buy", "Dune Webcam", 2], ["shop.remove", "Dune Webcam"], *LOOKING], 1),
        ([*LOOKING, ["shop.buy", "Dune Webcam", 1], ["shop.buy", "Dune Webcam", 1]], 1),
    ],
)
def test_an_event_hangs_on_what_is_in_the_cart_and_happens_once(steps, arrived):
    products = {"drawn": "SELECT id FROM products WHERE name = 'Dune Webcam'"}
    when = {"has": "cart", "where": {"id": "{drawn}"}}
    parts = {"draw": products, "events": [{"when": when, "add": {"mail": [MAIL]}}]}
    hand, outcome = played(parts, steps)
    assert len(mails(hand, "New plan")) == arrived
    assert outcome.success


def test_an_event_waits_for_an_effect_of_the_agent_s():
    when = {"add": "todos", "row": {"title": "A note"}}
    parts = {"events": [{"when": when, "add": {"mail": [MAIL]}}], "expect": [EXPECTED_NOTE]}
    early, _ = played(parts, [["chat.read", PERSON]] * 9)
    late, outcome = played(parts, [NOTE])
    assert (len(mails(early, "New plan")), len(mails(late, "New plan"))) == (0, 1)
    assert outcome.success
    [mail] = mails(late, "New plan")
    assert (mail["sent_at"], mail["folder"], mail["is_read"]) == ("2026-03-09 09:00", "Inbox", 0)


def test_an_event_can_wait_for_a_mail_to_be_read():
    setup = {"add": {"mail": [{**MAIL, "subject": "Old plan"}]}}
    when = {"read": "mail", "where": {"subject": "Old plan"}}
    parts = {"setup": setup, "events": [{"when": when, "add": {"mail": [MAIL]}}]}
    for steps, count in (([["mail.read", "Old plan"]], 1), ([["chat.read", PERSON]], 0)):
        hand, _ = played(parts, steps)
        assert len(mails(hand, "New plan")) == count


def test_what_others_change_is_no_effect_and_undoing_it_is_one():
    change = ["cells", {"sheet": "Expenses", "cell": "A1"}, {"value": "Day"}]
    parts = {"events": [{"when": NOTED, "set": [change]}], "expect": [EXPECTED_NOTE]}
    hand, outcome = played(parts, [NOTE])
    assert hand.store.dump()["cells"]["Expenses!A1"]["value"] == "Day"
    assert outcome.success
    _, outcome = played(parts, [NOTE, ["sheets.set", "Expenses", "A1", "Date"]])
    assert missing(outcome) == ["nothing else, but: change cells Expenses!A1: value “Date”"]


def test_what_the_agent_has_removed_before_stays_removed():
    change = ["cells", {"sheet": "Expenses", "cell": "A1"}, {"value": "Day"}]
    when = {"remove": "cells", "where": {"cell": "A1"}}
    removed = {"remove": "cells", "where": {"sheet": "Expenses", "cell": "A1"}}
    parts = {"events": [{"when": when, "set": [change]}], "expect": [removed]}
    _, outcome = played(parts, [["sheets.set", "Expenses", "A1", ""]])
    assert outcome.success


REPLIES = [
    {"channel": PERSON, "when": {"contains": ["{number}"]}, "text": "Yes, {number}."},
    {"channel": PERSON, "text": "Which order?"},
]


@pytest.mark.parametrize(
    ("messages", "answers"),
    [
        ([(PERSON, "May I cancel 7306?")], ["Yes, 7306."]),
        ([(PERSON, "May I cancel 73067?")], ["Which order?"]),
        ([(PERSON, "Hello"), (PERSON, "It is 7306")], ["Which order?", "Yes, 7306."]),
        ([(OTHER, "7306")], []),
        ([("#general", "7306")], []),
    ],
)
def test_a_colleague_answers_a_message_by_the_first_rule_that_fits_it(messages, answers):
    hand, _ = played({"replies": REPLIES}, [["chat.post", *message] for message in messages])
    rows = hand.store.dump()["messages"].values()
    start = max(StoreHand(task()).before["messages"])
    assert [row["text"] for row in rows if row["id"] > start and row["author"] == PERSON] == answers


def test_what_is_written_to_a_colleague_who_answers_does_no_harm_and_to_others_it_does():
    talk = [["chat.post", PERSON, "Hello"], ["chat.post", PERSON, "Thanks"]]
    assert played({"replies": REPLIES}, talk)[1].success
    assert not played({"replies": REPLIES}, [["chat.post", OTHER, "Thanks"]])[1].success


def test_permission_has_to_be_asked_before_the_deed():
    deed = {"change": "orders", "where": {"id": 7308}, "to": {"status": "Cancelled"}}
    permission = {
        "channel": PERSON,
        "when": {"contains": ["7308"]},
        "unless": deed,
        "text": "Yes.",
        "required": "asks Carla first",
    }
    parts = {"replies": [permission], "expect": [deed]}
    ask, cancel = ["chat.post", PERSON, "Cancel 7308?"], ["shop.cancel", 7308]
    assert played(parts, [ask, cancel])[1].success
    for steps, partial in (([cancel, ask], 0.5), ([cancel], 0.5), ([ask], 0.5)):
        outcome = played(parts, steps)[1]
        assert not outcome.success
        assert outcome.partial == partial
    assert missing(played(parts, [cancel])[1]) == ["asks Carla first"]


def test_an_answer_may_change_the_world_and_one_thing_leads_to_another():
    reply = {"channel": PERSON, "text": "Done.", "set": [["orders", {"id": 7308}, {"note": "x"}]]}
    mail = {"when": {"add": "messages", "row": {"channel": PERSON}}, "add": {"mail": [MAIL]}}
    parts = {"replies": [reply], "events": [mail]}
    hand, outcome = played(parts, [["chat.post", PERSON, "Please"]])
    assert hand.store.dump()["orders"][7308]["note"] == "x"
    assert len(mails(hand, "New plan")) == 1
    assert outcome.success


def test_the_same_actions_bring_about_the_same_rows():
    parts = {"replies": REPLIES, "events": [{"when": NOTED, "add": {"mail": [MAIL]}}]}
    steps = [["chat.post", PERSON, "7306"], NOTE, ["chat.post", PERSON, "Hm"]]
    assert played(parts, steps)[0].store.dump() == played(parts, steps)[0].store.dump()


def test_a_change_of_what_is_not_there_is_found_when_the_task_is_made():
    change = ["cells", {"sheet": "Expenses", "cell": "J59"}, {"value": "Day"}]
    with pytest.raises(Exception, match="no row of cells"):
        task(events=[{"when": NOTED, "set": [change]}])


# -- in a browser ----------------------------------------------------------------------------------

LIVE = "live_cancel_with_permission"


def write_note(world):
    """Adds the note that events wait for, between two actions."""
    fields = {"title": "A note", "list": "Work", "due": "", "priority": "Normal", "note": ""}
    world.tab.page.evaluate("todo => office.ask('todo', 'save', { todo })", fields)


def seen(world, steps):
    """Play steps and return the names of all screenshots, which are hashes, and the store."""
    images = []
    step = world.step

    def noted(action):
        observation = step(action)
        images.append(observation.image.name)
        return observation

    world.step = noted
    try:
        Oracle(world).play(steps)
    finally:
        del world.step
    return images, world.dump(), world.evaluate()


@pytest.fixture
def live_task():
    need_browser()
    [live] = tasks("L4", [0], [LIVE])
    return live


def test_what_others_do_is_the_same_in_two_worlds_under_load_and_after_a_new_start(
    live_task, tmp_path
):
    is_over = threading.Event()

    def play(number):
        world = open_world(tmp_path)
        try:
            if number:  # an episode that was broken off is begun anew
                world.reset(live_task)
                Oracle(world).play(live_task["oracle"][:4])
            world.reset(live_task)
            return seen(world, live_task["oracle"])
        finally:
            world.close()

    def keep_busy():
        while not is_over.is_set():
            sum(range(10_000))

    busy = threading.Thread(target=keep_busy)
    busy.start()
    try:
        with ThreadPoolExecutor(2) as pool:
            first, second = pool.map(play, range(2))
    finally:
        is_over.set()
        busy.join()
    assert first[0] == second[0]
    assert first[1] == second[1]
    assert first[2].success
    assert second[2].success


@pytest.mark.parametrize("look", ["web", "phone"])
def test_the_page_shows_at_once_what_others_do(look, tmp_path, chromium):
    events = [{"when": POSTED, "add": {"mail": [MAIL]}}]
    world = open_world(tmp_path)
    try:
        world.reset({**task(events=events, replies=REPLIES), "look": look})
        page = world.tab.page
        assert page.locator(".badge").count() == 0
        Oracle(world).play([["chat.post", PERSON, "7306?"]])
        assert page.locator(".badge").first.text_content() == "1"
        assert "Yes, 7306." in page.locator(".talk").text_content()
        Oracle(world).play([["mail.read", "New plan"]])
        assert page.locator(".badge").count() == 0
    finally:
        world.close()


def test_the_list_that_is_open_shows_what_comes_in_and_a_form_waits_for_it(tmp_path, chromium):
    world = open_world(tmp_path)
    try:
        events = [{"when": NOTED, "add": {"mail": [MAIL]}}]
        world.reset({**task(apps=["mail"], events=events), "look": "web"})
        write_note(world)
        draft = {"to": "c@northwind.example", "subject": "Hello", "body": "x"}
        Oracle(world).play([["mail.draft", draft]])  # the mail arrives while it is written
        page = world.tab.page
        assert "New plan" in page.locator(".mails").text_content()
        page.locator("[data-t='mail.folder'][data-k='Drafts']").click()
        page.get_by_text("Hello", exact=True).click()
        assert page.locator("[data-t='mail.subject']").input_value() == "Hello"
    finally:
        world.close()


def test_nothing_happens_any_more_once_the_agent_has_ended_the_episode(tmp_path, chromium):
    world = open_world(tmp_path)
    try:
        world.reset({**task(events=[{"when": NOTED, "add": {"mail": [MAIL]}}]), "look": "web"})
        write_note(world)
        world.step(Action("done"))
        assert "New plan" not in [row["subject"] for row in world.dump()["mail"].values()]
    finally:
        world.close()
