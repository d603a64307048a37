"""The base world: one person's working week, generated from a seed.

People, channels, folders, products and the names of sheets and to-dos are the same for every seed;
telephone numbers, prices, dates, mails, messages and figures depend on it.
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
FIRST_DAY = datetime.date(2026, 2, 16)  # of the calendar
LAST_DAY = datetime.date(2026, 4, 24)
TODAY = datetime.date(2026, 3, 9)
FIRST_ORDER = 7301
WORDS: Mapping[str, Any] = json.loads(
    (Path(__file__).parent / "week.json").read_text(encoding="utf-8")
)


@functools.lru_cache(maxsize=8)
def base_world(seed: int) -> World:
    """Return rows by table; the same seed makes the same world."""
    rng = random.Random(f"office {seed}")
    contacts = _contacts(rng)
    products = _products(rng)
    orders, items = _orders(rng, products)
    return {
        "contacts": contacts,
        "mail": _mails(rng, contacts),
        "events": _events(rng, contacts),
        "files": _files(rng),
        "products": products,
        "addresses": [{"label": label, "text": text} for label, text in WORDS["addresses"]],
        "orders": orders,
        "order_items": items,
        **_chat(rng),
        **_sheets(rng),
        "todos": _todos(rng),
    }


@functools.lru_cache(maxsize=8)
def base_store(seed: int) -> Store:
    """Return a store with the base world of a seed, to be copied and not to be changed."""
    return Store(base_world(seed))


def _address(name: str, company: str) -> str:
    domain = company.split()[0].lower() if company else "post"
    return f"{name.lower().replace(' ', '.')}@{domain}.example"


def _contacts(rng: random.Random) -> list[Row]:
    companies = {WORDS["own_company"]: WORDS["colleagues"], **WORDS["partners"]}
    people = [(name, company) for company, names in companies.items() for name in names]
    return [
        {
            "name": name,
            "email": _address(name, company),
            "phone": f"+44 20 7946 {rng.randrange(10000):04d}",
            "company": company,
        }
        for name, company in sorted(people)
    ]


def _filled(text: str, person: Row, words: Mapping[str, str]) -> str:
    return text.format(
        **words,
        sender=person["name"].split()[0],
        full=person["name"],
        company=person["company"] or "Bristol",
    )


def _mails(rng: random.Random, contacts: Sequence[Row]) -> list[Row]:
    """Return mails, oldest first, so that the newest has the highest id."""
    folders = ["Inbox"] * 88 + ["Archive"] * 26 + ["Sent"] * 16 + ["Trash"] * 5
    owner = {"name": NAME, "email": ADDRESS}
    moments = []
    for folder in folders:
        days_ago = rng.randrange(6, 24) if folder in ("Archive", "Trash") else rng.randrange(17)
        moment = datetime.datetime.combine(TODAY, datetime.time(8)) - datetime.timedelta(days_ago)
        minutes = rng.randrange(55) if days_ago == 0 else rng.randrange(600)
        moments.append((moment + datetime.timedelta(minutes=minutes), folder))
    texts = [(kind, text) for kind, texts in WORDS["mails"].items() for text in texts]
    own_company = WORDS["own_company"]
    writers = {
        "colleague": [row for row in contacts if row["company"] == own_company],
        "partner": [row for row in contacts if row["company"] not in (own_company, "")],
        "anybody": contacts,
    }
    mails = []
    for moment, folder in sorted(moments):
        kind, (subject, body) = "anybody", rng.choice(WORDS["sent"])
        if folder != "Sent":
            kind, (subject, body) = rng.choice(texts)
        person = rng.choice(writers[kind])
        first, second = rng.sample(WORDS["things"], 2)
        words = {
            "a": first,
            "b": second,
            "day": rng.choice(DAYS),
            "amount": f"{rng.randrange(40, 900)}.{rng.randrange(100):02d}",
            "reference": f"N-{rng.randrange(1000, 9999)}",
        }
        attachments = []
        if folder != "Sent" and rng.random() < 0.15:
            name = rng.choice(["invoice.txt"] if kind == "partner" else ["agenda.txt", "notes.txt"])
            text = _filled(WORDS["attachments"][name], person, words)
            attachments = [{"name": name, "text": text}]
        sender, recipient = person, owner
        if folder == "Sent":
            sender, recipient = owner, person
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
                "is_read": int(folder != "Inbox" or rng.random() < 0.75),
                "starred": int(rng.random() < 0.05),
                "attachments": json.dumps(attachments),
            }
        )
    return mails


def _events(rng: random.Random, contacts: Sequence[Row]) -> list[Row]:
    """Return the meetings of all working days, none of which overlap."""
    partners = [name for name in WORDS["partners"] if name]
    events = []
    for number in range((LAST_DAY - FIRST_DAY).days + 1):
        day = FIRST_DAY + datetime.timedelta(number)
        if day.weekday() > 4:
            continue
        planned = []  # title, start and length in minutes
        if day.weekday() in (0, 2, 4):
            planned.append(("Stand-up", 9 * 60 + 30, 15))
        if day.weekday() == 3 and number % 2:
            planned.append(("Town hall", 12 * 60, 60))
        hours = rng.sample((8, 10, 11, 13, 14, 15, 16), rng.randrange(3))
        for hour in hours:
            title = rng.choice(WORDS["meetings"]).format(
                first=rng.choice(contacts)["name"].split()[0],
                company=rng.choice(partners),
                topic=rng.choice(WORDS["topics"]),
                thing=rng.choice(WORDS["things"]),
            )
            planned.append((title, hour * 60, rng.choice((30, 45, 60))))
        for title, start, minutes in sorted(planned, key=lambda meeting: meeting[1]):
            events.append(
                {
                    "title": title,
                    "date": day.isoformat(),
                    "start": _clock(start),
                    "end": _clock(start + minutes),
                    "place": rng.choice(WORDS["rooms"]),
                }
            )
    return events


def _clock(minutes: int) -> str:
    """Return minutes after midnight as HH:MM."""
    return f"{minutes // 60:02d}:{minutes % 60:02d}"


def _files(rng: random.Random) -> list[Row]:
    ids = {"": 0}
    rows: list[Row] = [{"id": 0, "parent": None, "name": "Home", "kind": "folder"}]
    for path in WORDS["folders"]:
        parent, _, name = path.rpartition("/")
        ids[path] = len(rows)
        rows.append({"id": len(rows), "parent": ids[parent], "name": name, "kind": "folder"})
    for folder, name, text in WORDS["files"]:
        while "{n}" in text:
            text = text.replace("{n}", f"{rng.randrange(10, 60) * 100:,}", 1)
        text = text.replace("{m}", f"{rng.randrange(20, 180)}.{rng.randrange(100):02d}")
        rows.append({"id": len(rows), "parent": ids[folder], "name": name, "content": text})
    return rows


def _products(rng: random.Random) -> list[Row]:
    rows = [
        {
            "name": f"{brand} {name}",
            "category": category,
            "price": rng.randrange(300, 9000) // 5 * 5,
            "rating": rng.randrange(30, 50) / 10,
            "stock": rng.choice((0, 3, 12, 40, 80)),
            "ship_days": rng.randrange(1, 9),
            "about": f"{name} by {brand}. {rng.choice(WORDS['praise'])}",
        }
        for category, names in WORDS["products"].items()
        for number, name in enumerate(names)
        for brand in WORDS["brands"]
        if brand != WORDS["brands"][number % 4]  # each is made by three of them
    ]
    rng.shuffle(rows)
    return rows


def _orders(rng: random.Random, products: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    orders: list[Row] = []
    items: list[Row] = []
    in_stock = [product for product in products if product["stock"]]
    states = ["Delivered"] * 4 + ["Cancelled", "Shipped", "Shipped", "Processing", "Processing"]
    for number, status in enumerate(states):
        day = TODAY - datetime.timedelta(34 - 4 * number)
        chosen = rng.sample(in_stock, rng.randrange(1, 4))
        quantities = [rng.randrange(1, 4) for _ in chosen]
        total = 0
        for product, qty in zip(chosen, quantities, strict=True):
            items.append(
                {
                    "order_id": FIRST_ORDER + number,
                    "product": product["name"],
                    "qty": qty,
                    "price": product["price"],
                }
            )
            total += product["price"] * qty
        orders.append(
            {
                "id": FIRST_ORDER + number,
                "placed_at": f"{day.isoformat()} {rng.randrange(10, 19)}:{rng.randrange(10, 60)}",
                "status": status,
                "address": rng.choice(("Home", "Office")),
                "total": total,
            }
        )
    return orders, items


def _chat(rng: random.Random) -> World:
    names = [*WORDS["channels"], *WORDS["colleagues"]]
    channels = [{"name": name, "kind": "channel" if name[0] == "#" else "direct"} for name in names]
    messages = []
    for number in range(150):
        channel = rng.choice(names[: 5 if number % 3 else 12])
        day = TODAY - datetime.timedelta(7 - number // 21)
        if day.weekday() > 4:
            continue
        text = rng.choice(WORDS["talk"]).format(
            time=f"{rng.randrange(9, 17)}:{rng.choice(('00', '15', '30'))}",
            thing=rng.choice(WORDS["things"]),
        )
        author = rng.choice(WORDS["colleagues"]) if channel[0] == "#" else channel
        if rng.random() < 0.15:
            author = NAME
        interval = 2 if day == TODAY else 25
        minutes = 8 * 60 + number % 21 * interval + rng.randrange(2)
        sent_at = f"{day.isoformat()} {_clock(minutes)}"
        messages.append({"channel": channel, "author": author, "text": text, "sent_at": sent_at})
    return {"channels": channels, "messages": messages}


def _sheets(rng: random.Random) -> World:
    inventory = [
        [thing, rng.choice(WORDS["rooms"][:4]), rng.randrange(1, 40), rng.randrange(1, 9)]
        for thing in WORDS["inventory"]
    ]
    attendance = [
        [name, *(rng.choice(("office", "office", "home", "leave")) for _ in DAYS)]
        for name in WORDS["colleagues"]
    ]
    expenses = []
    for number in range(14):
        kind, company = rng.choice(WORDS["expenses"])
        day = TODAY - datetime.timedelta(40 - 3 * number)
        amount = f"{rng.randrange(30, 900)}.{rng.choice(('00', '50', '90'))}"
        paid = "yes" if number < 9 else "no"
        expenses.append([day.isoformat(), kind, company, amount, paid])
    suppliers = [
        [name, people[0], f"2026-{rng.randrange(4, 13):02d}-28", rng.randrange(20, 190) * 100]
        for name, people in WORDS["partners"].items()
        if name
    ]
    sales = [
        [
            f"Week {week}",
            *(rng.randrange(20, 95) for _ in range(4)),
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
    cells = []
    for sheet, lines in tables.items():
        for number, line in enumerate(lines, 1):
            for letter, value in zip("ABCDEFGHIJ", line, strict=False):
                cell = f"{letter}{number}"
                if value != "":
                    row = {"id": f"{sheet}!{cell}", "sheet": sheet, "cell": cell}
                    cells.append({**row, "value": str(value)})
    return {"sheets": [{"name": name} for name in tables], "cells": cells}


def _todos(rng: random.Random) -> list[Row]:
    rows = []
    for number, (title, owner) in enumerate(WORDS["todos"]):
        day = TODAY + datetime.timedelta(rng.randrange(-4, 16))
        rows.append(
            {
                "title": title,
                "list": owner,
                "due": "" if number % 6 == 3 else day.isoformat(),
                "done": int(number in (10, 11, 14)),
                "priority": rng.choice(("Low", "Normal", "Normal", "High")),
            }
        )
    return rows
