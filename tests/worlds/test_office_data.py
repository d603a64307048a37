"""What the office of a task says agrees with itself: who writes, when, and about what."""

import functools
import re

import pytest

from benchmarks.worlds.office.store import NOW, Store
from benchmarks.worlds.office.tasks import tasks
from benchmarks.worlds.office.tasks.quantities import mentions
from benchmarks.worlds.office.week import WORDS, base_store, base_world
from tests.support.office_store import StoreHand
from tests.support.office_tasks import tasks_of

SEEDS = range(4)
CLAUSE = re.compile(r"[^.!?;\n]+")
CITED = re.compile(
    r"\b(?:expense|invoice|receipt|order|claim|minutes|mail|letter|list|payment|hotel|night|work)"
    r" (?:of|from|on|dated)(?: \w+,?)? $"
    r"|\b(?:took|brought|came|arrived|spent|placed|ordered|sent|wrote|(?<!be )paid) [^,:]*\bon $",
    re.IGNORECASE,
)
"""What stands before the day of something that has happened."""


@functools.cache
def days_cited(text):
    """The days on which something has happened that a text names."""
    days = []
    for clause in CLAUSE.findall(text):
        for mention in mentions(clause):
            day = mention.readings[0]
            if day.kind == "date" and CITED.search(" ".join(clause.split())[: mention.start]):
                days.append(str(day.value) if len(str(day.value)) > 5 else f"2026-{day.value}")
    return days


def dated_texts(task):
    """Every mail and message of a task with its moment, also what others write meanwhile."""
    rows = [*base_world(task["seed"])["mail"], *base_world(task["seed"])["messages"]]
    for part in (task["setup"], *task.get("events", ()), *task.get("replies", ())):
        added = part.get("add", {})
        rows += [*added.get("mail", ()), *added.get("messages", ())]
    rows += [{"text": reply["text"], "sent_at": NOW} for reply in task.get("replies", ())]
    for row in rows:
        yield row["sent_at"], f"{row.get('subject', '')}\n{row.get('body', row.get('text', ''))}"


def orders_of(task):
    rows = [*base_world(task["seed"])["orders"], *task["setup"].get("add", {}).get("orders", ())]
    return {row["id"]: row["placed_at"] for row in rows}


def too_old(task):
    """The texts of a task that cite what is later than themselves."""
    orders = orders_of(task)
    for sent_at, text in dated_texts(task):
        cited = [orders.get(int(number), "") for number in re.findall(r"(?<![\w-])73\d\d\b", text)]
        if any(moment > sent_at for moment in [*cited, *days_cited(text)] if moment):
            yield sent_at, text


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("level", ["L3", "L4"])
def test_nothing_is_older_than_what_it_cites(level, seed):
    found = {(task["id"], *text) for task in tasks_of(level, seed) for text in too_old(task)}
    assert found == set()


@pytest.mark.parametrize(
    ("sent_at", "text", "is_too_old"),
    [
        ("2026-03-07 09:15", "Castor Legal, expense of 2026-03-08: 90.00 EUR", True),
        ("2026-03-08 09:15", "Castor Legal, expense of 2026-03-08: 90.00 EUR", False),
        ("2026-03-03 16:12", "we have brought you five more on 4 March: Plants", True),
        ("2026-03-05 10:31", "I took a taxi home from the fair on 6 March", True),
        ("2026-03-05 10:31", "Your payment for our work of 8 March has arrived", True),
        ("2026-03-04 10:31", "The hotel on 5 March was 158 EUR", True),
        ("2026-03-04 10:31", "Order 7310 can go", True),
        ("2026-03-04 10:31", "Reference: N-7310", False),
        ("2026-03-04 10:31", "The workshop moves to 8 April", False),
        ("2026-03-04 10:31", "it has to be paid by 20 March", False),
    ],
)
def test_what_is_later_than_the_text_that_cites_it_is_found(sent_at, text, is_too_old):
    order = {"id": 7310, "placed_at": "2026-03-07 10:12"}
    mail = {"subject": "", "body": text, "sent_at": sent_at}
    task = {"seed": 0, "setup": {"add": {"orders": [order], "mail": [mail]}}}
    assert [(sent_at, f"\n{text}")] * is_too_old == list(too_old(task))


@pytest.mark.parametrize("seed", range(20))
def test_mails_come_from_those_who_write_such_mails(seed):
    companies = {row["email"]: row["company"] for row in base_world(seed)["contacts"]}
    beginnings = {
        kind: {body.partition("{")[0] for _, body in WORDS["mails"][kind] if body[0] != "{"}
        for kind in ("colleague", "partner")
    }
    for mail in base_world(seed)["mail"]:
        company = companies.get(mail["sender_addr"])
        if any(mail["body"].startswith(text) for text in beginnings["colleague"]):
            assert company == WORDS["own_company"], mail
        if any(mail["body"].startswith(text) for text in beginnings["partner"]):
            assert company not in (WORDS["own_company"], ""), mail
        if "invoice.txt" in mail["attachments"]:
            assert company not in (WORDS["own_company"], ""), mail


def episode(name, seed):
    """A task and the store at its start."""
    [task] = [task for level in ("L3", "L4") for task in tasks(level, [seed], [name])]
    return task, Store(base_store(seed), task["setup"])


@pytest.mark.parametrize("seed", range(8))
def test_sizes_do_not_tell_which_copy_differs(seed):
    _, store = episode("long_decisions", seed)
    files = {row["name"]: row["content"] for row in store.dump()["files"].values()}
    copies = [name for name in files if name.endswith(" (1).txt") and name.startswith("minutes")]
    pairs = [(files[name], files[name.replace(" (1)", "")]) for name in copies]
    assert [len(copy) - len(original) for copy, original in pairs] == [0, 0, 0]
    assert sum(copy != original for copy, original in pairs) == 1
    _, store = episode("files_scans_filed", seed)
    scans = [
        row["content"]
        for row in store.dump()["files"].values()
        if row["content"].startswith("Galleria Events\nInvoice")
    ]
    assert len({len(scan) for scan in scans}) == 1
    assert len(set(scans)) == 2


def clashes(task):
    """The events that a solution enters, and events of the week that are at the same time."""
    hand = StoreHand(task)
    old = hand.before["events"]
    planned = {row["title"] for row in task["setup"].get("add", {}).get("events", ())}
    hand.play(task["oracle"])
    events = hand.store.dump()["events"].values()
    for new in [row for row in events if row != old.get(row["id"])]:
        for other in events:
            is_same_time = other["start"] < new["end"] and other["end"] > new["start"]
            is_of_the_week = other["id"] in old and other["title"] not in planned
            is_same_day = other["date"] == new["date"] and other["id"] != new["id"]
            if is_same_day and is_same_time and is_of_the_week:
                yield new["title"], other["title"]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("level", ["L3", "L4"])
def test_what_a_task_enters_in_the_calendar_meets_nothing_by_chance(level, seed):
    with_events = [
        task
        for task in tasks_of(level, seed)
        if any("events" in (effect.get("add"), effect.get("change")) for effect in task["expect"])
        and task["id"] != "calendar_new_april"  # whole days
    ]
    found = {task["id"]: list(clashes(task)) for task in with_events}
    assert {name: pairs for name, pairs in found.items() if pairs} == {}


@pytest.mark.parametrize(
    "name", ["live_handover_changed", "live_visit_delayed", "calendar_lengthen"]
)
def test_an_hour_is_free_under_many_seeds(name, whole):
    level = "L3" if name.startswith("calendar") else "L4"
    seeds = range(4, 30 if whole else 8)
    found = [list(clashes(task)) for task in tasks(level, seeds, [name])]
    assert found == [[]] * len(seeds)


@pytest.mark.parametrize("seed", range(20))
def test_the_cheapest_replacement_is_too_scarce(seed):
    task, store = episode("shop_orders_redirected", seed)
    products = {row["name"]: row for row in store.dump()["products"].values()}
    ordered = {
        item["row"]["product"]: item["row"]["qty"]
        for item in task["expect"]
        if item.get("add") == "order_items"
    }
    sold_out = [
        item["product"]
        for item in task["setup"]["add"]["order_items"]
        if products[item["product"]]["stock"] == 0
    ]
    kind = sold_out[0].partition(" ")[2]
    [(taken, pieces)] = [(name, qty) for name, qty in ordered.items() if name.endswith(f" {kind}")]
    cheaper = [
        row
        for name, row in products.items()
        if name.endswith(f" {kind}") and row["price"] < products[taken]["price"] and row["stock"]
    ]
    assert [row["stock"] < pieces for row in cheaper] == [True]


@pytest.mark.parametrize("seed", range(4))
def test_nobody_meets_robin_at_the_office_while_robin_is_away(seed):
    task, store = episode("long_travel_allowance", seed)
    trains = store.rows("SELECT date, title FROM events WHERE title LIKE 'Train %' ORDER BY date")
    planned = {row["title"] for row in task["setup"]["add"]["events"]}
    for city in ("Leeds", "York", "Cardiff", "Hull", "Exeter"):
        first, last = (row["date"] for row in trains if row["title"].endswith(f" {city}"))
        rows = store.rows("SELECT title FROM events WHERE date BETWEEN ? AND ?", first, last)
        assert {row["title"] for row in rows} <= planned


@pytest.mark.parametrize("seed", range(4))
def test_a_number_with_a_wrong_digit_differs_in_one_digit(seed):
    task, _ = episode("contacts_news_of_carla", seed)
    [note] = [row["note"] for _, _, row in task["setup"]["set"] if "digit was wrong" in row["note"]]
    wrong, right = re.findall(r"\+[\d ]+\d", note)
    assert sum(one != other for one, other in zip(wrong, right, strict=True)) == 1


@pytest.mark.parametrize("seed", range(4))
def test_everybody_who_must_be_in_the_office_stands_in_the_sheet(seed):
    _, store = episode("long_common_hour", seed)
    names = store.rows("SELECT value FROM cells WHERE sheet = 'Next week' AND cell = 'A7'")
    assert [row["value"] for row in names] == ["Robin Hale"]
    words = store.rows("SELECT value FROM cells WHERE sheet = 'Next week' AND cell LIKE '_7'")
    assert len(words) == 6
