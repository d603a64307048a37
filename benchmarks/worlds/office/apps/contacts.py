"""Contacts."""

from __future__ import annotations

from typing import Any

from benchmarks.worlds.office.rules import ADDRESS, named, need, pattern
from benchmarks.worlds.office.store import Row, Store

COLUMNS = ("name", "email", "phone", "company", "note")
PAGE = 20


def list_(store: Store, q: str = "", company: str = "", page: int = 0) -> Row:
    """One page of the people that fit."""
    where = (
        "name || char(10) || company || char(10) || email || char(10) || phone || char(10) || note"
        " LIKE ? ESCAPE '!'"
    )
    values = [pattern(q)]
    if company:
        where += " AND company = ?"
        values.append(company)
    found = store.page(
        "SELECT * FROM contacts", "contacts", where, values, "name, id", size=PAGE, page=page
    )
    companies = store.rows("SELECT DISTINCT company FROM contacts WHERE company <> '' ORDER BY 1")
    return {**found, "companies": [row["company"] for row in companies]}


def get(store: Store, id: int) -> Row:
    """One person."""
    return store.one("SELECT * FROM contacts WHERE id = ?", id)


def save(store: Store, contact: Row, id: int | None = None) -> Row:
    """A new person, or a change of one."""
    row = {column: contact[column].strip() for column in COLUMNS}
    named(row["name"], "A contact needs a name.", "name")
    email = row["email"]
    need(not email or ADDRESS.fullmatch(email), f"“{email}” is not a mail address.", "email")
    return store.save("contacts", row, id)


def delete(store: Store, id: int) -> None:
    """Removes a person."""
    store.run("DELETE FROM contacts WHERE id = ?", id)


VERBS: dict[str, Any] = {"list": list_, "get": get, "save": save, "delete": delete}
