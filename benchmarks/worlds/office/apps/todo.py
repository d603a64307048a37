"""To-do."""

from __future__ import annotations

from typing import Any

from benchmarks.worlds.office.rules import date, required
from benchmarks.worlds.office.store import Row, Store


def list_(store: Store) -> list[Row]:
    """Return every task; the page filters and sorts them."""
    return store.rows("SELECT * FROM todos ORDER BY id")


def save(store: Store, todo: Row, id: int | None = None) -> Row:
    """Add a task or change one."""
    row = {
        "title": required(todo["title"], "Enter what is to be done.", "title"),
        "list": todo["list"],
        "due": date(todo["due"], "due") if todo["due"].strip() else "",
        "priority": todo["priority"],
        "note": todo["note"].strip(),
    }
    return store.save("todos", row, id)


def tick(store: Store, id: int, on: bool) -> None:
    """Set whether a task is done."""
    store.run("UPDATE todos SET done = ? WHERE id = ?", int(on), id)


def delete(store: Store, id: int) -> None:
    """Remove a task."""
    store.run("DELETE FROM todos WHERE id = ?", id)


VERBS: dict[str, Any] = {"list": list_, "save": save, "tick": tick, "delete": delete}
