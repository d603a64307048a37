"""The base world: one person's working week, generated from a seed.

People, channels, folders, products and the names of sheets and to-dos are the same in every world;
telephone numbers, prices, dates, mails, messages and figures are the seed's.
"""

from __future__ import annotations

import datetime
import functools
import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.worlds.office.store import ADDRESS, NAME, Row, Store, World

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")
FIRST_DAY, LAST_DAY = datetime.date(2026, 2, 16), datetime.date(2026, 4, 24)  # of the calendar
TODAY = datetime.date(2026, 3, 9)
WORDS: Mapping[str, Any] = json.loads(
    (Path(__file__).parent / "week.json").read_text(encoding="utf-8")
)


@functools.lru_cache(maxsize=8)
def base_world(seed: int) -> World:
    """Rows by table; the same seed makes the same world."""
    luck = random.Random(f"office {seed}")
    contacts = _contacts(luck)
    products = _products(luck)
    orders, items = _orders(luck, products)
    return {
        "contacts": contacts,
        "mail": _mails(luck, contacts),
        "events": _events(luck, contacts),
        "files": _files(luck),
        "products": products,
        "addresses": [{"label": label, "text": text} for label, text in WORDS["addresses"]],
        "orders": orders,
        "order_items": items,
        **_chat(luck),
        **_sheets(luck),
        "todos": _todos(luck),
    }


@functools.lru_cache(maxsize=8)
def base_store(seed: int) -> Store:
    """A store that holds it, to be copied and not to be changed."""
    return Store(base_world(seed))


def _address(name: str, company: str) -> str:
    domain = company.split()[0].lower() if company else "post"
    return f"{name.lower().replace(' ', '.')}@{domain}.example"


def _contacts(luck: random.Random) -> list[Row]:
    companies = {WORDS["own_company"]: WORDS["colleagues"], **WORDS["partners"]}
    known = [(name, company) for company, names in companies.items() for name in names]
    return [
        {
            "name": name,
            "email": _address(name, company),
            "phone": f"+44 20 7946 {luck.randrange(10000):04d}",
            "company": company,
        }
        for name, company in sorted(known)
    ]


def _filled(text: str, person: Row, words: Mapping[str, str]) -> str:
    return text.format(
        **words,
        sender=person["name"].split()[0],
        full=person["name"],
        company=person["company"] or "Bristol",
    )


def _mails(luck: random.Random, contacts: Sequence[Row]) -> list[Row]:
    """Oldest first, so that the newest has the highest id."""
    folders = ["Inbox"] * 88 + ["Archive"] * 26 + ["Sent"] * 16 + ["Trash"] * 5
    moments = []
    for folder in folders:
        days_ago = luck.randrange(6, 24) if folder in ("Archive", "Trash") else luck.randrange(17)
        moment = datetime.datetime.combine(TODAY, datetime.time(8)) - datetime.timedelta(days_ago)
        minutes = luck.randrange(55) if days_ago == 0 else luck.randrange(600)
        moments.append((moment + datetime.timedelta(minutes=minutes), folder))
    mails = []
    for moment, folder in sorted(moments):
        person = luck.choice(contacts)
        first, second = luck.sample(WORDS["things"], 2)
        words = {
            "a": first,
            "b": second,
            "day": luck.choice(DAYS),
            "amount": f"{luck.randrange(40, 900)}.{luck.randrange(100):02d}",
            "reference": f"N-{luck.randrange(1000, 9999)}",
        }
        subject, body = luck.choice(WORDS["sent" if folder == "Sent" else "mails"])
        attached = []
        if folder != "Sent" and luck.random() < 0.15:
            name = luck.choice(sorted(WORDS["attachments"]))
            text = _filled(WORDS["attachments"][name], person, words)
            attached = [{"name": name, "text": text}]
        own = {"name": NAME, "email": ADDRESS}
        sender, recipient = (own, person) if folder == "Sent" else (person, own)
        subject = _filled(subject, person, words)
        mails.append(
            {
                "folder": folder,
                "sender": sender["name"],
                "sender_addr": sender["email"],
                "recipients": recipient["email"],
                "subject": subject[:1].upper() + subject[1:],
                "body": _filled(body, person, words),
                "sent_at": f"{moment:%Y-%m-%d %H:%M}",
                "is_read": int(folder != "Inbox" or luck.random() < 0.75),
                "starred": int(luck.random() < 0.05),
                "attachments": json.dumps(attached),
            }
        )
    return mails


def _events(luck: random.Random, contacts: Sequence[Row]) -> list[Row]:
    """Working days with a stand-up, and up to three more meetings that do not overlap."""
    partners = [name for name in WORDS["partners"] if name]
    events = []
    for number in range((LAST_DAY - FIRST_DAY).days + 1):
        day = FIRST_DAY + datetime.timedelta(number)
        if day.weekday() > 4:
            continue
        planned = [("Stand-up", 9 * 60 + 30, 15)] if day.weekday() in (0, 2, 4) else []
        if day.weekday() == 3 and number % 2:
            planned.append(("Town hall", 12 * 60, 60))
        hours = luck.sample((8, 10, 11, 13, 14, 15, 16), luck.randrange(3))
        for hour in hours:
            title = luck.choice(WORDS["meetings"]).format(
                first=luck.choice(contacts)["name"].split()[0],
                company=luck.choice(partners),
                topic=luck.choice(WORDS["topics"]),
                thing=luck.choice(WORDS["things"]),
            )
            planned.append((title, hour * 60, luck.choice((30, 45, 60))))
        for title, start, minutes in sorted(planned, key=lambda each: each[1]):
            end = start + minutes
            events.append(
                {
                    "title": title,
                    "date": day.isoformat(),
                    "start": f"{start // 60:02d}:{start % 60:02d}",
                    "end": f"{end // 60:02d}:{end % 60:02d}",
                    "place": luck.choice(WORDS["rooms"]),
                }
            )
    return events


def _files(luck: random.Random) -> list[Row]:
    ids = {"": 0}
    rows: list[Row] = [{"id": 0, "parent": None, "name": "Home", "kind": "folder"}]
    for path in WORDS["folders"]:
        above, _, name = path.rpartition("/")
        ids[path] = len(rows)
        rows.append({"id": len(rows), "parent": ids[above], "name": name, "kind": "folder"})
    for folder, name, text in WORDS["files"]:
        while "{n}" in text:
            text = text.replace("{n}", f"{luck.randrange(10, 60) * 100:,}", 1)
        text = text.replace("{m}", f"{luck.randrange(20, 180)}.{luck.randrange(100):02d}")
        rows.append({"id": len(rows), "parent": ids[folder], "name": name, "content": text})
    return rows


def _products(luck: random.Random) -> list[Row]:
    rows = [
        {
            "name": f"{brand} {name}",
            "category": category,
            "price": luck.randrange(300, 9000) // 5 * 5,
            "rating": luck.randrange(30, 50) / 10,
            "stock": luck.choice((0, 3, 12, 40, 80)),
            "ship_days": luck.randrange(1, 9),
            "about": f"{name} by {brand}. {luck.choice(WORDS['praise'])}",
        }
        for category, names in WORDS["products"].items()
        for number, name in enumerate(names)
        for brand in WORDS["brands"]
        if brand != WORDS["brands"][number % 4]  # each is made by three of them
    ]
    luck.shuffle(rows)
    return rows


def _orders(luck: random.Random, products: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    orders, items = [], []
    states = ["Delivered"] * 4 + ["Cancelled", "Shipped", "Shipped", "Processing", "Processing"]
    for number, status in enumerate(states):
        day = TODAY - datetime.timedelta(34 - 4 * number)
        chosen = luck.sample([each for each in products if each["stock"]], luck.randrange(1, 4))
        pieces = [(each, luck.randrange(1, 4)) for each in chosen]
        for product, qty in pieces:
            items.append(
                {
                    "order_id": 7301 + number,
                    "product": product["name"],
                    "qty": qty,
                    "price": product["price"],
                }
            )
        orders.append(
            {
                "id": 7301 + number,
                "placed_at": f"{day.isoformat()} {luck.randrange(10, 19)}:{luck.randrange(10, 60)}",
                "status": status,
                "address": luck.choice(("Home", "Office")),
                "total": sum(product["price"] * qty for product, qty in pieces),
            }
        )
    return orders, items


def _chat(luck: random.Random) -> World:
    names = [*WORDS["channels"], *WORDS["colleagues"]]
    channels = [{"name": name, "kind": "channel" if name[0] == "#" else "direct"} for name in names]
    messages = []
    for number in range(150):
        channel = luck.choice(names[: 5 if number % 3 else 12])
        day = TODAY - datetime.timedelta(7 - number // 21)
        if day.weekday() > 4:
            continue
        text = luck.choice(WORDS["talk"]).format(
            time=f"{luck.randrange(9, 17)}:{luck.choice(('00', '15', '30'))}",
            thing=luck.choice(WORDS["things"]),
        )
        author = luck.choice(WORDS["colleagues"]) if channel[0] == "#" else channel
        author = NAME if luck.random() < 0.15 else author
        minute = number % 21 * (2 if day == TODAY else 25) + luck.randrange(2)
        sent_at = f"{day.isoformat()} {8 + minute // 60:02d}:{minute % 60:02d}"
        messages.append({"channel": channel, "author": author, "text": text, "sent_at": sent_at})
    return {"channels": channels, "messages": messages}


def _sheets(luck: random.Random) -> World:
    inventory = [
        [thing, luck.choice(WORDS["rooms"][:4]), luck.randrange(1, 40), luck.randrange(1, 9)]
        for thing in WORDS["inventory"]
    ]
    attendance = [
        [name, *(luck.choice(("office", "office", "home", "leave")) for _ in DAYS)]
        for name in WORDS["colleagues"]
    ]
    expenses = []
    for number in range(14):
        kind, company = luck.choice(WORDS["expenses"])
        day = TODAY - datetime.timedelta(40 - 3 * number)
        amount = f"{luck.randrange(30, 900)}.{luck.choice(('00', '50', '90'))}"
        paid = "yes" if number < 9 else "no"
        expenses.append([day.isoformat(), kind, company, amount, paid])
    suppliers = [
        [name, people[0], f"2026-{luck.randrange(4, 13):02d}-28", luck.randrange(20, 190) * 100]
        for name, people in WORDS["partners"].items()
        if name
    ]
    sales = [
        [
            f"Week {week}",
            *(luck.randrange(20, 95) for _ in range(4)),
            f"=SUM(B{week + 1}:E{week + 1})",
        ]
        for week in range(1, 11)
    ]
    tables: dict[str, list[list[Any]]] = {
        "Expenses": [["Date", "Kind", "Company", "EUR", "Paid"], *expenses],
        "Inventory": [["Item", "Room", "Count", "To replace"], *inventory],
        "Attendance": [["Name", *(day[:3] for day in DAYS)], *attendance],
        "Suppliers": [["Supplier", "Contact", "Contract until", "EUR a year"], *suppliers],
        "Sales": [["", "North", "East", "South", "West", "Total"], *sales],
    }
    cells = [
        {
            "id": f"{sheet}!{'ABCDEFGHIJ'[x]}{y}",
            "sheet": sheet,
            "cell": f"{'ABCDEFGHIJ'[x]}{y}",
            "value": str(value),
        }
        for sheet, lines in tables.items()
        for y, line in enumerate(lines, 1)
        for x, value in enumerate(line)
        if value != ""
    ]
    return {"sheets": [{"name": name} for name in tables], "cells": cells}


def _todos(luck: random.Random) -> list[Row]:
    rows = []
    for number, (title, owner) in enumerate(WORDS["todos"]):
        day = TODAY + datetime.timedelta(luck.randrange(-4, 16))
        rows.append(
            {
                "title": title,
                "list": owner,
                "due": "" if number % 6 == 3 else day.isoformat(),
                "done": int(number in (10, 11, 14)),
                "priority": luck.choice(("Low", "Normal", "Normal", "High")),
            }
        )
    return rows
