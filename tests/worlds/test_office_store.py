"""The office's store: the base world, what tasks change in it, what applications allow."""

import itertools

import pytest

from benchmarks.worlds.office.apps import APPS
from benchmarks.worlds.office.store import NOW, Refused, Store
from benchmarks.worlds.office.week import base_world


@pytest.fixture
def store():
    store = Store(base_world(0))
    yield store
    store.close()


def call(store, app, verb, **arguments):
    return store.call(APPS[app][verb], arguments)


def effects(before, after):
    """What has changed: {(table, id): new values, or None for a row that was removed}."""
    changes = {}
    for table, old_rows in before.items():
        new_rows = after[table]
        for id in old_rows.keys() | new_rows.keys():
            old, new = old_rows.get(id, {}), new_rows.get(id)
            if new is None:
                changes[table, id] = None
            elif new != old:
                changes[table, id] = dict(new.items() - old.items())
    return changes


# -- the base world -------------------------------------------------------------------------------


def test_a_seed_makes_the_same_week_and_another_one_makes_another():
    first, again, other = (Store(base_world(seed)).dump() for seed in (1, 1, 2))
    assert first == again
    assert {table for table in first if first[table] == other[table]} == {
        "addresses",
        "channels",
        "notices",
        "sheets",
    }


@pytest.mark.parametrize("seed", range(3))
def test_the_week_is_large_enough_to_search_in_and_what_tasks_name_is_always_there(seed):
    dump = Store(base_world(seed)).dump()
    assert {
        table: len(rows)
        for table, rows in dump.items()
        if table in ("mail", "contacts", "products", "todos")
    } == {"mail": 135, "contacts": 43, "products": 84, "todos": 18}
    names = {row["name"] for row in dump["contacts"].values()}
    assert {"Ana Haddad", "Ana Hadley", "Ana Orton", "Nils Brandt", "Nils Brandtner"} <= names
    assert max(row["sent_at"] for row in dump["mail"].values()) <= NOW
    assert max(row["sent_at"] for row in dump["messages"].values()) <= NOW
    assert all(row["text"] and "{" not in row["text"] for row in dump["messages"].values())
    assert not [row for row in dump["mail"].values() if "{" in row["subject"] + row["body"]]


@pytest.mark.parametrize("seed", range(3))
def test_meetings_of_the_week_do_not_overlap(seed):
    events = sorted(
        Store(base_world(seed)).dump()["events"].values(), key=lambda e: (e["date"], e["start"])
    )
    pairs = itertools.pairwise(events)
    assert [(a, b) for a, b in pairs if a["date"] == b["date"] and a["end"] > b["start"]] == []


# -- what a task changes --------------------------------------------------------------------------


def test_a_task_adds_changes_and_drops_rows():
    setup = {
        "add": {
            "mail": [
                {
                    "sender": "Ana Orton",
                    "sender_addr": "ana.orton@aldera.example",
                    "subject": "Keys",
                    "body": "-",
                    "sent_at": "2026-03-09 08:10",
                    "attachments": [{"name": "a.txt", "text": "A"}],
                }
            ],
            "files": [{"parent": "Documents/Personal", "name": "list.txt", "content": "x"}],
            "cells": [{"sheet": "Expenses", "cell": "H1", "value": "7"}],
        },
        "set": [["todos", {"title": "Order toner"}, {"due": "2026-03-12", "done": 0}]],
        "drop": [["events", {"title": "Stand-up"}]],
    }
    before, after = Store(base_world(0)).dump(), Store(base_world(0), setup).dump()
    changes = effects(before, after)
    assert [
        changes["mail", 136][name] for name in ("folder", "recipients", "is_read", "attachments")
    ] == ["Inbox", "robin.hale@northwind.example", 0, '[{"name": "a.txt", "text": "A"}]']
    assert after["files"][changes["files", 34]["parent"]]["name"] == "Personal"
    assert changes["cells", "Expenses!H1"]["value"] == "7"
    assert "Stand-up" not in {row["title"] for row in after["events"].values()}
    assert {table for table, _ in changes} == {"mail", "files", "cells", "todos", "events"}


@pytest.mark.parametrize(
    ("setup", "message"),
    [
        (
            {"set": [["todos", {"title": "Nothing"}, {"done": 1}]]},
            "setup: no row of todos has {'title': 'Nothing'}",
        ),
        (
            {"drop": [["contacts", {"name": "Nobody"}]]},
            "setup: no row of contacts has {'name': 'Nobody'}",
        ),
        (
            {"add": {"files": [{"parent": "Nowhere", "name": "a.txt"}]}},
            "setup: there is no folder 'Nowhere'",
        ),
        (
            {
                "add": {
                    "events": [
                        {"title": "A", "date": "2026-02-30", "start": "10:00", "end": "11:00"}
                    ]
                }
            },
            "setup: CHECK constraint failed",
        ),
        (
            {
                "add": {
                    "messages": [{"channel": "#none", "author": "A", "text": "a", "sent_at": NOW}]
                }
            },
            "setup: FOREIGN KEY constraint failed",
        ),
        ({"add": {"todos": [{"titel": "A"}]}}, "setup: table todos has no column named titel"),
    ],
)
def test_a_change_that_does_not_fit_the_world_is_named(setup, message):
    with pytest.raises(ValueError, match="setup") as error:
        Store(base_world(0), setup)
    assert str(error.value).startswith(message)


# -- what applications do -------------------------------------------------------------------------

EVENT = {
    "title": "Lunch",
    "date": "2026-03-12",
    "start": "9:30",
    "end": "11:00",
    "place": "",
    "guests": "b@x.example, a@x.example,",
    "note": " n ",
}
CONTACT = {"name": " Lena Foss ", "email": "", "phone": "", "company": "", "note": ""}
TODO = {"title": "Stamps", "list": "Work", "due": "", "priority": "Low", "note": ""}


@pytest.mark.parametrize(
    ("app", "verb", "arguments", "expected"),
    [
        (
            "mail",
            "send",
            {
                "to": "b@x.example; a@x.example, ",
                "subject": " Hi ",
                "body": "x\n",
                "attachments": [15],
            },
            {
                ("mail", 136): {
                    "folder": "Sent",
                    "recipients": "a@x.example, b@x.example",
                    "subject": "Hi",
                    "body": "x",
                    "sent_at": NOW,
                }
            },
        ),
        (
            "mail",
            "move",
            {"ids": [1, 2], "folder": "Trash"},
            {("mail", 1): {"folder": "Trash"}, ("mail", 2): {"folder": "Trash"}},
        ),
        (
            "mail",
            "mark",
            {"ids": [3], "column": "starred", "on": True},
            {("mail", 3): {"starred": 1}},
        ),
        ("mail", "keep", {"to": "half", "subject": "", "body": ""}, {}),
        (
            "calendar",
            "save",
            {"event": EVENT},
            {
                ("events", 86): {
                    "start": "09:30",
                    "guests": "a@x.example, b@x.example",
                    "note": "n",
                },
                ("notices", 1): {"kind": "invited", "event": 86, "guest": "a@x.example"},
                ("notices", 2): {"kind": "invited", "event": 86, "guest": "b@x.example"},
            },
        ),
        ("calendar", "delete", {"id": 5}, {("events", 5): None}),
        ("contacts", "save", {"contact": CONTACT}, {("contacts", 44): {"name": "Lena Foss"}}),
        ("contacts", "delete", {"id": 4}, {("contacts", 4): None}),
        (
            "chat",
            "post",
            {"channel": "#general", "text": " Hi "},
            {("messages", 109): {"text": "Hi", "author": "Robin Hale", "sent_at": NOW}},
        ),
        (
            "chat",
            "pin",
            {"id": 7, "on": True},
            {
                ("messages", 7): {"pinned": 1},
                ("notices", 1): {"kind": "pinned", "message": 7},
            },
        ),
        (
            "files",
            "create",
            {"parent": 1, "name": "a.txt", "kind": "text"},
            {("files", 34): {"name": "a.txt", "parent": 1}},
        ),
        ("files", "write", {"id": 15, "content": "x\n\n"}, {("files", 15): {"content": "x"}}),
        ("files", "move", {"id": 15, "parent": 2}, {("files", 15): {"parent": 2}}),
        (
            "files",
            "copy",
            {"id": 15, "parent": 5},
            {("files", 34): {"name": "wifi copy.txt", "parent": 5}},
        ),
        ("files", "delete", {"id": 15}, {("files", 15): None}),
        (
            "sheets",
            "set",
            {"sheet": "Expenses", "cell": "J60", "value": " =A1 "},
            {("cells", "Expenses!J60"): {"value": "=A1"}},
        ),
        (
            "sheets",
            "set",
            {"sheet": "Expenses", "cell": "A1", "value": " "},
            {("cells", "Expenses!A1"): None},
        ),
        ("shop", "add", {"id": 1, "qty": 2}, {}),
        ("shop", "cancel", {"id": 7309}, {("orders", 7309): {"status": "Cancelled"}}),
        (
            "todo",
            "save",
            {"todo": TODO},
            {("todos", 19): {"title": "Stamps", "list": "Work", "due": "", "priority": "Low"}},
        ),
        ("todo", "tick", {"id": 1, "on": True}, {("todos", 1): {"done": 1}}),
    ],
)
def test_what_is_asked_changes_that_and_nothing_else(store, app, verb, arguments, expected):
    before = store.dump()
    call(store, app, verb, **arguments)
    changes = effects(before, store.dump())
    assert changes.keys() == expected.keys()
    for key, values in expected.items():
        assert changes[key] is values is None or changes[key].items() >= values.items()


def test_an_order_takes_what_lies_in_the_cart_and_leaves_it_empty(store):
    before = store.dump()
    product = next(row for row in before["products"].values() if row["stock"] > 3)
    call(store, "shop", "add", id=product["id"], qty=2)
    call(store, "shop", "set", id=product["id"], qty=3)
    call(store, "shop", "order", address=2, delivery="Express", note=" ring ")
    orders, items = (list(store.dump()[table].values())[-1] for table in ("orders", "order_items"))
    assert (orders["address"], orders["note"], orders["total"]) == (
        "Office",
        "ring",
        3 * product["price"] + 990,
    )
    assert (items["order_id"], items["product"], items["qty"]) == (orders["id"], product["name"], 3)
    assert call(store, "shop", "cart")["rows"] == []


def test_what_others_have_got_leaves_a_trace_whatever_is_done_to_it(store):
    sent = call(store, "mail", "send", to="a@x.example", subject="A", body="")["id"]
    written = call(store, "chat", "post", channel="#random", text="oh")["id"]
    for folder in ("Trash", "Deleted"):
        call(store, "mail", "move", ids=[sent], folder=folder)
    call(store, "chat", "delete", id=written)
    dump = store.dump()
    assert (dump["mail"][sent]["folder"], dump["messages"][written]["deleted"]) == ("Deleted", 1)
    assert call(store, "mail", "list", folder="Sent")["rows"][0]["id"] != sent


def test_a_row_that_is_made_anew_has_another_number(store):
    first = call(store, "todo", "save", todo=TODO)["id"]
    call(store, "todo", "delete", id=first)
    assert call(store, "todo", "save", todo=TODO)["id"] == first + 1


@pytest.mark.parametrize(
    ("app", "verb", "arguments", "message", "field"),
    [
        (
            "mail",
            "send",
            {"to": " ,", "subject": "A", "body": ""},
            "Enter at least one recipient.",
            "to",
        ),
        (
            "mail",
            "send",
            {"to": "a@x.example, ana", "subject": "A", "body": ""},
            "“ana” is not a mail address.",
            "to",
        ),
        (
            "mail",
            "send",
            {"to": "a@x.example", "cc": "ben", "subject": "A", "body": ""},
            "“ben” is not a mail address.",
            "cc",
        ),
        (
            "mail",
            "send",
            {"to": "a@x.example", "subject": " ", "body": ""},
            "Enter a subject.",
            "subject",
        ),
        ("mail", "move", {"ids": [1], "folder": "Deleted"}, "Only from the trash.", ""),
        ("mail", "get", {"id": 999}, "This item does not exist any more.", ""),
        ("calendar", "save", {"event": {**EVENT, "title": ""}}, "Enter a title.", "title"),
        (
            "calendar",
            "save",
            {"event": {**EVENT, "date": "12.3.2026"}},
            "Enter the date as YYYY-MM-DD.",
            "date",
        ),
        (
            "calendar",
            "save",
            {"event": {**EVENT, "end": "9:30"}},
            "The event must end after it starts.",
            "end",
        ),
        (
            "calendar",
            "save",
            {"event": {**EVENT, "start": "24:00"}},
            "Enter the time as HH:MM.",
            "start",
        ),
        ("calendar", "save", {"event": EVENT, "id": 999}, "This item does not exist any more.", ""),
        (
            "contacts",
            "save",
            {"contact": {**CONTACT, "name": ""}},
            "A contact needs a name.",
            "name",
        ),
        (
            "contacts",
            "save",
            {"contact": {**CONTACT, "email": "lena"}},
            "“lena” is not a mail address.",
            "email",
        ),
        ("chat", "post", {"channel": "#general", "text": "\n"}, "Write a message first.", ""),
        ("chat", "edit", {"id": 2, "text": "mine"}, "This message is not yours.", ""),
        (
            "files",
            "create",
            {"parent": 0, "name": "Documents", "kind": "folder"},
            "There is already an item “Documents” here.",
            "name",
        ),
        (
            "files",
            "create",
            {"parent": 0, "name": "a/b", "kind": "text"},
            "A name cannot contain “/”.",
            "name",
        ),
        ("files", "move", {"id": 1, "parent": 4}, "A folder cannot be moved into itself.", ""),
        ("files", "delete", {"id": 1}, "This folder is not empty.", ""),
        (
            "sheets",
            "set",
            {"sheet": "Expenses", "cell": "K1", "value": "1"},
            "There is no such cell.",
            "",
        ),
        ("shop", "add", {"id": 1, "qty": 0}, "Enter a whole number above 0.", ""),
        ("shop", "add", {"id": 1, "qty": 81}, "Only 40 left in stock.", ""),
        ("shop", "order", {"address": 1, "delivery": "Standard"}, "Your cart is empty.", ""),
        ("shop", "cancel", {"id": 7301}, "Order 7301 is delivered and cannot be cancelled.", ""),
        (
            "todo",
            "save",
            {"todo": {**TODO, "due": "2026-02-29"}},
            "Enter the date as YYYY-MM-DD.",
            "due",
        ),
    ],
)
def test_what_is_refused_is_said_and_changes_nothing(store, app, verb, arguments, message, field):
    before = store.dump()
    with pytest.raises(Refused) as refusal:
        call(store, app, verb, **arguments)
    assert (str(refusal.value), refusal.value.field) == (message, field)
    assert store.dump() == before


@pytest.mark.parametrize(
    ("app", "arguments", "table", "fits"),
    [
        (
            "mail",
            {"folder": "Inbox", "q": "100% sure_thing!"},
            "mail",
            lambda row: False,
        ),  # no wildcards
        (
            "mail",
            {"folder": "Inbox", "q": "INVOICE reference"},
            "mail",
            lambda row: "invoice" in row["subject"],
        ),  # in all folders
        (
            "mail",
            {"folder": "Archive", "show": "files"},
            "mail",
            lambda row: row["folder"] == "Archive" and row["attachments"] != "[]",
        ),
        (
            "contacts",
            {"q": "ana h"},
            "contacts",
            lambda row: row["name"] in ("Ana Haddad", "Ana Hadley"),
        ),
        (
            "contacts",
            {"company": "Delta Travel"},
            "contacts",
            lambda row: row["company"] == "Delta Travel",
        ),
        ("shop", {"q": "kettle"}, "products", lambda row: "Kettle" in row["name"]),
        (
            "shop",
            {"category": "Kitchen", "in_stock": True, "page": 99},
            "products",
            lambda row: row["category"] == "Kitchen" and row["stock"],
        ),
    ],
)
def test_lists_hold_what_was_searched_for(store, app, arguments, table, fits):
    page = call(store, app, "list", **arguments)
    expected = {id for id, row in store.dump()[table].items() if fits(row)}
    assert page["count"] == len(expected)
    assert {row["id"] for row in page["rows"]} <= expected
    assert bool(page["rows"]) == bool(expected)
