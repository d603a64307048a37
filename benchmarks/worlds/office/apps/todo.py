"""To-do."""

from __future__ import annotations

from typing import Any

from benchmarks.worlds.office.rules import date, named
from benchmarks.worlds.office.store import Row, Store


def list_(store: Store) -> list[Row]:
    """Every task; the page chooses and sorts."""
    return store.rows("SELECT * FROM todos ORDER BY id")


def save(store: Store, todo: Row, id: int | None = None) -> Row:
    """A new task, or a change of one."""
    row = {
        "title": named(todo["title"], "Enter what is to be done.", "title"),
        "list": todo["list"],
        "due": date(todo["due"], "due") if todo["due"].strip() else "",
        "priority": todo["priority"],
        "note": todo["note"].strip(),
    }
    return store.save("todos", row, id)


def tick(store: Store, id: int, on: bool) -> None:
    """Done, or not done after all."""
    store.run("UPDATE todos SET done = ? WHERE id = ?", int(on), id)


def delete(store: Store, id: int) -> None:
    """Removes a task."""
    store.run("DELETE FROM todos WHERE id = ?", id)


VERBS: dict[str, Any] = {"list": list_, "save": save, "tick": tick, "delete": delete}
