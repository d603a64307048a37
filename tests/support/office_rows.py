"""What scripts call the rows of a store."""

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


def find_row(dump: Dump, table: str, named: Any) -> Row:
    """The row with an id, or with a name that no other has; a file by its path.

    Raises:
        LookupError: there is none, or more than one.
    """
    rows = dump[table]
    if isinstance(named, int):
        found = [rows[named]] if named in rows else []
    elif table == "files":
        found = [row for row in rows.values() if file_path(dump, row) == named]
    else:
        found = [row for row in rows.values() if row[LABELS[table]] == named]
    if len(found) != 1:
        raise LookupError(f"{len(found)} rows of {table} are called {named!r}")
    return found[0]


def file_path(dump: Dump, row: Row) -> str:
    """Where a file lies, without the root's name."""
    names: list[str] = []
    while row["parent"] is not None:
        names.insert(0, row["name"])
        row = dump["files"][row["parent"]]
    return "/".join(names)
