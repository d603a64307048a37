"""Rows of a store by the names that scripted solutions give them."""

from __future__ import annotations

from typing import Any

from benchmarks.worlds.office.store import Dump, Row

LABELS = {
    "mail": "subject",
    "events": "title",
    "contacts": "name",
    "products": "name",
    "todos": "title",
    "messages": "text",
    "addresses": "label",
}


def find_row(dump: Dump, table: str, name: Any) -> Row:
    """Return the row with an id or with a name; a file by its path.

    Raises:
        LookupError: there is no such row, or more than one.
    """
    rows = dump[table].values()
    if isinstance(name, int):
        matches = [row for row in rows if row["id"] == name]
    elif table == "files":
        matches = [row for row in rows if file_path(dump, row) == name]
    else:
        matches = [row for row in rows if row[LABELS[table]] == name]
    if len(matches) != 1:
        raise LookupError(f"{len(matches)} rows of {table} are called {name!r}")
    return matches[0]


def file_path(dump: Dump, row: Row) -> str:
    """Return the path of a file below the root."""
    names: list[str] = []
    while row["parent"] is not None:
        names.insert(0, row["name"])
        row = dump["files"][row["parent"]]
    return "/".join(names)
