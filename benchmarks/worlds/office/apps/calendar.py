"""Calendar."""

from __future__ import annotations

from typing import Any

from benchmarks.worlds.office.rules import addresses, date, named, need, pattern, time
from benchmarks.worlds.office.store import Row, Store


def between(store: Store, first: str, last: str) -> list[Row]:
    """The events of some days."""
    return store.rows(
        "SELECT * FROM events WHERE date BETWEEN ? AND ? ORDER BY date, start, id", first, last
    )


def find(store: Store, q: str) -> list[Row]:
    """Events by title, place, guest or note."""
    return store.rows(
        """SELECT * FROM events WHERE title || char(10) || place || char(10) || guests || char(10)
        || note LIKE ? ESCAPE '!' ORDER BY date, start, id LIMIT 60""",
        pattern(q),
    )


def save(store: Store, event: Row, id: int | None = None) -> Row:
    """A new event, or a change of one."""
    row = {
        "title": named(event["title"], "Enter a title.", "title"),
        "date": date(event["date"], "date"),
        "start": time(event["start"], "start"),
        "end": time(event["end"], "end"),
        "place": event["place"].strip(),
        "guests": addresses(event["guests"], "guests"),
        "note": event["note"].strip(),
    }
    need(row["start"] < row["end"], "The event must end after it starts.", "end")
    old = store.rows("SELECT * FROM events WHERE id = ?", id)
    saved = store.save("events", row, id)
    _tell(store, saved["id"], old[0] if old else None, row)
    return saved


def delete(store: Store, id: int) -> None:
    """Removes an event."""
    for event in store.rows("SELECT * FROM events WHERE id = ?", id):
        _tell(store, id, event, None)
    store.run("DELETE FROM events WHERE id = ?", id)


def _tell(store: Store, id: int, old: Row | None, new: Row | None) -> None:
    """Tells the guests of an event what becomes of it."""
    before, now = (_guests(event) for event in (old, new))
    is_other = old and new and any(new[name] != old[name] for name in new if name != "guests")
    told = {
        "invited": now - before,
        "uninvited": before - now,
        "changed": now & before if is_other else set(),
    }
    for kind, guests in told.items():
        for guest in sorted(guests):
            store.insert("notices", {"kind": kind, "event": id, "guest": guest})


def _guests(event: Row | None) -> set[str]:
    guests = event["guests"].casefold() if event else ""
    return set(guests.split(", ")) - {""}


VERBS: dict[str, Any] = {"between": between, "find": find, "save": save, "delete": delete}
