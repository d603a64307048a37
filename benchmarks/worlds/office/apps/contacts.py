"""Contacts."""

from __future__ import annotations

from typing import Any

from benchmarks.worlds.office.rules import ADDRESS, need, pattern, required
from benchmarks.worlds.office.store import Row, Store

COLUMNS = ("name", "email", "phone", "company", "note")
PAGE = 20


def list_(store: Store, q: str = "", company: str = "", page: int = 0) -> Row:
    """Return one page of the people who match, and all companies."""
    select = """SELECT * FROM contacts WHERE name || char(10) || company || char(10) || email ||
        char(10) || phone || char(10) || note LIKE ? ESCAPE '!'"""
    values = [pattern(q)]
    if company:
        select += " AND company = ?"
        values.append(company)
    matches = store.page(f"{select} ORDER BY name, id", values, size=PAGE, page=page)
    companies = store.rows("SELECT DISTINCT company FROM contacts WHERE company <> '' ORDER BY 1")
    return {**matches, "companies": [row["company"] for row in companies]}


def get(store: Store, id: int) -> Row:
    """Return one person."""
    return store.one("SELECT * FROM contacts WHERE id = ?", id)


def save(store: Store, contact: Row, id: int | None = None) -> Row:
    """Add a person or change one."""
    row = {column: contact[column].strip() for column in COLUMNS}
    required(row["name"], "A contact needs a name.", "name")
    email = row["email"]
    need(not email or ADDRESS.fullmatch(email), f"“{email}” is not a mail address.", "email")
    return store.save("contacts", row, id)


def delete(store: Store, id: int) -> None:
    """Remove a person."""
    store.run("DELETE FROM contacts WHERE id = ?", id)


VERBS: dict[str, Any] = {"list": list_, "get": get, "save": save, "delete": delete}
